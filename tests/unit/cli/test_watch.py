"""croupier watch and serve: stored runs as they are now, read-only, and on this machine only."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from croupier.cli.serve import make_server
from croupier.cli.stored_snapshot import snapshot_of
from croupier.views.run_view import view
from tests.conftest import fine, rough

HOSTILE = "<script>alert(1)</script>"


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    cr.estimate({HOSTILE: rough, "fine": fine}, draws=3000, rng=7, store=path)
    return path


# -- watch


def test_a_view_has_the_budget_the_estimate_and_the_arms(store: Path) -> None:
    said = invoke("watch", store, "--once").output
    assert "finished: draws (100% of 3,000 draws)" in " ".join(said.split())
    assert "95% interval" in said
    for part in ("share", "efficiency", "estimate", "log error", "fine", "▁"):
        assert part in said


def test_a_view_fits_into_eighty_columns(store: Path) -> None:
    console = Console(width=80, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(view(snapshot_of(store)))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text.partition("cost x var")[2].replace("<script>alert(1…ipt>", "")


def test_a_store_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    done = invoke("watch", tmp_path / "later.db", "--once")
    assert done.exit_code == 0
    assert "not there yet" in done.output


def test_several_stores_are_shown_one_below_the_other(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(store, copy)
    said = invoke("watch", store, copy, "--once").output
    assert said.count("95% interval") == 2


def test_to_watch_changes_nothing_in_the_folder(store: Path) -> None:
    before = {path: path.read_bytes() for path in store.parent.iterdir()}
    invoke("watch", store, "--once")
    assert {path: path.read_bytes() for path in store.parent.iterdir()} == before


RUNNING = """
import sys, time, croupier as cr
def slow(rng, size):
    time.sleep(0.02)
    return rng.normal(1.0, 1.0, size)
cr.estimate({"slow": slow, "also": slow}, draws=10**6, batch="one", rng=7, store=sys.argv[1])
"""


def test_a_run_of_another_process_is_seen_while_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    run = subprocess.Popen([sys.executable, "-c", RUNNING, str(path)])
    try:
        deadline = time.monotonic() + 120
        while snapshot_of(path)["batches"] < 20 and time.monotonic() < deadline:
            time.sleep(0.1)
        seen = snapshot_of(path)
        assert (seen["running"], seen["over"]) == (True, False)
        assert seen["spent"] is not None
        assert 0 < seen["spent"] < 1
        assert seen["left"] is not None
        assert seen["left"] > 0
    finally:
        run.kill()
        run.wait()
    assert not snapshot_of(path)["running"]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.slow
def test_watch_in_a_terminal_follows_a_run(tmp_path: Path) -> None:
    path, name = tmp_path / "run.db", f"croupier-{os.getpid()}"
    run = subprocess.Popen([sys.executable, "-c", RUNNING, str(path)])
    main = "from croupier.cli import main; main()"
    command = f"{sys.executable} -c '{main}' watch {path} --every 0.3"
    tmux = ["tmux", "-L", name]
    size = ["-x", "90", "-y", "30"]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not path.exists():
        time.sleep(0.1)
    subprocess.run([*tmux, "new-session", "-d", *size, command], check=True)
    screens: list[str] = []
    try:
        while time.monotonic() < deadline and len(set(screens)) < 3:
            time.sleep(0.5)
            shown = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True)
            if "95% interval" in shown.stdout:
                screens.append(shown.stdout)
    finally:
        run.kill()
        run.wait()
        subprocess.run([*tmux, "kill-server"], check=False)
    assert len(set(screens)) >= 3
    assert "running: pid" in screens[-1].replace("\n", "")  # a long path wraps the line
    assert screens[-1].count("95% interval") == 1  # it is drawn in its place


# -- serve


@pytest.fixture
def port(store: Path) -> Iterator[int]:
    server = make_server([store, store.parent / "later.db"])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield int(server.server_address[1])
    server.shutdown()
    server.server_close()


def asked(port: int, method: str = "GET", path: str = "/", **headers: str) -> Any:
    said = {"Host": f"localhost:{port}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest(method, path, skip_host=True)
        for name, value in said.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def test_the_page_is_small_and_loads_nothing_from_elsewhere(port: int) -> None:
    status, headers, body = asked(port)
    assert status == 200
    assert len(body) < 1_000_000
    assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_data_are_strict_json_of_every_store(port: int) -> None:
    status, headers, body = asked(port, path="/data.json")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    first, later = json.loads(body, parse_constant=pytest.fail)
    assert {arm["name"] for arm in first["arms"]} == {HOSTILE, "fine"}
    assert "95% interval" in first["interval"]
    assert "not there yet" in later["state"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD", "TRACE"])
def test_anything_but_get_is_refused(port: int, method: str) -> None:
    status, headers, _ = asked(port, method)
    assert (status, headers["Allow"]) == (405, "GET")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8765"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/data.json"])
def test_other_hosts_and_origins_are_refused(port: int, headers: dict[str, str], path: str) -> None:
    assert asked(port, path=path, **headers)[0] == 403


def test_the_page_itself_may_ask(port: int) -> None:
    own = {"Origin": f"http://localhost:{port}", "Sec_Fetch_Site": "same-origin"}
    assert asked(port, path="/data.json", **own)[0] == 200
    assert asked(port, path="/data.json", Host=f"127.0.0.1:{port}")[0] == 200


@pytest.mark.parametrize("path", ["/etc/passwd", "/../../etc/passwd", "/run.db", "/data.json/x"])
def test_no_other_path_is_served(port: int, path: str) -> None:
    assert asked(port, path=path)[0] == 404


def test_the_server_listens_on_the_loopback_interface_only(store: Path) -> None:
    server = make_server([store])
    try:
        assert server.server_address[0] == "127.0.0.1"
        with pytest.raises(cr.CroupierError, match="give another --port"):
            make_server([store], int(server.server_address[1]))
    finally:
        server.server_close()


def test_rubbish_on_the_socket_does_not_end_the_server(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"\x00\xff rubbish\r\n\r\n")
        connection.recv(1000)
    assert asked(port)[0] == 200
