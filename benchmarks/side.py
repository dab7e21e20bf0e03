"""python -m benchmarks.side: what side observations save on the option problem, in minutes.

It runs the default policy and `SideThompson` on the 16 arms. It measures I = n/(V* sum n_k/V_k),
the cost of the allocation with ideal weights, and n times the mean squared error, both relative to
the best arm.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from croupier.importance import SideThompson
from paper import Caplet

STRIKES = (0.06, 0.08)
BUDGETS = (300, 1000, 3000)


def measured(strike: float, draws: int, policy: Any, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return I of each run, and n times its squared error over V*; seeds from 1000 on."""
    caplet = Caplet(strike=strike)
    exact, arms = caplet.exact(), caplet.family().arms(side=True)
    best = exact.variances.min()
    results = [cr.estimate(arms, draws=draws, policy=policy, rng=1000 + k) for k in range(runs)]
    counts = np.array([[row.draws for row in result.arms] for result in results])
    errors = np.array([result.value for result in results]) - exact.price
    return draws / (best * (counts / exact.variances).sum(axis=1)), draws * errors**2 / best


def row_of(strike: float, draws: int, who: str, runs: int) -> dict[str, Any]:
    """Return a row of the table; `who` is "default" or "side"."""
    policy = SideThompson() if who == "side" else "auto"
    I, squares = measured(strike, draws, policy, runs)  # noqa: E741
    root = np.sqrt(runs)
    return {
        "strike": strike,
        "draws": draws,
        "policy": who,
        "runs": runs,
        "I": round(float(I.mean()), 3),
        "I_se": round(float(I.std() / root), 3),
        "ratio": round(float(squares.mean()), 3),
        "ratio_se": round(float(squares.std() / root), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side", description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    options = parser.parse_args()
    warnings.simplefilter("ignore", cr.CroupierWarning)
    rows = [
        row_of(strike, draws, who, options.runs)
        for strike in STRIKES
        for draws in BUDGETS
        for who in ("default", "side")
    ]
    report.write("side", rows, ("strike", "draws", "policy"))
    report.show("side observations on the option problem", rows)
    pages.main()


if __name__ == "__main__":
    main()
