"""Ctrl-C waits while an outcome is stored or told: these are done as a whole, or not at all."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident, main_thread
from types import FrameType

__all__ = ["held", "interrupts_can_be_held"]


class _Held:
    """A block in which Ctrl-C is noted; it is raised at the end of the block."""

    def __init__(self) -> None:
        self._depth = 0
        self._came = False

    def __enter__(self) -> None:
        if get_ident() == main_thread().ident:  # no other is interrupted
            self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if get_ident() != main_thread().ident:
            return
        self._depth -= 1
        if self._came and not self._depth:
            self._came = False
            if kind is None:
                raise KeyboardInterrupt

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C: note it in such a block, raise it elsewhere."""
        if not self._depth:
            raise KeyboardInterrupt
        self._came = True


#: ``with held: ...``
held = _Held()


@contextmanager
def interrupts_can_be_held() -> Iterator[None]:
    """Handle Ctrl-C here, unless somebody else does, or this is not the main thread."""
    ours = (
        get_ident() == main_thread().ident
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGINT, held.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
