"""A driver that is killed in its first two seconds: no process of its run is left 2 s later."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults import test_orphans as orphans

#: The processes of a run may outlive its driver for so many seconds.
SECONDS = 2.0


def driver_killed_with_its_workers(folder: Path, tries: int, engine: str) -> Iterator[str]:
    """Kill drivers, half of them at moments that are spread over the first two seconds."""
    longest = 0.0
    for kill in range(tries):
        driver = orphans.started(folder, "slow", engine)
        if kill % 2:
            time.sleep(2.0 * kill / tries)
        else:
            orphans.wait_for_a_worker(driver)
            time.sleep(0.3 * kill / tries)
        try:
            lived = orphans.seconds_until_alone(driver)
        except AssertionError:
            yield f"kill {kill}: processes were left for 10 s"
            continue
        longest = max(longest, lived)
        yield "same" if lived <= SECONDS else f"kill {kill}: a process lived for {lived:.1f} s"
    print(f"  {engine}: the others lived for at most {longest:.2f} s")
