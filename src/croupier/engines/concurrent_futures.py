"""The executors of concurrent.futures: threads and processes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

from croupier.engines.end_with_driver import begin_in_pool

__all__ = ["count", "end_at_once", "ending_with_driver", "has_processes", "let_go"]

#: An idle process that was asked to end is killed after this many seconds.
_GRACE: Final = 2.0


def count(executor: Any) -> int | None:
    """Return how many workers a pool of the standard library, or a similar pool, has."""
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) else None


def ending_with_driver(executor: Executor) -> Executor:
    """Return an executor whose processes end when this process is gone, as far as that can be.

    The processes of the standard library hold both ends of the queue that they wait for, so they
    would wait for ever. They take the first step from the executor, before any process has started.
    """
    pool: Any = executor  # what follows has no public name
    if isinstance(executor, ProcessPoolExecutor) and not _processes(executor):
        then, arguments = getattr(pool, "_initializer", None), getattr(pool, "_initargs", ())
        pool._initializer, pool._initargs = begin_in_pool, (os.getpid(), then, arguments)
    return executor


def let_go(executor: Executor) -> None:
    """Ask an idle executor to end, and kill the processes that do not.

    A process waits at its end for the threads that an arm has started, perhaps for ever.
    """
    impatient = threading.Timer(_GRACE, _kill, args=(_processes(executor),))
    impatient.daemon = True
    impatient.start()
    try:
        executor.shutdown()
    finally:
        impatient.cancel()


def end_at_once(executor: Executor) -> None:
    """End an executor at once, with its processes if it has any."""
    processes = _processes(executor)
    try:
        executor.shutdown(wait=False, cancel_futures=True)
    except TypeError:  # an executor of an older kind
        executor.shutdown(wait=False)
    _kill(processes)


def has_processes(executor: Executor) -> bool:
    """Tell whether an executor has processes on this machine that `end_at_once` ends."""
    return bool(_processes(executor))


def _processes(executor: Any) -> list[BaseProcess]:
    known = getattr(executor, "_processes", None)  # loky has the same name for them
    return list(known.values()) if isinstance(known, dict) else []


def _kill(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        with suppress(Exception):  # it has ended a moment ago
            if wait([process.sentinel], 0):
                continue
            if os.name == "posix" and process.pid is not None:
                os.kill(process.pid, signal.SIGKILL)
            else:
                process.terminate()
