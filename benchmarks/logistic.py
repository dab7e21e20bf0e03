"""make bench-logistic: the annealing kernel of the logistic models, compared with the plain loop.

It measures CPU time of one process, without compilation: the smallest of several rounds in turns.
Both draw the same weights from the same random streams. The plain loop computes X theta again at
every likelihood evaluation, with an exponential and a logarithm for each row.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np

from benchmarks import pages, report
from croupier.simulator.randomness import streams
from paper.logistic import Evidence
from paper.logistic_kernel import anneal, anneal_plainly, ladder

ROWS = (5, 10, 50)
TEMPERATURES = 400

#: Draws of the kernel in one round, and of the plain loop.
DRAWS, PLAIN_DRAWS = 200, 40

#: How many times the kernel's time the plain loop should take, in the geometric mean.
WANTED = 4


def timed(model: Evidence, plainly: bool) -> tuple[float, Any]:
    """Return CPU seconds per likelihood evaluation, and log-weights with their evaluations."""
    out = np.empty((PLAIN_DRAWS if plainly else DRAWS, 2))
    columns, filled = model.columns
    random, betas = streams(np.uint64(7), len(out)), ladder(TEMPERATURES)
    settings = (betas, model.prior_variance, model.width, out)
    began = time.process_time()
    if plainly:
        anneal_plainly(random, columns, model.rows, *settings)
    else:
        anneal(random, columns, filled, *settings)
    return (time.process_time() - began) / out[:, 1].sum(), out


def rows_of(rounds: int) -> list[dict[str, Any]]:
    """Return a row for every model: nanoseconds per evaluation of both, and their ratio."""
    models = [Evidence(rows, std) for std, rows in itertools.product((True, False), ROWS)]
    least: dict[tuple[Evidence, bool], float] = {}
    apart = dict.fromkeys(models, 0.0)
    for _ in range(rounds + 1):  # the first compiles
        for model in models:
            (quick, own), (plain, other) = timed(model, False), timed(model, True)
            apart[model] = float(np.abs(own[:PLAIN_DRAWS, 0] - other[:, 0]).max())
            for plainly, seconds in ((False, quick), (True, plain)):
                key = model, plainly
                least[key] = min(least.get(key, seconds), seconds)
    return [
        {
            "features": "standardised" if model.standardised else "raw",
            "rows": model.rows,
            "kernel ns": least[model, False] * 1e9,
            "plain loop ns": least[model, True] * 1e9,
            "ratio": least[model, True] / least[model, False],
            "wanted": WANTED,
            "largest difference in log w": apart[model],
        }
        for model in models
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-logistic", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rows = rows_of(parser.parse_args().rounds)
    report.write("logistic", rows, ("features", "rows"))
    report.show("logistic: nanoseconds per likelihood evaluation", rows)
    pages.main()


if __name__ == "__main__":
    main()
