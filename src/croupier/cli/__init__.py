"""The command line: parse, call, print."""

from croupier.cli.commands import app, main

__all__ = ["app", "main"]
