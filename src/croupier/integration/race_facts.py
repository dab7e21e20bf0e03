"""What a race shows: the rows of its families, and the facts that a printed result states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from croupier.estimates.estimate import shaped
from croupier.integration.changes import Identity, Rotated
from croupier.integration.runner import Runner
from croupier.integration.standing import TRUSTED, Standing
from croupier.results.rows import ArmRow

__all__ = ["race_facts", "race_rows"]


def race_rows(rows: Iterable[ArmRow], standing: Standing | None, *, scalar: bool) -> list[ArmRow]:
    """Return the rows with the estimates of the nets, in place of means over all draws.

    A family has one runner for each of its fits. Its row has the mean and the error of the best
    one; that of the leader is the result. The efficiency is precision per evaluation of these nets.
    """
    best = {} if standing is None else _best(standing)
    price = {name: runner.points * float(_variance(runner).max()) for name, runner in best.items()}
    known = [each for each in price.values() if each > 0]
    found = []
    for row in rows:
        runner = best.get(row.name)
        mean = error = efficiency = None
        if runner is not None:
            mean = shaped(runner.mean, scalar)
            error = shaped(np.sqrt(_variance(runner, standing)), scalar)
            efficiency = min(known) / price[row.name] if price[row.name] > 0 else None
        found.append(replace(row, mean=mean, stderr=error, efficiency=efficiency))
    return found


def race_facts(standing: Standing | None, draws: int) -> dict[str, Any]:
    """Return the details of a race: its facts, and the families whose rows are shown."""
    if standing is None:
        return {}
    leader, best = standing.leader, _best(standing)
    by = f"the family {leader.family!r}, with {leader.points:,} of {draws:,} evaluations"
    others = [name for name in best if name != leader.family]
    compared = ", ".join(others) or "no other family has seen enough of f"
    facts = [("estimate from", by), ("compared with", compared)]
    if (points := _unfitted(standing.runners)) > 0:
        share = min(3 / points, 1.0)  # exp(-3) is 5 %
        facts.append(
            ("may be missed", f"a region with {share:.1g} of the domain, with a chance of 5 %")
        )
    return {"facts": facts, "shown": sorted({leader.family, *best})}


def _best(standing: Standing) -> dict[str, Runner]:
    """Return the best runner of each family that has seen enough of f; the leader in any case."""
    found: dict[str, Runner] = {}
    scores = zip(standing.score, standing.runners, strict=True)
    for _, runner in sorted(scores, key=lambda pair: pair[0]):
        if runner.effective >= TRUSTED:
            found.setdefault(runner.family, runner)
    return found | {standing.leader.family: standing.leader}


def _variance(runner: Runner, standing: Standing | None = None) -> Any:
    if standing is not None and runner is standing.leader:
        return standing.variance
    return runner.error.variance


def _unfitted(runners: Sequence[Runner]) -> int:
    """Return the number of points that no fit has chosen."""
    plain = [r for r in runners if isinstance(r.change, Identity | Rotated)]
    return sum(runner.points for runner in plain)
