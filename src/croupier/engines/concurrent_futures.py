"""The executors of concurrent.futures: threads and processes."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

__all__ = ["count", "dismiss"]


def count(executor: Any) -> int | None:
    """Return how many workers a pool of the standard library, or a similar pool, has."""
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) else None


def dismiss(executor: Executor) -> None:
    """End an executor at once, as far as it supports this."""
    if hasattr(executor, "kill_workers"):  # processes, from Python 3.14
        executor.kill_workers()
        return
    try:
        executor.shutdown(wait=False, cancel_futures=True)
    except TypeError:  # an executor of an older kind
        executor.shutdown(wait=False)
