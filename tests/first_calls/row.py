"""A row of the table of first calls: a call as a user types it, and what must hold of its answer.

A row is a function of a seed with the decorator `row`. The test calls it, and `complaints` says
what does not hold. The functions of a row are plain: the time inside them is sampled (`Sampled`),
so nothing has to be wrapped.
"""

from __future__ import annotations

import inspect
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

import croupier as cr

#: The answer may come with or without a warning: very short runs, mostly.
EITHER = "*"

#: CPU seconds that any call may take for itself: imports, a search, a few hundred decisions.
PATIENCE = 4.0

#: Beyond that, a call takes at most this many times the CPU time of the user's functions.
OVERHEAD = 4.0


@dataclass(frozen=True)
class Row:
    """A first call, and what must hold.

    `truth` is the right answer (of a run of logs, its log). `best` is the arm that must get `share`
    of the cost; give it where it is 3 times as good as the others and the budget is 100 times the
    first draws. `within` is the largest half-width of the interval, relative to the truth (of a run
    of logs, of the log). `stopped` is the reason why the run must end. `warns` is a part of the
    warning that must be there; without it there must be none, and EITHER allows both. `off` says
    that the answer cannot be right, so that only the warning counts. `inside` is the smallest part
    of the wall time that the arms must get, for a budget in seconds. `holds` is anything else.
    """

    call: Callable[[int], cr.Result]
    truth: Any
    best: str | None = None
    share: float = 0.8
    within: float | None = None
    stopped: str | None = None
    warns: str = ""
    off: bool = False
    inside: float | None = None
    holds: Callable[[cr.Result], bool] | None = None

    @property
    def name(self) -> str:
        """The function's name, as words, behind its module's."""
        module = self.call.__module__.rpartition("rows_")[2]
        return f"{module}: {self.call.__name__.replace('_', ' ')}"

    @property
    def timed(self) -> bool:
        """Whether the draws of a run follow measured times, so that they differ each time."""
        return "seconds=" in inspect.getsource(self.call)

    @property
    def timed_by_workers(self) -> bool:
        """Whether a draw costs the wall time that it takes in another process."""
        return self.timed and "workers=" in inspect.getsource(self.call)


def row(truth: Any, **expected: Any) -> Callable[[Callable[[int], cr.Result]], Row]:
    """Make a row of a function of the seed."""
    return lambda call: Row(call, truth, **expected)


@dataclass
class Sampled:
    """CPU seconds inside the functions of a row, and beside them."""

    inside: float = 0.0
    beside: float = 0.0


@contextmanager
def sampled(call: Callable[..., Any]) -> Iterator[Sampled]:
    """Sample where this process spends its CPU time: in functions beside `call`, or elsewhere.

    A long call of numpy counts for the function that made it. Children are not seen.
    """
    spent, every, home = Sampled(), 0.002, inspect.getsourcefile(call)

    def tick(_: int, frame: FrameType | None) -> None:
        while frame is not None:
            code = frame.f_code
            if code.co_filename == home and code is not call.__code__:
                spent.inside += every
                return
            frame = frame.f_back
        spent.beside += every

    if threading.current_thread() is not threading.main_thread():
        yield spent
        return
    before = signal.signal(signal.SIGPROF, tick)
    signal.setitimer(signal.ITIMER_PROF, every, every)
    try:
        yield spent
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def play(row: Row, seed: int) -> tuple[cr.Result, list[str]]:
    """Make the call of a row; return its result, and all that does not hold."""
    with warnings.catch_warnings(), sampled(row.call) as spent:
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        result = row.call(seed)
    return result, list(complaints(row, result, spent))


def distance(row: Row, result: cr.Result) -> float:
    """Return |answer - truth|, in standard errors of the interval; the largest of a vector."""
    value, (low, high) = answer(result)
    truth = np.asarray(row.truth, float)
    wrong = np.abs(value - truth) > 1e-12 * np.abs(truth)
    half = np.where(truth > value, high - value, value - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(wrong, np.abs(value - truth) / half * 1.96, 0.0)
    return float(np.max(z))


def answer(result: cr.Result) -> tuple[np.ndarray, np.ndarray]:
    """Return the value and the two ends of its interval; of logs, the logs."""
    if result.log_interval is not None:
        return np.asarray(result.log_value), np.asarray(result.log_interval)
    return np.asarray(result.value), np.asarray(result.interval)


def by_chance(row: Row, result: cr.Result, warning: str) -> bool:
    """Return whether arms seem to disagree, in a run whose draws follow the clock.

    One such run in a thousand warns below p = 1e-3, each time another one; one in a million fails.
    """
    told = warning.startswith("the arms disagree") and result.agreement is not None
    return row.timed and told and float(np.min(result.agreement)) > 1e-6


def traced() -> bool:
    """Return whether a measurement of coverage makes the code beside the functions slow."""
    coverage = sys.modules.get("coverage")
    return coverage is not None and coverage.Coverage.current() is not None


def complaints(row: Row, result: cr.Result, spent: Sampled) -> Iterator[str]:
    """Yield what does not hold of the result of a row."""
    value, (low, high) = answer(result)
    if not row.off and not distance(row, result) < 5:
        kind = "far" if row.warns == EITHER and result.warnings else "z"
        said = f"with the warnings {result.warnings}" if result.warnings else "without a warning"
        yield f"{kind}: {value} in [{low}, {high}] is off: {row.truth} is right; {said}"
    if row.best is not None and not result.arms[row.best].share >= row.share:
        shares = {name: round(each.share, 3) for name, each in result.arms.items()}
        yield f"share: the best arm is {row.best!r}, but the shares are {shares}"
    if row.within is not None:
        scale = np.where(
            result.log_value is None, np.maximum(np.abs(row.truth), np.abs(value)), 1.0
        )
        relative = np.max((high - low) / 2 / scale)
        if not relative <= row.within:
            yield f"precision: a half-width of {relative:.3g}, more than {row.within:g}"
    if row.stopped is not None and result.stopped != row.stopped:
        yield f"stop: stopped by {result.stopped}, not by {row.stopped}"
    unexpected = [text for text in result.warnings if not by_chance(row, result, text)]
    if row.warns == "" and unexpected:
        yield f"warning: the answer is right, but: {unexpected}"
    if row.warns not in ("", EITHER) and not any(row.warns in text for text in result.warnings):
        yield f"silence: no warning says {row.warns!r}: {result.warnings}"
    inside = row.inside is None or result.cost >= row.inside * result.seconds
    if not traced() and not inside:
        yield f"time: {result.cost:.3g} s inside the arms, of {result.seconds:.3g} s"
    if not traced() and spent.beside > PATIENCE + OVERHEAD * spent.inside:
        yield f"time: {spent.beside:.3g} s of CPU beside {spent.inside:.3g} s in the functions"
    if row.holds is not None and not row.holds(result):
        yield f"holds: {inspect.getsource(row.holds).strip()}"
