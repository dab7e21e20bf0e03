"""The tables of docs/rare.md, from the files of `make bench-rare`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import geometric_mean

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


def published() -> Table:
    """Return the published values that differ from the computed ones."""
    header = ("problem", "published", "by quadrature or closed form")
    rows = [row for row in report.read("rare") if row["published"]]
    return header, [[row["problem"], row["published"], row["value"]] for row in rows]


def methods() -> Table:
    """Return calls and missed intervals of every method on every problem."""
    found = {(row["problem"], row["method"]): row for row in report.read("rare-methods")}
    rows = []
    for own in report.read("rare"):
        cells = [f"{own['calls']} ({own['misses']} of {own['seeds']})"]
        for method in METHODS:
            row = found.get((own["problem"], method))
            cells.append("not run" if row is None else _cell(row))
        rows.append([own["problem"], own["plain calls"], *cells])
    return ("problem", "plain", "`cr.probability`", *METHODS), rows


def _cell(row: dict[str, str]) -> str:
    if row["raised"] == row["runs"]:
        return "error"
    return f"{row['calls']} ({row['misses']} of {row['runs']})"


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
    lost = sum(int(row["modes missed"]) for row in with_modes)
    of = sum(int(row["runs"]) for row in with_modes)
    return [
        str(len(found)),
        str(runs),
        f"{geometric_mean(calls):.2f}",
        *(_percent(sum(int(row[k]) for row in found), runs) for k in ("misses", "silent misses")),
        f"{lost} of {of}",
        str(raised),
    ]


def _percent(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f} %)"


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
