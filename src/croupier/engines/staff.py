"""Staff: the executors that perform the batches of a run, and how they start and end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

__all__ = ["Staff"]


@dataclass(frozen=True)
class Staff:
    """Executors for batches: one that all workers share, or one for every worker.

    `hire` makes an executor. `rehire` says whether it can make a new one after a failure. `own`
    says whether the run shuts the executor down. `dismiss` ends an executor at once, with all of
    its work. `solo` means that every executor is a single process, so that the driver knows
    which batch made the process die or hang. `watch` is called now and then while the run waits:
    it ends the futures of an executor that would never end by themselves. `count` returns how many
    workers an executor has now, None if nobody knows. `ahead` is how many batches are out at once
    for each worker, unless `width` is given.
    """

    workers: int
    hire: Callable[[], Executor]
    rehire: bool
    own: bool
    dismiss: Callable[[Executor], None]
    solo: bool = False
    watch: Callable[[Executor], None] = lambda executor: None
    count: Callable[[Executor], int | None] = lambda executor: None
    ahead: int = 2
