"""Estimate: pooled numbers in the user's units, with their standard error and interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.data.history import LookBack, Rows
from croupier.data.ledger import Ledger
from croupier.data.log_scale import exp_of, log_of, relative
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.estimates.bet_sums import told_in
from croupier.estimates.combiners import Combiner, Pooled, pool
from croupier.estimates.exact_ends import clopper_pearson, never_varied, range_of_target
from croupier.estimates.intervals import FixedSize, Guaranteed, Interval, half_width
from croupier.estimates.skewed_ends import skewed_ends

__all__ = ["BetsLookBack", "Ends", "Estimate", "Grounds", "estimate_of", "look_back", "shaped",
           "stderr_of"]  # fmt: skip


class Ends(NamedTuple):
    """Both ends of an interval in the user's units, (d,) each, and the name of its kind.

    `half_width` is the half-width of a symmetric interval, and the distance from the value to the
    farther end of any other.
    """

    low: Floats
    high: Floats
    half_width: Floats
    kind: str

    @property
    def exact(self) -> bool:
        """Whether the interval does not rest on a standard error."""
        return self.kind in ("guaranteed", "clopper-pearson", "never-varied")

    @classmethod
    def around(cls, value: Floats, low: Floats, high: Floats, kind: str) -> Ends:
        """Return an interval that is not symmetric."""
        return cls(low, high, np.maximum(high - value, value - low), kind)


class Grounds(NamedTuple):
    """What an interval is made from. `ledger` is None if the estimate is not from a ledger."""

    plan: Plan
    scale: Scale
    pooled: Pooled
    interval: Interval
    ledger: Ledger | None = None

    def ends(self, confidence: float) -> Ends:
        """Return the interval at a level, from a standard error or from the bounds of the draws."""
        value, interval = self.scale.value_of(self.pooled.mean), self.interval
        if isinstance(interval, Guaranteed):
            low, high = interval.ends(confidence)
            # An interval that is made longer still holds, and the estimate lies in it.
            low, high = np.minimum(low, value), np.maximum(high, value)
            return Ends.around(value, low, high, interval.name)
        half = self.scale.spread_of(half_width(interval, self.pooled, confidence))
        ends = Ends(value - half, value + half, half, interval.name)
        if self.pooled.few is not None:
            low, high = self.pooled.few.ends(ends.low, ends.high, confidence)
            return Ends.around(value, low, high, interval.name)
        if self.ledger is None:
            return ends
        skewed = skewed_ends(self.plan, self.ledger, self.pooled, interval, confidence)
        if skewed is not None:
            known = (value > 0) & np.isfinite(half)
            low, high = np.where(known, np.multiply(skewed, value), (ends.low, ends.high))
            ends = Ends.around(value, low, high, interval.name)
        return self._within_bounds(ends, value, confidence) if any(self.plan.bounds) else ends

    def _within_bounds(self, ends: Ends, value: Floats, confidence: float) -> Ends:
        """Use the bounds of the draws: exact ends where they are known, none beyond the bounds."""
        assert self.ledger is not None
        first, last = range_of_target(self.plan)
        inside = (first <= value) & (value <= last)
        low = np.where(inside, np.maximum(ends.low, first), ends.low)
        high = np.where(inside, np.minimum(ends.high, last), ends.high)
        kind, exact = ends.kind, None
        if isinstance(self.interval, FixedSize):
            kind, exact = "clopper-pearson", clopper_pearson(self.plan, self.ledger, confidence)
        if exact is None and not self.pooled.varies.all():
            kind, exact = "never-varied", never_varied(self.plan, self.ledger, confidence)
        if exact is None:
            return ends._replace(low=low, high=high)
        low, high = np.where(exact.known, exact[1:], (low, high))
        kind = kind if exact.known.all() else f"{ends.kind}, {kind}"
        return Ends.around(value, low, high, kind)


class Estimate(NamedTuple):
    """An estimate with its error, made once for all readers: arrays of d numbers.

    In a run of logs, `logs` has the rows log(value), its standard error and its half-width.
    """

    grounds: Grounds
    value: Floats
    stderr: Floats
    ends: Ends
    logs: Floats | None

    @property
    def half_width(self) -> Floats:
        """The half-width of the interval: see `Ends`."""
        return self.ends.half_width

    def kept(self, interval: Interval, ledger: Ledger) -> Estimate:
        """Return the estimate for a result: an interval and a ledger that do not change later."""
        return self._replace(grounds=self.grounds._replace(interval=interval, ledger=ledger))

    def joint(self, covariance: Floats | None) -> Estimate:
        """Return the estimate with the covariance of its components, if it is known."""
        pooled = self.pooled._replace(covariance=covariance)
        return self._replace(grounds=self.grounds._replace(pooled=pooled))

    @property
    def pooled(self) -> Pooled:
        """The pooled numbers."""
        return self.grounds.pooled

    @property
    def interval(self) -> Interval:
        """How the error bar is made."""
        return self.grounds.interval


def estimate_of(
    plan: Plan, scale: Scale, pooled: Pooled, interval: Interval, ledger: Ledger | None = None
) -> Estimate:
    """Return the estimate in the user's units; `scale` is the scale of the pooled numbers.

    With a `ledger`, the bounds of its arms are used where a standard error says too little.
    """
    grounds = Grounds(plan, scale, pooled, interval, ledger)
    if not plan.log:
        value, stderr = scale.value_of(pooled.mean), scale.spread_of(stderr_of(pooled))
        return Estimate(grounds, value, stderr, grounds.ends(plan.confidence), None)
    half = half_width(interval, pooled, plan.confidence)
    scaled = np.array((pooled.mean, stderr_of(pooled), half))
    mean = scaled[0]
    logs = np.array((log_of(mean, scale.exponent), *relative(scaled[1:], mean)))
    value, stderr, half = exp_of(scaled, scale.exponent)
    with np.errstate(invalid="ignore"):  # a value that no double holds has no ends either
        ends = Ends(value - half, value + half, half, interval.name)
    return Estimate(grounds, value, stderr, ends, logs)


def look_back(plan: Plan, combiner: Combiner, interval: Interval) -> LookBack:
    """Return the function that makes earlier estimates for a history, with the last interval."""
    return partial(_estimate_then, plan, combiner, interval)


def _estimate_then(
    plan: Plan, combiner: Combiner, interval: Interval, ledger: Ledger
) -> tuple[Floats, Floats]:
    pooled = pool(ledger, combiner)
    if plan.log:
        half = half_width(interval, pooled, plan.confidence)
        return log_of(pooled.mean, ledger.exponent), relative(half, pooled.mean)
    value, half = ledger.scale.value_of(pooled.mean), half_width(interval, pooled, plan.confidence)
    return value, ledger.scale.spread_of(half)


@dataclass
class BetsLookBack:
    """Makes earlier estimates for a history with a guaranteed interval: it bets on `rows` again."""

    plan: Plan
    combiner: Combiner
    interval: Guaranteed
    rows: Rows

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._then = self.interval.seated(self.plan, self.interval.shared_mean)
        self._row, self._draws = 0, 0

    def __call__(self, ledger: Ledger) -> tuple[Floats, Floats]:
        """Return the estimate and its half-width as they were with the batches of this ledger."""
        if self._draws > ledger.draws:
            self._start()
        for told in told_in(self.rows, self._row):
            if self._draws + told.size > ledger.draws:
                break
            self._then.add(told)
            self._row, self._draws = self._row + 1, self._draws + told.size
        pooled = pool(ledger, self.combiner)
        then = estimate_of(self.plan, ledger.scale, pooled, self._then)
        return then.value, then.half_width


def stderr_of(pooled: Pooled) -> Floats:
    """Return the standard error, NaN where no arm has varied; scaled like the pooled means."""
    error = np.sqrt(pooled.variance)
    return error if pooled.varies.all() else np.where(pooled.varies, error, np.nan)


def shaped(numbers: Floats, scalar: bool) -> Any:
    """Return a number for scalar draws, an array of length d for vectors."""
    return numbers[0].item() if scalar else numbers
