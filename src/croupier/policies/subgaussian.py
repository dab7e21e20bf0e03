"""A bandit for losses without a range: their subgaussian coefficient is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.policies.bounded import Lessons, ShortfallBandit
from croupier.policies.indices import subgaussian_ucb

__all__ = ["SubgaussianUCB"]


@dataclass(frozen=True)
class SubgaussianUCB(ShortfallBandit):
    """UCB for losses with a known subgaussian coefficient `sigma`; no range needed.

    The bound is mean + sigma sqrt(2 alpha log t/T). A loss is the square of a draw (or what
    `payoff` says), divided by the square of the range where `bounds` are known. `sigma` has no
    default: with one that is too small, the bound does not hold.
    """

    name: ClassVar[str] = "subgaussian-ucb"
    bounded: ClassVar[bool] = False
    needs: ClassVar[str] = "sigma"
    sigma: float | None = None
    alpha: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sigma is not None:
            positive("sigma", self.sigma)
        positive("alpha", self.alpha)

    def shortfall(self, state: Lessons) -> Floats:
        log_time = math.log(state.total)
        return subgaussian_ucb(state.mean, state.pulls, log_time, self.known(), self.alpha)

    @classmethod
    def example(cls) -> Self:
        return cls(sigma=0.5)
