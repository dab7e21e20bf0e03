"""Where the files of the repository are on the site, and links between them."""

from __future__ import annotations

import posixpath
import re
from typing import Final

#: Files of the repository that become pages, and files and folders that a link may lead to.
PAGES: Final = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "VISION.md": "vision.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "RELEASING.md": "releasing.md",
}
COPIES: Final = {"CITATION.cff": "CITATION.cff", "LICENSE": "LICENSE.txt"}
FOLDERS: Final = {"examples": "gallery/index.md", "docs/benchmarks": "measured/index.md"}

LINK: Final = re.compile(r"(\]\()([^()\s#]+)((?:#[^()\s]*)?\))")
FENCED: Final = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$)", re.M | re.S)


def targets(markdown: str, folder: str) -> list[str]:
    """Return the files that a text links to, from the root; `folder` is where the text is.

    >>> targets("[a](../VISION.md#x) and [b](https://example.org)", "docs")
    ['VISION.md']
    """
    links = [link for part in FENCED.split(markdown)[::2] for link in LINK.finditer(part)]
    return [_target(link[2], folder) for link in links if not _elsewhere(link[2])]


def moved(markdown: str, page: str) -> str:
    """Return the text of a page of the site with links that work there.

    >>> moved("[a](../VISION.md#x)", "guide.md"), moved("[a](docs/guide.md)", "readme.md")
    ('[a](vision.md#x)', '[a](guide.md)')
    """
    folder = "" if page in PAGES.values() else posixpath.dirname(posixpath.join("docs", page))

    def follow(link: re.Match[str]) -> str:
        if _elsewhere(link[2]):
            return link[0]
        target = site_path(_target(link[2], folder))
        return f"{link[1]}{posixpath.relpath(target, posixpath.dirname(page) or '.')}{link[3]}"

    parts = FENCED.split(markdown)
    parts[::2] = [LINK.sub(follow, part) for part in parts[::2]]
    return "".join(parts)


def site_path(path: str) -> str:
    """Return where a file of the repository is on the site.

    >>> site_path("docs/guide.md"), site_path("VISION.md"), site_path("examples/heston.py")
    ('guide.md', 'vision.md', 'gallery/heston.md')
    >>> site_path("examples/output/heston.png")
    'gallery/heston.png'
    """
    known = {**PAGES, **COPIES, **FOLDERS}
    if path in known:
        return known[path]
    if path.startswith("examples/") and path.endswith(".py"):
        return f"gallery/{posixpath.basename(path)[:-3]}.md"
    if path.startswith("examples/output/"):
        return f"gallery/{posixpath.basename(path)}"
    return path.removeprefix("docs/")


def _target(link: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, link))


def _elsewhere(link: str) -> bool:
    return "://" in link or link.startswith("mailto:")
