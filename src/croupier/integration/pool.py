"""The pool of evaluations: what was seen by any family counts for all of them.

Every point x was drawn by one family, but any of them could have drawn it. With n_k points of the
density q_k, all points together are those of the mixture p = sum n_k q_k / sum n_k, and the weight
1/p is the best one that is known (the balance heuristic: Veach and Guibas, SIGGRAPH 1995; fits to
such weights: Cornuet, Marin, Mira and Robert, Scandinavian Journal of Statistics 39, 2012).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.integration.changes import Change
from croupier.integration.net_arm import Segment
from croupier.integration.runner import Runner
from croupier.spaces.base import Moved

__all__ = ["Evaluated", "Pool", "Seen", "hidden", "point_variances"]

Ints: TypeAlias = NDArray[np.int64]

#: The pool takes no new stage above so many points, or so many numbers. Points where f is 0 do not
#: count: no fit needs them.
_POINTS: Final = 2**15
_NUMBERS: Final = 2**22


class Evaluated(NamedTuple):
    """Points (n, d), as points of the cube and as normal ones, the values f (n, m), and 1/p.

    Points where f is 0 are left out; `points` counts all.
    """

    cube: Floats
    normal: Floats
    f: Floats
    weight: Floats
    points: int

    @property
    def moved(self) -> Moved:
        """The points with their weights."""
        return Moved(self.cube, self.normal, self.weight)


class Seen(NamedTuple):
    """Values (n, m) of f/p at points with the density p, and q/p, with q the leader's density.

    Points where f is 0 may be left out; `points` counts all.
    """

    values: Floats
    relative: Floats
    points: int


class Pool:
    """The points of all families, their values, and the density of each family at all of them."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._most = int(np.clip(_NUMBERS // dimension, 2**12, _POINTS))
        self.size = 0
        self._fresh: list[tuple[Segment, Ints, Floats]] = []
        self._counts: dict[int, int] = {}
        self._parts: list[Floats] = []  # cube, normal, f, the runner of each point
        self._densities: list[Floats] = []

    @property
    def open(self) -> bool:
        """Whether the values of the next stage shall be kept."""
        return self.size < self._most

    def add(self, segment: Segment, at: Ints, values: Floats) -> None:
        """Take the values f jac of a segment that are not 0; `at` has the numbers of the points."""
        self._fresh.append((segment, at, values))
        self._counts[segment.runner] = self._counts.get(segment.runner, 0) + segment.size
        self.size += len(values)

    def everything(self, runners: Sequence[Runner]) -> Evaluated:
        """Return all points, with the weights of the mixture of all runners."""
        cube, normal, f, _ = self._merged(runners)
        p, points = self._mixture(self._counts)
        return Evaluated(cube, normal, f, 1 / p, points)

    def seen(self, runner: Runner, runners: Sequence[Runner]) -> Seen:
        """Return what all runners have seen, for `hidden`.

        All points of the runner itself count, in the pool or not: if none of many has a value as
        large as the one that another has seen, such values are rare.
        """
        _, _, f, _ = self._merged(runners)
        p, points = self._mixture(self._counts | {runner.number: runner.points})
        return Seen(f / p[:, None], self._densities[runner.number] / p, points)

    def _mixture(self, counts: Mapping[int, int]) -> tuple[Floats, int]:
        """Return the mixed density at all points of so many points of runners, and their sum."""
        points = sum(counts.values())
        total = sum(count * self._densities[k] for k, count in counts.items())
        return np.asarray(total / points), points

    def _merged(self, runners: Sequence[Runner]) -> list[Floats]:
        """Return all points and values, with the densities of all runners up to date.

        Points and densities take longer to make than a fit, so they are kept.
        """
        parts = [[part] for part in self._parts] or [[], [], [], []]
        for segment, at, weighted in self._fresh:
            moved = segment.change.move(segment.points(self._dimension)[at])
            f = weighted if moved.jac is None else weighted / moved.jac[:, None]
            of = moved.cube, moved.normal, f, np.full(len(at), float(segment.runner))
            for part, new in zip(parts, of, strict=True):
                part.append(new)
        if self._fresh:
            self._fresh, self._parts = [], [np.concatenate(part) for part in parts]
        for k, runner in enumerate(runners):
            if k == len(self._densities):
                self._densities.append(np.empty(0))
            have = len(self._densities[k])
            if have < len(self._parts[3]):
                fresh = Moved(self._parts[0][have:], self._parts[1][have:], None)
                more = runner.change.density_at(fresh)
                self._densities[k] = np.concatenate((self._densities[k], more))
        return self._parts


def hidden(ends: Floats, seen: Seen) -> Floats:
    """Return the part of the integral above and below all values of the leader, per component.

    The values of the leader are f/q, and all of them lie between `ends` (2, m). What they have not
    seen is the integral of max(f - high q, 0) + max(low q - f, 0). The points of all families, with
    density p, give the mean of this divided by p. A single point far out decides: it is a peak that
    the leader has missed, or a heavy tail.
    """
    low, high = ends[:, None, :] * seen.relative[:, None]
    beyond = np.maximum(seen.values - high, 0.0) + np.maximum(low - seen.values, 0.0)
    return np.asarray(beyond.sum(axis=0) / seen.points)


def point_variances(change: Change, moved: Moved, values: Floats, points: int) -> Floats:
    """Return the variance of f/q for points with the density q of a change, per component.

    `values` (n, m) are f/p at places `moved` whose points have the density p = 1/jac; they are
    those of so many `points` that are not 0. E_q (f/q)^2 is the mean of (f/p)^2 p/q over the points
    (importance sampling: Owen, Monte Carlo theory, methods and examples, 2013, section 9.1). A fit
    that does not lower it hardly ever lowers the variance of nets.

    >>> from croupier.integration.changes import Identity
    >>> u = (np.arange(1000)[:, None] + 0.5) / 1000
    >>> point_variances(Identity(), Moved(u, None, None), u, 1000).round(4).tolist()
    [0.0833]
    """
    weight = 1 / change.density_at(moved)
    if moved.jac is not None:
        weight = weight / moved.jac
    second = weight @ np.square(values) / points
    return np.asarray(np.maximum(second - np.square(values.sum(axis=0) / points), 0.0))
