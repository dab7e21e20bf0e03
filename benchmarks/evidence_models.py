"""The evidence of plain models, unseen, new and hard ones, with known answers, at several budgets.

A budget counts every evaluation of the likelihood. An answer is missed if it is off by more than
four claimed errors, and not usable if it says that nothing is known about its error.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import croupier as cr
from benchmarks import runner
from benchmarks.evidence_problems import MODELS, NEW, PROBLEMS, UNSEEN
from benchmarks.pages import Table

SETS: Final = {"models": MODELS, "unseen": UNSEEN, "new": NEW, "hard": PROBLEMS}

#: An answer is near if it is off by less than this.
NEAR: Final = 0.1

#: What the quick form plays.
QUICK: Final = ("regression, d = 10", "two modes 1/.3, d = 6", "changepoint")


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
    low, high = result.log_interval or (math.nan, math.nan)
    return {
        "set": kind,
        "problem": name,
        "budget": budget,
        "seed": seed,
        "error": f"{result.log_value - truth:.4f}",
        "claimed": f"{result.log_stderr:.4f}",
        "covered": int(low <= truth <= high),
        "warned": int(bool(result.warnings)),
        "effective": f"{result.details['search'].get('effective', 0):.0f}",
        "shape": f"{result.details['search'].get('pareto_shape', math.nan):.2f}",
        "prior points": result.details["search"]["prior_points"],
        "climbs": result.details["search"]["climbs"],
        "cpu s": f"{time.process_time() - began:.2f}",
    }


def _wanted(full: bool) -> Iterator[tuple[str, int, int]]:
    for seed, budget in itertools.product(
        range(5 if full else 1), (3000, 10_000, 100_000) if full else (3000,)
    ):
        for problems in SETS.values():
            yield from ((name, budget, seed) for name in problems if full or name in QUICK)


BENCHMARKS = (
    runner.Benchmark("evidence-models", ("problem", "budget", "seed"), _wanted, measured),
)


def models() -> Table:
    """Return how many answers are right at each budget, for each set of problems."""
    groups: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in runner.read("evidence-models"):
        groups.setdefault((row["set"], int(row["budget"])), []).append(row)
    rows = []
    for (kind, budget), runs in sorted(groups.items()):
        known = [row for row in runs if row["claimed"] not in ("nan", "inf")]
        missed = [row for row in known if abs(float(row["error"])) > 4 * float(row["claimed"])]
        near = sum(abs(float(row["error"])) < NEAR for row in known)
        silent = sum(row["warned"] == "0" for row in missed)
        false = sum(row["warned"] == "1" for row in known if row not in missed)
        counts = (len(runs), near, len(runs) - len(known), len(missed), silent, false)
        rows.append([kind, f"{budget:,}", *map(str, counts)])
    header = ["problems", "evaluations", "runs", "within 0.1", "not usable", "missed"]
    return [*header, "of them silent", "right with a warning"], rows


def misses() -> Table:
    """Return the problems that were missed or not usable with the largest budget."""
    rows = runner.read("evidence-models")
    most = max((int(row["budget"]) for row in rows), default=0)
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if int(row["budget"]) == most:
            found.setdefault(row["problem"], []).append(row)
    body = []
    for problem, runs in found.items():
        known = [row for row in runs if row["claimed"] not in ("nan", "inf")]
        missed = [row for row in known if abs(float(row["error"])) > 4 * float(row["claimed"])]
        silent = sum(row["warned"] == "0" for row in missed)
        errors = ", ".join(f"{float(row['error']):.2g}" for row in missed) or "-"
        numbers = (len(runs), len(runs) - len(known), len(missed), silent)
        if missed or len(known) < len(runs):
            body.append([problem, *map(str, numbers), errors])
    return ["problem", "runs", "not usable", "missed", "of them silent", "errors"], body


TABLES: dict[str, Callable[[], Table]] = {
    "evidence-models": models,
    "evidence-misses": misses,
}
