"""Few hits: the interval of a weighted count of rare events, which is far from normal."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from croupier.data.central_moments import FEW
from croupier.data.draws import Floats

__all__ = ["FEW_HITS", "FewHits", "clopper_pearson_shares", "fay_feuer"]

#: Below this many effective hits a weighted count is not about normal, as other means.
FEW_HITS: Final = FEW


def fay_feuer(
    mean: Floats, variance: Floats, largest: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return the gamma interval of a weighted sum of Poisson counts.

    Fay and Feuer (Statistics in Medicine 16, 1997, equations 5 and 6). `mean` is the weighted sum,
    `variance` the sum of the squared weights of the events, `largest` the largest weight that one
    more event could have. With equal weights it is the exact interval of a Poisson mean.

    >>> low, high = fay_feuer(np.zeros(1), np.zeros(1), np.ones(1), 0.95)
    >>> float(low[0]), float(high[0].round(2))
    (0.0, 3.69)
    """
    from scipy.special import gammaincinv

    tail = (1 - confidence) / 2
    seen = (mean > 0) & (variance > 0)
    y, v = np.where(seen, mean, 1.0), np.where(seen, variance, 1.0)
    low = np.where(seen, v / y * gammaincinv(y * y / v, tail), 0.0)
    more, spread = mean + largest, variance + largest * largest
    finite = np.isfinite(more) & (more > 0)
    more, spread = np.where(finite, more, 1.0), np.where(finite, spread, 1.0)
    high = spread / more * gammaincinv(more * more / spread, 1 - tail)
    return low, np.where(finite, high, np.inf)


def clopper_pearson_shares(hits: Floats, draws: float, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of Clopper and Pearson (Biometrika 26, 1934) of a probability.

    >>> low, high = clopper_pearson_shares(np.array([0.0, 5.0]), 10, 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.187], [0.308, 0.813])
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), draws - hits + 1, tail), 0.0)
    missed = np.maximum(draws - hits, 1)
    high = np.where(hits < draws, betaincinv(hits + 1, missed, 1 - tail), 1.0)
    return low, high


class FewHits(NamedTuple):
    """What the interval of a weighted count needs, (d,) each, in the user's units.

    `mean` is the mean of the draws, `variance` the sum of their squares over the square of their
    number, `largest` the largest part of the mean that one draw can have, `most` the largest value
    that is possible. An infinite `largest` means that nothing is known. `spare` is the part of the
    mean that one draw may have wrongly: the lower end is that of the rest. Below `below` effective
    hits, the interval is the gamma interval. `plain` is the number of draws if they have no
    weights, and 0 if they have: every plain draw is 0 or 1, and few of them have the interval of
    Clopper and Pearson.
    """

    mean: Floats
    variance: Floats
    largest: Floats
    most: Floats
    below: float = FEW_HITS
    plain: float = 0.0
    spare: float = 0.0

    @property
    def hits(self) -> Floats:
        """The effective number of hits."""
        variance = np.where(self.variance > 0, self.variance, 1.0)
        return np.where(self.variance > 0, self.mean**2 / variance, 0.0)

    def ends(self, low: Floats, high: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Return an interval with the gamma interval where the hits are few, within 0 and most."""
        if self.plain:
            few = np.minimum(self.mean, 1 - self.mean) * self.plain < self.below
            exact = clopper_pearson_shares(np.rint(self.mean * self.plain), self.plain, confidence)
            low, high = np.where(few, exact, (low, high))
            return low, high
        few = self.hits < self.below
        _, end = fay_feuer(self.mean, self.variance, self.largest, confidence)
        begin, _ = fay_feuer(self.mean - self.spare, self.variance, self.largest, confidence)
        low, high = np.where(few, (begin, end), (low, high))
        return np.maximum(low, 0.0), np.minimum(high, self.most)
