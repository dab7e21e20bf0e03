"""Meter: evaluates the likelihood for a pilot, counts, and shows how far the pilot is.

Workers evaluate a likelihood of one point, so the values are the same to the last bit. A function
of many points is evaluated here, in one call: in parts, its sums could end in other digits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.annealing.pilot_journal import Journal
from croupier.annealing.vectorised import is_compiled, one_number
from croupier.data.draws import Floats

if TYPE_CHECKING:
    from croupier.annealing.models import Model
    from croupier.engines.staff import Staff

__all__ = ["Crew", "Meter"]

#: Workers are hired when a call would take longer than this, in seconds; each task then lasts at
#: least the second number, if there are enough points.
_WORTH: Final = 0.2
_TASK: Final = 0.02


class Meter:
    """Counts the evaluations of a pilot; with a journal, it remembers them, too.

    `show` is called with the number of evaluations so far.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        crew: Crew | None = None,
        show: Callable[[int], None] = lambda evaluations: None,
    ) -> None:
        self.evaluations = 0
        self._journal, self._crew, self._show = journal, crew, show

    def __call__(self, model: Model, points: Floats) -> Floats:
        """Return the log-likelihood at points in the coordinates of the user."""

        def evaluate(points: Floats) -> Floats:
            if self._crew is None or model.vectorised or is_compiled(model.log_likelihood):
                return model.values_at(points)
            return self._crew.values(model, points)

        self.evaluations += len(points)
        self._show(self.evaluations)
        if self._journal is None:
            return evaluate(points)
        return self._journal.evaluated(points, evaluate)

    def decided(self, choose: Callable[[], float]) -> float:
        """Return what was decided by the clock, now or in an earlier call of the same run."""
        return choose() if self._journal is None else self._journal.decided(choose)


class Crew:
    """The workers of a run, for the likelihood of a pilot; they are hired when it is slow."""

    def __init__(self, hire: Callable[[], Staff | None]) -> None:
        self._hire = hire
        self._staff: Staff | None = None
        self._executors: list[Executor] = []
        self._each = math.nan  # seconds of a point

    def values(self, model: Model, points: Floats) -> Floats:
        """Return the log-likelihood at each of the points, checked as in this process."""
        if not self._executors and not self._each * len(points) > _WORTH:
            began = time.perf_counter()
            values = model.values_at(points)
            if len(points):
                self._each = (time.perf_counter() - began) / len(points)
            return values
        if not self._executors:
            self._open()
        size = max(1, math.ceil(_TASK / max(self._each, 1e-9)))
        workers = max(self._staff.workers if self._staff else 1, 1)
        size = max(size, math.ceil(len(points) / (4 * workers)))
        parts = [points[start : start + size] for start in range(0, len(points), size)]
        raw = self._shared(model, parts)
        if raw is None:  # workers died, or the function cannot be sent: it is evaluated here
            return model.values_at(points)
        return model.checked_values(raw, points)

    def close(self) -> None:
        """Let the workers go, if the run has made them."""
        executors, self._executors = self._executors, []
        if self._staff is not None and self._staff.own:
            for executor in executors:
                self._staff.dismiss(executor)

    def _open(self) -> None:
        self._staff = self._hire()
        if self._staff is not None:
            number = self._staff.workers if self._staff.solo else 1
            self._executors = [self._staff.hire() for _ in range(number)]

    def _shared(self, model: Model, parts: Sequence[Floats]) -> list[Any] | None:
        if not self._executors:
            return None
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
