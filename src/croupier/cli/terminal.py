"""What every command needs: a table, a picture, errors in one line, signals that interrupt."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from croupier.errors import CroupierError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from croupier.results.result import Result

__all__ = [
    "NOTHING_LEFT",
    "NOT_PRECISE",
    "WAIT",
    "bar_or_lines",
    "check_page",
    "errors_in_one_line",
    "print_answer",
    "print_result",
    "signals_interrupt",
    "table_of",
    "write_page",
    "write_picture",
]


class Plotted(Protocol):
    """A result, or a figure that was measured."""

    def plot(self) -> Figure:
        """Return the picture."""


#: The exit code of a run whose budget was used up before its tolerance was reached.
NOT_PRECISE: Final = 3

#: The exit codes of an ask that has no batch: an older ticket is out, or the budget is used up.
WAIT: Final = 4
NOTHING_LEFT: Final = 5

#: An interrupted run has this many seconds to end; its store is complete at any time.
_GRACE = 10.0

#: The exit code of an interrupted command, by the signal that came last.
_interrupted_by = signal.SIGINT


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let SIGTERM interrupt a run as Ctrl-C does, and end it by force after the grace time."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return

    def interrupt(number: int, _: object) -> None:
        global _interrupted_by
        _interrupted_by = signal.Signals(number)
        raise KeyboardInterrupt

    # Python calls a handler only between two of its own steps. An arm may be inside other code
    # for a long time, so a thread, which the system wakes, watches it.
    awake, wake = socket.socketpair()
    wake.setblocking(False)
    ended = threading.Event()
    wanted = (signal.SIGINT, signal.SIGTERM)
    threading.Thread(target=_end_by_force, args=(awake, wanted, ended), daemon=True).start()
    woken = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
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


def _end_by_force(
    awake: socket.socket, wanted: Sequence[signal.Signals], ended: threading.Event
) -> None:
    """Wait for a wanted signal, then for the end of the run; if the run does not end, end it."""
    with awake:
        while (number := awake.recv(1)) and number[0] not in wanted:
            pass  # it belongs to an arm, such as the alarm of its own timeout
    if number and not ended.wait(_GRACE):
        os._exit(128 + number[0])


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Print an error in one line, and exit with the code 2, or 130 for Ctrl-C, 143 for TERM."""
    global _interrupted_by
    _interrupted_by = signal.SIGINT
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if text := str(interrupt):
            Console(stderr=True).print(text, markup=False, soft_wrap=True)
        raise typer.Exit(128 + _interrupted_by) from None
    except CroupierError as error:
        from croupier.views.formats import printable_lines

        line = Text(f"error: {printable_lines(error)}", "red")
        Console(stderr=True).print(line, soft_wrap=True)
        raise typer.Exit(2) from None


def bar_or_lines() -> Callable[[str], None] | None:
    """Return None for a bar in a terminal or notebook, otherwise a function that prints a line."""
    from croupier.views.progress import interactive

    console = Console(stderr=True, highlight=False)
    return None if interactive() else partial(console.print, markup=False, soft_wrap=True)


def print_result(console: Console, result: Result) -> None:
    """Print the table: with colours and bars in a terminal, as plain text elsewhere."""
    console.print(result if console.is_terminal else Text(result.summary()))


def print_answer(console: Console, result: Result, *, as_json: bool) -> None:
    """Print a result as its table, or as JSON in one line."""
    if as_json:
        typer.echo(result.to_json())
    else:
        print_result(console, result)


def write_picture(console: Console, result: Plotted, path: Path) -> None:
    """Write the picture, or say what it needs."""
    try:
        figure = result.plot()
    except ImportError as error:
        console.print(f"\nNo picture: {error}", markup=False, soft_wrap=True)
        return
    from croupier.views.write_file import write_file

    made = io.BytesIO()
    try:
        figure.savefig(made, format=path.suffix[1:] or "png", dpi=150)
    except (OSError, ValueError) as error:
        raise CroupierError(f"cannot write the picture {path}: {error}") from error
    try:
        write_file(path, made.getvalue(), "picture")
    except OSError as error:
        raise CroupierError(str(error)) from error
    console.print(f"\nPicture: {path}", markup=False, soft_wrap=True)


def check_page(path: Path, store: Path | None) -> None:
    """Refuse a page that could not be written, before a run is made."""
    from croupier.views.write_file import check_target

    if store is not None and os.path.realpath(path) == os.path.realpath(store):
        raise CroupierError(f"the report and the store are both {path}: give another file for one")
    try:
        check_target(path, b"<!DOCTYPE html>", "report")
    except OSError as error:
        raise CroupierError(str(error)) from error


def write_page(console: Console, result: Result, path: Path) -> None:
    """Write the result as an HTML page."""
    try:
        result.report(path)
    except OSError as error:
        raise CroupierError(str(error)) from error
    console.print(f"\nPage: {path}", markup=False, soft_wrap=True)


def table_of(*titles: str, right: tuple[int, ...] = ()) -> Table:
    """Return an empty table with these titles; `right`: columns of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for i, title in enumerate(titles):
        number = i in right  # a number that is cut or broken is a wrong number
        table.add_column(title, justify="right" if number else "left", no_wrap=number)
    return table
