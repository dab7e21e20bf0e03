"""The tables of docs/measured/evidence.md, from `make bench-evidence` and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import report

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


def small() -> Table:
    """Return the times of croupier and dynesty where their errors are about the same."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in report.read("evidence-small"):
        groups.setdefault((row["problem"], row["library"]), []).append(row)
    rows = []
    for (problem, library), runs in groups.items():
        done = [row for row in runs if row["done"] == "1"]
        counts = [sum(_missed(row) for row in done), sum(row["warned"] == "1" for row in done)]
        taken = [sum(float(row[c]) for row in runs) / len(runs) for c in ("evaluations", "cpu s")]
        cells = [_rms(done, "error"), _rms(done, "claimed"), *map(str, counts)]
        cells += [f"{taken[0]:,.0f}", f"{taken[1]:.2f}"]
        rows.append([problem, library, f"{len(done)} of {len(runs)}", *cells])
    header = ["problem", "library", "done", "rmse", "claimed", "missed", "with a warning"]
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


def replications() -> Table:
    """Return how often the intervals of log Z cover, for each problem with many seeds."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in report.read("evidence-replications"):
        groups.setdefault(row["problem"], []).append(row)
    rows = []
    for problem, runs in groups.items():
        missed = [row["warned"] for row in runs if _missed(row)]
        false = sum(row["warned"] == "1" for row in runs if not _missed(row))
        counts = [sum(int(row["covered"]) for row in runs), len(missed), missed.count("0"), false]
        taken = [sum(float(row[c]) for row in runs) / len(runs) for c in ("evaluations", "cpu s")]
        cells = [_rms(runs, "error"), _rms(runs, "claimed"), f"{taken[0]:,.0f}", f"{taken[1]:.1f}"]
        rows.append([problem, str(len(runs)), *map(str, counts), *cells])
    header = ["problem", "runs", "covered", "missed", "of them silent", "right with a warning"]
    return [*header, "rmse", "claimed", "evaluations", "cpu s"], rows


def rules() -> Table:
    """Return how often each warning came with right and with wrong answers, for each kind."""
    counts: dict[tuple[str, str], list[list[str]]] = {}
    for row in report.read("evidence-warnings"):
        off = abs(float(row["error"])) / float(row["claimed"])
        answer = "right" if off <= 2 else "wrong" if off > 4 else "between"
        said = ["any"] * int(row["warned"]) + [each for each in row["rules"].split("; ") if each]
        counts.setdefault((row["kind"], answer), []).append(said)
    rules = sorted({rule for runs in counts.values() for said in runs for rule in said} - {"any"})
    rows = []
    for (kind, answer), runs in sorted(counts.items(), reverse=True):
        fired = [str(sum(rule in said for said in runs)) for rule in ("any", *rules)]
        rows.append([kind, answer, str(len(runs)), *fired])
    return ["problems", "answer", "runs", "with a warning", *rules], rows
