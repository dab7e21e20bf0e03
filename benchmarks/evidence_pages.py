"""The tables of docs/measured/evidence.md, from `make bench-evidence` and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks import report

#: An answer is near if it is off by less than this.
_NEAR: Final = 0.1

Table = tuple[Sequence[str], list[list[str]]]


def speed() -> Table:
    """Return the times to a standard error of 0.05, also divided by croupier's time."""
    columns = ("setting", "cpu ms a run", "rmse of log Z", "cpu ms to 0.05", "to croupier's")
    columns += ("compiling s", "with compiling, to croupier's")
    rows = [
        [row["model"], row["library"], row["version"], *(row[c] for c in columns)]
        for row in report.read("evidence")
    ]
    return ["model", "library", "version", *columns], rows


def _missed(row: dict[str, str]) -> bool:
    """Say whether log Z was off by more than four claimed errors."""
    return not abs(float(row["error"])) <= 4 * float(row["claimed"])


def _rms(rows: list[dict[str, str]], column: str) -> str:
    return f"{(sum(float(row[column]) ** 2 for row in rows) / len(rows)) ** 0.5:.3g}"


def modes() -> Table:
    """Return the errors of log Z on hard posteriors, for each problem and library."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in report.read("evidence-runs"):
        groups.setdefault((row["problem"], row["library"]), []).append(row)
    problems = list(dict.fromkeys(problem for problem, _ in groups))
    rows = []
    for problem, library in sorted(groups, key=lambda group: problems.index(group[0])):
        runs = groups[problem, library]
        done = [row for row in runs if row["done"] == "1"]
        cells = ["-"] * 4
        if done:
            missed = [row["warned"] for row in done if _missed(row)]
            cells = [_rms(done, "error"), _rms(done, "claimed")]
            cells += [str(len(missed)), str(missed.count("0"))]
        evaluations, cpu = (
            sum(float(row[c]) for row in runs) / len(runs) for c in ("evaluations", "cpu s")
        )
        taken = [f"{evaluations:,.0f}", f"{cpu:.1f}"]
        rows.append([problem, library, f"{len(done)} of {len(runs)}", *cells, *taken])
    header = ["problem", "library", "done", "rmse", "claimed", "missed", "of them silent"]
    return [*header, "evaluations", "cpu s"], rows


def budgets() -> Table:
    """Return the share of the budget that calls of evidence took, for each speed."""
    rows = report.read("evidence-budgets")
    cases = list(dict.fromkeys((row["workers"], row["seconds="]) for row in rows))
    found = {
        (row["a point"], row["function of"], row["workers"], row["seconds="]): row for row in rows
    }
    body = []
    for speed, kind in dict.fromkeys((row["a point"], row["function of"]) for row in rows):
        cells = (found.get((speed, kind, *case)) for case in cases)
        body.append([speed, kind, *("-" if row is None else row["of the budget"] for row in cells)])
    titles = [
        f"{seconds} s, {workers} worker{'s' * (workers != '1')}" for workers, seconds in cases
    ]
    return ["a point", "function of", *titles], body


def models() -> Table:
    """Return how many answers are right at each budget, for each set of problems.

    Right is within four claimed errors; a claimed error that is not known is no answer.
    """
    groups: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in report.read("evidence-models"):
        groups.setdefault((row["set"], int(row["budget"])), []).append(row)
    rows = []
    for (kind, budget), runs in sorted(groups.items()):
        known = [row for row in runs if row["claimed"] not in ("nan", "inf")]
        missed = [row["warned"] for row in known if _missed(row)]
        near = sum(abs(float(row["error"])) < _NEAR for row in known)
        false = sum(row["warned"] == "1" for row in known if not _missed(row))
        counts = (len(runs), near, len(runs) - len(known), len(missed), missed.count("0"), false)
        rows.append([kind, f"{budget:,}", *map(str, counts)])
    header = ["problems", "evaluations", "runs", "within 0.1", "not usable", "missed"]
    return [*header, "of them silent", "right with a warning"], rows
