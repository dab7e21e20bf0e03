"""A mixture of Student's distributions about several modes, and Metropolis moves about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from croupier.annealing.slices import Chains, Evaluate
from croupier.annealing.walks import accept
from croupier.data.draws import Floats

__all__ = ["Mixture", "MixtureLevel", "MixtureMoves", "move"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Student's distributions with `freedom` degrees of freedom about `means`, with their shares.

    The scale of component k is roots[k] roots[k]^T.
    """

    shares: Floats  # (K,), they sum to 1
    means: Floats  # (K, d)
    roots: Floats  # (K, d, d), lower triangular
    freedom: float

    @property
    def dimensions(self) -> int:
        """The number of coordinates."""
        return int(self.means.shape[1])

    def log_parts(self, points: Floats) -> Floats:
        """Return log(share x density) of every component at each of the points, (m, K)."""
        nu, d = self.freedom, self.dimensions
        parts = np.empty((len(points), len(self.shares)))
        for k, (mean, inverse) in enumerate(zip(self.means, self._inverses, strict=True)):
            z = (points - mean) @ inverse
            squares = np.einsum("ij,ij->i", z, z)
            parts[:, k] = self._peaks[k] - (nu + d) / 2 * np.log1p(squares / nu)
        return parts

    def log_density(self, points: Floats) -> Floats:
        """Return the log-density at each of the points, (m,)."""
        return summed(self.log_parts(points))

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return independent points, (size, d)."""
        chosen = rng.choice(len(self.shares), size, p=self.shares)
        scale = np.sqrt(self.freedom / rng.chisquare(self.freedom, (size, 1)))
        noise = scale * rng.standard_normal((size, self.dimensions))
        return self.about(chosen, noise)

    def about(self, chosen: Any, z: Floats) -> Floats:
        """Return mean + root z of the chosen component, row by row."""
        points = np.empty_like(z)
        for k in np.unique(chosen):
            rows = chosen == k
            points[rows] = self.means[k] + z[rows] @ self.roots[k].T
        return points

    def within(self, chosen: Any, points: Floats) -> Floats:
        """Return the points in the coordinates of their chosen components."""
        z = np.empty_like(points)
        for k in np.unique(chosen):
            rows = chosen == k
            z[rows] = (points[rows] - self.means[k]) @ self._inverses[k]
        return z

    @cached_property
    def _inverses(self) -> list[Floats]:
        return [np.asarray(np.linalg.inv(root).T) for root in self.roots]

    @cached_property
    def _peaks(self) -> Floats:
        nu, d = self.freedom, self.dimensions
        constant = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - d / 2 * math.log(nu * math.pi)
        logs = np.log(np.einsum("kii->ki", self.roots)).sum(axis=1)
        return np.asarray(np.log(self.shares) + constant - logs)


@dataclass(frozen=True, eq=False)
class MixtureLevel:
    """What a search found at one temperature: the modes, and how far to move within each."""

    beta: float
    law: Mixture
    steps: Floats  # (K,), the share of the distance that a move renews


@dataclass(frozen=True, eq=False)
class MixtureMoves:
    """Moves within a mode, and a jump between modes where there are several."""

    levels: tuple[MixtureLevel, ...]

    @property
    def evaluations(self) -> float:
        """About how many evaluations of the likelihood a sweep takes for each chain."""
        return 1 + float(np.mean([len(level.law.shares) > 1 for level in self.levels]))

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains once within their modes, then once between the modes."""
        level = next((each for each in self.levels if each.beta >= beta), self.levels[-1])
        move(rng, chains, beta, evaluate, level)
        if len(level.law.shares) > 1:
            move(rng, chains, beta, evaluate, level, jump=True)


def move(
    rng: np.random.Generator,
    chains: Chains,
    beta: float,
    evaluate: Evaluate,
    level: MixtureLevel,
    *,
    jump: bool = False,
) -> tuple[Any, Any]:
    """Move all chains once; return the component of each chain, and whether it moved.

    A chain at x takes component k with the probability share_k t_k(x)/q(x), where q is the mixture,
    and makes an autoregressive move about t_k, which is reversible for t_k. Of the target
    f(x) share_k t_k(x)/q(x) of both, only f(x)/q(x) is left in the acceptance. A jump takes k by
    its share and makes a new point from t_k, with the same acceptance.
    """
    law, (m, d), nu = level.law, chains.points.shape, level.law.freedom
    parts = law.log_parts(chains.points)
    before = summed(parts)
    if jump:
        chosen = rng.choice(len(law.shares), m, p=law.shares)
        scale = np.sqrt(nu / rng.chisquare(nu, m))
        z = scale[:, None] * rng.standard_normal((m, d))
    else:
        chosen = (parts + rng.gumbel(size=parts.shape)).argmax(axis=1)
        x = law.within(chosen, chains.points)
        squares = np.einsum("ij,ij->i", x, x)
        # Student's distribution is normal with a random scale; this is the scale given the point.
        scale = np.sqrt((nu + squares) / (2 * rng.standard_gamma((nu + d) / 2, m)))
        step = level.steps[chosen][:, None]
        z = np.sqrt(1 - step**2) * x + step * scale[:, None] * rng.standard_normal((m, d))
    proposed = law.about(chosen, z)
    old = chains.points.copy()
    accept(rng, chains, proposed, beta, evaluate, before - law.log_density(proposed))
    return chosen, (chains.points != old).any(axis=1)


def summed(parts: Floats) -> Floats:
    """Return log sum exp of each row."""
    top = parts.max(axis=1)
    return np.asarray(top + np.log(np.exp(parts - top[:, None]).sum(axis=1)))
