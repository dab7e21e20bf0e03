"""The gallery: every file in `examples` is a script, a page of the site and a notebook.

A file consists of cells. `# %%` begins a cell of code, `# %% [markdown]` a cell of text, whose
lines begin with `#`. There is no list of examples: a new example is one new file.

`python -m tools.gallery run [NAME ...]` runs examples and keeps what they print and draw in
`examples/output`. `python -m tools.gallery notebooks FOLDER` writes the notebooks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
OUTPUT = EXAMPLES / "output"

MARK = re.compile(r"^# %%( \[markdown\])?$", re.M)
SECONDS = re.compile(r"\bIt takes (\d+) seconds\b")


@dataclass(frozen=True)
class Cell:
    """A piece of an example: text in Markdown, or code."""

    text: bool
    source: str


@dataclass(frozen=True)
class Example:
    """One file of the gallery."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the file, of the page and of the notebook."""
        return self.path.stem

    @property
    def cells(self) -> list[Cell]:
        """The cells of the file, from top to bottom."""
        return cells(self.path.read_text("utf-8"))

    @property
    def title(self) -> str:
        """The first heading."""
        return self.cells[0].source.splitlines()[0].removeprefix("# ")

    @property
    def summary(self) -> str:
        """The first paragraph below the heading."""
        return self.cells[0].source.split("\n\n")[1]

    @property
    def seconds(self) -> int:
        """How long it takes, as its first cell says."""
        found = SECONDS.search(self.cells[0].source)
        if found is None:
            raise ValueError(f"{self.path.name}: the first cell must say 'It takes N seconds'")
        return int(found[1])

    @property
    def printed(self) -> Path:
        """What it printed when the gallery was last made."""
        return OUTPUT / f"{self.name}.txt"

    @property
    def picture(self) -> Path:
        """What it drew when the gallery was last made."""
        return OUTPUT / f"{self.name}.png"


def examples() -> list[Example]:
    """Return every example, in the order of the names."""
    return [Example(path) for path in sorted(EXAMPLES.glob("*.py"))]


def cells(source: str) -> list[Cell]:
    r"""Cut a script into its cells.

    >>> cells("# %% [markdown]\n# # A title\n#\n# Text.\n\n# %%\nprint(1)\n")
    [Cell(text=True, source='# A title\n\nText.'), Cell(text=False, source='print(1)')]
    """
    before, *pieces = MARK.split(source)
    if before.strip() or not pieces:
        raise ValueError("an example begins with '# %% [markdown]'")
    found = []
    for text, body in zip(pieces[::2], pieces[1::2], strict=True):
        lines = body.strip("\n").splitlines()
        if text:
            if not all(line.startswith("#") for line in lines if line):
                raise ValueError(f"a line of a text cell does not begin with '#': {lines!r}")
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        found.append(Cell(bool(text), "\n".join(lines).strip("\n")))
    return found


def page(example: Example, *, notebook: str, source: str) -> str:
    """Return the example as a page: the picture, text, code, and what it prints."""
    first, *rest = example.cells
    heading, _, text = first.source.partition("\n\n")
    parts = [heading]
    if example.picture.exists():
        parts.append(f"![{example.title}: the picture of the run]({example.name}.png)")
    parts += [text, f"[The script]({source}) · [the notebook]({notebook})"]
    parts += [cell.source if cell.text else f"```python\n{cell.source}\n```" for cell in rest]
    if example.printed.exists():
        parts.append(f"## What it prints\n\n```text\n{example.printed.read_text('utf-8')}```")
    return "\n\n".join(parts) + "\n"


#: croupier is on no package index yet, so a hosted notebook installs it from a copy of the sources.
_INSTALL = """\
# Where croupier is missing, as on Colab: upload a copy of the repository (or clone it) into a
# folder croupier beside this notebook, remove the first # below, and run this cell.
# %pip install "./croupier[all]\""""


def notebook(example: Example) -> dict[str, Any]:
    """Return the example as a notebook, format 4.5, without outputs.

    The first cell of code installs croupier where it is missing, as in a hosted notebook.
    """
    install = Cell(False, _INSTALL)
    first, *rest = example.cells
    return {
        "cells": [_notebook_cell(i, cell) for i, cell in enumerate([first, install, *rest])],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "colab": {"name": f"{example.name}.ipynb", "provenance": []},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _notebook_cell(number: int, cell: Cell) -> dict[str, Any]:
    common = {"id": f"cell-{number}", "metadata": {}, "source": cell.source.splitlines(True)}
    if cell.text:
        return {"cell_type": "markdown", **common}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **common}


def run(example: Example, folder: Path) -> str:
    """Run an example in a folder, where it leaves its picture, and return what it printed."""
    surroundings = os.environ | {"MPLBACKEND": "Agg", "COLUMNS": "80", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, str(example.path)],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{example.path.name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Run examples, or write notebooks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    chosen = commands.add_parser("run", help="run examples, keep what they print and draw")
    chosen.add_argument("names", nargs="*")
    commands.add_parser("notebooks", help="write all notebooks").add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.command == "notebooks":
        given.folder.mkdir(parents=True, exist_ok=True)
        for example in examples():
            file = given.folder / f"{example.name}.ipynb"
            file.write_text(json.dumps(notebook(example), indent=1) + "\n", "utf-8")
        return
    OUTPUT.mkdir(exist_ok=True)
    for example in examples():
        if not given.names or example.name in given.names:
            with tempfile.TemporaryDirectory() as folder:
                printed = run(example, Path(folder))
                example.printed.write_text(printed, "utf-8")
                example.picture.write_bytes((Path(folder) / example.picture.name).read_bytes())
            print(f"{example.name}: {printed.splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
