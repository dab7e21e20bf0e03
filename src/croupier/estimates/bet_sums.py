"""What two gamblers need to know about the draws: sums of powers, by arm and by what was staked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.checks import Range
from croupier.data.draws import Floats
from croupier.data.history import Rows
from croupier.data.scale import Ints
from croupier.estimates.betting import FRACTIONS, crossing, log_wealth, nearest_fraction

__all__ = ["ArmSums", "BetSums", "Horizon", "Scaled", "Told", "fractions", "horizon_at", "left_of",
           "told_in", "variance_of"]  # fmt: skip

#: Before the first draw, the variance of an arm is that of draws of 0 and 1 with the mean 1/2.
_FIRST_SUM: Final = 0.25

#: The exponent of a skewed bet is at most this.
_STEEPEST: Final = 3.0

#: Without a budget, the bets are best at this many draws, and then at this many times the draws so
#: far. The half-width is then 1.5 to 1.7 times that of a fixed size from 1000 to 10 000 draws, and
#: 1.8 to 2 times at 100 000 draws.
_FIRST_GOAL: Final = 1000.0
_NEXT_GOAL: Final = 6.0


class Horizon(NamedTuple):
    """What a run may spend from the ticket `first` on: the bets are best at its end.

    `cost` is in the unit of the plan. None means not known.
    """

    first: int = 0
    draws: float | None = None
    cost: float | None = None
    atol: float | None = None
    rtol: float | None = None


def horizon_at(horizons: Sequence[Horizon], ticket: int) -> Horizon:
    """Return the horizon that counts for a ticket.

    >>> horizon_at([Horizon(0, draws=10), Horizon(5, draws=20)], 5).draws
    20
    """
    return next(one for one in reversed(horizons) if one.first <= ticket)


def left_of(horizon: Horizon, draws: float, spent: float) -> float:
    """Return how many draws are left until the end of a run, as far as this is known now."""
    left = np.inf
    if horizon.draws is not None:
        left = horizon.draws - draws
    if horizon.cost is not None and draws:
        left = min(left, draws * (horizon.cost / spent - 1))
    if not np.isfinite(left):
        left = max(_FIRST_GOAL, _NEXT_GOAL * draws) - draws
    return max(float(left), 0.0)


class Told(NamedTuple):
    """One batch of a run: its ticket, its arm, its cost and its moments."""

    ticket: int
    arm: int
    size: int
    cost: float
    origin: Floats
    exponent: Ints
    moments: Floats


def told_in(rows: Rows, first: int = 0) -> Iterator[Told]:
    """Return the batches of a history in their order, from the row `first` on."""
    for row in range(first, len(rows.batches)):
        ticket, arm, size, cost, _ = rows.batches[row].item()
        part = rows.moments[row]
        yield Told(ticket, arm, size, cost, part[0], part[1].astype(np.int64), part[2:])


class Scaled(NamedTuple):
    """The mean and the central sums of a batch, scaled to [0, 1] by the bounds of its arm."""

    size: float
    mean: Floats
    m2: Floats
    m3: Floats
    m4: Floats

    @classmethod
    def of(cls, told: Told, low: float, high: float) -> Scaled:
        """Return a batch whose draws lie between two bounds."""
        reach = high - low
        with np.errstate(under="ignore"):
            mean = told.origin + np.ldexp(told.moments[0], told.exponent)
            unit = np.ldexp(1 / reach, told.exponent)
            _, m2, m3, m4 = told.moments
            inside = np.clip((mean - low) / reach, 0.0, 1.0)
            return cls(float(told.size), inside, m2 * unit**2, m3 * unit**3, m4 * unit**4)

    def mirrored(self) -> Scaled:
        """Return the batch of 1 - y."""
        return self._replace(mean=1 - self.mean, m3=-self.m3)

    def powers(self) -> Floats:
        """Return n and the sums of y, y^2, y^3, y^4, (5, d)."""
        n, mean, m2, m3, m4 = self
        s1 = n * mean
        s2 = m2 + mean * s1
        s3 = m3 + mean * (3 * m2 + mean * s1)
        s4 = m4 + mean * (4 * m3 + mean * (6 * m2 + mean * s1))
        return np.array((np.full_like(mean, n), s1, s2, s3, s4))


class ArmSums:
    """Count, sum, M2 and M3 of the scaled draws of every arm, now and `width` tickets ago."""

    def __init__(self, arms: int, components: int, width: int) -> None:
        self.sums: Floats = np.zeros((arms, 4, components))
        self._lately: deque[tuple[int, Floats]] = deque(maxlen=width - 1)

    def copy(self) -> ArmSums:
        """Return sums that later batches do not change."""
        twin = ArmSums.__new__(ArmSums)
        twin.sums, twin._lately = self.sums.copy(), self._lately.copy()
        return twin

    def before(self, arm: int) -> Floats:
        """Return the sums of an arm when the batch that is told next was decided, (4, d)."""
        for drawn, sums in self._lately:
            if drawn == arm:
                return sums
        return np.array(self.sums[arm])

    def add(self, arm: int, batch: Scaled) -> None:
        """Add a batch to an arm."""
        total = self.sums[arm]
        self._lately.append((arm, total.copy()))
        n_a, n_b = float(total[0, 0]), batch.size
        n = n_a + n_b
        gap = batch.mean - (total[1] / n_a if n_a else batch.mean)
        cross = gap**2 * n_a * n_b / n
        skew = gap * (cross * (n_a - n_b) / n + 3 * (n_a * batch.m2 - n_b * total[2]) / n)
        counts = np.full_like(gap, n_b)
        total += np.array((counts, n_b * batch.mean, batch.m2 + cross, batch.m3 + skew))


def variance_of(sums: Floats) -> Floats:
    """Return the variance of scaled draws from (..., 4, d), shrunk: it is never zero."""
    return np.asarray((_FIRST_SUM + sums[..., 2, :]) / (sums[..., 0, :] + 1))


def fractions(goal: Floats, sums: Floats) -> NDArray[np.int64]:
    """Return the number of the fraction to stake on both sides, (2, d), for a scaled goal w.

    At the distance w from the mean, Kelly's fraction is about s = w/(V + w^2). For skewed draws it
    is (e^(a s) - 1)/a above and (1 - e^(-a s))/a below, with a = m3/V, as for the events of a
    Poisson process.
    """
    w = np.minimum(goal, 1.0)
    s = w / (variance_of(sums) + w**2)
    tilt = np.clip(s * sums[3] / (_FIRST_SUM + sums[2]), -_STEEPEST, _STEEPEST)
    tilt = np.where(np.abs(tilt) < 1e-6, 1e-6, tilt)
    return nearest_fraction(s * np.array((np.expm1(tilt) / tilt, np.expm1(-tilt) / -tilt)))


class BetSums:
    """Sums of the powers of the scaled draws, by side, component, arm and fraction.

    The gambler of side 0 bets that the mean is above m. The gambler of side 1 bets that it is
    below: he bets on 1 - y.
    """

    def __init__(self, bounds: Sequence[Range]) -> None:
        self.low, self.high = np.array(bounds, dtype=float).T
        self._rows: dict[tuple[int, int, int, int], int] = {}
        self._keys: NDArray[np.int64] = np.zeros((4, 16), np.int64)
        self._sums: Floats = np.zeros((16, 5))

    def copy(self) -> BetSums:
        """Return sums that later batches do not change."""
        twin = BetSums.__new__(BetSums)
        vars(twin).update(vars(self))
        twin._rows, twin._keys = self._rows.copy(), self._keys.copy()
        twin._sums = self._sums.copy()
        return twin

    def add(self, arm: int, numbers: NDArray[np.int64], batch: Scaled) -> None:
        """Add a batch, with the number of the fraction for each side and component, (2, d)."""
        for side, one in enumerate((batch, batch.mirrored())):
            powers = one.powers().T
            for component, number in enumerate(numbers[side].tolist()):
                self._add((side, component, arm, number), powers[component])

    def _add(self, key: tuple[int, int, int, int], powers: Floats) -> None:
        row = self._rows.setdefault(key, len(self._rows))
        if row == len(self._sums):
            self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)))
            self._keys = np.concatenate((self._keys, np.zeros_like(self._keys)), axis=1)
        self._keys[:, row] = key
        self._sums[row] += powers

    def merge(self, other: BetSums, first: int) -> None:
        """Add the bets of an independent run. Its arms are numbered from `first` on."""
        for (side, component, arm, number), row in other._rows.items():
            self._add((side, component, arm + first, number), other._sums[row])

    def won(self, m: Floats) -> Floats:
        """Return a lower bound of the log of the wealth of both gamblers at means m, (2, d, G).

        There is one column per arm, or one column that all arms share.
        """
        rows, (_, components, groups) = len(self._rows), m.shape
        side, component, arm, number = self._keys[:, :rows]
        group = (side * components + component) * groups + (arm if groups > 1 else 0)
        low, high = self.low[arm], self.high[arm]
        tried = m.ravel()[group]
        scaled = np.where(side, high - tried, tried - low) / (high - low)
        won = log_wealth(FRACTIONS[number], self._sums[:rows], np.clip(scaled, 0.0, 1.0))
        return np.bincount(group, won, minlength=m.size).astype(float).reshape(m.shape)

    def ends(self, level: float, centre: Floats, first: Floats, last: Floats) -> Floats:
        """Return both ends of the intervals, (2, d, G), for means between `first` and `last`.

        `first`, `last` and a guess, `centre`, are (d, G). `level` is the log of the wealth that
        ends a bet.
        """
        span = last - first

        def tried(t: Floats) -> Floats:
            above, below = t.reshape(2, *span.shape)
            return np.array((first + above * span, last - below * span))

        guess = np.clip((centre - first) / span, 0.0, 1.0).ravel()
        guesses = np.concatenate((guess, 1 - guess))
        t = crossing(lambda t: self.won(tried(t)).ravel(), level, guesses)
        return np.sort(tried(t), axis=0)
