"""The progress of a run: a bar in a terminal or notebook, lines elsewhere.

± is the standard error, and the interval is in brackets, as in the table of a result. ``update``
redraws the bar after a batch. During a long batch, a thread moves its clock once a second, which
takes about a thousandth of the time.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

from croupier.views import formats
from croupier.views.progress_lines import Standing, spent_line, standing_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Live", "LogProgress", "Watch", "counting", "interactive", "watching"]

_log = logging.getLogger("croupier")

#: A run that takes fewer seconds than this shows no bar.
_PATIENCE: Final = 0.4

#: Seconds between two moves of a bar's clock, and between two lines on stderr.
_SECOND: Final = 1.0
_LINES: Final = 5.0


def interactive() -> bool:
    """Return whether stderr is a terminal, or this is a notebook."""
    if _notebook():
        return True
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return False
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


def _notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")  # not imported just to find out
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Live:
    """A bar with the estimate, its interval and the leading arm; it disappears at the end.

    ``due()`` says whether an update would be shown, so that nothing is computed in vain. The bar
    is on stderr and changes at most ``refresh`` times a second. Its clock starts when the bar is
    made, and ``tick`` moves it.

    >>> with Live("draws") as live:  # doctest: +SKIP
    ...     if live.due():
    ...         live.update(progress, 0.42)
    """

    def __init__(self, unit: str, console: Console | None = None, refresh: float = 10) -> None:
        self._unit = unit
        self._console = console
        self._period = 1 / refresh
        self._start = self._next = perf_counter()
        self._screen: _Screen | None = None
        self._first: float | None = None
        self._shown = _Shown(0.0, "waiting for the first batch", "", "")

    def __enter__(self) -> Self:
        self._next = perf_counter()
        notebook = self._console is None and _notebook()
        self._screen = _NotebookScreen() if notebook else _TerminalScreen(self._console)
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.close()
            self._screen = None

    def due(self) -> bool:
        """Return whether an update would be shown now."""
        return perf_counter() >= self._next

    def update(self, progress: Standing, fraction: float) -> None:
        """Show the progress; returns at once when no update is due.

        ``fraction`` is the part of the budget that is spent, from 0 to 1.
        """
        if perf_counter() < self._next or self._screen is None:
            return
        fraction = min(max(fraction, 0.0), 1.0) if fraction == fraction else 0.0
        if self._first is None:  # a resumed run starts in the middle
            self._first = fraction
        self._shown = _Shown(
            fraction,
            standing_line(progress),
            spent_line(progress.draws, progress.cost, self._unit),
            formats.printable(progress.leader),
        )
        self.tick()
        self._next = perf_counter() + self._period

    def tick(self) -> None:
        """Show what was known last, with the time of now."""
        if self._screen is None:
            return
        fraction, estimate, spent, leader = self._shown
        elapsed = perf_counter() - self._start
        gained = 0.0 if self._first is None else fraction - self._first
        left = elapsed * (1 - fraction) / gained if gained > 0 else None
        times = formats.duration(_whole(elapsed))
        still = f"{formats.duration(_whole(left))} left" if left is not None else ""
        self._screen.show(fraction, times, still, estimate, spent, leader)


class _Shown(NamedTuple):
    """What a bar shows, except the time."""

    fraction: float
    estimate: str
    spent: str
    leader: str


def _whole(seconds: float) -> float:
    """Return a rounded time, so that it does not flicker: tenths below 10 s, else whole seconds."""
    return round(seconds, 1 if seconds < 10 else 0)


class _Screen(Protocol):
    """The place where a bar is shown."""

    def show(
        self, fraction: float, elapsed: str, left: str, estimate: str, spent: str, leader: str
    ) -> None: ...

    def close(self) -> None: ...


class _TerminalScreen:
    """Two lines at the bottom of a terminal; other output appears above them."""

    def __init__(self, console: Console | None) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        self.console = console if console is not None else Console(stderr=True)
        to_terminal = sys.stdout is not None and sys.stdout.isatty()
        self.live = RichLive(
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=to_terminal,  # a pipe must get what was printed for it
        )
        self.live.start()

    def show(
        self, fraction: float, elapsed: str, left: str, estimate: str, spent: str, leader: str
    ) -> None:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        time = f"{elapsed}, {left}" if left else elapsed
        top = Table.grid(padding=(0, 2, 0, 0))
        top.add_column(no_wrap=True)
        bar = ProgressBar(
            total=1.0,
            completed=fraction,
            width=max(10, min(40, self.console.width - 36)),
            complete_style="blue",
            finished_style="green",
            style="bright_black",
        )
        top.add_row(bar, Text(f"{100 * fraction:3.0f}%"), Text(time, "dim"))
        led = [("   led by ", "dim"), (formats.shorten(leader, 24), "green")] if leader else []
        bottom = Text.assemble(
            (estimate, "bold"), *led, (f"   {spent}", "dim"), no_wrap=True, overflow="ellipsis"
        )
        shown: RenderableType = Group(top, bottom)
        self.live.update(shown, refresh=True)

    def close(self) -> None:
        self.live.stop()


class _NotebookScreen:
    """One output of a notebook cell, which is replaced at every update; it needs no widgets."""

    def __init__(self) -> None:
        import IPython.display

        self.ipython: Any = IPython.display
        self.handle: Any = self.ipython.display(self.ipython.HTML(""), display_id=True)

    def show(
        self, fraction: float, elapsed: str, left: str, estimate: str, spent: str, leader: str
    ) -> None:
        from html import escape

        time = f"{elapsed}, {left}" if left else elapsed
        led = f"led by {leader}, " if leader else ""
        self.handle.update(
            self.ipython.HTML(
                f'<progress value="{fraction:.4f}" max="1" style="width:20em"></progress> '
                f'{100 * fraction:.0f}% <span style="opacity:.65">{escape(time)}</span><br>'
                f"<b>{escape(estimate)}</b> "
                f'<span style="opacity:.65">{escape(led + spent)}</span>'
            )
        )

    def close(self) -> None:
        self.handle.update(self.ipython.HTML(""))


class LogProgress:
    """The same without a terminal: a line in the log "croupier" every 10 seconds.

    With `write`, the lines go there instead. A shorter run writes nothing.
    """

    def __init__(
        self, unit: str, every: float = 10.0, write: Callable[[str], None] | None = None
    ) -> None:
        self._unit = unit
        self._period = every
        self._write = write
        self._next = perf_counter() + every

    def __enter__(self) -> Self:
        self._next = perf_counter() + self._period
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def due(self) -> bool:
        """Return whether an update would be logged now."""
        if perf_counter() < self._next:
            return False
        return self._write is not None or _log.isEnabledFor(logging.INFO)

    def update(self, progress: Standing, fraction: float) -> None:
        """Log the progress; returns at once when no update is due."""
        if not self.due():
            return
        led = f", led by {formats.shorten(progress.leader, 60)}" if progress.leader else ""
        spent = spent_line(progress.draws, progress.cost, self._unit)
        line = f"{100 * fraction:.0f}%: {standing_line(progress)}, {spent}{led}"
        if self._write is None:
            _log.info("%s", line)
        else:
            self._write(line)
        self._next = perf_counter() + self._period


class Watch:
    """Shows a run's progress on a display, if the run takes long enough.

    A bar is opened by a thread, so that it is there before the first batch has come back.
    """

    def __init__(self, display: Live | LogProgress | None) -> None:
        self._display = display
        self._from = perf_counter() + _PATIENCE
        self._open = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if isinstance(self._display, Live):
            self._thread = threading.Thread(target=self._move, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._open and self._display is not None:
            self._display.__exit__()

    def _move(self) -> None:
        """Move the clock of the bar once a second, also during a long batch."""
        assert isinstance(self._display, Live)
        wait = _PATIENCE
        while not self._over.wait(wait):
            with self._lock:
                self._show()
                self._display.tick()
            wait = _SECOND

    def _show(self) -> None:
        if not self._open and self._display is not None:
            self._display.__enter__()
            self._open = True

    def due(self) -> bool:
        """Return whether an update would be shown now."""
        if self._display is None or perf_counter() < self._from:
            return False
        return not self._open or self._display.due()

    def update(self, progress: Standing, fraction: float) -> None:
        """Show the progress."""
        assert self._display is not None
        with self._lock:
            self._show()
            self._display.update(progress, fraction)


def watching(progress: bool | None, unit: str) -> Watch:
    """Return what shows a run's progress: a bar, lines on stderr or in the log, or nothing."""
    if progress is False:
        return Watch(None)
    if interactive():
        return Watch(Live(unit))
    return Watch(LogProgress(unit, _LINES, _to_stderr) if progress else LogProgress(unit))


def _to_stderr(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


@contextmanager
def counting(total: int, label: str, shown: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Show how many of `total` parts are done: yields a function to call with each new number.

    `shown`: by default, only in a terminal or a notebook.

    >>> with counting(3, "parts", shown=False) as done:
    ...     done(3)
    """
    if not (interactive() if shown is None else shown):
        yield lambda parts: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda parts: bar.advance(task, parts)
