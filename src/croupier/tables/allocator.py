"""Allocator: the table of independent arms. It owns the ledger; no clock, no process, no file."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from croupier.arms.base import Learner
from croupier.data.draws import Batch, Draws, Floats, Outcome
from croupier.data.extremes import Tail
from croupier.data.history import History, Rows
from croupier.data.ledger import Ledger
from croupier.data.log_scale import quiet
from croupier.data.plan import STRATA, Plan
from croupier.data.reduce_batch import chunks_of, outcome_of
from croupier.errors import ArmError, PlanError
from croupier.estimates.combiners import Combiner, Pooled, as_combiner, name_of, pool
from croupier.estimates.intervals import Anytime, FixedSize, Interval
from croupier.policies import MCUCB, Policy, as_policy, describe
from croupier.policies.base import Play, digest_of, group_of
from croupier.results.make_result import Estimate, estimate_of, result_of, shaped
from croupier.results.result import Result
from croupier.seeds import POLICY, RandomLike, seed_from, stream
from croupier.tables.base import Look, Progress
from croupier.tables.single_draws import Lane

__all__ = ["Allocator"]

#: An arm is called for at most this many numbers at a time, so that arrays stay in the cache.
_CHUNK = 10_000


class _Decision(NamedTuple):
    arm: int
    size: int
    states: dict[str, Any]


class Allocator:
    """Deals a budget to independent arms: ask for a batch, draw it anywhere, tell what came.

    `arms` are names, or a whole Plan; `rng`, `policy`, `combine`, `anytime`, `confidence`,
    `objective`, `batch`, `width`, `keep_values` and `log` (logs are told, or `Draws(log_values=)`)
    are those of `estimate`; `unit="cost"` counts
    the costs that are told (by default every draw costs 1); `weights` makes the arms strata, as in
    `stratify`. If what you see of the result decides when you stop, say `anytime=True`.

    The decision for ticket t sees exactly the outcomes 0..t-width, told in ticket order, whatever
    the order of arrival: with `width` 1 ask and tell alternate, with more that many batches may be
    out. Index bandits that deal single draws (`batch="one"`) are told in a few microseconds: such
    draws are booked when the ledger is first read.

    >>> import numpy as np
    >>> table = Allocator(["rough", "fine"], rng=7)
    >>> for _ in range(50):
    ...     batch = table.ask()
    ...     spread = 1.0 if batch.arm == "rough" else 0.1
    ...     table.tell(batch, batch.rng().normal(1.0, spread, batch.size))
    >>> result = table.result()
    >>> result.arms["fine"].draws > 10 * result.arms["rough"].draws
    True
    """

    def __init__(
        self,
        arms: Sequence[str] | Plan,
        *,
        rng: RandomLike = None,
        policy: str | Policy | None = None,
        combine: str | Combiner | None = None,
        anytime: bool = False,
        interval: Interval | None = None,
        learners: Mapping[str, Learner] | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(arms, Plan):
            if settings or rng is not None:
                given = ", ".join([*settings, *(["rng"] if rng is not None else [])])
                raise PlanError(f"a plan has its own {given}: change the plan, or give names")
            self.plan = arms
            self._policy = as_policy(policy or arms.policy)
            self._combiner = as_combiner(combine or arms.combine, arms.weights)
            played = {**describe(self._policy), "combine": name_of(self._combiner)}
            planned = {**arms.policy, "combine": arms.combine}
            if differing := {k for k in planned if k in played and planned[k] != played[k]}:
                raise PlanError(f"the plan has another {_few(differing)}: change the plan")
        else:
            weights = settings.get("weights")
            self._policy = as_policy(policy or ("auto" if weights is None else MCUCB.name))
            self._combiner = as_combiner(
                combine or ("guarded" if weights is None else STRATA), weights
            )
            self.plan = _plan(arms, rng, self._policy, self._combiner, settings)
        plan = self.plan
        self._interval: Interval = interval or (Anytime() if anytime else FixedSize())
        self._index = {name: k for k, name in enumerate(plan.names)}
        self._digest, self._group = digest_of(self._policy), group_of(self._policy, plan.unit)
        self._learners = dict(learners or {})
        self._states = {name: learner.start() for name, learner in self._learners.items()}
        self._policy_state = self._policy.start(plan)
        measured = plan.unit == "seconds"
        self._ledger = Ledger(len(plan.names), measured=measured, positive=plan.log)
        self._history = History(
            plan.names,
            self._combiner,
            confidence=plan.confidence,
            measured=measured,
            log=plan.log,
        )
        self._tails: dict[int, Tail] = {}
        self._pending: Floats = np.zeros(len(plan.names))
        self._decisions: deque[_Decision] = deque()
        self._out: dict[int, Batch] = {}
        self._arrived: dict[int, Outcome] = {}
        self._components: tuple[bool, int] | None = None
        self._asked = self._told = 0
        self._reported = 0.0
        self._booking = False
        self._pooled: Pooled | None = None
        self._estimated: Estimate | None = None
        self._lane: Lane | None = None
        if not self._learners and not self._interval.looking:
            self._lane = Lane.of(plan, self._policy, self._policy_state)
        if self._lane is None:
            for _ in range(plan.width):
                self._decide()

    @property
    def width(self) -> int:
        """How many batches may be out at once."""
        return self.plan.width

    @property
    def ledger(self) -> Ledger:
        """What is known of the arms, on what was told in ticket order without a gap."""
        self._book()
        return self._ledger

    @property
    def interval(self) -> Interval:
        """How the error bar of the result is made."""
        return self._interval

    @interval.setter
    def interval(self, interval: Interval) -> None:
        if interval.looking:
            self._leave()
        self._interval = interval

    # -- ask

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within what is left of a budget after all that was told.

        None: nothing before the next tell (an older ticket is still out), or nothing left.
        """
        if (lane := self._lane) is not None:
            if draws_left is None and cost_left is None and (batch := lane.ask()) is not None:
                return batch
            self._leave()
        if len(self._out) >= self.width:
            raise PlanError(
                f"{len(self._out)} batches are out (tickets {_few(self._out)}) and width is "
                f"{self.width}: tell one of them first, or give a larger width"
            )
        if not self._decisions:
            return None
        decided = self._decisions[0]
        affordable = self._affordable(decided.arm, decided.size, draws_left, cost_left)
        if affordable is None:
            return None
        return self._put_out(*affordable)

    def _put_out(self, arm: int, size: int) -> Batch:
        decided = self._decisions.popleft()
        self._pending[decided.arm] -= decided.size
        self._pending[arm] += size
        ticket, self._asked = self._asked, self._asked + 1
        name = self.plan.names[arm]
        batch = self._batch(ticket, name, size, decided.states.get(name))
        self._out[ticket] = batch
        return batch

    def _batch(self, ticket: int, name: str, size: int, state: Any) -> Batch:
        chunk = max(1, _CHUNK // len(self._ledger.exponent))
        return Batch(ticket, name, size, self.plan.seed, chunk, state)

    def _decide(self) -> None:
        """Decide the next ticket, on what has been told when it may be told no more."""
        ticket = self._asked + len(self._decisions)
        choice = self._policy.choose(
            self._policy_state,
            self._ledger,
            self._pending,
            lambda: stream(self.plan.seed, POLICY, ticket),
        )
        play = Play(*choice) if isinstance(choice, tuple) else Play(choice)
        if not 0 <= play.arm < len(self.plan.names):
            raise PlanError(f"policy {self._policy.name!r} chose arm {play.arm}, which is none")
        arm, size = play.arm, self._size(play.arm, play.decisions, play.growth)
        if play.at_most is not None:
            size = min(size, play.at_most)
        size = max(self._group, size - size % self._group)
        # The states as of now: when the batch is asked for, later ones may have been learned.
        self._decisions.append(_Decision(arm, size, self._states.copy()))
        self._pending[arm] += size

    def _size(self, arm: int, decisions: int = 1, growth: float = 1.0) -> int:
        """Return how many draws decisions buy: each a share of what was spent, in cost.

        No more than the arm has had, for that would more than double it: among many arms a lucky
        one must not take a large batch on the word of its first four draws.
        """
        if self.plan.batch == "one" or self._ledger.count[arm] == 0:
            return self.plan.opening
        afford = decisions * self.plan.share * self._ledger.spent
        most = growth * float(self._ledger.count[arm])
        return max(1, int(min(most, afford / float(self._ledger.price[arm]))))

    def _affordable(
        self, arm: int, size: int, draws_left: int | None, cost_left: float | None
    ) -> tuple[int, int] | None:
        """Cut a decision to what is left, less what is out; None if that buys no draw."""
        # Neither what is out nor what has arrived before its turn is in the ledger yet.
        waiting = self._arrived.values()
        if draws_left is not None:
            draws_left -= sum(batch.size for batch in self._out.values())
            draws_left -= sum(outcome.size for outcome in waiting)
            size = min(size, draws_left)
        if cost_left is not None:
            price = self._ledger.price
            costs = (batch.size * price[self._index[batch.arm]] for batch in self._out.values())
            cost_left -= sum(cost for cost in costs if np.isfinite(cost))
            cost_left -= sum(outcome.cost for outcome in waiting)
            if self._asked == 0:
                # However small the budget, it buys one draw, or what a first call is to have.
                return arm, min(size, self.plan.opening)
            if cost_left < price[arm] / 2:
                # What is left does not buy a draw of this arm; it may still buy the cheapest.
                arm = int(np.nanargmin(price))
                size = self._size(arm) if draws_left is None else min(self._size(arm), draws_left)
            if cost_left <= 0 or cost_left < price[arm] / 2:
                return None
            if np.isfinite(price[arm]):
                # Prices are guesses: come close to the end in small steps, not in one leap.
                most = cost_left if size <= self._size(arm) else cost_left / 2
                size = min(size, max(1, int(most / price[arm]), self._size(arm)))
                size = min(size, max(1, int(cost_left / price[arm])))
        return (arm, size) if size > 0 else None

    # -- tell

    @overload
    def tell(self, batch: Outcome) -> None: ...
    @overload
    def tell(
        self, batch: Batch, values: ArrayLike | Draws, costs: ArrayLike | None = None
    ) -> None: ...
    def tell(
        self,
        batch: Batch | Outcome,
        values: ArrayLike | Draws | None = None,
        costs: ArrayLike | None = None,
    ) -> None:
        """Take the draws of a batch that was asked for, in any order of arrival.

        `costs` is one number per draw, or a single number that each of them cost, in the unit of
        the plan; not needed where every draw costs 1.
        """
        if (lane := self._lane) is not None:
            if costs is None and lane.tell(batch, values):
                return
            self._leave()
        if batch.ticket not in self._out:
            raise PlanError(self._never_asked(batch.ticket))
        asked = self._out[batch.ticket]
        if (batch.arm, batch.size) != (asked.arm, asked.size):
            raise PlanError(
                f"ticket {asked.ticket} asked for {asked.size} draws of {asked.arm!r}, "
                f"told were {batch.size} of {batch.arm!r}"
            )
        if isinstance(batch, Outcome):
            outcome = batch
        else:
            if isinstance(values, Draws):
                draws = values
            elif self.plan.log:
                draws = Draws(None, costs, log_values=values)
            else:
                draws = Draws(values, costs)
            outcome = self._outcome(asked, draws)
        self._check_components(outcome)
        self._arrived[batch.ticket] = outcome
        del self._out[batch.ticket]
        if self.plan.log:
            with quiet():
                self._settle()
        else:
            self._settle()

    def restore(self, outcome: Outcome) -> None:
        """Take a stored outcome, with its own arm and size, in place of the next ticket's ask."""
        self.ask_again(outcome)
        self.tell(outcome)

    def ask_again(self, outcome: Outcome) -> Batch:
        """Return the batch that a stored outcome came of, in place of the next ticket's ask.

        It is out until the outcome is told, as any other: so a replay with more than one batch
        out makes the decisions that the run made.
        """
        self._leave()
        if outcome.ticket != self._asked or not self._decisions:
            raise PlanError(f"ticket {outcome.ticket} cannot be restored before {self._asked}")
        if outcome.arm not in self._index:
            raise PlanError(f"ticket {outcome.ticket} is of {outcome.arm!r}, no arm of the plan")
        self._check_components(outcome)
        return self._put_out(self._index[outcome.arm], outcome.size)

    def _outcome(self, asked: Batch, draws: Draws) -> Outcome:
        if draws.costs is not None and self.plan.unit == "draws":
            raise PlanError(
                "costs were told, but every draw costs 1 in this plan: say unit='cost' to count "
                "them, or leave them out"
            )
        if draws.costs is None and self.plan.unit != "draws":
            raise ArmError(
                f"the plan's unit is {self.plan.unit}: tell(batch, values, costs) needs the costs",
                arm=asked.arm,
                ticket=asked.ticket,
            )
        chunks = chunks_of(asked, draws, log=self.plan.log)
        return outcome_of(self.plan, asked, chunks, digest=self._digest)

    def _never_asked(self, ticket: int) -> str:
        told = 0 <= ticket < self._asked
        return f"ticket {ticket} was {'told already' if told else 'never asked for'}" + (
            f"; the tickets that are out are {_few(self._out)}" if self._out else "; none is out"
        )

    def _check_components(self, outcome: Outcome) -> None:
        """Refuse draws of other components than the first that arrived, told in order or not."""
        scalar, size = self._components = self._components or (outcome.scalar, outcome.origin.size)
        objective = self.plan.objective
        if objective is not None and len(objective) != size:
            raise PlanError(
                f"objective has {len(objective)} weights, but the draws have {size} "
                f"component{'s' * (size != 1)}: give one weight each"
            )
        if (scalar, size) != (outcome.scalar, outcome.origin.size):
            before = "a number" if scalar else f"{size} components"
            now = "a number" if outcome.scalar else f"{outcome.origin.size} components"
            raise ArmError(
                f"draws are {now} each, earlier ones were {before}: every arm must estimate "
                "the same quantities",
                arm=outcome.arm,
                ticket=outcome.ticket,
                value=outcome.origin.shape,
            )

    def _settle(self) -> None:
        """Book what has arrived, in ticket order, and decide one ticket for each."""
        while (outcome := self._arrived.pop(self._told, None)) is not None:
            arm = self._index[outcome.arm]
            self._booking, self._pooled = True, None
            self._history.append(arm, outcome)
            self._ledger.add(arm, outcome)
            self._booking = False
            if arm not in self._tails or outcome.arm in self._learners:
                self._tails[arm] = Tail()  # what an arm drew before it learned is no tail
            self._tails[arm].add(outcome.extremes, outcome.inspected)
            self._pending[arm] -= outcome.size
            self._reported += outcome.reported
            extra = outcome.extra.get("policy", {})
            self._policy_state = self._policy.learn(self._policy_state, self._ledger, arm, extra)
            if (learner := self._learners.get(outcome.arm)) is not None:
                for learned in outcome.extra.get("arm", ()):
                    state = self._states[outcome.arm]
                    self._states[outcome.arm] = learner.learn(state, learned)
            self._told += 1
            if self.interval.looking:
                self._interval = self._interval.look(self._pool(), self.plan.confidence)
            self._decide()

    # -- the lane

    def _book(self) -> None:
        """Book the draws that were only noted."""
        if self._lane is None or (self._told == len(self._lane.values) and not self._booking):
            return
        arms, values, history = self._lane.arms, self._lane.values, self._history
        told = len(values)
        if self._booking:  # an interrupt may have torn all but the history: begin again
            self._ledger, self._tails, self._told = Ledger(len(self.plan.names)), {}, 0
        self._booking, self._pooled = True, None
        history.append_draws(len(history), arms[len(history) : told], values[len(history) : told])
        arms, values = arms[self._told : told], values[self._told : told]
        self._ledger.add_draws(arms, values)
        drawn: dict[int, list[float]] = {}
        for arm, value in zip(arms, values, strict=True):
            drawn.setdefault(arm, []).append(value)
        for arm, own in drawn.items():
            self._tails.setdefault(arm, Tail()).add_draws(np.array(own))
        self._told = told
        self._booking = False

    def _leave(self) -> None:
        """Leave the lane for good: everything is as if there had been none."""
        lane = self._lane
        if lane is None:
            return
        self._book()
        self._policy_state = lane.state()
        self._asked = len(lane.arms)
        self._components = (True, 1) if lane.values else None
        self._pending, self._decisions = np.zeros(len(self.plan.names)), deque()
        self._out = lane.out()
        if self._out:
            self._pending[lane.arms[-1]] = 1
        else:
            self._decide()
        self._lane = None  # last: whatever interrupts this, it can be done again

    # -- snapshots

    @property
    def asked(self) -> int:
        """How many tickets were asked for: the next one's number."""
        return self._asked if self._lane is None else len(self._lane.arms)

    @property
    def out(self) -> tuple[Batch, ...]:
        """The batches that are out, in the order of their tickets."""
        return tuple((self._out if self._lane is None else self._lane.out()).values())

    def snapshot(self) -> dict[str, Any] | None:
        """Return all that a run has come to, but for its history: what `go_on_from` takes.

        None while an outcome waits for an older ticket. Its arrays are the table's own: write
        them down before the next tell.
        """
        self._leave()
        if self._arrived:
            return None
        names = self.plan.names
        ahead = [
            (True, self._index[batch.arm], batch.size, {batch.arm: batch.state})
            for batch in self._out.values()
        ]
        ahead += [(False, *decided) for decided in self._decisions]
        return {
            "told": self._told,
            "reported": self._reported,
            "components": self._components,
            "ledger": dict(vars(self._ledger)),
            "tails": {names[arm]: dict(vars(tail)) for arm, tail in self._tails.items()},
            "pending": self._pending,
            "ahead": ahead,
            "policy": self._policy_state,
            "states": dict(self._states),
            "interval": {"name": self.interval.name, **vars(self.interval)},
        }

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Go on where a snapshot was taken; `rows` are those of all that had been told."""
        self._leave()
        interval = replace(self.interval, **_but(snapshot["interval"], "name"))  # type: ignore[type-var]
        ledger = Ledger.from_state(snapshot["ledger"], self._ledger)
        tails = {name: Tail.from_state(tail) for name, tail in snapshot["tails"].items()}
        self._ledger, self._interval, self._pooled = ledger, interval, None
        self._history.take(rows)
        self._tails = {self._index[name]: tail for name, tail in tails.items()}
        self._told = self._asked = snapshot["told"]
        self._reported, self._components = snapshot["reported"], snapshot["components"]
        self._pending = snapshot["pending"]
        self._policy_state, self._states = snapshot["policy"], snapshot["states"]
        self._out.clear()
        self._decisions.clear()
        for asked, arm, size, states in snapshot["ahead"]:
            if asked:
                name = self.plan.names[arm]
                self._out[self._asked] = self._batch(self._asked, name, size, states[name])
                self._asked += 1
            else:
                self._decisions.append(_Decision(arm, size, states))

    # -- what is known

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands, on what was told in ticket order without a gap."""
        ledger, told = self.ledger, self._told

        def look() -> Look:
            if told != (self._told if self._lane is None else len(self._lane.values)):
                raise PlanError(f"progress at ticket {told} is out of date: read it before a tell")
            if ledger.origin is None:
                raise PlanError("nothing has been told yet: there is no estimate")
            seen, scalar = self._estimate(), self._history.scalar
            value, stderr = shaped(seen.value, scalar), shaped(seen.stderr, scalar)
            width, ready = shaped(seen.half_width, scalar), seen.interval.ready(seen.pooled)
            logs = None if seen.logs is None else tuple([shaped(row, scalar) for row in seen.logs])
            return Look(value, stderr, width, ready, logs)

        draws, cost = int(ledger.draws), ledger.spent
        leader = self.plan.names[int(ledger.cost.argmax())]
        return Progress(draws, cost, self._reported, told, seconds, leader, look)

    def _pool(self) -> Pooled:
        """Combine the arms, once for all that look at what was booked."""
        if self._pooled is None:
            self._pooled = pool(self._ledger, self._combiner)
        return self._pooled

    def _estimate(self) -> Estimate:
        """Return the estimate from all that was told, made once as well."""
        with quiet() if self.plan.log else nullcontext():
            pooled, known = self._pool(), self._estimated
            if known is None or known.pooled is not pooled or known.interval is not self.interval:
                known = estimate_of(self.plan, self._ledger, pooled, self.interval)
                self._estimated = known
            return known

    def result(self) -> Result:
        """Return the answer from everything told so far."""
        self._book()
        history = self._history.view(self.interval)
        # An interrupt may have torn the ledger, never a row of the history.
        ledger = history.ledger() if self._booking else self._ledger
        whole = not self._booking and not self._arrived and ledger.origin is not None
        if self._arrived:  # told, but some older ticket is still out
            ledger = ledger.copy()
            history.own()
            for ticket in sorted(self._arrived):
                outcome = self._arrived[ticket]
                with quiet():
                    ledger.add(self._index[outcome.arm], outcome)
                history.append(self._index[outcome.arm], outcome)
        if ledger.origin is None:
            raise PlanError("nothing has been told yet: there is no result")
        seen = self._estimate() if whole else None
        result = result_of(
            self.plan, ledger, history, self._combiner, self.interval, self._tails, seen
        )
        out = self._out if self._lane is None else self._lane.out()
        if not out:
            return result
        missing = f"missing: the draws of tickets {_few(out)}, which are still out"
        return replace(result, warnings=(*result.warnings, missing))


def _plan(
    names: Sequence[str],
    rng: RandomLike,
    policy: Policy,
    combiner: Combiner,
    settings: Mapping[str, Any],
) -> Plan:
    known = {field.name for field in fields(Plan)} - {"names", "seed", "policy", "combine"}
    if unknown := sorted(set(settings) - known):
        settings_are = ", ".join(sorted(known))
        raise PlanError(f"unknown setting {unknown[0]!r}; the settings are {settings_are}")
    return Plan(
        names=names,  # type: ignore[arg-type]
        seed=seed_from(rng),
        policy=describe(policy),
        combine=name_of(combiner),
        **settings,
    )


def _but(things: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: thing for key, thing in things.items() if key != name}


def _few(things: Collection[Any]) -> str:
    shown = ", ".join(str(thing) for thing in list(things)[:5])
    return shown + (", ..." if len(things) > 5 else "")
