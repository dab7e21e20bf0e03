"""make bench-coverage: how often the intervals hold the true value.

It measures runs of a fixed size, runs that stop at a tolerance, and runs with anytime=True. For
the stops it also reports the mean number of draws relative to an oracle that plays the best arm and
knows its variance. The first group of families has a promise (0.93 to 0.965 at 95 % and a budget of
at least 10^4). The second group is only reported: no method can do much better there.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from benchmarks import pages, report
from benchmarks.families import HARD, PROMISED, Family
from benchmarks.replicate import Runs, replicate
from croupier.estimates.intervals import normal_quantile

SIZE = 10_000
#: An oracle needs this many draws of the best arm for the tolerance of the stops.
ORACLE = 4_000
KEY = ("family", "mode")
GROUPS = {family.name: "promised" for family in PROMISED} | {f.name: "hard" for f in HARD}
CASES = {family.name: family for family in (*PROMISED, *HARD)}
MODES = ("fixed", "tolerance", "anytime")
DEFAULT = "variance-thompson"


def oracle_cost(family: Family) -> float:
    """Return what the oracle spends: ORACLE draws of the best arm."""
    best = int(family.losses().argmin())
    return ORACLE * (1.0 if family.costs is None else family.costs[best])


def tolerance(family: Family) -> float:
    """Return the half-width that the oracle's 95 % interval has after ORACLE draws."""
    best = int(family.losses().argmin())
    return normal_quantile(0.975) * math.sqrt(family.variances[best] / ORACLE)


def play(family: Family, mode: str, runs: int) -> tuple[Runs, float]:
    unit = "draws" if family.costs is None else "cost"
    if mode == "fixed":
        return replicate(family, DEFAULT, runs, **{unit: SIZE}), SIZE
    settings: dict[str, Any] = {unit: 40 * oracle_cost(family), "atol": tolerance(family)}
    return replicate(family, DEFAULT, runs, anytime=mode == "anytime", **settings), oracle_cost(
        family
    )


def verdict(group: str, mode: str, covered: float, error: float) -> str:
    """Return whether a promised family keeps its promise, within two standard errors."""
    if group != "promised":
        return "-"
    low = {"fixed": 0.93, "tolerance": 0.94, "anytime": 0.95}[mode]
    high = 0.965 if mode == "fixed" else 1.0
    return "ok" if low - 2 * error <= covered <= high + 2 * error else "OVER"


def bench(family: Family, mode: str, runs: int) -> dict[str, Any]:
    began = time.perf_counter()
    done, scale = play(family, mode, runs)
    covered = done.covered(family.mean, 0)
    error = math.sqrt(covered * (1 - covered) / runs)
    group = GROUPS[family.name]
    return {
        "family": family.name,
        "group": group,
        "mode": mode,
        "runs": runs,
        "covered_95": covered,
        "error_95": error,
        "covered_99": done.covered(family.mean, 1),
        "cost_to_oracle": float(done.cost.mean() / scale),
        "by_tolerance": float((done.stopped == "tolerance").mean()),
        "verdict": verdict(group, mode, covered, error),
        "seconds": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-coverage", description=__doc__)
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="one family")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--runs", type=int, default=4000)
    options = parser.parse_args()
    for mode in options.mode or MODES:
        rows = []
        for name in options.case or CASES:
            if mode != "fixed" and min(CASES[name].variances) == 0:
                continue  # an oracle that knows a constant needs no draws at all
            rows.append(bench(CASES[name], mode, options.runs))
            report.write("coverage", rows[-1:], KEY)
        report.show(f"coverage, {mode}", rows)
    picture()
    pages.main()


def picture() -> None:
    """Draw the coverage of every family in every mode, with two standard errors."""
    from matplotlib.figure import Figure

    rows = report.read("coverage")
    families = [name for name in CASES if any(row["family"] == name for row in rows)]
    figure = Figure(figsize=(8, 0.34 * len(families) + 1.4), layout="constrained")
    axes = figure.subplots()
    for mode, colour, shift in zip(
        MODES, ("#0072B2", "#E69F00", "#009E73"), (-0.2, 0, 0.2), strict=True
    ):
        chosen = [row for row in rows if row["mode"] == mode]
        axes.errorbar(
            [float(row["covered_95"]) for row in chosen],
            [families.index(row["family"]) + shift for row in chosen],
            xerr=[2 * float(row["error_95"]) for row in chosen],
            fmt="o", markersize=4, color=colour, label=mode,
        )  # fmt: skip
    axes.axvline(0.95, color="#444444", linewidth=0.8)
    axes.axvspan(0.93, 0.965, color="#eeeeee", zorder=0)
    axes.set_yticks(range(len(families)), families)
    axes.invert_yaxis()
    axes.set_xlabel("share of the 95 % intervals that hold the true value")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(report.FOLDER / "coverage.png", dpi=150)


if __name__ == "__main__":
    main()
