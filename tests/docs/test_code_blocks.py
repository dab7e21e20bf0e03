"""Every code block in the documentation runs as it is pasted.

The ``python`` blocks of a file, and the lines ``$ croupier ...`` and ``$ echo ...`` of its
``console`` blocks, run from top to bottom in one namespace and one empty folder. The commands run
in this process, since an interpreter for each takes a second; one test uses the installed command.
To leave a block out, put ``<!-- not run: the reason -->`` on the line before it.
"""

import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from croupier import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.exists()]

FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w-]*)")
NOT_RUN = re.compile(r"\s*<!--\s*not run\b:?\s*(.*?)\s*-->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line of code, `not_run` the reason, if any."""

    language: str
    line: int
    code: str
    not_run: str | None


def blocks(text: str) -> Iterator[Block]:
    not_run = None
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        if comment := NOT_RUN.match(line):
            not_run = comment[1]
        elif opening := FENCE.match(line):
            inside = []
            for _, code in lines:
                closing = FENCE.match(code)
                if closing and code.strip() == closing[1] and closing[1].startswith(opening[1]):
                    break
                inside.append(code)
            else:
                raise ValueError(f"the block that begins on line {number} never ends")
            yield Block(opening[2], number + 1, dedent("\n".join(inside)), not_run)
            not_run = None
        elif line.strip():
            not_run = None


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> None:
    # The empty lines make a traceback point at the page's own line.
    source = "\n" * (block.line - 1) + block.code
    exec(compile(source, page, "exec", dont_inherit=True), namespace)


def run_console(block: Block) -> None:
    for command in block.code.replace("\\\n", " ").splitlines():
        if command.startswith("$ echo"):
            in_a_shell(command[2:])
        elif command.startswith("$ croupier"):
            done = CliRunner().invoke(cli.app, shlex.split(command)[2:])
            assert done.exit_code == 0, f"{command}\n{done.output}"


def in_a_shell(command: str) -> None:
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def run_page(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.not_run is not None:
            continue
        try:
            if block.language in ("python", "py"):
                run_python(page, block, vars(sys.modules["__main__"]))
            elif block.language == "console":
                run_console(block)
        except BaseException as error:
            error.add_note(f"in the block at {page.name}:{block.line}")
            raise


@pytest.fixture
def pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, a `__main__` of its own, the installed `croupier`, and no windows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    # A script's functions live in __main__: that is where pickle and dataclasses look for them.
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    before = set(sys.modules)
    yield
    # Another page may have a file of the same name.
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs(page: Path, pasted: None) -> None:
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_that_is_not_run_says_why(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.not_run != "", f"{page.name}:{block.line}: '<!-- not run: -->' needs a reason"


EXAMPLE = """\
<!-- not run: it takes a week -->

```python
raise SystemExit
```

<!-- not run -->
a paragraph in between

1. an item
   ```python
   first = 1
   ```

```text
not code
```

````python
second = first + 1
assert second == 3, "```"
````
"""


def test_blocks_are_found_with_their_lines_and_reasons() -> None:
    found = [(block.language, block.line, block.not_run) for block in blocks(EXAMPLE)]
    assert found == [
        ("python", 4, "it takes a week"),
        ("python", 12, None),
        ("text", 16, None),
        ("python", 20, None),
    ]


def test_a_failure_names_the_page_and_the_line(pasted: None) -> None:
    page = Path("example.md")
    page.write_text(EXAMPLE, encoding="utf-8")
    with pytest.raises(AssertionError, match="```") as caught:
        run_page(page)
    assert caught.value.__notes__ == ["in the block at example.md:20"]
    assert caught.traceback[-1].lineno == 20  # counted from 0: line 21 of the page


def test_the_installed_command_is_that_of_the_pages(pasted: None) -> None:
    in_a_shell("croupier init && croupier policies")
    assert Path("arms.toml").exists()


def test_a_command_that_fails_is_a_failure(pasted: None) -> None:
    page = Path("example.md")
    page.write_text("```console\n$ croupier no-such-command\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="no-such-command"):
        run_page(page)
