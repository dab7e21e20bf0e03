"""Prices of calls: a call of an arm takes a + b size seconds, learned from its timed calls.

A call of a loop over time steps costs far more than a draw in it. A price per draw that was learned
from small calls would lock such an arm out. So a price is taken at the size that a decision would
buy, and at its lower bound: beyond its largest calls, an arm costs what the slope between its
smallest and its largest calls says, and nothing per draw before it was called with two sizes. An
arm that could be the best is played, and thereby measured. An arm that could not is left alone.

Calls are kept by their size, in classes of a factor of two. One call that the machine interrupted
must not decide, so a call counts only for a small multiple of the usual call of its class.
"""

from __future__ import annotations

from statistics import median_low
from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats

__all__ = ["CHUNK", "STEP", "CallPrices", "empty_calls", "fastest", "with_call"]

#: One call of an arm makes at most this many numbers, so that the arrays fit in the cache.
CHUNK: Final = 10_000

#: A call that was never made is at most this many times as large as the largest. So one call that
#: was interrupted cannot make an arm whose calls are expensive look as if its draws were.
STEP: Final = 4

#: The rows of the calls of an arm in a class: their number, mean size, mean cost, and last costs.
_NUMBER, _SIZE, _COST, _LAST = range(4)
_KEPT: Final = 5
_ROWS: Final = _LAST + _KEPT

#: The mean cost of a class follows about the last 32 calls: the load of a machine changes.
_MEMORY: Final = 32


class CallPrices(NamedTuple):
    """What calls of the arms cost, in seconds: arrays (K,), NaN for an arm that was never drawn.

    A call of an arm takes `call` + `draw` times its size. This is known up to its `largest` calls.
    In a larger call, every further draw takes at least `least`, and at most what a draw takes in
    the largest calls.
    """

    call: Floats
    draw: Floats
    largest: Floats
    least: Floats

    @property
    def longest(self) -> Floats:
        """The cost of one of the largest calls."""
        return np.asarray(self.call + self.draw * self.largest)

    @property
    def pace(self) -> Floats:
        """The cost per draw in the largest calls."""
        return np.asarray(self.longest / self.largest)

    def per_draw(self, cost: float, most: int) -> Floats:
        """Return the least cost per draw in a batch of `cost`, with at most `most` in a call."""
        longest, none = self.longest, np.zeros(len(self.call))
        further = np.full(len(none), float(most))  # if a further draw may cost nothing
        np.divide(cost - longest, self.least, out=further, where=self.least > 0)
        within = np.divide(cost - self.call, self.draw, out=none, where=self.draw > 0)
        size = np.where(cost > longest, self.largest + further, within)
        size = np.clip(size, 1.0, most)
        seen = np.minimum(size, self.largest)
        return np.asarray((self.call + self.draw * seen + self.least * (size - seen)) / size)


def empty_calls(arms: int) -> Floats:
    """Return the calls of arms that were never called: (K, rows, classes)."""
    return np.zeros((arms, _ROWS, 0))


def with_call(
    calls: Floats, arm: int, size: float, cost: float, number: int = 1
) -> tuple[Floats, Floats]:
    """Note calls of an arm of the same size; return all calls, and its column of `CallPrices`.

    >>> calls = empty_calls(1)
    >>> for size in (1, 1, 2, 4, 8, 16, 32):
    ...     calls, (call, draw, *_) = with_call(calls, 0, size, 4e-3 + 1e-4 * size)
    >>> round(float(call), 6), round(float(draw), 6)
    (0.004, 0.0001)
    """
    rank = int(size).bit_length() - 1
    if rank >= calls.shape[2]:
        more = np.zeros((*calls.shape[:2], rank + 1 - calls.shape[2]))
        calls = np.concatenate((calls, more), axis=2)
    calls[arm, :, rank] = _noted(calls[arm, :, rank].tolist(), size, cost, number)
    own = calls[arm]
    classes = [_Class(*row) for row in own[:, own[_NUMBER] > 0].T.tolist()]
    return calls, np.array(_line(classes))


def fastest(own: Floats) -> float:
    """Return the cost per draw of the calls of an arm in the class where it is the least."""
    made = own[:, own[_NUMBER] > 0]
    return float((made[_COST] / made[_SIZE]).min(initial=np.inf))


class _Class(NamedTuple):
    """Calls of about the same size: how many, their mean size and cost, and the last costs."""

    number: float
    size: float
    cost: float
    last_1: float
    last_2: float
    last_3: float
    last_4: float
    last_5: float

    @property
    def usual(self) -> float:
        """The second largest of the last costs: one may have been interrupted."""
        return sorted([one for one in self[_LAST:] if one])[-2:][0]


def _noted(kept: list[float], size: float, cost: float, number: int) -> list[float]:
    """Note calls in their class.

    The k-th call counts for at most 1 + k/2 times the median of the last calls. So a single call,
    however long, raises the mean by at most half of the median, and with many calls the mean
    includes what is really spent.
    """
    before, mean_size, mean, *last = kept
    told = before + number
    last = [cost, *last[:-1]]
    known = [one for one in last if one]
    weight = min(told, _MEMORY)
    most = (1 + weight / 2) * median_low(known)
    if told <= _KEPT and number == 1 and len(known) == told:
        mean = sum(min(one, most) for one in known) / told
    else:
        mean += (min(cost, most) - mean) * min(number / weight, 1.0)
    return [told, mean_size + (size - mean_size) * min(number / weight, 1.0), mean, *last]


def _line(classes: list[_Class]) -> tuple[float, float, float, float]:
    """Return the columns of `CallPrices`; one size says nothing about the cost of a call.

    The machine may have interrupted a call. So further draws are known to cost something only if
    the largest calls take more than STEP times the smallest ones, and a call that was made once
    takes at most as long per draw as the next smaller ones.
    """
    smallest, largest = classes[0], classes[-1]
    size, cost = largest.size, largest.cost
    if smallest is largest:
        return 0.0, cost / size, size, 0.0
    if largest.number == 1:
        cost = min(cost, size * classes[-2].usual / classes[-2].size)
    slope, least = ((cost - k * smallest.usual) / (size - smallest.size) for k in (1, STEP))
    slope = max(slope, 0.0)
    return max(cost - slope * size, 0.0), slope, size, max(least, 0.0)
