"""Importance sampling from a law that a pilot has fitted to the posterior, with the prior mixed in.

q = (1 - a) t + a prior, with t Student's about the pilot's mean: the weight prior x likelihood/q
is never above likelihood/a, so its variance is finite where that of plain sampling of the prior
is (a defensive mixture, Hesterberg 1995).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.models import Model
from croupier.arms.walks import Level
from croupier.draws import Draws, Floats

__all__ = ["Fitted"]

#: The share of the prior in the mixture, Student's degrees of freedom, and how much wider than
#: the pilot's points the law is: too wide costs little, too narrow makes for rare large weights.
SHARE: Final = 0.05
FREEDOM: Final = 20.0
WIDER: Final = 1.05


@dataclass(frozen=True, eq=False)
class Fitted:
    """An arm: `size` independent points from the mixture, their log-weights."""

    model: Model
    level: Level
    costs: bool = False
    block: int = 1000

    @property
    def __name__(self) -> str:
        return self.model.name

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` points; each is one evaluation, or none outside."""
        blocks = range(0, size, self.block)
        parts = [self._block(rng, min(self.block, size - start)) for start in blocks]
        weights = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Draws(log_values=weights, costs=1.0) if self.costs else weights

    def _block(self, rng: np.random.Generator, size: int) -> Floats:
        d = self.model.dimensions
        chosen = rng.random(size) < SHARE
        scale = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (size, 1)))
        z = WIDER * scale * rng.standard_normal((size, d))
        points = self.level.mean + z @ self.level.root.T
        if from_prior := int(np.count_nonzero(chosen)):
            points[chosen] = self.model.start(rng, from_prior)
        prior, likelihood = self.model.evaluate(points)
        return np.asarray(prior + likelihood - self.log_density(points, prior))

    def log_density(self, points: Floats, prior: Floats) -> Floats:
        """Return log q, given the log of the prior's density."""
        d, nu = self.model.dimensions, FREEDOM
        z = np.linalg.solve(WIDER * self.level.root, (points - self.level.mean).T)
        constant = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - d / 2 * math.log(nu * math.pi)
        constant -= float(np.log(WIDER * np.diag(self.level.root)).sum())
        student = constant - (nu + d) / 2 * np.log1p(np.einsum("ij,ij->j", z, z) / nu)
        mixed = np.logaddexp(math.log1p(-SHARE) + student, math.log(SHARE) + prior)
        return np.asarray(mixed)
