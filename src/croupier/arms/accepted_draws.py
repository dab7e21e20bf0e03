"""rejection: draws of an unnormalised density, accepted from a proposal, at a random cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.integrand import integrand_of
from croupier.arms.ready_made import Known
from croupier.checks import positive
from croupier.data.call_prices import CHUNK
from croupier.data.draws import Draws, Floats
from croupier.errors import ArmError, PlanError
from croupier.functions.function import Function
from croupier.spaces.base import Space
from croupier.spaces.read_space import read_space

__all__ = ["rejection"]

#: If fewer than one of so many proposals is accepted, the bound is hopeless.
_HOPELESS: Final = 10_000_000


@dataclass(frozen=True)
class Accepted:
    """Values at accepted points; the cost of a draw is the number of proposals that it took."""

    integrand: Function
    log_target: Callable[[Any], Any]
    proposal: Space
    log_bound: float
    name: str

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        points, costs, made, found, since = [], [], 0, 0, 0
        while found < size:
            n = min(CHUNK, max(64, int(1.2 * (size - found) * (made + 1) / (found + 1))))
            x = self.proposal.sample(rng, n)
            at = np.flatnonzero(np.log(rng.random(n)) < self._log_ratio(x))[: size - found]
            if len(at):
                costs.append(np.diff(at, prepend=-1 - since))
                points.append(x[at])
                since = n - 1 - int(at[-1])
            else:
                since += n
            made, found = made + n, found + len(at)
            if made > _HOPELESS * (found + 1):
                raise ArmError(
                    f"{made} proposals gave {found} draws: find a proposal nearer to the target, "
                    "or a smaller bound",
                    arm=self.name,
                )
        values = self.integrand(np.concatenate(points))
        return Draws(values, np.concatenate(costs).astype(float))

    def _log_ratio(self, x: Floats) -> Floats:
        log_p = np.asarray(self.log_target(x), dtype=float).reshape(-1)
        if log_p.shape != (len(x),):
            raise ArmError(
                f"log_target returned {log_p.size} numbers for {len(x)} points: return one each",
                arm=self.name,
            )
        ratio = log_p - self.proposal.logpdf(x) - self.log_bound
        if (ratio > 1e-9).any():
            at = int(np.argmax(ratio))
            raise ArmError(
                f"the target is e^{ratio[at]:.3g} times the bound at the point {x[at].tolist()}, "
                "so the draws would be biased: give a larger bound",
                arm=self.name,
                value=float(ratio[at]),
            )
        return ratio


def rejection(
    f: Callable[[Any], Any],
    log_target: Callable[[Any], Any],
    proposal: Any,
    bound: float,
    *,
    name: str = "rejection",
) -> Arm:
    """Return the arm of rejection sampling: the mean of f under an unnormalised density.

    Args:
        f: The integrand, as in `croupier.integrate`.
        log_target: The log of the density, up to a constant, at points (n, d).
        proposal: Finite bounds, a frozen distribution, a list of these, or a multivariate normal.
        bound: The target is at most `bound` times the density of the proposal, everywhere. A point
            where it is larger ends the run with an error.
        name: The name of the arm.

    A draw costs as many evaluations as proposals it took, on average bound/(integral of the
    target).
    """
    if not callable(log_target):
        raise PlanError(f"log_target must be a function of points (n, d), got {log_target!r:.80}")
    log_bound = math.log(positive("bound", bound))
    space = read_space(proposal, argument="proposal", needs=("density", "sample"))
    return Arm(Accepted(integrand_of(f, space), log_target, space, log_bound, name), name)


def example() -> Known:
    """Return the mean of half a normal from an exponential: the ratio is largest at x = 1."""
    from scipy import stats

    arm = rejection(lambda x: x[:, 0], lambda x: -0.5 * x[:, 0] ** 2, stats.expon(), math.exp(0.5))
    return Known(
        arm, math.sqrt(2 / math.pi), 1 - 2 / math.pi, math.exp(0.5) / math.sqrt(math.pi / 2)
    )
