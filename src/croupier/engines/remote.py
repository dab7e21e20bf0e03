"""The worker's side: it takes bytes and returns bytes, and never raises an exception.

An exception that cannot be unpickled would break the pool. So a worker returns only plain data,
and pickles it here, where a failure can still be reported.
"""

from __future__ import annotations

import os
import pickle
import platform
import reprlib
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from croupier.arms.base import Arm
from croupier.data.draws import Batch, Outcome
from croupier.data.plan import Plan
from croupier.engines.perform import perform
from croupier.errors import LONGEST_TEXT, ArmError, CroupierError, text_of

if TYPE_CHECKING:
    from croupier.policies.base import Digest

__all__ = [
    "Failure",
    "RunParts",
    "dumps",
    "forget",
    "greet",
    "here",
    "keep",
    "perform_here",
    "work",
]


class RunParts(NamedTuple):
    """What a worker needs to perform any batch of a run: sent once, then known by its key."""

    plan: Plan
    arms: Mapping[str, Arm]
    digest: Digest | None


class Failure(NamedTuple):
    """An exception as plain data; `fatal` is False if the worker failed and not the arm."""

    message: str
    arm: str
    ticket: int
    value: Any
    traceback: str
    fatal: bool = True

    def error(self) -> ArmError:
        """Return the error to raise where the run is."""
        error = ArmError(self.message, arm=self.arm, ticket=self.ticket, value=self.value)
        error.add_note(f"on its worker:\n{self.traceback}")
        return error


#: The parts of runs that this process has, by key; a long-lived worker forgets the oldest of them.
_PARTS: dict[str, RunParts] = {}
_KEPT: Final = 8


def dumps(thing: Any) -> bytes:
    """Pickle a thing; with cloudpickle also lambdas, closures and functions of a script."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    return bytes(cloudpickle.dumps(thing))


def keep(key: str, parts: RunParts) -> None:
    """Remember the parts of a run in this process."""
    _PARTS.pop(key, None)
    while len(_PARTS) >= _KEPT:
        _PARTS.pop(next(iter(_PARTS)), None)
    _PARTS[key] = parts


def forget(key: str) -> None:
    """Forget the parts of a run that is over."""
    _PARTS.pop(key, None)


def greet(key: str, blob: bytes | None = None, sending: int = 0) -> tuple[str, str | None]:
    """Load the parts of a run if they are sent; return which process this is, and what went wrong.

    `sending` makes each call different, because some engines answer equal calls only once.
    """
    try:
        if blob is not None:
            keep(key, pickle.loads(blob))
    except BaseException as error:  # an object may raise anything when it is unpickled
        return here(), f"{type(error).__name__}: {text_of(error)}"
    return here(), None


def here() -> str:
    """Return a name of this process that no other process on any machine has."""
    return f"{platform.node()}/{os.getpid()}"


def work(
    key: str, blob: bytes | None, batches: bytes, sending: int = 0
) -> list[bytes] | str | None:
    """Perform batches and return the result of each, or a text that says what cannot be loaded.

    None means that this process does not know the parts, and that they must be sent, too.
    """
    if blob is not None and key not in _PARTS:
        _, wrong = greet(key, blob)
        if wrong is not None:
            return wrong
    parts = _PARTS.get(key)
    if parts is None:
        return None
    try:
        asked: Sequence[Batch] = pickle.loads(batches)
    except BaseException as error:
        return f"{type(error).__name__}: {text_of(error)}"
    return [_packed(batch, _attempt(parts, batch)) for batch in asked]


def perform_here(key: str, batches: Sequence[Batch]) -> list[Outcome | Failure]:
    """Perform batches in a thread of the driver, where nothing needs to be pickled."""
    return [_attempt(_PARTS[key], batch) for batch in batches]


def _attempt(parts: RunParts, batch: Batch) -> Outcome | Failure:
    arm = parts.arms[batch.arm]
    try:
        if arm.timeout is not None and not _ended_by_driver:
            return _in_time(parts, arm, batch, arm.timeout)
        return perform(parts.plan, arm, batch, parts.digest)
    except BaseException as error:
        return _failure(batch, error)


#: Whether the driver watches the time itself: it does if a process works only for this driver.
_ended_by_driver = False


def watched_by_driver() -> None:
    """Let the driver end batches that hang: it can kill a process even if the GIL is held."""
    global _ended_by_driver
    _ended_by_driver = True


def _in_time(parts: RunParts, arm: Arm, batch: Batch, seconds: float) -> Outcome | Failure:
    """Perform a batch in a thread; if it hangs, report it and then end this process."""
    came: list[Outcome | Failure] = []

    def attempt() -> None:
        try:
            came.append(perform(parts.plan, arm, batch, parts.digest))
        except BaseException as error:
            came.append(_failure(batch, error))

    thread = threading.Thread(target=attempt, daemon=True, name=f"ticket {batch.ticket}")
    thread.start()
    thread.join(seconds)
    if came:
        return came[0]
    last = threading.Timer(1.0, os._exit, args=(1,))  # seconds, so that this reply can leave
    last.daemon = True
    last.start()
    return Failure(too_long(seconds), batch.arm, batch.ticket, None, "it was still drawing\n")


def too_long(seconds: float) -> str:
    """Return what is wrong with a batch that hangs."""
    return (
        f"a batch took longer than its timeout of {seconds:g} s; fix the arm, or give it a "
        "larger timeout"
    )


def _failure(batch: Batch, error: BaseException) -> Failure:
    text = _traceback_of(error)
    if isinstance(error, ArmError):
        message = str(error).removeprefix(f"arm {error.arm!r}, ticket {error.ticket}: ")
        return Failure(message, batch.arm, batch.ticket, _plain(error.value), text)
    fatal = not isinstance(error, KeyboardInterrupt)  # the worker was stopped; the arm did not fail
    named = (
        str(error)
        if isinstance(error, CroupierError)
        else f"{type(error).__name__}: {text_of(error)}"
    )
    return Failure(f"failed on its worker, {named}", batch.arm, batch.ticket, None, text, fatal)


def _traceback_of(error: BaseException) -> str:
    return "".join(text_of(part) for part in traceback.format_exception(error))


def _packed(batch: Batch, came: Outcome | Failure) -> bytes:
    try:
        return dumps(came)
    except BaseException as error:
        named = f"{type(error).__name__}: {text_of(error)}"
        message = f"what it learned from its draws cannot be sent back to the run, {named}"
        text = _traceback_of(error)
        return dumps(Failure(message, batch.arm, batch.ticket, None, text))


def _plain(value: Any) -> Any:
    """Return a value that any process can read: a number, a short text, or its description."""
    if value is None or type(value) in (bool, int, float):
        return value
    short = type(value) is str and len(value) < LONGEST_TEXT
    return value if short else text_of(value, reprlib.repr)
