"""The search of the site finds pages in a real browser, from a folder and from a server."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.browser import Tab, needs_chromium, opened

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
MKDOCS = ROOT / ".venv-docs" / "bin" / "python"

#: What a user types, and the page that must be among the first three hits.
WANTED = {
    "Greeks": "howto/greeks.html",
    "expected shortfall": "howto/shortfall.html",
    "a prior for evidence": "evidence.html",
    "a limit state with a Gumbel load": "rare.html",
    "how to run on Dask": "scale.html",
    "what a warning means": "warnings.html",
    "arms disagree": "warnings.html",
    "quantile": "howto/shortfall.html",
    "Bayes factor": "howto/compare-models.html",
    "rare event": "rare.html",
    "seed": "guide.html",
    "reproducible": "guide.html",
    "parallel": "scale.html",
    "value at risk": "howto/shortfall.html",
}

pytestmark = [
    pytest.mark.slow,
    needs_chromium,
    pytest.mark.skipif(not SITE.exists(), reason="the site is not built: make docs"),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with opened(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    if not MKDOCS.exists():
        pytest.skip("mkdocs is not installed: make docs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [str(MKDOCS), "-m", "mkdocs", "serve", "--no-livereload", "--dev-addr", address]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    with subprocess.Popen(words, cwd=ROOT, env=quiet, stderr=subprocess.DEVNULL) as server:
        try:
            wait(lambda: urlopen(f"http://{address}/").status == 200, 180)
            yield f"http://{address}/index.html"
        finally:
            server.terminate()


def wait(ready: Callable[[], object], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("it took too long")


def hits(tab: Tab, address: str, text: str) -> list[str]:
    """Type a text into the search box, letter by letter; return the addresses of the hits."""
    tab.show(address, 1400, seconds=0.5)
    tab.run("document.querySelector('.md-search__input').focus() ?? 0")
    for letter in text:
        tab.ask("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter)
        tab.ask("Input.dispatchKeyEvent", type="keyUp", key=letter)
    links = "[...document.querySelectorAll('.md-search-result__item > a')].map(a => a.href)"
    wait(lambda: tab.run(f"{links}.length"), 20)
    time.sleep(0.5)  # the hits of the whole text, and not of its first letters
    found: list[str] = tab.run(links)
    return [link.partition("?")[0].partition("#")[0] for link in found]


@pytest.mark.parametrize("text", WANTED)
def test_what_a_user_types_is_found_from_a_folder(text: str, tab: Tab) -> None:
    first = hits(tab, (SITE / "index.html").as_uri(), text)[:3]
    assert (SITE / WANTED[text]).as_uri() in first


def test_what_a_user_types_is_found_from_a_server(tab: Tab, served: str) -> None:
    first = hits(tab, served, "Greeks")[:3]
    assert any(link.endswith(WANTED["Greeks"]) for link in first), first
