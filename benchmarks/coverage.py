"""make bench-coverage: how often the intervals hold the true value.

It measures runs of a fixed size, runs that stop at a tolerance, and runs that stop at a tolerance
with anytime=True. The stops are in `stops`. The first group of families has a promise (0.93 to
0.965 at 95 % and a budget of at least 10^4). The second group is only reported: no method can do
much better there.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from benchmarks import pages, report, stops
from benchmarks.families import HARD, PROMISED, Family
from benchmarks.replicate import replicate

SIZE = 10_000
KEY = ("family", "mode")
GROUPS = {family.name: "promised" for family in PROMISED} | {f.name: "hard" for f in HARD}
CASES = {family.name: family for family in (*PROMISED, *HARD)}
FIXED = "fixed"
MODES = (FIXED, *stops.MODES)


def verdict(group: str, covered: float, error: float) -> str:
    """Return whether a promised family keeps its promise, within two standard errors."""
    if group != "promised":
        return "-"
    return "ok" if 0.93 - 2 * error <= covered <= 0.965 + 2 * error else "OVER"


def bench(family: Family, runs: int) -> dict[str, Any]:
    began = time.perf_counter()
    unit = "draws" if family.costs is None else "cost"
    done = replicate(family, "variance-thompson", runs, **{unit: SIZE})
    covered = done.covered(family.mean, 0)
    error = math.sqrt(covered * (1 - covered) / runs)
    group = GROUPS[family.name]
    return {
        "family": family.name,
        "group": group,
        "mode": FIXED,
        "runs": runs,
        "covered_95": covered,
        "error_95": error,
        "covered_99": done.covered(family.mean, 1),
        "verdict": verdict(group, covered, error),
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
            if mode == FIXED:
                rows.append(bench(CASES[name], options.runs))
                report.write("coverage", rows[-1:], KEY)
            elif min(CASES[name].variances) > 0:  # an oracle needs no draws of a constant
                rows.append(stops.bench(CASES[name], GROUPS[name], mode, options.runs))
                report.write("stops", rows[-1:], stops.KEY)
        report.show(f"coverage, {mode}", rows)
    picture()
    pages.main()


def picture() -> None:
    """Draw the coverage of every family in every mode, with two standard errors."""
    from matplotlib.figure import Figure

    rows = report.read("coverage")
    last = stops.ORACLES[-1]
    for row in report.read("stops"):
        rows.append({**row, **{name: row[f"{name}_{last}"] for name in ("covered_95", "error_95")}})
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
