"""The command line: parse, call, print."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import croupier
from croupier.cli.paper import paper
from croupier.cli.terminal import (
    errors_in_one_line,
    signals_interrupt,
    table_of,
    write_page,
    write_picture,
)
from croupier.errors import CroupierWarning

if TYPE_CHECKING:
    from croupier.policies import Policy
    from croupier.results.result import Result

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(paper, name="paper")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(
                errors="replace"
            )  # if the terminal has no ±, a ? is better than a traceback
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"croupier {croupier.__version__}")
        raise typer.Exit


@app.callback()
def _croupier(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Several estimators of one number, one budget, one honest answer."""


@app.command()
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
        _print_result(console, result)
        _print_savings(console, result)
        if not no_picture:
            write_picture(console, result, picture)
        if result.stopped == "interrupted":
            raise KeyboardInterrupt


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="The store of a run, as in estimate(store=...).")],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the result to this HTML page, too.")
    ] = None,
) -> None:
    """Show a stored run: how far it is, whether it is still running, and its result so far."""
    console = Console(highlight=False)
    with errors_in_one_line():
        run = croupier.open_run(path)
        console.print(str(run.status), markup=False, soft_wrap=True)
        if run.status.tickets:
            console.print()
            _print_result(console, run.result())
        if html is not None:
            write_page(console, run.result(), html)


@app.command()
def policies() -> None:
    """List the policies, with their parameters and defaults."""
    from croupier.policies import REGISTRY, as_policy
    from croupier.policies.bounded import Bandit

    default = as_policy("auto").name
    table = table_of("policy", "parameters", "what it does")
    for name, policy in sorted(REGISTRY.items(), key=lambda item: item[0] != default):
        style = "bold" if name == default else ""
        table.add_row(Text(name, style), _parameters(policy), _first_line(policy))
    console = Console(highlight=False)
    console.print(table)
    shared = ", ".join(field.name for field in dataclasses.fields(Bandit))
    console.print(f"† and the parameters of its payoffs: {shared}", style="dim")


def _print_result(console: Console, result: Result) -> None:
    """Print the table: with colours and bars in a terminal, as plain text elsewhere."""
    console.print(result if console.is_terminal else Text(result.summary()))


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


def _parameters(policy: type[Policy]) -> str:
    """Return the parameters of a policy with their defaults; a dagger marks a bandit policy.

    >>> from croupier.policies import UCB1, ExploreThenCommit
    >>> _parameters(ExploreThenCommit), _parameters(UCB1)
    ('explore=30', 'scale=2.0 †')
    """
    fields: Any = dataclasses.fields(policy) if dataclasses.is_dataclass(policy) else ()
    own = ", ".join(
        field.name if field.default is dataclasses.MISSING else f"{field.name}={field.default!r}"
        for field in fields
        if not field.kw_only
    )
    return f"{own} †" if any(field.kw_only for field in fields) else own


def _first_line(policy: type[Policy]) -> str:
    return (policy.__doc__ or "").strip().partition("\n")[0]
