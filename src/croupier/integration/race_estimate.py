"""The estimate of a race: that of the runner that leads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from croupier.estimates.combiners import Pooled
from croupier.integration.runner import Runner
from croupier.integration.standing import Standing

__all__ = ["nothing_known", "pooled_of"]


def pooled_of(
    names: Sequence[str], runners: Sequence[Runner], standing: Standing | None, draws: float
) -> Pooled:
    """Return the leader's estimate; before a stage is complete, that of its complete nets.

    If the variance was made larger than the nets say, the covariance gets the difference on its
    diagonal.
    """
    runner = runners[0] if standing is None else standing.leader
    means = runner.incomplete() if standing is None else runner.means
    mean, nets = means.mean(axis=0), len(means)
    away = (means - mean) / np.sqrt(nets * max(nets - 1, 1))
    covariance, df = away.T @ away, max(nets - 1.0, 1.0)
    variance = np.diag(covariance).copy()
    varies = variance > 0
    if standing is not None:
        mean, variance = runner.mean, standing.variance
        df, varies = runner.error.df, runner.varies
        covariance = runner.error.covariance
        covariance = covariance + np.diag(np.maximum(variance - np.diag(covariance), 0.0))
    weights = np.zeros((len(names), len(mean)))
    weights[names.index(runner.family)] = 1.0
    return Pooled(
        mean=mean,
        variance=variance,
        df=np.full(len(mean), df),
        varies=varies,
        weights=weights,
        draws=draws,
        covariance=covariance if nets > 1 else None,
    )


def nothing_known(names: Sequence[str], components: int, draws: float) -> Pooled:
    """Return the estimate of a run whose draws were too few for a net."""
    weights = np.zeros((len(names), components))
    weights[0] = 1.0
    no = np.zeros(components)
    return Pooled(no + np.nan, no, no + 1, no > 1, weights, draws)
