"""A worker process ends when its driver is gone, also if it is only just starting.

The first call of a worker is in this file. It imports little, so that the worker asks early
whether its driver is still there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import parent_process
from typing import Any, Final

__all__ = ["begin", "begin_in_pool", "end_with"]

#: The option of Linux's prctl that sends a signal to a process when its parent ends.
_PR_SET_PDEATHSIG: Final = 1

#: How often a worker looks for its driver, in seconds.
_EVERY: Final = 0.25


def begin(driver: int) -> None:
    """Start a worker of loky: the driver handles Ctrl-C, watches the time, and ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(driver)
    from croupier.engines import remote  # takes a while, with numpy and the rest

    remote.watched_by_driver()


def begin_in_pool(driver: int, then: Callable[..., object] | None, arguments: Any) -> None:
    """Start a worker of a pool that the user's function made; `then` is the pool's own start."""
    end_with(driver)
    if then is not None:
        then(*arguments)


def end_with(driver: int) -> None:
    """End this process when the process that started it is gone; `driver` is that one's pid.

    The driver gives its pid, because a worker whose driver has died has another parent: it would
    watch the wrong process.
    """
    _ask_the_system()
    gone: Callable[[], object]
    if sys.platform == "win32":
        gone = _waiting_for(driver)
    elif os.getppid() == driver:  # only after the system was asked: it may have died in between
        gone = partial(_wait_for_another_parent, driver)
    elif (parent := parent_process()) is not None and parent.is_alive():
        gone = parent.join  # a server started this process for the driver
    else:
        os._exit(1)

    def watch() -> None:
        gone()
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="croupier-watch").start()


def _wait_for_another_parent(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(_EVERY)


if sys.platform == "win32":
    import _winapi

    _SYNCHRONIZE: Final = 0x00100000

    def _waiting_for(driver: int) -> Callable[[], object]:
        """Return a function that waits for a process: here a parent has its pid for ever."""
        try:
            handle = _winapi.OpenProcess(_SYNCHRONIZE, False, driver)
        except OSError:
            os._exit(1)
        return partial(_winapi.WaitForSingleObject, handle, _winapi.INFINITE)


def _ask_the_system() -> None:
    """Let Linux end this process with its parent, even if an arm never lets go of the GIL."""
    if sys.platform != "linux":
        return
    with suppress(Exception):  # without it, the thread still watches
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
