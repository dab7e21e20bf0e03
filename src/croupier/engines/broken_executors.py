"""Seats: start the executors of a run, send them the arms, and replace one that breaks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from queue import SimpleQueue
from typing import Any, Final
from uuid import uuid4

from croupier.data.draws import Batch
from croupier.engines import remote
from croupier.engines.packing import named, packed_batches, packed_kit, unloadable
from croupier.engines.remote import Kit
from croupier.engines.staff import Staff
from croupier.errors import PlanError

__all__ = ["Seat", "Seats"]

#: At most this many executors in a row may break before they have taken a single task.
_USELESS: Final = 3


@dataclass(eq=False)
class Seat:
    """An executor, the greeting that it must answer first, and how many broke without a task."""

    executor: Executor
    greeting: Future[Any]
    useless: int = 0


class Seats:
    """The executors of a staff, and the kit that their workers need.

    `here` says whether the workers are threads of this process. `blob` is the pickled kit, if
    there are other processes. `out` are the tickets that are out, for a message. Answered
    greetings go to `arrived`.
    """

    def __init__(
        self, kit: Kit, staff: Staff, out: Collection[int], arrived: SimpleQueue[Future[Any]]
    ) -> None:
        self._kit, self._staff, self._out, self._arrived = kit, staff, out, arrived
        self.here = False
        self.blob: bytes | None = None
        self._key = uuid4().hex
        self._sent = uuid4().int
        self._seats: list[Seat] = []

    def open(self) -> None:
        """Start the workers and send them the arms; an arm that cannot be sent is refused here."""
        seats = self._staff.workers if self._staff.solo else 1
        if self._staff.solo:
            self._pack()
        self._seats += [self._hired() for _ in range(seats)]
        replies = [self._greeted(seat) for seat in self._seats]
        if not self._staff.solo:
            self.here = replies[0] == remote.here()
            if self.here:
                self._refuse_timeouts()
                remote.keep(self._key, self._kit)
            else:
                self._pack()
                self._seats[0].greeting = self._greeting(self._seats[0].executor)
                self._greeted(self._seats[0])

    def visit(self) -> None:
        """Make a trip to a worker and back."""
        self._sent += 1
        self._seats[0].executor.submit(remote.greet, self._key, None, self._sent).result()

    def close(self, *, idle: bool) -> None:
        """Release the workers; if the run owns them, their work is ended."""
        if self._staff.own and self._seats:
            # Idle workers can be asked to end; busy workers must be ended by force.
            leave = (lambda one: one.shutdown()) if idle else self._staff.dismiss
            with ThreadPoolExecutor(len(self._seats)) as all_at_once:
                list(all_at_once.map(leave, [seat.executor for seat in self._seats]))
        self._seats.clear()
        remote.forget(self._key)

    def free(self, busy: Collection[Seat]) -> Seat | None:
        """Return a seat that can take a task now; broken executors are replaced on the way."""
        for seat in self._seats:
            if seat in busy or not seat.greeting.done():
                continue
            if not seat.greeting.cancelled() and seat.greeting.exception() is None:
                return seat
            self.replace(seat, seat.executor, seat.greeting.exception())
        return None

    def call(self, batches: Sequence[Batch], blob: bytes | None) -> tuple[Any, ...]:
        """Return the function that performs batches on a worker, and its arguments."""
        if self.here:
            return remote.perform_here, self._key, batches
        self._sent += 1
        return remote.work, self._key, blob, packed_batches(batches), self._sent

    def replace(self, seat: Seat, broken: Executor, error: BaseException | None) -> None:
        """Put a new executor on a seat, unless this has been done already."""
        if seat.executor is not broken:
            return
        if not self._staff.rehire:
            tickets = ", ".join(str(ticket) for ticket in list(self._out)[:5])
            raise PlanError(
                f"the executor broke while tickets {tickets} were out ({named(error)}), and an "
                "instance cannot be replaced: give a function that makes an executor, "
                "such as executor=lambda: ProcessPoolExecutor(4)"
            )
        seat.useless += 1
        if seat.useless > _USELESS:
            raise _unusable(error) from error
        with suppress(Exception):
            self._staff.dismiss(broken)
        seat.executor = self._staff.hire()
        seat.greeting = self._greeting(seat.executor)

    def _pack(self) -> None:
        self.blob = packed_kit(self._kit)
        self._key = blake2b(self.blob, digest_size=16).hexdigest()

    def _refuse_timeouts(self) -> None:
        for arm in self._kit.arms.values():
            if arm.timeout is not None:
                raise PlanError(
                    f"arm {arm.name!r} has a timeout, but a thread cannot be ended: "
                    "give workers=, or an executor of processes"
                )

    def _hired(self) -> Seat:
        executor = self._staff.hire()
        try:
            return Seat(executor, self._greeting(executor))
        except Exception as error:
            raise _unusable(error) from error

    def _greeting(self, executor: Executor) -> Future[Any]:
        self._sent += 1
        greeting = executor.submit(remote.greet, self._key, self.blob, self._sent)
        greeting.add_done_callback(self._arrived.put)
        return greeting

    def _greeted(self, seat: Seat) -> str:
        """Return which process answered a greeting, or raise an error that says why it cannot."""
        try:
            where, wrong = seat.greeting.result()
        except (Exception, CancelledError) as error:
            raise _unusable(error) from error
        if wrong is not None:
            raise PlanError(unloadable(wrong))
        return str(where)


def _unusable(error: BaseException | None) -> PlanError:
    return PlanError(
        f"the workers cannot work ({named(error)}): check that croupier is installed where they "
        "run, in this version, and that the executor is still open"
    )
