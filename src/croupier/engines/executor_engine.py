"""Pool: the driver's side of any executor. Outcomes come back in the order of their tickets.

Measured times decide which worker performs a batch, and which batches travel together. They do
not change the outcome of a ticket: it depends on the seed and the ticket alone.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from croupier.arms.base import Arm
from croupier.data.draws import Batch, Outcome
from croupier.data.plan import Plan
from croupier.engines.broken_executors import PATIENCE, SILENCE, TRIES, Connection, Connections
from croupier.engines.executors import Executors
from croupier.engines.hold_interrupts import held
from croupier.engines.packing import named, unloadable, unpacked
from croupier.engines.remote import Failure, RunParts, too_long
from croupier.errors import ArmError, CroupierError

if TYPE_CHECKING:
    from croupier.policies.base import Digest

__all__ = ["Pool"]

#: A task should last at least this many times as long as a trip to a worker and back. Shorter
#: batches share one task, unless another worker would have nothing to do.
_WORTH: Final = 10

#: The most that a trip to a worker and back may count, in seconds: a measured trip may have waited
#: for other programs, and then long batches would travel together.
_LONGEST_TRIP: Final = 5e-3

#: After an arm has failed, older tickets have this many seconds to come back.
_LAST_WAIT: Final = 1.0


@dataclass(eq=False)
class _Task:
    """Batches that travel together; `executor` is that of the connection at that time."""

    batches: Sequence[Batch]
    connection: Connection
    executor: Executor
    began: float


class Pool:
    """Performs batches on the executors of a run, and retries what dies with its worker.

    If a worker dies, its tickets are sent again; a ticket is tried three times at most. If an arm
    fails, the run ends with an ArmError. It is the error of the oldest ticket that failed, as far
    as older tickets come back in time.
    """

    def __init__(
        self, plan: Plan, arms: Mapping[str, Arm], digest: Digest | None, executors: Executors
    ) -> None:
        self._executors, self._arms = executors, arms
        self.keep: Callable[[Outcome], None] = lambda outcome: None
        self._out: deque[int] = deque()
        self._waiting: deque[Batch] = deque()
        self._tasks: dict[Future[Any], _Task] = {}
        self._done: dict[int, Outcome] = {}
        self._failed: dict[int, ArmError] = {}
        self._impatient, self._stuck = math.inf, False
        self._lost: Counter[int] = Counter()
        self._suspects: set[int] = set()
        self._pace: dict[str, float] = {}
        self._arrived: SimpleQueue[Future[Any]] = SimpleQueue()
        self._connections = Connections(
            RunParts(plan, arms, digest), executors, self._out, self._arrived
        )
        try:
            self._connections.open()
            trip = min(self._visit() for _ in range(3))
        except BaseException:
            self.close()
            raise
        self._trip = min(trip, _LONGEST_TRIP)
        self._worth = _WORTH * self._trip

    def __len__(self) -> int:
        return len(self._out)

    def submit(self, batch: Batch) -> None:
        """Take a batch; a long batch is sent at once, short batches wait to travel together."""
        self._out.append(batch.ticket)
        self._waiting.append(batch)
        if self._seconds(batch) >= self._worth:
            self._ship()

    def next(self) -> Outcome:
        """Return the outcome of the oldest batch that is out."""
        ticket = self._out[0]
        self._collect(wait=False)
        while ticket not in self._done:
            if ticket in self._failed or time.perf_counter() > self._impatient:
                raise self._failed[min(self._failed)]
            self._ship()
            self._collect(wait=True)
        self._out.popleft()
        return self._done.pop(ticket)

    def rest(self, seconds: float) -> Iterator[Outcome]:
        """Return what else is finished, or will be within `seconds`; nothing is sent."""
        until = time.perf_counter() + seconds
        self._waiting.clear()
        while True:
            for future in [future for future in self._tasks if future.done()]:
                with suppress(CroupierError):
                    self._settle(future)
            left = until - time.perf_counter()
            if not self._tasks or left <= 0:
                break
            with suppress(Empty):
                self._arrived.get(timeout=min(left, PATIENCE))
        while self._out:
            if (outcome := self._done.pop(self._out.popleft(), None)) is not None:
                yield outcome

    def close(self) -> None:
        """Release the workers; if the run owns them, their work is ended."""
        for future in self._tasks:
            future.cancel()
        idle = all(future.done() for future in self._tasks)
        self._connections.close(idle=idle, stuck=self._stuck)

    # -- out

    def _visit(self) -> float:
        """Return how many seconds a trip to a worker and back takes."""
        began = time.perf_counter()
        self._connections.visit()
        return time.perf_counter() - began

    def _seconds(self, batch: Batch) -> float:
        """Return how many seconds a batch will take; infinity if this is not known."""
        if self._arms[batch.arm].timeout is not None or self._lost[batch.ticket]:
            return math.inf  # travels alone, so that it is clear which batch failed
        return batch.size * self._pace.get(batch.arm, math.inf)

    def _free(self) -> Connection | None:
        """Return a connection that can take a task now."""
        busy: set[Connection] = set()
        if self._executors.solo or self._suspects:
            busy = {task.connection for future, task in self._tasks.items() if not future.done()}
        return self._connections.free(busy)

    def _ship(self) -> None:
        """Send the batches that are waiting, as long as there are free connections."""
        oldest_failed = min(self._failed, default=math.inf)
        while (
            self._waiting
            and self._waiting[0].ticket < oldest_failed
            and (connection := self._free()) is not None
        ):
            self._send(connection, self._for_one_task())

    def _for_one_task(self) -> list[Batch]:
        """Take batches that together are worth a trip, and leave the other workers their share."""
        share = sum(map(self._seconds, self._waiting)) / self._executors.workers
        enough = min(self._worth, max(self._trip, share))
        batches = [self._waiting.popleft()]
        seconds = self._seconds(batches[0])
        while seconds < enough and self._waiting:
            more = self._seconds(self._waiting[0])
            if more >= self._worth:
                break
            seconds += more
            batches.append(self._waiting.popleft())
        return batches

    def _send(
        self, connection: Connection, batches: Sequence[Batch], blob: bytes | None = None
    ) -> None:
        call = self._connections.call(batches, blob)
        task = _Task(batches, connection, connection.executor, time.perf_counter())
        try:
            future = connection.executor.submit(*call)
        except Exception as error:  # it broke, or was shut down, a moment ago
            self._waiting.extendleft(reversed(batches))
            self._connections.replace(connection, connection.executor, error)
            return
        self._tasks[future] = task
        self._connections.moved()
        future.add_done_callback(self._arrived.put)

    # -- back

    def _collect(self, *, wait: bool, patience: float = PATIENCE) -> None:
        """Take in what has arrived; with `wait`, wait for something to arrive."""
        if wait and self._arrived.empty():
            try:
                self._settle(self._arrived.get(timeout=min(patience, self._end_hung())))
            except Empty:
                self._connections.watch()
        while not self._arrived.empty():
            self._settle(self._arrived.get())

    def _settle(self, future: Future[Any]) -> None:
        """Take in the reply of a task."""
        self._connections.moved()
        task = self._tasks.pop(future, None)
        if task is None:  # a greeting
            return
        try:
            reply = future.result()
        except (Exception, CancelledError) as error:
            self._bury(task, error)
            return
        if reply is None:
            self._send(task.connection, task.batches, self._connections.blob)
            return
        if isinstance(reply, str):
            self._fail(task.batches[0], unloadable(reply))
            return
        task.connection.useless = 0
        with held:  # all that came back together is kept
            for batch, packed in zip(task.batches, reply, strict=True):
                self._take(batch, packed)

    def _take(self, batch: Batch, packed: Any) -> None:
        """Take in what came back for one batch."""
        came = packed if self._connections.here else unpacked(batch, packed)
        if isinstance(came, Failure):
            if came.fatal:
                self._fail(batch, came)
            else:
                self._again(batch, came.message)
            return
        self._suspects.discard(batch.ticket)
        self.keep(came)
        self._done[batch.ticket] = came
        self._pace[batch.arm] = came.seconds / came.size

    def _fail(self, batch: Batch, why: Failure | str) -> None:
        """Remember that a batch has failed; from now on the run waits only a short time."""
        if isinstance(why, Failure):
            error = why.error()
        else:
            error = ArmError(why, arm=batch.arm, ticket=batch.ticket)
        self._failed.setdefault(batch.ticket, error)
        self._impatient = min(self._impatient, time.perf_counter() + _LAST_WAIT)

    def _bury(self, task: _Task, error: BaseException) -> None:
        """Send the batches of a dead worker again, one by one."""
        if isinstance(error, BrokenExecutor):
            task.connection.useless = (
                -1
            )  # it took a task, so the batch is to blame, not the executor
            self._connections.replace(task.connection, task.executor, error)
        for batch in reversed(task.batches):
            self._again(batch, named(error))
            if isinstance(error, BrokenExecutor) and self._lost[batch.ticket] == TRIES - 1:
                # All batches that were out fail together. The one that fails alone is to blame.
                self._suspects.add(batch.ticket)

    def _again(self, batch: Batch, cause: str) -> None:
        self._lost[batch.ticket] += 1
        if self._lost[batch.ticket] >= TRIES:
            self._fail(
                batch,
                f"its worker died {TRIES} times at this batch of {batch.size} ({cause}); check "
                "whether the arm runs out of memory, or crashes in compiled code",
            )
        else:
            self._waiting.appendleft(batch)

    def _end_hung(self) -> float:
        """Fail the batches that are beyond their timeout; return how long to wait at most."""
        patience = min(PATIENCE, max(0.0, self._impatient - time.perf_counter()))
        if not self._executors.solo:
            self._end_silent()
            return patience
        now = time.perf_counter()
        for future, task in self._tasks.items():
            batch = task.batches[0]
            timeout = self._arms[batch.arm].timeout
            if timeout is not None and not future.done() and batch.ticket not in self._failed:
                left = task.began + timeout - now
                if left <= 0:
                    self._fail(batch, too_long(timeout))
                patience = min(patience, max(0.0, left))
        return patience

    def _end_silent(self) -> None:
        """Fail the oldest batch if the processes of a shared executor must have been heard of.

        They watch the time themselves, but not if an arm holds the GIL or if they are stopped.
        """
        batches = [batch for task in self._tasks.values() for batch in task.batches]
        timeouts = [self._arms[batch.arm].timeout or math.inf for batch in batches]
        longest = max(timeouts, default=math.inf)
        if (
            self._connections.silent() > max(SILENCE, 2 * longest)
            and self._connections.on_this_machine
        ):
            self._stuck = True
            self._fail(
                min(batches, key=lambda batch: batch.ticket),
                f"{too_long(longest)}; its worker is stopped, or the arm holds Python's "
                "lock (GIL) in compiled code",
            )
