"""make bench-calls: who gets the time in runs with measured seconds.

A grid of two arms: what a call costs, what a draw costs, and how far apart the arms are in cost
times variance, in both orders. Then a looped arm beside a vectorised one.

The arms price an Asian option with 250 steps. The vectorised arm draws whole paths at once. The
looped arm takes one step of all paths at a time: a call costs milliseconds, a draw in a large call
costs less, and importance sampling makes its variance about eight times smaller. A run has found
the right arm if the looped arm got more than half of the cost. It is measured on the machine as it
is, and with three busy processes beside it.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def beside(busy: int) -> Iterator[None]:
    """Run with this many busy processes beside."""
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(busy)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()


def measure(busy: int, runs: int, seconds: float) -> dict[str, Any]:
    """Return a row: how often the looped arm got more than half, beside `busy` processes."""
    with beside(busy):
        share = shares(runs, seconds)
    found = int((share > 0.5).sum())
    row = {"busy": busy, "seconds": seconds, "runs": runs, "found": found}
    return {**row, "share": float(share.mean()), "least": float(share.min())}


# -- the grid

#: Seconds of a call and of a draw, beyond what numpy takes: from 5 ns a draw to 3 ms.
PRICES = {
    "numpy": (0.0, 0.0),
    "1 us": (0.0, 1e-6),
    "10 us": (0.0, 1e-5),
    "5 ms + 1 us": (5e-3, 1e-6),
    "3 ms": (0.0, 3e-3),
}
RATIOS = (2.0, 10.0, 1e5)


def _spinning(seconds: float) -> None:
    """Compute for so long; what else runs on the machine does not count."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def _arm(spread: float, call: float, draw: float) -> Callable[..., np.ndarray]:
    def drawn(rng: np.random.Generator, size: int) -> np.ndarray:
        if call or draw:
            _spinning(call + draw * size)
        return 1.0 + spread * (rng.random(size, dtype=np.float32) - 0.5)

    return drawn


def _price(call: float, draw: float) -> float:
    """Return the cost of a draw in the calls that a run of a second makes."""
    draw += 5e-9
    return draw + call / min(10_000, (1 / 32 - call) / draw)


def grid(busy: int, seconds: float = 1.0) -> list[dict[str, Any]]:
    """Return rows: how often the better arm got 80 % of the time inside the arms."""
    rows = []
    with beside(busy), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ratio in RATIOS:
            shares, inside = [], []
            for good, poor in itertools.permutations(PRICES, 2):
                spread = (ratio * _price(*PRICES[good]) / _price(*PRICES[poor])) ** 0.5
                arms = {"good": _arm(1.0, *PRICES[good]), "poor": _arm(spread, *PRICES[poor])}
                for order in (arms, dict(reversed(arms.items()))):
                    result = cr.estimate(order, seconds=seconds, rng=1, progress=False)
                    shares.append(result.arms["good"].share)
                    if "numpy" not in (good, poor):
                        inside.append(result.cost / result.seconds)
            found = int((np.array(shares) >= 0.8).sum())
            row = {"busy": busy, "ratio": ratio, "runs": len(shares), "found": found}
            rows.append({**row, "share": float(np.median(shares)), "inside": min(inside)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-calls", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--grid", action="store_true", help="the grid only (four minutes)")
    options = parser.parse_args()
    for busy in (0, BUSY):
        rows = grid(busy)
        report.write("calls-grid", rows, ("busy", "ratio"))
        report.show("two arms in one second", rows)
    if not options.grid:
        rows = [measure(busy, options.runs, options.seconds) for busy in (0, BUSY)]
        report.write("calls", rows, ("busy",))
        report.show("a looped arm beside a vectorised one", rows)
    pages.main()


if __name__ == "__main__":
    main()
