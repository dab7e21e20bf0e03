"""croupier's evaluations and CPU time relative to those of other integrators."""

from __future__ import annotations

import math
from typing import Any


def ratios(rows: list[dict[str, str]], rtol: str) -> list[dict[str, Any]]:
    """Return croupier's evaluations and CPU time relative to each peer, geometric means.

    Only problems count that both solved in all runs.
    """
    found = {(row["problem"], row["method"]): row for row in rows if row["rtol"] == rtol}
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        pairs = [
            (ours, theirs)
            for (name, other), theirs in found.items()
            if other == method
            and (ours := found.get((name, "croupier"))) is not None
            and ours["runs"] == ours["reached"]
            and theirs["runs"] == theirs["reached"]
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
                "most": max((float(a["evaluations"]) / float(b["evaluations"]) for a, b in pairs),
                            default=math.nan),
                "covered": sum(int(row["covered"]) for row in own) / max(reached, 1),
            }
        )  # fmt: skip
    return table


def _mean(pairs: list[tuple[dict[str, str], dict[str, str]]], column: str) -> float:
    if not pairs:
        return math.nan
    logs = [math.log(max(float(a[column]), 1e-5) / max(float(b[column]), 1e-5)) for a, b in pairs]
    return math.exp(sum(logs) / len(logs))
