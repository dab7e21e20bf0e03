"""What a store costs: runs with a store and without, in turns, and the time to open a large store.

It is part of make bench-parallel. To run it alone: python -m benchmarks.store
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from croupier.engines.perform import perform
from croupier.store.log import Log

BATCH = 0.05  # seconds
BATCHES = 60
GROUP = 1000
KEY = ("what",)


def normal(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, size: rng.normal(1.0, spread, size)


def sleeping(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(BATCH)
        return rng.normal(1.0, spread, size)

    return draw


def overhead(durability: Any, rounds: int = 5) -> float:
    """Return by how many percent a store makes a run of 50 ms batches longer."""
    arms = {"rough": sleeping(1.0), "fine": sleeping(0.1)}

    def one_run(store: cr.Store | None) -> float:
        began = time.perf_counter()
        cr.estimate(arms, draws=BATCHES, batch="one", rng=1, store=store, progress=False)
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as folder:
        stores = (cr.Store(Path(folder) / f"{k}.db", durability) for k in range(rounds))
        pairs = [(one_run(store), one_run(None)) for store in stores]
    return 100 * (min(a for a, _ in pairs) / min(b for _, b in pairs) - 1)


def filled(path: Path, outcomes: int, batch: str, size: int) -> None:
    """Make a store with this number of outcomes, as a run of that length leaves it."""
    table = cr.Allocator(["rough", "fine"], rng=7, batch=batch)
    arms = {"rough": cr.Arm(normal(1.0), "rough"), "fine": cr.Arm(normal(0.1), "fine")}
    with Log(cr.Store(path, durability="normal")) as log:
        log.begin(table)
        while table.tickets.asked < outcomes:
            group = []
            for _ in range(min(GROUP, outcomes - table.tickets.asked)):
                asked = table.ask(size)
                assert asked is not None
                group.append(perform(table.plan, arms[asked.arm], asked))
                table.tell(group[-1])
            log.append(*group, seconds=float(table.tickets.asked))
            log.snapshot(table, table.tickets.asked)


def reopening(outcomes: int, batch: str, size: int) -> tuple[float, float, float]:
    """Return the seconds to open a store, the seconds to continue its run, and its size in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        filled(path, outcomes, batch, size)
        began = time.perf_counter()
        run = cr.open_run(path)
        looked = time.perf_counter() - began
        draws = run.status.draws + 1
        began = time.perf_counter()
        arms = {"rough": normal(1.0), "fine": normal(0.1)}
        result = cr.estimate(arms, draws=draws, batch=batch, store=path, progress=False)  # type: ignore[arg-type]
        went_on = time.perf_counter() - began
        assert len(result.history) == outcomes + 1
        return looked, went_on, path.stat().st_size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("--outcomes", type=int, default=10**6, help="of the large store")
    parser.add_argument("--rounds", type=int, default=5, help="with and without a store, in turns")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cr.CroupierWarning)
    rows: list[dict[str, Any]] = []

    def measured(what: str, number: float, wanted: str) -> None:
        rows.append({"what": what, "measured": round(number, 3), "wanted": wanted})
        report.write("store", rows[-1:], KEY)

    for durability in ("full", "normal"):
        percent = overhead(durability, options.rounds)
        measured(f"50 ms batches, {durability}: longer than without a store, %", percent, "below 3")
    for name, batch, size in (("one draw", "one", 1), ("200 draws", "growing", 200)):
        looked, went_on, megabytes = reopening(options.outcomes, batch, size)
        store = f"{options.outcomes:,} outcomes of {name}"
        measured(f"{store}: open_run, seconds", looked, "below 5")
        measured(f"{store}: go on, seconds", went_on, "below 5")
        measured(f"{store}: MB", megabytes, "")
    report.show("store", rows)
    pages.main()


if __name__ == "__main__":
    main()
