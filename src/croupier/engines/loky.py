"""workers=n: processes on this machine, by loky."""

from __future__ import annotations

import signal
from concurrent.futures import Executor

from croupier.engines import remote
from croupier.engines.base import Staff
from croupier.errors import PlanError

__all__ = ["processes"]


def processes(workers: int) -> Staff:
    """Return `workers` processes, each with an executor of its own.

    When a process of a shared pool dies, the pool breaks and everything that was out with it.
    Alone, it takes only its own batch along, and there is no doubt about which one that was.
    """
    try:
        import loky
    except ImportError:
        raise PlanError(
            f"workers={workers} needs loky: pip install 'croupier[parallel]', or give executor="
        ) from None

    def hire() -> Executor:
        one: Executor = loky.ProcessPoolExecutor(max_workers=1, initializer=_begin)
        return one

    return Staff(workers, hire, rehire=True, own=True, dismiss=_dismiss, solo=True)


def _begin() -> None:
    """Begin a worker: an interrupt at the terminal is for the driver, who ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    remote.watched_by_driver()
    remote.outlive_no_driver()


def _dismiss(executor: Executor) -> None:
    executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]
