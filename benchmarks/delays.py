"""make bench-delays: a thousand workers in simulated time.

An Allocator is asked and told like in a run with many workers whose batches take random times. The
benchmark measures the share of the time that workers are busy, the loss of efficiency compared with
decisions one batch at a time, and how many decisions a second the driver can make.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections import deque
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.families import FAMILIES
from croupier.engines.perform import perform

KEY = ("workers", "width", "draws", "spread of times")
FAMILY = FAMILIES["normal-16"]


class Seen(NamedTuple):
    """The measurements of a simulated run."""

    share: float  # I of the efficiency benchmark
    busy: float
    tickets: int
    decisions_per_second: float


def simulate(workers: int, width: int, draws: int, sigma: float, seed: int) -> Seen:
    """Play a table with `workers`; a draw takes 1, a batch lognormal(sigma) times its size."""
    arms = {name: cr.Arm(draw) for name, draw in FAMILY.named().items()}
    table = cr.Allocator(list(arms), rng=seed, width=width)
    noise = np.random.default_rng(seed)
    queue: deque[cr.Batch] = deque()
    under_way: list[tuple[float, int, cr.Outcome]] = []
    now = work = deciding = 0.0
    out = tickets = 0
    while True:
        began = time.perf_counter()
        # As in a run, what has been told but not yet settled counts as spent.
        while out < width and (batch := table.ask(draws - table.progress().draws)) is not None:
            queue.append(batch)
            out, tickets = out + 1, tickets + 1
        deciding += time.perf_counter() - began
        while queue and len(under_way) < workers:
            batch = queue.popleft()
            lasts = batch.size * float(noise.lognormal(-sigma * sigma / 2, sigma))
            outcome = perform(table.plan, arms[batch.arm], batch)
            heapq.heappush(under_way, (now + lasts, batch.ticket, outcome))
            work += lasts
        if not under_way:
            break
        now, _, outcome = heapq.heappop(under_way)
        began = time.perf_counter()
        table.tell(outcome)
        deciding += time.perf_counter() - began
        out -= 1
    result = table.result()
    counts = np.array([row.draws for row in result.arms])
    share = float(FAMILY.share(counts, float(counts.sum())))
    return Seen(share, work / (workers * now), tickets, tickets / deciding)


@cache
def alone(draws: int) -> float:
    """Return I of runs that decide one batch at a time, with all earlier outcomes."""
    return float(np.mean([simulate(1, 1, draws, 0.0, seed).share for seed in range(20)]))


def row(workers: int, width: int, draws: int, sigma: float, runs: int) -> dict[str, Any]:
    seen = [simulate(workers, width, draws, sigma, seed) for seed in range(runs)]
    share, busy, tickets, speed = (np.mean(column) for column in zip(*seen, strict=True))
    lost = share / alone(draws) - 1
    return {
        "workers": workers,
        "width": width,
        "draws": draws,
        "spread of times": sigma,
        "tickets": round(float(tickets)),
        "workers busy, %": round(100 * float(busy), 1),
        "efficiency lost, %": round(100 * float(lost), 1),
        "decisions a second": round(float(speed)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-delays", description=__doc__)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for sigma in (0.3, 1.0):
        for times in (1, 2, 4, 8):
            width = times * options.workers
            rows.append(row(options.workers, width, options.draws, sigma, options.runs))
            report.write("delays", rows[-1:], KEY)
    report.show("delays", rows)
    pages.main()


if __name__ == "__main__":
    main()
