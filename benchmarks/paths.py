"""make bench-paths: paths of the option problem per second, compiled and in plain numpy.

It measures CPU time of one process, without compilation: the smallest of several rounds in turns.
Both compute whole chunks of paths and return payoffs and totals; numpy has vectors of paths and a
loop over the steps.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks import pages, report
from benchmarks.simulator import Timed, least_seconds
from paper import Caplet

CHUNKS = (100, 1000, 10_000, 100_000)

#: The wanted speed relative to numpy, by chunk.
WANTED = {10_000: 4}


def numpy_paths(
    caplet: Caplet, rng: np.random.Generator, size: int, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return discounted payoffs and totals, as `Caplet.simulate` does with a spread of 1."""
    dt = caplet.maturity / caplet.steps
    rate = np.full(size, caplet.start)
    area, total = rate / 2, np.zeros(size)
    drift = shift / math.sqrt(caplet.steps)
    for _ in range(caplet.steps):
        noise = rng.standard_normal(size) + drift
        total += noise
        above = np.maximum(rate, 0)
        rate = rate + (caplet.eta - caplet.kappa * above) * dt
        rate += caplet.sigma * np.sqrt(above * dt) * noise
        area += np.maximum(rate, 0)
    area -= np.maximum(rate, 0) / 2
    payoffs = caplet.notional * np.exp(-dt * area) * np.maximum(rate - caplet.strike, 0)
    return payoffs, total / math.sqrt(caplet.steps)


def rows_of(seconds: dict[tuple[str, int], float]) -> list[dict[str, Any]]:
    """Return nanoseconds per step of a path, and how many times as fast the compiled paths are.

    >>> [row] = rows_of({("numpy", 10_000): 14e-9, ("croupier", 10_000): 2e-9})
    >>> row["times as fast"], row["wanted"]
    (7.0, 4)
    """
    return [
        {
            "paths at once": chunk,
            "numpy, ns a step": float(f"{1e9 * took:.3g}"),
            "croupier, ns a step": float(f"{1e9 * seconds['croupier', chunk]:.3g}"),
            "times as fast": float(f"{took / seconds['croupier', chunk]:.3g}"),
            "wanted": WANTED.get(chunk, ""),
        }
        for (who, chunk), took in seconds.items()
        if who == "numpy"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-paths", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    caplet, rng = Caplet(), np.random.default_rng(7)
    caplet.simulate(rng, 1)  # compiles
    ways = {"numpy": partial(numpy_paths, caplet), "croupier": caplet.simulate}
    timed = {
        (who, chunk): Timed(partial(partial, way, rng, chunk, 0.5), chunk * caplet.steps)
        for chunk in CHUNKS
        for who, way in ways.items()
    }
    rows = rows_of(least_seconds(timed, options.rounds))
    report.write("paths", rows, ("paths at once",))
    report.show("paths of the option problem", rows)
    pages.main()


if __name__ == "__main__":
    main()
