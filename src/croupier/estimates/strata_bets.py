"""Bets on strata: one gambler bets on the weighted sum of their means, others on each of them.

Every stratum has its own mean mu_k, and the target is T = sum w_k mu_k. With a fraction l that is
fixed before a batch is asked for, exp(l sum (y - mu_k) - (-log(1 - l) - l) sum (y - c)^2) is a
supermartingale for draws in [0, 1] and any c that is known before (Waudby-Smith and Ramdas, JRSS B
86, 2024, theorem 2). The product over all batches is one too, so at all times, with a probability
of at least 1 - alpha,

    |S - sum phi_k mu_k| <= log(2/alpha) + Q,  S = sum l sum y,  phi_k = sum l n.

The fractions are chosen so that phi_k becomes proportional to w_k. What is missing at a look,
sum (phi_k - rho w_k) mu_k, is bounded by the interval of each stratum: these have a tenth of alpha
together. Their weighted sum is an interval of T as well, so the answer is what both have in common.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

import numpy as np

from croupier.checks import Range
from croupier.data.draws import Floats
from croupier.estimates.bet_sums import (
    ArmSums,
    BetSums,
    Horizon,
    Scaled,
    Told,
    fractions,
    horizon_at,
    left_of,
    variance_of,
)

__all__ = ["StrataBets"]

#: The part of the error probability that the intervals of single strata get.
_SINGLE: Final = 0.1

#: The bets end at this share of the predicted draws, so that most strata reach their goal.
_REACHED: Final = 0.9

#: The half-width that the bets aim at, relative to a tolerance. If a run goes on beyond it, they
#: aim at this many times the draws so far.
_AIM: Final = 0.8
_FURTHER: Final = 1.25

#: No bet on the sum stakes more than this fraction.
_MOST_STAKED: Final = 0.75

#: At most this many values are tried for the factor rho.
_TRIED: Final = 64


class _Goal(NamedTuple):
    """What the strata are expected to have at the end: phi/w and draws, and single half-widths."""

    level: Floats
    draws: Floats
    half: Floats


class StrataBets:
    """Bets on a sum of strata with known weights; the arguments are those of `Bets`."""

    def __init__(
        self,
        bounds: Sequence[Range],
        weights: Sequence[float],
        level: float,
        width: int,
        horizons: Sequence[Horizon],
    ) -> None:
        self._bets = BetSums(bounds)
        self._weights = np.array(weights)
        self._level, self._width, self._horizons = level, width, tuple(horizons)
        self._reach = self._bets.high - self._bets.low
        self._parts = self._weights * self._reach  # of scaled means, in the user's units
        self._arms: ArmSums | None = None

    def copy(self) -> Self:
        """Return bets that later batches do not change."""
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin._bets = self._bets.copy()
        if self._arms is not None:
            twin._arms, twin._goals = self._arms.copy(), self._goals.copy()
            twin._phi, twin._sum, twin._paid = self._phi.copy(), self._sum.copy(), self._paid.copy()
        return twin

    # -- what was told

    def add(self, told: Told) -> None:
        """Bet on the batch that is next in ticket order."""
        arms = self._arms or self._start(len(told.origin))
        arm, goal, before = told.arm, self._goals[0], arms.before(told.arm)
        batch = Scaled.of(told, float(self._bets.low[arm]), float(self._bets.high[arm]))
        self._bets.add(arm, fractions(goal.half[arm], before), batch)
        # The size of a batch is known before its draws are.
        left = np.maximum(goal.draws[arm] - arms.sums[arm, 0], batch.size)
        staked = np.clip((goal.level * self._parts[arm] - self._phi[arm]) / left, 0.0, _MOST_STAKED)
        c = (before[1] + 0.5) / (before[0] + 1)
        self._phi[arm] += staked * batch.size
        self._sum += staked * batch.size * batch.mean
        spread = batch.m2 + batch.size * np.square(batch.mean - c)
        self._paid += (-np.log1p(-staked) - staked) * spread
        arms.add(arm, batch)
        self._draws += told.size
        self._spent += told.cost
        self._goals.append(self._goal(told.ticket + self._width))

    def _start(self, components: int) -> ArmSums:
        arms = self._arms = ArmSums(len(self._reach), components, self._width)
        self._phi = np.zeros((len(self._reach), components))
        self._sum, self._paid = np.zeros((2, components))
        self._draws = self._spent = 0.0
        first = [self._goal(ticket) for ticket in range(self._width)]
        self._goals = deque(first, maxlen=self._width)
        return arms

    def _goal(self, ticket: int) -> _Goal:
        """Return the goals of a ticket, from what is known now.

        The draws that are left go to the strata as w_k s_k. At the end the variance is
        W = sum w_k^2 V_k/n_k, and phi_k/w_k = sqrt(2 log(2/alpha)/W) gives the shortest interval.
        """
        assert self._arms is not None
        horizon = horizon_at(self._horizons, ticket)
        n, part = self._arms.sums[:, 0, 0], self._parts[:, None]
        variance = variance_of(self._arms.sums)
        spread = np.square(part) * variance
        share = np.sqrt((spread / spread.sum(axis=0)).sum(axis=1))
        end = n + left_of(horizon, self._draws, self._spent) * share / share.sum()
        end = np.maximum(_REACHED * end, 1.0)
        if horizon.atol or horizon.rtol:
            value = np.abs(self._centre().T @ self._parts + self._weights @ self._bets.low)
            wanted = np.maximum(horizon.atol or 0.0, (horizon.rtol or 0.0) * value)
            half = self._half_width(spread, end)
            # Half-widths fall with the root of the draws, and the prediction may fall short.
            share = np.square(half / np.maximum(half, _AIM * wanted)).max()
            end = np.minimum(np.maximum(share * end, _FURTHER * n + 1), end)
        single = np.sqrt(2 * self._single(self._level) * variance / end[:, None])
        return _Goal(2 * self._level / self._half_width(spread, end), end, single)

    def _half_width(self, spread: Floats, draws: Floats) -> Floats:
        """Return the half-width that strata with these draws give, per component."""
        return np.asarray(np.sqrt(2 * self._level * (spread / draws[:, None]).sum(axis=0)))

    def _single(self, level: float) -> float:
        """Return log(2/alpha) for every single stratum."""
        return level + math.log(len(self._parts) / _SINGLE)

    def _centre(self) -> Floats:
        """Return the scaled means of the strata, (K, d); 1/2 for a stratum without a draw."""
        assert self._arms is not None
        n, s1 = self._arms.sums[:, 0], self._arms.sums[:, 1]
        return np.divide(s1, n, out=np.full_like(s1, 0.5), where=n > 0)

    # -- the interval

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Return both ends of the interval, (d,) each; `level` is log(2/alpha)."""
        offset = float(self._weights @ self._bets.low)
        if self._arms is None:
            return np.array([offset]), np.array([offset + self._parts.sum()])
        low, reach = self._bets.low, self._reach
        shape = np.ones((self._phi.shape[1], len(reach)))
        centre = low + self._centre().T * reach
        single = self._bets.ends(self._single(level), centre, shape * low, shape * self._bets.high)
        inside = np.clip((single - low) / reach, 0.0, 1.0)  # of scaled means, (2, d, K)
        level_of_sum = level - math.log1p(-_SINGLE)
        ends = [self._of_sum(j, level_of_sum + self._paid[j], inside[:, j])
                for j in range(len(shape))]  # fmt: skip
        first, last = offset + np.array(ends).T
        return first, last

    def _of_sum(self, component: int, allowed: float, inside: Floats) -> tuple[float, float]:
        """Return both ends for one component, less the sum of the lower bounds."""
        phi, total = self._phi[:, component], float(self._sum[component])
        low, high = inside
        first, last = float(self._parts @ low), float(self._parts @ high)
        ratio = np.unique(phi / self._parts)
        tried = np.unique(np.quantile(ratio, np.linspace(0, 1, _TRIED), method="nearest"))
        rho = tried[tried > 0][:, None]
        if len(rho):
            off = phi - rho * self._parts
            least = np.where(off > 0, off * low, off * high).sum(axis=1)
            most = np.where(off > 0, off * high, off * low).sum(axis=1)
            first = max(first, float(((total - allowed - most) / rho[:, 0]).max()))
            last = min(last, float(((total + allowed - least) / rho[:, 0]).min()))
        return min(first, last), max(first, last)

    @classmethod
    def merged(cls, runs: Sequence[Self]) -> Self:
        """Return the bets of independent runs of the same strata: their wealth multiplies."""
        merged = runs[0].copy()
        for run in runs[1:]:
            merged._bets.merge(run._bets, 0)
            if run._arms is None:
                continue
            arms = merged._arms or merged._start(run._phi.shape[1])
            arms.sums += run._arms.sums
            merged._phi += run._phi
            merged._sum += run._sum
            merged._paid += run._paid
        return merged
