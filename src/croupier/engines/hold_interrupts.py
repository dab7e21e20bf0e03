"""Ctrl-C waits where a run must not be cut in two, and comes through where it can end.

Python raises KeyboardInterrupt between any two steps of the main thread. Inside the table it would
leave an outcome that is half told; while a store is closed it would leave the lock. No ``try`` can
prevent this, because the exception may come before its first line. So a run handles SIGINT itself,
with these limits:

- only in the main thread, and only if Python's own handler is in place: a handler that the user has
  installed is never replaced, also if it was installed during the run;
- Python's handler is back when the run has ended in any way, and as soon as an interrupt is raised;
- Ctrl-C is only delayed, never dropped: it is raised at the end of the block that held it, and a
  second Ctrl-C is raised at once.

Where this handler is not in place (another thread, a handler of the user), an interrupt may come
anywhere. The store stays whole then too, because every write to it is one transaction.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident, main_thread
from types import FrameType

__all__ = ["held", "interrupts_held", "released"]


class _Held:
    """A block in which Ctrl-C is noted; it is raised at the end of the outermost block."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: an interrupt without our handler may have skipped the end of a block."""
        self.depth, self._came = 0, False

    def __enter__(self) -> None:
        if get_ident() == main_thread().ident:  # no other is interrupted
            self.depth += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if get_ident() == main_thread().ident:
            self.depth -= 1
            if kind is None:
                self.let_through()

    def let_through(self) -> None:
        """Raise the interrupt that was noted, unless an outer block still holds it."""
        if self._came and not self.depth:
            self._raise()

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C: note the first one in such a block, raise it elsewhere."""
        if not self.depth or self._came:
            self._raise()
        self._came = True

    def _raise(self) -> None:
        give_back()  # before the exception: nothing after it is sure to be reached
        self._came = False
        raise KeyboardInterrupt


#: ``with held: ...``
held = _Held()


class _Released:
    """A block inside of a held one in which Ctrl-C is raised, also if it came before."""

    def __enter__(self) -> None:
        if get_ident() == main_thread().ident:
            held.depth -= 1
            try:
                held.let_through()
            except BaseException:
                held.depth += 1
                raise

    def __exit__(self, *_: object) -> None:
        if get_ident() == main_thread().ident:
            held.depth += 1


#: ``with released: ...``
released = _Released()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C in this block, except in blocks that are `released`."""
    ours = (
        get_ident() == main_thread().ident
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        held.forget()
    with held:
        try:
            if ours:
                signal.signal(signal.SIGINT, held.interrupt)
            yield
        finally:
            if ours:
                give_back()


def give_back() -> None:
    """Put Python's own handler of Ctrl-C back, if ours is in place."""
    if signal.getsignal(signal.SIGINT) == held.interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)
