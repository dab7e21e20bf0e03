"""croupier watch: a live view of a run that another process makes; it only reads the store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from croupier.cli.terminal import errors_in_one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["watch"]


def watch(
    paths: Annotated[list[Path], typer.Argument(help="Stores of runs, such as run.db.")],
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, print it, and end.")] = False,
    web: Annotated[
        bool, typer.Option("--web", help="Show it as a page, as croupier serve does.")
    ] = False,
) -> None:
    """Watch a run that another process or machine makes, until it is over or Ctrl-C.

    The view has the budget, the time left, the estimate and its error over the cost, and the table
    of the result so far. The store is only read.

    Examples:
    croupier watch run.db

    croupier watch a.db b.db --every 5

    croupier watch run.db --once
    """
    if web:
        from croupier.cli.serve import serve

        serve(paths)
        return
    with errors_in_one_line():
        console = Console(highlight=False)
        if once or not console.is_terminal:
            console.print(_views(paths)[0])
            return
        from rich.live import Live

        with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
            while True:
                shown, over = _views(paths)
                live.update(shown, refresh=True)
                if over:
                    return
                time.sleep(every)


def _views(paths: list[Path]) -> tuple[RenderableType, bool]:
    """Return the views of all runs, one below the other, and whether all of them are over."""
    from rich.console import Group
    from rich.text import Text

    from croupier.cli.stored_snapshot import snapshot_of
    from croupier.views.run_view import view

    runs = [snapshot_of(path) for path in paths]
    parts: list[RenderableType] = []
    for run in runs:
        parts += [view(run), Text("")]
    return Group(*parts[:-1]), all(run["over"] for run in runs)
