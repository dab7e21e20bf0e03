"""The paper's policies: bandits whose losses lie in [0, 1] by the known ranges of the draws.

Neufeld et al. (ICML 2014), section 4: choosing an estimator is a bandit problem whose loss is the
square of the draw. Each policy here is a bandit's own rule; `payoffs` makes its losses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from croupier.checks import Range, choice, positive
from croupier.data.draws import Draws, Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan, Unit
from croupier.errors import PlanError
from croupier.policies.base import Choice, Random, price_of, smallest
from croupier.policies.indices import kl_level, kl_ucb, moss, ucb1, ucb_v
from croupier.policies.payoffs import Kind, Payoff, Scaling, Terms, payoff_of

__all__ = [
    "KLUCB",
    "MOSS",
    "UCB1",
    "UCBV",
    "Bandit",
    "IndexBandit",
    "Lessons",
    "ShortfallBandit",
    "Thompson",
    "Time",
]

#: What t is in the bounds of UCB1 and UCB-V: the payoffs so far, or the round that is to be played.
Time: TypeAlias = Literal["played", "paper"]


@dataclass(slots=True, eq=False)  # not frozen: one is made per batch, and freezing takes time
class Lessons:
    """What a bandit has learned: per arm the number of losses, their mean and M2; `wins` tossed."""

    payoff: Payoff
    pulls: Floats
    mean: Floats
    m2: Floats
    wins: Floats
    total: float
    unseen: int

    def after(self, arm: int, extra: Mapping[str, Any]) -> Lessons:
        """Return the lessons with those of one batch."""
        n_b = extra.get("count", 0)
        if not n_b:  # a remainder is averaged, but teaches nothing
            return self
        more = self.copy()
        more.add(arm, n_b, extra["mean"], extra["m2"])
        if "wins" in extra:
            more.wins[arm] += extra["wins"]
        return more

    def copy(self) -> Lessons:
        """Return the same lessons, to add to."""
        pulls, mean, m2, wins = (x.copy() for x in (self.pulls, self.mean, self.m2, self.wins))
        return Lessons(self.payoff, pulls, mean, m2, wins, self.total, self.unseen)

    def at(self, total: float) -> Lessons:
        """Return the same lessons at another time."""
        return Lessons(self.payoff, self.pulls, self.mean, self.m2, self.wins, total, self.unseen)

    def priced(self, ledger: Ledger) -> Lessons:
        """Return the lessons with the fitted prices of all arms in their factors, if they count."""
        payoff = self.payoff
        if payoff.priced is None:
            return self
        price = price_of(payoff.priced, ledger)
        more = self.at(self.total)
        more.payoff = replace(payoff, factor=payoff.factor * (price / price.max()), alike=False)
        return more

    def add(self, arm: int, n_b: int, mean: float, m2: float) -> None:
        """Add the number, the mean and the M2 of some losses, in place."""
        n_a, before = self.pulls.item(arm), self.mean.item(arm)
        apart = mean - before
        self.pulls[arm] = n = n_a + n_b
        self.mean[arm] = before + apart * n_b / n
        self.m2[arm] = self.m2.item(arm) + (m2 + apart * apart * n_a * n_b / n)
        self.total += n_b
        if n_a == 0:
            self.unseen -= 1


@dataclass(frozen=True, kw_only=True)
class Bandit:
    """What the bandits share: how they are paid and what they learn.

    `payoff` is "second-moment", "variance" (from pairs), "cost-variance" (from pairs, for costs
    independent of the values) or "cost-variance-triples"; "auto" is the first where every draw
    costs 1 and "cost-variance" where costs count. `bounds` and `cost_bounds` are the ranges of
    values and costs, if the arms do not have their own; `scaling` by one range for all arms, or
    by each arm's. `clip=True` cuts payoffs to [0, 1] in place of an error.
    """

    name: ClassVar[str]
    bounded: ClassVar[bool] = True
    needs: ClassVar[str] = ""
    payoff: Kind = "auto"
    scaling: Scaling = "common"
    bounds: Range | None = None
    cost_bounds: Range | None = None
    clip: bool = False

    def __post_init__(self) -> None:
        checked = self.terms().checked()
        object.__setattr__(self, "bounds", checked.bounds)
        object.__setattr__(self, "cost_bounds", checked.cost_bounds)

    def terms(self) -> Terms:
        """Return how the policy is paid."""
        return Terms(
            self.payoff, self.scaling, self.bounds, self.cost_bounds, self.clip, self.bounded
        )

    def group(self, unit: Unit = "draws") -> int:
        """Return how many draws make one payoff."""
        return self.terms().group_in(unit)

    def start(self, plan: Plan) -> Lessons:
        arms, payoff = len(plan.names), payoff_of(plan, self.terms())
        if self.needs:
            self.known()
        none = np.zeros(arms)
        return Lessons(payoff, none, none, none, none, 0.0, arms)

    def known(self) -> float:
        """Return what must be known of the losses; refuse a policy that was not given it."""
        value = getattr(self, self.needs)
        if value is None:
            raise PlanError(
                f"policy {self.name!r} needs {self.needs}, which must be known of the losses (the "
                f"squares of the draws): give policy=cr.policies.{type(self).__name__}"
                f"({self.needs}=...); policy='auto' needs nothing"
            )
        return float(value)

    def digest(
        self, plan: Plan, arm: int, draws: Draws, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        """Reduce the losses of a batch to their moments."""
        return moments_of(payoff_of(plan, self.terms()).losses(arm, draws))

    def learn(self, state: Lessons, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Lessons:
        return state.after(arm, extra)

    @classmethod
    def example(cls) -> Self:
        return cls()


@dataclass(frozen=True, kw_only=True)
class IndexBandit(Bandit, ABC):
    """What the index policies share: every arm once, then the one with the largest upper bound."""

    def choose(self, state: Lessons, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if state.unseen:
            return first_draw(ledger, pending)
        return smallest(self.scores(state.priced(ledger)))

    @abstractmethod
    def scores(self, state: Lessons) -> Floats:
        """Return what orders the arms as factor (1 - B) does: the smallest is played."""

    @abstractmethod
    def shortfall(self, state: Lessons) -> Floats:
        """Return 1 - B for every arm, B its upper bound on the mean payoff."""


@dataclass(frozen=True, kw_only=True)
class ShortfallBandit(IndexBandit, ABC):
    """An index policy whose bounds are compared as they are, not by their logarithms."""

    def scores(self, state: Lessons) -> Floats:
        shortfall = self.shortfall(state)
        return shortfall if state.payoff.alike else state.payoff.factor * shortfall


def first_draw(ledger: Ledger, pending: Floats) -> Choice:
    """Return each arm for one draw; what is asked for before they are told goes round robin."""
    return int((ledger.count + pending).argmin()), 1


def moments_of(losses: Floats) -> dict[str, float]:
    """Return the number, the mean and the central sum of squares of some losses."""
    n = len(losses)
    if n == 1:
        return {"count": 1, "mean": float(losses[0]), "m2": 0.0}
    if n == 0:
        return {"count": 0}
    mean = float(losses.mean())
    away = losses - mean
    return {"count": n, "mean": mean, "m2": float(away.dot(away))}


@dataclass(frozen=True)
class UCB1(ShortfallBandit):
    """UCB1: mean payoff plus sqrt(2 log t/T); `scale` is the 2 (Auer et al. 2002).

    `time` says what t is: "played", the payoffs so far, as in Auer et al. and in other libraries;
    or "paper", the round that is to be played, one more, as in algorithm 1 of Neufeld et al. 2014.
    """

    name: ClassVar[str] = "ucb1"
    scale: float = 2.0
    time: Time = "played"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("scale", self.scale)
        choice("time", self.time, Time)

    def shortfall(self, state: Lessons) -> Floats:
        t = state.total + (self.time == "paper")
        return ucb1(state.mean, state.pulls, math.log(t), self.scale)


@dataclass(frozen=True)
class UCBV(ShortfallBandit):
    """UCB-V: a bound that narrows with the variance of the payoffs (Audibert et al. 2009).

    The bound is mean + sqrt(2 v E/T) + 3 c E/T, E = zeta log t; with `cut` it is at most 1. `time`
    says what t is, as for UCB1.
    """

    name: ClassVar[str] = "ucb-v"
    zeta: float = 1.2
    c: float = 1.0
    cut: bool = False
    time: Time = "played"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("zeta", self.zeta)
        positive("c", self.c, zero=True)
        choice("time", self.time, Time)

    def shortfall(self, state: Lessons) -> Floats:
        variance = state.m2 / state.pulls
        log_time = math.log(state.total + (self.time == "paper"))
        score = ucb_v(state.mean, variance, state.pulls, log_time, self.zeta, self.c)
        return np.maximum(score, 0.0) if self.cut else score


@dataclass(frozen=True)
class KLUCB(IndexBandit):
    """KL-UCB: the largest mean within f(t)/T of the mean payoff, in Bernoulli divergence.

    Garivier and Cappé (2011); f(t) = log t + `f` log log t.
    """

    name: ClassVar[str] = "kl-ucb"
    f: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("f", self.f, zero=True)

    def exponent(self, state: Lessons) -> Floats:
        """Return w of the bound 1 - exp(-w), which may be too close to 1 to be told from it."""
        return kl_ucb(state.mean, kl_level(state.total, self.f) / state.pulls)

    def shortfall(self, state: Lessons) -> Floats:
        return np.asarray(np.exp(-self.exponent(state)))

    def scores(self, state: Lessons) -> Floats:
        # Bounds are compared by their logarithms: exp(-w) may be zero for several arms.
        return np.asarray(np.log(state.payoff.factor) - self.exponent(state))


@dataclass(frozen=True)
class MOSS(ShortfallBandit):
    """MOSS: no logarithm in the worst case; with its `horizon`, or anytime (Audibert-Bubeck 2009).

    The bound is mean + sqrt(max(log(n/(K T)), 0)/T), n the horizon in payoffs, or the time.
    """

    name: ClassVar[str] = "moss"
    horizon: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon is not None:
            positive("horizon", self.horizon)

    def shortfall(self, state: Lessons) -> Floats:
        rounds = (self.horizon or state.total) / len(state.pulls)
        return moss(state.mean, state.pulls, rounds)


@dataclass(frozen=True)
class Thompson(Bandit):
    """Thompson sampling with a Beta posterior; a payoff is tossed to a win or a loss.

    Agrawal and Goyal (2012), algorithm 2; `alpha` and `beta` are the prior's.
    """

    name: ClassVar[str] = "thompson"
    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        positive("beta", self.beta)

    def digest(
        self, plan: Plan, arm: int, draws: Draws, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        """Toss every payoff: a win with the payoff's probability."""
        losses = payoff_of(plan, self.terms()).losses(arm, draws)
        wins = int(np.count_nonzero(rng.random(len(losses)) >= losses))
        return {**moments_of(losses), "wins": wins}

    def choose(self, state: Lessons, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if state.payoff.priced is not None and not ledger.fewest:
            return first_draw(ledger, pending)  # the price of an arm is not known before
        # The share of losses has the mirrored posterior, and keeps its digits near zero.
        lost = state.pulls - state.wins
        draw = rng().beta(lost + self.beta, state.wins + self.alpha)
        return smallest(state.priced(ledger).payoff.factor * draw)
