"""Regret: what an allocation has lost to the best arm, from its counts or from its errors.

"The paper" is that of the package: Neufeld et al. (ICML 2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.theory.arrays import array_of, at_least_zero

__all__ = [
    "DefinedRegret",
    "cost_regret",
    "deadline_means",
    "mse_regret",
    "normalised_mse",
    "regret_from_counts",
    "regret_from_errors",
]


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
    of the paper's section 5, with L_k(t) ~ delta_k V_k / t. It is exact where N is fixed, as with
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


class DefinedRegret(NamedTuple):
    """The regret R(A, t) by its definition, its standard error, and the arm that was best alone."""

    regret: Floats
    stderr: Floats
    best: NDArray[np.intp]


def regret_from_errors(
    budgets: ArrayLike, estimates: ArrayLike, alone: ArrayLike, mean: ArrayLike
) -> DefinedRegret:
    """Return R(A, t) = t^2 (L(A, t) - min_k L_k(t)) from squared errors: the paper's section 5.

    Args:
        budgets: The budgets t.
        estimates: The estimates of an allocation at these budgets, of shape (runs, budgets).
        alone: The estimates of each arm alone, of shape (arms, runs, budgets), from runs that are
            independent of the others. `deadline_means` makes them from draws and costs.
        mean: The quantity that is estimated: known, or from a run that is much longer.

    L is the mean squared error over the runs. This makes no assumption on costs: it is right also
    where costs depend on values. The price is noise: with 1000 runs a mean squared error is known
    to 4 or 5 %. `cost_regret` has less noise and assumes more.
    The minimum over the arms of noisy errors is a little too small, so the regret is a little too
    large.

    >>> found = regret_from_errors([10.0], [[1.3], [0.9]], [[[1.1], [0.8]], [[2.0], [0.0]]], mean=1)
    >>> found.regret.round(3), found.best
    (array([2.5]), array([0]))
    """
    t = at_least_zero("budgets", budgets)
    mu = array_of("mean", mean)
    ours, each = array_of("estimates", estimates), array_of("alone", alone)
    if ours.ndim != 2 or each.ndim != 3 or not t.shape == ours.shape[1:] == each.shape[2:]:
        raise PlanError(
            "estimates must have the shape (runs, budgets) and alone the shape (arms, runs, "
            f"budgets), got the shapes {ours.shape} and {each.shape} and {t.size} budgets"
        )
    if min(len(ours), each.shape[1]) < 2:
        raise PlanError("regret from errors needs at least two runs")
    for name, values in (("estimates", ours), ("alone", each), ("mean", mu)):
        if not np.isfinite(values).all():
            raise PlanError(
                f"{name} must be finite: give what is known before the first outcome as default=, "
                "in history.at and in deadline_means"
            )
    squared, squares = np.square(ours - mu), np.square(each - mu)
    losses = squares.mean(axis=1)
    best = losses.argmin(axis=0)
    columns = np.arange(len(t))
    noise = squared.var(axis=0, ddof=1) / len(ours)
    noise += squares.var(axis=1, ddof=1)[best, columns] / each.shape[1]
    regret = t * t * (squared.mean(axis=0) - losses[best, columns])
    return DefinedRegret(regret, t * t * np.sqrt(noise), best)


def deadline_means(
    values: ArrayLike, costs: ArrayLike, budgets: ArrayLike, *, default: float
) -> Floats:
    """Return muhat(t), the mean of the draws that are finished by t, for every run and budget.

    `values` and `costs` have the shape (runs, draws), in the order of drawing. `default` is the
    paper's muhat_0, what is known before the first draw is finished. The draws of a run must
    last until the largest budget.

    >>> deadline_means([[1.0, 3.0, 8.0]], [[2.0, 2.0, 2.0]], [1.0, 4.5, 5.9], default=0.0)
    array([[0., 2., 2.]])
    """
    x, d, t = (
        array_of("values", values),
        at_least_zero("costs", costs),
        array_of("budgets", budgets),
    )
    if x.ndim != 2 or x.shape != d.shape or t.ndim != 1 or not t.size:
        raise PlanError(
            f"values and costs must have the shape (runs, draws), got {x.shape} and {d.shape}, "
            f"and budgets must be a row, got the shape {t.shape}"
        )
    spent, sums = d.cumsum(axis=1), x.cumsum(axis=1)
    short = spent[:, -1] < t.max()
    if short.any():
        raise PlanError(
            f"the draws of run {int(short.argmax())} cost {spent[short.argmax(), -1]:g} in all and "
            f"do not last until the budget {t.max():g}: make more draws"
        )
    means = np.full((len(x), len(t)), float(default))
    for run, row in enumerate(spent):
        finished = np.searchsorted(row, t, side="right")
        some = finished > 0
        means[run, some] = sums[run, finished[some] - 1] / finished[some]
    return means


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
