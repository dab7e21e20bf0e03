"""Prices of calls: a call of an arm takes a + b size seconds, learned from its timed calls.

A call of a loop over time steps costs far more than a draw in it. A price per draw that was learned
from small calls would lock such an arm out. So calls are kept by their size, in classes of a
factor of two, and a line is fitted to the classes. One call that the machine interrupted must not
decide, so a call counts only for a small multiple of the usual call of its class.
"""

from __future__ import annotations

import math
from statistics import median_high, median_low
from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats

__all__ = ["CHUNK", "CallPrices", "empty_calls", "with_call"]

#: One call of an arm makes at most this many numbers, so that the arrays fit in the cache.
CHUNK: Final = 10_000

#: A call shorter than this measures the call rather than the draws (in seconds).
TELLING: Final = 2e-4

#: The rows of the calls of an arm in a class: their number, mean size, mean cost, and last costs.
_NUMBER, _SIZE, _COST, _LAST = 0, 1, 2, 3
_KEPT: Final = 5
_ROWS: Final = _LAST + _KEPT

#: The mean cost of a class follows about the last 32 calls: the load of a machine changes.
_MEMORY: Final = 32

#: The cost per draw that is left at the largest calls is at least this share of their cost.
_LEAST_SLOPE: Final = 0.02

#: Calls that are this many times smaller than the largest calls tell what a call costs.
_APART: Final = 4

#: Larger calls are tried until the largest take this many times as long as the small ones. Between
#: this and `_CLEAR` times, this many calls must say so: the machine may have interrupted some.
_LONG: Final = 6.0
_CLEAR: Final = 12.0
_BELIEVED: Final = 3


class CallPrices(NamedTuple):
    """What calls of the arms cost, in seconds: arrays (K,), NaN for an arm that was never drawn.

    A call of an arm takes `call` + `draw` times its size. `largest` is the size of its largest
    calls, and `longest` what one of them takes if nothing interrupts it. A call with `probe` times
    as many draws would tell more; `probe` is 0 if enough is known.
    """

    call: Floats
    draw: Floats
    largest: Floats
    longest: Floats
    probe: Floats

    def per_draw(self, cost: float, most: int) -> Floats:
        """Return the cost per draw in a batch that costs `cost`, with `most` draws in a call."""
        size = np.clip((cost - self.call) / self.draw, 1.0, most)
        return np.asarray(self.call / size + self.draw)


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
    return calls, np.array((*_line(classes), *_probe(classes)))


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


def _line(classes: list[_Class]) -> tuple[float, float]:
    """Return the cost of a call, and the cost of a draw.

    The line goes through the largest calls, the size that decisions buy. Every class of calls that
    are at least four times smaller says what a call costs: c_i = a + (t - a) s_i/s. Their median
    counts. If there is none, the cost of a call is not known, and all counts as cost of the draws.
    """
    *smaller, (number, s, t, *_) = classes
    if number < _BELIEVED:
        # A larger call costs no more per draw than a smaller one. If a few calls say otherwise,
        # they may have been interrupted, and the calls of the next sizes are asked as well.
        paces = [one.cost / one.size for one in classes[-_BELIEVED:]]
        t = min(t, median_low(paces) * s)
    calls = [
        (one.cost - t * one.size / s) / (1 - one.size / s)
        for one in smaller
        if _APART * one.size <= s
    ]
    a = min(max(median_low(calls), 0.0), t) if calls else 0.0
    return a, max(t - a, _LEAST_SLOPE * t) / s


def _at_most(classes: list[_Class], size: float) -> float:
    """Return what a larger call costs at most: per draw it costs no more than a smaller call."""
    return min([one.cost * size / one.size for one in classes], default=math.inf)


def _probe(classes: list[_Class]) -> tuple[float, float, int]:
    """Return the size and the least cost of the largest calls, and how much larger the next may be.

    The shortest of the last calls is compared with what small calls usually take, because a call
    that was interrupted looks as if its draws took the time.
    """
    *smaller, (number, size, _, *last) = classes
    small = [one.cost for one in smaller if _APART * one.size <= size]
    least = min(min(one for one in last if one), _at_most(smaller, size))
    if not small or least < max(TELLING, _LONG * median_high(small)):
        return size, least, 2
    doubtful = number < _BELIEVED and least < _CLEAR * median_high(small)
    return size, least, int(doubtful)
