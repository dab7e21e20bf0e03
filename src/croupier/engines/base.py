"""Staff: who performs the batches of a run, and how they are hired and dismissed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

__all__ = ["Staff"]


@dataclass(frozen=True)
class Staff:
    """Executors to send batches to: one that many workers share, or one for every worker.

    `hire` makes an executor; `rehire` says whether it can do so again when one broke, `own`
    whether the run shuts it down. `dismiss` ends one at once, with all that it is doing. `solo`:
    every executor is a single process, so that the driver knows which batch a death or a hang is
    to be blamed on.
    """

    workers: int
    hire: Callable[[], Executor]
    rehire: bool
    own: bool
    dismiss: Callable[[Executor], None]
    solo: bool = False
