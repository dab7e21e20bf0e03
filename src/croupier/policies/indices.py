"""The formulas of the policies, elementwise: numpy evaluates them on a live run."""

from __future__ import annotations

import numpy as np

from croupier.draws import Floats

__all__ = ["log_variance_bound", "shared_mean_guard", "variance_draw"]

#: The guard needs few sweeps, because few arms are raised by it; more change nothing visible.
_SWEEPS = 4


def variance_draw(variance: Floats, df: Floats, chi2: Floats) -> Floats:
    """Return a draw of the variance's posterior: df s2 / chi2_df, the scaled inverse chi-square.

    Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.2, with the effective df.
    """
    return df * variance / chi2


def log_variance_bound(variance: Floats, df: Floats, total: float) -> Floats:
    """Return a lower confidence bound: s2 exp(-z sqrt(2/df)), z = sqrt(log(t)/2)."""
    z = np.sqrt(np.log(total) / 2)
    return np.asarray(variance * np.exp(-z * np.sqrt(2 / df)))


def shared_mean_guard(
    count: Floats, mean: Floats, variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Raise the variance of an arm whose mean disagrees with those of more variable arms.

    All arms share one mean, so an arm that claims a small variance must agree with those that
    claim larger ones. Visiting arms in descending variance, with A = sum n/V and M = sum n x/V
    over those visited: D = |x - M/A| - 2/sqrt(A), V = max(s2, n max(D, 0)^2/4).

    Arrays are (K, d), all variances above 0 or the arm left out (0). Returns V, and the
    precision A and mean M/A of all arms that vary, per component.
    """
    if not variance.any():
        nothing = np.zeros(variance.shape[1])
        return variance, nothing, nothing
    order = np.argsort(-variance, axis=0, kind="stable")
    column = np.arange(variance.shape[1])
    n, x, s2 = count[order], mean[order, column], variance[order, column]
    varies = s2 > 0
    v = s2
    for _ in range(_SWEEPS):
        w = np.divide(n, v, out=np.zeros_like(v), where=varies)
        a, m = np.cumsum(w, axis=0), np.cumsum(w * x, axis=0)
        # An arm is compared with those visited before it; the first has nobody to agree with.
        before, centre = a[:-1], m[:-1] / a[:-1]
        d = np.abs(x[1:] - centre) - 2 / np.sqrt(before)
        raised = np.maximum(s2[1:], n[1:] * np.square(np.maximum(d, 0.0)) / 4)
        new = np.concatenate((s2[:1], np.where(varies[1:], raised, 0.0)))
        if (new == v).all():
            break
        v = new
    guarded = np.empty_like(v)
    guarded[order, column] = v
    return guarded, a[-1], m[-1] / a[-1]
