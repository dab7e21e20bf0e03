"""The tables of docs/measured/integrate.md, from `make bench-peers` and `make bench-low`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import geometric_mean

from benchmarks import peer_ratios, report

Table = tuple[Sequence[str], list[list[str]]]


def peers(groups: tuple[str, ...]) -> Table:
    """Return croupier's evaluations and CPU time relative to every method, by tolerance."""
    rows = [
        [
            row["method"],
            row["rtol"],
            str(row["problems"]),
            row["solved"],
            *(_two(row[c]) for c in ("evaluations", "most", "CPU time", "1 us", "covered")),
        ]
        for rtol in ("0.01", "0.001")
        for row in peer_ratios.ratios(report.read("peers"), rtol, groups)
    ]
    header = ["method", "rtol", "problems", "runs that stopped", "evaluations", "most", "CPU time",
              "CPU time at 1 µs", "covered"]  # fmt: skip
    return header, rows


def _two(number: float) -> str:
    return "-" if math.isnan(number) else f"{number:.2f}"


def low_dimensions() -> Table:
    """Return what nets cost in one and two dimensions, by group and tolerance."""
    rows = []
    measured = report.read("low-dimensions")
    for group, rtol in dict.fromkeys((row["group"], row["rtol"]) for row in measured):
        some = [row for row in measured if (row["group"], row["rtol"]) == (group, rtol)]
        ratios = [float(row["evaluations"]) / float(row["scipy"]) for row in some if row["scipy"]]
        runs, covered, far = (sum(int(row[c]) for row in some) for c in ("runs", "covered", "far"))
        ratio = f"{geometric_mean(ratios):.2f}"
        rows.append([group, rtol, str(len(some)), ratio, f"{covered}/{runs}", str(far)])
    return ["problems", "rtol", "number", "to scipy", "covered", "far off"], rows


def true_errors() -> Table:
    """Return croupier's evaluations to a true error, relative to every method."""
    both = {
        name: {
            (row["method"], row["rtol"]): row
            for row in peer_ratios.true_ratios(report.read("peer-true-errors"), groups)
        }
        for name, groups in (("seen", peer_ratios.SEEN), ("held out", peer_ratios.HELD_OUT))
    }
    rows = []
    for key, row in both["seen"].items():
        other = both["held out"].get(key)
        cells = [str(row["problems"]), f"{row['evaluations']:.2f}", f"{row['most']:.2f}"]
        cells += [str(other["problems"]), f"{other['evaluations']:.2f}"] if other else ["0", ""]
        rows.append([*key, *cells])
    header = ["method", "true error", "problems", "evaluations", "most", "held out", "evaluations"]
    return header, rows
