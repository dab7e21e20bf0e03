"""Write what the examples of a page print into the blocks below them.

``python -m tools.printed_answers docs/rare.md ...`` runs the Python blocks of each page from top
to bottom. A ``text`` block that follows a Python block gets what that block has printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Final

BLOCK: Final = re.compile(
    r"(?P<skip><!-- not run[^\n]*-->\n\s*)?^```python\n(?P<code>.*?)^```\n"
    r"(?P<open>\n```text\n)?(?(open)(?P<shown>.*?)^```\n)",
    re.M | re.S,
)


def filled(page: str) -> str:
    r"""Return the text of a page with the answers that its examples print.

    >>> page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    >>> print(filled(page).splitlines()[-2])
    2
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(block: re.Match[str]) -> str:
        if block["skip"]:
            return block[0]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "page", "exec", dont_inherit=True), namespace)
        if not block["open"]:
            return block[0]
        answer = "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())
        return f"```python\n{block['code']}```\n\n```text\n{answer}\n```\n"

    return BLOCK.sub(run, page)


def main() -> None:
    """Fill the pages that the command line names."""
    for path in [Path(name).resolve() for name in sys.argv[1:]]:
        sys.modules["__main__"] = types.ModuleType("__main__")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            path.write_text(filled(path.read_text("utf-8")), "utf-8")
            os.chdir(path.parent)


if __name__ == "__main__":
    main()
