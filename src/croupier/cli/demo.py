"""croupier demo: an option priced in a few seconds, and what that saved."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from croupier.cli.terminal import (
    errors_in_one_line,
    print_result,
    signals_interrupt,
    table_of,
    write_picture,
)
from croupier.errors import CroupierWarning

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["demo"]


def demo(
    seconds: Annotated[float, typer.Option(help="How long to draw.")] = 3.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the run; a new one if left out.")
    ] = None,
    picture: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path(
        "croupier-demo.png"
    ),
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Write no picture.")] = False,
    store: Annotated[
        Path | None, typer.Option(help="A file that keeps the run, so that it can continue.")
    ] = None,
) -> None:
    """Price an Asian option with six arms, and show what this saved."""
    from croupier.examples import asian_option as asian

    console = Console(highlight=False)
    with errors_in_one_line():
        console.print(f"{asian.TITLE}\n")
        with warnings.catch_warnings(), signals_interrupt():
            warnings.simplefilter("ignore", CroupierWarning)  # the table shows them
            result = asian.price(seconds, seed=seed, store=store)
        print_result(console, result)
        _print_savings(console, result)
        if not no_picture:
            write_picture(console, result, picture)
        if result.stopped == "interrupted":
            raise KeyboardInterrupt


def _print_savings(console: Console, result: Result) -> None:
    """Print what the same standard error would have cost in other ways."""
    from croupier.examples import asian_option as asian
    from croupier.views import formats

    others = asian.alternatives(result)
    if not others:
        return
    off = abs(result.value - asian.PRICE) / result.stderr
    console.print(
        f"\nNumerical integration gives {asian.PRICE}, {off:.1f} standard errors away.\n"
        f"\nThe same standard error, {formats.compact(result.stderr, 2)}, in other ways:\n"
    )
    table = table_of("way", "time in the arms", "relative", right=(1, 2))
    table.add_row("croupier", formats.cost(result.cost, result.unit), "1", style="bold")
    for other in others:
        cost = formats.cost(other.cost, result.unit)
        table.add_row(other.name, cost, formats.compact(other.times, 2))
    console.print(table)
