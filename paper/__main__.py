"""python -m paper: measure a figure of the paper again, print what it says, draw it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich.console import Console

from croupier.cli.terminal import (
    bar_or_lines,
    errors_in_one_line,
    table_of,
    write_picture,
)
from croupier.views import formats

if TYPE_CHECKING:
    from paper.fig1 import Figure1
    from paper.fig2 import Figure2
    from paper.fig3 import Figure3

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Run the experiments of the paper again.",
)

Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of the study.")]
Threads: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Threads; all cores if left out.")
]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Remove the files in the folder first.")
]
PlotOnly: TypeAlias = Annotated[
    bool, typer.Option("--plot-only", help="Only draw the picture of the files again.")
]


@app.command()
def figure1(
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="2000 runs of 10^6 draws on 10 x 10 cells, or 200 of 10^5 on 4 x 4.",
        ),
    ] = False,
    shape: Annotated[
        str, typer.Option(help="scaled-bernoulli, truncated-normal or uniform arms.")
    ] = "scaled-bernoulli",
    grid: Annotated[
        str | None,
        typer.Option(
            help="Variances, as LOW:HIGH:COUNT, LOW:HIGH:COUNT:log or a list; or V1 x EXTRA.",
            show_default=False,
        ),
    ] = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(
            help="V1,EXTRA of a curve on the right, or none; may be repeated.", show_default=False
        ),
    ] = None,
    runs: Annotated[float | None, typer.Option(help="Runs of every policy in a cell.")] = None,
    default_runs: Annotated[
        float | None, typer.Option(help="Runs of croupier's default, if fewer; 0 for none.")
    ] = None,
    runs_of: Annotated[
        list[str] | None,
        typer.Option(
            help="POLICY=RUNS: other runs for one of the four; may be repeated.", show_default=False
        ),
    ] = None,
    horizon: Annotated[float | None, typer.Option(help="Draws of a run.")] = None,
    seed: Seed = 2014,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files.", show_default="build/figure1-...")
    ] = None,
    threads: Threads = None,
    fresh: Fresh = False,
    plot_only: PlotOnly = False,
) -> None:
    """Figure 1: two arms, which policy wins where, and how fast it leaves the worse arm.

    The files grow cell by cell; after Ctrl-C the same command continues.
    """
    from paper import fig1
    from paper.fig1_files import Fig1Files
    from paper.fig1_study import TwoArms, cell_from, grid_from, runs_from

    console = Console(highlight=False)
    with errors_in_one_line():
        given: dict[str, Any] = {
            "shape": shape,
            "seed": seed,
            "runs": runs,
            "default_runs": default_runs,
            "own_runs": [runs_from(text) for text in runs_of] if runs_of else None,
            "horizon": horizon,
            "curves": [cell_from(text) for text in cell if text != "none"] if cell else None,
        }
        if grid is not None:
            given["variances"], given["extras"] = grid_from(grid)
        changes = {name: value for name, value in given.items() if value is not None}
        study = TwoArms(**changes) if full else TwoArms.quick(**changes)
        folder = out or _folder("figure1", full)
        if plot_only:
            figure = fig1.Figure1.read(folder, study.shape)
            _print_wins(console, figure)
        else:
            if left_out := study.explain_impossible():
                console.print(f"{left_out}.", soft_wrap=True)
            start = time.perf_counter()
            figure = fig1.figure1(
                folder, study, threads=threads, fresh=fresh, progress=bar_or_lines()
            )
            _print_wins(console, figure, time.perf_counter() - start)
        files = Fig1Files(folder, study.shape)
        data = f"\nData: {files.cells.path}\n      {files.curves.path}"
        console.print(data, markup=False, soft_wrap=True)
        write_picture(console, figure, files.picture)


@app.command()
def figure2(
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="1000 runs to 10^5 draws, or 100 runs to 10^4."),
    ] = False,
    strike: Annotated[
        list[float] | None,
        typer.Option(help="A strike; may be repeated.", show_default="0.06, 0.07 and 0.08"),
    ] = None,
    contestant: Annotated[
        list[str] | None,
        typer.Option(help="A contestant; may be repeated.", show_default="all"),
    ] = None,
    runs: Annotated[float | None, typer.Option(help="Runs of every contestant.")] = None,
    draws: Annotated[float | None, typer.Option(help="Draws of the longest runs.")] = None,
    width: Annotated[
        float, typer.Option("--range", help="Payoffs are clipped at this multiple of the price.")
    ] = 3.0,
    bank: Annotated[
        int, typer.Option(min=0, help="Draw from so many paths, walked once; 0: new paths.")
    ] = 0,
    seed: Seed = 2014,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files.", show_default="build/figure2-...")
    ] = None,
    threads: Threads = None,
    fresh: Fresh = False,
    plot_only: PlotOnly = False,
) -> None:
    """Figure 2: the price of an option from 16 arms, and how many draws each contestant needs.

    The file grows by one contestant and strike at a time; after Ctrl-C the same command continues.
    """
    from paper import fig2
    from paper.fig2_study import OptionPrice, up_to

    console = Console(highlight=False)
    with errors_in_one_line():
        given: dict[str, Any] = {
            "strikes": strike or None,
            "contestants": contestant or None,
            "runs": runs,
            "draws": None if draws is None else up_to(draws),
            "width": width,
            "bank": bank,
            "seed": seed,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        study = OptionPrice(**changes) if full else OptionPrice.quick(**changes)
        folder = out or _folder("figure2", full)
        if plot_only:
            figure = fig2.Figure2.read(folder)
            _print_losses(console, figure)
        else:
            start = time.perf_counter()
            figure = fig2.figure2(
                folder, study, threads=threads, fresh=fresh, progress=bar_or_lines()
            )
            _print_losses(console, figure, time.perf_counter() - start)
        console.print(f"\nData: {fig2.sheet_of(folder).path}", markup=False, soft_wrap=True)
        write_picture(console, figure, fig2.picture_of(folder))


def _print_losses(console: Console, figure: Figure2, seconds: float | None = None) -> None:
    """Print the loss of every contestant after the most draws, and the time that it took."""
    from paper.fig2_picture import NAMES

    study, spent = figure.study, figure.cpu_seconds
    last = study.draws[-1]
    strikes = [f"strike {strike:g}" for strike in study.strikes]
    right = tuple(range(1, len(strikes) + 2))
    table = table_of("contestant", *strikes, "CPU time", right=right)
    there = {(row.strike, row.contestant): row for row in figure.rows if row.draws == last}
    for name in study.contestants:
        own = [there.get((strike, name)) for strike in study.strikes]
        cells = ["-" if row is None else formats.number(row.ratio, row.ratio_stderr) for row in own]
        table.add_row(NAMES.get(name, name), *cells, formats.duration(spent[name]))
    console.print(table)
    wall = "" if seconds is None else f", {formats.duration(seconds)} of wall time just now"
    console.print(
        f"\nn times the mean squared error at n = {last:,}, over the variance of the best arm; "
        f"{formats.count(study.runs, 'run')}\n"
        f"{formats.duration(sum(spent.values()))} of CPU time in all{wall}"
    )


@app.command()
def figure3(
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="2000 runs of 1000 draws of the most expensive arm, or 200 of 200.",
        ),
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Raw features, not standardised.")] = False,
    rows: Annotated[
        list[int] | None,
        typer.Option(help="Rows of a model; may be repeated.", show_default="5, 10 and 50", min=1),
    ] = None,
    runs: Annotated[float | None, typer.Option(help="Runs of every policy.")] = None,
    draws: Annotated[
        float | None, typer.Option(help="Draws in the bank of the most expensive arm.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Length of a run, in draws of the most expensive arm.")
    ] = None,
    width: Annotated[
        float, typer.Option("--range", help="Draws are clipped at this multiple of Z; inf: never.")
    ] = 3.0,
    seed: Seed = 2014,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files.", show_default="build/figure3-...")
    ] = None,
    threads: Threads = None,
    fresh: Fresh = False,
    plot_only: PlotOnly = False,
) -> None:
    """Figure 3: model evidence by annealed importance sampling, arms of very different cost.

    The files grow model by model; after Ctrl-C the same command continues.
    """
    from paper import fig3
    from paper.fig3_files import Fig3Files
    from paper.fig3_study import Annealing

    console = Console(highlight=False)
    with errors_in_one_line():
        given = {"rows": rows, "runs": runs, "draws": draws, "budget": budget, "seed": seed}
        changes: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        changes |= {"standardised": not raw, "width": width}
        study = Annealing(**changes) if full else Annealing.quick(**changes)
        folder = out or _folder("figure3", full)
        if plot_only:
            figure = fig3.Figure3.read(folder, study.standardised)
        else:
            figure = fig3.figure3(
                folder, study, threads=threads, fresh=fresh, progress=bar_or_lines()
            )
        _print_evidence(console, figure)
        files = Fig3Files(folder, study.features)
        data = f"\nData: {files.curves.path}\n      {files.arms.path}"
        console.print(data, markup=False, soft_wrap=True)
        write_picture(console, figure, files.picture)


def _print_evidence(console: Console, figure: Figure3) -> None:
    """Print the estimates of log Z, and how far each policy is from the best arm."""
    from paper.fig3_study import COMBINED

    table = table_of("rows", "temperatures", "log Z", "error", "reference", right=(0, 1, 2, 3, 4))
    for arm in figure.arms:
        log_z, error = f"{arm.log_z:.4f}", f"{arm.error:.4f}"
        table.add_row(str(arm.rows), str(arm.temperatures), log_z, error, f"{arm.reference:.4f}")
    console.print(table)
    console.print("\nCost times mean squared error at the end; the best arm has 1:\n")
    table = table_of("rows", "clock", "policy", *COMBINED, right=(0, 3, 4, 5))
    last = {(row.rows, row.clock, row.policy, row.combine): row.ratio for row in figure.curves}
    for rows, clock, policy in dict.fromkeys(key[:3] for key in last):
        ratios = (last.get((rows, clock, policy, one)) for one in COMBINED)
        shown = ("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        table.add_row(str(rows), clock, policy, *shown)
    console.print(table)


def _print_wins(console: Console, figure: Figure1, seconds: float | None = None) -> None:
    """Print how many cells each policy won, and the time that it took."""
    from paper.study import DEFAULT, PAPER

    tiles, spent = figure.tiles.values(), figure.cpu_seconds
    table = table_of("policy", "cells won", "within noise", "CPU time", right=(1, 2, 3))
    for policy in PAPER:
        won = [tile for tile in tiles if tile.winner == policy]
        close = sum(tile.within_noise for tile in won)
        table.add_row(policy, str(len(won)), str(close), formats.duration(spent[policy]))
    if DEFAULT in spent:
        ahead = [tile for tile in tiles if tile.default_ratio < 1]
        close = sum(tile.default_within_noise for tile in ahead)
        cpu = formats.duration(spent[DEFAULT])
        table.add_row(f"{DEFAULT} *", str(len(ahead)), str(close), cpu, style="bold")
    console.print(table)
    if DEFAULT in spent:
        console.print("* the default: cells in which it beats the best of the four", style="dim")
    wall = "" if seconds is None else f", {formats.duration(seconds)} of wall time just now"
    cells, cpu = formats.count(len(tiles), "cell"), formats.duration(sum(spent.values()))
    console.print(f"\n{cells}, {cpu} of CPU time in all{wall}")


def _folder(figure: str, full: bool) -> Path:
    return Path("build") / f"{figure}-{'full' if full else 'quick'}"


if __name__ == "__main__":
    app(prog_name="python -m paper")
