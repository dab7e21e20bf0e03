"""The served page and the report in a real browser: what it prints, asks for and shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import croupier as cr
from croupier.cli.serve import make_server
from tests.browser import Tab, needs_chromium, opened
from tests.conftest import fine, rough

pytestmark = [pytest.mark.slow, needs_chromium]

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with opened(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stored run, its report, and the report of a vector."""
    folder = tmp_path_factory.mktemp("run")
    arms = {HOSTILE: rough, "fine": fine, "an arm with a name that goes on and on": rough}
    cr.estimate(arms, draws=30_000, rng=7, store=folder / "run.db").report(folder / "run.html")

    def pair(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal([1.0, 2.0], 1.0, (size, 2))

    vector = cr.estimate({"pair": pair}, draws=3000, rng=7, names=["price", "delta"])
    vector.report(folder / "vector.html")
    return folder


#: What is wider than the window, cut off at its side, or empty.
SPILLS = "document.documentElement.scrollWidth > innerWidth"
PICTURES = """[...document.querySelectorAll("svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  return [box.left >= 0 && box.right <= innerWidth, box.width, box.height, svg.childElementCount];
})"""
LETTERS = """Math.min(...[...document.querySelectorAll("svg text")].map(
  text => text.getBoundingClientRect().height))"""


def check(tab: Tab, pictures: int) -> None:
    assert tab.console == []
    assert tab.run(SPILLS) is False
    boxes = tab.run(PICTURES)
    assert len(boxes) == pictures
    for inside, width, height, parts in boxes:
        assert inside
        assert width > 300
        assert height > 100
        assert parts > 0
    assert tab.run("document.documentElement.outerHTML.length") < 1_000_000


@pytest.mark.parametrize("width", [400, 1400])
def test_the_served_page(tab: Tab, run: Path, width: int, tmp_path: Path) -> None:
    server = make_server([run / "run.db", run / "later.db"])
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    address = f"http://localhost:{server.server_address[1]}/"
    try:
        tab.show(address, width)
        check(tab, pictures=1)
        assert set(tab.requests) == {address, f"{address}data.json"}
        assert tab.requests.count(f"{address}data.json") >= 2  # it updates itself
        assert tab.run(LETTERS) >= 10
        assert HOSTILE in tab.run("document.body.innerText")  # an arm's name stays text
        assert "95% interval" in tab.run("document.body.innerText")
        cells = "document.querySelectorAll('table')[0].scrollWidth"
        assert tab.run(f"{cells} <= document.querySelector('.scroll').clientWidth")
        tab.picture(tmp_path / f"served-{width}.png")
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["run", "vector"])
def test_the_report(tab: Tab, run: Path, name: str, width: int, tmp_path: Path) -> None:
    page = run / f"{name}.html"
    assert page.stat().st_size < 1_000_000
    tab.show(page.as_uri(), width, 1.0)
    check(tab, pictures=3)
    assert tab.requests == [page.as_uri()]
    shown = tab.run("document.body.innerText")
    assert (HOSTILE if name == "run" else "price: 1.0") in shown
    tab.picture(tmp_path / f"{name}-{width}.png")


def test_what_a_page_does_wrong_is_seen(tab: Tab, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="other.png"><script>console.log("x"); throw 1</script>')
    tab.show(bad.as_uri(), 400, 1.0)
    assert (tmp_path / "other.png").as_uri() in tab.requests
    assert len(tab.console) >= 2
