"""What is lost compared with the best arm in hindsight.

For every family and budget it measures I, which is about the allocation only (no noise from the
draws), and the ratio n MSE/V* of the estimate itself with its standard error; 1 is the best arm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import runner
from benchmarks.families import FAMILIES, PAPER, Family, Runs, replicate
from benchmarks.pages import Table, with_error

BUDGETS = (1_000, 10_000, 100_000)
DEFAULT = "variance-thompson"
RIVALS = ("variance-lcb", "uniform", "explore-then-commit", "greedy", "oracle")


def budget_of(family: Family, budget: int) -> dict[str, float]:
    return {"draws": budget} if family.costs is None else {"cost": budget}


def measures(family: Family, runs: Runs) -> dict[str, float]:
    """Return I and the ratio with their standard errors over the runs."""
    share = family.share(runs.draws, runs.cost)
    losses = runs.cost * np.square(runs.value - family.mean) / family.losses().min()
    root = math.sqrt(len(share))
    return {
        "I": float(share.mean()),
        "I_se": float(share.std() / root),
        "I_99": float(np.quantile(share, 0.99)),
        "ratio": float(losses.mean()),
        "ratio_se": float(losses.std() / root),
    }


def verdict(family: Family, budget: int, row: dict[str, Any]) -> str:
    """Return whether the default policy keeps the promise of the family at this budget."""
    step = BUDGETS.index(budget)
    limit, slack = family.limits[step], family.slack if step == 0 else 1.10
    efficient = row["I"] <= limit
    honest = row["ratio"] <= slack * row["I"] + 2 * row["ratio_se"]
    if math.isinf(limit):
        return "-"
    return "ok" if efficient and (honest or family.held_out) else "OVER"


def cells(full: bool) -> Iterator[tuple[str, str, int, int]]:
    """Yield family, policy, budget and repetitions."""
    if not full:
        for policy, runs in ((DEFAULT, 20), ("uniform", 4)):
            yield from ((name, policy, BUDGETS[1], runs) for name in FAMILIES)
        return
    for policy in (DEFAULT, *RIVALS, *PAPER):
        runs = 4000 if policy == DEFAULT else 40
        for budget in BUDGETS[1:2] if policy in PAPER else BUDGETS:
            yield from ((name, policy, budget, runs) for name in FAMILIES)


def measure(name: str, policy: str, budget: int, runs: int) -> dict[str, Any]:
    began, family = time.perf_counter(), FAMILIES[name]
    done = replicate(family, policy, runs, **budget_of(family, budget))
    row: dict[str, Any] = {"family": name, "policy": policy, "budget": budget, "runs": runs}
    row |= measures(family, done)
    row["covered_95"], row["covered_99"] = (done.covered(family.mean, k) for k in (0, 1))
    row["verdict"] = verdict(family, budget, row) if policy == DEFAULT else "-"
    row["seconds"] = round(time.perf_counter() - began, 1)
    return row


def picture() -> None:
    """Draw I of every policy on every family, at every budget."""
    from matplotlib.figure import Figure

    rows = [row for row in runner.read("efficiency") if row["policy"] in (DEFAULT, *RIVALS[:-1])]
    families = [name for name in FAMILIES if any(row["family"] == name for row in rows)]
    policies = [p for p in (DEFAULT, *RIVALS) if any(row["policy"] == p for row in rows)]
    colours = ("#0072B2", "#56B4E9", "#999999", "#E69F00", "#D55E00")
    figure = Figure(figsize=(11, 0.3 * len(families) + 1.6), layout="constrained")
    for axes, budget in zip(figure.subplots(1, len(BUDGETS), sharey=True), BUDGETS, strict=True):
        for policy, colour in zip(policies, colours, strict=False):
            points = [
                (float(row["I"]), families.index(row["family"]))
                for row in rows
                if row["policy"] == policy and int(row["budget"]) == budget
            ]
            if points:
                x, y = zip(*points, strict=True)
                on_top = 3 + len(policies) - policies.index(policy)
                axes.scatter(x, y, s=26, color=colour, label=policy, zorder=on_top)
        axes.axvline(1, color="#444444", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlim(0.95, 1500)
        axes.set_title(f"budget {budget:,}")
        axes.set_xlabel("I: 1 is the best arm in hindsight")
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_yticks(range(len(families)), families)
        axes.invert_yaxis() if budget == BUDGETS[0] else None
        axes.spines[["top", "right"]].set_visible(False)
    fullest = max(figure.axes, key=lambda axes: len(axes.get_legend_handles_labels()[0]))
    figure.legend(
        *fullest.get_legend_handles_labels(), frameon=False, ncols=5, loc="outside lower center"
    )
    figure.savefig(runner.FOLDER / "efficiency.png", dpi=150)


BENCHMARKS = (
    runner.Benchmark("efficiency", ("family", "policy", "budget"), cells, measure, picture),
)


# -- tables


def _measured() -> list[str]:
    known = {row["family"] for row in runner.read("efficiency")}
    return [name for name in FAMILIES if name in known]


def _cells(family: str, policy: str, show: Callable[[dict[str, str]], str]) -> list[str]:
    found = {
        row["budget"]: show(row)
        for row in runner.read("efficiency")
        if row["family"] == family and row["policy"] == policy
    }
    return [found.get(str(budget), "-") for budget in BUDGETS]


def losses() -> Table:
    """Return I of the default at all budgets, its ratio at 10^4, and I of the others there."""
    others, rows = RIVALS[:-1], []
    for name in sorted(_measured(), key=lambda name: FAMILIES[name].held_out):
        share = _cells(name, DEFAULT, lambda row: f"{float(row['I']):.3f}")
        ratio = _cells(name, DEFAULT, lambda row: with_error(row["ratio"], row["ratio_se"]))[1]
        beside = [_cells(name, policy, lambda row: _short(row["I"]))[1] for policy in others]
        rows.append([name + " (held out)" * FAMILIES[name].held_out, *share, ratio, *beside])
    return ["family", *(f"I at {b}" for b in BUDGETS), "ratio", *others], rows


def _short(number: str) -> str:
    """Return three significant digits of a number.

    >>> _short("1.0123"), _short("12.345"), _short("123.4")
    ('1.01', '12.3', '123')
    """
    value = float(number)
    return f"{value:.2f}" if value < 10 else f"{value:.3g}"


TABLES: dict[str, Callable[[], Table]] = {"efficiency": losses}
