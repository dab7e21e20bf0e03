"""Figure 3, the draws: a bank of fresh ones for every arm, with both of their costs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from croupier.data.draws import Floats
from paper.fig3_study import Annealing, Clock
from paper.logistic import Annealed, Reference

__all__ = ["Bank", "bank_of"]

#: Draws of one task; each has a random generator of its own.
_TASK = 10


@dataclass(frozen=True, eq=False)
class Bank:
    """Draws of one arm, in units of the reference Z, and what each of them cost by either clock."""

    temperatures: int
    values: Floats
    evaluations: Floats
    cpu_seconds: Floats

    def costs(self, clock: Clock) -> Floats:
        """Return the costs by one clock."""
        return self.evaluations if clock == "evaluations" else self.cpu_seconds

    @property
    def mean(self) -> float:
        """The bank's own estimate of 1."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """The relative standard error of the mean, and so the error of its logarithm."""
        return math.sqrt(self.relative_variance / len(self.values))

    @property
    def relative_variance(self) -> float:
        """V / mean^2."""
        return float(self.values.var(ddof=1)) / self.mean**2

    @property
    def centred(self) -> Floats:
        """The draws with the mean 1, exactly: what a run is to find."""
        return self.values / self.mean


def bank_of(
    study: Annealing,
    rows: int,
    temperatures: int,
    size: int,
    reference: Reference,
    threads: int | None = None,
    done: Callable[[int], None] = lambda temperatures: None,
) -> Bank:
    """Draw one bank; but for the CPU times it depends on the study's seed alone."""
    arm = Annealed(study.model(rows), temperatures)
    out = np.empty((size, 3))
    arm(np.random.default_rng(0), 1)  # compiling is not part of a cost

    def draw(start: int) -> int:
        stop = min(start + _TASK, size)
        for i in range(start, stop):
            rng = np.random.default_rng(
                np.random.SeedSequence(
                    study.seed, spawn_key=(rows, int(study.standardised), temperatures, i)
                )
            )
            # By the thread's own clock: others may be drawing too, and other programs running.
            began = time.thread_time()
            drawn = arm(rng, 1)
            seconds = time.thread_time() - began
            out[i] = np.ravel(drawn.values)[0], np.ravel(drawn.costs)[0], seconds  # type: ignore[arg-type]
        return stop - start

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        finished: Iterator[int] = pool.map(draw, range(0, size, _TASK))
        try:
            for number in finished:
                done(number * temperatures)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Bank(temperatures, out[:, 0] / math.exp(reference.log_value), out[:, 1], out[:, 2])
