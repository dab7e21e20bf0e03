"""make bench-rare, part 2: calls on proposals of one family that once missed silently.

Two systems with more than one failing part, 200 seeds for each call: a mixture of tilted normals,
`tune` from the centre, and the proposals as plain arms.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

import croupier as cr
from benchmarks import pages, report
from benchmarks.rare_problems import FIRST, four_branch
from croupier.importance import Family

RING = [(3.3 * np.cos(a), 3.3 * np.sin(a)) for a in np.arange(8) * np.pi / 4]


def two_modes(x: Any) -> Any:
    """Tell which points fail: beyond 4.8 on the first axis, or in a tongue below the second."""
    return (x[:, 0] > 4.8) | (x[:, 1] < -(4.4 + 8 * x[:, 0] ** 2))


def two_modes_value() -> float:
    def tongue(t: float) -> float:
        return float(norm.pdf(t) * norm.cdf(-(4.4 + 8 * t * t)))

    return float(norm.sf(4.8) + 2 * quad(tongue, 0, 4)[0])


def branches(x: Any) -> Any:
    """Tell which points fail in the four-branch system."""
    return four_branch(x) < 0


def branches_value() -> float:
    (problem,) = [each for each in FIRST if each.name == "four-branch"]
    return float(problem.value())


def two_shifts() -> Family:
    return Family.tilted(two_modes, [[4.8, 0], [0, -4.4]])


def estimate_two_modes(seed: int) -> cr.Result:
    return two_shifts().estimate(draws=60_000, rtol=0.1, rng=seed, progress=False)


def estimate_ring(seed: int) -> cr.Result:
    family = Family.tilted(branches, RING)
    return family.estimate(draws=60_000, rtol=0.1, rng=seed, progress=False)


def tune_branches(seed: int) -> cr.Result:
    family = Family.tilted(branches, [[0, 0]])
    return family.tune(draws=200_000, rtol=0.1, rng=seed, progress=False)


def plain_arms(seed: int) -> cr.Result:
    return cr.estimate(two_shifts().arms(), draws=60_000, rtol=0.1, rng=seed, progress=False)


CALLS: dict[str, tuple[Callable[[int], cr.Result], Callable[[], float]]] = {
    "Family.estimate, two modes": (estimate_two_modes, two_modes_value),
    "Family.estimate, ring of 8 on four-branch": (estimate_ring, branches_value),
    "Family.tune, four-branch": (tune_branches, branches_value),
    "cr.estimate(family.arms()), two modes": (plain_arms, two_modes_value),
}


def measure(name: str, seeds: int) -> dict[str, Any]:
    """Return how often the interval of a call misses, and how often it does so silently."""
    call, known = CALLS[name]
    value, missed, silent, far, warned, draws = known(), 0, 0, 0, 0, []
    began = time.process_time()
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.CroupierWarning)
            result = call(seed)
        low, high = result.interval
        miss = not low <= value <= high
        missed, warned = missed + miss, warned + bool(result.warnings)
        silent += miss and not result.warnings
        far += abs(result.value - value) > 4 * result.stderr and not result.warnings
        draws.append(result.draws)
    return {
        "call": name,
        "runs": seeds,
        "draws": round(float(np.median(draws))),
        "misses": missed,
        "silent misses": silent,
        "silent beyond 4 errors": far,
        "warned": warned,
        "seconds per run": round((time.process_time() - began) / seeds, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--case", nargs="*", choices=list(CALLS))
    args = parser.parse_args()
    for name in args.case or CALLS:
        row = measure(name, args.seeds)
        report.write("rare-calls", [row], ("call",))
        report.show(name, [row])
    pages.main()


if __name__ == "__main__":
    main()
