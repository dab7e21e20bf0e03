"""croupier serve: the live view of stored runs as one local page that updates itself."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer
from rich.console import Console

from croupier.cli.terminal import errors_in_one_line, signals_interrupt
from croupier.errors import CroupierError

__all__ = ["make_server", "serve"]

#: The server listens here and nowhere else: other machines cannot reach it.
_LOOPBACK: Final = "127.0.0.1"

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def serve(
    paths: Annotated[list[Path], typer.Argument(help="Stores of runs, such as run.db.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
) -> None:
    """Show stored runs on one local page that updates itself, until Ctrl-C.

    The page is on this machine only (127.0.0.1), the stores are only read, and nothing else is
    loaded. To see it from another machine, forward the port: ssh -L 8765:localhost:8765 host.

    Examples:
    croupier serve run.db

    croupier serve a.db b.db --port 9000
    """
    with errors_in_one_line(), signals_interrupt():
        server = make_server(paths, port)
        address = f"http://localhost:{server.server_address[1]}/"
        Console(highlight=False).print(f"{address}  (Ctrl-C ends it)", soft_wrap=True)
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            server.server_close()


def make_server(paths: list[Path], port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page and its data, bound to the loopback interface."""
    handler = type("Handler", (_Handler,), {"paths": tuple(paths), "lock": threading.Lock()})
    try:
        return ThreadingHTTPServer((_LOOPBACK, port), handler)
    except OSError as error:
        raise CroupierError(
            f"cannot listen on port {port}: {error.strerror or error}; give another --port, or 0"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    """Answers GET of the page and of its data, for this page only."""

    paths: ClassVar[tuple[Path, ...]] = ()
    lock: ClassVar[threading.Lock]
    server_version = "croupier"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Answer a request, unless it comes from another site."""
        if not self._own():
            self._send(HTTPStatus.FORBIDDEN, "text/plain", b"this page is for localhost only\n")
        elif self.path in ("/", "/index.html"):
            from croupier.views.served_page import POLICY, page

            more = {"Content-Security-Policy": POLICY}
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", page().encode(), more)
        elif self.path == "/data.json":
            self._send(HTTPStatus.OK, "application/json", self._data())
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")

    def __getattr__(self, name: str) -> Any:
        # The standard library looks for do_POST, do_PUT and so on: all of them are refused.
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _refuse(self) -> None:
        self.close_connection = True  # what the request brings is not read
        more = {"Allow": "GET"}
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET only\n", more)

    def _own(self) -> bool:
        """Return whether a request was made for this server, by its page or by no page.

        A page of another site can send requests here, also under a name that leads here. Such a
        request has another Host or Origin.
        """
        port = self.connection.getsockname()[1]
        hosts = [f"{name}:{port}" for name in ("localhost", _LOOPBACK)]
        asked = self.headers.get_all("Host", [])
        if len(asked) != 1 or asked[0] not in hosts:  # with two, each reader takes another one
            return False
        origins = self.headers.get_all("Origin", [])
        if any(origin not in [f"http://{host}" for host in hosts] for origin in origins):
            return False
        sites = self.headers.get_all("Sec-Fetch-Site", [])
        return all(site in ("none", "same-origin") for site in sites)

    def _data(self) -> bytes:
        from croupier.cli.stored_snapshot import snapshot_of
        from croupier.results.as_json import strict
        from croupier.views.run_view import shown

        with self.lock:  # one at a time: a busy page must not slow the run down
            runs = [shown(snapshot_of(path)) for path in self.paths]
        return json.dumps(strict(runs), allow_nan=False).encode()

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing: the terminal is the user's."""
