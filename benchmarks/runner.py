"""The runner of all benchmarks: ``python -m benchmarks.runner SUITE``, or ``make bench-SUITE``.

The quick form, the default, takes minutes: fewer and smaller rows, printed, in build/benchmarks. It
says whether everything runs and about what it says. ``--full`` measures the rows of the pages, puts
each into docs/benchmarks as soon as it is there, and fills the tables of the pages at its end. A
full run that was interrupted continues: build/benchmarks/full has what it has measured, and
``--again`` forgets this. ``--only TEXT`` chooses tables or rows by a part of their names.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]

#: Where the pages find their figures, and where a quick run leaves its own.
FOLDER = ROOT / "docs" / "benchmarks"
BUILD = ROOT / "build" / "benchmarks"

#: The modules of each suite.
SUITES: dict[str, tuple[str, ...]] = {
    "core": ("efficiency", "coverage", "untuned", "budgets"),
    "doors": ("strata", "continuum", "importance"),
    "integrate": ("peers", "low_dimensions"),
    "rare": ("rare", "expensive"),
    "evidence": ("evidence", "evidence_models"),
    "speed": ("speed", "simulator"),
    "paper": ("paper_figures",),
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """A table of figures.

    `key` are the columns that tell its rows apart. `cells` says what is measured, in the quick and
    in the full form: values of the key, then anything else that `measure` takes. `measure` returns
    one row, or several that are measured side by side. `picture` draws the file.
    """

    name: str
    key: tuple[str, ...]
    cells: Callable[[bool], Iterable[tuple[Any, ...]]]
    measure: Callable[..., Row | Sequence[Row]]
    picture: Callable[[], None] | None = None


def read(name: str, folder: Path | None = None) -> list[dict[str, str]]:
    """Return the rows of a file; no rows if it does not exist yet."""
    path = (folder or FOLDER) / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(name: str, rows: Sequence[Row], key: Sequence[str], folder: Path | None = None) -> None:
    """Put rows into a file, in the place of those with the same key."""
    folder = folder or FOLDER
    new = [{column: str(value) for column, value in row.items()} for row in rows]
    keys = [_key(row, key) for row in new]
    kept: list[dict[str, str]] = []
    for row in read(name, folder):
        if _key(row, key) not in keys:
            kept.append(row)
        elif new:
            kept, new = [*kept, *new], []
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]), extrasaction="ignore")
        table.writeheader()
        table.writerows([*kept, *new])


def _key(row: Row, key: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row[column]) for column in key)


def run(benchmark: Benchmark, full: bool, only: str = "", again: bool = False) -> list[Row]:
    """Measure what is missing, print it, and return all rows."""
    work = BUILD / ("full" if full else "quick")
    if again or not full:
        (work / f"{benchmark.name}.csv").unlink(missing_ok=True)
    columns = len(benchmark.key)
    known = {_key(row, benchmark.key) for row in read(benchmark.name, work)}
    for cell in benchmark.cells(full):
        named = [benchmark.name, *map(str, cell[:columns])]
        if tuple(named[1:]) in known or not any(only in name for name in named):
            continue
        began, cpu = time.perf_counter(), _cpu()
        found = benchmark.measure(*cell)
        rows = [found] if isinstance(found, Mapping) else found
        for folder in (work, FOLDER) if full else (work,):
            write(benchmark.name, rows, benchmark.key, folder)
        wall, cpu = time.perf_counter() - began, _cpu() - cpu
        print(*named, f"{wall:.1f} s, CPU {cpu:.1f} s", sep="  ", flush=True)
    return list(read(benchmark.name, work))


def _cpu() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(_short(str(value)) for value in row.values()))
    Console(width=150).print(table)


def _short(text: str) -> str:
    """Return a number in four digits, and other texts as they are.

    >>> _short("0.123456"), _short("1000000"), _short("0.05"), _short("vegas")
    ('0.1235', '1000000', '0.05', 'vegas')
    """
    if len(text) < 7 or not any(mark in text for mark in ".e"):
        return text
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text


def load(name: str, suite: str) -> Any:
    """Import another library, or say how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"{error.name} is not installed. `make bench-{suite}` installs it with croupier into "
            ".venv-peers. To do it by hand:\n"
            "    pip install -c constraints.txt -e '.[all]' --group peers"
        ) from None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runner", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--full", action="store_true", help="the rows of the pages: hours")
    parser.add_argument("--again", action="store_true", help="measure rows that are there, too")
    parser.add_argument("--only", default="", metavar="TEXT", help="tables or rows named so")
    options = parser.parse_args()
    for name in SUITES[options.suite]:
        for benchmark in import_module(f"benchmarks.{name}").BENCHMARKS:
            rows = run(benchmark, options.full, options.only, options.again)
            if rows:
                show(benchmark.name, rows)
            if options.full and benchmark.picture is not None:
                benchmark.picture()
    if options.full:
        from benchmarks import pages

        pages.main()


if __name__ == "__main__":
    main()
