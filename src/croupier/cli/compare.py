"""croupier compare: a short pilot of all arms, to see which are worth keeping."""

from __future__ import annotations

import json
import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from croupier.cli import options as opt
from croupier.cli.terminal import errors_in_one_line, signals_interrupt, table_of
from croupier.errors import CroupierWarning, PlanError

if TYPE_CHECKING:
    from croupier.results.result import Result
    from croupier.results.rows import ArmRow

__all__ = ["compare"]

#: An arm that needs more than twice the cost of the best one is not worth keeping.
_GOOD = 0.5


def compare(
    source: opt.Source,
    draws: opt.Draws = None,
    seconds: opt.Seconds = None,
    cost: opt.Cost = None,
    rtol: Annotated[
        float | None, typer.Option(help="The tolerance to plan for.", show_default="1e-3")
    ] = None,
    atol: opt.Atol = None,
    batch: opt.Batch = None,
    seed: opt.Seed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Draw from all arms alike for a short time, and say which are worth keeping.

    The table has the cost of a draw, its variance, the efficiency, and how long a run with this
    arm alone takes to the tolerance. The budget of the pilot is 2 seconds if none is given here.

    Examples:
    croupier compare arms.toml --seconds 5 --rtol 1e-3

    croupier compare mymodule:arms --json
    """
    with errors_in_one_line():
        from croupier.cli.sections import read_problem
        from croupier.running.estimate import estimate

        budget = {"draws": draws, "seconds": seconds, "cost": cost, "seed": seed, "batch": batch}
        if draws is None and seconds is None and cost is None:
            budget["seconds"] = 2.0
        problem = read_problem(source)
        chosen = opt.run_options(problem, {**budget, "rtol": rtol, "atol": atol})
        wanted = {name: chosen.pop(name, None) for name in ("rtol", "atol")}
        for name in ("store", "report", "policy", "combine"):
            chosen.pop(name, None)
        with warnings.catch_warnings(), signals_interrupt():
            warnings.simplefilter("ignore", CroupierWarning)  # they are printed below
            result = estimate(problem.arms(), policy="uniform", progress=False, **chosen)
        if result.plan.log or not result.history.scalar:
            raise PlanError("compare is for arms that return numbers, not vectors or logs")
        rtol_wanted = wanted["rtol"] if any(wanted.values()) else 1e-3
        tolerance = max(wanted["atol"] or 0.0, (rtol_wanted or 0.0) * abs(result.value))
        rows = [_row(result, row, tolerance) for row in result.arms]
        rows.sort(key=lambda row: -(row["efficiency"] or 0.0))
        if as_json:
            answer = {"arms": rows, "tolerance": tolerance, "unit": result.unit,
                    "agreement": result.agreement, "warnings": list(result.warnings)}  # fmt: skip
            typer.echo(json.dumps(answer, allow_nan=False))
        else:
            _print(Console(highlight=False), result, rows, tolerance)


def _row(result: Result, row: ArmRow, tolerance: float) -> dict[str, Any]:
    """Return what the pilot knows about an arm; the time to a tolerance is z^2 c V / tol^2."""
    from croupier.estimates.intervals import ManyLooks

    z = float(ManyLooks.at(ManyLooks.least_df, result.confidence))
    known = row.variance is not None and row.cost_per_draw is not None and tolerance > 0
    needed = z * z * row.variance * row.cost_per_draw / tolerance**2 if known else None
    verdict = "not known"
    if row.efficiency is not None:
        verdict = "keep" if row.efficiency >= _GOOD else "drop"
        verdict = "best" if row.efficiency == 1 else verdict
    elif row.variance == 0:
        verdict = "never varied"
    return {
        "arm": row.name,
        "draws": row.draws,
        "mean": row.mean,
        "stderr": row.stderr,
        "variance": row.variance,
        "cost_per_draw": row.cost_per_draw,
        "efficiency": row.efficiency,
        "needed": needed if needed is None or math.isfinite(needed) else None,
        "verdict": verdict,
    }


def _print(console: Console, result: Result, rows: list[dict[str, Any]], tolerance: float) -> None:
    from rich.text import Text

    from croupier.views import formats

    unit = result.unit
    titles = ("arm", "mean", "variance", "cost/draw", "efficiency", "needs", "verdict")
    table = table_of(*titles, right=(1, 2, 3, 4, 5))
    for row in rows:
        mean = (
            formats.MISSING if row["mean"] is None else formats.number(row["mean"], row["stderr"])
        )
        cells = (
            mean,
            formats.compact(row["variance"]),
            formats.cost(row["cost_per_draw"], unit),
            formats.compact(row["efficiency"], 2),
            formats.cost(row["needed"], unit),
            row["verdict"],
        )
        table.add_row(Text(formats.shorten(row["arm"], 24)), *map(Text, cells))
    console.print(table)
    from croupier.views.table_content import agreements

    words = {"seconds": "time in the arms", "draws": "draws", "cost": "cost"}
    lines = [f"the arms agree: {p}" for p in agreements(result.as_summary()).values()]
    lines.append(
        f"needs: the {words[unit]} until the half-width at "
        f"{formats.level(result.confidence)} is {formats.compact(tolerance)}, with this arm alone"
    )
    lines.append("drop: the same error costs more than twice as much as with the best arm")
    lines += [f"warning: {formats.printable(warning)}" for warning in result.warnings]
    console.print("\n" + "\n".join(lines), markup=False, soft_wrap=True)
