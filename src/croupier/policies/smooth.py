"""Thompson sampling over a box: the arms are points, and cost times variance is smooth in them.

Neufeld et al. (ICML 2014), section 7, leave infinitely many estimators open. Here log(cost times
variance) is a Gaussian process over the box; see `smooth_surface`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import Choice, LedgerOnly, Play, Random, objective_weights, price_of
from croupier.policies.indices import shared_mean_guard
from croupier.policies.smooth_surface import Surface

__all__ = ["FIRST", "SmoothThompson", "in_unit_box", "known_losses", "known_variances", "points_in"]

#: Every point that is opened gets this many draws first.
FIRST: Final = 8

#: Every point of the design gets this many times sqrt(t/K) draws, for the K points of the design.
_FLOOR: Final = 0.5

#: The surface is drawn at this many unopened points, those where it may be lowest.
_SHORTLIST: Final = 24

#: The lengths of the surface are chosen again when the draws have grown by this factor.
_AGAIN: Final = 1.2

#: Below this many effective degrees of freedom, a point may not have seen its tail.
_BLIND: Final = 4.0

#: A neighbour is opened if the surface promises to be lower there by this much: 2 %.
_GAIN: Final = 0.02


class _Open(NamedTuple):
    """The points of the plan in a box of side 1, and the lengths of the latest surface."""

    plan: Plan
    points: Floats
    design: tuple[int, ...]
    lengths: Floats | None
    fitted: float


@dataclass(frozen=True)
class SmoothThompson(LedgerOnly):
    """Thompson sampling where the arms are points of a box, and similar if they are close.

    `points` has the coordinates of each arm. A plan of `continuum` has them in its settings.
    Without them, the arms lie on a line in their order, such as 16 drifts from small to large. A
    few points that fill the box come first. Then log(cost times variance) of the points that were
    drawn is taken as a smooth function with the noise 2/df, and each decision plays the lowest
    point of one draw of its posterior. A new point is opened if it is promised to be better by 2 %,
    and there are never more open points than the design and sqrt(t).
    """

    name: ClassVar[str] = "smooth-thompson"
    points: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        if self.points is not None:
            object.__setattr__(self, "points", tuple(tuple(map(float, p)) for p in self.points))

    def start(self, plan: Plan) -> _Open:
        points = points_in(plan, self.points)
        return _Open(plan, points, _design(points), None, 0.0)

    def prepare(self, state: _Open, ledger: Ledger, pending: Floats) -> _Open:
        """Choose the lengths of the surface again, when the draws have grown."""
        if ledger.draws < _AGAIN * state.fitted or _unopened(state, ledger, pending) is not None:
            return state
        known = known_losses(state.plan, ledger)
        if known is None:
            return state
        opened, values, noise = known
        lengths = Surface.fit(state.points[opened], values, noise).lengths
        return state._replace(lengths=lengths, fitted=float(ledger.draws))

    def choose(self, state: _Open, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        first = _unopened(state, ledger, pending)
        if first is not None:
            return Play(first, FIRST, growth=FIRST)
        known = known_losses(state.plan, ledger)
        if known is None:  # nothing varies: there is nothing to prefer
            return _next_to_open(state, ledger, pending)
        opened, values, noise = known
        surface = Surface.fit(state.points[opened], values, noise, state.lengths)
        random = rng()
        drawn = np.flatnonzero(ledger.count + pending)
        if len(drawn) < len(state.design) + math.sqrt(ledger.draws):
            rest = np.flatnonzero(ledger.count + pending == 0)
            drawn = np.concatenate((drawn, _shortlist(surface, state.points, rest)))
        height = surface.drawn(state.points[drawn], random)
        new = ledger.count[drawn] + pending[drawn] == 0
        if new.any() and not new.all():
            height = height + np.where(new, _GAIN, 0.0)
        arm = int(drawn[height.argmin()])
        if ledger.count[arm] + pending[arm] == 0:
            return Play(arm, FIRST, growth=FIRST)
        return arm


def points_in(plan: Plan, points: Any = None) -> Floats:
    """Return the coordinates of the arms of a plan, in a box of side 1: see `in_unit_box`.

    They are the given ones, or those in the settings of the plan. Otherwise the arms lie on a line,
    in their order.
    """
    arms = len(plan.names)
    given = plan.settings.get("points") if points is None else points
    if given is None:
        given = [(float(k),) for k in range(arms)]
    if len(given) != arms:
        raise PlanError(f"points must have one row for each of {arms} arms, got {len(given)}")
    return in_unit_box(given)


def in_unit_box(points: Any) -> Floats:
    """Return points, one row each, moved into a box of side 1.

    >>> in_unit_box([(0, 5), (1, 5), (4, 5)]).tolist()
    [[0.0, 0.5], [0.25, 0.5], [1.0, 0.5]]
    """
    x = np.asarray(points, float)
    side = np.ptp(x, axis=0)
    return np.asarray(np.where(side > 0, (x - x.min(axis=0)) / np.where(side > 0, side, 1.0), 0.5))


def _design(points: Floats) -> tuple[int, ...]:
    """Return a few points that fill the box: the middle, then always the one that is farthest."""
    wanted = min(len(points), 4 * points.shape[1] + 1)
    chosen = [int(np.square(points - 0.5).sum(axis=1).argmin())]
    # Not the faces of the box, where a surface that is fitted to few points is least needed.
    inner = np.abs(points - 0.5).max(axis=1) <= 0.4
    away = np.square(points - points[chosen[0]]).sum(axis=1)
    while len(chosen) < wanted:
        far = np.where(inner, away, -1.0) if (away[inner] > 0).any() else away
        chosen.append(int(far.argmax()))
        away = np.minimum(away, np.square(points - points[chosen[-1]]).sum(axis=1))
        if not away.any():
            break
    return tuple(dict.fromkeys(chosen))


def _unopened(state: _Open, ledger: Ledger, pending: Floats) -> int | None:
    """Return a point that must be drawn: one that is new, or one of the design on its floor.

    The design stays, so that points all over the box can contradict a corner that sees too little.
    """
    least = max(FIRST, _FLOOR * math.sqrt(ledger.draws / len(state.design)))
    for arm in state.design:
        if ledger.count[arm] + pending[arm] < least:
            return arm
    short = np.flatnonzero((ledger.count + pending > 0) & (ledger.count + pending < FIRST))
    return int(short[0]) if len(short) else None


def _next_to_open(state: _Open, ledger: Ledger, pending: Floats) -> Choice:
    """Return the point that is farthest from those that showed nothing, or the least drawn one."""
    draws = ledger.count + pending
    rest = np.flatnonzero(draws == 0)
    if not len(rest) or np.count_nonzero(draws) > len(state.design) + math.sqrt(draws.sum()):
        return int(np.where(draws > 0, draws, np.inf).argmin())
    apart = state.points[rest][:, None] - state.points[draws > 0][None]
    return Play(int(rest[np.square(apart).sum(axis=-1).min(axis=1).argmax()]), FIRST, growth=FIRST)


def known_losses(plan: Plan, ledger: Ledger) -> tuple[NDArray[np.intp], Floats, Floats] | None:
    """Return the open points, their log(cost times variance) and its noise; None if none varies."""
    known = known_variances(ledger, objective_weights(plan, ledger, ledger.variance))
    if known is None:
        return None
    opened, logs, noise = known
    return opened, np.log(price_of(plan, ledger)[opened]) + logs, noise


def known_variances(
    ledger: Ledger, weights: Floats
) -> tuple[NDArray[np.intp], Floats, Floats] | None:
    """Return the open points, the log of their variance and its noise; None if none varies.

    `weights` are those of the components in the variance. A point that has shown no variation, or
    whose variance is mostly that of one draw (less than 4 effective degrees of freedom), may not
    have seen its rare event: it counts at least as n B^2, where B is how far off the others say it
    could be, with the noise of one degree of freedom, and has no say about the others. All points
    share one mean, so a point whose mean is more than two standard errors away from the others'
    counts with the variance that explains the rest, as in the guard of the default policy.
    """
    opened = np.flatnonzero(ledger.count >= 2)
    s2 = ledger.variance[opened]
    if not s2.any():
        return None
    count, mean = ledger.count[opened][:, None], ledger.mean[opened]
    # If one draw makes up most of a variance, larger ones may not have been seen yet.
    blind = (s2 == 0) | (ledger.df[opened] < _BLIND)
    centre, precision = _damped_centre(count, mean, np.where(blind & ~blind.all(), 0.0, s2))
    off = np.abs(mean - centre)
    doubt = np.where(precision > 0, 1 / np.sqrt(np.maximum(precision, np.finfo(float).tiny)), 0.0)
    # A mean so far from the others needs a larger variance than was seen. The guard of the default
    # policy explains it at two standard errors, the surface at one: four times the variance.
    guarded, _, _ = shared_mean_guard(count[:, 0], mean, s2)
    needed = count * np.square(np.maximum(off - 2 * doubt, 0.0))
    needed = np.maximum(needed, np.where(guarded > s2, 4 * guarded, 0.0))
    raised = needed > s2
    variance = np.maximum(s2, needed)
    unseen = count * np.square(off + 0.8 * doubt)
    total = np.where(blind, np.maximum(unseen, variance), variance) @ weights
    df = ledger.df[opened].min(axis=1)
    noise = np.where(blind.all(axis=1), 2.0, 2 / np.maximum(df, 1.0))
    noise = np.where(raised.any(axis=1), np.maximum(noise, 1.0), noise)
    fine = (total > 0) & np.isfinite(total)
    # The log of a sample variance is too low by 1/df on average, half of its noise.
    return opened[fine], np.log(total[fine]) + noise[fine] / 2, noise[fine]


def _damped_centre(count: Floats, mean: Floats, s2: Floats) -> tuple[Floats, Floats]:
    """Return the common mean that the points point to, and its precision, per component.

    A point is weighted by n/(s2 + m), m the median variance of the points that vary. Points in a
    wrong corner of the box have seen nothing but small values: by 1/s2 they would outvote all.
    """
    varies = s2 > 0
    middle = np.array([np.median(own[seen]) if seen.any() else 1.0
                       for own, seen in zip(s2.T, varies.T, strict=True)])  # fmt: skip
    weight = np.where(varies, count / (s2 + middle), 0.0)
    precision = weight.sum(axis=0)
    return (weight * mean).sum(axis=0) / np.where(precision > 0, precision, 1.0), precision


def _shortlist(surface: Surface, points: Floats, rest: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the unopened points where the surface may be lowest."""
    if len(rest) <= _SHORTLIST:
        return rest
    mean, deviation = surface.roughly(points[rest])
    return rest[np.argpartition(mean - 1.5 * deviation, _SHORTLIST)[:_SHORTLIST]]
