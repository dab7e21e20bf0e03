"""Metropolis-adjusted Langevin moves, for likelihoods with gradients (Roberts and Tweedie 1996)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.slices import Chains, Evaluate
from croupier.annealing.walks import Level, accept, level_at
from croupier.data.draws import Floats
from croupier.distributions.normal import full
from croupier.errors import PlanError
from croupier.functions.function import GRADIENT, Function
from croupier.functions.read_function import enough_points, read_function
from croupier.spaces.axes import Axes
from croupier.spaces.vectors import NormalVector

__all__ = ["Langevin", "Slope", "slope_of"]

#: The length of a step in standard deviations, times d^(1/6) (Roberts and Rosenthal 1998).
STEP: Final = 1.4

#: The drift is at most so long, in standard deviations times sqrt(d): gradients far out are huge.
LONGEST: Final = 1.0

#: A gradient is compared with differences over this share of the prior's spread. It is refused if
#: it is off by more than the second number times its size.
_DIFFERENCE: Final = 1e-4
_OFF: Final = 0.02


def _anything(values: Floats) -> Any:
    return np.ones(values.shape, bool)


#: A gradient may be NaN where the likelihood is 0: a step is 0 there.
_ROLE: Final = GRADIENT._replace(allowed=_anything)


@dataclass(frozen=True, eq=False)
class Slope:
    """The gradients of log prior and log likelihood, (chains, d)."""

    model: Model
    gradient: Function

    def __call__(self, points: Floats, beta: float) -> Floats:
        """Return the gradient of log prior + beta log likelihood; 0 where there is none."""
        if self.model.normal:
            given = self.of_likelihood(self.model.users(points))
            total = beta * self.model.space.pulled_back(points, given[:, None])[:, 0] - points
            return np.nan_to_num(total, nan=0.0, posinf=0.0, neginf=0.0)
        total = np.zeros(points.shape)
        inside = np.flatnonzero(self.model.log_prior(points) > -np.inf)
        if inside.size:
            x = points[inside]
            total[inside] = self.of_prior(x) + beta * self.of_likelihood(x)
        return np.nan_to_num(total, nan=0.0, posinf=0.0, neginf=0.0)

    def of_likelihood(self, points: Floats) -> Floats:
        """Return the gradient of the log-likelihood at points in the user's coordinates."""
        return self.gradient(points)

    def of_prior(self, points: Floats) -> Floats:
        """Return the gradient of the prior, by differences where no formula is known.

        A move is exact with any drift, so an approximate one does no harm.
        """
        space = self.model.space
        if isinstance(space, NormalVector):
            inverse = np.asarray(np.linalg.inv(full(space.root, len(space.mean))), float)
            return np.asarray(-space.to_normal(points) @ inverse)
        if isinstance(space, Axes) and space.box is not None:
            return np.zeros(points.shape)
        return differences(self.model.log_prior, points, _DIFFERENCE * self.model.spread)


@dataclass(frozen=True, eq=False)
class Langevin:
    """x' = x + e^2/2 C grad log f(x) + e root Z, with the covariance C of the pilot's level.

    A move takes two gradients and one likelihood.
    """

    levels: tuple[Level, ...]
    slope: Slope

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains once."""
        m, d = chains.points.shape
        level, e = level_at(self.levels, beta), STEP / d ** (1 / 6)
        noise = rng.standard_normal((m, d))
        step = self._drift(chains.points, beta, level, e) + e * noise  # in standard deviations
        proposed = chains.points + step @ level.root.T
        back = -step - self._drift(proposed, beta, level, e)
        forth = np.einsum("ij,ij->i", noise, noise)
        correction = 0.5 * (forth - np.einsum("ij,ij->i", back, back) / e**2)
        accept(rng, chains, proposed, beta, evaluate, correction)

    def _drift(self, points: Floats, beta: float, level: Level, e: float) -> Floats:
        drift = 0.5 * e**2 * (self.slope(points, beta) @ level.root)
        length = np.sqrt(np.einsum("ij,ij->i", drift, drift))
        most = LONGEST * math.sqrt(points.shape[1])
        return np.asarray(drift * np.minimum(1.0, most / np.maximum(length, 1e-300))[:, None])


def slope_of(model: Model, gradient: Any, points: Floats) -> Slope:
    """Return the slope of a model; a gradient that contradicts the likelihood is refused."""
    if gradient is None:
        raise PlanError("kernel='langevin' needs gradient=, the gradient of log_likelihood")
    if not callable(gradient):
        raise PlanError(f"gradient must be a function of points, got {gradient!r}")
    few = model.users(points)[: enough_points(model.dimensions)]
    found = read_function(gradient, [few], _ROLE)
    if (found.shape or (1,)) != few.shape[1:]:
        raise PlanError(
            f"gradient must return (chains, {few.shape[1]}) at points (chains, {few.shape[1]}): it "
            f"returned {found.shape or 'one number'} for each"
        )
    slope = Slope(model, replace(found, shape=few.shape[1:]))
    _check(slope, few)
    return slope


def _check(slope: Slope, points: Floats) -> None:
    """Compare a gradient with differences of the likelihood."""
    spread = slope.model.spread
    given = slope.of_likelihood(points) * spread
    with np.errstate(all="ignore"):
        seen = differences(slope.model.function, points, _DIFFERENCE * spread) * spread
    size = np.abs(seen).max(axis=1, keepdims=True) + np.abs(given).max(axis=1, keepdims=True)
    off = np.abs(given - seen) > _OFF * size + 1e-6
    if (off & np.isfinite(seen)).any():
        row, column = np.argwhere(off & np.isfinite(seen))[0]
        raise PlanError(
            f"gradient contradicts log_likelihood: at {points[row]} it is "
            f"{given[row, column] / spread[column]:.6g} in coordinate {column}, but differences of "
            f"log_likelihood give {seen[row, column] / spread[column]:.6g}"
        )


def differences(function: Callable[[Floats], Floats], points: Floats, step: Floats) -> Floats:
    """Return the central differences of a function of points, coordinate by coordinate."""
    columns = []
    for coordinate, length in enumerate(step):
        shift = np.zeros(points.shape[1])
        shift[coordinate] = length
        columns.append((function(points + shift) - function(points - shift)) / (2 * length))
    return np.column_stack(columns)
