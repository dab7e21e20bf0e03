"""workers=n: processes on this machine, by loky."""

from __future__ import annotations

import os
from concurrent.futures import Executor

from croupier.engines.end_with_driver import begin
from croupier.engines.staff import Staff
from croupier.errors import PlanError

__all__ = ["processes"]


def processes(workers: int) -> Staff:
    """Return `workers` processes, each with its own executor.

    When a process of a shared pool dies, the pool breaks and all its batches are lost. When a
    process with its own executor dies, only its own batch is lost, and it is known which one.
    """
    try:
        import loky
    except ImportError:
        raise PlanError(
            f"workers={workers} needs loky: pip install 'croupier[parallel]', or give executor="
        ) from None

    def hire() -> Executor:
        one: Executor = loky.ProcessPoolExecutor(
            max_workers=1, initializer=begin, initargs=(os.getpid(),)
        )
        return one

    return Staff(workers, hire, rehire=True, own=True, dismiss=_dismiss, solo=True)


def _dismiss(executor: Executor) -> None:
    executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]
