"""A progress bar for work in many equal parts, in a terminal or a notebook."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Final

from croupier.views.live import interactive

__all__ = ["counting", "telling"]

_log = logging.getLogger("croupier")

#: Work that takes fewer seconds than this shows nothing; a line in place changes, and lines are
#: written, this often, in seconds.
_PATIENCE: Final = 0.4
_OFTEN: Final = 0.1
_LINES: Final = 5.0


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


@contextmanager
def telling(label: str, shown: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Show how far work is whose end is not known: yields a function to call with a text.

    In a terminal or a notebook a line changes in place; elsewhere there are lines in the log, or on
    stderr if `shown`.

    >>> with telling("pilot", shown=False) as tell:
    ...     tell("300 evaluations")
    """
    if shown is False:
        yield lambda text: None
        return
    began = last = perf_counter()
    with ExitStack() as stack:
        update: Callable[[str], None] | None = None

        def tell(text: str) -> None:
            nonlocal last, update
            now = perf_counter()
            if now - last < min(_OFTEN, _LINES):
                return
            if not interactive():
                if now - last >= _LINES:
                    last = now
                    line = f"{label}: {text}"
                    if shown:
                        print(line, file=sys.stderr, flush=True)
                    else:
                        _log.info("%s", line)
            elif now - began >= _PATIENCE:
                last = now
                update = update or _line_in_place(stack, label)
                update(text)

        yield tell


def _line_in_place(stack: ExitStack, label: str) -> Callable[[str], None]:
    """Open a line that changes in place, until the stack is closed."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = bar.add_task(label, total=None)
    return lambda text: bar.update(task, description=f"{label}: {text}")
