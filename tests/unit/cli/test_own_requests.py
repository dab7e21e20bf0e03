"""croupier serve answers its own page only: one Host header, and the right one."""

import socket
import threading

import pytest

from croupier.cli.serve import make_server


@pytest.fixture
def port():
    server = make_server([])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def status(port, *headers):
    lines = ["GET /data.json HTTP/1.1", *headers, "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as link:
        link.sendall("\r\n".join(lines).encode())
        return link.recv(100).split()[1]


def test_one_host_header_is_answered(port):
    assert status(port, f"Host: localhost:{port}") == b"200"


@pytest.mark.parametrize("second", ["evil.example", "localhost:{port}"])
def test_two_host_headers_are_refused(port, second):
    own = f"Host: localhost:{port}"
    assert status(port, own, f"Host: {second.format(port=port)}") == b"403"


def test_a_second_origin_of_another_site_is_refused(port):
    own = [f"Host: localhost:{port}", f"Origin: http://localhost:{port}"]
    assert status(port, *own, "Origin: http://evil.example") == b"403"
