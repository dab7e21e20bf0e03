"""Epochs of strata: counts that follow earlier epochs only, so that no mean is biased.

If the counts of strata follow the deviations of the same draws, the pooled mean of a skewed stratum
is too low: a stratum that has not shown its tail gets few further draws. In epochs this cannot
happen. The counts n_ke of epoch e are fixed by the epochs before it, so the mean x_ke of its draws
is unbiased, and so is any weighting of the epochs that does not look at their draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from croupier.data.batch_moments import times_two_to
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan

__all__ = ["EpochLedger", "Schedule", "new_ledger", "schedule_of"]


class Schedule(NamedTuple):
    """Where epochs end, in draws: the first at `first`, each later one at `growth` times that.

    >>> schedule = Schedule(first=20, growth=2.0)
    >>> [schedule.end_after(draws) for draws in (0, 19, 20, 79, 80)]
    [20.0, 20.0, 40.0, 80.0, 160.0]
    """

    first: int
    growth: float

    def opens(self, ledger: Ledger) -> bool:
        """Tell whether what is known belongs to the first epoch only."""
        return ledger.draws < self.first

    def end_after(self, draws: float) -> float:
        """Return the end of the epoch in which the draw after these many draws lies."""
        end = float(self.first)
        while end <= draws:
            end = float(max(int(end * self.growth), end + 1))
        return end


def schedule_of(plan: Plan) -> Schedule | None:
    """Return when the epochs of a plan end; None if its draws are not dealt in epochs."""
    growth = plan.settings.get("epochs")
    if growth is None:
        return None
    return Schedule(len(plan.names) * max(plan.first, plan.first_call, 2), float(growth))


def new_ledger(plan: Plan) -> Ledger:
    """Return an empty ledger for the draws of a plan."""
    measured = plan.unit == "seconds"
    shared = "weights" not in plan.settings  # strata have a mean each
    ledger = Ledger(
        len(plan.names), first=plan.first, measured=measured, positive=plan.log, shared=shared
    )
    schedule = schedule_of(plan)
    if schedule is None:
        return ledger
    return EpochLedger(ledger, schedule, np.array(plan.settings["weights"]))


class EpochLedger(Ledger):
    """A ledger that also has the mean of every stratum epoch by epoch, in fixed proportions.

    The estimate of a stratum is sum_e c_ke x_ke/sum_e c_ke. The proportion c_ke of an epoch is the
    number of its draws N_e. In the first epoch, where all strata have as many draws, it is
    n_k1/w_k, the number of draws in which a stratum has n_k1 of its own if it is drawn by weight.
    The variance of the estimate is sum_e c_ke^2 s2_ke/n_ke/(sum_e c_ke)^2, with the sample
    variance of each epoch: s2 of earlier epochs is low where n_ke is low, and the product would
    be too small. Only where an epoch has one draw of a stratum, s2 of all its draws takes its
    place. A batch belongs to the epoch of its first draw. Runs that are merged have their own
    epochs, one run after the other; `runs` are the draws before each of them.
    """

    def __init__(self, like: Ledger, schedule: Schedule, weights: Floats) -> None:
        # Strata have their own means: one with a lower mean has not missed anything.
        super().__init__(len(like), first=like.first, measured=like.measured, shared=False)
        arms = len(like)
        self.schedule = (*schedule,)  # plain data, for a snapshot
        self.weights = weights
        self.runs: tuple[float, ...] = (0.0,)
        self.epoch_start = 0.0
        self.epoch_end = schedule.end_after(0.0)
        # What was known when the epoch began: counts, and (mean, M2).
        self._before: Floats = np.zeros(arms)
        self._known: Floats = np.zeros((2, arms, 1))
        # Sums over closed epochs: c, c^2/n, c^2/n where s2 is not known, and (c x, c^2 s2/n).
        self._clock: Floats = np.zeros((3, arms))
        self._closed: Floats = np.zeros((2, arms, 1))

    def empty(self) -> EpochLedger:
        """Return a ledger of the same strata and the same runs, without draws."""
        twin = EpochLedger(self, Schedule(*self.schedule), self.weights)
        twin.runs = self.runs
        return twin

    def add(self, arm: int, outcome: Any) -> None:
        """Add the moments of one batch to a stratum, in the epoch of its first draw."""
        if self.draws >= self.epoch_end:
            first = self.epoch_start == 0 and Schedule(*self.schedule).opens(self)
            if not first:
                self._close()
        super().add(arm, outcome)

    def _close(self) -> None:
        """End the epoch: add it to the sums over epochs, and begin the next one."""
        self._clock, self._closed = self._sums()
        self._before, self._known = self.count.copy(), self.moments[:2].copy()
        self.epoch_start = self.draws
        run = max(start for start in self.runs if start <= self.draws)
        later = [start for start in self.runs if start > self.draws]
        end = run + Schedule(*self.schedule).end_after(self.draws - run)
        self.epoch_end = min([end, *later])

    def _sums(self) -> tuple[Floats, Floats]:
        """Return the sums over all epochs, with the one that has not ended."""
        n0, n1 = self._before, self.count
        n = n1 - n0
        some = np.maximum(n, 1)
        (x0, m0), (x1, m1) = self._known, self.moments[:2]
        x = (n1[:, None] * x1 - n0[:, None] * x0) / some[:, None]
        # M2 of all draws = M2 before + M2 of the epoch + the distance of the two means.
        m2 = m1 - m0 - np.square(x - x0) * (n0 * n / np.maximum(n1, 1))[:, None]
        s2 = np.maximum(m2, 0.0) / np.maximum(n - 1, 1)[:, None]
        first = self.epoch_start in self.runs
        c = np.where(n > 0, n / self.weights if first else self.draws - self.epoch_start, 0.0)
        Q = c * c / some
        clock = np.array((c, Q, np.where(n == 1, Q, 0.0)))
        closed = np.array((c[:, None] * x, Q[:, None] * s2))
        return self._clock + clock, self._closed + closed

    @property
    def for_estimate(self) -> Ledger:
        """The means of the strata by epochs, with their variances for as many draws as they equal.

        These are the C^2/sum(c^2/n) draws that would have the same variance at equal weights.
        """
        (c, Q, unknown), (cx, cv) = self._sums()
        drawn = (c > 0)[:, None]
        C = np.where(c > 0, c, 1.0)[:, None]
        n = np.where(c > 0, c * c / np.where(c > 0, Q, 1.0), 0.0)
        variance = (cv + unknown[:, None] * self.sample_variance) / np.where(c > 0, Q, 1.0)[:, None]
        twin = self.copy()
        twin.count = n
        twin.moments[0] = np.where(drawn, cx / C, self.moments[0])
        twin.moments[1] = variance * np.maximum(n - 1, 1)[:, None]
        twin._variance = variance
        return twin

    def merge(self, other: Ledger) -> None:
        """Add everything that another run of the same strata knows, with its own epochs."""
        assert isinstance(other, EpochLedger)
        if other.origin is None:
            return
        self._close()
        before, theirs = self.draws, other.copy()
        theirs._close()
        super().merge(other)
        assert self.origin is not None
        assert other.origin is not None
        shift = other.exponent - self.exponent
        gap = times_two_to(other.origin - self.origin, -self.exponent)
        clock, (cx, cv) = theirs._clock, theirs._closed
        self._clock = self._clock + clock
        moved = times_two_to(cx, shift) + clock[0][:, None] * gap
        self._closed = self._closed + np.array((moved, times_two_to(cv, 2 * shift)))
        self.runs = (*self.runs, *[before + start for start in other.runs])
        self._before, self._known = self.count.copy(), self.moments[:2].copy()
        self.epoch_start = self.draws

    def _begin(self, origin: Floats, exponent: Any) -> None:
        if self.origin is None:
            self._known = np.zeros((2, len(self), origin.size))
            self._closed = np.zeros((2, len(self), origin.size))
        super()._begin(origin, exponent)

    def _raise_unit(self, needed: Any) -> None:
        before = self.exponent
        super()._raise_unit(needed)
        shift = before - self.exponent
        powers = np.array([shift, 2 * shift])[:, None, :]
        self._known = times_two_to(self._known, powers)
        self._closed = times_two_to(self._closed, powers)
