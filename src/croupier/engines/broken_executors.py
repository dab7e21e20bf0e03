"""Connections: start the executors of a run, send them the arms, and replace one that breaks."""

from __future__ import annotations

import logging
import reprlib
import time
import warnings
from collections.abc import Collection, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from queue import SimpleQueue
from typing import Any, Final
from uuid import uuid4

from croupier.data.draws import Batch
from croupier.engines import remote
from croupier.engines.concurrent_futures import has_processes, let_go
from croupier.engines.executors import Executors
from croupier.engines.packing import named, packed_batches, packed_parts, unloadable
from croupier.engines.remote import RunParts
from croupier.errors import CroupierWarning, PlanError, callers_level, text_of

__all__ = ["PATIENCE", "SILENCE", "TRIES", "Connection", "Connections"]

#: A ticket has failed after so many deaths of its worker. At most so many executors in a row may
#: break before they have taken a single task.
TRIES: Final = 3

#: The longest single wait, in seconds: on some systems Ctrl-C does not interrupt a longer wait.
PATIENCE: Final = 1.0

#: After this many seconds in which nothing was sent and nothing came back, ask whether anything
#: still can. A process of a pool takes a few seconds to start on a busy machine.
SILENCE: Final = 10.0

_log = logging.getLogger("croupier")


@dataclass(eq=False)
class Connection:
    """An executor, the greeting that it must answer first, and how many broke without a task."""

    executor: Executor
    greeting: Future[Any]
    useless: int = 0


class Connections:
    """The executors of a run, and the parts of the run that their workers need.

    `here` says whether the workers are threads of this process. `blob` is the pickled parts, if
    there are other processes. `out` are the tickets that are out, for a message. Answered
    greetings go to `arrived`.
    """

    def __init__(
        self,
        parts: RunParts,
        executors: Executors,
        out: Collection[int],
        arrived: SimpleQueue[Future[Any]],
    ) -> None:
        self._parts, self._executors, self._out, self._arrived = parts, executors, out, arrived
        self.here = False
        self.blob: bytes | None = None
        self._key = uuid4().hex
        self._sent = uuid4().int
        self._connections: list[Connection] = []
        self.moved()

    def moved(self) -> None:
        """Note that something was sent, or has come back."""
        self._last_move, self._warned = time.perf_counter(), False

    def silent(self) -> float:
        """Return for how many seconds nothing was sent and nothing came back."""
        return time.perf_counter() - self._last_move

    def open(self) -> None:
        """Start the workers and send them the arms; an arm that cannot be sent is refused here."""
        connections = self._executors.workers if self._executors.solo else 1
        if self._executors.solo:
            self._pack()
        for _ in range(connections):
            executor = self._executors.start()
            self._connections.append(Connection(executor, self._greeting(executor, self.blob)))
        replies = [self._greeted(connection) for connection in self._connections]
        if not self._executors.solo:
            self.here = replies[0] == remote.here()
            if self.here:
                self._refuse_timeouts()
                remote.keep(self._key, self._parts)
            else:
                self._pack()
                self._greet_again(self._connections[0])
                self._greeted(self._connections[0])

    def visit(self) -> None:
        """Make a trip to a worker and back."""
        connection = self._connections[0]
        while True:
            try:
                self._answer(self._greeting(connection.executor, None))
                return
            except (Exception, CancelledError) as error:
                self._mend(connection, error)
                self._greeted(connection)

    def watch(self) -> None:
        """Let the executors notice what will never come back; say so if there are no workers."""
        for connection in self._connections:
            self._executors.watch(connection.executor)
            if (
                self.silent() < SILENCE
                or self._warned
                or self._executors.count(connection.executor) != 0
            ):
                continue
            self._warned = True
            text = (
                f"{type(connection.executor).__name__} has no workers: nothing has come back for "
                f"{self.silent():.0f} s, and the run waits until there are workers again; start "
                "them, or end the run with Ctrl-C"
            )
            _log.warning(text)
            warnings.warn(text, CroupierWarning, stacklevel=callers_level())

    @property
    def on_this_machine(self) -> bool:
        """Whether the workers are processes that can be ended here."""
        return any(has_processes(connection.executor) for connection in self._connections)

    def close(self, *, idle: bool, stuck: bool = False) -> None:
        """Release the workers; if the run owns them or they are stuck, their work is ended."""
        if (self._executors.own or stuck) and self._connections:
            # Idle workers can be asked to end; busy workers must be ended by force.
            leave = let_go if idle else self._executors.end_at_once
            with ThreadPoolExecutor(len(self._connections)) as all_at_once:
                list(
                    all_at_once.map(
                        leave, [connection.executor for connection in self._connections]
                    )
                )
        self._connections.clear()
        remote.forget(self._key)

    def free(self, busy: Collection[Connection]) -> Connection | None:
        """Return a connection that can take a task; broken executors are replaced on the way."""
        for connection in self._connections:
            if connection in busy or not connection.greeting.done():
                continue
            if (error := _error_of(connection.greeting)) is None:
                return connection
            self._mend(connection, error)
        return None

    def call(self, batches: Sequence[Batch], blob: bytes | None) -> tuple[Any, ...]:
        """Return the function that performs batches on a worker, and its arguments."""
        if self.here:
            return remote.perform_here, self._key, batches
        self._sent += 1
        return remote.work, self._key, blob, packed_batches(batches), self._sent

    def replace(
        self, connection: Connection, broken: Executor, error: BaseException | None
    ) -> None:
        """Give a connection a new executor, unless this has been done already."""
        if connection.executor is not broken:
            return
        if not self._executors.restarts:
            tickets = ", ".join(str(ticket) for ticket in list(self._out)[:5])
            when = f"while tickets {tickets} were out" if tickets else "before it drew anything"
            raise PlanError(
                f"the executor broke {when} ({named(error)}), and an instance cannot be "
                "replaced: give a function that makes an executor, such as "
                f"executor=lambda: {getattr(broken, 'made_by', f'{type(broken).__name__}(...)')}"
            )
        _count_useless(connection, error)
        with suppress(Exception):
            self._executors.end_at_once(broken)
        connection.executor = self._executors.start()
        self._greet_again(connection)

    def _mend(self, connection: Connection, error: BaseException) -> None:
        """Greet again after a greeting was lost: a new executor if there can be one."""
        if self._executors.restarts or isinstance(error, BrokenExecutor):
            self.replace(connection, connection.executor, error)
        else:  # a single worker was lost, such as a node of Dask
            _count_useless(connection, error)
            self._greet_again(connection)

    def _pack(self) -> None:
        self.blob = packed_parts(self._parts)
        self._key = blake2b(self.blob, digest_size=16).hexdigest()

    def _refuse_timeouts(self) -> None:
        for arm in self._parts.arms.values():
            if arm.timeout is not None:
                raise PlanError(
                    f"arm {arm.name!r} has a timeout, but a thread cannot be ended: "
                    "give workers=, or an executor of processes"
                )

    def _greet_again(self, connection: Connection) -> None:
        connection.greeting = self._greeting(connection.executor, self.blob)

    def _greeting(self, executor: Executor, blob: bytes | None) -> Future[Any]:
        """Send a greeting; if it cannot even be sent, its future says why."""
        self._sent += 1
        try:
            greeting = executor.submit(remote.greet, self._key, blob, self._sent)
        except Exception as error:
            greeting = Future()
            greeting.set_exception(error)
        if not hasattr(greeting, "add_done_callback"):
            raise PlanError(
                f"executor= cannot be used: the submit of {type(executor).__name__} returned "
                f"{text_of(greeting, reprlib.repr)}, which is not a future of concurrent.futures; "
                "give an executor whose futures have add_done_callback, such as that of Dask, "
                "executor=client.get_executor(): dask_jobqueue starts its workers as jobs of "
                "Slurm and other queues"
            )
        greeting.add_done_callback(self._arrived.put)
        self.moved()
        return greeting

    def _answer(self, greeting: Future[Any]) -> Any:
        while not greeting.done():
            wait([greeting], PATIENCE)
            self.watch()
        return greeting.result()

    def _greeted(self, connection: Connection) -> str:
        """Return which process answered a greeting, or raise an error that says why none can."""
        while True:
            try:
                where, wrong = self._answer(connection.greeting)
            except (Exception, CancelledError) as error:
                self._mend(connection, error)
                continue
            if wrong is not None:
                raise PlanError(unloadable(wrong))
            return str(where)


def _error_of(greeting: Future[Any]) -> BaseException | None:
    return CancelledError() if greeting.cancelled() else greeting.exception()


def _count_useless(connection: Connection, error: BaseException | None) -> None:
    connection.useless += 1
    if connection.useless > TRIES:
        raise _unusable(error) from error


def _unusable(error: BaseException | None) -> PlanError:
    return PlanError(
        f"the workers cannot work: {TRIES + 1} times they were lost before they drew anything "
        f"({named(error)}): check that croupier is installed where they run, in this version, that "
        "the executor is still open, and that nothing ends the processes, such as a limit of memory"
    )
