"""make bench-logs: which interval of log(mean) covers best, for positive draws.

It compares two intervals on the same samples: the logs of the ends mean ± h, and
log(mean) ± h/mean, where h is the half-width for a fixed size at 95 %.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import pages, report
from croupier.data.central_moments import effective_df
from croupier.estimates.intervals import normal_quantile

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def lognormal(sigma: float) -> Draw:
    return lambda rng, shape: rng.lognormal(-sigma * sigma / 2, sigma, shape)


def gamma(k: float) -> Draw:
    return lambda rng, shape: rng.gamma(k, 1 / k, shape)


#: Families with mean 1.
CASES: dict[str, Draw] = {
    "lognormal, sigma 0.5": lognormal(0.5),
    "lognormal, sigma 1": lognormal(1.0),
    "lognormal, sigma 1.5": lognormal(1.5),
    "gamma, shape 0.5": gamma(0.5),
    "gamma, shape 2": gamma(2.0),
}
SIZES = (30, 100, 300, 1000, 3000)
_CHUNK = 1000


def missed(draw: Draw, n: int, runs: int) -> np.ndarray:
    """Return how often mean 1 was below and above each interval, (2, 2)."""
    rng = np.random.default_rng(7)
    z = normal_quantile(0.975)
    found = np.zeros((2, 2))
    for _ in range(runs // _CHUNK):
        x = draw(rng, (_CHUNK, n))
        mean = x.mean(axis=1)
        squares = np.square(x - mean[:, None])
        m2, m4 = squares.sum(axis=1), np.square(squares).sum(axis=1)
        df = np.maximum(effective_df(n, m2, m4), 1.0)
        h = (z + (z**3 + z) / (4 * df)) * np.sqrt(m2 / (n - 1) / n)
        log, width = np.log(mean), h / mean
        found += [
            [np.sum(mean - h > 1), np.sum(mean + h < 1)],
            [np.sum(log - width > 0), np.sum(log + width < 0)],
        ]
    return found / (runs // _CHUNK * _CHUNK)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-logs", description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, draw in CASES.items():
        for n in SIZES:
            ends, delta = missed(draw, n, options.runs)
            row: dict[str, Any] = {"family": name, "draws": n, "runs": options.runs}
            row |= {"ends": 1 - ends.sum(), "delta": 1 - delta.sum()}
            row |= {"delta_below": delta[0], "delta_above": delta[1]}
            rows.append({**row, "error": math.sqrt(0.05 * 0.95 / options.runs)})
    report.write("logs", rows, ("family", "draws"))
    report.show("coverage of 95 % intervals of a log", rows)
    pages.main()


if __name__ == "__main__":
    main()
