"""Slice sampling of whole chains in compiled code, if numba has compiled the log-likelihood.

A kernel contains the user's functions, so it is compiled at their first use, and it is not kept on
disk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from croupier.simulator.compiling import inlined as compiled

__all__ = ["annealing_of"]


@lru_cache(maxsize=64)
def annealing_of(log_likelihood: Any, logpdf: Any) -> Any:
    """Return annealing by slices for a likelihood and a prior of one point.

    `logpdf` is a function, or "normal" or "uniform" for our own distributions. The kernel returns
    log-weights, evaluations, and the first value that is not a log-density.
    """
    if logpdf == "normal":

        @compiled
        def log_prior(point, mean, spread):  # type: ignore[no-untyped-def]
            total = 0.0
            for i in range(len(point)):
                z = (point[i] - mean[i]) / spread[i]
                total -= 0.5 * z * z
            return total  # a slice does not need the constant

    elif logpdf == "uniform":

        @compiled
        def log_prior(point, low, high):  # type: ignore[no-untyped-def]
            for i in range(len(point)):
                if not low[i] <= point[i] <= high[i]:
                    return -np.inf
            return 0.0

    else:

        @compiled
        def log_prior(point, mean, spread):  # type: ignore[no-untyped-def]
            return logpdf(point)

    @compiled
    def density(point, beta, mean, spread, bad):  # type: ignore[no-untyped-def]
        prior = log_prior(point, mean, spread)
        if not prior < np.inf:
            bad[0] = prior
            bad[1] = 1.0
            return -np.inf, -np.inf, 0
        if prior == -np.inf:
            return -np.inf, -np.inf, 0
        likelihood = log_likelihood(point)
        if not likelihood < np.inf:
            bad[0] = likelihood
            bad[1] = 2.0
            return -np.inf, -np.inf, 1
        return prior + beta * likelihood, likelihood, 1

    @compiled
    def chains(rng, points, betas, width, limit, sweeps, mean, spread):  # type: ignore[no-untyped-def]
        m, d = points.shape
        weights = np.empty(m)
        evaluations = np.ones(m)
        bad = np.zeros(2)
        for c in range(m):
            point = points[c]
            likelihood = log_likelihood(point)
            if not likelihood < np.inf:
                bad[0] = likelihood
                bad[1] = 2.0
                return weights, evaluations, bad
            total = (betas[1] - betas[0]) * likelihood
            for j in range(1, len(betas) - 1):
                if total == -np.inf:
                    break
                beta = betas[j]
                here = log_prior(point, mean, spread) + beta * likelihood
                for _ in range(sweeps):
                    for i in range(d):
                        x, w = point[i], width[i]
                        level = here - rng.standard_exponential()
                        low = x - w * rng.random()
                        high = low + w
                        steps = int(limit * rng.random())
                        others = limit - 1 - steps
                        while steps > 0:
                            point[i] = low
                            there, _like, used = density(point, beta, mean, spread, bad)
                            evaluations[c] += used
                            if not there > level:
                                break
                            low -= w
                            steps -= 1
                        while others > 0:
                            point[i] = high
                            there, _like, used = density(point, beta, mean, spread, bad)
                            evaluations[c] += used
                            if not there > level:
                                break
                            high += w
                            others -= 1
                        while True:
                            proposed = low + rng.random() * (high - low)
                            point[i] = proposed
                            there, like, used = density(point, beta, mean, spread, bad)
                            evaluations[c] += used
                            if bad[1] > 0:
                                return weights, evaluations, bad
                            if there >= level:
                                here, likelihood = there, like
                                break
                            if proposed < x:
                                low = proposed
                            else:
                                high = proposed
                total += (betas[j + 1] - beta) * likelihood
            weights[c] = total
        return weights, evaluations, bad

    return chains
