"""The tables of docs/paper/figure3.md, from the files that `croupier paper fig3` leaves there."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import report
from croupier.errors import StoreError
from croupier.paper import Figure3
from croupier.paper.fig1_picture import NAMES
from croupier.paper.fig3_files import Fig3CurveRow
from croupier.paper.fig3_study import COMBINED

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
