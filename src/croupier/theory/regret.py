"""Regret: what an allocation has lost to the best arm, from its counts.

"The paper" is that of the package: Neufeld et al. (ICML 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.theory.arrays import at_least_zero

__all__ = ["cost_regret", "mse_regret", "normalised_mse", "regret_from_counts", "renewal_bounds"]


def mse_regret(mse: ArrayLike, variances: ArrayLike, draws: ArrayLike) -> Floats:
    """Return the MSE-regret n^2 (MSE - V*/n) of an estimate from n draws, V* the least variance.

    >>> float(mse_regret(0.011, variances=[1.0, 4.0], draws=100))  # the best arm alone: 0.01
    10.0
    """
    v = at_least_zero("variances", variances).min()
    mse, n = at_least_zero("mse", mse), at_least_zero("draws", draws)
    return np.asarray(n * (n * mse - v))


def regret_from_counts(counts: ArrayLike, variances: ArrayLike) -> Floats:
    """Return sum_k T_k (V_k - V*), whose expectation is the MSE-regret of the plain mean.

    The regret identity (paper, Theorem 1), per run: `counts` are the draws of each arm along the
    last axis. The mean over runs has far less noise than one made of squared errors.

    >>> float(regret_from_counts([90, 10], variances=[1.0, 4.0]))
    30.0
    """
    t, v = _counts(counts, variances)
    return np.asarray((t * (v - v.min())).sum(axis=-1))


def normalised_mse(counts: ArrayLike, variances: ArrayLike) -> Floats:
    """Return n times the MSE of the plain mean, from counts: sum_k T_k V_k / n, per run.

    >>> float(normalised_mse([90, 10], variances=[1.0, 4.0]))
    1.3
    """
    t, v = _counts(counts, variances)
    return np.asarray((t * v).sum(axis=-1) / _drawn(t))


def cost_regret(budget: float, counts: ArrayLike, variances: ArrayLike, costs: ArrayLike) -> Floats:
    """Return t^2 sum_k T_k V_k / N^2 - t min_k delta_k V_k: the regret at a budget t, per run.

    `counts` are the draws that were finished when t was spent, N their sum, `costs` the mean
    costs per draw delta_k. The mean over runs estimates R(A, t) = t^2 (L(A, t) - min_k L_k(t))
    of the paper's section 4, with L_k(t) ~ delta_k V_k / t. It is exact where N is fixed, as with
    equal costs (then it is `regret_from_counts`), and where neither N nor the choices depend on
    the values; elsewhere, and where costs go with values, an approximation.

    >>> float(cost_regret(100, [40, 10], variances=[1.0, 4.0], costs=[2.0, 2.0]))
    120.0
    """
    t = positive("budget", budget)
    pulls, v = _counts(counts, variances)
    delta = at_least_zero("costs", costs)
    if delta.shape != v.shape or not delta.all():
        raise PlanError(f"costs must be above 0, one for each of {v.size} arms, got {costs!r}")
    n = _drawn(pulls)
    return np.asarray(t * (t * (pulls * v).sum(axis=-1) / n / n - (delta * v).min()))


def renewal_bounds(
    budget: ArrayLike, cost_per_draw: ArrayLike, cap: ArrayLike, above: ArrayLike
) -> tuple[Floats, Floats]:
    """Return t/delta and (t + b)/(delta - E[D 1{D > b}]): bounds on E N(t), elementwise.

    N(t) counts an arm's draws up to the one under way when t is spent, which is one more than
    those finished. `cap` is any b with P(D <= b) > 0, `above` is E[D 1{D > b}], the part of the
    mean cost due to costs beyond it (paper, appendix C). For costs that never exceed b it is 0.

    >>> low, high = renewal_bounds(1000, cost_per_draw=1.0, cap=2.0, above=0.0)
    >>> float(low), float(high)
    (1000.0, 1002.0)
    """
    t, b = at_least_zero("budget", budget), at_least_zero("cap", cap)
    delta, tail = at_least_zero("cost_per_draw", cost_per_draw), at_least_zero("above", above)
    if not (tail < delta).all():
        raise PlanError(
            f"above must be less than cost_per_draw, got {above!r} and {cost_per_draw!r}: "
            "raise the cap until some costs are below it"
        )
    return t / delta, (t + b) / (delta - tail)


def _counts(counts: ArrayLike, variances: ArrayLike) -> tuple[Floats, Floats]:
    t, v = at_least_zero("counts", counts), at_least_zero("variances", variances)
    if v.ndim != 1 or t.ndim == 0 or t.shape[-1] != v.size:
        raise PlanError(
            f"variances and the last axis of counts must have one entry per arm, "
            f"got the shapes {v.shape} and {t.shape}"
        )
    return t, v


def _drawn(counts: Floats) -> Floats:
    n = counts.sum(axis=-1)
    if not n.all():
        raise PlanError(
            "counts must have at least one draw in every run: a run without one has no mean; "
            "give it more, or leave it out"
        )
    return np.asarray(n)
