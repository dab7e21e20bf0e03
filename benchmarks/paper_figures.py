"""The pages of the paper's figures: what is measured beside `python -m paper`, and their tables.

The default at 10^4 draws of the option, 2000 times, and how the range of the payoffs changes the
policies of the paper. The other tables come from the files that `python -m paper` leaves in
docs/paper.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import runner
from benchmarks.pages import Table
from croupier.errors import StoreError
from croupier.policies import KLUCB, UCB1, UCBV, Thompson
from croupier.views import formats
from paper import Caplet, Figure1, Figure2, OptionPrice, figure2
from paper.cir import Exact
from paper.fig2_contest import problem
from paper.fig2_picture import NAMES as CONTESTANTS
from paper.picture import NAMES
from paper.study import DEFAULT, PAPER

FOLDER = runner.FOLDER.parent / "paper"

#: The shapes of Figure 1.
SHAPES = ("scaled-bernoulli", "truncated-normal", "uniform")

STRIKES = (0.06, 0.07, 0.08)
DRAWS = 10_000

#: The limits at 10^4: what the allocation of the default may cost, and n MSE/V* of its estimate.
WANTED = {"I": 1.10, "ratio": 1.20}

#: Payoffs are clipped at these multiples of the price, or at the largest draw of a pilot.
WIDTHS = (1.5, 2.0, 2.25, 3.0, 5.0, 10.0)
PILOT = 100_000


# -- the default on the option


def default(strike: float, draws: int, runs: int) -> dict[str, Any]:
    study = OptionPrice(strikes=(strike,), draws=(draws,), runs=runs, contestants=(DEFAULT,))
    with tempfile.TemporaryDirectory() as folder:
        (row,) = figure2(folder, study).rows
    bias = (row.mean - row.price) / (row.nmse / row.draws / row.runs) ** 0.5
    return {
        "strike": strike,
        "draws": row.draws,
        "runs": row.runs,
        "I": round(row.allocation, 4),
        "ratio": round(row.ratio, 4),
        "stderr": round(row.ratio_stderr, 4),
        "standard errors of bias": round(bias, 2),
    }


# -- the range of the payoffs


def by_range(strike: float, runs: int) -> list[dict[str, Any]]:
    """Return what the allocation of the paper's policies costs with payoffs in other ranges."""
    caplet = Caplet(strike)
    exact = caplet.exact()
    policies = {"ucb1": UCB1, "ucb-v": UCBV, "kl-ucb": KLUCB, "thompson": Thompson}
    rows = []
    for label, width in ranges(caplet, exact).items():
        sim = cr.simulate(
            problem(caplet, exact, width),
            {name: policy(clip=True) for name, policy in policies.items()},
            runs=runs,
            horizon=DRAWS,
            record=1,
            rng=7,
        )
        best = exact.variances[exact.best] * DRAWS
        losses = {name: (one.pulls[:, -1] @ exact.variances) / best for name, one in sim.items()}
        rows.append(
            {
                "strike": strike,
                "range": label,
                "times the price": float(f"{width:.4g}"),
                "runs": runs,
                **{name: float(f"{loss.mean():.4g}") for name, loss in losses.items()},
                "uniform": float(f"{exact.variances.mean() / exact.variances.min():.4g}"),
            }
        )
    return rows


def ranges(caplet: Caplet, exact: Exact) -> dict[str, float]:
    """Return the ranges, in multiples of the price, by their names."""
    rng = np.random.default_rng(7)
    largest = max(
        float(np.max(arm.draw(rng, PILOT)))  # type: ignore[operator, call-arg]
        for arm in caplet.arms(exact.thetas)
    )
    return {f"{w:g} × price": w for w in WIDTHS} | {"largest draw": largest / exact.price}


BENCHMARKS = (
    runner.Benchmark(
        "fig2-default",
        ("strike", "draws"),
        lambda full: ((strike, DRAWS, 2000 if full else 20) for strike in STRIKES),
        default,
    ),
    runner.Benchmark(
        "fig2-ranges",
        ("strike",),
        lambda full: ((strike, 50 if full else 2) for strike in STRIKES),
        by_range,
    ),
)


# -- tables


def figure_1(shape: str) -> Figure1 | None:
    """Return what was measured with arms of a shape, None if it was not measured yet."""
    try:
        return Figure1.read(FOLDER, shape)
    except StoreError:
        return None


def wins() -> Table:
    """Return how many cells each policy won, for every shape; in brackets, wins within noise."""
    header = ["arms", "runs x draws", "cells", *(NAMES[policy] for policy in PAPER)]
    rows = []
    for shape in SHAPES:
        if figure := figure_1(shape):
            tiles, study = figure.tiles.values(), figure.study
            won = [[tile for tile in tiles if tile.winner == policy] for policy in PAPER]
            ahead = sum(tile.default_ratio < 1 for tile in tiles)
            rows.append(
                [
                    shape,
                    f"{study.runs:,} x {study.horizon:,}",
                    str(len(tiles)),
                    *(f"{len(own)} ({sum(tile.within_noise for tile in own)})" for own in won),
                    str(ahead),
                    formats.duration(sum(figure.cpu_seconds.values())),
                ]
            )
    return [*header, "the default beats all four", "CPU time"], rows


def figure_2(part: str = "") -> Figure2 | None:
    """Return the figure of the documentation, None if it was not measured yet.

    The part "long" has the runs to 10^6 draws, from a bank of paths.
    """
    try:
        return Figure2.read(FOLDER / part)
    except StoreError:
        return None


def longer() -> Table:
    """Return the loss of the paper's contestants at 10^6 draws, from squared errors."""
    figure = figure_2("long")
    if figure is None:
        return [], []
    found = {(row.strike, row.draws, row.contestant): row for row in figure.rows}
    columns = [(strike, 1_000_000) for strike in figure.study.strikes]
    lines = []
    for name in figure.study.contestants:
        own = [found.get((*column, name)) for column in columns]
        kept = [row for row in own if row is not None and not np.isnan(row.ratio)]
        if len(kept) == len(columns):
            cells = [_with_error(row.ratio, row.ratio_stderr) for row in kept]
            lines.append([CONTESTANTS.get(name, name), *cells])
    return ["contestant", *(f"{strike:g}" for strike, _ in columns)], lines


def _with_error(value: float, error: float) -> str:
    """Return a number with its error, if there is one beyond rounding."""
    return f"{value:.3g} ± {error:.2g}" if error > 1e-9 * value else f"{value:.3g}"


def losses(draws: int) -> Table:
    """Return n MSE/V* of every contestant, from squared errors."""
    figure = figure_2()
    if figure is None or draws not in figure.study.draws:
        return [], []
    study = figure.study
    header = ["contestant", *(f"{strike:g}" for strike in study.strikes)]
    there = {row.part: row for row in figure.rows if row.draws == draws}
    rows = []
    for name in study.contestants:
        line = [CONTESTANTS.get(name, name)]
        for strike in study.strikes:
            row = there.get((strike, name))  # type: ignore[call-overload]
            line.append("-" if row is None else _with_error(row.ratio, row.ratio_stderr))
        rows.append(line)
    return header, rows


TABLES: dict[str, Callable[[], Table]] = {
    "fig1-wins": wins,
    "fig2-longer": longer,
    "fig2-losses": lambda: losses(10_000),
}
