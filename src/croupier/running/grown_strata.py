"""Strata that grow: boxes that are split where this takes most from the error.

Carpentier and Munos (NIPS 2012, "Minimax number of strata for online stratified sampling") ask how
fine strata should be. Here a pilot decides, by sample splitting: the boxes are grown on draws that
are used for nothing else, so the estimate from new draws is unbiased, given the boxes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.arms.base import Arm
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError

__all__ = ["Cell", "Grown", "grow", "marginals_of"]

#: The pilot has this share of the draws, and at most so many.
PILOT: Final = 0.08
MOST: Final = 20_000

#: A box is split into parts with at least this many pilot draws.
_LEAST: Final = 10

#: The pilot is drawn in this many rounds. Later rounds draw where a split can gain most.
_ROUNDS: Final = 4

#: There are at most this many boxes, and a split must take this share from the error.
_BOXES: Final = 64
_GAIN: Final = 0.003


@dataclass(frozen=True)
class Marginal:
    """One coordinate: its quantile function."""

    law: Any

    def __call__(self, u: Floats) -> Floats:
        """Return the quantiles of some probabilities."""
        return np.asarray(self.law.ppf(u), float)


@dataclass(frozen=True)
class Interval:
    """A coordinate that is uniform between two ends."""

    low: float
    high: float

    def __call__(self, u: Floats) -> Floats:
        """Return the quantiles of some probabilities."""
        return np.asarray(self.low + (self.high - self.low) * u)


def marginals_of(over: Any) -> tuple[Callable[[Floats], Floats], ...]:
    """Return the coordinates of a product: pairs (low, high), or distributions of scipy.

    >>> [float(one(np.array(0.5))) for one in marginals_of([(0, 2), (1, 3)])]
    [1.0, 2.0]
    """
    if isinstance(over, str) or not isinstance(over, Sequence) or not over:
        raise PlanError(
            "over must be a sequence with a pair (low, high) or a distribution of scipy.stats for "
            f"each coordinate, got {over!r}"
        )
    return tuple([_marginal(k, one) for k, one in enumerate(over)])


def _marginal(k: int, one: Any) -> Callable[[Floats], Floats]:
    if callable(getattr(one, "ppf", None)):
        return Marginal(one)
    try:
        low, high = (float(end) for end in one)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise PlanError(
            f"over[{k}] must be a pair (low, high), finite and low < high, or a distribution of "
            f"scipy.stats with one variable, got {one!r}"
        )
    return Interval(low, high)


@dataclass(frozen=True)
class Cell:
    """One stratum: the function on the points whose probabilities lie in a box of [0, 1]^d."""

    function: Callable[[Floats], Any]
    marginals: tuple[Callable[[Floats], Floats], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def weight(self) -> float:
        """The probability of the stratum."""
        return math.prod(b - a for a, b in zip(self.low, self.high, strict=True))

    def points(self, rng: np.random.Generator, size: int) -> Floats:
        """Return probabilities in the box, uniformly."""
        low = np.array(self.low)
        return np.asarray(low + (np.array(self.high) - low) * rng.random((size, len(low))))

    def at(self, u: Floats) -> Any:
        """Return the function at the points of some probabilities."""
        x = [quantile(u[:, j]) for j, quantile in enumerate(self.marginals)]
        return self.function(np.column_stack(x))

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return draws of the stratum."""
        return self.at(self.points(rng, size))


class Grown(NamedTuple):
    """The strata, their weights, and the pilot draws that they took."""

    strata: tuple[Arm, ...]
    weights: tuple[float, ...]
    pilot: int


class _Box(NamedTuple):
    """A box with its pilot draws: probabilities u and values y."""

    low: Floats
    high: Floats
    u: Floats
    y: Floats

    @property
    def part(self) -> float:
        """Return w s: what the box adds to the standard error with the best allocation."""
        return float(np.prod(self.high - self.low) * _deviation(self.y))


def _deviation(y: Floats) -> float:
    return float(y.std(ddof=1)) if len(y) > 1 else 0.0


def grow(
    function: Callable[[Floats], Any], over: Any, pilot: int, rng: np.random.Generator
) -> Grown:
    """Grow strata for a function of points (size, d) on a product of distributions.

    The best allocation to strata has the standard error sum w_k s_k/sqrt(n). Boxes are split, one
    after the other, at the pilot draw and the coordinate that take most from this sum.
    """
    marginals = marginals_of(over)
    d = len(marginals)
    whole = Cell(function, marginals, (0.0,) * d, (1.0,) * d)
    boxes = [_Box(np.zeros(d), np.ones(d), np.empty((0, d)), np.empty(0))]
    each = max(pilot // _ROUNDS, 2 * _LEAST)
    used = 0
    for _ in range(_ROUNDS):
        parts = np.array([box.part for box in boxes])
        shares = parts / parts.sum() if parts.any() else np.full(len(boxes), 1 / len(boxes))
        # A box that has not varied may not have seen what it has: half of a round goes by weight.
        weights = np.array([np.prod(box.high - box.low) for box in boxes])
        counts = np.rint(each * (shares + weights) / 2).astype(int)
        boxes = [_drawn(whole, box, int(n), rng) for box, n in zip(boxes, counts, strict=True)]
        used += int(counts.sum())
        boxes = _split(boxes)
    return _strata(function, marginals, boxes, used)


def _drawn(whole: Cell, box: _Box, size: int, rng: np.random.Generator) -> _Box:
    if not size:
        return box
    u = box.low + (box.high - box.low) * rng.random((size, len(box.low)))
    y = np.asarray(whole.at(u), float)
    if y.shape != (size,):
        raise ArmError(
            f"returned the shape {y.shape} for {size} points: with splits='adaptive' the function "
            "takes points of the shape (size, d) and returns one number for each",
            arm="pilot",
            value=y.shape,
        )
    if not np.isfinite(y).all():
        bad = int(np.flatnonzero(~np.isfinite(y))[0])
        at = [round(float(m(u[bad, j])), 6) for j, m in enumerate(whole.marginals)]
        raise ArmError(f"returned {y[bad]} at the point {at}", arm="pilot", value=float(y[bad]))
    return box._replace(u=np.concatenate((box.u, u)), y=np.concatenate((box.y, y)))


def _split(boxes: list[_Box]) -> list[_Box]:
    """Split the boxes, the best split first, while it takes enough from the error."""
    total = sum(box.part for box in boxes)
    queue: list[tuple[float, int, _Box, tuple[_Box, _Box] | None]] = []
    for number, box in enumerate(boxes):
        gain, parts = _best_split(box)
        heapq.heappush(queue, (-gain, number, box, parts))
    number = len(boxes)
    while len(queue) < _BOXES and queue[0][3] is not None and -queue[0][0] > _GAIN * total:
        gain, _, _, parts = heapq.heappop(queue)
        total += gain
        assert parts is not None
        for part in parts:
            number += 1
            better, halves = _best_split(part)
            heapq.heappush(queue, (-better, number, part, halves))
    return [box for _, _, box, _ in queue]


def _best_split(box: _Box) -> tuple[float, tuple[_Box, _Box] | None]:
    """Return what the best split of a box takes from the error, and its two parts."""
    n = len(box.y)
    if n < 2 * _LEAST or not np.ptp(box.y):
        return 0.0, None
    whole, best = box.part, (0.0, 0, 0.0)
    weight = float(np.prod(box.high - box.low))
    left = np.arange(_LEAST, n - _LEAST + 1)
    for j in range(len(box.low)):
        order = np.argsort(box.u[:, j])
        u, y = box.u[order, j], box.y[order] - box.y.mean()
        sums, squares = np.cumsum(y), np.cumsum(y * y)
        cuts = (u[left - 1] + u[np.minimum(left, n - 1)]) / 2
        share = (cuts - box.low[j]) / (box.high[j] - box.low[j])
        parts = np.zeros(len(left))
        for count, s1, s2, w in (
            (left, sums[left - 1], squares[left - 1], share),
            (n - left, sums[-1] - sums[left - 1], squares[-1] - squares[left - 1], 1 - share),
        ):
            variance = np.maximum(s2 - s1 * s1 / count, 0.0) / np.maximum(count - 1, 1)
            parts += weight * w * np.sqrt(variance)
        at = int(parts.argmin())
        if whole - parts[at] > best[0]:
            best = float(whole - parts[at]), j, float(cuts[at])
    gain, j, cut = best
    if not gain:
        return 0.0, None
    below = box.u[:, j] < cut
    middle_high, middle_low = box.high.copy(), box.low.copy()
    middle_high[j] = middle_low[j] = cut
    lower = _Box(box.low, middle_high, box.u[below], box.y[below])
    return gain, (lower, _Box(middle_low, box.high, box.u[~below], box.y[~below]))


def _strata(
    function: Callable[[Floats], Any],
    marginals: tuple[Callable[[Floats], Floats], ...],
    boxes: list[_Box],
    used: int,
) -> Grown:
    boxes = sorted(boxes, key=lambda box: tuple(box.low.tolist()))
    cells = [
        Cell(function, marginals, tuple(box.low.tolist()), tuple(box.high.tolist()))
        for box in boxes
    ]
    arms = tuple([Arm(cell, name=_name(k, cell)) for k, cell in enumerate(cells)])
    weights = np.array([cell.weight for cell in cells])
    return Grown(arms, tuple((weights / weights.sum()).tolist()), used)


def _name(k: int, cell: Cell) -> str:
    """Return a name that says where a stratum lies, such as ``"3: 0.2 < x1 < 0.5"``."""
    said = []
    for j, (quantile, low, high) in enumerate(
        zip(cell.marginals, cell.low, cell.high, strict=True)
    ):
        if low > 0 or high < 1:
            start = f"{float(quantile(np.array(low))):.4g} < " if low > 0 else ""
            end = f" < {float(quantile(np.array(high))):.4g}" if high < 1 else ""
            said.append(f"{start}x{j}{end}")
    return f"{k}: {', '.join(said) or 'everything'}"
