"""Executors: the executors that perform the batches of a run, and how they start and end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

__all__ = ["Executors"]


@dataclass(frozen=True)
class Executors:
    """Executors for batches: one that all workers share, or one for every worker.

    `start` makes an executor. `restarts` says whether it can make a new one after a failure. `own`
    says whether the run shuts the executor down. `end_at_once` ends an executor with all of its
    work. `solo` means that every executor is a single process, so that the driver knows which batch
    made the process die or hang. `watch` is called now and then while the run waits: it ends the
    futures of an executor that would never end by themselves. `count` returns how many workers an
    executor has now, None if nobody knows. `ahead` is how many batches are out at once for each
    worker, unless `width` is given.
    """

    workers: int
    start: Callable[[], Executor]
    restarts: bool
    own: bool
    end_at_once: Callable[[Executor], None]
    solo: bool = False
    watch: Callable[[Executor], None] = lambda executor: None
    count: Callable[[Executor], int | None] = lambda executor: None
    ahead: int = 2
