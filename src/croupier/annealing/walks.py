"""Metropolis moves of whole points, for many chains at once: random walks and autoregressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from croupier.annealing.slices import Chains, Evaluate
from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["Autoregression", "Level", "RandomWalk", "ScaledWalk", "accept"]


@dataclass(frozen=True)
class Level:
    """What a pilot found at one temperature: where the mass is, and how far to move.

    The covariance there is root root^T. `step`, from 0 to 1, is the share of it that an
    autoregressive move renews. `freedom` is inf for moves about a normal distribution, or the
    degrees of freedom of Student's distribution.
    """

    beta: float
    mean: Floats  # (d,)
    root: Floats  # (d, d), lower triangular
    step: float = 1.0
    freedom: float = np.inf

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the root, transposed: (points - mean) @ inverse has the covariance I."""
        return np.asarray(np.linalg.inv(self.root).T)


def accept(
    rng: np.random.Generator,
    chains: Chains,
    proposed: Floats,
    beta: float,
    evaluate: Evaluate,
    correction: Floats | float = 0.0,
) -> float:
    """Move chains where log U < log f(x') - log f(x) + correction; return the share that moved."""
    prior, likelihood = evaluate(proposed, np.arange(len(proposed)))
    change = prior + beta * likelihood - (chains.prior + beta * chains.likelihood) + correction
    moved = -rng.standard_exponential(len(proposed)) < change
    chains.points[moved] = proposed[moved]
    chains.prior[moved], chains.likelihood[moved] = prior[moved], likelihood[moved]
    return float(moved.mean())


@dataclass(frozen=True)
class RandomWalk:
    """x' = x + scale root Z, with the root of the pilot's level at this temperature.

    The scale is 2.38/sqrt(d) unless it is set (Roberts, Gelman and Gilks 1997).
    """

    levels: tuple[Level, ...]
    scale: float | None = None

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains once."""
        m, d = chains.points.shape
        root = level_at(self.levels, beta).root
        scale = 2.38 / np.sqrt(d) if self.scale is None else self.scale
        proposed = chains.points + scale * (rng.standard_normal((m, d)) @ root.T)
        accept(rng, chains, proposed, beta, evaluate)


@dataclass(frozen=True)
class ScaledWalk:
    """x' = x + spread Z, coordinate by coordinate, with the user's spread for each beta."""

    spread: Callable[[float], Any] | Any

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains once."""
        spread = self.at(beta, chains.points.shape[1])
        proposed = chains.points + spread * rng.standard_normal(chains.points.shape)
        accept(rng, chains, proposed, beta, evaluate)

    def at(self, beta: float, dimensions: int) -> Floats:
        """Return the spread at a temperature, checked."""
        given = self.spread(beta) if callable(self.spread) else self.spread
        try:
            spread = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            spread = np.asarray(np.nan)
        fits = spread.shape in ((), (dimensions,))
        if not fits or not ((spread > 0) & np.isfinite(spread)).all():
            where = f" at beta = {beta:g}" if callable(self.spread) else ""
            raise PlanError(
                f"spread must be above 0 and finite, one number or one for each of {dimensions}, "
                f"got {given!r}{where}"
            )
        return spread


@dataclass(frozen=True)
class Autoregression:
    """x' = m + sqrt(1 - s^2) (x - m) + s root Z: exact for N(m, root root^T) itself.

    So acceptance depends only on the rest of the density, log f(x) - log N(x; m, root root^T). It
    hardly varies if the tempered distribution is about normal; then moves are long and seldom
    rejected (Neal 1998, section 5; the preconditioned Crank-Nicolson move about a fitted normal).
    With Student's distribution, a normal one of random scale, chains do not stick in tails.
    """

    levels: tuple[Level, ...]

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains once."""
        autoregress(rng, chains, beta, evaluate, level_at(self.levels, beta))


def autoregress(
    rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate, level: Level
) -> float:
    """Move all chains once about one level; return the share that moved."""
    m, d = chains.points.shape
    z = (chains.points - level.mean) @ level.inverse
    noise = rng.standard_normal((m, d))
    before, nu = np.einsum("ij,ij->i", z, z), level.freedom
    if nu < np.inf:
        # Student's distribution is normal with a random scale; this is the scale's distribution
        # given the point.
        noise *= np.sqrt((nu + before) / (2 * rng.standard_gamma((nu + d) / 2, m)))[:, None]
    moved = np.sqrt(1 - level.step**2) * z + level.step * noise
    after = np.einsum("ij,ij->i", moved, moved)
    if nu < np.inf:
        correction = (nu + d) / 2 * np.log((nu + after) / (nu + before))
    else:
        correction = 0.5 * (after - before)
    return accept(rng, chains, level.mean + moved @ level.root.T, beta, evaluate, correction)


def level_at(levels: tuple[Level, ...], beta: float) -> Level:
    """Return the first level at or above a temperature."""
    for level in levels:
        if level.beta >= beta:
            return level
    return levels[-1]
