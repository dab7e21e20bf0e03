"""How much of a budget a pilot may take: in seconds, in evaluations, and in points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.pilot_journal import Journal
from croupier.annealing.pilot_meter import Crew, Meter
from croupier.annealing.pilots import COST, FIRST, Start

__all__ = ["LEAST", "PILOT", "Limits", "first_look", "none_bought"]

#: The share of a budget that a pilot is made for, and the share at which it must end. A budget
#: with less than this many evaluations for a pilot has none.
PILOT: Final = 0.4
_LATE: Final = 0.45
LEAST: Final = 60

#: The points that time the likelihood: a call that may load modules, one that says whether it is
#: slow, and one that takes at most this share of the budget.
_FEW: Final = 20
_TIMED: Final = (2, 2, _FEW - 4)
_LOOK: Final = 0.05

#: Workers help a pilot if a point takes longer than this, in seconds.
_SLOW: Final = 1e-3

#: What croupier itself takes for a point of a pilot, in seconds: moves, groups and fits.
_OWN: Final = 1e-5


@dataclass(frozen=True)
class Limits:
    """The budget of a run, of which a pilot takes at most a share; None means no limit."""

    seconds: float | None = None
    evaluations: float | None = None

    def allowed(self, each: float) -> float:
        """Return about how many evaluations a pilot may make, if one takes `each` seconds."""
        by_time = math.inf if self.seconds is None else PILOT * self.seconds / (each + _OWN)
        return min(by_time, math.inf if self.evaluations is None else PILOT * self.evaluations)

    def share(self, seconds: float) -> float:
        """Return the share of the budget that so many seconds are."""
        return 0.0 if self.seconds is None else seconds / self.seconds

    def meter(
        self,
        journal: Journal | None = None,
        crew: Crew | None = None,
        show: Callable[[int], None] = lambda evaluations: None,
        began: float | None = None,
    ) -> Meter:
        """Return a meter that ends a pilot within these limits."""
        seconds = math.inf if self.seconds is None else _LATE * self.seconds
        most = math.inf if self.evaluations is None else _LATE * self.evaluations
        return Meter(journal, crew, show, seconds, most, began)


def first_look(
    model: Model, rng: np.random.Generator, limits: Limits, meter: Meter
) -> tuple[Start, float, float]:
    """Return the first points of the prior, the seconds that one takes, and what a pilot may take.

    A small budget gets fewer points.
    """
    timed = bool(meter.decided(lambda: float(limits.seconds is not None)))
    parts, each = list[Start](), math.inf if timed else 0.0
    for number in _TIMED if timed else ():
        if number == _TIMED[-1] and meter.decided(partial(limits.share, each * number)) > _LOOK:
            break
        began = time.perf_counter()
        parts.append(Start.of(model, rng, number))
        taken = (time.perf_counter() - began) / number
        each = meter.decided(partial(min, each, taken))  # a first call may load modules
    helpers = meter.helpers if not model.vectorised and each > _SLOW else 1
    allowed = meter.decided(lambda: limits.allowed(each / helpers))
    size = int(np.clip(allowed / COST, _FEW, FIRST)) if allowed >= LEAST else _FEW
    known = sum(len(part.points) for part in parts)
    if not parts or (known < size and allowed >= LEAST):
        parts.append(Start.of(model, rng, size - known))
    return Start.joined(parts), each, allowed


def none_bought(allowed: float) -> str:
    """Return what to say about a budget that buys no pilot."""
    return (
        f"the budget buys only about {allowed / PILOT:,.0f} evaluations of the likelihood, too few "
        "for a pilot: the result rests on plain draws of the prior, which seldom find a posterior "
        "that is much narrower; give more"
    )
