"""Put the measured tables into the documentation, between the marks that ask for them.

A page has ``<!-- table: name -->`` ... ``<!-- end -->``. ``python -m benchmarks.pages`` makes the
text between the marks from the CSV files; a full benchmark runs it at its end. The modules that
measure have the tables: `TABLES`, functions that return a header and rows of cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from benchmarks import runner

DOCS = runner.FOLDER.parent

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with its numbers on the right, or nothing if nothing was measured yet.

    >>> print(markdown(["problem", "calls"], [["two modes", "120"], ["wave", "-"]]))
    | problem | calls |
    | --- | ---: |
    | two modes | 120 |
    | wave | - |
    """
    if not rows:
        return ""
    _, *others = zip(*rows, strict=True)
    numbers = [all(cell[:1] in "+-0123456789" for cell in column) for column in others]
    under = ["---", *("---:" if aligned else "---" for aligned in numbers)]
    lines = [header, under, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def columns(name: str, *shown: str) -> Callable[[], Table]:
    """Return a table of columns of a file, as they are; of all columns if none is named."""

    def table() -> Table:
        rows = runner.read(name)
        header = shown or (tuple(rows[0]) if rows else ())
        return header, [[row.get(column) or "-" for column in header] for row in rows]

    return table


def with_error(value: str, error: str, digits: int = 2) -> str:
    """Return a number and its standard error.

    >>> with_error("1.0123", "0.0213")
    '1.01 ± 0.02'
    """
    return f"{float(value):.{digits}f} ± {float(error):.{digits}f}"


def three(number: str) -> str:
    """Return three digits of a number, and all digits before the point of a larger number.

    >>> three("1.3853"), three("70.82"), three("14832.7")
    ('1.39', '70.8', '14833')
    """
    value = float(number)
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def tables() -> dict[str, Callable[[], Table]]:
    """Return all tables of all modules by name."""
    modules: Iterable[str] = (name for names in runner.SUITES.values() for name in names)
    found: dict[str, Callable[[], Table]] = {}
    for module in modules:
        found |= import_module(f"benchmarks.{module}").TABLES
    return found


def main() -> None:
    known = tables()
    for path in sorted(DOCS.rglob("*.md")):
        old = path.read_text("utf-8")
        new = re.sub(
            r"<!-- table: (\S+) -->\n.*?<!-- end -->",
            lambda mark: (
                f"<!-- table: {mark[1]} -->\n\n{markdown(*known[mark[1]]())}\n\n<!-- end -->"
            ),
            old,
            flags=re.S,
        )
        if new != old:
            path.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
