"""A runner of the race: R nets under one change of variables, and what their blocks say.

The variance of nets falls like n^-a with an a between 1 and 3, which depends on the integrand.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.central_moments import ROUNDING
from croupier.data.draws import Floats, Outcome
from croupier.data.extremes import Tail
from croupier.integration.changes import Change
from croupier.integration.least_errors import least_error
from croupier.integration.net_errors import (
    BLOCKS,
    NetError,
    averaged,
    block_size,
    net_error,
    net_weights,
    uneven_error,
)

__all__ = ["NETS_EACH", "Model", "Runner"]

#: R: the number of independent nets of a runner.
NETS_EACH: Final = 4


class Model(NamedTuple):
    """The variance of the mean of all nets as a function of their mean size: exp(c) n^-a."""

    c: float
    a: float

    def at(self, n: float) -> float:
        """Return the variance with n points in each net."""
        return math.exp(min(self.c - self.a * math.log(n), 700.0))


class Runner:
    """The nets of one change of variables: `n` points in each are complete.

    While they are doubled, some nets are `n` points ahead of the others; `points` counts them all.
    `first` is the number of points after the first stage. `closed` means that it lost its first
    comparison and is not played any more. `error`, `means` and `shape`, the Pareto shape of the
    extreme values, belong to the complete points.
    """

    def __init__(self, number: int, family: str, change: Change) -> None:
        self.number, self.family, self.change = number, family, change
        self.n = self.first = self.points = 0
        self.closed = False
        self.means: Floats = np.empty((0, 0))
        self.weights: Floats = np.empty(0)
        self.error: NetError
        self._even: NetError  # when no net was ahead
        self._own: NetError  # without what others have seen
        self.shape: Floats
        self._excess: Floats
        self._known = np.zeros(NETS_EACH, np.int64)
        self._blocks: Floats | None = None
        self._size = 1
        self._absolute: Floats = np.zeros(1)
        self._squares: Floats = np.zeros(1)
        self.ends: Floats = np.array([[np.inf], [-np.inf]])
        self.tail = Tail()
        self._before: tuple[NetError, int] | None = None
        self._jump: tuple[int, Floats] = (0, np.zeros(1))

    @property
    def started(self) -> bool:
        """Whether a segment was told."""
        return self._blocks is not None

    @property
    def size(self) -> float:
        """The mean number of points of a net."""
        return self.points / NETS_EACH

    def add(self, outcome: Outcome) -> None:
        """Take the sums of the blocks of one segment, and its extreme values."""
        (extra,) = outcome.extra["arm"]
        first, nets = extra["net"], extra["nets"]
        sums, count = np.asarray(extra["sums"]), outcome.size // nets
        if self._blocks is None:
            m = sums.shape[2]
            self._blocks, self._absolute = np.zeros((NETS_EACH, BLOCKS, m)), np.zeros(m)
            self._squares = np.zeros(m)
        while self._size < block_size(extra["stage"][1]):
            self._blocks[:, : BLOCKS // 2] = self._blocks[:, ::2] + self._blocks[:, 1::2]
            self._blocks[:, BLOCKS // 2 :] = 0.0
            self._size *= 2
        at = extra["start"] // self._size
        self._blocks[first : first + nets, at : at + sums.shape[1]] += sums
        self._known[first : first + nets] += count
        self._absolute = self._absolute + extra["absolute"]
        self._squares = self._squares + extra["squares"]
        low, high = extra["ends"]
        self.ends = np.array((np.minimum(self.ends[0], low), np.maximum(self.ends[1], high)))
        self.tail.add(outcome.extremes, outcome.inspected)
        stop, highest = self._jump
        highest = highest if stop == extra["stage"][1] else np.zeros(1)
        self._jump = extra["stage"][1], np.maximum(highest, np.asarray(extra["jump"]))

    def complete(self, stop: int) -> None:
        """Note that every net has its points up to `stop`."""
        assert self._blocks is not None
        self.n, self.first = stop, self.first or stop
        self._take_means(np.full(NETS_EACH, stop))
        error = net_error(self._blocks[:, : stop // self._size], self._size)
        if self._before is not None:
            error = averaged(error, stop, *self._before)
        self._before, self._even = (error, stop), error
        self._finish(error)

    def complete_nets(self) -> bool:
        """Use the nets that are ahead, if there is one more of them; tell whether there is."""
        whole = self._known == 2 * self.n
        known = np.where(whole, 2 * self.n, self.n)
        if not self.n or known.sum() == self.points:
            return False
        assert self._blocks is not None
        self._take_means(known)
        blocks = self._blocks[:, : 2 * self.n // self._size]
        error = uneven_error(blocks, self._size, int(whole.sum()), self._even)
        self._finish(error)
        return True

    def _finish(self, error: NetError) -> None:
        self.shape, self._excess = self.tail.fitted()
        self._own = error._replace(
            variance=np.maximum(error.variance, np.square(least_error(self)))
        )
        self.error = self._own

    def misses(self, least: Floats) -> None:
        """Note what the other families have seen and this one has not: a least standard error."""
        variance = np.maximum(self._own.variance, np.square(least))
        self.error = self._own._replace(variance=variance)

    @property
    def longer(self) -> float:
        """How many times longer its error is by what the other families have seen."""
        own, known = self._own.variance, self._own.variance > 0
        return float(np.sqrt(self.error.variance[known] / own[known]).max(initial=1.0))

    def _take_means(self, known: NDArray[np.int64]) -> None:
        assert self._blocks is not None
        self.points, self.weights = int(known.sum()), net_weights(known.astype(float))
        self.means = self._blocks.sum(axis=1) / known[:, None]

    @property
    def excess(self) -> Floats:
        """The mean excess over the largest value, per component."""
        return self._excess

    @property
    def jump(self) -> Floats:
        """The highest jump of the latest stage, per component."""
        return self._jump[1]

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Whether all values of a component are alike."""
        low, high = self.ends
        alike = high - low <= ROUNDING * np.abs(self.ends).max(axis=0)
        return np.asarray(alike)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether the error of a component is known: a constant of 0 says nothing about f."""
        return np.asarray(self.error.variance > 0)

    def incomplete(self) -> Floats:
        """Return the means of the nets that have the most points, if no stage is complete."""
        assert self._blocks is not None
        full = self._known == self._known.max()
        return np.asarray(self._blocks[full].sum(axis=1) / self._known.max())

    @property
    def mean(self) -> Floats:
        """The weighted mean over all nets, per component."""
        return np.asarray(self.weights @ self.means)

    @property
    def effective(self) -> float:
        """The effective number of points (sum |v|)^2/sum v^2; of the worst component.

        A component that is always 0 does not count. If all are 0, there are none.
        """
        known = self._squares > 0
        if not known.any():
            return 0.0
        each = np.square(self._absolute[known]) / self._squares[known]
        return float(each.min(initial=self.points))

    def spread(self) -> Floats:
        """Return the variance of one value, per component."""
        count = max(int(self._known.sum()), 1)
        assert self._blocks is not None
        mean = self._blocks.sum(axis=(0, 1)) / count
        return np.asarray(np.maximum(self._squares / count - np.square(mean), 0.0))

    def model(self, weights: Floats) -> Model:
        """Return how the largest weighted variance falls with the size."""
        worst = int((weights * self.error.variance).argmax())
        V, a = weights[worst] * self.error.variance[worst], float(self.error.rate[worst])
        return Model(math.log(max(V, 1e-300)) + a * math.log(self.size), a)
