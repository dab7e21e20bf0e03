"""Ctrl-C at a random line: afterwards the same call, in the same process, goes on to the end."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from croupier.store import log
from tests.conftest import bits_of
from tests.faults.driver import ARMS, SETTINGS, run

HOME = str(Path(cr.__file__).parent)

Do = Callable[[], None]


def ctrl_c() -> None:
    """Send the signal of Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


def raised() -> None:
    """Raise what a handler of the user's own may raise."""
    raise KeyboardInterrupt


class Tracer:
    """Does something once, at the line of croupier with this number; counts all lines."""

    def __init__(self, line: int, do: Do) -> None:
        self.line, self.do, self.lines = line, do, 0
        self.where = ""

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        # No signal comes when a frame returns; an exception there would pass by its handlers.
        if event not in ("line", "call"):
            return self
        self.lines += 1
        if self.lines == self.line:
            self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            self.do()
        return self

    def watching(self, call: Callable[[], Any]) -> Any:
        """Call something, and return its result or the KeyboardInterrupt that it raised.

        An exception has its frames, and a notebook keeps both. With a handler of the user's own,
        the lock may be free only when they are gone.
        """
        sys.settrace(self)
        try:
            return call()
        except KeyboardInterrupt as interrupt:
            return interrupt if self.do is ctrl_c else None
        except Exception as error:
            return error
        finally:
            sys.settrace(None)


def interrupted_at_a_line(folder: Path, tries: int, do: Do) -> Iterator[str]:
    """Interrupt new and resumed runs, serial and on threads."""
    half = folder / "half.db"
    cr.estimate(ARMS, draws=25, store=half, callback=lambda p: p.tickets == 20, **SETTINGS)
    rng, whole = np.random.default_rng(7), bits_of(run())
    lines: dict[tuple[bool, bool], int] = {}
    done = number = 0
    while done < tries:
        number += 1
        kind = threads, resumed = number % 4 == 0, number % 3 == 0
        path = folder / f"{number}.db"

        def call(path: Path = path, threads: bool = threads) -> cr.Result:
            with ThreadPoolExecutor(2) if threads else nullcontext() as executor:
                return run(path, executor=executor)

        if resumed:
            shutil.copy(half, path)
        tracer = Tracer(int(rng.integers(1, lines[kind])) if kind in lines else 0, do)
        first = tracer.watching(call)
        if tracer.where:
            done += 1
            yield _went_on(first, path, call, whole, tracer)
        else:  # with threads, the number of lines is not always the same
            lines[kind] = tracer.lines
        path.unlink(missing_ok=True)


def by_hand_interrupted_at_a_line(folder: Path, tries: int) -> Iterator[str]:
    """Interrupt a table with a store that is asked and told by hand; then repeat the same step."""
    whole = _played(_Hand(None))
    tracer = Tracer(0, ctrl_c)
    tracer.watching(lambda: _played(_Hand(folder / "first.db")))
    rng, lines = np.random.default_rng(7), tracer.lines
    for number in range(tries):
        hand, tracer = _Hand(folder / f"{number}.db"), Tracer(int(rng.integers(1, lines)), ctrl_c)
        first = tracer.watching(lambda hand=hand: _played(hand))  # type: ignore[misc]
        where = f"interrupted at {tracer.where}"
        try:
            same = (first if isinstance(first, tuple) else _played(hand)) == whole
            same = same and bits_of(cr.open_run(hand.path).result()) == whole
        except BaseException as error:
            yield f"{where}: {type(error).__name__}: {error}"
            continue
        yield "same" if same else f"{where}: other bits"
        hand.path.unlink()


class _Hand:
    """Where somebody stands who asks and tells: perhaps the table is not made yet."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.table: cr.Allocator | None = None


def _played(hand: _Hand) -> Any:
    log._SNAPSHOT_EVERY = 10
    if hand.table is None:
        hand.table = cr.Allocator(["rough", "fine"], rng=7, width=3, store=hand.path)
    table = hand.table
    while table.tickets.told < 40:
        while table.tickets.asked < 40 and len(table.out) < 3 and table.ask() is not None:
            pass
        batch = table.out[-1]
        table.tell(batch, ARMS[batch.arm](batch.rng(), batch.size))
    table.close()
    return bits_of(table.result())


def _went_on(
    first: Any, path: Path, call: Callable[[], cr.Result], whole: Any, tracer: Tracer
) -> str:
    """Make the same call again, while whatever came of the first one still exists."""
    where = f"{path.name}, interrupted at {tracer.where}"
    if isinstance(first, Exception):
        return f"{where}: {type(first).__name__}: {first}"
    try:
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return f"{where}: another handler of Ctrl-C was left"
        if tracer.do is ctrl_c and getattr(first, "stopped", "") == "interrupted":
            stored = cr.open_run(path).result()
            if bits_of(stored)[:-1] != bits_of(first)[:-1]:  # but for the warnings
                return f"{where}: the result is not that of the store"
        same = bits_of(call()) == whole and bits_of(cr.open_run(path).result()) == whole
    except BaseException as error:
        return f"{where}: {type(error).__name__}: {error}"
    if left := [one.name for one in path.parent.glob(f"{path.name}-*")]:
        return f"{where}: {left} are left"
    return "same" if same else f"{where}: other bits"
