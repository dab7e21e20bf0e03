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

from croupier.arms.models import Model, Normal
from croupier.arms.walks import Level
from croupier.draws import Draws, Floats
from croupier.errors import PlanError

__all__ = ["Fitted", "check_mass", "log_mass"]

#: The share of the prior in the mixture, and Student's degrees of freedom.
SHARE: Final = 0.05
FREEDOM: Final = 20.0

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
        scale = self._wider * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (size, 1)))
        points = self.level.mean + (scale * rng.standard_normal((size, d))) @ self.level.root.T
        if from_prior := int(np.count_nonzero(chosen)):
            points[chosen] = self.model.start(rng, from_prior)
        prior, likelihood = self.model.evaluate(points)
        return np.asarray(prior + likelihood - self.log_density(points, prior))

    def log_density(self, points: Floats, prior: Floats) -> Floats:
        """Return log q, given the log of the prior's density."""
        z = (points - self.level.mean) @ self.level.inverse
        power = (FREEDOM + self.model.dimensions) / 2
        squares = np.einsum("ij,ij->i", z, z)
        student = self._peak - power * np.log1p(squares / (FREEDOM * self._wider**2))
        return np.asarray(np.logaddexp(student, math.log(SHARE) + prior))

    @cached_property
    def _wider(self) -> float:
        """How much wider the law is than the pilot's points, as a standard deviation."""
        return math.sqrt(_WIDER * (1 + _UNSURE * self.model.dimensions / self.effective))

    @cached_property
    def _peak(self) -> float:
        """The log of Student's part of q at its mean."""
        d, nu = self.model.dimensions, FREEDOM
        constant = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - d / 2 * math.log(nu * math.pi)
        roots = float(np.log(self.level.root.diagonal()).sum()) + d * math.log(self._wider)
        return math.log1p(-SHARE) + constant - roots


def check_mass(model: Model, rng: np.random.Generator) -> None:
    """Refuse a prior whose density does not integrate to 1: the weights of `Fitted` need that."""
    mass, error = log_mass(model, rng)
    if abs(mass) > max(0.5, 6 * error):
        raise PlanError(
            f"the prior's log-density is not normalised: its exponential integrates to about "
            f"e^{mass:.1f} and not to 1; add the constant, or give temperatures=, for arms of "
            "annealing alone, which do not need it"
        )


def log_mass(model: Model, rng: np.random.Generator, size: int = 200) -> tuple[float, float]:
    """Return the log of the integral of the prior's density, with its error (Bennett 1976).

    From points of the prior and of a normal law g, with l = log prior - log g there: the c with
    sum over the prior's of 1/(1 + e^(l - c)) = sum over g's of 1/(1 + e^(c - l)).
    """
    points = model.start(rng, 2 * size)
    g = Normal(np.median(points[:size], axis=0), model.spread)
    own, others = points[size:], g.sample(rng, size)
    at_own = model.log_prior(own) - g.logpdf(own)
    at_others = model.log_prior(others) - g.logpdf(others)
    if not (at_others > -np.inf).any():
        return 0.0, np.inf  # they have nothing in common: no word on the mass
    both = np.concatenate([at_own, at_others[at_others > -np.inf]])
    low, high = float(both.min()) - 10, float(both.max()) + 10
    for _ in range(60):
        c = 0.5 * (low + high)
        enough = _logistic(c - at_own).sum() >= _logistic(at_others - c).sum()
        low, high = (low, c) if enough else (c, high)
    f = _logistic(both - c)
    information = float((f * (1 - f)).sum())
    variance = 1 / information - 2 / size if information > 0 else np.inf
    return c, math.sqrt(max(variance, 0.0))


def _logistic(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))
