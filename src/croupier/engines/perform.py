"""perform: draw one batch. Engine: what performs batches. Serial: right here, one by one."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from croupier.arms.base import Arm
from croupier.data.draws import Batch, Outcome
from croupier.data.log_scale import arithmetic
from croupier.data.plan import Plan
from croupier.data.reduce_batch import Chunk, outcome_of
from croupier.errors import ArmError, text_of

if TYPE_CHECKING:
    from croupier.policies.base import Digest

__all__ = ["Engine", "Serial", "own_arithmetic", "perform"]

#: How the caller of a run wants numpy to report errors: the arms are called in this state.
_callers_errstate: ContextVar[dict[str, Any] | None] = ContextVar("callers_errstate")


@contextmanager
def own_arithmetic() -> Iterator[None]:
    """Let croupier's own arithmetic not depend on np.errstate of the caller; the arms still do.

    >>> with np.errstate(all="raise"), own_arithmetic():
    ...     float(np.float64(1e-300) ** 2)
    0.0
    """
    theirs = np.geterr()
    with arithmetic(log=False):
        token = _callers_errstate.set(None if theirs == np.geterr() else {**theirs})
        try:
            yield
        finally:
            _callers_errstate.reset(token)


def perform(plan: Plan, arm: Arm, batch: Batch, digest: Digest | None = None) -> Outcome:
    """Draw a batch and reduce it to its outcome, on any worker: same ticket, same bits.

    >>> import numpy as np
    >>> plan = Plan(names=("coin",), seed=7)
    >>> coin = Arm(lambda rng, size: rng.random(size) < 0.5, name="coin")
    >>> perform(plan, coin, Batch(ticket=0, arm="coin", size=4, seed=7)).size
    4
    """
    return outcome_of(plan, batch, _calls(plan, arm, batch), digest=digest)


def _calls(plan: Plan, arm: Arm, batch: Batch) -> Iterator[Chunk]:
    """Call the arm for one chunk after the other, and time only these calls."""
    wall = time.perf_counter
    clock = None if plan.clock == "wall" else time.process_time
    draw, rng = arm.call(batch.state), batch.rng()
    process = os.getpid()
    # In another process, and for the arms that croupier makes, it is numpy's own.
    errstate = _callers_errstate.get(None)
    if errstate and str(getattr(arm.draw, "__module__", "")).startswith("croupier."):
        errstate = None
    left = batch.size
    while left:
        size = min(left, batch.chunk)
        begun = 0.0 if clock is None else clock()
        began = wall()
        try:
            if errstate is None:
                returned = draw(rng, size)
            else:
                with np.errstate(**errstate):
                    returned = draw(rng, size)
        except BaseException as error:  # an arm may raise what is not an Exception
            _end_copy(process, batch)
            if isinstance(error, KeyboardInterrupt):
                raise
            if isinstance(error, ArmError) and error.ticket is None:
                # The error says what is wrong; the ticket and the name in this run are added.
                raise error.at(batch.ticket, batch.arm) from error
            message = f"raised {type(error).__name__}: {text_of(error)}{_way_out(error)}"
            raise ArmError(message, arm=batch.arm, ticket=batch.ticket, value=error) from error
        seconds = wall() - began
        cost = seconds if clock is None else clock() - begun
        if os.getpid() != process:
            _end_copy(process, batch)
        yield Chunk(size, returned, seconds, cost)
        left -= size


#: What numpy says if a function of one number is called with an array.
_ONE_NUMBER: Final = (
    "arrays can be converted to Python scalars",
    "truth value of an array with more than one element",
)


def _way_out(error: BaseException) -> str:
    """Return what helps if an arm works for one draw only, else nothing."""
    said = text_of(error)
    if not any(text in said for text in _ONE_NUMBER):
        return ""
    return (
        "; one call makes many draws: use functions of numpy that take arrays, such as np.exp, "
        "np.where and np.maximum, or wrap an arm that makes one draw in cr.scalar"
    )


def _end_copy(process: int, batch: Batch) -> None:
    """End this process if the arm has made it by a fork: it must not play the run a second time."""
    if os.getpid() == process:
        return
    said = (
        f"croupier: arm {batch.arm!r}, ticket {batch.ticket}: it called os.fork, and the new "
        f"process {os.getpid()} came back from the arm; that process is ended. End it in the arm, "
        "with os._exit(0)\n"
    )
    with suppress(OSError):
        os.write(2, said.encode(errors="replace"))  # not print: buffers belong to the other process
    os._exit(1)


class Engine(Protocol):
    """Takes batches from the loop, and returns outcomes in the order of their tickets.

    `keep` is called with every outcome as soon as it arrives, in the order of arrival.
    """

    keep: Callable[[Outcome], None]

    def __len__(self) -> int:
        """Return how many batches are out."""

    def submit(self, batch: Batch) -> None:
        """Take a batch."""

    def next(self) -> Outcome:
        """Return the outcome of the oldest batch that is out."""

    def rest(self, seconds: float) -> Iterator[Outcome]:
        """Return what is finished, or will be within `seconds`; give up the other batches."""

    def close(self) -> None:
        """Release everything that the engine holds."""


class Serial:
    """Performs one batch after the other, in this process, in the order of their tickets."""

    def __init__(self, plan: Plan, arms: Mapping[str, Arm], digest: Digest | None) -> None:
        self._plan, self._arms, self._digest = plan, arms, digest
        self._queue: deque[Batch] = deque()
        self.keep: Callable[[Outcome], None] = _unkept

    def __len__(self) -> int:
        return len(self._queue)

    def submit(self, batch: Batch) -> None:
        """Take a batch; it is drawn only when `next` is called."""
        self._queue.append(batch)

    def next(self) -> Outcome:
        """Return the outcome of the oldest batch that is out."""
        batch = self._queue[0]
        outcome = perform(self._plan, self._arms[batch.arm], batch, self._digest)
        self.keep(outcome)
        self._queue.popleft()
        return outcome

    def rest(self, seconds: float) -> Iterator[Outcome]:
        """Give up the batches that are out: none of them has been drawn."""
        self._queue.clear()
        yield from ()

    def close(self) -> None:
        """Let go of who was told, who has this engine: both are freed at once."""
        self.keep = _unkept


def _unkept(outcome: Outcome) -> None:
    """Keep nothing."""
