"""Table: what a run is played at. The protocol that the loop plays, and the registry of kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from croupier.arms.base import Arm
from croupier.data.draws import Batch, Outcome
from croupier.data.history import Rows
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.combiners import Combiner
from croupier.estimates.estimate import Estimate, shaped
from croupier.estimates.intervals import Interval
from croupier.results.make_result import Loss, cost_times_variance
from croupier.results.merging import run_by_run
from croupier.results.result import Result
from croupier.results.rows import RowMeaning
from croupier.tables.tickets import Tickets

__all__ = ["KINDS", "Example", "Kind", "Progress", "Reading", "Snapped", "Table", "kind_of",
           "load", "register", "restore"]  # fmt: skip


@dataclass(eq=False)
class Progress:
    """Where a run stands: what `callback` and the stopping rules see after every told ticket.

    `cost` is in the unit of the plan; `reported` is the cost that the arms report. `half_width` is
    the half-width of the interval that the run will report. `leader` is the arm with the most
    cost. `ready` says whether enough is known for a tolerance to stop the run. The estimate is
    made when it is first read; read it before the next tell. In a run with ``log=True``,
    `log_value`, `log_stderr` and `log_half_width` are on the scale of logs; otherwise they are
    None.
    """

    draws: int
    cost: float
    reported: float
    tickets: int
    seconds: float
    leader: str
    scalar: bool
    estimate_now: Callable[[], Estimate] = field(repr=False)
    ready_now: Callable[[Estimate], bool] = field(repr=False)

    @cached_property
    def _estimate(self) -> Estimate:
        return self.estimate_now()

    @property
    def value(self) -> Any:
        """The estimate so far."""
        return shaped(self._estimate.value, self.scalar)

    @property
    def stderr(self) -> Any:
        """The standard error of the estimate."""
        return shaped(self._estimate.stderr, self.scalar)

    @property
    def half_width(self) -> Any:
        """The half-width of the interval."""
        return shaped(self._estimate.half_width, self.scalar)

    @property
    def log_value(self) -> Any:
        """The log of the estimate so far, in a run of logs."""
        return self._log(0)

    @property
    def log_stderr(self) -> Any:
        """The standard error of `log_value`: the relative standard error of the estimate."""
        return self._log(1)

    @property
    def log_half_width(self) -> Any:
        """The half-width of the interval of `log_value`."""
        return self._log(2)

    def _log(self, row: int) -> Any:
        logs = self._estimate.logs
        return None if logs is None else shaped(logs[row], self.scalar)

    @cached_property
    def ready(self) -> bool:
        """Whether enough is known for a tolerance to stop the run."""
        return self.ready_now(self._estimate)


class Table(Protocol):
    """What a run is played at. A table does not know about processes, clocks or files.

    `tickets` is the book of what was asked and told. `interval` makes the error bar; the loop may
    set another one. A table may also have the function `digest(plan, arm, draws, rng)` of its
    policy. It is called in the process that makes the draws.
    """

    plan: Plan
    tickets: Tickets

    @property
    def interval(self) -> Interval:
        """How the error bar is made."""

    @interval.setter
    def interval(self, interval: Interval) -> None: ...

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch; None if it must wait for the next tell, or if nothing is left.

        `draws_left` and `cost_left` are what is left of the budget after everything told so far.
        """

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch. Outcomes may arrive in any order."""

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome, with the same arm and size; its tell comes later.

        None means: wait for the next tell.
        """

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands. This is cheap: the estimate is made when it is read."""

    def result(self) -> Result:
        """Return the result so far."""


@runtime_checkable
class Snapped(Protocol):
    """A table that can continue a stored run from a snapshot, without telling it everything."""

    def snapshot(self) -> dict[str, Any] | None:
        """Return the whole state of a run except its history; None if this is not possible now.

        The arrays are not copies: store them before the next tell.
        """

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Continue from a snapshot; `rows` is the history up to it."""


def restore(table: Table, outcome: Outcome) -> None:
    """Tell a table a stored outcome, as the outcome of the next ticket."""
    if table.ask_again(outcome) is None:
        raise PlanError(f"ticket {outcome.ticket} cannot be told before the tickets that are out")
    table.tell(outcome)


class Reading(NamedTuple):
    """What is known about a stored run besides its plan.

    `combine` is the combiner, if it is the user's own function. `learns` has the names of the arms
    that learn.
    """

    interval: Interval
    combine: Combiner | None = None
    learns: frozenset[str] = frozenset()


class Example(NamedTuple):
    """A small run at one kind of table, for the contract tests: its plan and its arms."""

    plan: Plan
    arms: tuple[Arm, ...]


#: Makes one result from runs of the same kind and the same arms. The arguments are the runs, the
#: level of the interval, its kind, and the combiner if it is the user's own function.
Merge: TypeAlias = Callable[[Sequence[Result], float, Interval, Combiner | None], Result]


@dataclass(frozen=True)
class Kind:
    """A kind of table: how it is made, read, merged and shown.

    Args:
        name: What a plan records as its `table`.
        make: Makes the table that a run is played at, from a plan and an interval.
        read: Makes a table that is told the outcomes of a store and is never asked. By default
            this is `make`.
        shared_mean: Whether all arms estimate the same number.
        anytime: Whether an interval that holds at all times is possible.
        combiner: Returns the combiner that a plan names, if a combiner makes the estimate.
        merge: Makes one result from runs of the same arms. By default each run is weighted by the
            precision that it reports.
        rows: What the rows of a result show.
        loss: The efficiency in a row is the smallest loss divided by the loss of the arm.
        own_arms: Whether croupier makes and names the arms. Then a store with other arms is from
            another version of croupier.
        example: A small run for the contract tests. They play every kind in the registry.
    """

    name: str
    make: Callable[[Plan, Interval], Table]
    read: Callable[[Plan, Reading], Table] | None = None
    shared_mean: bool = True
    anytime: bool = True
    combiner: Callable[[Plan], Combiner] | None = None
    merge: Merge = run_by_run
    rows: RowMeaning = field(default_factory=RowMeaning)
    loss: Loss = cost_times_variance
    own_arms: bool = False
    example: Callable[[], Example] | None = None

    def read_back(self, plan: Plan, reading: Reading) -> Table:
        """Return a table that the outcomes of a store can be told to."""
        if self.read is None:
            return self.make(plan, reading.interval)
        return self.read(plan, reading)


#: The kinds of tables by name: a module with a `KIND` (loaded when it is needed), or the kind.
KINDS: Final[dict[str, str | Kind]] = {
    "independent": "croupier.tables.independent",
    "strata": "croupier.tables.strata_kind",
    "mixture": "croupier.importance.mixture_kind",
    "race": "croupier.integration.race",
    "probability": "croupier.rare.rare_kind",
    "evidence": "croupier.annealing.evidence_kind",
    "continuum": "croupier.tables.continuum_kind",
}


def kind_of(name: str) -> Kind:
    """Return a kind of table by its name.

    >>> kind_of("strata").shared_mean
    False
    """
    home = KINDS.get(name)
    if home is None:
        raise PlanError(
            f"unknown kind of table {name!r}; the kinds are {', '.join(sorted(KINDS))}: import "
            "the module that registers it first, see croupier.tables.base.register"
        )
    if isinstance(home, Kind):
        return home
    kind: Kind = import_module(home).KIND
    return kind


def load(module: str) -> None:
    """Import a module of the user's own that registers kinds of tables."""
    try:
        import_module(module)
    except ImportError as error:
        raise PlanError(f"the module {module!r} cannot be imported: {error}") from error


def register(kind: Kind) -> Kind:
    """Add a kind of table to the registry, for this process.

    A store records only the name. A program that opens such a store must first import the module
    that registers the kind. ``croupier show --import module`` does this too.
    """
    known = KINDS.get(kind.name)
    if isinstance(known, str) or not isinstance(kind, Kind):
        raise PlanError(f"croupier already has a kind of table {kind.name!r}: choose another name")
    KINDS[kind.name] = kind
    return kind
