"""make bench-models: plain models and unseen ones with a known evidence, at several budgets.

One row for each problem, budget and seed, in docs/benchmarks/evidence-models.csv. A row that is
there is not run again. A budget counts every evaluation of the likelihood.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import croupier as cr
from benchmarks import pages, report
from benchmarks.evidence_problems import MODELS, PROBLEMS, UNSEEN

NAME = "evidence-models"
KEY = ("problem", "budget", "seed")

SETS = {"models": MODELS, "unseen": UNSEEN, "hard": PROBLEMS}


def measured(name: str, budget: int, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    kind = next(kind for kind, problems in SETS.items() if name in problems)
    log_likelihood, prior, truth = SETS[kind][name]()
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cr.evidence(
            log_likelihood, prior, draws=budget, rng=seed, vectorised=True, progress=False
        )
    low, high = result.log_interval or (None, None)
    return {
        "set": kind,
        "problem": name,
        "budget": budget,
        "seed": seed,
        "error": f"{result.log_value - truth:.4f}",
        "claimed": f"{result.log_stderr:.4f}",
        "covered": int(low is not None and low <= truth <= high),
        "warned": int(bool(result.warnings)),
        "prior points": result.details["search"]["prior_points"],
        "climbs": result.details["search"]["climbs"],
        "cpu s": f"{time.process_time() - began:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-models", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budgets", type=int, nargs="+", default=[3000, 10_000])
    parser.add_argument("--sets", nargs="+", default=["models", "unseen"], choices=list(SETS))
    parser.add_argument("--problem", help="those with this in their name")
    options = parser.parse_args()
    wanted = [
        (name, budget, seed)
        for budget in options.budgets
        for seed in range(options.seeds)
        for kind in options.sets
        for name in SETS[kind]
        if options.problem is None or options.problem in name
    ]
    report.fill(NAME, KEY, wanted, measured)
    pages.main()


if __name__ == "__main__":
    main()
