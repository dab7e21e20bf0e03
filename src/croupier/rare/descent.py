"""Descent: walkers that follow the gradient of a limit state to its design points.

A design point is the point of g = 0 that is nearest to the centre, or nearer than all around it.
The step is that of Hasofer, Lind, Rackwitz and Fiessler (Rackwitz and Fiessler, Computers and
Structures 9, 1978); it is halved while the merit of Zhang and Der Kiureghian (Reliability and
Optimization of Structural Systems, 1995) does not fall.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import root_of

__all__ = ["Descent", "beyond"]

#: Walkers start at the lowest draws, far apart in angle, and at draws of all levels.
_LOWEST: Final = 8
_ALL_LEVELS: Final = 24
_APART: Final = 0.8

_STEPS: Final = 12

#: A step is not longer than this: from a flat place, the next point would be far outside.
_LONGEST: Final = 6.0
_HALVINGS: Final = 4

#: Two walkers this near to each other go to the same point.
_SAME: Final = 0.3

#: A walker has arrived if its next step is shorter than this share of its distance.
_ARRIVED: Final = 0.05

#: Points this near to a walker check the gradient. It is wrong if it differs by the share, and if
#: the differences of g agree with each other.
_CHECK: Final = 1e-3
_CHECKS: Final = _CHECK * np.array([1.0, -1.0, 2.0, -2.0])
_WRONG: Final = 0.1
_AGREE: Final = 0.03

#: At most so many design points, the nearest ones, are kept; farther ones are far less likely.
_KEPT: Final = 8
_FARTHER: Final = 3.0


class Descent:
    """Walkers in normal space. One step of all is one round: g and its gradient at their points.

    `gap` is what g and its gradient say about the slope in one direction, if they disagree.
    """

    def __init__(self, starts: Floats, direction: Floats) -> None:
        self.gap: tuple[float, float] | None = None
        self.steps = 0
        self._trial = starts.copy()
        self._direction = direction
        k, d = starts.shape
        self._place, self._aim = starts.copy(), np.full((k, d), np.nan)
        self._value, self._weight = np.full(k, np.inf), np.zeros(k)
        self._share, self._halvings = np.ones(k), np.zeros(k, np.int64)
        self._going, self._arrived = np.ones(k, np.bool_), np.zeros(k, np.bool_)

    @classmethod
    def among(cls, x: Floats, g: Floats, rng: np.random.Generator) -> Descent:
        """Return walkers at draws x (n, d) with the limit state g (n,)."""
        order = [int(i) for i in np.argsort(g, kind="stable") if np.isfinite(g[i])]
        unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
        chosen: list[int] = []
        for i in order:
            if len(chosen) == _LOWEST:
                break
            if all(float(unit[i] @ unit[j]) < _APART for j in chosen):
                chosen.append(i)
        spread = [order[int(at)] for at in np.linspace(0, len(order) - 1, _ALL_LEVELS)]
        chosen += [i for i in dict.fromkeys(spread) if i not in chosen]
        direction = rng.standard_normal(x.shape[1])
        return cls(x[chosen], np.asarray(direction / np.linalg.norm(direction)))

    @property
    def ended(self) -> bool:
        """Whether no walker goes on."""
        return not self._going.any() or self.steps >= _STEPS

    def proposed(self) -> Floats:
        """Return the points of the next step; the first step has four more, for the check."""
        points = self._trial[self._going]
        if self.steps:
            return points
        return np.concatenate((points, points[0] + _CHECKS[:, None] * self._direction))

    def step(self, g: Floats, slope: Floats) -> None:
        """Take g (n,) and its gradient (n, d) at the points that were proposed."""
        if not self.steps:
            self._compare(g, slope)
        self.steps += 1
        moved = np.flatnonzero(self._going)
        for i, value, gradient in zip(moved, g, slope, strict=False):
            self._take(int(i), float(value), gradient)
        self._going[moved[len(g) :]] = False  # a budget has cut the round
        if self.gap is not None:
            self._going[:] = self._arrived[:] = False
        self._drop_twins()

    def _compare(self, g: Floats, slope: Floats) -> None:
        """Compare the gradient at the first point with finite differences of g."""
        many = int(self._going.sum())
        if len(g) < many + len(_CHECKS) or not np.isfinite(g[[0, *range(many, len(g))]]).all():
            return
        slopes = (g[many:] - g[0]) / _CHECKS
        said, seen = float(slope[0] @ self._direction), float(slopes[:2].mean())
        if np.ptp(slopes) > _AGREE * np.abs(slopes).max():
            return  # a kink, or a function with noise: nothing can be said
        allowed = max(abs(said), abs(seen), 0.2 * float(np.linalg.norm(slope[0])))
        if abs(said - seen) > _WRONG * allowed:
            self.gap = said, seen

    def _take(self, i: int, value: float, gradient: Floats) -> None:
        size = float(np.linalg.norm(gradient))
        if not np.isfinite(value) or not size > 0:
            self._going[i] = False  # a plateau has no direction
            return
        trial = self._trial[i]
        if self._merit(i, trial, value) < self._merit(i, self._place[i], self._value[i]):
            self._accept(i, value, gradient, size)
            return
        self._halvings[i] += 1
        self._share[i] /= 2
        self._trial[i] = self._place[i] + self._share[i] * (self._aim[i] - self._place[i])
        self._going[i] = self._halvings[i] <= _HALVINGS

    def _merit(self, i: int, z: Floats, value: float) -> float:
        """Return |z|^2/2 + c |g|; every first value is better than none."""
        if np.isinf(value):
            return np.inf
        return 0.5 * float(z @ z) + float(self._weight[i]) * abs(value)

    def _accept(self, i: int, value: float, gradient: Floats, size: float) -> None:
        z = self._trial[i].copy()
        self._place[i], self._value[i] = z, value
        self._aim[i] = aim = (float(gradient @ z) - value) / size**2 * gradient
        away = float(np.linalg.norm(z))
        least = 0.5 * float(aim @ aim) / abs(value) if value else 0.0
        self._weight[i] = 2 * max(away / size, least)
        length = float(np.linalg.norm(aim - z))
        self._share[i], self._halvings[i] = min(1.0, _LONGEST / max(length, 1e-300)), 0
        self._trial[i] = z + self._share[i] * (aim - z)
        if length < _ARRIVED * max(1.0, away):
            self._arrived[i], self._going[i] = True, False

    def _drop_twins(self) -> None:
        """Stop walkers at the place of another: they would take the same steps."""
        taken: list[Floats] = list(self._aim[self._arrived])
        for i in np.flatnonzero(self._going):
            if any(np.linalg.norm(self._place[i] - other) < _SAME for other in taken):
                self._going[i] = False
            else:
                taken.append(self._place[i])

    def design_points(self) -> Floats:
        """Return the points of g = 0 that walkers have arrived at, the nearest first."""
        ends = self._aim[self._arrived]
        distance = np.linalg.norm(ends, axis=1)
        kept: list[Floats] = []
        order: NDArray[np.intp] = np.argsort(distance, kind="stable")
        for i in order:
            if distance[i] > distance[order[0]] + _FARTHER or len(kept) == _KEPT:
                break
            if all(np.linalg.norm(ends[i] - other) >= _SAME for other in kept):
                kept.append(ends[i])
        return np.array(kept).reshape(len(kept), self._aim.shape[1])


def beyond(design: Floats) -> Mixture:
    """Return a normal distribution like the one beyond a design point, if g is linear there.

    Beyond a distance b, a standard normal number has about the mean b + 1/b and the spread 1/b.

    >>> beyond(np.array([4.0, 0.0])).means.tolist()
    [[4.25, 0.0]]
    """
    b = max(float(np.linalg.norm(design)), 1.0)
    u = design / max(float(np.linalg.norm(design)), 1e-300)
    covariance = np.eye(len(u)) + (1 / b**2 - 1) * np.outer(u, u)
    return Mixture.normal(design + u / b, root_of(covariance))
