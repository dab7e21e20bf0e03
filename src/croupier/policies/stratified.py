"""Policies for strata, which have known weights and means of their own: see `stratify`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.data.epochs import schedule_of
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import (
    Choice,
    LedgerOnly,
    Play,
    Random,
    first_draws,
    objective_weights,
    price_of,
    smallest,
)

__all__ = [
    "MCUCB",
    "Proportional",
    "deviation_bound",
    "most_behind",
    "shares_of_at_least",
    "shrunk_deviation",
    "unseen_deviation",
]

#: A batch takes a stratum at most this share beyond what it should have had by now.
_AHEAD: Final = 0.125

#: An epoch has at least two draws of every stratum: then it has a variance of its own.
_LEAST_DRAWS: Final = 2.0

_TINY: Final = float(np.finfo(float).tiny)


def deviation_bound(deviation: Floats, error: Floats, total: float) -> Floats:
    """Return an upper confidence bound: s exp(z e/2), z = sqrt(log(t)/2).

    e = sqrt(2/df) is the relative standard error of s^2: the other side of `VarianceLCB`.
    """
    return np.asarray(deviation * np.exp(math.sqrt(math.log(total) / 2) * error / 2))


def unseen_deviation(size: float, count: Floats) -> Floats:
    """Return the deviation that an event not seen yet would make: size sqrt(1/(n + 2)).

    Laplace's rule of succession: what has not happened in n draws has the chance 1/(n + 2).
    """
    return np.asarray(size / np.sqrt(count + 2))


def shrunk_deviation(variance: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return standard deviations shrunk towards each other, and the errors of their squares.

    `error` is the relative standard error sqrt(2/df) of each sample variance. Log-variances v_k
    differ by their errors and by tau^2. The variance of an error is trigamma(df/2), twice 2/df for
    few draws (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004, section
    3); tau^2 is that of DerSimonian and Laird (Controlled Clinical Trials 7, 1986). v_k keeps
    tau^2/(tau^2 + e_k^2) of its distance from the mean. So strata that differ no more than their
    errors explain count as equal, and strata that clearly differ are left alone. A stratum that
    has not varied stays at 0.
    """
    varied = variance > 0
    v, x = np.log(variance[varied]), np.square(error[varied])
    e2 = x + np.square(x) / 2 + x**3 / 6  # trigamma(df/2), x = 2/df
    precision = 1 / e2
    total = precision.sum()
    Q = (precision * np.square(v - precision @ v / total)).sum()
    tau2 = max((Q - (len(v) - 1)) / max(total - np.square(precision).sum() / total, _TINY), 0.0)
    precision = 1 / (tau2 + e2)
    centre = precision @ v / precision.sum()
    kept = tau2 * precision
    s, shrunk_error = np.zeros_like(variance), error.copy()
    s[varied] = np.exp((centre + kept * (v - centre)) / 2)
    shrunk_error[varied] *= np.sqrt(kept)
    return s, shrunk_error


def shares_of_at_least(wanted: Floats, draws: float, least: Floats) -> Floats:
    """Return `draws` divided like `wanted`, but at least `least` of each if `draws` suffice.

    >>> shares_of_at_least(np.array([1.0, 4.0, 5.0]), 20.0, np.full(3, 3.0)).round(1)
    array([3. , 7.6, 9.4])
    """
    least = least * min(1.0, draws / least.sum())
    low = np.zeros(len(wanted), bool)
    while True:
        rest = max(draws - least[low].sum(), 0.0)
        shares = np.where(low, least, wanted * (rest / max(wanted[~low].sum(), _TINY)))
        lower = ~low & (shares < least)
        if not lower.any():
            return shares
        low |= lower


class _Epoch(NamedTuple):
    """The draws of an epoch: it ends at `end`, `before` had been decided, `planned` are its own.

    `opened` are the first draws, which decided nothing.
    """

    end: float
    before: Floats
    planned: Floats
    opened: Floats


class _State(NamedTuple):
    plan: Plan
    weights: Floats
    epoch: _Epoch


def _start(plan: Plan) -> _State:
    # Without weights, as in `estimate`, all strata are of one size.
    arms = len(plan.names)
    none = np.zeros(arms)
    weights = np.array(plan.settings.get("weights") or [1 / arms] * arms)
    return _State(plan, weights, _Epoch(0.0, none, none, none))


def most_behind(wanted: Floats, price: Floats, ledger: Ledger, pending: Floats) -> Choice:
    """Return the stratum that is most behind, if counts are to be like `wanted`."""
    T = ledger.count + pending
    arm = smallest(T / wanted)
    spent = ledger.spent + float(pending @ price)
    due = (1 + _AHEAD) * spent * float(wanted[arm]) / float(wanted @ price)
    return Play(arm, int(max(due - T[arm], 0)) + 1)


def _next_planned(epoch: _Epoch, ledger: Ledger, pending: Floats) -> Choice:
    """Return the stratum that is most behind the plan of its epoch; nothing else decides it."""
    done, price = ledger.count + pending - epoch.before, ledger.price
    arm = smallest(done / epoch.planned)
    level = float(done @ price) / float(epoch.planned @ price) + _AHEAD
    left = epoch.end - ledger.draws - float(pending.sum())
    due = min(level, 1.0) * float(epoch.planned[arm]) - float(done[arm])
    # Two draws come first: an epoch that is not finished then knows all variances too.
    due = due if done[arm] or epoch.planned[arm] < _LEAST_DRAWS else max(due, 1.0)
    return Play(arm, int(max(min(due, left - 1), 0)) + 1)


@dataclass(frozen=True)
class MCUCB(LedgerOnly):
    """For strata, see `stratify`: a draw where it could take most from the error of the whole.

    Carpentier and Munos (Finite time analysis of stratified sampling for Monte Carlo, NIPS 2011):
    plays the largest (w_k/T_k) s+_k, s+_k an upper confidence bound on the standard deviation;
    with costs, over the root of the cost per draw. The bound rests on the effective
    degrees of freedom, needs no range, and allows for an event that a stratum has not shown yet.
    Strata are dealt in epochs: within an epoch, the counts follow the draws before it only, so
    that no mean is biased (see `croupier.data.epochs`).
    """

    name: ClassVar[str] = "mc-ucb"
    #: An epoch ends at this many times the draws of the one before.
    epochs: ClassVar[float] = 2.0

    def start(self, plan: Plan) -> _State:
        return _start(plan)

    def prepare(self, state: _State, ledger: Ledger, pending: Floats) -> _State:
        """Plan the next epoch, if the last one is decided."""
        plan, w, epoch = state
        decided = ledger.draws + float(pending.sum())
        schedule = schedule_of(plan)
        if schedule is None or decided < max(epoch.end, schedule.first):
            return state
        if not epoch.end and (
            schedule.opens(ledger) or first_draws(plan, ledger, pending) is not None
        ):
            return state
        before = ledger.count + pending
        opened = epoch.opened if epoch.end else before
        end = schedule.end_after(decided)
        # The means of an epoch count like its draws, the first ones like opened/w.
        counted = (end - decided) / (opened / w + end - float(opened.sum()))
        wanted = w * self._deviation(plan, w, ledger) / np.sqrt(ledger.price) * counted
        # A stratum of small weight may have had enough first draws.
        least = np.where(w * end > opened, _LEAST_DRAWS, 1.0)
        planned = shares_of_at_least(wanted, end - decided, least)
        return state._replace(epoch=_Epoch(end, before, planned, opened))

    def choose(self, state: _State, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        plan, w, epoch = state
        if (first := first_draws(plan, ledger, pending)) is not None:
            return first
        if epoch.end:
            return _next_planned(epoch, ledger, pending)
        if schedule_of(plan) is not None:  # the first draws go on, and they decide nothing
            return most_behind(w, price_of(plan, ledger), ledger, pending)
        s = self._deviation(plan, w, ledger)
        price = price_of(plan, ledger)
        return most_behind(w * s / np.sqrt(price), price, ledger, pending)

    def _deviation(self, plan: Plan, w: Floats, ledger: Ledger) -> Floats:
        """Return s+ of every stratum, (K,), of all components by their weights."""
        s2 = ledger.variance
        objective = objective_weights(plan, ledger, s2)
        part = s2 * objective
        variance = part.sum(axis=1)
        s = np.sqrt(variance)
        if not s.any():
            return unseen_deviation(1.0, ledger.count)  # nothing to compare with: by weight alone
        # Components of one draw err together: their standard errors add up.
        error = (part * np.sqrt(2 / ledger.df)).sum(axis=1) / np.maximum(variance, _TINY)
        if schedule_of(plan) is not None:
            s, error = shrunk_deviation(variance, error)
        # An unseen event of the usual size keeps every stratum at about (w_k t)^(2/3) draws.
        unseen = unseen_deviation(float(w @ s), ledger.count)
        return np.maximum(deviation_bound(s, error, ledger.draws), unseen)


@dataclass(frozen=True)
class Proportional(LedgerOnly):
    """For strata, see `stratify`: counts in proportion to the weights, or to given `shares`.

    Such shares come from elsewhere, as from the pilot of strata that grow. The draws decide
    nothing, so no mean is biased, and no epochs are needed.

    >>> import croupier as cr
    >>> parts = {s: lambda rng, size, s=s: rng.normal(0, float(s), size) for s in ("1", "3")}
    >>> policy = Proportional((0.25, 0.75))
    >>> result = cr.stratify(parts, [0.5, 0.5], draws=1000, policy=policy, rng=7)
    >>> 230 < result.arms["1"].draws < 270
    True
    """

    name: ClassVar[str] = "proportional"
    shares: Sequence[float] = ()

    def __post_init__(self) -> None:
        shares = tuple(map(float, self.shares))
        if not all(0 < share < np.inf for share in shares):
            raise PlanError(f"shares must be finite and above 0, got {self.shares!r}")
        object.__setattr__(self, "shares", shares)

    def start(self, plan: Plan) -> _State:
        state = _start(plan)
        if not self.shares:
            return state
        if len(self.shares) != len(plan.names):
            raise PlanError(
                f"shares must have one entry per arm ({len(plan.names)} in all), got "
                f"{len(self.shares)}: policy=cr.policies.Proportional([...])"
            )
        return state._replace(weights=np.array(self.shares))

    def choose(self, state: _State, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if (first := first_draws(state.plan, ledger, pending)) is not None:
            return first
        return most_behind(state.weights, price_of(state.plan, ledger), ledger, pending)
