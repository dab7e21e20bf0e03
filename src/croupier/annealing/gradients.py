"""Metropolis-adjusted Langevin moves, for likelihoods with gradients (Roberts and Tweedie 1996)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.priors import Correlated, NormalPrior, UniformPrior
from croupier.annealing.slices import Chains, Evaluate
from croupier.annealing.vectorised import tried
from croupier.annealing.walks import Level, accept, level_at
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError

__all__ = ["Langevin", "Slope", "slope_of"]

#: The length of a step in standard deviations, times d^(1/6) (Roberts and Rosenthal 1998).
STEP: Final = 1.4

#: The drift is at most so long, in standard deviations times sqrt(d): gradients far out are huge.
LONGEST: Final = 1.0

#: A gradient is compared with differences over this share of the prior's spread. It is refused if
#: it is off by more than the second number times its size.
_DIFFERENCE: Final = 1e-4
_OFF: Final = 0.02


@dataclass(frozen=True, eq=False)
class Slope:
    """The gradients of log prior and log likelihood, (chains, d), in the user's coordinates."""

    model: Model
    gradient: Callable[[Any], Any]
    by_point: bool

    def __call__(self, points: Floats, beta: float) -> Floats:
        """Return the gradient of log prior + beta log likelihood; 0 where there is none."""
        total = np.zeros(points.shape)
        inside = np.flatnonzero(self.model.log_prior(points) > -np.inf)
        if inside.size:
            x = points[inside]
            total[inside] = self.of_prior(x) + beta * self.of_likelihood(x)
        return np.nan_to_num(total, nan=0.0, posinf=0.0, neginf=0.0)

    def of_likelihood(self, points: Floats) -> Floats:
        """Return what the user's function says, checked."""
        try:
            if self.by_point:
                raw: Any = np.array([self.gradient(point) for point in points.copy()], dtype=float)
            else:
                raw = np.asarray(self.gradient(points.copy()), dtype=float)
        except Exception as error:
            said = f"the gradient raised {type(error).__name__}: {error}"
            raise ArmError(said, arm=self.model.name) from error
        if raw.shape != points.shape:
            raise ArmError(
                f"the gradient has shape {raw.shape} at points of shape {points.shape}; expected "
                "the same shape",
                arm=self.model.name,
                value=raw,
            )
        return np.asarray(raw)

    def of_prior(self, points: Floats) -> Floats:
        """Return the gradient of the prior, by differences where no formula is known.

        A move is exact with any drift, so an approximate one does no harm.
        """
        prior = self.model.prior
        if isinstance(prior, NormalPrior):
            return np.asarray((prior.mean - points) / prior.spread**2)
        if isinstance(prior, Correlated):
            covariance = prior.root @ prior.root.T
            return np.asarray(np.linalg.solve(covariance, (prior.mean - points).T).T, dtype=float)
        if isinstance(prior, UniformPrior):
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
    d = model.dimensions
    few = points[: 3 if d != 3 else 4]  # not to be confused with the number of coordinates
    together, _ = tried(gradient, few)
    alone, trouble = tried(gradient, few[0])
    by_point = alone is not None and alone.shape == (d,)
    if together is not None and together.shape == few.shape:
        by_point = by_point and not np.allclose(alone, together[0], rtol=1e-6, equal_nan=True)
    elif not by_point:
        said = (
            f"raised {type(trouble).__name__}: {trouble}" if alone is None else "has other shapes"
        )
        raise PlanError(f"gradient must return (chains, {d}) at points (chains, {d}): it {said}")
    slope = Slope(model, gradient, by_point)
    _check(slope, few)
    return slope


def _check(slope: Slope, points: Floats) -> None:
    """Compare a gradient with differences of the likelihood."""
    spread = slope.model.spread
    given = slope.of_likelihood(points) * spread
    with np.errstate(all="ignore"):
        seen = differences(slope.model.likelihood, points, _DIFFERENCE * spread) * spread
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
