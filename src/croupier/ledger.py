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

#: A call shorter than this measures the call rather than the draws (in seconds).
TELLING: Final = 2e-4

#: Draws beyond this are refused: their differences would be close to overflow themselves.
_TOO_FAR: Final = 2.0**1000


class Tally:
    """The power sums of one batch about its first draw, fed chunk by chunk.

    Of a batch of numbers they are floats, of a batch of vectors arrays; the formulas are the same,
    and floats are several times faster than arrays of one.

    >>> tally = Tally()
    >>> tally.add(np.array([1.0, 2.0, 4.0, 1.0]), arm="a", ticket=0)
    >>> tally.moments()[:2, 0] * 2.0 ** np.array([2, 4])  # in units of 2**exponent
    array([1., 6.])
    """

    __slots__ = ("_flat", "_scaled", "_sums", "_unit", "count", "exponent", "origin")

    def __init__(self) -> None:
        self.count = 0
        self.origin: Any = 0.0
        self.exponent: Any = FLAT
        self._unit: Any = 0
        self._sums: list[Any] = [0.0] * 4
        self._flat = True  # some component has not varied yet
        self._scaled = False  # some component is summed in another unit than 1

    def add(self, values: Floats, *, arm: str, ticket: int) -> None:
        """Add a chunk of shape (m,) or (m, d); an ArmError names the first value not finite."""
        if self.count == 0:
            self._begin(values, arm, ticket)
        elif values.shape[1:] != np.shape(self.origin):
            shapes = f"{np.shape(self.origin)}, then {values.shape[1:]}"
            message = f"returned draws of shape {shapes} in one batch"
            raise ArmError(message, arm=arm, ticket=ticket, value=values.shape)
        self.count += len(values)
        if self.count == 1:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # looked for below, and named
            away = values - self.origin
            if self._flat:
                self._choose_unit(away)
            sums = self._power_sums(away)
            if not math.isfinite(sums[3] if values.ndim == 1 else sums[3].sum()):
                if not (np.abs(values) < _TOO_FAR).all():
                    _refuse(values, arm, ticket)
                self._choose_unit(away, again=True)
                sums = self._power_sums(away)
        self._sums = [known + new for known, new in zip(self._sums, sums, strict=True)]

    def _begin(self, values: Floats, arm: str, ticket: int) -> None:
        first = values[0]
        if values.ndim == 1:
            self.origin = float(first)
            good = abs(self.origin) < _TOO_FAR
        else:
            self.origin = first.copy()
            self.exponent = np.full(first.shape, FLAT)
            self._unit = np.zeros(first.shape, np.int64)
            self._sums = [np.zeros(first.shape) for _ in range(4)]
            good = bool((np.abs(first) < _TOO_FAR).all())
        if not good:
            _refuse(values[:1], arm, ticket)

    def _choose_unit(self, away: Floats, again: bool = False) -> None:
        """Set the exponents of the components that vary for the first time (or overflowed)."""
        old = self._unit
        # Sums of a component that has not begun are zero: there is nothing to rescale.
        if away.ndim == 1:
            new = _exponent_of(float(max(away.max(), -away.min())))
            self.exponent, self._unit = _unit_for(new, self.exponent, old, again)
            self._sums = _rescaled(self._sums, old - self._unit if self._sums[1] else 0)
            self._scaled, self._flat = self._unit != 0, self.exponent == FLAT
            return
        new = _exponent_of(np.abs(away).max(axis=0))
        each = zip(new, self.exponent, old, strict=True)
        self.exponent, self._unit = np.array([_unit_for(*known, again) for known in each]).T
        self._sums = _rescaled(self._sums, np.where(self._sums[1] > 0, old - self._unit, 0))
        self._scaled, self._flat = self._unit.any(), (self.exponent == FLAT).any()

    def _power_sums(self, away: Floats) -> list[Any]:
        if self._scaled:
            away = np.ldexp(away, -self._unit)
        squared = away * away
        total = np.add.reduce
        return [total(away), total(squared), total(away * squared), total(squared * squared)]

    def moments(self) -> Floats:
        """Return the rows mean, M2, M3, M4 about `origin`, in units of ``2**exponent``."""
        n = self.count
        if n == 1:
            return np.zeros((4, np.size(self.origin)))
        if isinstance(self.exponent, int):
            shift: Any = 0 if self._flat else self._unit - self.exponent
        else:
            shift = np.where(self.exponent == FLAT, 0, self._unit - self.exponent)
        s1, s2, s3, s4 = _rescaled(self._sums, shift)
        m = s1 / n
        square = m * m
        m2 = s2 - n * square
        m3 = s3 - 3 * m * s2 + 2 * n * square * m
        m4 = s4 - 4 * m * s3 + 6 * square * s2 - 3 * n * square * square
        m2 = _larger(m2, 0.0 * m2)
        return np.array((m, m2, m3, _larger(m4, m2 * m2 / n))).reshape(4, -1)


def _unit_for(new: int, exponent: int, unit: int, again: bool) -> tuple[int, int]:
    """Return the exponent and the unit of a component whose farthest draw has exponent `new`."""
    if again:
        return (new, new) if new > exponent else (exponent, unit)
    if exponent != FLAT or new == FLAT:
        return exponent, unit
    return new, new if abs(new) > _COMFORT else unit


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


# -- elementwise on arrays, and the same on plain numbers, which are several times faster


def _exponent_of(x: Any) -> Any:
    """Return the binary exponent, FLAT for zero."""
    if isinstance(x, float):
        return math.frexp(x)[1] if x else FLAT
    return np.where(x != 0, np.frexp(x)[1], FLAT)


def _larger(x: Any, y: Any) -> Any:
    return np.maximum(x, y) if isinstance(x, np.ndarray) else max(x, y)


def _times_two_to(x: Any, power: Any) -> Any:
    """Return x 2^power; a power that is too small for a double gives zero."""
    if isinstance(power, int):
        return x * math.ldexp(1.0, power) if -1000 < power < 1000 else math.ldexp(x, power)
    return np.ldexp(x, power)


def _rescaled(moments: Iterable[Any], shift: Any) -> list[Any]:
    """Multiply the r-th of mean (or sum), M2, M3, M4 by 2^(r shift)."""
    if isinstance(shift, int) and shift == 0:
        return list(moments)
    return [_times_two_to(m, r * shift) for r, m in enumerate(moments, 1)]


def merge_moments(
    n_a: Floats | float, a: Iterable[Any], n_b: Floats | float, b: Iterable[Any]
) -> tuple[Any, Any, Any, Any]:
    """Merge two sets of (mean, M2, M3, M4), arrays or numbers: Pébay 2008, eq. 2.1 and 3.1.

    >>> merge_moments(1.0, (1.0, 0, 0, 0), 1.0, (3.0, 0, 0, 0))
    (2.0, 2.0, 0.0, 2.0)
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
    return mean_a + delta * p_b, m2, m3, m4


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

    `count` and the costs have shape (K,), `mean` and the central sums (K, d); `draws` and `spent`
    are the totals of count and cost. `mean` is relative to `origin`, the first draw of the run,
    in units of ``2**exponent``; `value_of` turns such numbers back into the user's.

    With `measured`, costs are clock times of whole calls, and `price` discounts what is due to
    the call and not to the draw. For that, `largest` is an arm's largest batch, `pace` its least
    cost per draw in any batch and `pace_before` in any smaller one, `telling` how many of its
    calls were long enough to tell the cost of a draw.
    """

    def __init__(self, arms: int, *, measured: bool = False) -> None:
        self.measured = measured
        self.origin: Floats | None = None
        self.exponent: Ints = np.full(1, FLAT)
        self.moments: Floats = np.zeros((4, arms, 1))
        self.count: Floats = np.zeros(arms)
        self.cost: Floats = np.zeros(arms)
        self.draws = 0.0
        self.spent = 0.0
        self.cost_m2: Floats = np.zeros(arms)
        self.largest: Floats = np.zeros(arms)
        self.pace: Floats = np.full(arms, np.inf)
        self.pace_before: Floats = np.full(arms, np.inf)
        self.telling: Floats = np.zeros(arms)
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
        m2, m4 = self.moments[1], self.moments[3]
        if not m2.all():  # of an arm that has not varied, nothing is known
            m2, m4 = np.where(m2 > 0, m2, 1.0), np.where(m2 > 0, m4, 1.0)
        kurtosis = (n * (n * m4 / (m2 * m2)) + 50) / (n + 10)
        return np.asarray(np.maximum(1.0, 2 * (n - 1) / (kurtosis - 1)))

    @property
    def price(self) -> Floats:
        """Cost per draw; NaN for an arm that was never drawn.

        Reported costs: their mean. Measured times: weighted by the size of the call and without
        the arm's first one, because a call for one draw mostly measures the call, and the first
        one may measure a compiler; and until five calls were long enough to tell, at most twice
        the arm's best pace, because the machine may have interrupted one of them. A plain mean
        would lock out an arm for ever that was tried with single draws, or at a bad moment.
        """
        unknown = np.full(len(self), np.nan)
        plain = np.divide(self.cost, self.count, out=unknown, where=self.count > 0)
        if not self.measured:
            return np.asarray(plain)
        weighted, squared = self._priced
        price = np.where(squared > 0, weighted / np.maximum(squared, 1), plain)
        return np.asarray(np.where(self.telling < 5, np.minimum(price, 2 * self.pace), price))

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
        origin: Any = outcome.origin
        exponent: Any = outcome.exponent
        moments: Any = outcome.moments
        self._begin(origin)
        one = origin.size == 1  # one component is booked in plain numbers
        if one:
            origin, exponent, moments = origin.item(), exponent.item(), moments.ravel().tolist()
        moments = self._fit(origin, exponent, moments)
        n_a, n_b = float(self.count[arm]), outcome.size
        if n_a:
            known = self.moments[:, arm]
            moments = merge_moments(n_a, known.ravel().tolist() if one else known, n_b, moments)
        self._add_cost(arm, outcome)
        self.moments[:, arm] = np.array(moments).reshape(4, -1)
        self.count[arm] = n_a + n_b
        self.draws += n_b
        self.spent += outcome.cost

    def _add_cost(self, arm: int, outcome: Entry) -> None:
        n_a, n_b, cost = self.count[arm], outcome.size, outcome.cost
        if n_a:
            apart = cost / n_b - self.cost[arm] / n_a
            self.cost_m2[arm] += apart * apart * n_a * n_b / (n_a + n_b)
            self._priced[0, arm] += n_b * cost
            self._priced[1, arm] += n_b * n_b
        self.cost_m2[arm] += outcome.cost_m2
        self.cost[arm] += cost
        if n_b > self.largest[arm]:
            self.largest[arm], self.pace_before[arm] = n_b, self.pace[arm]
        self.pace[arm] = min(self.pace[arm], cost / n_b)
        self.telling[arm] += cost >= TELLING

    def merge(self, other: Ledger) -> None:
        """Add everything that another ledger of the same arms knows."""
        if other.origin is None:
            return
        self._begin(other.origin)
        moments = np.array(self._fit(other.origin, other.exponent, other.moments))
        n_a, n_b = self.count[:, None], other.count[:, None]
        with np.errstate(invalid="ignore"):
            merged = np.array(merge_moments(n_a, self.moments, n_b, moments))
            apart = other.cost / other.count - self.cost / self.count
            cross = apart * apart * self.count * other.count / (self.count + other.count)
        self.moments = np.where(n_b == 0, self.moments, np.where(n_a == 0, moments, merged))
        self.cost_m2 += other.cost_m2 + np.where((self.count > 0) & (other.count > 0), cross, 0)
        self.largest = np.maximum(self.largest, other.largest)
        self.pace = np.minimum(self.pace, other.pace)
        self.pace_before = np.minimum(self.pace_before, other.pace_before)
        for name in ("count", "cost", "telling", "_priced", "draws", "spent"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def _begin(self, origin: Floats) -> None:
        if self.origin is None:
            self.origin = origin.copy()
            self.exponent = np.full(origin.shape, FLAT)
            self.moments = np.zeros((4, len(self), origin.size))

    def _fit(self, origin: Any, exponent: Any, moments: Any) -> list[Any]:
        """Bring moments to this ledger's origin and unit, raising the unit where it must."""
        assert self.origin is not None
        mine: Any = self.origin
        unit: Any = self.exponent
        if isinstance(origin, float):
            mine, unit = mine.item(), unit.item()
        gap = origin - mine
        needed = _larger(exponent, _exponent_of(gap))
        if np.any(needed > unit):
            raised = np.maximum(self.exponent, needed)
            self.moments = np.array(_rescaled(self.moments, self.exponent - raised))
            self.exponent = raised
            unit = needed if isinstance(origin, float) else raised
        fitted = _rescaled(moments, exponent - unit)
        fitted[0] = fitted[0] + _times_two_to(gap, -unit)
        return fitted
