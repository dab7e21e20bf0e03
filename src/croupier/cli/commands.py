"""The commands, each from its own file; what they share is in `terminal`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import croupier
from croupier.cli.ask_tell import ask, tell
from croupier.cli.compare import compare
from croupier.cli.demo import demo
from croupier.cli.init import init
from croupier.cli.policies import policies
from croupier.cli.run import resume, run
from croupier.cli.serve import serve
from croupier.cli.show import show
from croupier.cli.stored import copy, export, merge, report
from croupier.cli.watch import watch
from croupier.views.formats import PLAIN_SIGNS

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    run, init, compare, resume, show, watch, serve, report, merge, export, copy, ask, tell, demo,
    policies,
)  # fmt: skip
for command in _COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=PLAIN_SIGNS)
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
