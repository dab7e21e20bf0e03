"""The command line: parse, call, print."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import croupier
from croupier.errors import CroupierError, CroupierWarning

if TYPE_CHECKING:
    from croupier.paper import Figure1, Figure2, Figure3
    from croupier.policies import Policy
    from croupier.result import Result

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
paper = typer.Typer(no_args_is_help=True, help="Run the experiments of the paper again.")
app.add_typer(paper, name="paper")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # where there is no ±, a ? is better than a traceback
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
        Path | None, typer.Option(help="A file for the run to survive in, and to go on with.")
    ] = None,
) -> None:
    """Price an Asian option with six arms, and say what that saved."""
    from croupier import demo as asian

    console = Console(highlight=False)
    with _errors_in_one_line():
        console.print(f"{asian.TITLE}\n")
        with warnings.catch_warnings(), _signals_interrupt():
            warnings.simplefilter("ignore", CroupierWarning)  # the table shows them
            result = asian.price(seconds, seed=seed, store=store)
        _print_result(console, result)
        _print_savings(console, result)
        if not no_picture:
            _write_picture(console, result, picture)
        if result.stopped == "interrupted":
            raise KeyboardInterrupt


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="The store of a run, as in estimate(store=...).")],
) -> None:
    """Show a stored run: how far it is, whether it goes on, and its result so far."""
    console = Console(highlight=False)
    with _errors_in_one_line():
        run = croupier.open_run(path)
        console.print(str(run.status), markup=False, soft_wrap=True)
        if run.status.tickets:
            console.print()
            _print_result(console, run.result())


@app.command()
def policies() -> None:
    """List the policies, with their parameters and defaults."""
    from croupier.policies import REGISTRY, as_policy
    from croupier.policies.bounded import Bandit

    default = as_policy("auto").name
    table = _table("policy", "parameters", "what it does")
    for name, policy in sorted(REGISTRY.items(), key=lambda item: item[0] != default):
        style = "bold" if name == default else ""
        table.add_row(Text(name, style), _parameters(policy), _first_line(policy))
    console = Console(highlight=False)
    console.print(table)
    shared = ", ".join(field.name for field in dataclasses.fields(Bandit))
    console.print(f"† and how its payoffs are made: {shared}", style="dim")


@paper.command()
def fig1(
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
            help="Variances, as LOW:HIGH:COUNT or a list; for both axes, or V1 x EXTRA.",
            show_default=False,
        ),
    ] = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(help="V1,EXTRA of a curve on the right; may be repeated.", show_default=False),
    ] = None,
    runs: Annotated[float | None, typer.Option(help="Runs of every policy in a cell.")] = None,
    default_runs: Annotated[
        float | None, typer.Option(help="Runs of croupier's default, if fewer; 0: without it.")
    ] = None,
    horizon: Annotated[float | None, typer.Option(help="Draws of a run.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the study.")] = 2014,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files.", show_default="croupier-fig1-...")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores if left out.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove what the folder has.")] = False,
    plot_only: Annotated[
        bool, typer.Option("--plot-only", help="Draw again what the folder has.")
    ] = False,
) -> None:
    """Figure 1: two arms, which policy wins where, and how fast the worse arm is left alone.

    The files grow cell by cell; after Ctrl-C the same command goes on.
    """
    from croupier.paper import Figure1, TwoArms, figure1
    from croupier.paper.fig1_files import Files
    from croupier.paper.fig1_study import cell_from, grid_from

    console = Console(highlight=False)
    with _errors_in_one_line():
        given: dict[str, Any] = {
            "shape": shape,
            "seed": seed,
            "runs": runs,
            "default_runs": default_runs,
            "horizon": horizon,
            "curves": [cell_from(text) for text in cell] if cell else None,
        }
        if grid is not None:
            given["variances"], given["extras"] = grid_from(grid)
        changes = {name: value for name, value in given.items() if value is not None}
        study = TwoArms(**changes) if full else TwoArms.quick(**changes)
        folder = out or Path(f"croupier-fig1-{'full' if full else 'quick'}")
        if plot_only:
            figure = Figure1.read(folder, study.shape)
            _print_wins(console, figure)
        else:
            if left_out := study.explain_impossible():
                console.print(f"{left_out}.", soft_wrap=True)
            start = time.perf_counter()
            figure = figure1(folder, study, threads=threads, fresh=fresh, progress=_bar_or_lines())
            _print_wins(console, figure, time.perf_counter() - start)
        files = Files(folder, study.shape)
        data = f"\nData: {files.cells.path}\n      {files.curves.path}"
        console.print(data, markup=False, soft_wrap=True)
        _write_picture(console, figure, files.picture)


@paper.command()
def fig2(
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
        typer.Option(help="Who competes; may be repeated.", show_default="everybody"),
    ] = None,
    runs: Annotated[float | None, typer.Option(help="Runs of every contestant.")] = None,
    draws: Annotated[float | None, typer.Option(help="Draws of the longest runs.")] = None,
    width: Annotated[
        float, typer.Option("--range", help="Payoffs are clipped at so many times the price.")
    ] = 3.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the study.")] = 2014,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files.", show_default="croupier-fig2-...")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores if left out.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove what the folder has.")] = False,
    plot_only: Annotated[
        bool, typer.Option("--plot-only", help="Draw again what the folder has.")
    ] = False,
) -> None:
    """Figure 2: the price of an option from 16 arms, and who needs how many draws for it.

    The file grows by one contestant and strike at a time; after Ctrl-C the same command goes on.
    """
    from croupier.paper import Figure2, OptionPrice, figure2
    from croupier.paper.fig2 import picture_of, sheet_of
    from croupier.paper.fig2_study import up_to

    console = Console(highlight=False)
    with _errors_in_one_line():
        given: dict[str, Any] = {
            "strikes": strike or None,
            "contestants": contestant or None,
            "runs": runs,
            "draws": None if draws is None else up_to(draws),
            "width": width,
            "seed": seed,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        study = OptionPrice(**changes) if full else OptionPrice.quick(**changes)
        folder = out or Path(f"croupier-fig2-{'full' if full else 'quick'}")
        if plot_only:
            figure = Figure2.read(folder)
            _print_losses(console, figure)
        else:
            start = time.perf_counter()
            figure = figure2(folder, study, threads=threads, fresh=fresh, progress=_bar_or_lines())
            _print_losses(console, figure, time.perf_counter() - start)
        console.print(f"\nData: {sheet_of(folder).path}", markup=False, soft_wrap=True)
        _write_picture(console, figure, picture_of(folder))


def _print_losses(console: Console, figure: Figure2, seconds: float | None = None) -> None:
    """Print the loss of everybody after the most draws, and what that took."""
    from croupier.paper.fig2_picture import NAMES
    from croupier.views import formats

    study, spent = figure.study, figure.cpu_seconds
    last = study.draws[-1]
    strikes = [f"strike {strike:g}" for strike in study.strikes]
    right = tuple(range(1, len(strikes) + 2))
    table = _table("contestant", *strikes, "CPU time", right=right)
    there = {(row.strike, row.contestant): row for row in figure.rows if row.draws == last}
    for name in study.contestants:
        own = [there.get((strike, name)) for strike in study.strikes]
        cells = ["-" if row is None else formats.number(row.ratio, row.ratio_stderr) for row in own]
        table.add_row(NAMES.get(name, name), *cells, formats.duration(spent[name]))
    console.print(table)
    wall = "" if seconds is None else f", {formats.duration(seconds)} of wall time just now"
    console.print(
        f"\nn times the mean squared error at n = {last:,}, to the variance of the best arm; "
        f"{formats.count(study.runs, 'run')}\n"
        f"{formats.duration(sum(spent.values()))} of CPU time in all{wall}"
    )


@paper.command()
def fig3(
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="2000 runs of 1000 draws of the dearest arm, or 200 of 200, and smaller banks.",
        ),
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Features as they are, not standardised.")
    ] = False,
    rows: Annotated[
        list[int] | None,
        typer.Option(help="Rows of a model; may be repeated.", show_default="5, 10 and 50", min=1),
    ] = None,
    runs: Annotated[float | None, typer.Option(help="Runs of every policy.")] = None,
    draws: Annotated[float | None, typer.Option(help="Draws in the dearest arm's bank.")] = None,
    budget: Annotated[
        float | None, typer.Option(help="Length of a run, in draws of the dearest arm.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the study.")] = 2014,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files.", show_default="croupier-fig3-...")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores if left out.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove what the folder has.")] = False,
    plot_only: Annotated[
        bool, typer.Option("--plot-only", help="Draw again what the folder has.")
    ] = False,
) -> None:
    """Figure 3: model evidence by annealed importance sampling, arms of very different cost.

    The files grow model by model; after Ctrl-C the same command goes on.
    """
    from croupier.paper import Annealing, Figure3, figure3
    from croupier.paper.fig3_files import Files

    console = Console(highlight=False)
    with _errors_in_one_line():
        given = {"rows": rows, "runs": runs, "draws": draws, "budget": budget, "seed": seed}
        changes: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        changes["standardised"] = not raw
        study = Annealing(**changes) if full else Annealing.quick(**changes)
        folder = out or Path(f"croupier-fig3-{'full' if full else 'quick'}")
        if plot_only:
            figure = Figure3.read(folder, study.standardised)
        else:
            figure = figure3(folder, study, threads=threads, fresh=fresh, progress=_bar_or_lines())
        _print_evidence(console, figure)
        files = Files(folder, study.features)
        data = f"\nData: {files.curves.path}\n      {files.arms.path}"
        console.print(data, markup=False, soft_wrap=True)
        _write_picture(console, figure, files.picture)


def _print_evidence(console: Console, figure: Figure3) -> None:
    """Print what the arms say of log Z, and how far each policy is from the best arm."""
    from croupier.paper.fig3_study import COMBINED

    table = _table("rows", "temperatures", "log Z", "error", "reference", right=(0, 1, 2, 3, 4))
    for arm in figure.arms:
        log_z, error = f"{arm.log_z:.4f}", f"{arm.error:.4f}"
        table.add_row(str(arm.rows), str(arm.temperatures), log_z, error, f"{arm.reference:.4f}")
    console.print(table)
    console.print("\nCost times mean squared error at the end, that of the best arm being 1:\n")
    table = _table("rows", "clock", "policy", *COMBINED, right=(0, 3, 4, 5))
    last = {(row.rows, row.clock, row.policy, row.combine): row.ratio for row in figure.curves}
    for rows, clock, policy in dict.fromkeys(key[:3] for key in last):
        ratios = (last.get((rows, clock, policy, one)) for one in COMBINED)
        shown = ("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        table.add_row(str(rows), clock, policy, *shown)
    console.print(table)


def _bar_or_lines() -> Callable[[str], None] | None:
    """Return None for a bar where somebody watches, elsewhere what prints a line."""
    from croupier.views.live import interactive

    console = Console(stderr=True, highlight=False)
    return None if interactive() else partial(console.print, markup=False, soft_wrap=True)


def _print_wins(console: Console, figure: Figure1, seconds: float | None = None) -> None:
    """Print which policy won how many cells, and what that took."""
    from croupier.paper.fig1_study import DEFAULT, PAPER
    from croupier.views import formats

    tiles, spent = figure.tiles.values(), figure.cpu_seconds
    table = _table("policy", "cells won", "within noise", "CPU time", right=(1, 2, 3))
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


#: An interrupted run may use so many seconds to come to its end; its store is whole at any time.
_GRACE = 10.0

#: The exit code of an interrupted command, by the signal that came last.
_interrupted_by = signal.SIGINT


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let SIGTERM interrupt a run as Ctrl-C does, and end it by force after the grace time."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears of signals
        return

    def interrupt(number: int, _: object) -> None:
        global _interrupted_by
        _interrupted_by = signal.Signals(number)
        raise KeyboardInterrupt

    # Python calls a handler between two of its own steps: an arm that is deep in other code has
    # to be watched from a thread, which the system wakes.
    awake, wake = socket.socketpair()
    wake.setblocking(False)
    ended = threading.Event()
    threading.Thread(target=_end_by_force, args=(awake, ended), daemon=True).start()
    woken = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in wanted}
    for number in wanted:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(woken)
        ended.set()
        wake.close()


def _end_by_force(awake: socket.socket, ended: threading.Event) -> None:
    """Wait for a signal, then for the end of the run, and if that does not come, make it."""
    with awake:
        number = awake.recv(1)
    if number and not ended.wait(_GRACE):
        os._exit(128 + number[0])


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Turn what can go wrong into one line and an exit code: 2, or 130 for Ctrl-C, 143 for TERM."""
    global _interrupted_by
    _interrupted_by = signal.SIGINT
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if text := str(interrupt):
            Console(stderr=True).print(text, markup=False, soft_wrap=True)
        raise typer.Exit(128 + _interrupted_by) from None
    except CroupierError as error:
        line = Text(f"error: {error}", "red")
        Console(stderr=True).print(line, soft_wrap=True)
        raise typer.Exit(2) from None


def _print_result(console: Console, result: Result) -> None:
    """Print the table: with colours and bars in a terminal, as plain text elsewhere."""
    console.print(result if console.is_terminal else Text(result.summary()))


def _print_savings(console: Console, result: Result) -> None:
    """Print what the same standard error would have cost in other ways."""
    from croupier import demo as asian
    from croupier.views import formats

    others = asian.alternatives(result)
    if not others:
        return
    off = abs(result.value - asian.PRICE) / result.stderr
    console.print(
        f"\nNumerical integration gives {asian.PRICE}, {off:.1f} standard errors away.\n"
        f"\nThe same standard error, {formats.compact(result.stderr, 2)}, in other ways:\n"
    )
    table = _table("way", "time in the arms", "relative", right=(1, 2))
    table.add_row("croupier", formats.cost(result.cost, result.unit), "1", style="bold")
    for other in others:
        cost = formats.cost(other.cost, result.unit)
        table.add_row(other.name, cost, formats.compact(other.times, 2))
    console.print(table)


def _write_picture(
    console: Console, result: Result | Figure1 | Figure2 | Figure3, path: Path
) -> None:
    """Write the picture, or say what it needs."""
    try:
        figure = result.plot()
    except ImportError as error:
        console.print(f"\nNo picture: {error}", markup=False, soft_wrap=True)
        return
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise CroupierError(f"cannot write the picture {path}: {error}") from error
    console.print(f"\nPicture: {path}", markup=False, soft_wrap=True)


def _table(*titles: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for i, title in enumerate(titles):
        table.add_column(title, justify="right" if i in right else "left")
    return table


def _parameters(policy: type[Policy]) -> str:
    """Return a policy's own parameters with their defaults, and a dagger for those of bandits.

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
