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

__all__ = ["KINDS", "Example", "Kind", "Look", "Progress", "Reading", "Snapped", "Table", "kind_of",
           "load", "register", "restore"]  # fmt: skip


class Look(NamedTuple):
    """One look at the estimate: numbers for scalar draws, arrays for vectors.

    `logs` are log(value), and the standard error and the half-width of it, in a run of logs.
    """

    value: Any
    stderr: Any
    half_width: Any
    ready: bool
    logs: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, seen: Estimate, *, ready: bool, scalar: bool = True) -> Look:
        """Return the look at an estimate; `ready` if a tolerance may stop the run on it."""
        value, stderr = shaped(seen.value, scalar), shaped(seen.stderr, scalar)
        logs = None if seen.logs is None else tuple([shaped(row, scalar) for row in seen.logs])
        return cls(value, stderr, shaped(seen.half_width, scalar), ready, logs)


@dataclass(eq=False)
class Progress:
    """Where a run stands: what `callback` and the stopping rules see after every told ticket.

    `cost` is in the unit of the plan, `reported` what the arms say that they cost. `half_width` is
    that of the interval which the run will report; `leader` is the arm with the most cost;
    `ready` tells whether enough is known for a tolerance to stop the run. The estimate is made
    when it is first read, which must be before the next tell. In a run with ``log=True``
    `log_value`, `log_stderr` and `log_half_width` are on the scale of logs, else None.
    """

    draws: int
    cost: float
    reported: float
    tickets: int
    seconds: float
    leader: str
    look_now: Callable[[], Look] = field(repr=False)

    @cached_property
    def _look(self) -> Look:
        return self.look_now()

    @property
    def value(self) -> Any:
        """The estimate so far."""
        return self._look.value

    @property
    def stderr(self) -> Any:
        """Its standard error."""
        return self._look.stderr

    @property
    def half_width(self) -> Any:
        """The half-width of its interval."""
        return self._look.half_width

    @property
    def log_value(self) -> Any:
        """The log of the estimate so far, in a run of logs."""
        return None if self._look.logs is None else self._look.logs[0]

    @property
    def log_stderr(self) -> Any:
        """Its standard error: that of the estimate, relative to it."""
        return None if self._look.logs is None else self._look.logs[1]

    @property
    def log_half_width(self) -> Any:
        """The half-width of its interval."""
        return None if self._look.logs is None else self._look.logs[2]

    @property
    def ready(self) -> bool:
        """Whether enough is known for a tolerance to stop the run."""
        return self._look.ready


class Table(Protocol):
    """What a run is played at: it knows no process, no clock and no file.

    `tickets` is its book of what was asked and told. `interval` makes the error bar; the loop may
    set another one. A policy's `digest(plan, arm, draws, rng)`, if the table has one under that
    name, is called where the draws are made.
    """

    plan: Plan
    tickets: Tickets

    @property
    def interval(self) -> Interval:
        """How the error bar is made."""

    @interval.setter
    def interval(self, interval: Interval) -> None: ...

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch; None if there is none before the next tell, or none left.

        `draws_left` and `cost_left` are what is left of a budget after all that was told.
        """

    def tell(self, outcome: Outcome) -> None:
        """Take what came of a batch, in any order of arrival."""

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome, with its own arm and size; tell it in its turn.

        None: not before the next tell.
        """

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; cheap, because it looks only when asked."""

    def result(self) -> Result:
        """Return the answer so far."""


@runtime_checkable
class Snapped(Protocol):
    """A table that need not be told everything again when a stored run is resumed."""

    def snapshot(self) -> dict[str, Any] | None:
        """Return all that a run has come to, except its history; None if that cannot be said now.

        Its arrays are the table's own: write them down before the next tell.
        """

    def go_on_from(self, snapshot: Mapping[str, Any], rows: Rows) -> None:
        """Go on where a snapshot was taken; `rows` are those of all that had been told."""


def restore(table: Table, outcome: Outcome) -> None:
    """Tell a table a stored outcome, in place of the next ticket's ask."""
    if table.ask_again(outcome) is None:
        raise PlanError(f"ticket {outcome.ticket} cannot be told before the tickets that are out")
    table.tell(outcome)


class Reading(NamedTuple):
    """What is known of a stored run besides its plan.

    `combine` is the combiner, if it is a function of the user's own; `learns` are the names of
    the arms that learn.
    """

    interval: Interval
    combine: Combiner | None = None
    learns: frozenset[str] = frozenset()


class Example(NamedTuple):
    """A small run at a table of a kind, for the contract tests: its plan, and its arms."""

    plan: Plan
    arms: tuple[Arm, ...]


#: From runs of one kind and of the same arms to one result: the level of the interval, its kind,
#: and the combiner, if it is a function of the user's own.
Merge: TypeAlias = Callable[[Sequence[Result], float, Interval, Combiner | None], Result]


@dataclass(frozen=True)
class Kind:
    """What others must know of a kind of table: how it is made, read, merged and shown.

    Args:
        name: What a plan records as its `table`.
        make: Makes the table that a run is played at, from a plan and an interval.
        read: Makes the table that the outcomes of a store are told to, of which nothing is asked.
            By default `make` does that too.
        shared_mean: Whether all arms estimate the same number.
        anytime: Whether an interval that holds at all times is possible.
        combiner: The combiner that a plan names, if the estimate is made by one.
        merge: How runs of the same arms become one result: by default each run is weighed by
            the precision that it reports.
        rows: What the rows of its results show,
        loss: and what the efficiency in a row is the inverse of.
        example: A small run for the contract tests, which play every kind in the registry.
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
    example: Callable[[], Example] | None = None

    def read_back(self, plan: Plan, reading: Reading) -> Table:
        """Return a table that the outcomes of a store can be told to."""
        if self.read is None:
            return self.make(plan, reading.interval)
        return self.read(plan, reading)


#: Where the kinds of tables live: modules with a `KIND`, loaded when a run or a store names one.
KINDS: Final[dict[str, str | Kind]] = {
    "independent": "croupier.tables.independent",
    "strata": "croupier.tables.strata",
    "mixture": "croupier.importance.mixture_kind",
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

    A store records the name alone. So a program that opens the store of such a run imports the
    module that registers the kind, before it does; ``croupier show --import module`` does it, too.
    """
    known = KINDS.get(kind.name)
    if isinstance(known, str) or not isinstance(kind, Kind):
        raise PlanError(f"{kind.name!r} is a kind of table that croupier has: choose another name")
    KINDS[kind.name] = kind
    return kind
