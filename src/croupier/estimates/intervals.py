"""Intervals: the error bar of an estimate, each kind with its assumptions.

An interval is ``estimate ± multiplier * sqrt(q)``. There is one kind for a sample of fixed size,
one for a run that stops at a tolerance, and one that holds at all times at once. The interval that
is guaranteed by the bounds of the draws is in `guaranteed`, the intervals of a variance are in
`variance_intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np

from croupier.data.central_moments import FEW
from croupier.data.draws import Floats
from croupier.data.plan import Plan
from croupier.estimates.bet_sums import Told
from croupier.estimates.combiners import Pooled
from croupier.estimates.guaranteed import Guaranteed

__all__ = [
    "INTERVALS",
    "Anytime",
    "ExpectedEnd",
    "FixedSize",
    "Guaranteed",
    "Interval",
    "ManyLooks",
    "StudentNets",
    "half_width",
    "learned",
    "normal_quantile",
]


class ExpectedEnd(NamedTuple):
    """What is known about the end of a run.

    `error` is the standard error so far, relative to the half-width that stops the run, infinite
    if nothing does. `draws` is the number of draws that the whole budget buys.
    """

    error: float
    draws: float


class Interval(Protocol):
    """How wide an interval is, and when a run may stop on it."""

    @property
    def name(self) -> str:
        """The name of the interval in a result."""

    def multiplier(self, pooled: Pooled, confidence: float) -> Floats:
        """Return the half-width in standard errors, per component."""

    def ready(self, pooled: Pooled) -> bool:
        """Tell whether enough is known for a tolerance to stop the run."""

    @property
    def looking(self) -> bool:
        """Whether the interval still has something to learn from a look."""

    @property
    def follows(self) -> bool:
        """Whether the interval must see every batch, as `Guaranteed` must."""

    def look(self, pooled: Pooled, confidence: float, end: ExpectedEnd | None = None) -> Interval:
        """Return the interval after one more look at the data, taken in ticket order.

        `end` says where the run is expected to stop, if this is known.
        """

    def state(self) -> dict[str, Any]:
        """Return its name and what it has learned, as plain data."""

    def resumed(self, state: Mapping[str, Any]) -> Interval | None:
        """Return this interval with what was learned in an earlier call, from its `state`.

        None means that the state does not help: this interval must look at all the data itself.
        """

    def after(self, state: Mapping[str, Any], ticket: int) -> Interval:
        """Return this interval for a run that continues at a ticket, after a call with a state."""

    def seated(self, plan: Plan, shared_mean: bool) -> Interval:
        """Return this interval for a run of a plan, before its first batch."""

    def add(self, told: Told) -> None:
        """Learn from the batch that is next in ticket order; only called if it follows them."""

    def kept(self) -> Interval:
        """Return the interval as it is now, for a result: later batches do not change it."""

    def ends(self, confidence: float) -> tuple[Floats, Floats] | None:
        """Return both ends if they do not rest on a standard error; None if they do."""


class SymmetricInterval:
    """What the intervals share that are made from a standard error, and learn from no batch."""

    name = ""
    looking = False
    follows = False

    def look(self, pooled: Pooled, confidence: float, end: ExpectedEnd | None = None) -> Any:
        """Return itself: it has nothing to learn."""
        return self

    def state(self) -> dict[str, Any]:
        """Return its name."""
        return {"name": self.name}

    def resumed(self, state: Mapping[str, Any]) -> Any:
        """Return itself."""
        return self

    def after(self, state: Mapping[str, Any], ticket: int) -> Any:
        """Return itself."""
        return self

    def seated(self, plan: Plan, shared_mean: bool) -> Any:
        """Return itself."""
        return self

    def add(self, told: Told) -> None:
        """Ignore a batch."""

    def kept(self) -> Any:
        """Return itself."""
        return self

    def ends(self, confidence: float) -> None:
        """Return None: the ends follow from a standard error."""


def learned(interval: Interval, states: Iterable[Mapping[str, Any]]) -> Interval:
    """Return the interval with what it learned in an earlier call: it keeps this for ever.

    `states` are those of earlier calls, the last one first.
    """
    for state in states:
        known = interval.resumed(state)
        if known is not None and not known.looking:
            return known
    return interval


def half_width(interval: Interval, pooled: Pooled, confidence: float) -> Floats:
    """Return the half-width. It is infinite if no arm has varied: then the error is not known."""
    if pooled.varies.all():
        return np.asarray(interval.multiplier(pooled, confidence) * np.sqrt(pooled.variance))
    with np.errstate(invalid="ignore"):
        half = interval.multiplier(pooled, confidence) * np.sqrt(pooled.variance)
    return np.where(pooled.varies, half, np.inf)


@lru_cache
def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf(min(probability, math.nextafter(1.0, 0.0)))


@dataclass(frozen=True)
class FixedSize(SymmetricInterval):
    """For a sample whose size does not depend on its draws: z + (z^3 + z)/(4 df).

    These are the first two terms of Student's quantile (Abramowitz and Stegun 26.7.5), with the
    effective degrees of freedom of the pooled variance. It assumes that the estimate is about
    normal.
    """

    name = "fixed-size"

    def multiplier(self, pooled: Pooled, confidence: float) -> Floats:
        z = normal_quantile((1 + confidence) / 2)
        return np.asarray(z + (z**3 + z) / (4 * pooled.df))

    def ready(self, pooled: Pooled) -> bool:
        return False  # if it stopped the run, it would cover far less than its level


#: How much wider an interval is because the run stops at an error that looks small, and because
#: the estimate is the one whose error looked smallest.
_LUCK: Final = 0.6
_CHOSEN: Final = 0.9


@dataclass(frozen=True)
class StudentNets(SymmetricInterval):
    """For the mean of the best of some groups of independent nets: t + 0.9 z/sqrt(df).

    t is Student's quantile with the df of their variance. The second term allows for a choice: the
    group leads, or the run stops, where the error happens to look small. It assumes that the means
    of the nets are about normal.
    """

    name = "student-nets"

    def multiplier(self, pooled: Pooled, confidence: float) -> Floats:
        from scipy.special import stdtrit

        z = normal_quantile((1 + confidence) / 2)
        t = stdtrit(pooled.df, (1 + confidence) / 2)
        return np.asarray(t + _CHOSEN * z / np.sqrt(pooled.df))

    def ready(self, pooled: Pooled) -> bool:
        return bool(pooled.varies.all())


@dataclass(frozen=True)
class ManyLooks(SymmetricInterval):
    """For a run that looks after every batch and stops when it is precise enough.

    The half-width is z + (z^3 + z)/(4 df) + 0.6 z/sqrt(df). The first two terms are those of the
    fixed size. A stop at a given width costs nothing in the limit of many draws (Chow and Robbins,
    Annals of Mathematical Statistics 36, 1965). The last term allows for the stop at an error that
    happens to look small: its relative standard error is 1/sqrt(2 df). The run does not stop
    before the variance is known: df >= max(100, 20/sum w_k^2).
    """

    name = "many-looks"
    least_df: ClassVar[float] = 100.0

    def multiplier(self, pooled: Pooled, confidence: float) -> Floats:
        return self.at(pooled.df, confidence)

    @staticmethod
    def at(df: Floats | float, confidence: float) -> Floats:
        """Return the half-width in standard errors, with `df` effective degrees of freedom."""
        z = normal_quantile((1 + confidence) / 2)
        return np.asarray(z + (z**3 + z) / (4 * df) + _LUCK * z / np.sqrt(df))

    def ready(self, pooled: Pooled) -> bool:
        needed = np.maximum(self.least_df, 20 / np.square(pooled.weights).sum(axis=0))
        return bool(pooled.varies.all() and (pooled.df >= needed).all())


@dataclass(frozen=True)
class Anytime(SymmetricInterval):
    """Holds at all times at once: you may stop at any time and for any reason.

    This is the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas
    (Annals of Statistics 52, 2024, equation 6): with x = rho^2 n, the half-width is
    sqrt(q (1 + 1/x) log((1 + x)/alpha^2)). rho^2 is chosen at the first look with at least 50
    effective degrees of freedom. Later it does not change. The half-width is smallest where the
    tolerance is expected to stop the run. If the budget ends the run before that, it is smallest
    at a fifth of the budget, and 4 % above its least value at the end. If neither is known, as
    in ask and tell, it is smallest at this first look.
    """

    rho2: float | None = None
    name = "anytime"

    @property
    def looking(self) -> bool:  # type: ignore[override]
        return self.rho2 is None

    def multiplier(self, pooled: Pooled, confidence: float) -> Floats:
        if self.rho2 is None:
            return np.full(pooled.mean.shape, np.inf)
        x = self.rho2 * pooled.draws
        return np.full(pooled.mean.shape, _sequence(x, 1 - confidence))

    def ready(self, pooled: Pooled) -> bool:
        return self.rho2 is not None and bool(pooled.varies.all() and (pooled.df >= FEW).all())

    def look(self, pooled: Pooled, confidence: float, end: ExpectedEnd | None = None) -> Anytime:
        if self.rho2 is None and pooled.varies.all() and (pooled.df >= FEW).all():
            draws = _tightest_at(pooled.draws, 1 - confidence, end)
            return replace(self, rho2=_tightest(1 - confidence) / draws)
        return self

    def state(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}

    def resumed(self, state: Mapping[str, Any]) -> Anytime | None:
        if state["name"] != self.name:
            return None
        rho2 = state["rho2"]
        if rho2 is not None and not (isinstance(rho2, float) and 0 < rho2 < math.inf):
            raise ValueError(f"rho2 must be a positive number, got {rho2!r:.50}")
        return Anytime(rho2)


#: If a budget ends a run, an anytime interval is tightest at this share of it: it is looked at
#: earlier too, and at the end it is only a little wider.
_EARLY: Final = 0.2

#: Every kind of interval, by its name.
INTERVALS: Final[dict[str, Interval]] = {
    kind.name: kind for kind in (FixedSize(), ManyLooks(), StudentNets(), Anytime(), Guaranteed())
}


def _sequence(x: float, alpha: float) -> float:
    return math.sqrt((1 + 1 / x) * (math.log1p(x) - 2 * math.log(alpha)))


def _tightest_at(draws: float, alpha: float, end: ExpectedEnd | None) -> float:
    """Return after how many draws a sequence should be tightest, when `draws` were made."""
    if end is None:
        return draws
    least = _sequence(_tightest(alpha), alpha)
    stop = draws * (least * end.error) ** 2
    return max(draws, stop if stop <= end.draws else _EARLY * end.draws)


@lru_cache
def _tightest(alpha: float) -> float:
    """Return the x at which `_sequence` is smallest: x = log((1 + x)/alpha^2).

    >>> round(_tightest(0.05), 1), round(_sequence(_tightest(0.05), 0.05), 3)
    (8.2, 3.035)
    """
    x = 1.0
    for _ in range(200):  # the derivative vanishes at this fixed point; the map contracts
        x = math.log1p(x) - 2 * math.log(alpha)
    return x
