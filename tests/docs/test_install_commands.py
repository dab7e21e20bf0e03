"""croupier is not on an index yet: the pages install it from a copy of the repository."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_croupier_from_an_index(page: Path) -> None:
    assert not re.findall(r"pip install \"?croupier\b", page.read_text("utf-8"))
