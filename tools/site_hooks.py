"""What mkdocs does besides: pages from files outside docs, the gallery, and their links.

mkdocs reads only the folder `docs`. README, CONTRIBUTING and their like become pages here, and so
do the examples. Links between all of these are rewritten, so that the same link works in the
repository and on the site.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools import gallery  # noqa: E402
from tools.site_links import COPIES, PAGES, moved  # noqa: E402

#: A script, a picture or a style sheet from another address: the site must work without a network.
ELSEWHERE = re.compile(r'\bsrc="https?://[^"]*|<link[^>]+rel="stylesheet"[^>]*href="https?://[^"]*')

#: Pages that the search puts behind those that explain.
BEHIND = ("measured/", "paper/", "reference/", "changes.md", "contributing.md", "security.md")


def on_config(config: Any) -> Any:
    """Put one line into the navigation for every example."""
    for part in config.nav:
        if "Gallery" in part:
            pages = [{e.title: f"gallery/{e.name}.md"} for e in gallery.examples()]
            part["Gallery"] = ["gallery/index.md", *pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=text))
    for source, copy in COPIES.items():
        files.append(File.generated(config, copy, abs_src_path=str(ROOT / source)))
    for example in gallery.examples():
        where = f"gallery/{example.name}"
        page = gallery.page(example, notebook=f"{example.name}.ipynb", source=f"{example.name}.py")
        notebook = json.dumps(gallery.notebook(example), indent=1)
        files.append(File.generated(config, f"{where}.md", content=page))
        files.append(File.generated(config, f"{where}.ipynb", content=notebook))
        files.append(File.generated(config, f"{where}.py", abs_src_path=str(example.path)))
        if example.picture.exists():
            picture = str(example.picture)
            files.append(File.generated(config, f"{where}.png", abs_src_path=picture))
    files.append(File.generated(config, "gallery/index.md", content=gallery_index()))
    return files


def gallery_index() -> str:
    """Return the first page of the gallery: a card for every example."""
    cards = []
    for example in gallery.examples():
        picture = (
            f"[![]({example.name}.png)]({example.name}.md)" if example.picture.exists() else ""
        )
        title = f"**[{example.title}]({example.name}.md)**"
        cards.append(f"<div markdown>\n{picture}\n\n{title}\n\n{example.summary}\n</div>\n")
    return "\n".join(
        [
            "# Gallery\n",
            "Each example is one script that runs in less than a minute. It prints its answer, and "
            "beside it a known answer that was computed in another way.\n",
            '<div class="gallery" markdown>\n',
            *cards,
            "</div>\n",
        ]
    )


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Let links between the repository's files lead to the pages of the site.

    In a table, no line ends within a number and its error.
    """
    uri = page.file.src_uri
    if uri.startswith(BEHIND):
        page.meta.setdefault("search", {"boost": 0.25})
    markdown = re.sub(
        r"^\|.*\|$", lambda row: row[0].replace(" ± ", "\N{NBSP}±\N{NBSP}"), markdown, flags=re.M
    )
    return markdown if uri.startswith("gallery/") else moved(markdown, uri)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that needs the network."""
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output
