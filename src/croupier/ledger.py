"""The ledger: running moments of the values and costs of every arm.

Moments are central sums M_r = sum (x - mean)^r, merged by Pébay's formulas (Sandia report
SAND2008-6212, 2008). Draws are kept as differences from the first draw of the run, in units of a
power of two per component, so that neither a mean of 1e12 with a spread of 1 nor draws of 2^600
lose anything, and draws multiplied by a power of two give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.draws import Floats
from croupier.errors import ArmError

__all__ = ["Ledger", "Tally", "merge_moments"]

Ints: TypeAlias = NDArray[np.int64]

#: The exponent of a component that has not varied yet: below that of every double.
FLAT: Final = -1100

#: Draws up to 2**±120 are summed as they are: their fourth powers are far from overflow.
_COMFORT: Final = 120

#: Draws beyond this are refused: their differences would be close to overflow themselves.
_TOO_FAR: Final = 2.0**1000


class Tally:
    """The power sums of one batch about its first draw, fed chunk by chunk.

    >>> tally = Tally()
    >>> tally.add(np.array([1.0, 2.0, 4.0, 1.0]), arm="a", ticket=0)
    >>> tally.moments()[:2, 0] * 2.0 ** np.array([2, 4])  # in units of 2**exponent
    array([1., 6.])
    """

    __slots__ = ("_flat", "_scaled", "_sums", "_unit", "count", "exponent", "origin")

    def __init__(self) -> None:
        self.count = 0
        self.origin: Floats = np.empty(0)
        self.exponent: Ints = np.empty(0, np.int64)
        self._unit: Ints = np.empty(0, np.int64)
        self._sums: Floats = np.empty(0)
        self._flat = True  # some component has not varied yet
        self._scaled = False  # some component is summed in another unit than 1

    def add(self, values: Floats, *, arm: str, ticket: int) -> None:
        """Add a chunk of shape (m,) or (m, d); an ArmError names the first value not finite."""
        if self.count == 0:
            self.origin = np.array(values[0], ndmin=1)
            self.exponent = np.full(self.origin.shape, FLAT)
            self._unit = np.zeros(self.origin.shape, np.int64)
            self._sums = np.zeros((4, self.origin.size))
            if not (np.abs(self.origin) < _TOO_FAR).all():
                _refuse(values[:1], arm, ticket)
        if (components := values.size // len(values)) != self.origin.size:
            message = f"returned {self.origin.size} components, then {components} in the same batch"
            raise ArmError(message, arm=arm, ticket=ticket, value=values.shape)
        self.count += len(values)
        if self.count == 1:
            return
        origin = self.origin if values.ndim == 2 else self.origin[0]
        with np.errstate(over="ignore", invalid="ignore"):  # looked for below, and named
            away = values - origin
            if self._flat:
                self._choose_unit(away)
            sums = self._power_sums(away)
            if not math.isfinite(sums.sum()):
                if not (np.abs(values) < _TOO_FAR).all():
                    _refuse(values, arm, ticket)
                self._choose_unit(away, again=True)
                sums = self._power_sums(away)
        self._sums += sums

    def _choose_unit(self, away: Floats, again: bool = False) -> None:
        """Set the exponents of the components that vary for the first time (or overflowed)."""
        farthest = np.abs(away).max(axis=0, keepdims=away.ndim == 1)
        new = np.frexp(farthest)[1].astype(np.int64)
        if self.count == len(away) and farthest.all() and np.abs(new).max() <= _COMFORT:
            self.exponent, self._flat = new, False  # the first chunk, and nothing special in it
            return
        new[farthest == 0] = FLAT
        fresh = new > self.exponent if again else (self.exponent == FLAT) & (new > FLAT)
        unit = np.where(fresh & (again | (np.abs(new) > _COMFORT)), new, self._unit)
        began = self._sums[1] > 0
        self._sums *= _powers(np.ldexp(1.0, np.where(began, self._unit - unit, 0)))
        self.exponent = np.where(fresh, new, self.exponent)
        self._unit = unit
        self._scaled = bool(unit.any())
        self._flat = bool((self.exponent == FLAT).any())

    def _power_sums(self, away: Floats) -> Floats:
        if self._scaled:
            away = np.ldexp(away, -self._unit)
        squared = away * away
        total = np.add.reduce
        sums = (total(away), total(squared), total(away * squared), total(squared * squared))
        return np.array(sums).reshape(4, -1)

    def moments(self) -> Floats:
        """Return the rows mean, M2, M3, M4 about `origin`, in units of ``2**exponent``."""
        n = self.count
        if n == 1:
            return self._sums
        shift = np.where(self.exponent == FLAT, 0, self._unit - self.exponent)
        sums: Any = self._sums * _powers(np.ldexp(1.0, shift))
        if sums.size == 4:  # of one component: plain floats are several times faster
            sums = sums.ravel().tolist()
        s1, s2, s3, s4 = sums
        m = s1 / n
        square = m * m
        m3 = s3 - 3 * m * s2 + 2 * n * square * m
        m4 = s4 - 4 * m * s3 + 6 * square * s2 - 3 * n * square * square
        moments = np.array((m, s2 - n * square, m3, m4)).reshape(4, -1)
        np.maximum(moments[1], 0.0, out=moments[1])
        np.maximum(moments[3], moments[1] * moments[1] / n, out=moments[3])
        return moments


def _refuse(values: Floats, arm: str, ticket: int) -> NoReturn:
    """Raise the error that names the first value which cannot be averaged."""
    good = np.abs(values) < _TOO_FAR
    value, bad = values[~good][0], np.count_nonzero(~good)
    many = f" ({bad} of {values.size} values)" if bad > 1 else ""
    message = (
        f"returned {value}{many}, too large for its powers to fit a double; rescale the draws"
        if np.isfinite(value)
        else f"returned {value}{many}; to drop it would bias the answer: "
        "mend the arm, or return what the draw is worth"
    )
    raise ArmError(message, arm=arm, ticket=ticket, value=float(value))


def _powers(unit: Floats) -> Floats:
    """Return unit, unit^2, unit^3, unit^4 as rows: what rescales mean, M2, M3, M4."""
    square = unit * unit
    return np.array((unit, square, square * unit, square * square))


def merge_moments(
    n_a: Floats | float, a: Iterable[Any], n_b: Floats | float, b: Iterable[Any]
) -> Floats:
    """Merge two sets of (mean, M2, M3, M4), arrays or numbers: Pébay 2008, eq. 2.1 and 3.1.

    >>> one, other = np.array([1.0, 0, 0, 0]), np.array([3.0, 0, 0, 0])
    >>> merge_moments(1.0, one, 1.0, other)
    array([2., 2., 0., 2.])
    """
    n = n_a + n_b
    p_a, p_b = n_a / n, n_b / n
    mean_a, a2, a3, a4 = a
    mean_b, b2, b3, b4 = b
    delta = mean_b - mean_a
    delta2 = delta * delta
    cross = delta2 * n_a * p_b
    m2 = a2 + b2 + cross
    m3 = a3 + b3 + delta * (cross * (p_a - p_b) + 3 * (p_a * b2 - p_b * a2))
    m4 = (
        a4
        + b4
        + delta2 * (cross * (p_a * p_a - p_a * p_b + p_b * p_b))
        + 6 * delta2 * (p_a * p_a * b2 + p_b * p_b * a2)
        + 4 * delta * (p_a * b3 - p_b * a3)
    )
    return np.array((mean_a + delta * p_b, m2, m3, m4))


class Entry(Protocol):
    """What a ledger books of an outcome."""

    @property
    def size(self) -> int: ...
    @property
    def origin(self) -> Floats: ...
    @property
    def exponent(self) -> Ints: ...
    @property
    def moments(self) -> Floats: ...
    @property
    def cost(self) -> float: ...
    @property
    def cost_m2(self) -> float: ...


class Ledger:
    """Counts, moments and costs of K arms with d components each; its owner is the table.

    `count` and the costs have shape (K,), `mean` and the central sums (K, d). `mean` is relative
    to `origin`, the first draw of the run, in units of ``2**exponent``; `value_of` turns such
    numbers back into the user's. With `measured`, costs are clock times of whole calls, and
    `price` discounts what is due to the call and not to the draw.
    """

    def __init__(self, arms: int, *, measured: bool = False) -> None:
        self.measured = measured
        self.origin: Floats | None = None
        self.exponent: Ints = np.full(1, FLAT)
        self.moments: Floats = np.zeros((4, arms, 1))
        self.count: Floats = np.zeros(arms)
        self.cost: Floats = np.zeros(arms)
        self.cost_m2: Floats = np.zeros(arms)
        self.calls: Floats = np.zeros(arms)
        self.largest: Floats = np.zeros(arms)
        self.longest: Floats = np.zeros(arms)
        self._priced: Floats = np.zeros((2, arms))

    def __len__(self) -> int:
        return len(self.count)

    def copy(self) -> Ledger:
        """Return a snapshot that later draws do not change."""
        twin = Ledger.__new__(Ledger)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, np.ndarray) else value)
        return twin

    # -- what a decision reads

    @property
    def mean(self) -> Floats:
        """Means, relative to `origin` and in units of ``2**exponent``."""
        mean: Floats = self.moments[0]
        return mean

    @property
    def variance(self) -> Floats:
        """Sample variances M2/(n - 1), zero for an arm with fewer than two draws."""
        m2: Floats = self.moments[1]
        return np.asarray(m2 / np.maximum(self.count - 1, 1)[:, None])

    @property
    def df(self) -> Floats:
        """Effective degrees of freedom of each sample variance, from a shrunk kurtosis.

        A variance is known the less well the heavier the tails: Var(s2)/V^2 is about
        (kurtosis - 1)/n, so df = 2 (n - 1)/(kurtosis - 1), with the kurtosis shrunk towards 5.
        """
        n = self.count[:, None]
        _, m2, _, m4 = self.moments
        varies = m2 > 0
        ratio = np.where(varies, n * m4 / np.where(varies, m2 * m2, 1), 1)
        kurtosis = (n * ratio + 50) / (n + 10)
        return np.maximum(1.0, 2 * (n - 1) / (kurtosis - 1))

    @property
    def price(self) -> Floats:
        """Cost per draw; NaN for an arm that was never drawn.

        Reported costs: their mean. Measured times: weighted by the size of the call and without
        the arm's first one, because a call for one draw mostly measures the call, and the first
        one may measure a compiler. A plain mean would lock out every arm that has been tried
        with single draws only, however good it is.
        """
        with np.errstate(invalid="ignore"):
            plain = self.cost / self.count
        if not self.measured:
            return plain
        weighted, squared = self._priced
        return np.where(squared > 0, weighted / np.maximum(squared, 1), plain)

    def value_of(self, mean: Floats) -> Floats:
        """Return relative, scaled means in the user's units."""
        assert self.origin is not None
        return np.asarray(self.origin + np.ldexp(mean, self.exponent))

    def spread_of(self, deviation: Floats) -> Floats:
        """Return scaled standard deviations or half-widths in the user's units."""
        return np.asarray(np.ldexp(deviation, self.exponent))

    # -- what changes it

    def add(self, arm: int, outcome: Entry) -> None:
        """Add the moments of one batch to an arm."""
        moments = self._fit(outcome.origin, outcome.exponent, outcome.moments)
        n_a, n_b = float(self.count[arm]), outcome.size
        if n_a:
            pair: tuple[Any, Any] = self.moments[:, arm], moments
            if moments.size == 4:  # of one component: plain floats are several times faster
                pair = pair[0].ravel().tolist(), pair[1].ravel().tolist()
            moments = merge_moments(n_a, pair[0], n_b, pair[1]).reshape(4, -1)
        self._add_cost(arm, outcome)
        self.moments[:, arm] = moments
        self.count[arm] = n_a + n_b

    def _add_cost(self, arm: int, outcome: Entry) -> None:
        n_a, n_b, cost = self.count[arm], outcome.size, outcome.cost
        if n_a:
            apart = cost / n_b - self.cost[arm] / n_a
            self.cost_m2[arm] += apart * apart * n_a * n_b / (n_a + n_b)
            self._priced[0, arm] += n_b * cost
            self._priced[1, arm] += n_b * n_b
        self.cost_m2[arm] += outcome.cost_m2
        self.cost[arm] += cost
        self.calls[arm] += 1
        self.largest[arm] = max(self.largest[arm], n_b)
        self.longest[arm] = max(self.longest[arm], cost)

    def merge(self, other: Ledger) -> None:
        """Add everything that another ledger of the same arms knows."""
        if other.origin is None:
            return
        moments = self._fit(other.origin, other.exponent, other.moments)
        n_a, n_b = self.count[:, None], other.count[:, None]
        with np.errstate(invalid="ignore"):
            merged = merge_moments(n_a, self.moments, n_b, moments)
            apart = other.cost / other.count - self.cost / self.count
            cross = apart * apart * self.count * other.count / (self.count + other.count)
        self.moments = np.where(n_b == 0, self.moments, np.where(n_a == 0, moments, merged))
        self.cost_m2 += other.cost_m2 + np.where((self.count > 0) & (other.count > 0), cross, 0)
        self.largest = np.maximum(self.largest, other.largest)
        self.longest = np.maximum(self.longest, other.longest)
        for name in ("count", "cost", "calls", "_priced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def _fit(self, origin: Floats, exponent: Ints, moments: Floats) -> Floats:
        """Bring moments to this ledger's origin and unit, raising the unit where it must."""
        if self.origin is None:
            self.origin = origin.copy()
            self.exponent = np.full(origin.shape, FLAT)
            self.moments = np.zeros((4, len(self), origin.size))
        gap = origin - self.origin
        needed = np.maximum(exponent, np.where(gap != 0, np.frexp(gap)[1], FLAT))
        if (needed > self.exponent).any():
            raised = np.maximum(self.exponent, needed)
            self.moments *= _powers(np.ldexp(1.0, self.exponent - raised))[:, None]
            self.exponent = raised
        units = _powers(np.ldexp(1.0, exponent - self.exponent))
        fitted = moments * (units if moments.ndim == 2 else units[:, None])
        fitted[0] += np.ldexp(gap, -self.exponent)
        return fitted
