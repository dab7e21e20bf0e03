"""Boxes that grow on a pilot: halved where that takes most from the error of a stratified mean.

The pilot comes in rounds. After each round boxes are halved, and the next round draws from the
halves. So every gain can be judged by draws that did not choose the halves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from croupier.data.draws import Floats

__all__ = ["Box", "grown_boxes", "is_gain", "parts_of", "rounds_of"]

#: The pilot has at most this many rounds, and a round has at least so many draws.
_ROUNDS: Final = 8
_ROUND: Final = 40

#: If this many rounds in a row show no clear gain, there are no strata.
_TRIES: Final = 2

#: A gain is clear if it is this many times its standard error, and this part of the variance. The
#: gain of counts in proportion to the weights is tested too, and must be clearer.
_CLEAR: Final = 2.0
_CLEARER: Final = 2.5
_WORTH: Final = 0.1

#: The pilot ends if the next halves promise less than this part of the variance.
_PROMISE: Final = 0.1

#: A half has at least this many pilot draws, and takes at least this part from the error.
_LEAST_POINTS: Final = 4
_GAIN: Final = 0.003

#: A gain is judged as if no box had fewer draws than this part of its share by weight.
_FLOOR: Final = 0.3

Values: TypeAlias = Callable[[Floats], Floats]


class Box(NamedTuple):
    """A box of probabilities with its pilot draws u and values y; the last `fresh` are new."""

    low: Floats
    high: Floats
    u: Floats
    y: Floats
    fresh: int = 0

    @property
    def weight(self) -> float:
        """The probability of the box."""
        return float(np.prod(self.high - self.low))

    @property
    def part(self) -> float:
        """w s: what the box adds to the standard error with the best allocation."""
        return self.weight * _deviation(self.y)


class _BoxMoments(NamedTuple):
    """What the pilot knows about boxes, (K,): weights, deviations, means and numbers of draws."""

    w: Floats
    s: Floats
    m: Floats
    n: Floats

    @classmethod
    def of(cls, boxes: Sequence[Box]) -> _BoxMoments:
        rows = [
            (box.weight, _deviation(box.y), box.y.mean() if len(box.y) else 0.0, len(box.y))
            for box in boxes
        ]
        return cls(*np.array(rows).T)


def rounds_of(pilot: int) -> tuple[int, int]:
    """Return the number of rounds of a pilot, and the draws of each.

    >>> rounds_of(1600), rounds_of(100)
    ((8, 200), (2, 50))
    """
    rounds = min(max(pilot // _ROUND, 2), _ROUNDS)
    return rounds, max(pilot // rounds, 2 * _LEAST_POINTS)


def grown_boxes(
    values: Values, d: int, pilot: int, most: int, rng: np.random.Generator
) -> tuple[list[Box], int]:
    """Return boxes that fill [0, 1]^d, and how many draws they took; one box if nothing is gained.

    The best allocation to strata has the standard error sum w_k s_k/sqrt(n). Boxes are halved, one
    after the other, where this takes most from the sum.
    """
    whole = [Box(np.zeros(d), np.ones(d), np.empty((0, d)), np.empty(0))]
    boxes, used, clear = whole, 0, False
    rounds, each = rounds_of(pilot)
    for number in range(rounds):
        planned = _planned(_BoxMoments.of(boxes))
        counts = _counts(boxes, each)
        boxes = [_drawn(values, box, n, rng) for box, n in zip(boxes, counts, strict=True)]
        used += sum(counts)
        if not clear and len(boxes) > 1:
            clear = is_gain(boxes, planned) or is_gain(boxes, np.ones(len(boxes)), _CLEARER)
            if not clear and number >= _TRIES:
                break
        halved = _halved(boxes, most)
        before, after = (sum(box.part for box in own) for own in (boxes, halved))
        if clear and after * after > (1 - _PROMISE) * before * before:
            break
        boxes = halved
    return (boxes if clear else whole), used


def _deviation(y: Floats) -> float:
    return float(y.std(ddof=1)) if len(y) > 1 else 0.0


def parts_of(boxes: Sequence[Box]) -> Floats:
    """Return w s of every box, where s allows for an event that the pilot has not shown yet.

    In n draws, its chance is 1/(n + 2), and it may be as large as the deviation of all values. This
    is Neyman's allocation, up to a factor.
    """
    w, s, m, n = _BoxMoments.of(boxes)
    size = np.sqrt(w @ (s * s + np.square(m - w @ m)))
    return np.asarray(w * np.maximum(s, size / np.sqrt(n + 2)) if size else w)


def _counts(boxes: Sequence[Box], each: int) -> list[int]:
    """Divide the draws of a round."""
    parts = parts_of(boxes)
    return [int(n) for n in np.maximum(np.rint(each * parts / parts.sum()), 2)]


def _drawn(values: Values, box: Box, size: int, rng: np.random.Generator) -> Box:
    u = box.low + (box.high - box.low) * rng.random((size, len(box.low)))
    y = values(u)
    return box._replace(u=np.concatenate((box.u, u)), y=np.concatenate((box.y, y)), fresh=size)


def _planned(seen: _BoxMoments) -> Floats:
    """Return the deviations that an allocation would follow: none is far below the mean one."""
    return np.asarray(np.maximum(seen.s, _FLOOR * (seen.w @ seen.s)))


def is_gain(boxes: Sequence[Box], planned: Floats, clear: float = _CLEAR) -> bool:
    """Tell from the fresh draws whether the boxes are clearly better than plain draws.

    With counts in proportion to w_k t_k, for the `planned` deviations t, n times the variance of
    the stratified mean is S sum w_k s2_k/t_k, S = sum w_k t_k; plain draws have sum w_k E_k(y -
    mu)^2. Both are means of squares of the fresh draws, which have chosen neither the boxes nor t,
    so their difference is unbiased and has a standard error. One draw that makes up most of it
    does not convince. `clear` is how many standard errors the gain must have. With t = 1 the counts
    are in proportion to the weights: this gain is never negative, and far less noisy where the
    function is an indicator of something rare.
    """
    new = [box.y[len(box.y) - box.fresh :] for box in boxes]
    w = np.array([box.weight for box in boxes])
    mu = float(w @ [own.mean() for own in new])
    S = float(w @ planned)
    gain = error = plain = 0.0
    for own, weight, t in zip(new, w, planned, strict=True):
        n = len(own)
        before = np.square(own - mu)
        after = S / t * np.square(own - own.mean()) * n / (n - 1) if t else np.zeros(n)
        gain += weight * float((before - after).mean())
        plain += weight * float(before.mean())
        error += weight**2 * float((before - after).var(ddof=1)) / n
    return bool(gain > clear * np.sqrt(error) and gain > _WORTH * plain)


def _halved(boxes: Sequence[Box], most: int) -> list[Box]:
    """Halve boxes, the best halves first, while this takes enough from the error."""
    total = sum(box.part for box in boxes)
    queue = [(*_best_halves(box), k, box) for k, box in enumerate(boxes)]
    ranked = [(-gain, k, box, halves) for gain, halves, k, box in queue]
    heapq.heapify(ranked)
    number = len(boxes)
    # The best gain comes first; a box that cannot be halved has none, and stays as it is.
    while len(ranked) < most and ranked[0][3] and -ranked[0][0] > _GAIN * total:
        gain, _, _, halves = heapq.heappop(ranked)
        total += gain
        for half in halves:
            number += 1
            better, own = _best_halves(half)
            heapq.heappush(ranked, (-better, number, half, own))
    return [box._replace(fresh=0) for _, _, box, _ in sorted(ranked, key=lambda one: one[1])]


def _best_halves(box: Box) -> tuple[float, tuple[Box, ...]]:
    """Return what the best halves of a box take from the error, and the halves."""
    n = len(box.y)
    if n < 2 * _LEAST_POINTS or not np.ptp(box.y):
        return 0.0, ()
    middle = (box.low + box.high) / 2
    below = box.u < middle
    y = box.y - box.y.mean()
    left, sums, squares = below.sum(axis=0), y @ below, (y * y) @ below
    right = n - left
    parts = 0.5 * box.weight * (
        _deviations(left, sums, squares) + _deviations(right, -sums, float(y @ y) - squares)
    )  # fmt: skip
    parts[(left < _LEAST_POINTS) | (right < _LEAST_POINTS)] = np.inf
    j = int(parts.argmin())
    gain = box.part * (1 + 0.25 / (n - 1)) - float(parts[j])
    if not gain > 0:
        return 0.0, ()
    high, low = box.high.copy(), box.low.copy()
    high[j] = low[j] = middle[j]
    own = below[:, j]
    return gain, (Box(box.low, high, box.u[own], box.y[own]),
                  Box(low, box.high, box.u[~own], box.y[~own]))  # fmt: skip


def _deviations(n: Floats, sums: Floats, squares: Floats) -> Floats:
    """Return standard deviations from sums. Those of few draws are too low by 1/(4 (n - 1))."""
    some = np.maximum(n, 2)
    variance = np.maximum(squares - sums * sums / some, 0.0) / (some - 1)
    return np.asarray(np.sqrt(variance) * (1 + 0.25 / (some - 1)))
