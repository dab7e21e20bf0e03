"""Tally: the moments of one batch, safe at any offset and scale.

Power sums are taken about the batch's first draw, in units of a power of two per component, so
that neither a mean of 1e12 with a spread of 1 nor draws of 2^600 lose anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NoReturn

import numpy as np

from croupier.draws import Floats
from croupier.errors import ArmError

__all__ = ["FLAT", "Tally", "exponent_of", "larger", "rescaled", "times_two_to"]

#: The exponent of a component that has not varied yet: below that of every double.
FLAT: Final = -1100

#: Draws up to 2**±120 are summed as they are: their fourth powers are far from overflow.
_COMFORT: Final = 120

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
            new = exponent_of(float(max(away.max(), -away.min())))
            self.exponent, self._unit = _unit_for(new, self.exponent, old, again)
            self._sums = rescaled(self._sums, old - self._unit if self._sums[1] else 0)
            self._scaled, self._flat = self._unit != 0, self.exponent == FLAT
            return
        new = exponent_of(np.abs(away).max(axis=0))
        if self.count == len(away) and new.min() > FLAT and np.abs(new).max() <= _COMFORT:
            self.exponent, self._flat = new, False  # the first chunk, and nothing special in it
            return
        each = zip(new, self.exponent, old, strict=True)
        self.exponent, self._unit = np.array([_unit_for(*known, again) for known in each]).T
        self._sums = rescaled(self._sums, np.where(self._sums[1] > 0, old - self._unit, 0))
        self._scaled, self._flat = self._unit.any(), (self.exponent == FLAT).any()

    def _power_sums(self, away: Floats) -> list[Any]:
        if self._scaled:
            away = np.ldexp(away, -self._unit)
        squared = away * away
        first, product = np.add.reduce(away), _inner if away.ndim == 1 else _columns
        return [first, product(away, away), product(away, squared), product(squared, squared)]

    def moments(self) -> Floats:
        """Return the rows mean, M2, M3, M4 about `origin`, in units of ``2**exponent``."""
        n = self.count
        if n == 1:
            return np.zeros((4, np.size(self.origin)))
        if isinstance(self.exponent, int):
            shift: Any = 0 if self._flat else self._unit - self.exponent
        else:
            shift = np.where(self.exponent == FLAT, 0, self._unit - self.exponent)
        s1, s2, s3, s4 = rescaled(self._sums, shift)
        m = s1 / n
        square = m * m
        m2 = s2 - n * square
        m3 = s3 - 3 * m * s2 + 2 * n * square * m
        m4 = s4 - 4 * m * s3 + 6 * square * s2 - 3 * n * square * square
        m2 = larger(m2, 0.0 * m2)
        return np.array((m, m2, m3, larger(m4, m2 * m2 / n))).reshape(4, -1)


def _inner(x: Floats, y: Floats) -> float:
    # At most 10 000 numbers, in fresh arrays: one thread and one order of summation.
    return float(np.dot(x, y))


def _columns(x: Floats, y: Floats) -> Floats:
    columns: Floats = np.einsum("ij,ij->j", x, y)
    return columns


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


def exponent_of(x: Any) -> Any:
    """Return the binary exponent, FLAT for zero."""
    if isinstance(x, float):
        return math.frexp(x)[1] if x else FLAT
    return np.where(x != 0, np.frexp(x)[1], FLAT)


def larger(x: Any, y: Any) -> Any:
    """Return the larger of two numbers, elementwise on arrays."""
    return np.maximum(x, y) if isinstance(x, np.ndarray) else max(x, y)


def times_two_to(x: Any, power: Any) -> Any:
    """Return x 2^power; a power that is too small for a double gives zero."""
    if isinstance(power, int):
        return x * math.ldexp(1.0, power) if -1000 < power < 1000 else math.ldexp(x, power)
    return np.ldexp(x, power)


def rescaled(moments: Iterable[Any], shift: Any) -> list[Any]:
    """Multiply the r-th of mean (or sum), M2, M3, M4 by 2^(r shift)."""
    if isinstance(shift, int) and shift == 0:
        return list(moments)
    return [times_two_to(m, r * shift) for r, m in enumerate(moments, 1)]
