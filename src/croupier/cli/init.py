"""croupier init: a sample of a problem file, with a program and a Python function as arms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from croupier.cli.terminal import errors_in_one_line
from croupier.errors import CroupierError

__all__ = ["SAMPLE", "SAMPLE_PYTHON", "init"]

SAMPLE: Final = """\
# A problem file: several unbiased estimators of one number.
#     croupier run arms.toml
#     croupier compare arms.toml
# The sample estimates the integral of exp(-x^2) over [0, 1], which is 0.746824...

[run]                       # any option of `croupier run`; the command line goes first
seconds = 10
rtol = 1e-3
batch = 1000                # draws of the first call: to start a program takes its time

[arms.naive]                # a program: {size} and {seed} are replaced, no shell is involved
command = ["awk", "BEGIN {srand({seed}); for (i = 0; i < {size}; i++) {x = rand(); print exp(-x * x)}}"]
timeout = 60                # seconds for one call

[arms.antithetic]           # a Python function (rng, size), in a module or in a file
python = "arms.py:antithetic"

# A program that stays reads a line "size seed" for every call, and answers at once.
# [arms.fast]
# command = "./server"
# stdin = true
# output = "binary"         # "lines" (value, or value and cost), "json" or "binary" (float64)
"""  # noqa: E501

SAMPLE_PYTHON: Final = '''\
"""Arms of arms.toml: functions of (rng, size) that return `size` values."""

import numpy as np


def antithetic(rng, size):
    """The mean of exp(-x^2) at x and 1 - x, for x uniform on [0, 1]."""
    x = rng.random(size)
    return (np.exp(-(x**2)) + np.exp(-((1 - x) ** 2))) / 2
'''


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write the files.")] = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write a sample problem: arms.toml, and arms.py with a Python function.

    Examples:
    croupier init

    croupier init my-problem && croupier run my-problem/arms.toml
    """
    from croupier.views.write_file import replace_file

    console = Console(highlight=False)
    with errors_in_one_line():
        files = {folder / "arms.toml": SAMPLE, folder / "arms.py": SAMPLE_PYTHON}
        there = [path for path in files if path.exists()]
        if there and not force:
            raise CroupierError(f"{there[0]} is there already: give another folder, or --force")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path, text in files.items():
                replace_file(Path(os.path.realpath(path)), text.encode())
        except OSError as error:
            raise CroupierError(f"cannot write {folder}: {error.strerror or error}") from error
        for path in files:
            console.print(f"Wrote {path}", markup=False, soft_wrap=True)
        console.print(f"\ncroupier run {folder / 'arms.toml'}", markup=False, soft_wrap=True)
