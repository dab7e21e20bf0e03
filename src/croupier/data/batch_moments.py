"""Tally: the moments of one batch, exact at any offset and scale.

Power sums are taken about the batch's first draw, in units of a power of two per component. So a
mean of 1e12 with a spread of 1 loses no precision, and neither do draws of 2^600.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import ArmError

__all__ = ["FLAT", "Tally", "exponent_of", "larger", "rescaled", "times_two_to"]

#: The exponent of a component that has not varied yet: below that of every floating-point number.
FLAT: Final = -1100

#: Draws up to 2**±120 are summed without scaling: their fourth powers are far from overflow.
_COMFORT: Final = 120
_COMFORT_OF_SQUARES: Final = (2.0 ** (-2 * _COMFORT), 2.0 ** (2 * _COMFORT))

#: Sums of fourth powers beyond this are taken in another unit, before sums of them overflow.
_LARGEST_SUM: Final = 2.0**900

#: At most this many draws of vectors are summed side by side.
_FOLD: Final = 8

#: Draws beyond this are refused: their differences would be close to overflow themselves.
TOO_FAR: Final = 2.0**1000


_NOTHING: Final = np.empty((0, 0))

#: Four power sums: floats for numbers, arrays for vectors.
Sums: TypeAlias = tuple[Any, Any, Any, Any]


class Tally:
    """The power sums of one batch about its first draw, fed chunk by chunk.

    They are floats for a batch of numbers, and arrays for a batch of vectors. The formulas are the
    same, and floats are several times faster than arrays of length 1.

    >>> tally = Tally()
    >>> tally.add(np.array([1.0, 2.0, 4.0, 1.0]), arm="a", ticket=0)
    >>> tally.moments()[:2, 0] * 2.0 ** np.array([2, 4])  # in units of 2**exponent
    array([1., 6.])
    """

    def __init__(self) -> None:
        self.count = 0
        self.origin: Any = 0.0
        self.exponent: Any = FLAT
        self._shape: tuple[int, ...] = ()
        self._row: Floats = _NOTHING
        self._unit: Any = 0
        self._sums: Sums = (0.0, 0.0, 0.0, 0.0)
        self._flat = True  # some component has not varied yet
        self._scaled = False  # some component is summed in another unit than 1
        self._plain = True  # ordinary numbers so far

    def add(self, values: Floats, *, arm: str, ticket: int) -> None:
        """Add a chunk of shape (m,) or (m, d); an ArmError names the first bad value."""
        if self.count == 0:
            self._begin(values, arm, ticket)
        elif values.shape[1:] != self._shape:
            shapes = f"{self._shape}, then {values.shape[1:]}"
            message = f"returned draws of shape {shapes} in one batch"
            raise ArmError(message, arm=arm, ticket=ticket, value=values.shape)
        self.count += len(values)
        if self.count == 1:
            return
        s1, s2, s3, s4 = self._power_sums_of(values, arm, ticket)
        k1, k2, k3, k4 = self._sums
        self._sums = k1 + s1, k2 + s2, k3 + s3, k4 + s4

    def _power_sums_of(self, values: Floats, arm: str, ticket: int) -> Sums:
        if self._plain and not self._flat and (sums := self._numbers(values)) is not None:
            return sums
        with np.errstate(over="ignore", invalid="ignore"):  # looked for, and named
            sums = self._numbers(values) if self._plain and self._flat else None
            if sums is None:
                self._plain = False
                sums = self._anything(values, arm, ticket)
        return sums

    def _numbers(self, values: Floats) -> Sums | None:
        """Return the power sums of ordinary numbers, None if some numbers are not ordinary."""
        away = values - self.origin
        squares = away.dot(away)
        if not squares < _COMFORT_OF_SQUARES[1]:
            return None
        if self._flat:
            if not squares and not away.any():
                return 0.0, 0.0, 0.0, 0.0  # nothing has varied yet
            if squares < _COMFORT_OF_SQUARES[0]:
                return None
            self.exponent, self._flat = exponent_of(math.sqrt(squares)), False
        squared = away * away
        # At most 10 000 numbers, in fresh arrays: one thread and one order of summation.
        dot = squared.dot
        return np.add.reduce(away), squares, dot(away), dot(squared)

    def _anything(self, values: Floats, arm: str, ticket: int) -> Sums:
        """Return the power sums of vectors, or of numbers of any size."""
        sums = self._power_sums(values - self._origins(values))
        if self._flat:
            low, high = sums[1].min(), sums[1].max()
            if not _COMFORT_OF_SQUARES[0] < low <= high < _COMFORT_OF_SQUARES[1]:
                sums = self._in_other_units(values, again=False)
            self._choose_exponents(sums[1])
        # The sums so far count too: those of several chunks may overflow together.
        if not np.add.reduce(self._sums[3] + sums[3]) < _LARGEST_SUM:
            if not (np.abs(values) < TOO_FAR).all():
                _refuse(values, arm, ticket)
            sums = self._in_other_units(values, again=True)
        return sums

    def _begin(self, values: Floats, arm: str, ticket: int) -> None:
        first = values[0]
        self._shape = values.shape[1:]
        if values.ndim == 1:
            self.origin = float(first)
            good = abs(self.origin) < TOO_FAR
        else:
            self._plain = False
            self.origin = first.copy()
            self.exponent = np.full(first.shape, FLAT)
            self._unit = np.zeros(first.shape, np.int64)
            self._sums = (np.zeros(first.shape),) * 4
            good = bool((np.abs(first) < TOO_FAR).all())
        if not good:
            _refuse(values[:1], arm, ticket)

    def _origins(self, values: Floats) -> Any:
        """Return the origin in a form that is fast to subtract: long rows, not many short ones."""
        if self._row.shape == values.shape:
            return self._row
        if values.ndim == 2 and self.count > len(values):
            self._row = np.tile(self.origin, (len(values), 1))
        return self.origin

    def _in_other_units(self, values: Floats, *, again: bool) -> Sums:
        """Set the units of the components that vary for the first time (or overflowed); sum."""
        away = values - self.origin
        old, farthest = self._unit, exponent_of(np.abs(away).max(axis=0))
        if again:
            begin = farthest > self.exponent
            self.exponent = np.where(begin, farthest, self.exponent)
        else:
            begin = (self.exponent == FLAT) & (farthest != FLAT) & (np.abs(farthest) > _COMFORT)
        self._unit = np.where(begin, farthest, old)
        self._scaled = bool(self._unit.any())
        # The sums of a component that has not varied are zero: there is nothing to rescale.
        self._sums = rescaled(self._sums, np.where(self._sums[1] > 0, old - self._unit, 0))
        return self._power_sums(away)

    def _choose_exponents(self, squares: Any) -> None:
        begin = (self.exponent == FLAT) & (squares > 0)
        self.exponent = np.where(begin, self._unit + exponent_of(np.sqrt(squares)), self.exponent)
        self._flat = bool((self.exponent == FLAT).any())

    def _power_sums(self, away: Floats) -> Sums:
        if self._scaled:
            away = np.ldexp(away, -self._unit)
        squared = away * away
        if away.ndim == 1:
            dot = squared.dot
            return np.add.reduce(away), away.dot(away), dot(away), dot(squared)
        # Several draws are summed side by side first: long rows are faster than short ones.
        rows, columns = away.shape
        fold = math.gcd(rows, _FOLD)
        away = away.reshape(rows // fold, fold * columns)
        squared = squared.reshape(away.shape)
        sums = np.empty((4, fold * columns))
        np.add.reduce(away, out=sums[0])
        np.add.reduce(squared, out=sums[1])
        np.add.reduce(np.multiply(away, squared, out=away), out=sums[2])
        np.add.reduce(np.multiply(squared, squared, out=squared), out=sums[3])
        return tuple(np.add.reduce(sums.reshape(4, fold, columns), axis=1))

    def moments(self) -> Floats:
        """Return the rows mean, M2, M3, M4 about `origin`, in units of ``2**exponent``."""
        n = self.count
        if n == 1:
            return np.zeros((4, np.size(self.origin)))
        if not self._shape:
            shift: Any = 0 if self._flat else int(self._unit - self.exponent)
        else:
            shift = np.where(self.exponent == FLAT, 0, self._unit - self.exponent)
        s1, s2, s3, s4 = rescaled(self._sums, shift)
        if not self._shape:
            s1, s2, s3, s4 = float(s1), float(s2), float(s3), float(s4)
        m = s1 / n
        square = m * m
        m2 = s2 - n * square
        m3 = s3 - 3 * m * s2 + 2 * n * square * m
        m4 = s4 - 4 * m * s3 + 6 * square * s2 - 3 * n * square * square
        m2 = larger(m2, 0.0 * m2)
        return np.array((m, m2, m3, larger(m4, m2 * m2 / n))).reshape(4, -1)


def _refuse(values: Floats, arm: str, ticket: int) -> NoReturn:
    """Raise the error that names the first value that cannot be averaged."""
    good = np.abs(values) < TOO_FAR
    value, bad = values[~good][0], np.count_nonzero(~good)
    many = f" ({bad} of {values.size} values)" if bad > 1 else ""
    message = (
        f"returned {value}{many}, whose powers are too large; rescale the draws"
        if np.isfinite(value)
        else f"returned {value}{many}; without this draw the answer would be biased: "
        "fix the arm, or return the value of the draw"
    )
    raise ArmError(message, arm=arm, ticket=ticket, value=float(value))


# -- elementwise on arrays, and the same on plain numbers, which are several times faster


def exponent_of(x: Any) -> Any:
    """Return the binary exponent, FLAT for zero."""
    if isinstance(x, float):
        return math.frexp(x)[1] if x else FLAT
    return np.where(x != 0, np.frexp(x)[1], FLAT)


def larger(x: Any, y: Any) -> Any:
    """Return the larger of two numbers, elementwise on arrays."""
    return np.maximum(x, y) if isinstance(x, np.ndarray) else max(x, y)


def times_two_to(x: Any, power: Any) -> Any:
    """Return x 2^power; a result that is too small for a floating-point number is zero."""
    if isinstance(power, int):
        return x * math.ldexp(1.0, power) if -1000 < power < 1000 else math.ldexp(x, power)
    return np.ldexp(x, power)


def rescaled(moments: Iterable[Any], shift: Any) -> Sums:
    """Multiply the r-th of mean (or sum), M2, M3, M4 by 2^(r shift)."""
    m1, m2, m3, m4 = moments
    if isinstance(shift, int):
        if shift == 0 or not (m1 or m2):
            return m1, m2, m3, m4
        if -250 < shift < 250:
            two = math.ldexp(1.0, shift)
            square = two * two
            return m1 * two, m2 * square, m3 * (square * two), m4 * (square * square)
    return tuple(times_two_to(m, r * shift) for r, m in enumerate((m1, m2, m3, m4), 1))
