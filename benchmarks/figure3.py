"""The tables of docs/paper/figure3.md, from the files that `make figure3` leaves there."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace

from benchmarks import report
from croupier.errors import StoreError
from paper import Annealing, Figure3
from paper.fig3_bank import bank_of
from paper.fig3_files import Fig3CurveRow
from paper.fig3_play import curves_of
from paper.fig3_study import COMBINED
from paper.picture import NAMES
from paper.study import PAPER

FOLDER = report.FOLDER.parent / "paper"

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def measured(standardised: bool) -> Figure3 | None:
    """Return what was measured with features of a scaling, None if it was not measured yet."""
    try:
        return Figure3.read(FOLDER, standardised)
    except StoreError:
        return None


def figures() -> list[Figure3]:
    return [figure for scaling in (True, False) if (figure := measured(scaling))]


def arms() -> Table:
    """Return the estimates of the banks: log Z, variances, costs, and cost times variance."""
    header = [
        "features", "rows", "temperatures", "draws", "log Z", "reference", "V/Z²", "evaluations",
        "CPU ms", "δV to the least, evaluations", "δV to the least, CPU",
    ]  # fmt: skip
    rows = []
    for figure in figures():
        for model in figure.study.rows:
            own = [arm for arm in figure.arms if arm.rows == model]
            least = [
                min(arm.variance * getattr(arm, clock) for arm in own)
                for clock in ("evaluations", "cpu_seconds")
            ]
            rows += [
                [
                    arm.features, str(arm.rows), str(arm.temperatures), str(arm.draws),
                    f"{arm.log_z:.4f} ± {arm.error:.4f}",
                    f"{arm.reference:.4f} ± {arm.reference_error:.4f}",
                    f"{arm.variance:.3g}", f"{arm.evaluations:.0f}",
                    f"{1000 * arm.cpu_seconds:.2f}",
                    f"{arm.variance * arm.evaluations / least[0]:.2f}",
                    f"{arm.variance * arm.cpu_seconds / least[1]:.2f}",
                ]
                for arm in own
            ]  # fmt: skip
    return header, rows


def ratios() -> Table:
    """Return the final regret over t (delta V)* of every policy, by likelihood evaluations."""
    header = ["features", "rows", "policy", *COMBINED, "share of the best arm"]
    rows = []
    for figure in figures():
        last: dict[tuple[int, str], dict[str, Fig3CurveRow]] = {}
        for row in figure.curves:
            if row.clock == "evaluations":
                last.setdefault((row.rows, row.policy), {})[row.combine] = row
        for (model, policy), own in last.items():
            cells = [_excess(own[one]) if one in own else "" for one in COMBINED]
            share = f"{own['mean'].best_share:.2f}" if policy in NAMES else ""
            rows.append(
                [figure.study.features, str(model), NAMES.get(policy, policy), *cells, share]
            )
    return header, rows


def _excess(row: Fig3CurveRow) -> str:
    unit = row.time**2 * row.loss / row.ratio
    return f"{row.regret / unit:.2f} ± {row.stderr / unit:.2f}" if row.stderr else "0"


#: The ranges of the draws, in units of Z; the last is that of the largest draw.
RANGES = (3.0, 1.0, 0.3, math.inf)


def by_range() -> Table:
    """Return the final regret of the paper's policies for several ranges, with guarded weights."""
    header = ["range", *(f"{NAMES[one]}, {how}" for one in PAPER for how in ("mean", "guarded"))]
    found = {
        (row["range"], row["policy"], row["combine"]): f"{float(row['excess']):.2f}"
        for row in report.read("fig3-ranges")
    }
    shown = {str(one): f"{one:g} Z" if math.isfinite(one) else "largest draw" for one in RANGES}
    return header, [
        [shown[one], *(found.get((one, p, how), "-") for p in PAPER for how in ("mean", "guarded"))]
        for one in shown
    ]


def main() -> None:
    """Measure the ranges: 50 raw rows, where one arm is clearly bad, by likelihood evaluations."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    study = Annealing(standardised=False, rows=(50,), runs=options.runs, draws=options.draws)
    reference = study.model(50).reference()
    sizes = zip(study.temperatures, study.bank_sizes, strict=True)
    banks = [bank_of(study, 50, *one, reference) for one in sizes]
    rows = []
    for width in RANGES:
        for curve in curves_of(replace(study, width=width), 50, banks):
            if curve.clock == "evaluations" and curve.policy in PAPER:
                unit = curve.times[-1] ** 2 * curve.loss[-1] / curve.ratio[-1]
                rows.append(
                    {
                        "range": width,
                        "policy": curve.policy,
                        "combine": curve.combine,
                        "excess": float(curve.regret[-1] / unit),
                        "stderr": float(curve.stderr[-1] / unit),
                    }
                )
    report.write("fig3-ranges", rows, ("range", "policy", "combine"))


if __name__ == "__main__":
    main()
