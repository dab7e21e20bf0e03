"""croupier's evaluations and CPU time relative to those of other integrators."""

from __future__ import annotations

import math
from typing import Any

#: The problems that choices were made on, and those that only judge.
SEEN = ("first", "later")
HELD_OUT = ("held out",)


def ratios(
    rows: list[dict[str, str]], rtol: str, groups: tuple[str, ...] = SEEN
) -> list[dict[str, Any]]:
    """Return croupier's evaluations and CPU time relative to each peer, geometric means.

    Only problems count that both solved: all runs reached the tolerance, and the median of the
    true errors is at most three times the tolerance. `1 us` is the CPU time if an evaluation took a
    microsecond more.
    """
    rows = [row for row in rows if row["group"] in groups]
    found = {(row["problem"], row["method"]): row for row in rows if row["rtol"] == rtol}
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        pairs = [
            (ours, theirs)
            for (name, other), theirs in found.items()
            if other == method
            and (ours := found.get((name, "croupier"))) is not None
            and _solved(ours)
            and _solved(theirs)
        ]
        own = [row for (_, other), row in found.items() if other == method]
        reached = sum(int(row["reached"]) for row in own)
        if not own:
            continue
        table.append(
            {
                "method": method,
                "rtol": rtol,
                "problems": len(pairs),
                "solved": f"{reached}/{sum(int(row['runs']) for row in own)}",
                "evaluations": _mean(pairs, "evaluations"),
                "CPU time": _mean(pairs, "seconds"),
                "1 us": _mean(pairs, "seconds", 1e-6),
                "most": max((float(a["evaluations"]) / float(b["evaluations"]) for a, b in pairs),
                            default=math.nan),
                "covered": _held(own),
            }
        )  # fmt: skip
    return table


def true_ratios(rows: list[dict[str, str]], groups: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return croupier's evaluations to a true error relative to each method, geometric means."""
    found = {
        (row["problem"], row["method"], row["rtol"]): float(row["evaluations"])
        for row in rows
        if row["group"] in groups and row["evaluations"]
    }
    table = []
    for method in dict.fromkeys(method for _, method, _ in found if method != "croupier"):
        for rtol in dict.fromkeys(rtol for *_, rtol in found):
            pairs = [
                (found[name, "croupier", rtol], theirs)
                for (name, other, target), theirs in found.items()
                if (other, target) == (method, rtol) and (name, "croupier", rtol) in found
            ]
            if pairs:
                logs = [math.log(ours / theirs) for ours, theirs in pairs]
                table.append(
                    {"method": method, "rtol": rtol, "problems": len(pairs),
                     "evaluations": math.exp(sum(logs) / len(logs)), "most": math.exp(max(logs))}
                )  # fmt: skip
    return table


def against_honest(rows: list[dict[str, str]], rtol: str) -> list[tuple[float, str, str]]:
    """Return croupier's evaluations relative to peers whose error bars hold, the largest first.

    Problems of three and more dimensions; a ratio, a problem and a method. The error bar of a peer
    holds if it covered in 85 % of its runs, and its median error is within the tolerance.
    """
    rows = [row for row in rows if row["rtol"] == rtol and int(row["problem"].split()[-1]) > 2]
    own = {row["problem"]: float(row["evaluations"]) for row in rows if row["method"] == "croupier"}
    found = [
        (own[row["problem"]] / float(row["evaluations"]), row["problem"], row["method"])
        for row in rows
        if row["method"] != "croupier"
        and row["problem"] in own
        and _solved(row)
        and float(row["true error"]) <= float(rtol)
        and int(row["covered"]) >= 0.85 * int(row["runs"])
    ]
    return sorted(found, reverse=True)


def _held(rows: list[dict[str, str]]) -> float:
    """Return how often error bars held, every problem with the same weight."""
    shares = [int(row["covered"]) / int(row["reached"]) for row in rows if int(row["reached"])]
    return sum(shares) / len(shares) if shares else math.nan


def _solved(row: dict[str, str]) -> bool:
    if row["runs"] != row["reached"]:
        return False
    return float(row["true error"]) <= 3 * float(row["rtol"])


def _mean(
    pairs: list[tuple[dict[str, str], dict[str, str]]], column: str, each: float = 0.0
) -> float:
    """Return the geometric mean of ratios of a column, plus a time for each evaluation."""
    if not pairs:
        return math.nan

    def size(row: dict[str, str]) -> float:
        return max(float(row[column]) + each * float(row["evaluations"]), 1e-5)

    return math.exp(sum(math.log(size(a) / size(b)) for a, b in pairs) / len(pairs))
