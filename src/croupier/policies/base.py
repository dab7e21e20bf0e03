"""The protocol of a policy, the way from a name to a policy, and the first draws of every arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from croupier.data.draws import Draws, Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan, Unit
from croupier.errors import PlanError
from croupier.policies.indices import waits

__all__ = [
    "MOST_SCORES",
    "Choice",
    "Digest",
    "LedgerOnly",
    "Play",
    "Policy",
    "Random",
    "describe",
    "digest_of",
    "epochs_of",
    "first_draws",
    "group_of",
    "lacks_of",
    "objective_weights",
    "prepare_of",
    "price_of",
    "smallest",
]

#: Builds the random stream of a decision; call it only when there is something to toss.
Random: TypeAlias = Callable[[], np.random.Generator]


class Play(NamedTuple):
    """A choice with more to say: at most `at_most` draws, or several `decisions` in one.

    A batch does not grow an arm by more than `growth` times what it has had: 1 is to double it.
    """

    arm: int
    at_most: int | None = None
    decisions: int = 1
    growth: float = 1.0


#: An arm's index, (index, the most draws), or a Play; or several, the best first. These are played
#: one after the other, as far as what one decision buys reaches.
Choice: TypeAlias = int | tuple[int, int] | Play | list[Play]

#: Scores that one decision may compute. Of more arms, a decision names several at once.
MOST_SCORES: Final = 2000

Prepare: TypeAlias = Callable[[Any, Ledger, Floats], Any]

Digest: TypeAlias = Callable[[Plan, int, Draws, np.random.Generator], Mapping[str, Any]]


@runtime_checkable
class Policy(Protocol):
    """Scores the arms from the ledger; the smallest score is played.

    A policy is a frozen dataclass: its fields are its parameters, its state is what `start`
    returns. It may also have ``digest(plan, arm, draws, rng)``, which reduces the draws of a
    batch to small arrays where they are made, and ``group``, a number or a function of the unit:
    sizes are multiples of it. ``prepare(state, ledger, pending)`` may return another state before
    a decision, for a plan that several decisions follow. To be registered it needs ``example()``, a
    policy for arms 'a' and 'b', for the contract tests.
    """

    name: ClassVar[str]

    def start(self, plan: Plan) -> Any:
        """Return the state before the first decision; refuse a plan that cannot be played."""

    def choose(self, state: Any, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        """Return the arm to play next, or several; `pending` are the draws out, per arm."""

    def learn(self, state: Any, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Any:
        """Return the next state after a batch of `arm` was told; must not change the old one.

        `ledger` has the batch already; `extra` is what `digest` made of its draws.
        """


class LedgerOnly:
    """What policies share that learn from the ledger alone: their state stays as it is."""

    def learn(self, state: Any, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> Any:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()


def lacks_of(thing: object) -> list[str]:
    """Return what a thing lacks to be a policy.

    >>> lacks_of("greedy")
    ['name', 'start', 'choose', 'learn']
    """
    named = isinstance(getattr(thing, "name", None), str)
    methods = ("start", "choose", "learn")
    lacking = [method for method in methods if not callable(getattr(thing, method, None))]
    return lacking if named else ["name", *lacking]


def digest_of(policy: Policy) -> Digest | None:
    """Return the policy's digest, if it has one."""
    return getattr(policy, "digest", None)


def group_of(policy: Policy, unit: Unit = "draws") -> int:
    """Return how many draws the policy learns from at once: 1, or 2 and 3 for pairs and triples.

    A policy's `group` is a number, or a function of the unit of the plan.
    """
    group = getattr(policy, "group", 1)
    return int(group(unit) if callable(group) else group)


def prepare_of(policy: Policy) -> Prepare | None:
    """Return the policy's prepare, if it has one."""
    return getattr(policy, "prepare", None)


def epochs_of(policy: Policy) -> float | None:
    """Return how the epochs of a policy grow, if it deals to strata in epochs."""
    return getattr(policy, "epochs", None)


def describe(policy: Policy) -> dict[str, Any]:
    """Return a policy as plain data that goes to JSON and back: its name and its parameters."""
    known: tuple[Field[Any], ...] = fields(policy) if is_dataclass(policy) else ()
    parameters = {one.name: _plain(getattr(policy, one.name)) for one in known}
    return {"name": policy.name} | parameters


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value if lacks_of(value) else describe(value)


def smallest(scores: Floats) -> int:
    """Return the arm with the smallest score, the first of equals."""
    arm = int(scores.argmin())  # of a NaN, if there is one
    score = scores.item(arm)
    if score != score:
        raise PlanError(f"the policy scored arm {arm} NaN")
    return arm


def first_draws(plan: Plan, ledger: Ledger, pending: Floats) -> Choice | None:
    """Return the draw that must come before any preference, or None when all is known.

    Every arm gets `plan.first` draws, one at a time, round robin, and goes on until two of them
    were told. An arm that is expensive beside the others waits with its third draw. Of more than
    MOST_SCORES arms, several get their draw in one decision.
    """
    if ledger.fewest >= max(plan.first, 2):
        return None
    # With 100 000 arms, every array that is made here takes longer than a draw.
    draws = ledger.count + pending if pending.any() else ledger.count
    if plan.unit != "draws" and ledger.fewest >= 2:
        price = ledger.price
        draws = np.where(waits(price, price.min(), ledger.spent - ledger.cost), np.inf, draws)
    least = int(draws.argmin())
    if draws[least] >= plan.first and ledger.fewest >= 2:
        return None
    several = len(draws) // MOST_SCORES
    if several < 2:
        return least, plan.first_call
    arms = np.flatnonzero(draws == draws[least])[:several]
    return [Play(int(arm), plan.first_call) for arm in arms]


def price_of(plan: Plan, ledger: Ledger) -> Floats:
    """Return the cost per draw of every arm, in the largest batch that decisions would buy.

    Where costs are measured times, a call costs more per draw the fewer draws it makes, and a price
    that is not known yet is the least that it can be; see `call_prices`.
    """
    if not ledger.measured:
        return ledger.price
    return ledger.price_in(0.0 if plan.batch == "one" else plan.largest_share * ledger.spent)


_ONE: Final = np.ones(1)


def objective_weights(plan: Plan, ledger: Ledger, variance: Floats) -> Floats:
    """Return the weight of each component in the one number that an allocation minimises.

    By default 1/median over the arms of the component's variance, so that every component
    counts alike in any unit; else the plan's own weights, in the user's units. Logs have no
    such units: their weights are those of the relative variances.
    """
    if plan.objective is None:
        if variance.shape[1] == 1:
            return _ONE
        ranked = np.sort(variance, axis=0)
        flat = np.count_nonzero(ranked == 0, axis=0)
        median = ranked[(flat + len(ranked)) // 2 - (flat == len(ranked)), range(len(flat))]
        return np.divide(1.0, median, out=np.zeros_like(median), where=median > 0)
    if plan.log:
        mean = ledger.count @ ledger.mean / ledger.draws
        weights = np.asarray(plan.objective) / np.where(mean > 0, np.square(mean), 1.0)
        return np.where(mean > 0, weights, 0.0)
    unit = 2 * (ledger.exponent - ledger.exponent.max())
    return np.asarray(np.ldexp(np.asarray(plan.objective), unit))
