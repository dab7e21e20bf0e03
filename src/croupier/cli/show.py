"""croupier show: a stored run, how far it is and its result so far."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import croupier
from croupier.cli import options as opt
from croupier.cli.terminal import errors_in_one_line, print_answer, print_result, write_page

__all__ = ["show"]


def show(
    path: Annotated[Path, typer.Argument(help="The store of a run, as in estimate(store=...).")],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the result to this HTML page, too.")
    ] = None,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="A Python module that registers the kind of table of the run, if it is your own.",
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Show a stored run: how far it is, whether it is still running, and its result so far.

    Examples:
    croupier show run.db

    croupier show run.db --json
    """
    console = Console(highlight=False)
    with errors_in_one_line():
        _load(modules or [])
        run = croupier.open_run(path)
        if as_json:
            print_answer(console, run.result(), as_json=True)
            return
        console.print(str(run.status), markup=False, soft_wrap=True)
        if run.status.tickets:
            console.print()
            print_result(console, run.result())
        if html is not None:
            write_page(console, run.result(), html)


def _load(modules: list[str]) -> None:
    """Import the modules that register kinds of tables; they may lie in this folder."""
    if modules:
        from croupier.tables.base import load

        sys.path.insert(0, "")
        for module in modules:
            load(module)
