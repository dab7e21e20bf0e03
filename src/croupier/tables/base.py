"""Table: the protocol that the loop plays. Allocator is the table of independent arms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from croupier.data.draws import Batch, Outcome
from croupier.results.result import Result

__all__ = ["Look", "Progress", "Table"]


class Look(NamedTuple):
    """One look at the estimate: numbers for scalar draws, arrays for vectors.

    `logs` are log(value), and the standard error and the half-width of it, in a run of logs.
    """

    value: Any
    stderr: Any
    half_width: Any
    ready: bool
    logs: tuple[Any, ...] | None = None


@dataclass(eq=False)
class Progress:
    """Where a run stands: what `callback` and the stopping rules see after every told ticket.

    `cost` is in the unit of the plan, `reported` what the arms say that they cost. `half_width` is
    that of the interval which the run will report; `leader` the arm that most
    was spent on; `ready` tells whether enough is known for a tolerance to stop the run. The
    estimate is made when it is first read, which must be before the next tell. In a run with
    ``log=True`` `log_value`, `log_stderr` and `log_half_width` are on the scale of logs, else None.
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
    """What a run is played at: it knows no process, no clock and no file."""

    @property
    def width(self) -> int:
        """How many batches may be out at once."""

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch; None if there is none before the next tell, or none left."""

    def tell(self, outcome: Outcome) -> None:
        """Take what came of a batch, in any order of arrival."""

    def restore(self, outcome: Outcome) -> None:
        """Take a stored outcome, with its own arm and size, in ticket order."""

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome, with its own arm and size; tell it in its turn.

        None: not before the next tell.
        """

    @property
    def asked(self) -> int:
        """How many tickets were asked for: the next one's number."""

    @property
    def out(self) -> tuple[Batch, ...]:
        """The batches that are out, in the order of their tickets."""

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; cheap, because it looks only when asked."""

    def result(self) -> Result:
        """Return the answer so far."""
