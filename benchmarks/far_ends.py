"""Six integrals over normal points whose error comes from the far ends of a coordinate.

Four are functions of one direction across the axes, which a turn makes functions of one coordinate;
two are a sum and a product of functions of one coordinate each, without a turn. The least error of
turned axes was found on the cosine, with other seeds; nothing was chosen on the others. Run them
with `python -m benchmarks.far_ends`: 40 seeds each at a tolerance of 0.0001.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy import integrate as quadrature
from scipy.special import expit, ndtri

from benchmarks import report
from benchmarks.held_out_problems import cosine
from benchmarks.peer_problems import Array, Problem
from benchmarks.peers import measure

GROUP = "far ends"
FIRST_SEED = 3000


def along(name: str, d: int, g: Callable[[Array], Array]) -> Problem:
    """Return E g(w z) of normal z for a direction w of length 1, whose parts are not equal."""
    w = np.arange(1.0, d + 1)
    w /= np.linalg.norm(w)

    def weighted(t: float) -> float:
        return float(g(np.array(t))) * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)

    value = quadrature.quad(weighted, -12, 12, epsabs=0, epsrel=1e-12, limit=400)[0]
    return Problem(f"{name} {d}", d, lambda u: g(ndtri(u) @ w), value, GROUP)


def far_ends() -> list[Problem]:
    """Return the six problems."""
    each = math.exp(-0.5)
    return [
        cosine(),
        along("sine", 12, lambda t: 2 + np.sin(2 * t + 0.5)),
        along("logistic", 15, lambda t: expit(1.5 * t + 1)),
        along("square", 8, lambda t: t * t),
        Problem("sum of cosines 8", 8, lambda u: np.cos(ndtri(u)).mean(axis=1), each, GROUP),
        Problem("product of cosines 4", 4, lambda u: np.prod(1 + np.cos(ndtri(u)) / 2, axis=1),
                (1 + each / 2) ** 4, GROUP),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--rtol", type=float, default=1e-4)
    args = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + args.seeds)
    rows = [measure(problem, "croupier", args.rtol, seeds) for problem in far_ends()]
    report.write("far-ends", rows, ("problem", "rtol"))
    report.show("far ends", rows)


if __name__ == "__main__":
    main()
