"""make bench-grown-strata: what strata that grow take from the variance.

`plain` is the variance of plain draws, `halves` that of proportional strata with two halves per
axis (in 2 and 5 dimensions). `ratio` is n times the mean squared error of 10 000 draws, the pilot
included, and `claimed` n times the mean squared standard error, both divided by `plain`.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import qmc

import croupier as cr
from benchmarks import pages, report
from croupier.data.draws import Floats

DRAWS = 10_000


def corner(x: Floats) -> Floats:
    """Return Genz's corner peak."""
    d = x.shape[1]
    c = np.linspace(0.6, 1.4, d) * 1.85 / d
    return np.asarray((1 + x @ c) ** -(d + 1.0))


def discontinuous(x: Floats) -> Floats:
    """Return Genz's exponential that is 0 beyond 0.45 and 0.6 in the first coordinates."""
    d = x.shape[1]
    inside = (x[:, 0] < 0.45) & (x[:, 1] < 0.6)
    return np.where(inside, np.exp(x @ (np.linspace(0.6, 1.4, d) * 4.3 / d)), 0.0)


def disc(x: Floats) -> Floats:
    """Return 1 within a quarter of a disc."""
    return (np.square(x).sum(axis=1) < 0.3).astype(float)


def nothing(x: Floats) -> Floats:
    """Return a wave in all coordinates at once, which no box explains."""
    return np.asarray(np.sin(40 * x.sum(axis=1)))


PROBLEMS: dict[str, tuple[Callable[[Floats], Floats], int]] = {
    "corner peak": (corner, 2),
    "corner peak, 5 dimensions": (corner, 5),
    "discontinuous": (discontinuous, 2),
    "discontinuous, 5 dimensions": (discontinuous, 5),
    "quarter of a disc": (disc, 2),
    "corner peak, 20 dimensions": (corner, 20),
    "a wave, 20 dimensions": (nothing, 20),
}


def known(function: Callable[[Floats], Floats], d: int) -> tuple[float, float, float]:
    """Return the mean, the variance of plain draws, and that of proportional halves."""
    nets = [function(qmc.Sobol(d, rng=k).random(2**15)).mean() for k in range(8)]
    u = np.random.default_rng(1).random((400_000, d))
    y = function(u)
    halves = math.nan
    if d <= 5:
        key = (u > 0.5) @ (2 ** np.arange(d))
        halves = float(np.mean([y[key == k].var() for k in range(2**d)]))
    return float(np.mean(nets)), float(y.var()), halves


def measure(name: str, runs: int) -> dict[str, Any]:
    function, d = PROBLEMS[name]
    mean, plain, halves = known(function, d)
    play = partial(cr.stratify, function, over=[(0, 1)] * d, splits="adaptive", draws=DRAWS)
    squares, claimed, covered, boxes = [], [], [], []
    for run in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.CroupierWarning)
            result = play(rng=run, progress=False)
        squares.append(DRAWS * (result.value - mean) ** 2 / plain)
        claimed.append(DRAWS * result.stderr**2 / plain)
        covered.append(result.interval[0] <= mean <= result.interval[1])
        boxes.append(len(result.arms))
    return {
        "problem": name,
        "runs": runs,
        "ratio": float(np.mean(squares)),
        "ratio_se": float(np.std(squares) / math.sqrt(runs)),
        "claimed": float(np.mean(claimed)),
        "halves": halves / plain,
        "coverage": float(np.mean(covered)),
        "boxes": float(np.mean(boxes)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    options = parser.parse_args()
    for name in PROBLEMS:
        row = measure(name, options.runs)
        report.show(name, [row])
        report.write("grown-strata", [row], ("problem",))
    pages.main()


if __name__ == "__main__":
    main()
