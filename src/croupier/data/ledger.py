"""The ledger: running moments of the values and costs of every arm.

Moments are central sums M_r = sum (x - mean)^r, see `central_moments`. Draws are kept as
differences from the first draw of the run, in units of a power of two per component (see
`batch_moments`); draws multiplied by a power of two give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from croupier.data.batch_moments import FLAT, Sums, exponent_of, larger, rescaled, times_two_to
from croupier.data.call_prices import CallPrices, empty_calls
from croupier.data.central_moments import (
    df_of,
    merge_moments,
    variance_with_missed,
    without_rounding,
)
from croupier.data.draws import Floats
from croupier.data.entries import Entry
from croupier.data.leading import leader_after, leader_of
from croupier.data.prices import Prices
from croupier.data.scale import Ints, Scale

__all__ = ["Ledger"]


class Ledger(Prices):
    """Counts, moments and costs of K arms with d components each; its owner is the table.

    `count` and the costs have shape (K,), `mean` and the central sums (K, d); `draws` and `spent`
    are the totals of count and cost, `fewest` is the least of the counts, `varies` says whether
    every arm has shown some variation in every component. `mean` is relative to `origin`, the
    first draw of the run, in units of ``2**exponent``; `scale` turns such numbers back into the
    user's.

    With `shared`, all arms have one mean, so an arm whose draws are 0 beside those of the others
    has not varied. With `positive`, draws are never negative (they came as logs), and `variance`
    allows for what an arm must have missed. With `measured`, costs are clock times of whole calls:
    `calls` has them by arm and size, and `call_prices` learns from them what a call costs. The
    `first` draws of an arm do not make it the leader.
    """

    def __init__(
        self,
        arms: int,
        *,
        first: int = 0,
        measured: bool = False,
        positive: bool = False,
        shared: bool = True,
    ) -> None:
        self.first = first
        self.shared = shared
        self.measured = measured
        self.positive = positive
        self.origin: Floats | None = None
        self.exponent: Ints = np.full(1, FLAT)
        self.moments: Floats = np.zeros((4, arms, 1))
        self.count: Floats = np.zeros(arms)
        self.cost: Floats = np.zeros(arms)
        self.draws = 0.0
        self.spent = 0.0
        self.cost_m2: Floats = np.zeros(arms)
        self.calls: Floats = empty_calls(arms)
        self._call_prices: Floats = np.full((len(CallPrices._fields), arms), np.nan)
        self._even = True  # every draw has cost 1
        self._ones: Floats = np.ones(arms)
        self._ones.flags.writeable = False
        # Kept up to date arm by arm: a decision reads all of them and a batch changes one.
        self.fewest = 0.0
        self._at_fewest = arms
        self._leader = 0
        self.varies = False
        self._variance: Floats = np.zeros((arms, 1))
        self._df: Floats = np.ones((arms, 1))

    def __len__(self) -> int:
        return len(self.count)

    def empty(self) -> Ledger:
        """Return a ledger of the same arms without draws."""
        return Ledger(
            len(self),
            first=self.first,
            measured=self.measured,
            positive=self.positive,
            shared=self.shared,
        )

    def copy(self) -> Self:
        """Return a snapshot that later draws do not change."""
        twin = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, np.ndarray) else value)
        return twin

    def informed(self, variance: Floats, df: Floats) -> Ledger:
        """Return a copy that includes another estimate of each variance, with its df, (K, d).

        The two are averaged by their degrees of freedom, which add up.
        """
        twin = self.copy()
        twin._df = self._df + df
        twin._variance = (self._df * self._variance + df * variance) / twin._df
        twin.varies = bool(twin._variance.all())
        return twin

    @staticmethod
    def from_state(state: Mapping[str, Any], like: Ledger) -> Ledger:
        """Return the ledger with these ``vars``; `like` has the same number of arms."""
        ledger = like.empty()
        for name, mine in vars(ledger).items():
            its = state[name]
            # Of an array only the last axis, the components, may be another.
            fits = np.shape(its)[:-1] == np.shape(mine)[:-1] and type(its) is type(mine)
            if name != "origin" and not (fits and np.ndim(its) == np.ndim(mine)):
                raise ValueError(f"not a ledger of {len(like)} arms: {name} is {its!r:.50}")
        if not 0 <= state["_leader"] < len(like):
            raise ValueError(f"not a ledger of {len(like)} arms: {state['_leader']} leads")
        vars(ledger).update(state)
        ledger._ones.flags.writeable = False
        return ledger

    # -- what a decision reads

    @property
    def mean(self) -> Floats:
        """Means, relative to `origin` and in units of ``2**exponent``."""
        mean: Floats = self.moments[0]
        return mean

    @property
    def variance(self) -> Floats:
        """Sample variances M2/(n - 1), zero for an arm with fewer than two draws.

        If draws are never negative, an arm that has varied has a variance of at least n gap^2,
        where its mean is `gap` below the mean that another arm is sure of: an event that was not
        seen in n draws has a probability of at most about 1/n. An arm with m effective draws,
        (sum x)^2/sum x^2, is sure of its mean times 100^(-1/sqrt(m)). For one draw, this is the
        1 % of Markov's inequality.
        """
        return self._variance.copy()

    @property
    def sample_variance(self) -> Floats:
        """Sample variances M2/(n - 1), without this lower bound."""
        return np.asarray(self.moments[1] / np.maximum(self.count - 1, 1)[:, None])

    @property
    def df(self) -> Floats:
        """Effective degrees of freedom of each sample variance, from a shrunk kurtosis.

        Var(s2)/V^2 is about (kurtosis - 1)/n, so df = 2 (n - 1)/(kurtosis - 1): heavy tails make a
        variance harder to know. The kurtosis is shrunk towards 5.
        """
        return self._df.copy()

    @property
    def for_estimate(self) -> Ledger:
        """The means, variances and counts that an estimate is made of: usually these."""
        return self

    @property
    def leader(self) -> int:
        """The arm that the policy preferred: see `leading`."""
        return self._leader

    @property
    def is_led(self) -> bool:
        """Whether the leader has had at least half a draw per arm beyond its first draws.

        With a few draws of each of many arms, no arm is preferred yet. The leader is then only the
        arm whose first draws were most alike by chance, and no variance is known well.
        """
        return bool(self.count[self.leader] - self.first >= len(self) / 2)

    @property
    def scale(self) -> Scale:
        """The scale of `mean` and of the standard deviations; there must have been a draw."""
        assert self.origin is not None
        return Scale(self.origin, self.exponent)

    # -- what changes it

    def add(self, arm: int, outcome: Entry) -> None:
        """Add the moments of one batch to an arm."""
        origin: Any = outcome.origin
        exponent: Any = outcome.exponent
        moments: Any = outcome.moments
        if self.origin is None:
            self._begin(origin, exponent)
        n_a, n_b = self.count.item(arm), outcome.size
        n = n_a + n_b
        if origin.size == 1:  # one component is booked in plain numbers
            moments = self._fit(origin.item(), exponent.item(), moments[:, 0].tolist())
            if n_a:
                moments = merge_moments(n_a, self.moments[:, arm, 0].tolist(), n_b, moments)
            moments = self._unrounded(n, moments)
            self.moments[:, arm, 0] = moments
            self._variance[arm, 0] = moments[1] / max(n - 1, 1)
            self._df[arm, 0] = df_of(n, moments[1], moments[3])
            varied = moments[1] > 0
        else:
            moments = self._fit(origin, exponent, moments)
            if n_a:
                moments = merge_moments(n_a, self.moments[:, arm], n_b, moments)
            moments = self._unrounded(n, moments)
            self.moments[:, arm] = moments
            self._variance[arm] = moments[1] / max(n - 1, 1)
            self._df[arm] = df_of(n, moments[1], moments[3])
            varied = moments[1].all()
        self._add_cost(arm, outcome)
        self.count[arm] = n
        if n_a == self.fewest:
            self._at_fewest -= 1
            if self._at_fewest < 1:
                self._count_fewest()
        self._look_at_variation(varied)
        if self.positive and n < self.draws + n_b:
            self._allow_for_missed()
        self._leader = leader_after(self._leader, arm, self.cost, self.count, self.first)
        self.draws += n_b
        self.spent += outcome.cost

    def _look_at_variation(self, varied: Any) -> None:
        """Find out whether all arms have varied; those that were drawn just now have `varied`."""
        if self.fewest > 1 and not (self.varies and varied):
            self.varies = bool(self.moments[1].all())

    def _count_fewest(self) -> None:
        """Find the least of the counts, and how many arms have it."""
        self.fewest = float(self.count.min())
        self._at_fewest = int(np.count_nonzero(self.count == self.fewest))

    def merge(self, other: Ledger) -> None:
        """Add everything that another ledger of the same arms knows."""
        if other.origin is None:
            return
        self._begin(other.origin, other.exponent)
        moments = np.array(self._fit(other.origin, other.exponent, other.moments))
        n_a, n_b = self.count[:, None], other.count[:, None]
        with np.errstate(invalid="ignore"):
            merged = np.array(merge_moments(n_a, self.moments, n_b, moments))
            apart = other.cost / other.count - self.cost / self.count
            cross = apart * apart * self.count * other.count / (self.count + other.count)
        merged = np.where(n_b == 0, self.moments, np.where(n_a == 0, moments, merged))
        self.moments = np.array(self._unrounded(n_a + n_b, merged))
        self.cost_m2 += other.cost_m2 + np.where((self.count > 0) & (other.count > 0), cross, 0)
        self._even &= other._even
        larger_calls = ~(self.call_prices.largest >= other.call_prices.largest)
        self._call_prices = np.where(larger_calls, other._call_prices, self._call_prices)
        for name in ("first", "count", "cost", "draws", "spent"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._count_fewest()
        self._leader = leader_of(self.cost, self.count, self.first)
        self.varies = bool(self.moments[1].all())
        n, m2, m4 = self.count[:, None], self.moments[1], self.moments[3]
        self._variance, self._df = m2 / np.maximum(n - 1, 1), df_of(n, m2, m4)
        if self.positive:
            self._allow_for_missed()

    def _unrounded(self, n: Any, moments: Any) -> Sums:
        """Return the moments of an arm (or of all) without a spread that is only rounding.

        A run of logs keeps it: its variances already allow for what an arm must have missed.
        """
        mean, m2, *_ = moments
        if self.positive or self.origin is None:
            return (*moments,)
        if isinstance(m2, float) and not m2:
            return (*moments,)
        at: Any = 0.0
        if self.exponent.size == 1:
            if (exponent := self.exponent.item()) != FLAT:
                at = times_two_to(self.origin.item(), -exponent)
        else:
            with np.errstate(over="ignore"):  # of components that have not varied
                at = np.where(self.exponent == FLAT, 0.0, np.ldexp(self.origin, -self.exponent))
        # No draw is farther from the origin than one unit.
        return without_rounding(n, moments, abs(mean + at), self.shared * (1 + abs(at)))

    def _allow_for_missed(self) -> None:
        """Raise the variances of arms that have missed something: see `variance`."""
        s2, n = self.sample_variance, self.count[:, None]
        self._variance = variance_with_missed(s2, self.mean, n)

    def _begin(self, origin: Floats, exponent: Ints) -> None:
        if self.origin is None:
            self.origin = origin.copy()
            self.exponent = exponent.copy()
            self.moments = np.zeros((4, len(self), origin.size))
            self._variance = np.zeros((len(self), origin.size))
            self._df = np.ones((len(self), origin.size))

    def _fit(self, origin: Any, exponent: Any, moments: Any) -> Sums:
        """Convert moments to this ledger's origin and unit, and raise the unit if necessary."""
        assert self.origin is not None
        mine: Any = self.origin
        unit: Any = self.exponent
        if isinstance(origin, float):
            mine, unit = mine.item(), unit.item()
        gap = origin - mine
        apart = gap != 0.0 if isinstance(origin, float) else gap.any()
        needed = larger(exponent, exponent_of(gap)) if apart else exponent
        higher = needed > unit
        if higher is True or (higher is not False and higher.any()):
            self._raise_unit(needed)
            unit = needed if isinstance(origin, float) else self.exponent
        mean, m2, m3, m4 = rescaled(moments, exponent - unit)
        return mean + times_two_to(gap, -unit), m2, m3, m4

    def _raise_unit(self, needed: Any) -> None:
        raised = np.maximum(self.exponent, needed)
        shift = self.exponent - raised
        self.exponent = raised
        self.varies = False  # looked at again: a small variance may have become zero
        n = self.count[:, None]
        self.moments = np.array(self._unrounded(n, rescaled(self.moments, shift)))
        self._variance = times_two_to(self._variance, 2 * shift) * (self.moments[1] > 0)
        self._df = df_of(n, self.moments[1], self.moments[3])
