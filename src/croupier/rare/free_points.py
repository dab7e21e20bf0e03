"""Free points: points that need no call, drawn where a surrogate says that g may be below 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import log_standard_normal
from croupier.distributions.weights import effective_size_of_logs, log_mixture, normalised
from croupier.rare.components import SCOUTS, Frozen, dealt, scouts
from croupier.rare.fit import fitted, parted
from croupier.searching.surrogate import Surrogate

__all__ = ["POINTS", "Population", "aimed"]

#: So many points while it learns.
POINTS: Final = 1500

#: The share of the fitted components in a population, and of their twins of width 1 in this.
_FITTED: Final = 0.6
_TWINS: Final = 0.3

#: The heaviest points are fitted, in so many passes at most; a rough fit has so many components.
_FITTED_POINTS: Final = 400
_PASSES: Final = 4
_ROUGH: Final = 4


@dataclass(frozen=True, eq=False)
class Population:
    """Points (N, d) of a mixture q, with the weights p/q and the chances r/q; r is the scouts'."""

    points: Floats
    weights: Floats
    scouting: Floats

    @classmethod
    def drawn(cls, mixture: Frozen, size: int, rng: np.random.Generator) -> Population:
        """Return points of a mixture, with the number of points of each component fixed."""
        own, drawn = dealt(mixture.shares, size), mixture.mixture
        points = drawn.placed(drawn.noise(rng, size), own)
        joint = drawn.component_log_densities(points)
        log_q = log_mixture(joint, np.bincount(own, minlength=len(drawn)) / size)
        log_r = log_mixture(joint[:, -SCOUTS:], np.full(SCOUTS, 1 / SCOUTS))
        return cls(points, np.exp(log_standard_normal(points) - log_q), np.exp(log_r - log_q))


def aimed(
    surrogate: Surrogate, mixture: Frozen, rng: Callable[[], np.random.Generator], *, last: bool
) -> Frozen:
    """Return a mixture that is fitted to p sqrt(m), from wider targets to this one.

    Each pass takes a generator. A rough fit will do but for the `last` one: its components are
    shown as the modes.
    """
    from scipy.special import log_ndtr

    d = mixture.mixture.means.shape[1]
    for _ in range(_PASSES):
        numbers = rng()
        seen = Population.drawn(mixture, POINTS, numbers)
        h, s = surrogate.predict(seen.points)
        with np.errstate(divide="ignore"):
            log_w = np.log(seen.weights) + 0.5 * log_ndtr(-h / s)
        power = _tempered(log_w, 25.0 + 5.0 * d)
        best = np.argsort(-log_w, kind="stable")[:_FITTED_POINTS]
        x, log_w = seen.points[best], power * log_w[best]
        if last and power == 1:
            fits = fitted(x, log_w, numbers)
        else:
            fits = parted(x, normalised(log_w), _ROUGH, numbers)
        mixture = _mixture(fits, d)
        if power == 1:
            break
    return mixture


def _mixture(fits: Mixture, d: int) -> Frozen:
    """Return fitted components, their twins of width 1, and scouts."""
    twins = replace(Mixture.around(fits.means, np.ones(len(fits))), shares=fits.shares)
    return Frozen(fits.joined(twins, _TWINS).joined(scouts(d), 1 - _FITTED), len(fits))


def _tempered(log_w: Floats, enough: float) -> float:
    """Return the largest power up to 1 that leaves enough effective points."""
    if effective_size_of_logs(log_w) >= enough:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if effective_size_of_logs(middle * log_w) >= enough else (low, middle)
        )
    return low
