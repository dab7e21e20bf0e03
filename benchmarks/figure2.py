"""python -m benchmarks.figure2: what docs/paper/figure2.md says beyond `python -m paper figure2`.

It runs the default at 10^4 draws, 2000 times, and measures how the range of the payoffs changes the
paper's policies. It also makes the tables of the page, from the file that the figure writes.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import report
from croupier.errors import StoreError
from croupier.policies import KLUCB, UCB1, UCBV, Thompson
from paper import Caplet, Figure2, OptionPrice, figure2
from paper.cir import Exact
from paper.fig2_contest import problem
from paper.fig2_picture import NAMES
from paper.fig2_study import Fig2Row
from paper.study import DEFAULT, PAPER

FOLDER = report.FOLDER.parent / "paper"
STRIKES = (0.06, 0.07, 0.08)
DRAWS = 10_000

#: The limits at 10^4: what the allocation of the default may cost, and n MSE/V* of its estimate.
WANTED = {"I": 1.10, "ratio": 1.20}

#: Payoffs are clipped at these multiples of the price, or at the largest draw of a pilot.
WIDTHS = (1.5, 2.0, 2.25, 3.0, 5.0, 10.0)
PILOT = 100_000

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


# -- measuring


def default_rows(figure: Figure2) -> list[dict[str, Any]]:
    return [
        {
            "strike": row.strike,
            "draws": row.draws,
            "runs": row.runs,
            "I": round(row.allocation, 4),
            "ratio": round(row.ratio, 4),
            "stderr": round(row.ratio_stderr, 4),
            "standard errors of bias": round(
                (row.mean - row.price) / (row.nmse / row.draws / row.runs) ** 0.5, 2
            ),
        }
        for row in figure.rows
    ]


def range_rows(strike: float, runs: int) -> list[dict[str, Any]]:
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


# -- tables


def measured() -> Figure2 | None:
    """Return the figure that is in the documentation, None if it was not measured yet."""
    try:
        return Figure2.read(FOLDER)
    except StoreError:
        return None


def measured_longer() -> Figure2 | None:
    """Return the runs to 10^6 draws, from a bank of paths."""
    try:
        return Figure2.read(FOLDER / "long")
    except StoreError:
        return None


def longer() -> Table:
    """Return the loss of the paper's contestants up to 10^6 draws, from squared errors."""
    marks = (10_000, 100_000, 316_228, 1_000_000)
    return _longer(marks, lambda row: (row.ratio, row.ratio_stderr))


def longer_by_draws() -> Table:
    """Return the same as the draws of every arm imply it, for those who average them."""
    marks = (10_000, 100_000, 316_228, 1_000_000)
    return _longer(marks, lambda row: (row.allocation, row.allocation_stderr))


def _longer(marks: Sequence[int], numbers: Callable[[Fig2Row], tuple[float, float]]) -> Table:
    """Return a line for each contestant and strike that has these numbers, a column per mark."""
    figure = measured_longer()
    if figure is None:
        return [], []
    found = {(row.strike, row.contestant, row.draws): row for row in figure.rows}
    lines = []
    for strike in figure.study.strikes:
        for name in figure.study.contestants:
            own = [found.get((strike, name, draws)) for draws in marks]
            kept = [row for row in own if row is not None]
            if len(kept) < len(marks) or np.isnan(numbers(kept[0])[0]):
                continue
            cells = [_with_error(*numbers(row)) for row in kept]
            lines.append([f"{strike:g}", NAMES.get(name, name), str(kept[0].runs), *cells])
    return ["strike", "contestant", "runs", *(f"{draws:,}" for draws in marks)], lines


def _with_error(value: float, error: float) -> str:
    """Return a number with its error, if there is one beyond rounding."""
    return f"{value:.3g} ± {error:.2g}" if error > 1e-9 * value else f"{value:.3g}"


def bank_or_paths() -> Table:
    """Return the losses on the bank beside those on new paths, and how far they are apart."""
    figure, bank = measured(), measured_longer()
    if figure is None or bank is None:
        return [], []
    paths = {(row.strike, row.contestant, row.draws): row for row in figure.rows}
    lines = []
    for row in bank.rows:
        other = paths.get((row.strike, row.contestant, row.draws))
        if other is None or row.draws not in (10_000, 100_000):
            continue
        apart = (row.ratio - other.ratio) / math.hypot(row.ratio_stderr, other.ratio_stderr)
        both = (f"{one.ratio:.3g} ± {one.ratio_stderr:.2g}" for one in (row, other))
        squared, by_draws = [*both, f"{apart:.1f}"], "-"
        if not np.isnan(row.allocation):
            by_draws = f"{row.allocation:.3g}, {other.allocation:.3g}"
        name = NAMES[row.contestant]
        lines.append([f"{row.strike:g}", name, f"{row.draws:,}", *squared, by_draws])
    header = [
        "strike", "contestant", "draws", "bank", "new paths", "apart, in standard errors",
        "by the draws: bank, new paths",
    ]  # fmt: skip
    return header, lines


def losses(draws: int) -> Table:
    """Return n MSE/V* of every contestant: from squared errors, and from the draws of the arms."""
    figure = measured()
    if figure is None or draws not in figure.study.draws:
        return [], []
    study = figure.study
    header = ["contestant"]
    for strike in study.strikes:
        header += [f"{strike:g}: squared errors", "by the draws"]
    there = {row.part: row for row in figure.rows if row.draws == draws}
    rows = []
    for name in study.contestants:
        line = [NAMES.get(name, name)]
        for strike in study.strikes:
            row = there.get((strike, name))  # type: ignore[call-overload]
            if row is None:
                line += ["-", "-"]
                continue
            implied = "-" if np.isnan(row.allocation) else f"{row.allocation:.3g}"
            line += [f"{row.ratio:.3g} ± {row.ratio_stderr:.2g}", implied]
        rows.append(line)
    return header, rows


def default() -> Table:
    header = ["strike", "runs", "I", "wanted", "n·MSE/V*", "wanted", "bias, in standard errors"]
    return header, [
        [
            row["strike"],
            row["runs"],
            f"{float(row['I']):.3f}",
            f"≤ {WANTED['I']:.2f}",
            f"{float(row['ratio']):.3f} ± {float(row['stderr']):.3f}",
            f"≤ {WANTED['ratio']:.2f}",
            row["standard errors of bias"],
        ]
        for row in report.read("fig2-default")
    ]


def by_range() -> Table:
    header = ["strike", "range", *(NAMES[name] for name in PAPER), "uniform"]
    rows = []
    for row in report.read("fig2-ranges"):
        label = row["range"]
        if label == "largest draw":
            label += f", {float(row['times the price']):.3g} × price"
        rows.append([row["strike"], label, *(row[name] for name in (*PAPER, "uniform"))])
    return header, rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.figure2", description=__doc__)
    parser.add_argument("--only", choices=("default", "ranges"))
    parser.add_argument("--runs", type=int, default=2000, help="of the default")
    parser.add_argument("--range-runs", type=int, default=100)
    options = parser.parse_args()
    if options.only != "ranges":
        study = OptionPrice(draws=(DRAWS,), runs=options.runs, contestants=(DEFAULT,))
        with tempfile.TemporaryDirectory() as folder:
            rows = default_rows(figure2(folder, study))
        report.write("fig2-default", rows, ("strike", "draws"))
        report.show(f"the default at {DRAWS:,} draws", rows)
    if options.only != "default":
        for strike in STRIKES:
            rows = range_rows(strike, options.range_runs)
            report.write("fig2-ranges", rows, ("strike", "range"))
            report.show(f"ranges of the payoffs, strike {strike:g}", rows)
    from benchmarks import pages

    pages.main()


if __name__ == "__main__":
    main()
