"""The tables of docs/measured/rare.md, from the files of `make bench-rare`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean, geometric_mean

from benchmarks import report

Table = tuple[Sequence[str], list[list[str]]]

#: The calls of the prototype that the method was developed with, for the first 15 problems.
PROTOTYPE = {
    "RP22": 1348, "RP25": 2517, "RP31": 1844, "RP33": 1621, "RP35": 1606, "RP57": 1748,
    "RP75": 1311, "RP89": 1303, "RP107": 3469, "RP110": 1884, "RP111": 2528, "four-branch": 1717,
    "paraboloid": 3702, "linear, d = 100": 4090, "RP63": 10102,
}  # fmt: skip

METHODS = ("FORM + IS", "subset", "cross-entropy", "OT FORM + IS", "OT subset", "OT NAIS")


def problems() -> Table:
    """Return one row for each limit state."""
    header = ("problem", "value", "plain", "calls", "of these in the search", "runs", "misses",
              "silent", "silent beyond 4 errors", "modes lost", "warned")  # fmt: skip
    names = ("problem", "value", "plain calls", "calls", "search calls", "seeds", "misses",
             "silent misses", "silent beyond 4 errors", "modes missed", "warned")  # fmt: skip
    return header, [[row.get(name) or "-" for name in names] for row in report.read("rare")]


#: How `benchmarks/rare_problems.py` computes the values that differ from published ones.
HOW = {
    "RP22": "integral over (x1 - x2)/√2",
    "RP25": "integral over x1 of the part of x2 between two curves",
    "RP31": "integral over x1",
    "RP35": "integral over x1",
    "RP57": "integral over x1 of the part of x2 in two sets (`_rp57_value`)",
    "RP75": "integral over x1, twice for the two signs",
    "RP89": "integral over x1",
    "RP107": "closed form: Φ(-5)",
    "RP111": "integral over x1, four times for the four corners",
    "RP63": "integral over the chi-squared sum of x2, ..., x100 (`_rp63_value`)",
    "RP54": "closed form: the gamma distribution of a sum of 20 exponentials",
    "RP55": "closed form: x1 - x2 is triangular (`_rp55_value`; its edges are roots)",
    "RP77": "integral over x3 (`_rp77_value`)",
}


def published() -> Table:
    """Return the published values that differ from the computed ones."""
    header = ("problem", "published", "computed", "how")
    rows = [row for row in report.read("rare") if row["published"]]
    names = ("problem", "published", "value")
    return header, [[*(row[name] for name in names), HOW[row["problem"]]] for row in rows]


def methods() -> Table:
    """Return calls, missed intervals and lost modes of every method on every problem."""
    found = {(row["problem"], row["method"]): row for row in report.read("rare-methods")}
    rows = []
    for own in report.read("rare"):
        cells = [_numbers(own["calls"], own, own["seeds"])]
        for method in METHODS:
            row = found.get((own["problem"], method))
            cells.append("not run" if row is None else _cell(row))
        rows.append([own["problem"], own["plain calls"], *cells])
    return ("problem", "plain", "`cr.probability`", *METHODS), rows


def _cell(row: dict[str, str]) -> str:
    if row["raised"] == row["runs"]:
        return f"{row['reason'] or 'error'} ({row['runs']} runs)"
    reached = row["reached"] == "" or 2 * int(row["reached"]) >= int(row["runs"])
    return _numbers(row["calls"] if reached else f">{row['calls']}", row, row["runs"])


def _numbers(calls: str, row: dict[str, str], runs: str) -> str:
    return (
        f"{calls} ({row['misses']}/{row['silent misses']}/{row['modes missed'] or '-'} of {runs})"
    )


def summary() -> Table:
    """Return how the methods compare over all problems that each has run."""
    own = {row["problem"]: row for row in report.read("rare")}
    groups: list[tuple[str, list[dict[str, str]]]] = [
        ("`cr.probability`", [{**row, "runs": row["seeds"], "raised": "0"} for row in own.values()])
    ]
    every = report.read("rare-methods")
    groups += [(name, [row for row in every if row["method"] == name]) for name in METHODS]
    rows = []
    for name, found in groups:
        if found:
            rows.append([name, *_summary(found, own)])
    header = ("method", "problems", "runs", "calls, relative to croupier", "misses",
              "silent misses", "runs that lost a mode", "errors")  # fmt: skip
    return header, rows


def _summary(found: list[dict[str, str]], own: dict[str, dict[str, str]]) -> list[str]:
    runs = sum(int(row["runs"]) for row in found)
    raised = sum(int(row["raised"]) for row in found)
    calls = [
        float(row["calls"]) / float(own[row["problem"]]["calls"])
        for row in found
        if row["raised"] != row["runs"]
    ]
    with_modes = [row for row in found if row["modes missed"] != ""]
    return [
        str(len(found)),
        str(runs),
        f"{geometric_mean(calls):.2f}",
        *(_mean_share(found, k) for k in ("misses", "silent misses")),
        _mean_share(with_modes, "modes missed"),
        str(raised),
    ]


def _mean_share(found: list[dict[str, str]], column: str) -> str:
    """Return the share of runs, where every problem counts the same: it has 1 to 60 runs."""
    return f"{100 * fmean(int(row[column]) / int(row['runs']) for row in found):.1f} %"


def prototype() -> Table:
    """Return the calls of the first 15 problems relative to the prototype's."""
    own = {row["problem"]: int(row["calls"]) for row in report.read("rare")}
    ratios = {name: own[name] / calls for name, calls in PROTOTYPE.items() if name in own}
    if not ratios:
        return (), []
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return ("geometric mean", "least", "most"), [
        [
            f"{geometric_mean(ratios.values()):.2f}",
            f"{ratios[least]:.2f} ({least})",
            f"{ratios[most]:.2f} ({most})",
        ]
    ]


def gradient() -> Table:
    """Return calls without and with a gradient."""
    own = {row["problem"]: row for row in report.read("rare")}
    rows = []
    for row in report.read("rare-gradient"):
        without = own[row["problem"]]
        pairs = [(without[k] or "-", row[k] or "-") for k in ("misses", "modes missed", "warned")]
        cells = [f"{a} of {without['seeds']} | {b} of {row['seeds']}" for a, b in pairs[:2]]
        cells = [re.sub(r"- of \d+", "-", cell) for cell in cells]
        numbers = [row["problem"], without["calls"], row["calls"], row["gradients"]]
        rows.append([*numbers, *" | ".join(cells).split(" | ")])
    header = ("problem", "calls without", "calls with", "gradients", "misses without",
              "misses with", "modes lost without", "modes lost with")  # fmt: skip
    return header, rows


def calls() -> Table:
    """Return how often calls on families of proposals miss."""
    names = ("call", "runs", "draws", "misses", "silent misses", "silent beyond 4 errors", "warned")
    return names, [[row.get(name) or "-" for name in names] for row in report.read("rare-calls")]


def replications(what: str) -> Table:
    """Return coverage and bias of one kind of replications."""
    rows = [row for row in report.read("rare-replications") if row["what"] == what]
    cells = [
        [row["case"], row["runs"], f"{row['coverage']} ± {row['error']}", row["z"]] for row in rows
    ]
    return ("case", "runs", "coverage at 95 %", "z of the mean"), cells


def splitting() -> Table:
    """Return coverage and bias of splitting, and how many runs warned of few replications."""
    rows = [row for row in report.read("rare-replications") if row["what"] == "splitting"]
    header, cells = replications("splitting")
    return (*header, "warned"), [
        [*cell, row["warned"]] for cell, row in zip(cells, rows, strict=True)
    ]
