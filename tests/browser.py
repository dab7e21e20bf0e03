"""A page in a real headless Chromium: its console, every request that it makes, its picture.

It speaks the DevTools protocol over two pipes, so it needs nothing but the browser.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any, Final

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or os.name != "posix", reason="chromium is not installed: apt install chromium"
)

_FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-quic", "--hide-scrollbars",
)  # fmt: skip

#: The browser reads commands from 3 and writes answers to 4. Both may be in use at first.
_START: Final = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for place, pipe in zip((3, 4), pipes):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


@dataclass
class Tab:
    """One tab of a browser, and what was said and asked for in it."""

    write: int
    read: int
    session: str = ""
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    loaded: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _rest: bytes = b""

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its answer."""
        number = next(self._numbers)
        said: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            said["sessionId"] = self.session
        os.write(self.write, json.dumps(said).encode() + b"\0")
        for message in self._messages(30.0):
            if message.get("id") == number:
                assert "error" not in message, (method, message)
                answer: dict[str, Any] = message["result"]
                return answer
        raise AssertionError(f"no answer to {method}")

    def show(self, address: str, width: int, seconds: float = 2.5) -> None:
        """Open a page in a window of this width, and listen to it for some seconds."""
        self.console.clear()
        self.requests.clear()
        self.loaded = False
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url=address)
        until = time.monotonic() + 30
        while not self.loaded and time.monotonic() < until:
            next(self._messages(1.0), None)
        for _ in self._messages(seconds):
            pass
        assert self.loaded, address

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"][
            "value"
        ]

    def picture(self, path: Path) -> None:
        """Write the whole page as a PNG file."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _messages(self, seconds: float) -> Iterator[dict[str, Any]]:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select([self.read], [], [], left)[0]:
                *whole, self._rest = (self._rest + os.read(self.read, 1 << 20)).split(b"\0")
                messages = [json.loads(text) for text in whole]
                for message in messages:  # all of them, also if the caller takes only the first
                    self._note(message)
                yield from messages

    def _note(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.console.append(json.dumps(said))
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            case "Page.loadEventFired":
                self.loaded = True


@contextmanager
def opened(folder: Path) -> Iterator[Tab]:
    """Start a browser with an empty profile, and end it; yield a tab that records everything."""
    assert CHROMIUM is not None
    (theirs_in, write), (read, theirs_out) = os.pipe(), os.pipe()
    words = [CHROMIUM, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    start = [sys.executable, "-S", "-c", _START, str(theirs_in), str(theirs_out), *words]
    with (folder / "browser.log").open("wb") as log:
        browser = subprocess.Popen(
            start, pass_fds=(theirs_in, theirs_out), stdout=log, stderr=log, start_new_session=True
        )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        tab = Tab(write, read)
        target = tab.ask("Target.createTarget", url="about:blank")["targetId"]
        tab.session = tab.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.ask(f"{domain}.enable")
        yield tab
    finally:
        with suppress(Exception):
            tab.session = ""
            tab.ask("Browser.close")
        try:
            browser.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(browser.pid, 9)
            browser.wait()
        os.close(write)
        os.close(read)
