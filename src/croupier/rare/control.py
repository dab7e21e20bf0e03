"""Control: the difference estimator of an epoch, with a surrogate as control variate.

The estimate is the mean of w (1{g < 0} - m) over fresh draws, plus the mean of w m over many draws
that need no call of g (the difference estimator; Cassel, Sarndal and Wretman, Biometrika 63,
1976). The surrogate m is fixed before the fresh draws are made, so the estimate is unbiased.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.central_moments import effective_df
from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal
from croupier.distributions.weights import log_mixture
from croupier.rare.components import Frozen, dealt
from croupier.rare.search import Search
from croupier.rare.surrogate import Surrogate, Training, surrogate_of

__all__ = ["LEAST_DF", "Control", "Controlled", "control_of", "df_of", "within_components"]

#: Draws that need no call of g.
_FREE: Final = 8192

#: The variance never counts as smaller than this share of the one without a surrogate: residuals
#: are rare, and a few fresh draws may have seen none of them.
_LEAST_LEFT: Final = 0.25

#: A surrogate needs so many effective failing draws in the search.
_FAILURES: Final = 30.0

#: With a control, a tolerance stops a run at this many effective degrees of freedom.
LEAST_DF: Final = 10.0


class Controlled(NamedTuple):
    """The estimate, its variance and its effective degrees of freedom."""

    mean: float
    variance: float
    df: float


class Control(NamedTuple):
    """A surrogate, the mean of w m over the free draws, the variance of w m, and its df."""

    surrogate: Surrogate
    mean: float
    spread: float
    df: float

    def estimate(
        self, chance: Floats, weight: Floats, fails: NDArray[np.bool_], own: NDArray[np.int64]
    ) -> Controlled:
        """Return the estimate from fresh draws with weights w (n,) and chances m (n,) to fail.

        The variance is the larger one of what the fresh draws and the draws of the search say
        about the residuals, and on top a quarter of the variance without a surrogate. The degrees
        of freedom are those of a sum (Satterthwaite, Biometrics Bulletin 2, 1946).
        """
        n = len(chance)
        u = weight * (fails - chance)
        left = within_components(u[:, None], own)[:, 0]
        seen = float(left @ left) / max(n - len(np.unique(own)), 1)
        rest = max(seen, self.surrogate.left * self.spread)
        floor = _LEAST_LEFT * self.spread
        df = (rest + floor) ** 2 / (
            rest**2 / (df_of(left) + self.surrogate.effective) + floor**2 / self.df
        )
        variance = (rest + floor) / n + self.spread / _FREE
        return Controlled(float(u.mean()) + self.mean, variance, df)


def control_of(search: Search, mixture: Frozen, rng: np.random.Generator) -> Control | None:
    """Return the control of an epoch from everything that the search has evaluated, if it is good.

    It is for one limit state whose failing draws are known to the search.
    """
    if search.events.shape[1] > 1 or not mixture.modes or search.effective_failures < _FAILURES:
        return None
    log_w = search.log_weight
    log_p, log_q = log_standard_normal(search.x), mixture.mixture.log_density(search.x)
    more, more_g = search.more
    training = Training(
        search.x,
        search.events[:, 0],
        np.exp(log_p - log_q + log_w),
        np.exp(log_q - log_p + log_w),
        more,
        more_g,
    )
    fitted = 2 * mixture.modes
    points = np.concatenate((search.x, more))
    densities = mixture.mixture.component_log_densities(points)[:, :fitted]
    surrogate = surrogate_of(training, log_mixture(densities, mixture.shares[:fitted]))
    return None if surrogate is None else _with_free_draws(surrogate, mixture, rng)


def _with_free_draws(
    surrogate: Surrogate, mixture: Frozen, rng: np.random.Generator
) -> Control | None:
    own = dealt(mixture.shares, _FREE)
    law = mixture.mixture
    z = law.placed(law.noise(rng, _FREE), own)
    counts = np.bincount(own, minlength=len(law))
    log_q = log_mixture(law.component_log_densities(z), counts / _FREE)
    y = np.exp(log_standard_normal(z) - log_q) * surrogate.chance(z)
    left = within_components(y[:, None], own)[:, 0]
    spread = float(left @ left) / (_FREE - len(np.unique(own)))
    mean = float(y.mean())
    return Control(surrogate, mean, spread, df_of(left)) if mean > 0 and spread > 0 else None


def within_components(y: Floats, own: NDArray[np.int64]) -> Floats:
    """Return the distances of draws (n, e) from the mean of their own component."""
    left: Floats = y - y.mean(axis=0)
    for k in np.unique(own):
        mine = own == k
        if np.count_nonzero(mine) > 1:
            left[mine] = y[mine] - y[mine].mean(axis=0)
    return left


def df_of(u: Floats) -> float:
    """Return the effective degrees of freedom of the variance of draws (n,), at least 1."""
    away = u - u.mean()
    size = float(np.abs(away).max()) if len(u) > 1 else 0.0
    if not size > 0:
        return 1.0
    # In units of the largest: the fourth power of a small number would underflow.
    away = away / size
    m2, m4 = float(np.square(away).sum()), float(np.square(np.square(away)).sum())
    return max(float(effective_df(len(u), m2, m4)), 1.0)
