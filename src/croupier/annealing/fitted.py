"""Importance sampling from a distribution fitted to the posterior, mixed with the prior.

q = (1 - a) t + a prior, where t is Student's distribution about the pilot's mean. The weight
prior x likelihood/q is never above likelihood/a, so its variance is finite if the variance of plain
sampling of the prior is finite (a defensive mixture, Hesterberg 1995).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model
from croupier.annealing.walks import Level
from croupier.data.draws import Draws, Floats

__all__ = ["FREEDOM", "HEAVIER", "Fitted", "FittedModes"]

#: The share of the prior in the mixture, and the degrees of freedom of Student's distribution; a
#: pilot may choose fewer, for heavier tails.
SHARE: Final = 0.05
FREEDOM: Final = 20.0
HEAVIER: Final = 8.0

#: The fitted variance is 1.1 (1 + 3 d/(effective points)) times the variance of the pilot's points:
#: too wide costs little, too narrow gives rare large weights.
_WIDER: Final = 1.1
_UNSURE: Final = 3.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """An arm that returns the log-weights of `size` independent points from the mixture.

    `effective` is the number of independent points that the level was fitted to.
    """

    model: Model
    level: Level
    effective: float
    costs: bool = False
    block: int = 1000
    freedom: float = FREEDOM

    #: The arm returns logs, so `estimate` needs log=True.
    logs: ClassVar[bool] = True
    evaluations: ClassVar[float] = 1.0

    @property
    def __name__(self) -> str:
        return self.model.name

    @property
    def version(self) -> str:
        """A text that differs between the arms of different models."""
        return self.model.mark

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` points; a point outside the prior is not evaluated."""
        blocks = range(0, size, self.block)
        parts = [self.weighted(rng, min(self.block, size - start))[1] for start in blocks]
        weights = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Draws(log_values=weights, costs=1.0) if self.costs else weights

    def weighted(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Return points and their log-weights."""
        d = self.model.dimensions
        chosen = rng.random(size) < SHARE
        scale = self._wider * np.sqrt(self.freedom / rng.chisquare(self.freedom, (size, 1)))
        points = self.level.mean + (scale * rng.standard_normal((size, d))) @ self.level.root.T
        if from_prior := int(np.count_nonzero(chosen)):
            points[chosen] = self.model.start(rng, from_prior)
        prior, likelihood = self.model.evaluate(points)
        return points, np.asarray(prior + likelihood - self.log_density(points, prior))

    def log_density(self, points: Floats, prior: Floats) -> Floats:
        """Return log q, given the log of the prior's density."""
        z = (points - self.level.mean) @ self.level.inverse
        power = (self.freedom + self.model.dimensions) / 2
        squares = np.einsum("ij,ij->i", z, z)
        student = self._peak - power * np.log1p(squares / (self.freedom * self._wider**2))
        return np.asarray(np.logaddexp(student, math.log(SHARE) + prior))

    @cached_property
    def _wider(self) -> float:
        """The standard deviation of the fitted distribution over that of the pilot's points."""
        return math.sqrt(_WIDER * (1 + _UNSURE * self.model.dimensions / self.effective))

    @cached_property
    def _peak(self) -> float:
        """The log of Student's part of q at the mean."""
        d, nu = self.model.dimensions, self.freedom
        constant = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - d / 2 * math.log(nu * math.pi)
        roots = float(np.log(self.level.root.diagonal()).sum()) + d * math.log(self._wider)
        return math.log1p(-SHARE) + constant - roots


@dataclass(frozen=True, eq=False)
class FittedModes:
    """An arm that returns the log-weights of `size` points from a mixture over several modes.

    As in `Fitted`, a share of the points comes from the prior.
    """

    model: Model
    law: Mixture
    costs: bool = False
    block: int = 1000

    #: The arm returns logs, so `estimate` needs log=True.
    logs: ClassVar[bool] = True
    evaluations: ClassVar[float] = 1.0

    @property
    def __name__(self) -> str:
        return self.model.name

    @property
    def version(self) -> str:
        """A text that differs between models, and between laws."""
        return f"{self.model.mark} {len(self.law.shares)} {float(self.law.means[0, 0]):.9g}"

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` points; a point outside the prior is not evaluated."""
        blocks = range(0, size, self.block)
        parts = [self.weighted(rng, min(self.block, size - start))[1] for start in blocks]
        weights = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Draws(log_values=weights, costs=1.0) if self.costs else weights

    def weighted(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Return points and their log-weights."""
        chosen = rng.random(size) < SHARE
        points = self.law.sample(rng, size)
        if from_prior := int(np.count_nonzero(chosen)):
            points[chosen] = self.model.start(rng, from_prior)
        prior, likelihood = self.model.evaluate(points)
        return points, np.asarray(prior + likelihood - self.log_density(points, prior))

    def log_density(self, points: Floats, prior: Floats) -> Floats:
        """Return log q, given the log of the prior's density."""
        fitted = math.log1p(-SHARE) + self.law.log_density(points)
        return np.asarray(np.logaddexp(fitted, math.log(SHARE) + prior))
