"""Bandits for losses without a range: heavy tails with a known moment, subgaussian losses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from croupier.checks import choice, positive
from croupier.data.draws import Draws, Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import Choice, Random, smallest
from croupier.policies.bounded import Bandit, Lessons, ShortfallBandit, first_draw, moments_of
from croupier.policies.indices import (
    catoni_mean,
    median_of_means,
    robust_width,
    subgaussian_ucb,
    truncated_mean,
)
from croupier.policies.payoffs import payoff_of

__all__ = ["RobustUCB", "SubgaussianUCB"]

RobustMean: TypeAlias = Literal["truncated", "median-of-means", "catoni"]


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


class _Memory(NamedTuple):
    lessons: Lessons
    kept: tuple[Floats, ...]


@dataclass(frozen=True)
class RobustUCB(Bandit):
    """Robust UCB: heavy-tailed losses with a known bound on a moment of order 1 + `eps`.

    Bubeck, Cesa-Bianchi and Lugosi (2013). `moment` bounds the mean of the loss to the power
    1 + eps, that is of the draw to the power 2 + 2 eps (for "median-of-means" and "catoni" the
    central moment will do), where `bounds` are known in units of the squared range. `mean` is
    "truncated", "median-of-means" or, with eps = 1, "catoni". All losses are kept.
    `moment` has no default.
    """

    name: ClassVar[str] = "robust-ucb"
    bounded: ClassVar[bool] = False
    needs: ClassVar[str] = "moment"
    moment: float | None = None
    eps: float = 1.0
    mean: RobustMean = "truncated"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.moment is not None:
            positive("moment", self.moment)
        if not 0 < positive("eps", self.eps) <= 1:
            raise PlanError(f"eps must lie in (0, 1], got {self.eps!r}")
        choice("mean", self.mean, RobustMean)
        if self.mean == "catoni" and self.eps != 1:
            raise PlanError(f"Catoni's mean needs eps=1, got {self.eps!r}: use another mean")

    def start(self, plan: Plan) -> _Memory:  # type: ignore[override]
        return _Memory(super().start(plan), (np.empty(0),) * len(plan.names))

    def digest(
        self, plan: Plan, arm: int, draws: Draws, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        """Keep every loss: how much of it counts depends on the time to come."""
        losses = payoff_of(plan, self.terms()).losses(arm, draws)
        return {**moments_of(losses), "losses": losses}

    def choose(self, state: _Memory, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        lessons = state.lessons
        if lessons.unseen:
            return first_draw(ledger, pending)
        level = 2 * math.log(max(lessons.total, 2.0))  # delta = 1/t^2
        scores = np.array([self._bound(losses, level) for losses in state.kept])
        return smallest(lessons.payoff.factor * scores)

    def _bound(self, losses: Floats, level: float) -> float:
        moment = self.known()
        width = robust_width(len(losses), level, moment, self.eps, self.mean)
        if math.isinf(width):
            return -math.inf
        if self.mean == "truncated":
            return truncated_mean(losses, level, moment, self.eps) - width
        if self.mean == "median-of-means":
            return median_of_means(losses, level) - width
        return catoni_mean(losses, level, moment) - width

    def learn(  # type: ignore[override]
        self, state: _Memory, ledger: Ledger, arm: int, extra: Mapping[str, Any]
    ) -> _Memory:
        kept = list(state.kept)
        kept[arm] = np.concatenate((kept[arm], extra.get("losses", ())))
        return _Memory(state.lessons.after(arm, extra), tuple(kept))

    @classmethod
    def example(cls) -> Self:
        return cls(moment=1.0)
