"""importance: points from a proposal, weighted by the ratio of the densities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.integrand import integrand_of
from croupier.arms.ready_made import Known
from croupier.checks import share_of
from croupier.data.draws import Draws
from croupier.errors import PlanError
from croupier.functions.function import Function
from croupier.spaces.base import Space
from croupier.spaces.read_space import read_space
from croupier.spaces.vectors import NormalVector

__all__ = ["importance"]


@dataclass(frozen=True)
class Proposed:
    """Values f p/q at points of q, a part `defensive` of them from p itself."""

    integrand: Function
    target: Space
    proposal: Space
    defensive: float

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        x, p, share = self.proposal.sample(rng, size), self.target, self.defensive
        if share:
            own = rng.random(size) < share
            x[own] = p.sample(rng, int(own.sum()))
        log_p, log_q = p.logpdf(x), self.proposal.logpdf(x)
        if share:
            log_q = np.logaddexp(math.log1p(-share) + log_q, math.log(share) + log_p)
        inside = log_p > -np.inf
        weight = np.zeros(size)
        weight[inside] = p.volume * np.exp(log_p[inside] - log_q[inside])
        values = self.integrand(np.where(inside[:, None], x, x[int(np.argmax(inside))]))
        shape = (-1, *([1] * (values.ndim - 1)))
        return Draws(values * weight.reshape(shape), 1.0)


def importance(
    f: Callable[[Any], Any],
    over: Any,
    proposal: Any = None,
    *,
    tilt: Sequence[float] | float | None = None,
    defensive: float = 0.0,
    name: str = "importance",
) -> Arm:
    """Return the arm of importance sampling: the points come from `proposal`.

    Args:
        f: The integrand, as in `croupier.integrate`.
        over: Finite bounds, a frozen distribution, a list of these, or a multivariate normal.
        proposal: A distribution of the same kinds. It must reach everywhere where f is not 0,
            unless `defensive` is above 0.
        tilt: In place of a proposal, for a multivariate normal `over`: its density times
            exp(tilt x), which moves the mean by covariance times tilt.
        defensive: This part of the points comes from `over` itself. It bounds the weights by
            1/defensive (Hesterberg, Technometrics 37, 1995).
        name: The name of the arm.
    """
    target = read_space(over, needs=("density", "sample"))
    if (proposal is None) == (tilt is None):
        raise PlanError("give either proposal= or tilt=")
    if tilt is not None:
        proposal = _tilted(target, tilt)
    q = read_space(proposal, argument="proposal", needs=("density", "sample"))
    if target.dimension != q.dimension:
        raise PlanError(
            f"over has {target.dimension} dimensions, but the proposal has {q.dimension}"
        )
    share = share_of("defensive", defensive)
    return Arm(Proposed(integrand_of(f, target), target, q, share), name)


def _tilted(space: Space, tilt: Any) -> Any:
    from scipy import stats

    if not isinstance(space, NormalVector):
        raise PlanError("tilt= is for a multivariate normal over=: give proposal= instead")
    by = np.broadcast_to(np.asarray(tilt, dtype=float), (space.dimension,))
    root = np.diag(space.root) if space.root.ndim == 1 else space.root
    covariance = root @ root.T
    return stats.multivariate_normal(space.mean + covariance @ by, covariance)


def example() -> Known:
    """Return P(Z > 3) with the proposal N(3, 1): its second moment is e^9 P(Z > 6)."""
    from scipy import stats
    from scipy.special import ndtr

    arm = importance(lambda x: x[:, 0] > 3, stats.norm(), stats.norm(3, 1))
    mean = float(ndtr(-3.0))
    return Known(arm, mean, math.exp(9) * float(ndtr(-6.0)) - mean**2, 1)
