"""The site is complete: every public name, every page and every link. mkdocs is not needed."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import croupier
from tools import docstring_text, gallery, printed_answers, site_links

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = "\n".join(page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md")))
SHOWN = re.findall(r"^::: (croupier[\w.]*)$", REFERENCE, re.M)
CONFIG = (ROOT / "mkdocs.yml").read_text("utf-8")
NAV = re.findall(r"^ +- (?:.*: )?([\w./-]+\.md)$", CONFIG.partition("\nnav:\n")[2], re.M)
TEXTS = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
KILOBYTE = 1000


def public_names() -> list[str]:
    """Return what `__all__` promises, here and in the modules that it names."""
    names = [f"croupier.{name}" for name in croupier.__all__ if name != "__version__"]
    for module in ("importance", "theory", "theory.reduction", "annealing"):
        home = importlib.import_module(f"croupier.{module}")
        names += [f"croupier.{module}.{name}" for name in home.__all__]
    for module in ("policies", "simulator"):
        home = importlib.import_module(f"croupier.{module}")
        exported = re.findall(r"import (\w+) as \1$", inspect.getsource(home), re.M)
        names += [f"croupier.{module}.{name}" for name in exported if callable(vars(home)[name])]
    return names


@pytest.mark.parametrize("name", public_names())
def test_the_reference_has_every_public_name(name: str) -> None:
    assert name in SHOWN


def test_the_reference_shows_only_what_exists_and_nothing_twice() -> None:
    assert len(SHOWN) == len(set(SHOWN))
    for name in SHOWN:
        module, _, attribute = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ImportError:
            assert inspect.getdoc(getattr(importlib.import_module(module), attribute)), name
    assert "`croupier.__version__`" in REFERENCE


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(NAV) == pages | set(site_links.PAGES.values())
    assert len(NAV) == len(set(NAV))


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: str(text.relative_to(ROOT)))
def test_every_link_leads_to_a_file(text: Path) -> None:
    folder = text.parent.relative_to(ROOT).as_posix()
    for target in site_links.targets(text.read_text("utf-8"), folder):
        assert (ROOT / target).exists(), f"{text.name} links to {target}"


def test_a_page_outside_docs_is_linked_where_it_is_on_the_site() -> None:
    for text in (ROOT / name for name in site_links.PAGES):
        on_site = site_links.moved(text.read_text("utf-8"), site_links.PAGES[text.name])
        for target in site_links.targets(on_site, ""):
            made = (*site_links.PAGES.values(), *site_links.COPIES.values())
            example = target.startswith("gallery/")
            assert target in made or example or (DOCS / target).exists(), target


@pytest.mark.parametrize("module", [docstring_text, gallery, printed_answers, site_links])
def test_the_examples_of_the_tools_are_right(module: object) -> None:
    tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_moving_picture_is_below_two_megabytes_and_moves() -> None:
    picture = (DOCS / "images" / "demo.gif").read_bytes()
    assert picture.startswith(b"GIF89a")
    assert picture.count(b"\x21\xf9\x04") > 30  # frames
    assert len(picture) < 2_000_000


def test_every_page_is_short_and_all_of_them_together_are_a_short_book() -> None:
    sizes = {page: page.stat().st_size for page in DOCS.rglob("*.md")}
    assert not [page for page, size in sizes.items() if size > 12 * KILOBYTE]
    assert sum(sizes.values()) < 250 * KILOBYTE
    assert (ROOT / "README.md").stat().st_size <= 6 * KILOBYTE


def test_nothing_on_the_site_comes_from_elsewhere() -> None:
    assert "font: false" in CONFIG
    assert "polyfills: [assets/iframe-worker.js]" in CONFIG
    loaded = re.findall(r"https?://", (DOCS / "assets" / "iframe-worker.js").read_text("utf-8"))
    assert not loaded
