"""Meter: evaluates the likelihood for a pilot, counts, and shows how far the pilot is.

Workers evaluate a likelihood of one point, so the values are the same to the last bit. A function
of many points is evaluated here, in one call: in parts, its sums could end in other digits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.annealing.pilot_journal import Journal
from croupier.annealing.vectorised import is_compiled, one_number
from croupier.data.draws import Floats

if TYPE_CHECKING:
    from croupier.annealing.models import Model
    from croupier.engines.staff import Staff
    from croupier.running.settings import RunSettings

__all__ = ["Crew", "Meter"]

#: Workers share a call that would take longer than this, in seconds; each task then lasts at least
#: the second number, if there are enough points.
_WORTH: Final = 0.1
_TASK: Final = 0.02


class Meter:
    """Counts the evaluations of a pilot; with a journal, it remembers them, too.

    `show` is called with the number of evaluations so far. The pilot is late after so many
    `seconds` since the call `began`, or after `most` evaluations.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        crew: Crew | None = None,
        show: Callable[[int], None] = lambda evaluations: None,
        seconds: float = math.inf,
        most: float = math.inf,
        began: float | None = None,
    ) -> None:
        self.evaluations = 0
        self._journal, self._crew, self._show = journal, crew, show
        self._began = time.perf_counter() if began is None else began
        self._seconds, self._most = seconds, most
        self._inside = 0.0  # seconds in the likelihood

    def __call__(self, model: Model, points: Floats) -> Floats:
        """Return the log-likelihood at points in the coordinates of the user."""

        def evaluate(points: Floats) -> Floats:
            if self._crew is None or model.vectorised or is_compiled(model.log_likelihood):
                return model.values_at(points)
            return self._crew.values(model, points)

        self.evaluations += len(points)
        self._show(self.evaluations)
        began = time.perf_counter()
        try:
            if self._journal is None:
                return evaluate(points)
            return self._journal.evaluated(points, evaluate)
        finally:
            self._inside += time.perf_counter() - began

    @property
    def elapsed(self) -> float:
        """The seconds since the call began."""
        return time.perf_counter() - self._began

    @property
    def helpers(self) -> int:
        """How many processes evaluate a slow likelihood of one point."""
        return 1 if self._crew is None else self._crew.workers

    def late(self) -> bool:
        """Return whether the pilot must end, now or at this point of an earlier call."""

        def now() -> float:
            return float(self.evaluations >= self._most or self.elapsed >= self._seconds)

        return bool(self.decided(now))

    def pace(self, each: float) -> float:
        """Return the seconds of an evaluation with its move, if the likelihood takes `each`."""
        evaluations = max(self.evaluations, 1)
        return (
            max(each, self._inside / evaluations / self.helpers)
            + (self.elapsed - self._inside) / evaluations
        )

    @property
    def recorded(self) -> bool:
        """Whether decisions are kept in a file, in their order."""
        return self._journal is not None

    def decided(self, choose: Callable[[], float]) -> float:
        """Return what was decided by the clock, now or in an earlier call of the same run."""
        return choose() if self._journal is None else self._journal.decided(choose)


class Crew:
    """The workers of a run. They start at once, and first evaluate a slow likelihood for the pilot.

    `staff` says who they are. The run takes them over from the crew.
    """

    def __init__(self, staff: Staff) -> None:
        self._staff, self.workers = staff, max(staff.workers, 1)
        self._executors: list[Executor] = []
        self._starting: list[Future[Any]] = []
        self._each = math.nan  # seconds of a point

    def start(self, greeting: Callable[..., Any] = bool, *sent: Any) -> None:
        """Start the workers, which takes about a second, and do not wait for them.

        They call the `greeting`, which loads what they need.
        """
        if self._executors:
            return
        self._executors = [
            self._staff.hire() for _ in range(self._staff.workers if self._staff.solo else 1)
        ]
        with suppress(Exception):  # the run will say what is wrong with them
            self._starting = [each.submit(greeting, *sent) for each in self._executors]

    def taken_over(self, around: RunSettings, seconds: float) -> tuple[RunSettings, float]:
        """Return the settings with these workers, and the seconds that were spent on waiting.

        Processes that have not started after so many seconds come too late: the run goes on in
        this process, with the same width, so that it would draw the same.
        """
        began = time.perf_counter()
        late = bool(wait(self._starting, timeout=seconds).not_done)
        if late and self._staff.solo:
            self.close()  # they would only be in the way
            width = around.width or 2 * self._staff.workers
            alone = replace(around, workers=None, executor=None, width=width)
            return alone, time.perf_counter() - began
        ready, self._executors, self._starting = self._executors, [], []

        def hire() -> Executor:
            return ready.pop() if ready else self._staff.hire()

        staff = replace(self._staff, hire=hire)
        return replace(around, started=staff), time.perf_counter() - began

    def values(self, model: Model, points: Floats) -> Floats:
        """Return the log-likelihood at each of the points, checked as in this process.

        As long as the workers are starting, the points are evaluated here, a few at a time.
        """
        here: list[Floats] = []
        while len(points) and not (self._ready and self._each * len(points) > _WORTH):
            slow = self._starting and self._each * len(points) > _WORTH
            few = max(1, int(_TASK / self._each)) if slow else len(points)
            began = time.perf_counter()
            here.append(model.values_at(points[:few]))
            self._each = (time.perf_counter() - began) / len(here[-1])
            points = points[few:]
        there = self._there(model, points)
        return np.concatenate([*here, there]) if here else there

    @property
    def _ready(self) -> bool:
        """Whether the workers have started."""
        return bool(self._executors) and all(future.done() for future in self._starting)

    def _there(self, model: Model, points: Floats) -> Floats:
        """Return the log-likelihood at points that the workers evaluate."""
        if not len(points):
            return np.empty(0)
        size = max(1, math.ceil(_TASK / max(self._each, 1e-9)))
        size = max(size, math.ceil(len(points) / (4 * self.workers)))
        parts = [points[start : start + size] for start in range(0, len(points), size)]
        raw = self._shared(model, parts)
        if raw is None:  # workers died, or the function cannot be sent: it is evaluated here
            return model.values_at(points)
        return model.checked_values(raw, points)

    def close(self) -> None:
        """Let the workers go that the run has not taken over, if the run has made them."""
        executors, self._executors = self._executors, []
        if self._staff.own:
            for executor in executors:
                self._staff.dismiss(executor)

    def _shared(self, model: Model, parts: Sequence[Floats]) -> list[Any] | None:
        futures = []
        with suppress(Exception):
            for number, part in enumerate(parts):
                executor = self._executors[number % len(self._executors)]
                futures.append(executor.submit(_each_point, model.log_likelihood, part))
            return [value for future in futures for value in future.result()]
        for future in futures:
            future.cancel()
        return None


def _each_point(log_likelihood: Callable[[Floats], Any], points: Floats) -> list[Any]:
    """Return the values of a function of one point."""
    return [one_number(log_likelihood(point)) for point in np.array(points)]
