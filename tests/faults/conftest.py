"""What the tests of faults share: nothing that a run started may outlive it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil
import pytest


def children() -> set[int]:
    """Return the processes that this one has started, but for those that only keep the books."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        try:
            line = " ".join(child.cmdline())
            alive = child.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        others = ("resource_tracker", "forkserver", "dask_worker")
        if alive and not any(name in line for name in others):
            found.add(child.pid)
    return found


@pytest.fixture
def no_orphans(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail if a process is left that was not there before; a cluster's are its own business."""
    before = children()
    yield
    if "dask" in request.node.name or "ray" in request.node.name:
        return
    until = time.monotonic() + 60
    while (left := children() - before) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left
