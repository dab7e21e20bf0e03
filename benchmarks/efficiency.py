"""make bench-efficiency: what is lost compared with the best arm in hindsight.

For every family and budget it measures I, which is about the allocation only (no noise from the
draws), and the ratio n MSE/V* of the estimate itself with its standard error; 1 is the best arm.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from benchmarks import pages, report
from benchmarks.families import FAMILIES, Family
from benchmarks.replicate import PAPER, Runs, replicate

BUDGETS = (1_000, 10_000, 100_000)
DEFAULT = "variance-thompson"
RIVALS = ("variance-lcb", "uniform", "explore-then-commit", "greedy", "oracle")
KEY = ("family", "policy", "budget")


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


def bench(family: Family, policy: str, budget: int, runs: int) -> dict[str, Any]:
    began = time.perf_counter()
    done = replicate(family, policy, runs, **budget_of(family, budget))
    row: dict[str, Any] = {"family": family.name, "policy": policy, "budget": budget, "runs": runs}
    row |= measures(family, done)
    row["covered_95"], row["covered_99"] = (done.covered(family.mean, k) for k in (0, 1))
    row["verdict"] = verdict(family, budget, row) if policy == DEFAULT else "-"
    row["seconds"] = round(time.perf_counter() - began, 1)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-efficiency", description=__doc__)
    parser.add_argument("--case", action="append", choices=sorted(FAMILIES), help="one family")
    parser.add_argument("--policy", action="append", choices=(DEFAULT, *RIVALS, *PAPER))
    parser.add_argument("--budget", action="append", type=int, choices=BUDGETS)
    parser.add_argument("--runs", type=int, default=4000, help="repetitions of the default")
    parser.add_argument("--rival-runs", type=int, default=400, help="repetitions of the others")
    parser.add_argument("--paper", action="store_true", help="the policies of the paper, at 10^4")
    options = parser.parse_args()
    policies = options.policy or (PAPER if options.paper else (DEFAULT, *RIVALS))
    for policy in policies:
        runs = options.runs if policy == DEFAULT else options.rival_runs
        for budget in options.budget or (BUDGETS[1:2] if policy in PAPER else BUDGETS):
            rows = []
            for name in options.case or FAMILIES:
                rows.append(bench(FAMILIES[name], policy, budget, runs))
                report.write("efficiency", rows[-1:], KEY)
            report.show(f"{policy} at a budget of {budget:,}", rows)
    picture()
    pages.main()


def picture() -> None:
    """Draw I of every policy on every family, at every budget."""
    from matplotlib.figure import Figure

    rows = [row for row in report.read("efficiency") if row["policy"] in (DEFAULT, *RIVALS[:-1])]
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
    figure.savefig(report.FOLDER / "efficiency.png", dpi=150)


if __name__ == "__main__":
    main()
