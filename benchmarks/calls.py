"""make bench-calls: a looped arm beside a vectorised one, with measured seconds.

The arms price an Asian option with 250 steps. The vectorised arm draws whole paths at once. The
looped arm takes one step of all paths at a time: a call costs milliseconds, a draw in a large call
costs less, and importance sampling makes its variance about eight times smaller. A run has found
the right arm if the looped arm got more than half of the cost. It is measured on the machine as it
is, and with three busy processes beside it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import warnings
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from benchmarks.overhead import burn

STEPS = 250
SPOT, STRIKE, RATE, VOLATILITY, DRIFT = 100.0, 110.0, 0.05, 0.3, 2.0
BUSY = 3

_DT = 1 / STEPS
_TREND = (RATE - VOLATILITY**2 / 2) * _DT


def _payoff(mean: np.ndarray) -> np.ndarray:
    return np.exp(-RATE) * np.maximum(mean - STRIKE, 0.0)


def vectorised(rng: np.random.Generator, size: int) -> np.ndarray:
    steps = _TREND + VOLATILITY * np.sqrt(_DT) * rng.standard_normal((size, STEPS))
    return _payoff(SPOT * np.exp(np.cumsum(steps, axis=1)).mean(axis=1))


def looped(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return draws under a drift that falls to zero at the end, times their likelihood ratios."""
    path, total, log_ratio = np.zeros(size), np.zeros(size), np.zeros(size)
    for drift in DRIFT * np.arange(STEPS, 0, -1) / STEPS * np.sqrt(_DT):
        z = rng.standard_normal(size) + drift
        log_ratio += drift * (drift / 2 - z)
        path += _TREND + VOLATILITY * np.sqrt(_DT) * z
        total += np.exp(path)
    return _payoff(SPOT * total / STEPS) * np.exp(log_ratio)


ARMS = {"vectorised": vectorised, "looped": looped}


def shares(runs: int, seconds: float) -> np.ndarray:
    """Return the share of the cost that the looped arm got, run by run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [
            cr.estimate(ARMS, seconds=seconds, rng=seed, progress=False) for seed in range(runs)
        ]
    return np.array([result.arms["looped"].share for result in results])


def measure(busy: int, runs: int, seconds: float) -> dict[str, Any]:
    """Return a row: how often the looped arm got more than half, beside `busy` processes."""
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(busy)]
    for burner in burners:
        burner.start()
    try:
        share = shares(runs, seconds)
    finally:
        for burner in burners:
            burner.kill()
    found = int((share > 0.5).sum())
    row = {"busy": busy, "seconds": seconds, "runs": runs, "found": found}
    return {**row, "share": float(share.mean()), "least": float(share.min())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-calls", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    rows = [measure(busy, options.runs, options.seconds) for busy in (0, BUSY)]
    report.write("calls", rows, ("busy",))
    report.show("a looped arm beside a vectorised one", rows)
    pages.main()


if __name__ == "__main__":
    main()
