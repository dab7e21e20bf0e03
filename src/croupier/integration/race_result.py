"""What a race shows: its estimate, the rows of its families, its facts and its warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from croupier.data.extremes import HEAVY
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import shaped
from croupier.integration.changes import Identity, Rotated
from croupier.integration.runner import Runner
from croupier.integration.standing import TRUSTED, Standing
from croupier.results.rows import ArmRow

__all__ = ["nothing_known", "pooled_of", "race_facts", "race_rows", "race_warnings"]

#: The other families deserve a warning if they make the leader's error this many times longer.
_LONGER: Final = 2.0


def pooled_of(
    names: Sequence[str], runners: Sequence[Runner], standing: Standing | None, draws: float
) -> Pooled:
    """Return the leader's estimate; before a stage is complete, that of its complete nets.

    If the variance was made larger than the nets say, the covariance gets the difference on its
    diagonal.
    """
    runner = runners[0] if standing is None else standing.leader
    means = runner.incomplete() if standing is None else runner.means
    mean, nets = means.mean(axis=0), len(means)
    away = (means - mean) / np.sqrt(nets * max(nets - 1, 1))
    covariance, df = away.T @ away, max(nets - 1.0, 1.0)
    variance = np.diag(covariance).copy()
    varies = variance > 0
    if standing is not None:
        mean, variance = runner.mean, standing.variance
        df, varies = runner.error.df, runner.varies
        covariance = runner.error.covariance
        covariance = covariance + np.diag(np.maximum(variance - np.diag(covariance), 0.0))
    weights = np.zeros((len(names), len(mean)))
    weights[names.index(runner.family)] = 1.0
    return Pooled(
        mean=mean,
        variance=variance,
        df=np.full(len(mean), df),
        varies=varies,
        weights=weights,
        draws=draws,
        covariance=covariance if nets > 1 else None,
    )


def nothing_known(names: Sequence[str], components: int, draws: float) -> Pooled:
    """Return the estimate of a run whose draws were too few for a net."""
    weights = np.zeros((len(names), components))
    weights[0] = 1.0
    no = np.zeros(components)
    return Pooled(no + np.nan, no, no + 1, no > 1, weights, draws)


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


def race_warnings(standing: Standing | None, pooled: Pooled) -> list[str]:
    """Return the warnings about the estimate of a race."""
    if standing is None:
        return ["no net is complete: nothing reliable is known; give a larger budget"]
    leader = standing.leader
    found = []
    if leader.constant.any():
        found.append(_alike(leader, pooled))
    if not pooled.varies.any():
        largest = float(np.abs(leader.ends).max())
        if not found and not (largest**2):
            found.append(
                f"the largest value of f is {largest:.2g}, and its square is 0 for a computer: "
                "nothing is known about the error; multiply f by a constant"
            )
        return found
    if not standing.trusted:
        found.append(
            f"only {leader.effective:.0f} effective points carry the integral: a part "
            "of it may be missed and the error bar may be too short; draw more, or give "
            "narrower bounds"
        )
    if standing.doubt > _LONGER**2:
        found.append(
            "the families of nets do not agree with each other, so the error bar was made "
            f"{standing.doubt**0.5:.1f} times longer: draw more"
        )
    shape = leader.shape
    if leader.longer > _LONGER:
        found.append(
            f"the family {leader.family!r} leads, but other families have seen values that it has "
            f"not, so the error bar was made {leader.longer:.1f} times longer, and may still be "
            "too short. f may have a heavy tail or a narrow peak; draw more, use a transform that "
            "removes the singularity, or give bounds around the peak"
        )
    if (shape > HEAVY).any():
        found.append(
            "the values of f have a heavy tail (Pareto shape of the extreme values "
            f"{np.nanmax(shape):.2f}, above {HEAVY}): the largest may not have been seen. "
            "The error bar was made longer, and may still be too short; use a transform that "
            "removes the singularity"
        )
    return found


def _alike(leader: Runner, pooled: Pooled) -> str:
    """Say that f was constant, and what this does not exclude."""
    value = pooled.mean[leader.constant][0]
    text = f"f was constant, {value:.6g}, at all {leader.points} points"
    if not value:
        return (
            f"{text}: the interval has no ends, because the size of f elsewhere is not known. A "
            f"region with less than {3 / leader.points:.1g} of the domain may have been missed. "
            "Give bounds around the place where f is not 0"
        )
    if not pooled.varies[leader.constant].all():
        return f"{text}: nothing is known about the error; draw more"
    return (
        f"{text}: the error bar holds if f is between 0 and {2 * value:.6g} in the regions that "
        "were missed"
    )
