"""Stops: how often the interval of a run that stops at a tolerance holds the true value.

The tolerance is the half-width that an oracle has after n* draws: it plays only the best arm and
knows its variance. Each row also has the cost of the run, divided by the cost of the oracle.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

from benchmarks.families import Family
from benchmarks.replicate import Runs, replicate
from croupier.estimates.intervals import normal_quantile

MODES = ("tolerance", "anytime")
#: n*: this many draws of the best arm are enough for the oracle.
ORACLES = (1_000, 4_000)
KEY = ("family", "mode")
#: At most so far from 95 % is promised for a tolerance, at the last n*.
WITHIN = 0.015
#: The cost to the oracle's that is promised at the last n*. In these families draws are so skewed
#: that it takes long to know their variance.
SKEWED = ("rare-event", "lognormal-1")
MOST_COST = {"tolerance": 1.15, "anytime": 2.6}
MOST_COST_SKEWED = {"tolerance": 1.35, "anytime": 2.6}


def oracle_cost(family: Family, draws: int) -> float:
    """Return what the oracle spends: this many draws of the best arm."""
    best = int(family.losses().argmin())
    return draws * (1.0 if family.costs is None else family.costs[best])


def tolerance(family: Family, draws: int) -> float:
    """Return the half-width of the oracle's 95 % interval after this many draws."""
    best = int(family.losses().argmin())
    return normal_quantile(0.975) * math.sqrt(family.variances[best] / draws)


def play(family: Family, mode: str, draws: int, runs: int) -> Runs:
    unit = "draws" if family.costs is None else "cost"
    settings: dict[str, Any] = {
        unit: 40 * oracle_cost(family, draws),
        "atol": tolerance(family, draws),
    }
    return replicate(family, "variance-thompson", runs, anytime=mode == "anytime", **settings)


class Measured(NamedTuple):
    """The coverage and the cost of many runs, each with its standard error."""

    covered: float
    error: float
    cost: float
    cost_error: float = 0.0


def verdict(family: str, mode: str, found: Measured) -> str:
    """Return whether a promised family keeps its promise, within two standard errors."""
    most = (MOST_COST_SKEWED if family in SKEWED else MOST_COST)[mode]
    low, high = (0.95, 1.0) if mode == "anytime" else (0.95 - WITHIN, 0.95 + WITHIN)
    holds = low - 2 * found.error <= found.covered <= high + 2 * found.error
    return "ok" if holds and found.cost <= most + 2 * found.cost_error else "OVER"


def bench(family: Family, group: str, mode: str, runs: int) -> dict[str, Any]:
    began = time.perf_counter()
    row: dict[str, Any] = {"family": family.name, "group": group, "mode": mode, "runs": runs}
    for draws in ORACLES:
        done = play(family, mode, draws, runs)
        covered, cost = done.covered(family.mean, 0), done.cost / oracle_cost(family, draws)
        found = Measured(
            covered,
            math.sqrt(covered * (1 - covered) / runs),
            float(cost.mean()),
            float(cost.std() / math.sqrt(runs)),
        )
        row |= {
            f"covered_95_{draws}": found.covered,
            f"error_95_{draws}": found.error,
            f"covered_99_{draws}": done.covered(family.mean, 1),
            f"cost_to_oracle_{draws}": found.cost,
            f"by_tolerance_{draws}": float((done.stopped == "tolerance").mean()),
        }
    says = verdict(family.name, mode, found) if group == "promised" else "-"
    return {**row, "verdict": says, "seconds": round(time.perf_counter() - began, 1)}
