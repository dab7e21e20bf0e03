"""Allocator: the table of independent arms for users. Ask for a batch, tell its draws."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, overload

from numpy.typing import ArrayLike

from croupier.arms.base import Learner
from croupier.data.draws import Batch, Draws, Outcome
from croupier.data.history import Rows
from croupier.data.ledger import Ledger
from croupier.data.log_scale import arithmetic
from croupier.data.plan import Plan
from croupier.data.reduce_batch import chunks_of, outcome_of
from croupier.engines.hold_interrupts import interrupts_held
from croupier.errors import ArmError, PlanError
from croupier.estimates.combiners import Combiner, Stratified, as_combiner, name_of
from croupier.estimates.intervals import INTERVALS, FixedSize, Interval
from croupier.policies import MCUCB, Policy, as_policy, describe
from croupier.results.result import Result
from croupier.running.settings import AnytimeKind, anytime_kind_of
from croupier.running.table_log import TableLog
from croupier.running.told_by_hand import check_length, no_batch, ticket_of
from croupier.seeds import RandomLike, seed_from
from croupier.tables.aim import Aim
from croupier.tables.audit import audit_of
from croupier.tables.base import Progress, kind_of
from croupier.tables.independent import IndependentArms
from croupier.tables.strata_kind import strata_of
from croupier.tables.tickets import Tickets, few

if TYPE_CHECKING:
    from croupier.store.log import Store

__all__ = ["Allocator"]


class Allocator:
    """Deals a budget to independent arms: ask for a batch, draw it anywhere, tell its draws.

    `arms` are the names of the arms, or a whole Plan. `rng`, `policy`, `combine`, `anytime`,
    `confidence`, `objective`, `batch`, `width`, `keep_values`, `log` and `names` are the same as
    in `estimate`. With `log`, tell the logs of the draws, or `Draws(log_values=)`. Every draw costs
    1; with `unit="cost"` it costs what you tell. `weights` makes the arms strata, as in
    `stratify`. Give `anytime=True` if you look at the result to decide when to stop, or, with
    `bounds` for every arm, `interval="guaranteed"`. It is shortest if you say how many draws you
    expect, with `interval=cr.Guaranteed.at(draws=...)`.

    The decision for ticket t uses exactly the outcomes 0..t-width. They count in ticket order, and
    the order of arrival does not matter. With `width` 1, ask and tell alternate. With a larger
    `width`, that many batches may be out.

    With `store`, a path or a `Store`, the table survives the end of the process. Every batch is in
    the file before it is handed out, and every outcome before it counts. A table that is made
    again with the same arguments continues where it was, and the batches that were out are out
    again: see `out` and `ask_lost`. `close` frees the file; so does the end of a `with` block.

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
        weights: Sequence[float] | None = None,
        anytime: bool = False,
        interval: AnytimeKind | Interval | None = None,
        learners: Mapping[str, Learner] | None = None,
        store: str | os.PathLike[str] | Store | None = None,
        **settings: Any,
    ) -> None:
        self._log = None if store is None else TableLog(store)
        if isinstance(arms, Plan):
            own = {"rng": rng, "weights": weights, **settings}
            if given := [name for name, value in own.items() if value is not None]:
                raise PlanError(
                    f"the plan has its own {', '.join(given)}: change the plan, or give arm names"
                )
            plan, chosen = arms, as_policy(policy or arms.policy)
            combiner = as_combiner(combine) if combine else _combiner(plan, None)
            _same(plan, chosen, combiner)
        else:
            chosen = as_policy(policy or ("auto" if weights is None else MCUCB.name))
            plan = _plan(arms, rng, chosen, combine, weights, settings)
            combiner = _combiner(plan, combine)
        if self._log is not None:
            whole = isinstance(arms, Plan)
            seed, width = whole or rng is not None, whole or settings.get("width") is not None
            plan = self._log.plan_for(plan, seed=seed, width=width)
        self.plan = plan
        self._table = IndependentArms(
            plan,
            _interval(interval, anytime),
            policy=chosen,
            combiner=combiner,
            learners=learners,
        )
        if self._log is not None:
            weakref.finalize(self, self._log.close)  # also at the end of the process
            self._log.begin(self._table, set(learners or ()))

    @property
    def tickets(self) -> Tickets:
        """The book of what was asked and told."""
        return self._table.tickets

    @property
    def width(self) -> int:
        """How many batches may be out at once."""
        return self.plan.width

    @property
    def out(self) -> tuple[Batch, ...]:
        """The batches that are out, in the order of their tickets."""
        return self.tickets.out

    @property
    def ledger(self) -> Ledger:
        """What is known about the arms, from what was told in ticket order without a gap."""
        return self._table.known.books.ledger

    @property
    def interval(self) -> Interval:
        """How the error bar of the result is made."""
        return self._table.interval

    @interval.setter
    def interval(self, interval: Interval) -> None:
        self._table.interval = interval

    @property
    def aim(self) -> Aim:
        """Where a run is expected to stop that plays this table."""
        return self._table.aim

    @aim.setter
    def aim(self, aim: Aim) -> None:
        self._table.aim = aim

    @property
    def digest(self) -> Any:
        """What the policy needs to know about the draws besides their moments, if anything."""
        return self._table.digest

    # -- ask and tell

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within the budget that is left after everything told so far.

        None means: wait for the next tell (an older ticket is still out), or nothing is left.
        """
        table = self._table
        if self._log is None:
            return table.ask(draws_left, cost_left)
        self._log.check_usable()
        with interrupts_held():
            batch = table.ask(draws_left, cost_left)
            if batch is not None:
                self._log.asked(table)
        return batch

    def ask_lost(self, ticket: int) -> Batch:
        """Return the batch of a ticket that is out once more, to send it out again.

        It has the same ticket, arm, size, seed and state, so its draws have the same bits. If both
        answers come back, the first one counts, and the second is refused. A ticket cannot be
        withdrawn: nobody knows whether it was lost because of its values, and then the answer
        would be biased without it.
        """
        batch = self.tickets.lost(ticket_of(ticket))
        if self._log is not None:
            self._log.asked(self._table)
        return batch

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
        """Take the draws of a batch that was asked for. Batches may arrive in any order.

        `costs` is one number per draw, or one number for all draws, in the unit of the plan.
        Leave it out if every draw costs 1. A second answer for the same ticket is refused with a
        PlanError: the first one counts.
        """
        table = self._table
        if not isinstance(batch, Batch | Outcome):
            raise PlanError(no_batch(batch, table.tickets))
        if not isinstance(batch, Outcome):
            asked = table.tickets.asked_for(batch)
            batch = self._outcome(asked, self._draws(values, costs))
        with arithmetic(self.plan.log):
            if self._log is None:
                table.tell(batch)
                return
            table.tickets.asked_for(batch)
            table.known.check_components(batch)
            with interrupts_held():
                table.tell(self._log.keep(batch))
                self._log.told(table, batch.ticket)

    def _draws(self, values: ArrayLike | Draws | None, costs: ArrayLike | None) -> Draws:
        if isinstance(values, Draws):
            return values
        if self.plan.log:
            return Draws(None, costs, log_values=values)
        return Draws(values, costs)

    def _outcome(self, asked: Batch, draws: Draws) -> Outcome:
        if draws.costs is not None and self.plan.unit == "draws":
            raise PlanError(
                "costs were told, but every draw costs 1 in this plan: give unit='cost' to count "
                "them, or leave costs out"
            )
        if draws.costs is None and self.plan.unit != "draws":
            raise ArmError(
                f"the unit of the plan is {self.plan.unit}: tell(batch, values, costs) needs costs",
                arm=asked.arm,
                ticket=asked.ticket,
            )
        chunks = chunks_of(asked, draws, log=self.plan.log)
        try:
            with arithmetic(self.plan.log):
                return outcome_of(self.plan, asked, chunks, digest=self.digest)
        except ArmError:
            check_length(asked, draws.log_values if self.plan.log else draws.values)
            raise

    def ask_again(self, outcome: Outcome) -> Batch:
        """Return the batch of a stored outcome, as the batch of the next ticket."""
        return self._table.ask_again(outcome)

    # -- the store

    @property
    def store(self) -> Path | None:
        """The file that the table survives in; None without a store."""
        return None if self._log is None else self._log.path

    def close(self) -> None:
        """Close the store and free its lock. The result can still be read."""
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what is known

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands, from what was told in ticket order without a gap."""
        return self._table.progress(seconds)

    def result(self) -> Result:
        """Return the result from everything told so far."""
        result = self._table.result()
        return result if self._log is None else result.of_run(self._log.run_id)

    def snapshot(self) -> dict[str, Any] | None:
        """Return the whole state of the run except its history, for `go_on_from`."""
        return self._table.snapshot()

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Continue from a snapshot; `rows` is the history up to it."""
        self._table.go_on_from(snapshot, rows)


def _interval(interval: AnytimeKind | Interval | None, anytime: bool) -> Interval:
    """Return an interval that was given, or the one with its name."""
    if interval is None or isinstance(interval, str):
        kept = anytime_kind_of(interval, anytime)
        return FixedSize() if kept is None else INTERVALS[kept]
    return interval


#: The fields of a plan that an Allocator sets itself, from its other arguments.
_MADE: Final = {"names", "seed", "policy", "combine", "table", "settings"}


def _plan(
    names: Sequence[str],
    rng: RandomLike,
    policy: Policy,
    combine: str | Combiner | None,
    weights: Sequence[float] | None,
    settings: Mapping[str, Any],
) -> Plan:
    settings = {("components" if name == "names" else name): v for name, v in settings.items()}
    known = {field.name for field in fields(Plan)} - _MADE
    if unknown := sorted(set(settings) - known):
        settings_are = ", ".join(sorted(known | {"weights"}))
        if unknown[0] in ("draws", "cost", "seconds"):
            raise PlanError(f"{unknown[0]}= is no setting of a table: give ask what is left of it")
        raise PlanError(f"unknown setting {unknown[0]!r}; the settings are {settings_are}")
    usual = "guarded" if weights is None else Stratified.name
    described = describe(policy)
    batch = settings.get("batch", "growing")
    audit = audit_of(described, batch, shared_mean=weights is None)
    return Plan(
        names=names,  # type: ignore[arg-type]
        seed=seed_from(rng),
        policy=described,
        combine=usual if combine is None else name_of(as_combiner(combine)),
        **({} if weights is None else strata_of(weights, policy)),
        **{"audit": audit, **settings},
    )


def _combiner(plan: Plan, combine: str | Combiner | None) -> Combiner:
    """Return the combiner of a plan, or the user's own function: a plan has only its name."""
    if callable(combine):
        return combine
    of_kind = kind_of(plan.table).combiner
    if of_kind is None:
        raise PlanError(
            f"an Allocator deals to independent arms, but the plan has table={plan.table!r}: "
            "give a plan with table='independent' or table='strata'"
        )
    return of_kind(plan)


def _same(plan: Plan, policy: Policy, combiner: Combiner) -> None:
    """Refuse a policy or a combiner that is not the plan's."""
    played = {**describe(policy), "combine": name_of(combiner)}
    planned = {**plan.policy, "combine": plan.combine}
    if differing := {k for k in planned if k in played and planned[k] != played[k]}:
        raise PlanError(f"the plan has a different {few(differing)}: change the plan")
