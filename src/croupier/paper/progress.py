"""Progress of a figure: a bar in a terminal, a line for each part elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from croupier.views.live import interactive

__all__ = ["Watch", "watching"]

_log = logging.getLogger("croupier")

#: True for a bar, False for nothing, a function that is given a line per part; None is a bar in a
#: terminal and the log "croupier" elsewhere.
Watch: TypeAlias = bool | Callable[[str], None] | None


@contextmanager
def watching(
    progress: Watch, done: int, total: int, parts: str
) -> Iterator[Callable[[int, object], None]]:
    """Show the parts as they are done, `done` of them already; call what this yields after each."""
    if progress is True or (progress is None and interactive()):
        with _bar(done, total, parts) as step:
            yield step
        return
    say = progress if callable(progress) else _log.info if progress is None else None
    if say is not None and 0 < done < total:
        say(f"{done} of {total} {parts} are there already")

    def line(done: int, part: object) -> None:
        if say is not None:
            say(f"{done} of {total} {parts}: {part}")

    yield line


@contextmanager
def _bar(done: int, total: int, parts: str) -> Iterator[Callable[[int, object], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(parts),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", style="dim"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, refresh_per_second=2) as bars:
        task = bars.add_task("", total=total, completed=done)

        def step(done: int, part: object) -> None:
            bars.update(task, completed=done, description=f"done: {part}", refresh=True)

        yield step
