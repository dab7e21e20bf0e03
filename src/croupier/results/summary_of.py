"""A result as the plain data that the views show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from croupier.results.rows import arm_summary, plain
from croupier.views.summary import Summary

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["summary_of"]


def summary_of(result: Result) -> Summary:
    """Return a result as the plain data that the views show."""
    summary: Summary = {
        "value": plain(result.value),
        "stderr": plain(result.stderr),
        "low": plain(result.interval[0]),
        "high": plain(result.interval[1]),
        "confidence": result.confidence,
        "interval_kind": result.basis.kind,
        "draws": result.draws,
        "cost": result.cost,
        "unit": result.plan.unit,
        "seconds": result.seconds,
        "stopped": result.stopped,
        "agreement": plain(result.agreement),
        "leader": result.leader,
        "unnoticed": plain(result.unnoticed),
        "policy": result.plan.policy["name"],
        "combine": result.plan.combine,
        "seed": result.seed,
        "warnings": list(result.warnings),
        "arms": [arm_summary(row, log=result.plan.log) for row in result.arms],
        "table": result.plan.table,
        "rows": result.basis.meaning.words,
    }
    if result.plan.components is not None:
        summary["components"] = list(result.plan.components)
    if result.log_interval is not None:
        summary["log"] = {
            "value": plain(result.log_value),
            "stderr": plain(result.log_stderr),
            "low": plain(result.log_interval[0]),
            "high": plain(result.log_interval[1]),
        }
    facts = [*_failures(result), *result.details.get("facts", ())]
    if facts:
        summary["facts"] = [(str(label), str(text)) for label, text in facts]
    if "shown" in result.details:
        summary["shown"] = list(result.details["shown"])
    if "slices" in result.details:
        summary["slices"] = list(result.details["slices"])
    if result.runs is not None:
        agreement = plain(result.runs.agreement)
        summary["runs"] = {"seeds": list(result.runs.seeds), "agreement": agreement}
    return summary


def _failures(result: Result) -> list[tuple[str, str]]:
    """Return a line about calls that failed."""
    failed = result.details.get("failed", 0)
    if not failed:
        return []
    text = f"{failed:,} of {result.draws:,}"
    low, high = result.between
    if not result.history.scalar and np.ndim(low) == 0:
        text += f"; whatever they are, the answer lies in [{low:.4g}, {high:.4g}]"
    return [("failed calls", text)]
