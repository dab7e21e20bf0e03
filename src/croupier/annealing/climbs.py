"""Climbs to the peaks of a posterior, for modes whose share of the tempered mass is tiny at first.

A search by tempering sees a mode only if it has some mass at every temperature. A narrow mode has
next to none at high temperatures, but points of the prior that are closer to it than to others
climb to it all the same. Where they end is compared with what is known, and a peak that the fitted
law does not know gets a component of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from croupier.annealing.basins import explained, risen
from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model
from croupier.annealing.peaks import Peak, shape_of, shape_price, with_component
from croupier.annealing.slices import Chains

__all__ = ["MOST", "Known", "climb", "climb_price"]

#: Steps of a climb, and how many more there are for each dimension.
STEPS: Final = 40
MORE_STEPS: Final = 8

#: Steps along the gradient before a climb.
RISES: Final = 4

#: After a step up the next one is longer, after a failure shorter: one of five goes up.
LONGER: Final = 0.8
SHORTER: Final = 0.2

#: A peak is unknown if the posterior there is this many times what the fitted law says.
UNKNOWN: Final = 100.0

#: At most this many peaks get a component.
MOST: Final = 12


def climb(model: Model, rng: np.random.Generator, chains: Chains) -> int:
    """Move points up to their peaks; return the evaluations that it took."""
    d, step = model.dimensions, np.full(len(chains.points), 0.1)
    count = sum(risen(model, chains) for _ in range(RISES))
    for _ in range(STEPS + MORE_STEPS * d):
        if model.late():
            break
        noise = rng.standard_normal(chains.points.shape) * (model.spread / math.sqrt(d))
        trial = chains.points + step[:, None] * noise
        prior, likelihood = model.evaluate(trial)
        count += len(trial)
        up = prior + likelihood > chains.prior + chains.likelihood
        chains.points[up] = trial[up]
        chains.prior[up], chains.likelihood[up] = prior[up], likelihood[up]
        step = np.minimum(step * np.where(up, math.exp(LONGER), math.exp(-SHORTER)), 1.0)
    return count


def climb_price(dimensions: int) -> int:
    """Return the evaluations of one climb.

    >>> climb_price(20)
    300
    """
    return STEPS + MORE_STEPS * dimensions + RISES * (dimensions + 5)


@dataclass
class Known:
    """What is known so far: a law, a top for each component, log Z, and the peaks that are new.

    `count` is the number of evaluations.
    """

    law: Mixture
    tops: Chains
    log_z: float
    peaks: list[Peak] = field(default_factory=list)
    count: int = 0

    def join(self, model: Model, rng: np.random.Generator, ends: Chains, most: float) -> int:
        """Give a component to each peak among the ends of climbs; return how many are new.

        After `most` evaluations no further peak gets one.
        """
        d, before = model.dimensions, len(self.peaks)
        height = ends.prior + ends.likelihood
        while len(height) and len(self.peaks) < MOST:
            missing = height - self.log_z - self.law.log_density(ends.points)
            top = int(np.argmax(missing))
            if not missing[top] > math.log(UNKNOWN) or self.count > most or model.late():
                break
            peak = shape_of(model, rng, ends, top)
            # Whatever is left at this peak is the law's fault, not a mode's.
            near = (ends.points - peak.mean) @ np.linalg.inv(peak.root).T
            known = np.einsum("ij,ij->i", near, near) < 25 * d
            led, taken = explained(model, ends, peak.top)
            known |= led >= 0
            known[top] = True
            self.count += shape_price(d) + taken
            arrivals = int(np.count_nonzero(known & (height > -np.inf)))
            self._add(peak._replace(arrivals=arrivals))
            height = np.where(known, -np.inf, height)
        return len(self.peaks) - before

    def _add(self, peak: Peak) -> None:
        mass = peak.log_mass(1.0)
        both = float(np.logaddexp(self.log_z, mass))
        self.law = with_component(self.law, peak, 1.0, math.exp(mass - both))
        self.log_z = both
        self.tops = Chains.joined([self.tops, peak.top])
        self.peaks.append(peak)
