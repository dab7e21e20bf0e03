"""Independent arms: a policy decides every ticket, and a combiner pools the arms."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.base import Arm, Learner
from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.history import Rows
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.combiners import Combiner, as_combiner
from croupier.estimates.intervals import Interval
from croupier.policies import Policy, as_policy
from croupier.policies.base import Choice, Play, digest_of, group_of, prepare_of
from croupier.results.make_result import Loss, cost_times_variance
from croupier.results.merging import arm_by_arm
from croupier.results.result import Result
from croupier.results.rows import RowMeaning
from croupier.seeds import POLICY, stream
from croupier.tables import snapshots
from croupier.tables.aim import Aim
from croupier.tables.arm_books import ArmBooks
from croupier.tables.audit import audited
from croupier.tables.base import Example, Kind, Progress, Reading
from croupier.tables.sizing import Decision, affordable, size_of, towards_stop
from croupier.tables.tickets import Tickets

__all__ = ["KIND", "IndependentArms", "ToldArms", "example_arms", "kind_of_arms"]


class _Arms:
    """What a table of independent arms shows, whether it plays or only reads a store."""

    plan: Plan
    known: ArmBooks
    tickets: Tickets

    @property
    def interval(self) -> Interval:
        """How the error bar is made."""
        return self.known.interval

    @interval.setter
    def interval(self, interval: Interval) -> None:
        self.known.interval = interval

    @property
    def aim(self) -> Aim:
        """Where the run is expected to stop."""
        return self.known.aim

    @aim.setter
    def aim(self, aim: Aim) -> None:
        self.known.aim = aim

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands, from what was told in ticket order without a gap."""
        return self.known.progress(self.tickets, seconds)

    def result(self) -> Result:
        """Return the result from everything told so far."""
        return self.known.result(self.tickets)


class IndependentArms(_Arms):
    """The table of arms whose draws are independent of each other.

    The decision for ticket t uses exactly the outcomes 0..t-width. They count in ticket order, and
    the order of arrival does not matter. `pending` has the number of draws of every arm that were
    decided but not told. `decisions` are for the tickets that were not asked for yet.
    """

    def __init__(
        self,
        plan: Plan,
        interval: Interval,
        *,
        policy: Policy,
        combiner: Combiner,
        learners: Mapping[str, Learner] | None = None,
    ) -> None:
        self.plan, self.policy = plan, policy
        self.digest = digest_of(policy)
        self._prepare = prepare_of(policy)
        self._group = group_of(policy, plan.unit)
        self._learners = dict(learners or {})
        self.arm_states = {name: learner.start() for name, learner in self._learners.items()}
        self.policy_state = policy.start(plan)
        self.known = ArmBooks(plan, combiner, interval, self._learners)
        self.tickets = Tickets(plan.width)
        self.pending: Floats = np.zeros(len(plan.names))
        self.decisions: deque[Decision] = deque()
        self._decide_ahead()

    # -- ask

    def _decide_ahead(self) -> None:
        """Decide until there is a decision for every ticket that may be out."""
        tickets = self.tickets
        while tickets.asked + len(self.decisions) < tickets.told + self.plan.width:
            self.decide()

    def decide(self) -> None:
        """Decide the next ticket from what has been told so far.

        If the policy names several arms, they are for the next tickets, in their order, as far as
        what one decision buys reaches.
        """
        plan, ledger = self.plan, self.known.books.ledger
        ticket = self.tickets.asked + len(self.decisions)
        if self._prepare is not None:
            self.policy_state = self._prepare(self.policy_state, ledger, self.pending)
        choice: Choice | None = audited(plan, ledger, self.pending)
        if choice is None:
            choice = self.policy.choose(
                self.policy_state, ledger, self.pending, lambda: stream(plan.seed, POLICY, ticket)
            )
        bought, most = 0.0, plan.share * ledger.spent
        for each in choice if isinstance(choice, list) else [choice]:
            arm, size, _ = self._take(Play(*each) if isinstance(each, tuple) else Play(each))
            bought += size * ledger.cost.item(arm) / max(ledger.count.item(arm), 1.0)
            if bought >= most:
                break

    def _take(self, play: Play) -> Decision:
        """Take a decision of the policy for the next ticket."""
        plan, ledger = self.plan, self.known.books.ledger
        if not 0 <= play.arm < len(plan.names):
            raise PlanError(
                f"policy {self.policy.name!r} chose arm {play.arm}, but the arms are numbered "
                f"0 to {len(plan.names) - 1}"
            )
        size = size_of(plan, ledger, play.arm, play.decisions, play.growth)
        if play.at_most is not None:
            size = min(size, play.at_most)
        size = max(self._group, size - size % self._group)
        decided = Decision(play.arm, size, self.arm_states.copy())
        self.decisions.append(decided)
        self.pending[play.arm] += size
        return decided

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within the budget that is left after everything told so far.

        None means: wait for the next tell (an older ticket is still out), or nothing is left.
        """
        self.tickets.check_room()
        if not self.decisions:
            return None
        arm, size, _ = self.decisions[0]
        if (growth := self.known.growth()) is not None:
            size = towards_stop(self.known.books, self.tickets, arm, size, growth)
            if not size:
                return None
            size = max(self._group, size - size % self._group)
        if draws_left is not None or cost_left is not None:
            cut = affordable(self.known.books, self.tickets, arm, size, draws_left, cost_left)
            if cut is None:
                return None
            arm, size = cut
        return self._put_out(arm, size)

    def _put_out(self, arm: int, size: int) -> Batch:
        decided = self.decisions.popleft()
        self.pending[decided.arm] -= decided.size
        self.pending[arm] += size
        name = self.plan.names[arm]
        state = decided.states.get(name)
        return self.tickets.put_out(self.known.batch(self.tickets.asked, name, size, state))

    def ask_again(self, outcome: Outcome) -> Batch:
        """Return the batch of a stored outcome, as the batch of the next ticket.

        It is out until the outcome is told, like any other batch. So a replay with more than one
        batch out makes the same decisions as the run.
        """
        self.tickets.check_next(outcome, self.known.books.index)
        self.known.check_components(outcome)
        return self.ask_for(outcome.arm, outcome.size)

    def ask_for(self, arm: str, size: int) -> Batch:
        """Return the batch of the next ticket, which was out with this arm and this size."""
        if arm not in self.known.books.index:
            raise PlanError(f"ticket {self.tickets.asked} is of {arm!r}, which is not an arm")
        if not self.decisions:
            raise PlanError(
                f"ticket {self.tickets.asked} cannot be restored: tell an older ticket first"
            )
        return self._put_out(self.known.books.index[arm], size)

    # -- tell

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that was asked for. Outcomes may arrive in any order."""
        self.known.tell(self.tickets, outcome, then=self._learn_and_decide)

    def _learn_and_decide(self, arm: int, outcome: Outcome) -> None:
        """Let the policy and the arm learn from an outcome in its turn, and decide a ticket."""
        self.pending[arm] -= outcome.size
        extra = outcome.extra.get("policy", {})
        ledger = self.known.books.ledger
        self.policy_state = self.policy.learn(self.policy_state, ledger, arm, extra)
        if (learner := self._learners.get(outcome.arm)) is not None:
            for learned in outcome.extra.get("arm", ()):
                state = self.arm_states[outcome.arm]
                self.arm_states[outcome.arm] = learner.learn(state, learned)
        self._decide_ahead()

    # -- what is known

    def snapshot(self) -> dict[str, Any] | None:
        """Return the whole state of a run except its history."""
        return snapshots.snapshot_of(self)

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Continue from a snapshot; `rows` is the history up to it."""
        snapshots.go_on_from(self, snapshot, rows)


class ToldArms(_Arms):
    """Independent arms without a policy: stored outcomes are told again, and nothing is decided.

    A store holds only the name of a policy. The result of a run does not need the policy.
    """

    def __init__(self, plan: Plan, combiner: Combiner, reading: Reading) -> None:
        self.plan = plan
        self.known = ArmBooks(plan, combiner, reading.interval, reading.learns)
        self.tickets = Tickets(plan.width)

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> None:
        """Return None: this table decides nothing."""

    def ask_again(self, outcome: Outcome) -> Batch:
        """Return the batch of a stored outcome."""
        self.tickets.check_next(outcome, self.known.books.index)
        batch = self.known.batch(outcome.ticket, outcome.arm, outcome.size)
        return self.tickets.put_out(batch)

    def tell(self, outcome: Outcome) -> None:
        """Take a stored outcome."""
        self.known.tell(self.tickets, outcome)

    def snapshot(self) -> None:
        """Return None: only a run that is played leaves snapshots."""

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Continue from a snapshot of the run."""
        snapshots.books_from(self.known, snapshot, rows)
        self.tickets.skip(snapshot["told"])


def kind_of_arms(
    name: str,
    combiner: Callable[[Plan], Combiner],
    *,
    shared_mean: bool = True,
    rows: RowMeaning | None = None,
    loss: Loss = cost_times_variance,
    example: Callable[[], Example] | None = None,
) -> Kind:
    """Return a kind of table that deals to independent arms and combines them from a ledger."""

    def make(plan: Plan, interval: Interval) -> IndependentArms:
        policy = as_policy(plan.policy)
        return IndependentArms(plan, interval, policy=policy, combiner=combiner(plan))

    def read(plan: Plan, reading: Reading) -> ToldArms:
        return ToldArms(plan, reading.combine or combiner(plan), reading)

    def merge(
        results: Sequence[Result], level: float, interval: Interval, own: Combiner | None
    ) -> Result:
        return arm_by_arm(results, level, interval, own or combiner(results[0].plan), loss)

    return Kind(
        name,
        make,
        read,
        shared_mean=shared_mean,
        combiner=combiner,
        merge=merge,
        rows=rows or RowMeaning(),
        loss=loss,
        example=example,
    )


def _combiner(plan: Plan) -> Combiner:
    return as_combiner(plan.combine)


@dataclass(frozen=True)
class _Normal:
    spread: float

    def __call__(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.normal(1.0, self.spread, size)


def example_arms() -> tuple[Arm, ...]:
    """Return three normal arms with the mean 1, for the contract tests."""
    spreads = {"a": 1.0, "b": 0.2, "c": 0.5}
    return tuple([Arm(_Normal(spread), name=name) for name, spread in spreads.items()])


def _example() -> Example:
    return Example(Plan(("a", "b", "c"), 7), example_arms())


KIND: Final = kind_of_arms("independent", _combiner, example=_example)
