"""Logs: draws that come as logarithms, and numbers that are returned as logarithms.

A draw e^l with l = -5000 is too small for a floating-point number. But it is 2^k y, with a whole
number k and a y of at most 1. The ledger keeps its moments in the same way, in units of 2^k: see
`ledger`. So all other code works on draws of any size, without overflow or underflow.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any, Final, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.batch_moments import Tally, rescaled
from croupier.data.central_moments import merge_moments
from croupier.data.draws import Floats
from croupier.errors import ArmError

__all__ = ["EMPTY", "LogTally", "arithmetic", "exp", "exp_of", "log_of", "relative"]

Ints: TypeAlias = NDArray[np.int64]

#: log 2 in two parts. The first has few bits, so that k times it is exact (Cody and Waite 1980).
_LN2: Final = float(np.log(2.0))
_LN2_HIGH: Final = float.fromhex("0x1.62e42p-1")
_LN2_LOW: Final = float.fromhex("0x1.fdf473de6af28p-22")

#: The exponent of draws that are all zero: below that of any other.
EMPTY: Final = -(2**30)

#: The log of the largest draw must lie within ± this; larger floats are too coarse.
_LARGEST_LOG: Final = 5e8

#: Draws that are smaller than this part of the largest one change no bit of a sum of them.
_NOTHING: Final = 2.0**-200


def arithmetic(log: bool) -> AbstractContextManager[Any]:
    """Return the arithmetic of a run: numpy's own, whatever `np.errstate` of the caller says.

    In a run of logs too small numbers become zero and too large numbers infinite, without a
    warning. A run enters it when a table is told or asked for its estimate, when a result is read,
    and when results are merged.
    """
    over: Literal["ignore", "warn"] = "ignore" if log else "warn"
    return np.errstate(divide="warn", over=over, under="ignore", invalid="warn")


class LogTally:
    """The moments of one batch of logs about 0, in units of ``2**exponent``: `Tally` for logs.

    >>> tally = LogTally()
    >>> tally.add(np.array([-5000.0, -5000.0 + np.log(3.0)]), arm="a", ticket=0)
    >>> log_of(tally.moments()[0], tally.exponent) + 5000  # the log of the mean, log 2
    array([0.6931])
    """

    def __init__(self) -> None:
        self.count = 0
        self.origin: Floats = np.zeros(1)
        self.exponent: Ints = np.full(1, EMPTY)
        self._moments: Any = None
        self._shape: tuple[int, ...] = ()

    def add(self, logs: Floats, *, arm: str, ticket: int) -> None:
        """Add a chunk of shape (m,) or (m, d); an ArmError names the first that is not a log."""
        if self.count and logs.shape[1:] != self._shape:
            shapes = f"{self._shape}, then {logs.shape[1:]}"
            message = f"returned draws of shape {shapes} in one batch"
            raise ArmError(message, arm=arm, ticket=ticket, value=logs.shape)
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            top = logs.max(axis=0)
            k, unit = _unit_of(float(top)) if logs.ndim == 1 else _units_of(top)
            if k is None:
                _refuse(logs, arm, ticket)
            scaled = np.exp((logs - k * _LN2_HIGH) - k * _LN2_LOW)
        scaled[scaled < _NOTHING] = 0.0
        tally = Tally()
        tally.add(scaled, arm=arm, ticket=ticket)
        mean, m2, m3, m4 = rescaled(_rows(tally), tally.exponent)
        moments = np.array((mean + tally.origin, m2, m3, m4)).reshape(4, -1)
        if self.count:
            common = np.maximum(self.exponent, unit)
            with arithmetic(True):
                before = rescaled(self._moments, self.exponent - common)
                now = rescaled(moments, unit - common)
                moments = np.array(merge_moments(self.count, before, len(logs), now))
            unit = common
        self._moments, self.exponent = moments, unit
        self._shape, self.origin = logs.shape[1:], np.zeros(unit.shape)
        self.count += len(logs)

    def moments(self) -> Floats:
        """Return the rows mean, M2, M3, M4 about 0, in units of ``2**exponent``."""
        moments: Floats = self._moments
        return moments


def _rows(tally: Tally) -> Any:
    """Return the moments of a tally: plain numbers for a tally of numbers, which are faster."""
    moments = tally.moments()
    return moments.ravel().tolist() if isinstance(tally.exponent, int) else moments


def _unit_of(top: float) -> tuple[float | None, Ints]:
    """Return the k of the unit 2^k from the largest log, and its exponent; None if no log."""
    if top == -math.inf:
        return 0.0, np.full(1, EMPTY)
    if not -_LARGEST_LOG <= top <= _LARGEST_LOG:
        return None, np.full(1, EMPTY)
    k = math.ceil(top / _LN2)
    return float(k), np.array([k])


def _units_of(top: Floats) -> tuple[Floats | None, Ints]:
    """Do the same for each of several components."""
    none = top == -np.inf
    if not (none | (np.abs(top) <= _LARGEST_LOG)).all():
        return None, np.full(top.shape, EMPTY)
    k = np.where(none, 0.0, np.ceil(np.where(none, 0.0, top) / _LN2))
    return k, np.where(none, EMPTY, k.astype(np.int64))


def _refuse(logs: Floats, arm: str, ticket: int) -> NoReturn:
    """Raise the error that names the first value that is not the log of a draw."""
    bad = ~(np.abs(logs) <= _LARGEST_LOG) & (logs != -np.inf)
    value, many = float(logs[bad][0]), int(np.count_nonzero(bad))
    shown = f"returned {value:g}" + (f" ({many} of {logs.size} values)" if many > 1 else "")
    if np.isnan(value):
        message = (
            f"{shown}; in a run with log=True that is the log of a negative draw, or of none: "
            "draws must not be negative there (the log of zero is -inf); run without log=True, "
            "or estimate the positive and the negative part by themselves"
        )
    elif value == np.inf:
        message = f"{shown}, the log of an infinite draw; to drop it would bias the answer"
    else:
        hint = "is its sign right?" if value > 0 else "the log of zero is -inf"
        message = f"{shown}, a log beyond ±{_LARGEST_LOG:g}; {hint}"
    raise ArmError(message, arm=arm, ticket=ticket, value=value)


def log_of(scaled: Floats, exponent: Ints) -> Floats:
    """Return log(scaled 2^exponent), -inf for zero, and NaN below it.

    >>> log_of(np.array([0.5, 0.0]), np.array([-7213, 0]))
    array([-5000.3638, -inf])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(scaled)
    k = np.where(scaled == 0, 0, exponent).astype(float)
    return np.asarray(k * _LN2_HIGH + (k * _LN2_LOW + log))


def exp_of(scaled: Floats, exponent: Ints) -> Floats:
    """Return scaled 2^exponent; zero or infinite if it does not fit a floating-point number.

    >>> exp_of(np.array([0.5, 0.5]), np.array([3, -7213]))
    array([4., 0.])
    """
    with arithmetic(True):
        return np.asarray(np.ldexp(scaled, exponent))


def exp(logs: Floats) -> Floats:
    """Return e^logs, zero or infinite where no double holds it.

    >>> exp(np.array([0.0, -5000.0, 5000.0]))
    array([ 1.,  0., inf])
    """
    with arithmetic(True):
        return np.asarray(np.exp(logs))


def relative(deviation: Floats, mean: Floats) -> Floats:
    """Return deviation/mean, the delta method's error of log(mean); infinite for a mean of zero.

    >>> relative(np.array([0.1, 0.1, np.nan]), np.array([2.0, 0.0, 0.0]))
    array([0.05,  inf,  nan])
    """
    positive = mean > 0
    with np.errstate(over="ignore"):
        if positive.all():
            return np.asarray(deviation / mean)
        missing = np.where(np.isnan(deviation), np.nan, np.inf)
        return np.asarray(np.divide(deviation, mean, out=missing, where=positive))
