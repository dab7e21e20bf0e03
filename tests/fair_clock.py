"""A clock on which the work of other programs does not count."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

#: Nanoseconds that this thread has run, and that it has waited for a core; on Linux alone.
_SCHEDULED = "/proc/thread-self/schedstat"


class FairClock:
    """The clock of the machine, stopped while its thread is ready but has no core."""

    process_time = staticmethod(time.process_time)

    def __init__(self, scheduled: int) -> None:
        self._scheduled = scheduled

    def perf_counter(self) -> float:
        waited = self._waited()
        while True:
            now = time.perf_counter()
            before, waited = waited, self._waited()
            if waited == before:  # nothing came between the two
                return now - 1e-9 * waited

    def _waited(self) -> int:
        return int(os.pread(self._scheduled, 80, 0).split()[1])


@contextmanager
def fair_clock() -> Iterator[None]:
    """Let runs in this thread measure time by a fair clock, where the system tells enough."""
    if not os.path.exists(_SCHEDULED):
        yield
        return
    with open(_SCHEDULED, "rb") as scheduled, pytest.MonkeyPatch.context() as patch:
        clock = FairClock(scheduled.fileno())
        for module in ("croupier.running.loop", "croupier.engines.perform"):
            patch.setattr(importlib.import_module(module), "time", clock)
        yield
