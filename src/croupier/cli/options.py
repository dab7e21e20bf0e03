"""The options that several commands share, and what they mean for a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from croupier.cli.sections import Problem, check_keys
from croupier.errors import PlanError

__all__ = ["Atol", "Batch", "Combine", "Confidence", "Cost", "Draws", "Json", "Policy", "Quiet",
           "Report", "Rtol", "Seconds", "Seed", "Source", "Store", "StorePath", "Width", "Workers",
           "run_options", "without_replaced"]  # fmt: skip

Source: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="A problem file such as arms.toml, or arms of Python: module:name, file.py:name.",
        show_default=False,
    ),
]
StorePath: TypeAlias = Annotated[Path, typer.Argument(help="The store of a run, such as run.db.")]
Draws: TypeAlias = Annotated[
    float | None, typer.Option(help="Budget in draws; 1e6 is fine.", show_default=False)
]
Seconds: TypeAlias = Annotated[
    float | None, typer.Option(help="Budget in seconds.", show_default=False)
]
Cost: TypeAlias = Annotated[
    float | None,
    typer.Option(help="Budget in the cost that the arms report.", show_default=False),
]
Rtol: TypeAlias = Annotated[
    float | None,
    typer.Option(help="Stop at this half-width relative to the value.", show_default=False),
]
Atol: TypeAlias = Annotated[
    float | None, typer.Option(help="Stop at this half-width.", show_default=False)
]
Confidence: TypeAlias = Annotated[
    float | None, typer.Option(help="Level of the interval.", show_default="0.95")
]
Policy: TypeAlias = Annotated[
    str | None, typer.Option(help="How the budget is dealt: croupier policies.", show_default=False)
]
Combine: TypeAlias = Annotated[
    str | None,
    typer.Option(help="guarded, mean or inverse-variance.", show_default=False),
]
Batch: TypeAlias = Annotated[
    str | None,
    typer.Option(help="growing, one, or the draws of the first call.", show_default=False),
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Processes that draw.", show_default=False)
]
Width: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Batches that may be out at once.", show_default=False)
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option("--rng", "--seed", min=0, help="Seed of the run.", show_default="a new one"),
]
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The file that the run survives in; it continues.", show_default=False),
]
Report: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write the result to this HTML page.", show_default=False)
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]

#: What a section [run] may have besides the options of `estimate`.
_FILES: Final = ("store", "report")
_NAMES: Final = ("draws", "seconds", "cost", "atol", "rtol", "confidence", "anytime", "interval",
                 "policy", "combine", "objective", "log", "batch", "keep_values", "audit", "names",
                 "on_failure", "retries", "clock", "seed", "workers", "width", *_FILES)  # fmt: skip

#: If the command line has one of these, the file's are left out: the first to be used up stops.
_TOGETHER: Final = (("draws", "seconds", "cost"), ("atol", "rtol"))


def run_options(problem: Problem, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run: those of the command line, then those of the problem file.

    A budget on the command line replaces all budgets of the file, and so does a tolerance. Paths
    in a file are relative to its folder.
    """
    check_keys("[run]", "option", problem.options, (*_NAMES, *problem.section.options))
    options = dict(problem.options)
    for name in _FILES:
        if name in options:
            if not isinstance(options[name], str) or "\0" in options[name]:
                raise PlanError(f"[run]: {name} must be a path, got {options[name]!r}")
            options[name] = Path(os.path.abspath(problem.folder / options[name]))
    options = without_replaced(
        options, {name: value for name, value in given.items() if value is not None}
    )
    if isinstance(batch := options.get("batch"), str) and batch.isdigit():
        options["batch"] = int(batch)
    if "seed" in options:
        options["rng"] = options.pop("seed")
    return options


def without_replaced(options: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those that were said later: one budget replaces all budgets before.

    >>> without_replaced({"seconds": 10, "rtol": 0.01}, {"draws": 1000})
    {'rtol': 0.01, 'draws': 1000}
    """
    replaced = {name for group in _TOGETHER if set(group) & set(later) for name in group}
    return {name: value for name, value in options.items() if name not in replaced} | dict(later)
