"""A runner of the race: R nets under one change of variables, and what their means say.

The error of nets falls like n^-a with an a between 1 and 3. It depends on the integrand, and is
estimated from the sizes that a runner has passed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.integration.changes import Change

__all__ = ["NETS_EACH", "Model", "Runner"]

#: R: the number of independent nets of a runner. 4 are 11-19 % cheaper and cover less.
NETS_EACH: Final = 8

#: The exponent a is shrunk to this one, as if it had been seen at three sizes.
_USUAL: Final = 1.5
_PSEUDO: Final = 2 * math.log(2) ** 2
_LEAST, _MOST = 1.0, 3.0

#: A size that is older by one doubling counts this much less.
_AGE: Final = 0.6
_SIZES: Final = 4


class Model(NamedTuple):
    """The variance of the mean of all nets as a function of their size: exp(c) n^-a."""

    c: float
    a: float

    def at(self, n: float) -> float:
        """Return the variance with n points in each net."""
        return math.exp(min(self.c - self.a * math.log(n), 700.0))


class Runner:
    """The nets of one change of variables: `n` points in each are complete.

    `closed` means that it lost its first comparison and is not played any more.
    """

    def __init__(self, number: int, family: str, change: Change) -> None:
        self.number, self.family, self.change = number, family, change
        self.n = 0
        self.closed = False
        self.sizes: list[tuple[int, Floats]] = []
        self.means: Floats = np.empty((0, 0))
        self._known = np.zeros(NETS_EACH, np.int64)
        self._sums: Floats | None = None
        self._absolute: Floats = np.zeros(1)
        self._squares: Floats = np.zeros(1)

    @property
    def started(self) -> bool:
        """Whether a segment was told."""
        return self._sums is not None

    @property
    def points(self) -> int:
        """The points of all nets that are complete."""
        return self.n * NETS_EACH

    def add(self, extra: Mapping[str, Any], size: int) -> None:
        """Take the sums of one segment."""
        first, nets = extra["net"], extra["nets"]
        sums = np.asarray(extra["sums"])
        if self._sums is None:
            m = sums.shape[1]
            self._sums, self._absolute = np.zeros((NETS_EACH, m)), np.zeros(m)
            self._squares = np.zeros(m)
        self._sums[first : first + nets] += sums
        self._known[first : first + nets] += size // nets
        self._absolute = self._absolute + extra["absolute"]
        self._squares = self._squares + extra["squares"]

    def complete(self, stop: int) -> None:
        """Note that every net has its points up to `stop`."""
        assert self._sums is not None
        self.n = stop
        self.means = self._sums / stop
        self.sizes.append((stop, _variance(self.means)))

    def incomplete(self) -> Floats:
        """Return the means of the nets that have the most points, if no stage is complete."""
        assert self._sums is not None
        full = self._known == self._known.max()
        return np.asarray(self._sums[full] / self._known.max())

    @property
    def mean(self) -> Floats:
        """The mean over all nets, per component."""
        return np.asarray(self.means.mean(axis=0))

    @property
    def raw(self) -> Floats:
        """The variance of this mean, from the spread of the nets, per component."""
        return self.sizes[-1][1]

    @property
    def effective(self) -> float:
        """The effective number of points (sum |v|)^2/sum v^2; of the worst component."""
        known = self._squares > 0
        if not known.all():
            return 0.0
        return float((np.square(self._absolute) / self._squares).min())

    def spread(self) -> Floats:
        """Return the variance of one value, per component."""
        count = max(int(self._known.sum()), 1)
        assert self._sums is not None
        mean = self._sums.sum(axis=0) / count
        return np.asarray(np.maximum(self._squares / count - np.square(mean), 0.0))

    def model(self, weights: Floats) -> Model:
        """Fit log V ~ c - a log n to the last sizes; V is the largest weighted variance.

        a is shrunk to 1.5 and lies between 1 and 3; in c an older size counts .6 of the next.
        """
        last = self.sizes[-_SIZES:]
        x = np.log([n for n, _ in last])
        V = np.array([(weights * raw).max() for _, raw in last])
        y = np.log(np.maximum(V, 1e-300))
        rest, away = y + _USUAL * x, x - x.mean()
        slope = float(away @ (rest - rest.mean()) / (away @ away + _PSEUDO))
        a = min(max(_USUAL - slope, _LEAST), _MOST)
        age = _AGE ** np.arange(len(last))[::-1]
        return Model(float(age @ (y + a * x) / age.sum()), a)


def _variance(means: Floats) -> Floats:
    """Return the variance of the mean of the nets."""
    return np.asarray(means.var(axis=0, ddof=1) / len(means))
