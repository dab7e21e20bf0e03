"""How a benchmark reports: a table on the terminal, a CSV that grows case by case."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a benchmark's CSV; no rows if the file does not exist yet."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(name: str, rows: Sequence[Mapping[str, Any]], key: Sequence[str]) -> None:
    """Put rows into a benchmark's CSV, and replace the rows with the same key."""
    kept = {tuple(str(row[k]) for k in key): dict(row) for row in read(name)}
    kept |= {tuple(str(row[k]) for k in key): dict(row) for row in rows}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(kept.values())


def fill(
    name: str,
    key: Sequence[str],
    wanted: Iterable[tuple[Any, ...]],
    measured: Callable[..., Mapping[str, Any]],
) -> None:
    """Measure what a benchmark's CSV lacks, and print each row; `wanted` has keys of rows."""
    known = {tuple(row[k] for k in key) for row in read(name)}
    for each in wanted:
        if tuple(map(str, each)) in known:
            continue
        row = measured(*each)
        write(name, [row], key)
        print(*row.values(), sep="  ", flush=True)


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values()))
    Console(width=150).print(table)
