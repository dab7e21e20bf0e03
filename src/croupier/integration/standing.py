"""The standing of a race: who leads, with which error, and who is worth playing next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from croupier.arms.sobol import BITS
from croupier.data.draws import Floats
from croupier.integration.runner import Model, Runner

__all__ = ["TRUSTED", "Standing", "kept", "late_runner", "next_runner", "standing_of"]

#: A runner with fewer effective points may have missed the mass of the integrand.
TRUSTED: Final = 30.0

#: No play is planned for an error below this share of the leader's: without a tolerance, the error
#: that is wanted is 0, and no model reaches it.
_FARTHEST: Final = 8.0

#: A family without a fit gets at least half of this part of the leader's points.
_LATE: Final = 16


class Standing(NamedTuple):
    """Where the race stands.

    `variance` is the variance of the leader's mean, per component. `score` and `models` belong to
    `runners`: the weighted variance now, and the model of how it falls. `trusted` says whether the
    leader has seen enough of the integrand. `doubt` is the factor by which the other runners make
    the leader's error longer.
    """

    leader: Runner
    variance: Floats
    runners: tuple[Runner, ...]
    score: tuple[float, ...]
    models: tuple[Model, ...]
    trusted: bool
    doubt: float


def standing_of(runners: Sequence[Runner]) -> Standing | None:
    """Return the standing of the runners that have a complete stage; None if none has."""
    running = [runner for runner in runners if runner.n]
    if not running:
        return None
    weights = _weights(running)
    trusted = [r for r in running if r.effective >= TRUSTED and not r.closed]
    guarded = _guarded(trusted, weights)
    variances = [guarded.get(runner.number, runner.error.variance) for runner in running]
    scores = [float((weights * variance).max()) for variance in variances]
    models = [runner.model(weights) for runner in running]
    able = [k for k, runner in enumerate(running) if runner in trusted]
    varied = [k for k in able if (running[k].error.variance > 0).any()]
    if varied or able:
        best = min(varied or able, key=lambda k: scores[k])
    else:
        open_ones = [k for k, runner in enumerate(running) if not runner.closed]
        best = max(open_ones, key=lambda k: running[k].effective)
    leader = running[best]
    own = float((weights * leader.error.variance).max())
    return Standing(
        leader, variances[best], tuple(running), tuple(scores), tuple(models), bool(able),
        scores[best] / own if own > 0 else 1.0,
    )  # fmt: skip


def _weights(runners: Sequence[Runner]) -> Floats:
    """Return the weights of the components: 1/variance of one value, the largest of all runners.

    A runner that has not seen f yet may have a variance near 0, the first one too.
    """
    spread = np.max([runner.spread() for runner in runners], axis=0)
    least = np.maximum(spread, 1e-200)  # 1/spread must be finite
    weights = np.where(spread > 0, 1 / least, 0.0)
    return weights if weights.any() else np.ones_like(spread)


def _guarded(trusted: Sequence[Runner], weights: Floats) -> dict[int, Floats]:
    """Return the variances of the runners, none smaller than its disagreement with the others.

    All runners share one mean. They are visited in descending variance, with A = sum 1/V and
    M = sum x/V over those visited: V >= max(|x - M/A| - 2/sqrt(A), 0)^2/4.
    """
    found: dict[int, Floats] = {}
    A = M = np.zeros_like(weights)
    for runner in sorted(trusted, key=lambda r: -float((weights * r.error.variance).max())):
        V, x = runner.error.variance, runner.mean
        seen = A > 0
        centre = np.divide(M, A, out=np.zeros_like(A), where=seen)
        error = np.divide(1.0, np.sqrt(A), out=np.zeros_like(A), where=seen)
        off = np.where(seen, np.maximum(np.abs(x - centre) - 2 * error, 0.0), 0.0)
        V = np.maximum(V, np.square(off) / 4)
        found[runner.number] = V
        precision = np.divide(1.0, V, out=np.zeros_like(V), where=V > 0)
        A, M = A + precision, M + precision * x
    return found


def next_runner(standing: Standing, needed: float, rng: np.random.Generator) -> Runner:
    """Return the runner with the least predicted work to the wanted error.

    `needed` is the leader's error divided by the wanted one, infinite without a tolerance. The
    work is max(points, points ((m/tau^2)^(1/a) - 1)), with m the variance, drawn once from its
    posterior, m df/chi2 with df degrees of freedom.
    """
    at = standing.runners.index(standing.leader)
    target = standing.score[at] / min(max(needed, 1.0), _FARTHEST) ** 2
    best, least = standing.leader, np.inf
    for runner, model in zip(standing.runners, standing.models, strict=True):
        df = runner.error.df
        m = model.at(runner.size) * df / float(rng.chisquare(df))
        if runner.closed or 2 * runner.n > 2**BITS:
            continue
        if runner.effective < TRUSTED and runner is not standing.leader:
            continue
        growth = (m / target) ** (1 / model.a) - 1 if target > 0 else 1.0
        work = max(float(runner.points), runner.points * growth)
        if work < least:
            best, least = runner, work
    return best


def late_runner(standing: Standing, plain: Sequence[str]) -> Runner | None:
    """Return a family without a fit that has too few of the leader's points, or None.

    Its points were not chosen by a fit, so it may see what the leader misses, and its error may
    fall faster than its first points say. `plain` are the names of these families.
    """
    for runner in standing.runners:
        small = _LATE * 2 * runner.n <= standing.leader.n and runner.n & (runner.n - 1) == 0
        if runner.family in plain and small:
            return runner
    return None


def kept(challenger: Runner, before: Standing) -> bool:
    """Tell whether a challenger stays: its variance is smaller at the same n.

    If no runner can be trusted yet, the one that sees more of the integrand stays.
    """
    leader = before.leader
    if not before.trusted:
        mine, theirs = challenger.effective, leader.effective
        return mine / challenger.points > theirs / max(leader.points, 1)
    weights = _weights(before.runners)
    theirs = before.models[before.runners.index(leader)].at(challenger.n)
    mine = float((weights * challenger.error.variance).max())
    return challenger.effective >= TRUSTED and mine <= theirs
