"""croupier run: a run of programs and Python functions; croupier resume: go on with its store."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from croupier.cli import options as opt
from croupier.cli.terminal import (
    NOT_PRECISE,
    check_page,
    errors_in_one_line,
    print_answer,
    signals_interrupt,
    write_page,
)
from croupier.errors import CroupierWarning, PlanError

if TYPE_CHECKING:
    from croupier.cli.sections import Problem
    from croupier.results.result import Result
    from croupier.store.reading import Status

__all__ = ["play_and_print", "resume", "run"]


def run(
    source: opt.Source,
    draws: opt.Draws = None,
    seconds: opt.Seconds = None,
    cost: opt.Cost = None,
    rtol: opt.Rtol = None,
    atol: opt.Atol = None,
    confidence: opt.Confidence = None,
    policy: opt.Policy = None,
    combine: opt.Combine = None,
    batch: opt.Batch = None,
    workers: opt.Workers = None,
    width: opt.Width = None,
    seed: opt.Seed = None,
    store: opt.Store = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Spend a budget on the arms of a file, and print the estimate.

    Ctrl-C prints what is known so far; a store can be continued.

    Examples:
    croupier run arms.toml --seconds 60 --rtol 1e-3

    croupier run arms.toml --draws 1e6 --store run.db --report run.html

    croupier run mymodule:arms --seconds 10 --workers 2 --json
    """
    given = {
        "draws": draws, "seconds": seconds, "cost": cost, "rtol": rtol, "atol": atol,
        "confidence": confidence, "policy": policy, "combine": combine, "batch": batch,
        "workers": workers, "width": width, "seed": seed, "store": store, "report": report,
    }  # fmt: skip
    with errors_in_one_line():
        from croupier.cli.sections import read_problem

        play_and_print(source, read_problem(source), given, as_json=as_json, quiet=quiet)


def resume(
    path: opt.StorePath,
    source: Annotated[
        str, typer.Argument(help="The arms of the run: a problem file, or module:name.")
    ] = "arms.toml",
    draws: opt.Draws = None,
    seconds: opt.Seconds = None,
    cost: opt.Cost = None,
    rtol: opt.Rtol = None,
    atol: opt.Atol = None,
    workers: opt.Workers = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Continue a stored run, with the seed, the width and the policy that it has.

    The arms come from the same file as before. A run that was interrupted or killed goes on with
    the budget and the tolerance that it had, unless others are given here. Budgets are for all
    calls together: a run that has used up 60 seconds needs --seconds 120 to draw for another
    minute.

    Examples:
    croupier resume run.db arms.toml

    croupier resume run.db arms.toml --seconds 120

    croupier resume run.db mymodule:arms --draws 1e7 --rtol 1e-4
    """
    given = {
        "draws": draws, "seconds": seconds, "cost": cost, "rtol": rtol, "atol": atol,
        "workers": workers, "report": report, "store": path,
    }  # fmt: skip
    with errors_in_one_line():
        from croupier.cli.sections import read_problem
        from croupier.store.reading import open_run

        if not path.exists():
            raise PlanError(f"there is no store {path}: croupier run ... --store {path} makes one")
        problem, stored = read_problem(source), open_run(path)
        options = opt.without_replaced(problem.options, _unfinished(stored.status))
        if draws is seconds is cost is None:
            _check_unit(source, options, stored.plan.unit)
        planned = _planned(stored.plan, of_arms=problem.section.of_arms)
        problem = replace(problem, options={**options, **planned})
        play_and_print(source, problem, given, as_json=as_json, quiet=quiet)


def _unfinished(status: Status) -> dict[str, float]:
    """Return the budget and the tolerance of a call that has not come to its end."""
    if status.stopped not in (None, "interrupted"):
        return {}
    return {name: limit for name, limit in status.limits.items() if name != "workers"}


def _check_unit(source: str, options: Mapping[str, Any], unit: str) -> None:
    """Refuse the budget of a problem file if a stored run has another unit of cost."""
    budgets = [name for name in ("seconds", "cost", "draws") if options.get(name) is not None]
    if budgets and budgets[0] != unit:
        raise PlanError(
            f"the run counts {unit}, and the budget in {source} is in {budgets[0]}: "
            f"give a larger budget with --{unit}"
        )


def _planned(plan: Any, *, of_arms: bool) -> dict[str, Any]:
    """Return the options of a run that its plan has already decided."""
    planned = {name: getattr(plan, name) for name in ("confidence", "clock", "width", "seed")}
    if not of_arms:
        return planned
    planned |= {name: getattr(plan, name) for name in ("log", "batch", "keep_values", "objective")}
    planned["names"] = plan.components
    planned["policy"] = dict(plan.policy)
    if plan.table == "independent":
        planned["combine"] = plan.combine
    return planned


def play_and_print(
    source: str, problem: Problem, given: Mapping[str, Any], *, as_json: bool, quiet: bool
) -> None:
    """Make a run, print its result, and leave the exit code of how it ended."""
    chosen = opt.run_options(problem, given)
    report, store = chosen.pop("report", None), chosen.get("store")
    if report is not None:
        check_page(report, store)
    if quiet or as_json:
        chosen["progress"] = False
    with warnings.catch_warnings(), signals_interrupt():
        warnings.simplefilter("ignore", CroupierWarning)  # the result shows them
        result = replace(problem, options={}).play(chosen)
    console = Console(highlight=False)
    print_answer(console, result, as_json=as_json)
    if report is not None:
        write_page(Console(stderr=True, highlight=False) if as_json else console, result, report)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt(_way_on(source, store))
    if _not_precise(result, chosen):
        raise typer.Exit(NOT_PRECISE)


def _way_on(source: str, store: Path | None) -> str:
    if store is None:
        return ""
    return f"\nThe run is in {store}. Continue it with: croupier resume {store} {source}"


def _not_precise(result: Result, chosen: Mapping[str, Any]) -> bool:
    """Return whether the budget was used up before the tolerance was reached."""
    wanted = chosen.get("rtol") is not None or chosen.get("atol") is not None
    return wanted and result.stopped != "tolerance"
