"""make bench-budgets: does evidence keep its budget of seconds, with likelihoods of any speed?

The likelihood is that of a normal model in 13 dimensions, far from its prior, with a known log Z.
It takes the wanted time for each point: it sleeps, or waits busily if that is too short to sleep.
A row says how long the whole call took, compared with `seconds=`, what the search evaluated, and
the load of the machine: the number of processes that wanted to run.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import scipy.stats as st

import croupier as cr
from benchmarks import pages, report

NAME = "evidence-budgets"
KEY = ("a point", "function of", "workers", "seconds=")

D, NARROW = 13, 0.1

#: The likelihood is a normal density with this deviation about 0.5, the prior N(0, 1).
TRUTH = D * float(st.norm.logpdf(0.5, 0, math.hypot(1, NARROW)))

#: Below this, a sleep would take much longer than it should.
SHORTEST = 2e-4

SPEEDS = {"1 us": 1e-6, "50 us": 50e-6, "1 ms": 1e-3, "10 ms": 10e-3, "50 ms": 50e-3}


def wait(seconds: float) -> None:
    """Take this time from now on."""
    until = time.perf_counter() + seconds
    if seconds > SHORTEST:
        time.sleep(seconds)
    while time.perf_counter() < until:
        pass


@dataclass(frozen=True)
class OnePoint:
    """The log-likelihood of one point (d,)."""

    each: float

    def __call__(self, x: Any) -> float:
        """Return the log-likelihood, not too soon."""
        z = (x - 0.5) / NARROW
        value = -0.5 * float(z @ z) - D * math.log(NARROW * math.sqrt(2 * math.pi))
        if self.each > 1e-6:
            wait(self.each)
        return value


@dataclass(frozen=True)
class ManyPoints:
    """The log-likelihood of points (m, d)."""

    each: float

    def __call__(self, x: Any) -> Any:
        """Return the log-likelihoods, not too soon."""
        z = (x - 0.5) / NARROW
        wait(self.each * len(x))
        return -0.5 * (z * z).sum(axis=1) - D * math.log(NARROW * math.sqrt(2 * math.pi))


FUNCTIONS: dict[str, Callable[[float], Any]] = {"one": OnePoint, "many": ManyPoints}


def measured(speed: str, kind: str, workers: int, seconds: float) -> dict[str, Any]:
    """Return the row of one call."""
    likelihood, evidence = FUNCTIONS[kind](SPEEDS[speed]), cr.evidence  # this loads modules
    began = time.perf_counter()
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = evidence(
            likelihood, [st.norm(0, 1)] * D, seconds=seconds, rng=1, progress=False,
            vectorised=kind == "many", workers=None if workers == 1 else workers,
        )  # fmt: skip
    took = time.perf_counter() - began
    search = result.details["search"]
    return {
        "a point": speed,
        "function of": f"{kind} point{'s' * (kind == 'many')}",
        "workers": workers,
        "seconds=": f"{seconds:g}",
        "s": f"{took:.2f}",
        "of the budget": f"{took / seconds:.3f}",
        "evaluations of the search": search["evaluations"],
        "log Z - truth": f"{result.log_value - TRUTH:.4f}",
        "claimed": f"{result.log_stderr:.4f}",
        "warnings": len(result.warnings),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-budgets", description=__doc__)
    parser.add_argument("--seconds", type=float, nargs="+", default=[3, 10, 20])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--speed", nargs="+", choices=SPEEDS, default=list(SPEEDS))
    parser.add_argument("--function", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    for seconds in options.seconds:
        for workers in options.workers:
            for kind in options.function:
                for speed in options.speed:
                    row = measured(speed, kind, workers, seconds)
                    print(*row.values(), sep="  ", flush=True)
                    if not options.dry:
                        report.write(NAME, [row], KEY)
    if not options.dry:
        pages.main()


if __name__ == "__main__":
    main()
