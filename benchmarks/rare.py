"""make bench-rare: calls of g to about 5 % c.o.v., missed intervals and missed modes, by problem.

A run stops at a relative half-width of 10 % (`rtol=0.1`). A miss is an interval without the known
value; it is silent if the run gave no warning. A mode is missed if no design point lies in it.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from benchmarks.rare_problems import FIRST, MORE, Problem

HERE = Path(__file__).parent.parent / "docs" / "benchmarks" / "rare.csv"
BUDGET = 100_000
COLUMNS = (
    "problem", "value", "published", "seeds", "calls", "search calls", "plain calls", "misses",
    "silent misses", "modes missed", "warned", "mean/value", "seconds per run",
)  # fmt: skip


def one(problem: Problem, seed: int, value: float) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CroupierWarning)
        result = cr.probability(
            problem.g, problem.over, draws=BUDGET, rtol=0.1, rng=seed, progress=False
        )
    low, high = result.interval
    missed = not low <= value <= high
    return {
        "calls": result.draws,
        "search": result.search["calls"],
        "value": result.value,
        "missed": missed,
        "silent": missed and not result.warnings,
        "warned": bool(result.warnings),
        "modes": problem.modes is not None and lost_mode(problem, result.design_points),
    }


def lost_mode(problem: Problem, points: Any) -> bool:
    """Tell whether some part of the failing region has no design point."""
    assert problem.modes is not None
    parts = {"four": 4, "RP11": 4}.get(problem.name[:4], 2)
    return not len(points) or len(set(problem.modes(points).tolist())) < parts


def row(problem: Problem, seeds: int) -> dict[str, Any]:
    value = float(problem.value())
    begin = time.perf_counter()
    runs = [one(problem, seed, value) for seed in range(seeds)]
    seconds = (time.perf_counter() - begin) / seeds
    numbers = (
        problem.name,
        f"{value:.7g}",
        "" if problem.published is None else problem.published,
        seeds,
        round(float(np.mean([run["calls"] for run in runs]))),
        round(float(np.mean([run["search"] for run in runs]))),
        f"{(1 - value) / value / 0.05**2:.2g}",
        sum(run["missed"] for run in runs),
        sum(run["silent"] for run in runs),
        sum(run["modes"] for run in runs) if problem.modes else "",
        sum(run["warned"] for run in runs),
        round(float(np.mean([run["value"] for run in runs])) / value, 3),
        round(seconds, 2),
    )
    return dict(zip(COLUMNS, numbers, strict=True))


def page(rows: list[dict[str, Any]]) -> str:
    """Return the rows as the table of docs/rare.md."""
    lines = [
        "| problem | value | plain | calls | of these in the search | runs | misses | silent "
        "| modes lost | warned |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        cells = [each[name] for name in ("problem", "value", "plain calls", "calls")]
        cells += [each[name] for name in ("search calls", "seeds", "misses", "silent misses")]
        lost = each["modes missed"]
        lines.append(
            "| "
            + " | ".join(map(str, [*cells, "-" if lost == "" else lost, each["warned"]]))
            + " |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the problems and write one row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--case", nargs="*", help="names of problems; all by default")
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args()
    known = [p for p in (*FIRST, *MORE) if not asked.case or p.name in asked.case]
    rows = []
    for problem in known:
        rows.append(row(problem, asked.seeds))
        print(", ".join(f"{name} {cell}" for name, cell in rows[-1].items()), flush=True)
        with asked.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
