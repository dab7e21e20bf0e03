"""A progress bar for work in many equal parts, in a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from croupier.views.live import interactive

__all__ = ["counting"]


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
