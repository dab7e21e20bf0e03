"""Skewed ends: the interval of arms whose draws are about lognormal, such as splitting.

A replication of splitting is a product of many survival fractions. Its mean is skewed, too: the
symmetric interval of 20 replications ends too low.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.data.central_moments import FEW
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.estimates.combiners import Pooled
from croupier.estimates.intervals import Interval

__all__ = ["LOGNORMAL", "least_df", "skewed_ends"]

#: The setting of a plan with the names of the arms whose draws are about lognormal.
LOGNORMAL: Final = "lognormal"


#: With fewer effective degrees of freedom, skewed ends do not cover either if draws come in groups.
_FEW_REPLICATIONS: Final = 10.0


def least_df(plan: Plan, pooled: Pooled) -> float:
    """Return the effective degrees of freedom below which an error bar deserves a warning."""
    arms = _lognormal(plan)
    skewed = arms and bool((pooled.weights[arms].sum(axis=0) >= 0.5).all())
    return _FEW_REPLICATIONS if skewed else FEW


def _lognormal(plan: Plan) -> list[int]:
    """Return the arms whose draws are about lognormal."""
    return [plan.index[name] for name in plan.settings.get(LOGNORMAL, ())]


def skewed_ends(
    plan: Plan, ledger: Ledger, pooled: Pooled, interval: Interval, confidence: float
) -> tuple[Floats, Floats] | None:
    """Return both ends relative to the estimate, 1 where nothing is known; None without such arms.

    Lognormal draws with the coefficient of variation c have the skewness c (3 + c^2). So the
    estimate has the skewness g = sum w_k^3 s_k^3 c_k (3 + c_k^2)/n_k^2 / q^(3/2), and by the
    expansion of Student's t (Hall, The Bootstrap and Edgeworth Expansion, 1992, section 2.6) both
    ends of its interval move up by g (2 z^2 + 1)/6 standard errors. On the scale of logs, with
    r = sqrt(q)/estimate, the ends are -+z r + r g (2 z^2 + 1)/6 - z^2 r^2/2. The low end stays at
    -z r, because the shift is not reliable where it shortens the interval.
    """
    arms = _lognormal(plan)
    if not arms:
        return None
    scale, seen = ledger.scale, ledger.for_estimate
    value = scale.value_of(pooled.mean)
    known = pooled.varies & (value > 0)
    value = np.where(known, value, 1.0)
    r = np.where(known, scale.spread_of(np.sqrt(pooled.variance)) / value, 0.0)
    n = np.maximum(seen.count[arms], 1)[:, None]
    c = scale.spread_of(np.sqrt(seen.sample_variance[arms])) / value
    third = (pooled.weights[arms] ** 3 * c**4 * (3 + c * c) / n**2).sum(axis=0)
    m = interval.multiplier(pooled, confidence)
    z = interval.multiplier(pooled._replace(df=np.full_like(pooled.df, np.inf)), confidence)
    g = np.divide(third, r**3, out=np.zeros_like(r), where=r > 0)
    with np.errstate(over="ignore", invalid="ignore"):  # before an anytime interval has begun
        shift = np.maximum(r * g * (2 * z * z + 1) / 6 - z * z * r * r / 2, 0.0)
        return np.exp(-m * r), np.exp(m * r + shift)
