"""Estimate: pooled numbers in the user's units, with their standard error and interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
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
from croupier.estimates.intervals import FixedSize, Interval, half_width
from croupier.estimates.skewed_ends import skewed_ends

__all__ = ["Ends", "Estimate", "look_back", "shaped", "stderr_of"]


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


@dataclass(frozen=True, eq=False)
class Estimate:
    """Pooled numbers in the user's units, with their error; its numbers are made when first read.

    `scale` is the scale of the pooled numbers. With a `ledger`, the bounds of its arms are used
    where a standard error says too little. All numbers are arrays of d components.
    """

    plan: Plan
    scale: Scale
    pooled: Pooled
    interval: Interval
    ledger: Ledger | None = None

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats, Ends, Floats | None]:
        plan, scale, pooled = self.plan, self.scale, self.pooled
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # beyond any double
            if not plan.log:
                value, stderr = scale.value_of(pooled.mean), scale.spread_of(stderr_of(pooled))
                return value, stderr, self.ends_at(plan.confidence), None
            half = half_width(self.interval, pooled, plan.confidence)
            scaled = np.array((pooled.mean, stderr_of(pooled), half))
            mean = scaled[0]
            logs = np.array((log_of(mean, scale.exponent), *relative(scaled[1:], mean)))
            value, stderr, half = exp_of(scaled, scale.exponent)
            return value, stderr, Ends(value - half, value + half, half, self.interval.name), logs

    @property
    def value(self) -> Floats:
        """The estimate."""
        return self._numbers[0]

    @property
    def stderr(self) -> Floats:
        """Its standard error, NaN where no arm has varied."""
        return self._numbers[1]

    @property
    def ends(self) -> Ends:
        """Both ends of the interval at the confidence of the plan."""
        return self._numbers[2]

    @property
    def half_width(self) -> Floats:
        """The half-width of the interval: see `Ends`."""
        return self._numbers[2].half_width

    @property
    def logs(self) -> Floats | None:
        """In a run of logs, the rows log(value), its standard error and its half-width."""
        return self._numbers[3]

    def ends_at(self, confidence: float) -> Ends:
        """Return the interval at a level, from a standard error or from the bounds of the draws."""
        value, interval = self.scale.value_of(self.pooled.mean), self.interval
        if (sure := interval.ends(confidence)) is not None:
            # An interval that is made longer still holds, and the estimate lies in it.
            low, high = np.minimum(sure[0], value), np.maximum(sure[1], value)
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
        if not any(self.plan.bounds):
            return ends
        return self._within_bounds(self.ledger, ends, value, confidence)

    def _within_bounds(self, ledger: Ledger, ends: Ends, value: Floats, confidence: float) -> Ends:
        """Use the bounds of the draws: exact ends where they are known, none beyond the bounds."""
        first, last = range_of_target(self.plan)
        inside = (first <= value) & (value <= last)
        low = np.where(inside, np.maximum(ends.low, first), ends.low)
        high = np.where(inside, np.minimum(ends.high, last), ends.high)
        kind, exact = ends.kind, None
        if isinstance(self.interval, FixedSize):
            kind, exact = "clopper-pearson", clopper_pearson(self.plan, ledger, confidence)
        if exact is None and not self.pooled.varies.all():
            kind, exact = "never-varied", never_varied(self.plan, ledger, confidence)
        if exact is None:
            return ends._replace(low=low, high=high)
        low, high = np.where(exact.known, exact[1:], (low, high))
        kind = kind if exact.known.all() else f"{ends.kind}, {kind}"
        return Ends.around(value, low, high, kind)


def look_back(
    plan: Plan, combiner: Combiner, interval: Interval, rows: Callable[[], Rows] | None = None
) -> LookBack:
    """Return the function that makes earlier estimates for a history, with the last interval.

    An interval that follows every batch needs the rows of the history for this.
    """
    if interval.follows and rows is not None:
        return _BetsLookBack(plan, combiner, interval, rows())
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
class _BetsLookBack:
    """Makes earlier estimates for a history with a guaranteed interval: it bets on `rows` again."""

    plan: Plan
    combiner: Combiner
    interval: Interval
    rows: Rows

    def __post_init__(self) -> None:
        self._then: Interval | None = None
        self._row, self._draws = 0, 0

    def __call__(self, ledger: Ledger) -> tuple[Floats, Floats]:
        """Return the estimate and its half-width as they were with the batches of this ledger."""
        pooled = pool(ledger, self.combiner)
        if self._then is None or self._draws > ledger.draws:
            self._then = self.interval.seated(self.plan, pooled.shared)
            self._row, self._draws = 0, 0
        for told in told_in(self.rows, self._row):
            if self._draws + told.size > ledger.draws:
                break
            self._then.add(told)
            self._row, self._draws = self._row + 1, self._draws + told.size
        then = Estimate(self.plan, ledger.scale, pooled, self._then)
        return then.value, then.half_width


def stderr_of(pooled: Pooled) -> Floats:
    """Return the standard error, NaN where no arm has varied; scaled like the pooled means."""
    error = np.sqrt(pooled.variance)
    return error if pooled.varies.all() else np.where(pooled.varies, error, np.nan)


def shaped(numbers: Floats, scalar: bool) -> Any:
    """Return a number for scalar draws, an array of length d for vectors."""
    return numbers[0].item() if scalar else numbers
