"""croupier merge, export, report and copy: what becomes of stored runs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from croupier.cli import options as opt
from croupier.cli.terminal import errors_in_one_line, print_answer, write_page
from croupier.errors import CroupierError, CroupierWarning, PlanError

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["copy", "export", "merge", "report"]


def merge(
    paths: Annotated[list[Path], typer.Argument(help="Stores of runs of the same arms.")],
    report: opt.Report = None,
    as_json: opt.Json = False,
) -> None:
    """Make one estimate from several runs of the same arms, and test whether they agree.

    Examples:
    croupier merge a.db b.db c.db

    croupier merge a.db b.db --json
    """
    with errors_in_one_line():
        from croupier.running.merge import merge as merge_runs

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CroupierWarning)  # the result shows them
            result = merge_runs(paths)
        console = Console(highlight=False)
        print_answer(console, result, as_json=as_json)
        if report is not None:
            write_page(Console(stderr=True) if as_json else console, result, report)


def report(
    path: opt.StorePath,
    page: Annotated[Path, typer.Argument(help="The HTML page to write.")] = Path("run.html"),
) -> None:
    """Write the result of a stored run as one HTML page that needs nothing else.

    Examples:
    croupier report run.db run.html
    """
    with errors_in_one_line():
        write_page(Console(highlight=False), _result(path), page)


def export(
    path: opt.StorePath,
    csv: Annotated[
        Path | None, typer.Option(help="One row per arm, as CSV.", show_default=False)
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="One row per batch, as CSV.", show_default=False)
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="The whole result, as JSON.", show_default=False)
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(help="One row per batch; needs pandas and pyarrow.", show_default=False),
    ] = None,
    netcdf: Annotated[
        Path | None,
        typer.Option(
            help="Estimate and arms; needs xarray and h5netcdf or scipy.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a stored run to files that other programs read; - is the standard output.

    In CSV, a text that a spreadsheet would take for a formula gets an apostrophe in front.

    Examples:
    croupier export run.db --csv arms.csv --history batches.csv

    croupier export run.db --json - | jq .value

    croupier export run.db --parquet batches.parquet --netcdf run.nc
    """
    with errors_in_one_line():
        from croupier.results import exporting

        wanted = {
            exporting.arms_csv: csv,
            exporting.history_csv: history,
            exporting.json_text: json,
            exporting.history_parquet: parquet,
            exporting.netcdf: netcdf,
        }
        chosen = {make: target for make, target in wanted.items() if target is not None}
        if not chosen:
            raise PlanError(
                "nothing to write: give --csv, --history, --json, --parquet or --netcdf"
            )
        result = _result(path)
        for make, target in chosen.items():
            _write(target, make(result))


def copy(
    path: opt.StorePath,
    target: Annotated[Path, typer.Argument(help="The new file; it must not exist yet.")],
) -> None:
    """Copy a stored run to a new file, also while it is running.

    Examples:
    croupier copy run.db copy.db
    """
    with errors_in_one_line():
        from croupier.store.reading import copy_run

        copy_run(path, target)
        _say_written(target)


def _result(path: Path) -> Result:
    from croupier.store.reading import open_run

    return open_run(path).result()


def _write(path: Path, data: bytes) -> None:
    if str(path) == "-":
        typer.get_binary_stream("stdout").write(data)
        return
    from croupier.views.write_file import write_file

    try:
        write_file(path, data, "file")
    except OSError as error:
        raise CroupierError(str(error)) from error
    _say_written(path)


def _say_written(path: Path) -> None:
    Console(stderr=True, highlight=False).print(f"Wrote {path}", markup=False, soft_wrap=True)
