"""workers=n: processes on this machine, by loky."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Executor
from typing import Final

from croupier.engines.end_with_driver import begin
from croupier.engines.executors import Executors
from croupier.errors import PlanError

__all__ = ["processes"]

#: A process of loky removes the semaphores of a driver that was killed, and warns of each run.
_NO_NEWS: Final = "ignore:resource_tracker:UserWarning"


def processes(workers: int) -> Executors:
    """Return `workers` processes, each with its own executor.

    When a process of a shared pool dies, the pool breaks and all its batches are lost. When a
    process with its own executor dies, only its own batch is lost, and it is known which one.
    """
    try:
        import loky
    except ImportError:
        raise PlanError(
            f"workers={workers} needs loky: pip install '.[parallel]', or give executor="
        ) from None

    def start() -> Executor:
        _start_the_cleaner()
        one: Executor = loky.ProcessPoolExecutor(
            max_workers=1, initializer=begin, initargs=(os.getpid(),)
        )
        return one

    return Executors(workers, start, restarts=True, own=True, end_at_once=_dismiss, solo=True)


def _start_the_cleaner() -> None:
    """Start the process of loky that cleans up, without its warning, unless it runs already.

    It takes the options for warnings from this process, where they have no effect any more.
    """
    from loky.backend import resource_tracker

    sys.warnoptions.append(_NO_NEWS)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_NO_NEWS)


def _dismiss(executor: Executor) -> None:
    executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]
