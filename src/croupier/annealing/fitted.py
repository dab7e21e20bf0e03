"""Importance sampling from a law that a pilot has fitted to the posterior, with the prior mixed in.

q = (1 - a) t + a prior, with t Student's about the pilot's mean: the weight prior x likelihood/q
is never above likelihood/a, so its variance is finite where that of plain sampling of the prior
is (a defensive mixture, Hesterberg 1995).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.walks import Level
from croupier.data.draws import Draws, Floats

__all__ = ["Fitted"]

#: The share of the prior in the mixture, and Student's degrees of freedom, or fewer for heavier
#: tails.
SHARE: Final = 0.05
FREEDOM: Final = 20.0
HEAVIER: Final = 8.0

#: The law's variance is 1.1 times that of the pilot's points, and more the less these tell of it,
#: 1 + 3 d/(their effective number): too wide costs little, too narrow makes rare large weights.
_WIDER: Final = 1.1
_UNSURE: Final = 3.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """An arm: `size` independent points from the mixture, their log-weights.

    `effective` is the number of independent points that the level was fitted to.
    """

    model: Model
    level: Level
    effective: float
    costs: bool = False
    block: int = 1000
    freedom: float = FREEDOM

    #: What `estimate` must be told by log=True.
    logs: ClassVar[bool] = True
    evaluations: ClassVar[float] = 1.0

    @property
    def __name__(self) -> str:
        return self.model.name

    @property
    def version(self) -> str:
        """What tells this arm from that of another model."""
        return self.model.mark

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` points; each is one evaluation, or none outside."""
        blocks = range(0, size, self.block)
        parts = [self._block(rng, min(self.block, size - start)) for start in blocks]
        weights = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Draws(log_values=weights, costs=1.0) if self.costs else weights

    def _block(self, rng: np.random.Generator, size: int) -> Floats:
        d = self.model.dimensions
        chosen = rng.random(size) < SHARE
        scale = self._wider * np.sqrt(self.freedom / rng.chisquare(self.freedom, (size, 1)))
        points = self.level.mean + (scale * rng.standard_normal((size, d))) @ self.level.root.T
        if from_prior := int(np.count_nonzero(chosen)):
            points[chosen] = self.model.start(rng, from_prior)
        prior, likelihood = self.model.evaluate(points)
        return np.asarray(prior + likelihood - self.log_density(points, prior))

    def log_density(self, points: Floats, prior: Floats) -> Floats:
        """Return log q, given the log of the prior's density."""
        z = (points - self.level.mean) @ self.level.inverse
        power = (self.freedom + self.model.dimensions) / 2
        squares = np.einsum("ij,ij->i", z, z)
        student = self._peak - power * np.log1p(squares / (self.freedom * self._wider**2))
        return np.asarray(np.logaddexp(student, math.log(SHARE) + prior))

    @cached_property
    def _wider(self) -> float:
        """How much wider the law is than the pilot's points, as a standard deviation."""
        return math.sqrt(_WIDER * (1 + _UNSURE * self.model.dimensions / self.effective))

    @cached_property
    def _peak(self) -> float:
        """The log of Student's part of q at its mean."""
        d, nu = self.model.dimensions, self.freedom
        constant = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - d / 2 * math.log(nu * math.pi)
        roots = float(np.log(self.level.root.diagonal()).sum()) + d * math.log(self._wider)
        return math.log1p(-SHARE) + constant - roots
