"""Problems to simulate: the distributions of the draws of several arms, and of what they cost.

All arms of a problem share one mean; what differs is their variances and their costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import Range, count_of, positive, range_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.simulator import kinds
from croupier.simulator.costs import (
    Costs,
    above_zero,
    costs_of,
    lognormal_costs,
    numbers,
)
from croupier.theory import (
    Discrete,
    Distribution,
    ScaledBernoulli,
    TruncatedNormal,
    UniformDistribution,
)

__all__ = [
    "Costs",
    "Problem",
    "compiled_arms",
    "lognormal",
    "lognormal_costs",
    "normal",
    "recorded",
    "scaled_bernoulli",
    "truncated_normal",
    "two_valued",
    "uniform",
]


@dataclass(frozen=True, eq=False)
class Problem:
    """Arms to simulate, made by one of the functions beside it.

    `variances` are those of the draws, `costs` the mean costs of a draw, `bounds` the range by
    which policies scale payoffs (if there is one), `arm_bounds` the range of each arm where they
    differ, `distributions` what `croupier.theory` makes its bounds from (for draws in [0, 1]).

    >>> problem = scaled_bernoulli([0.08, 0.18])
    >>> problem
    <Problem of 2 arms, two values, variances 0.08, 0.18>
    """

    distribution: int
    parameters: Floats
    mean: float
    variances: Floats
    charge: Costs
    bounds: Range | None = None
    distributions: tuple[Distribution, ...] | None = None
    recorded: Floats | None = None
    sample: Callable[..., Any] | None = None
    block: int = 0
    arm_bounds: tuple[Range, ...] | None = None

    def __len__(self) -> int:
        return len(self.variances)

    def __repr__(self) -> str:
        shown = ", ".join(f"{v:.4g}" for v in self.variances[:8])
        more = ", ..." if len(self) > 8 else ""
        kind, paid = kinds.DISTRIBUTIONS[self.distribution], self.charge.distribution
        costs = "" if self.unit_costs else f", {kinds.COST_DISTRIBUTIONS[paid]} costs"
        return f"<Problem of {len(self)} arms, {kind}, variances {shown}{more}{costs}>"

    @property
    def costs(self) -> Floats:
        """The mean cost of a draw of each arm."""
        return self.charge.means

    @property
    def unit_costs(self) -> bool:
        """Does every draw cost 1?"""
        return self.charge.distribution == kinds.COSTS_CONSTANT and bool(
            (self.charge.means == 1).all()
        )

    @property
    def best(self) -> int:
        """The arm with the least cost times variance."""
        return int((self.costs * self.variances).argmin())

    def within(self, low: ArrayLike, high: ArrayLike) -> Problem:
        """Return the problem with a range by which bounded policies scale its payoffs.

        With one number per arm, each arm has its own range, for ``scaling="per-arm"``.

        >>> uniform([0.01, 0.02]).within([0.3, 0.2], [0.7, 0.8]).bounds
        (0.2, 0.8)
        """
        ends = np.array(np.broadcast_arrays(numbers("low", low), numbers("high", high)))
        if ends.ndim == 1:
            bounds = range_of("bounds", (ends[0].item(), ends[1].item()))
            return replace(self, bounds=bounds, arm_bounds=None)
        if ends.shape != (2, len(self)):
            raise PlanError(
                f"low and high must be numbers, or one for each of {len(self)} arms, "
                f"got {low!r} and {high!r}"
            )
        ranges = [range_of("bounds", (a, b)) for a, b in ends.T.tolist()]
        whole = (float(ends[0].min()), float(ends[1].max()))
        return replace(self, bounds=whole, arm_bounds=tuple(one for one in ranges if one))


# -- values


def two_valued(
    low: ArrayLike,
    high: ArrayLike,
    chance: ArrayLike = 0.5,
    *,
    bounds: Range | None = None,
    costs: ArrayLike | Costs | None = None,
) -> Problem:
    """Return arms that draw `high` with probability `chance`, else `low`.

    The range, by which bounded policies scale payoffs, is that of all values if it is not given.

    >>> two_valued([0.2, 0.0], [0.8, 1.0]).variances
    array([0.09, 0.25])
    """
    a, b = np.atleast_1d(numbers("low", low)), np.atleast_1d(numbers("high", high))
    p = np.broadcast_to(numbers("chance", chance), a.shape)
    if a.shape != b.shape or a.ndim != 1:
        raise PlanError(f"low and high must be equally many, got {low!r} and {high!r}")
    if not ((a < b) & (p > 0) & (p < 1)).all():
        raise PlanError("every arm needs low < high and a chance above 0 and below 1")
    means = a + (b - a) * p
    if np.ptp(means) > 1e-9 * np.abs(means).max() + 1e-300:
        raise PlanError(f"arms must share one mean, these have {means.tolist()}")
    variances = np.square(b - a) * p * (1 - p)
    span = range_of("bounds", bounds) or (float(a.min()), float(b.max()))
    inside = a.min() >= 0 and b.max() <= 1
    known = tuple(
        Discrete((x, y), (1 - q, q)) for x, y, q in zip(a, b, p, strict=True)
    ) if inside else None  # fmt: skip
    parameters = np.column_stack((a, b, p, np.zeros(len(a))))
    charge = costs_of(costs, len(a))
    return Problem(kinds.TWO_VALUES, parameters, float(means[0]), variances, charge, span, known)


def scaled_bernoulli(
    variances: ArrayLike, mean: float = 0.5, *, costs: ArrayLike | Costs | None = None
) -> Problem:
    """Return the arms of the paper's Figure 1: mean + s (Z - 1/2), Z a fair coin, in [0, 1].

    >>> scaled_bernoulli([0.04, 0.09]).parameters[:, :2]
    array([[0.3, 0.7],
           [0.2, 0.8]])
    """
    v, _ = _spread("scaled Bernoulli", variances, mean, 1.0)
    s = 2 * np.sqrt(v)
    known = tuple(ScaledBernoulli(float(one), mean) for one in s)
    low, high = np.maximum(mean - s / 2, 0.0), np.minimum(mean + s / 2, 1.0)
    parameters = np.column_stack((low, high, np.full(len(v), 0.5), np.zeros(len(v))))
    return Problem(
        kinds.TWO_VALUES, parameters, mean, v, costs_of(costs, len(v)), (0.0, 1.0), known
    )


def uniform(
    variances: ArrayLike, mean: float = 0.5, *, costs: ArrayLike | Costs | None = None
) -> Problem:
    """Return arms that are uniform about the mean, within [0, 1].

    >>> uniform([1 / 48, 1 / 12]).parameters[:, :2]
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    v, _ = _spread("uniform", variances, mean, 1 / 3)
    half = np.sqrt(3 * v)
    low, high = np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
    known = tuple(UniformDistribution(float(a), float(b)) for a, b in zip(low, high, strict=True))
    parameters = np.column_stack((low, high, np.zeros((len(v), 2))))
    return Problem(kinds.UNIFORM, parameters, mean, v, costs_of(costs, len(v)), (0.0, 1.0), known)


def truncated_normal(
    variances: ArrayLike, mean: float = 0.5, *, costs: ArrayLike | Costs | None = None
) -> Problem:
    """Return normal arms cut to an interval about the mean that fits into [0, 1].

    `variances` are those after the cut: they stay below that of the uniform distribution.

    >>> problem = truncated_normal([0.02, 0.05])
    >>> [round(one.variance, 12) for one in problem.distributions]
    [0.02, 0.05]
    """
    v, room = _spread("truncated normal", variances, mean, 1 / 3, equal=False)
    low, high = mean - room, mean + room
    deviations = np.array([_deviation(float(one), mean, low, high) for one in v])
    known = tuple(TruncatedNormal(mean, float(one), low, high) for one in deviations)
    rows = [(mean, float(one), low, high) for one in deviations]
    return Problem(
        kinds.TRUNCATED, np.array(rows), mean, v, costs_of(costs, len(v)), (0.0, 1.0), known
    )


def _deviation(variance: float, mean: float, low: float, high: float) -> float:
    """Return the deviation before the cut that leaves this variance, by bisection of its log."""

    def left(log_deviation: float) -> float:
        return TruncatedNormal(mean, math.exp(log_deviation), low, high).variance - variance

    from scipy.optimize import brentq

    start = math.log(variance) / 2  # the cut can only narrow
    return math.exp(brentq(left, start - 0.01, start + 12, xtol=1e-14, rtol=1e-14))


def normal(
    variances: ArrayLike,
    mean: float = 0.0,
    *,
    bounds: Range | None = None,
    costs: ArrayLike | Costs | None = None,
) -> Problem:
    """Return normal arms; bounded policies need `bounds`, and clip=True for what lies outside."""
    v = above_zero("variances", variances)
    parameters = np.column_stack((np.full(len(v), float(mean)), np.sqrt(v), np.zeros((len(v), 2))))
    span = range_of("bounds", bounds)
    return Problem(kinds.NORMAL, parameters, float(mean), v, costs_of(costs, len(v)), span)


def lognormal(
    variances: ArrayLike,
    mean: float = 1.0,
    *,
    bounds: Range | None = None,
    costs: ArrayLike | Costs | None = None,
) -> Problem:
    """Return lognormal arms with a common mean and given variances.

    >>> lognormal([1.0, 4.0]).mean
    1.0
    """
    v = above_zero("variances", variances)
    mean = positive("mean", mean)
    square = np.log1p(v / mean**2)
    parameters = np.column_stack(
        (math.log(mean) - square / 2, np.sqrt(square), np.zeros((len(v), 2)))
    )
    span = range_of("bounds", bounds)
    return Problem(kinds.LOGNORMAL, parameters, mean, v, costs_of(costs, len(v)), span)


def recorded(
    draws: Sequence[ArrayLike],
    *,
    costs: Sequence[ArrayLike] | ArrayLike | Costs | None = None,
    bounds: Range | None = None,
) -> Problem:
    """Return arms that draw, with replacement, from recorded draws of their own.

    `costs` may be recorded too, an array per arm: a draw then takes its value and its cost from
    the same record, however they depend on each other. The variances are those of the records;
    `bounds` are the range of all of them if not given.

    >>> rng = np.random.default_rng(0)
    >>> recorded([rng.normal(1.0, 1.0, 1000), rng.normal(1.0, 2.0, 500)])
    <Problem of 2 arms, recorded, variances 0.9..., 4...>
    """
    if isinstance(draws, str) or not isinstance(draws, Sequence | np.ndarray) or len(draws) == 0:
        raise PlanError(f"draws must be a sequence of arrays, one per arm, got {draws!r}")
    values = [numbers(f"draws of arm {k}", one) for k, one in enumerate(draws)]
    for k, one in enumerate(values):
        if one.ndim != 1 or len(one) < 2:
            raise PlanError(f"arm {k} needs at least two recorded draws, got shape {one.shape}")
    paid, charge = _recorded_costs(costs, values)
    lengths = [len(one) for one in values]
    starts = np.cumsum([0, *lengths[:-1]])
    parameters = np.column_stack((starts, lengths, np.zeros((len(values), 2)))).astype(float)
    rows = np.column_stack((np.concatenate(values), np.concatenate(paid)))
    variances = np.array([one.var() for one in values])
    span = range_of("bounds", bounds) or (float(rows[:, 0].min()), float(rows[:, 0].max()))
    mean = float(np.mean([one.mean() for one in values]))
    return Problem(kinds.RECORDED, parameters, mean, variances, charge, span, recorded=rows)


def _recorded_costs(costs: Any, values: list[Floats]) -> tuple[list[Floats], Costs]:
    nested = isinstance(costs, Sequence) and len(costs) > 0 and np.ndim(costs[0]) == 1
    if not nested or isinstance(costs, Costs):
        return [np.ones(len(one)) for one in values], costs_of(costs, len(values))
    paid = [above_zero(f"costs of arm {k}", one) for k, one in enumerate(costs)]
    if [len(one) for one in paid] != [len(one) for one in values]:
        raise PlanError("every arm must have as many recorded costs as recorded draws")
    means = np.array([one.mean() for one in paid])
    return paid, Costs(kinds.COSTS_RECORDED, np.zeros((len(paid), 2)), means)


def compiled_arms(
    sample: Callable[..., Any],
    variances: ArrayLike,
    mean: float,
    *,
    bounds: Range | None = None,
    costs: ArrayLike | None = None,
    block: int | None = None,
    parameters: ArrayLike | None = None,
) -> Problem:
    """Return arms of your own: ``sample(stream, arm) -> value``, or (value, cost).

    `sample` is a plain function that numba can compile, or one compiled already. Its randomness
    comes from the stream, by the functions of `croupier.simulator.randomness`: uniform(stream),
    normal(stream), exponential(stream), gamma(stream, shape), beta(stream, a, b). If it returns
    costs as well, give their means as `costs`.

    Where many draws at once are quicker than one by one, as on vectors of a processor, give a
    `block`: ``sample(stream, numbers, values)`` then fills that many values, which are used up
    before it is called again. `numbers` is the arm's row of `parameters`.

    >>> from croupier.simulator.randomness import uniform as random
    >>> def powers(stream, arm):
    ...     return random(stream) ** (arm + 1) * (arm + 2)
    >>> compiled_arms(powers, variances=[1 / 3, 0.8], mean=1.0, bounds=(0, 3))
    <Problem of 2 arms, arms of your own, variances 0.3333, 0.8>
    """
    if not callable(sample):
        raise PlanError(f"sample must be a function (stream, arm), got {sample!r}")
    v = above_zero("variances", variances)
    rows = np.zeros((len(v), 4)) if parameters is None else numbers("parameters", parameters)
    if rows.ndim != 2 or len(rows) != len(v):
        raise PlanError(f"parameters must be a row of numbers for each of {len(v)} arms")
    many = 0 if block is None else count_of("block", block)
    charge = costs_of(costs, len(v))
    span = range_of("bounds", bounds)
    return Problem(kinds.USERS_OWN, rows, float(mean), v, charge, span, sample=sample, block=many)


# -- what is checked


def _spread(
    shape: str, variances: ArrayLike, mean: float, part: float, *, equal: bool = True
) -> tuple[Floats, float]:
    """Return the variances, and how far draws in [0, 1] can be from the mean."""
    v = above_zero("variances", variances)
    if not 0 < mean < 1:
        raise PlanError(f"mean must lie between 0 and 1, got {mean!r}")
    room = min(mean, 1 - mean)
    most = part * room * room
    bad = v > most * (1 + 1e-12) if equal else v >= most
    if bad.any():
        raise PlanError(
            f"a variance of {v[bad][0]:g} is impossible for {shape} draws in [0, 1] with mean "
            f"{mean:g}: it must be {'at most' if equal else 'below'} {most:g}"
        )
    return v, room
