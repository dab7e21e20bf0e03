"""The progress of a run: a bar in a terminal or notebook, lines in the log elsewhere.

Time is read here only to limit how often the display changes. ``update`` redraws the bar; there
is no thread for it, because a thread would disturb the timing of the arms.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from croupier.views import formats
from croupier.views.summary import components

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console, RenderableType

__all__ = ["Live", "LogProgress", "Watch", "interactive", "watching"]

_log = logging.getLogger("croupier")

#: A run that takes fewer seconds than this shows no bar.
_PATIENCE: Final = 0.4


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


class Standing(Protocol):
    """The progress of a run, which a display reads only when it is due.

    Value and half-width are floats, or sequences of d floats.
    """

    @property
    def draws(self) -> int: ...
    @property
    def cost(self) -> float: ...
    @property
    def value(self) -> Any: ...
    @property
    def half_width(self) -> Any: ...
    @property
    def leader(self) -> str: ...


def estimate_line(
    value: object,
    half_width: object,
    rounding: Callable[..., formats.Rounding] = formats.rounding,
) -> str:
    """Return the estimate so far; for a vector, the first component.

    >>> estimate_line(1.2345678, 0.000246), estimate_line([1.0, 2.0], [0.125, 0.5])
    ('1.23457 ± 0.00025', 'first of 2: 1.00 ± 0.12')
    """
    values, widths = components(value), components(half_width)
    text = formats.number(values[0], widths[0], rounding)
    return text if len(values) == 1 else f"first of {len(values)}: {text}"


def standing_line(progress: Standing) -> str:
    """Return the estimate so far; for a run of logs, on the scale of logs."""
    if (log := getattr(progress, "log_value", None)) is None:
        return estimate_line(progress.value, progress.half_width)
    half_width = progress.log_half_width  # type: ignore[attr-defined]
    return f"log: {estimate_line(log, half_width, formats.log_rounding)}"


def spent_line(draws: int, cost: float, unit: str) -> str:
    """Return what was spent so far.

    >>> spent_line(410_000, 1234.5, "cost"), spent_line(20, 20.0, "draws")
    ('410,000 draws, cost 1,234', '20 draws')
    """
    text = formats.count(draws, "draw")
    return f"{text}, cost {formats.compact(cost)}" if unit == "cost" else text


class Live:
    """A bar with the estimate, its half-width and the leading arm; it disappears at the end.

    ``due()`` says whether an update would be shown, so that nothing is computed in vain. The bar
    is on stderr and changes at most ``refresh`` times a second.

    >>> with Live("draws") as live:  # doctest: +SKIP
    ...     if live.due():
    ...         live.update(progress, 0.42)
    """

    def __init__(self, unit: str, console: Console | None = None, refresh: float = 10) -> None:
        if not refresh > 0:
            raise ValueError(f"refresh must be positive, got {refresh!r}")
        self._unit = unit
        self._console = console
        self._period = 1 / refresh
        self._start = self._next = perf_counter()
        self._screen: _Screen | None = None
        self._first: float | None = None

    def __enter__(self) -> Self:
        self._start = self._next = perf_counter()
        self._first = None
        notebook = self._console is None and _notebook()
        self._screen = _NotebookScreen() if notebook else _TerminalScreen(self._console)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        elapsed = perf_counter() - self._start
        gained = fraction - self._first
        left = elapsed * (1 - fraction) / gained if gained > 0 else None
        self._screen.show(
            fraction,
            formats.duration(_whole(elapsed)),
            f"{formats.duration(_whole(left))} left" if left is not None else "",
            standing_line(progress),
            spent_line(progress.draws, progress.cost, self._unit),
            formats.printable(progress.leader),
        )
        self._next = perf_counter() + self._period


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

    A shorter run writes nothing.
    """

    def __init__(self, unit: str, every: float = 10.0) -> None:
        if not every >= 0:
            raise ValueError(f"every must not be negative, got {every!r}")
        self._unit = unit
        self._period = every
        self._next = perf_counter() + every

    def __enter__(self) -> Self:
        self._next = perf_counter() + self._period
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def due(self) -> bool:
        """Return whether an update would be logged now."""
        return perf_counter() >= self._next and _log.isEnabledFor(logging.INFO)

    def update(self, progress: Standing, fraction: float) -> None:
        """Log the progress; returns at once when no update is due."""
        if not self.due():
            return
        _log.info(
            "%.0f%%: %s, %s%s",
            100 * fraction,
            standing_line(progress),
            spent_line(progress.draws, progress.cost, self._unit),
            f", led by {formats.shorten(progress.leader, 60)}" if progress.leader else "",
        )
        self._next = perf_counter() + self._period


class Watch:
    """Shows a run's progress on a display, if the run takes long enough."""

    def __init__(self, display: Live | LogProgress | None) -> None:
        self._display = display
        self._from = perf_counter() + _PATIENCE
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open and self._display is not None:
            self._display.__exit__(kind, error, trace)

    def due(self) -> bool:
        """Return whether an update would be shown now."""
        if self._display is None or perf_counter() < self._from:
            return False
        return not self._open or self._display.due()

    def update(self, progress: Standing, fraction: float) -> None:
        """Show the progress."""
        assert self._display is not None
        if not self._open:
            self._display.__enter__()
            self._open = True
        self._display.update(progress, fraction)


def watching(progress: bool | None, unit: str) -> Watch:
    """Return what shows a run's progress: a bar, the log, or nothing."""
    if progress or (progress is None and interactive()):
        return Watch(Live(unit))
    return Watch(LogProgress(unit) if progress is None else None)
