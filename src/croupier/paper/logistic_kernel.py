"""Annealed importance sampling of the logistic model, compiled: slice sampling by coordinates.

The linear predictor is kept from move to move: along one coordinate it changes by delta times a
column. log(1 + e^-z) is max(-z, 0) + log(1 + e^-|z|), so that the terms under the logarithm lie in
(1, 2] and their product, of up to 1000 rows, needs one logarithm; most comparisons need none.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numba import njit

from croupier.simulator.compiling import compiled
from croupier.simulator.randomness import exponential, normal, uniform

__all__ = ["LANES", "anneal", "anneal_plainly", "ladder"]

#: Rows are filled up to a multiple of this, for whole vectors.
LANES: Final = 8

#: A row that is only there to fill up: its term is 1 wherever theta goes.
FILLED: Final = 1e6

_LN2: Final = math.log(2)
_PER_LN2: Final = 1 / _LN2
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11 = (1 / math.factorial(k) for k in range(2, 12))

#: log2(1 + f) is between f and f + 0.08608 for a fraction f.
_ROUGH: Final = 0.08608 * _LN2


def _vectorised(function: Any) -> Any:
    """Compile with sums and products taken in any order, as vector units take them."""
    flags = {"reassoc", "nsz", "contract"}
    return njit(cache=True, nogil=True, error_model="numpy", fastmath=flags)(function)


@compiled
def ladder(temperatures: int) -> Any:
    """Return beta = ((0..n-1)/(n-1))^4."""
    return (np.arange(temperatures) / (temperatures - 1)) ** 4


@_vectorised
def _likelihood(z: Any, column: Any, delta: float) -> tuple[float, float]:
    """Return (a, b) of log-likelihood a - log(b) at a step along a column.

    e^-t = 2^-k e^r, r = k log 2 - t within (log 2)/2 of 0, by Taylor's polynomial: 6e-15 off.
    """
    linear = 0.0
    product = 1.0
    for i in range(len(z)):
        x = z[i] + delta * column[i]
        linear += min(x, 0.0)
        t = min(abs(x), 700.0)
        k = np.int32(t * _PER_LN2 + 0.5)
        r = k * _LN2 - t
        r2 = r * r
        r4 = r2 * r2
        low = (1 + r) + r2 * (_C2 + _C3 * r) + r4 * ((_C4 + _C5 * r) + r2 * (_C6 + _C7 * r))
        high = (_C8 + _C9 * r) + r2 * (_C10 + _C11 * r)
        power = np.int64((np.int64(1023) - np.int64(k)) << 52).view(np.float64)
        product *= 1 + power * (low + r4 * r4 * high)
    return linear, product


@compiled
def _log(parts: tuple[float, float]) -> float:
    return parts[0] - math.log(parts[1])


@compiled
def _above(beta: float, parts: tuple[float, float], level: float) -> bool:
    """Is beta times the log-likelihood above a level? Rough bounds on the logarithm come first."""
    linear, product = parts
    # The bits of a double, read as a number, are its logarithm with straight lines between powers.
    rough = linear - _LN2 * (np.float64(product).view(np.int64) * 2.0**-52 - 1023)
    if beta * rough <= level:
        return False
    if beta * (rough - _ROUGH) > level:
        return True
    return beta * _log(parts) > level


@_vectorised
def _step(z: Any, column: Any, delta: float) -> None:
    for i in range(len(z)):
        z[i] += delta * column[i]


@compiled
def anneal(
    s: Any, columns: Any, filled: Any, betas: Any, variance: float, width: float, out: Any
) -> None:
    """Draw log-weights, one per stream of `s`; `out` takes them and the likelihood evaluations.

    log w = sum_j (beta_j+1 - beta_j) log lik(theta_j), theta_0 from the prior N(0, variance),
    theta_j from theta_j-1 by one sweep of slice sampling at beta_j: stepping out by `width`, then
    shrinking (Neal 2003, figures 3 and 5). `columns` has a row per coordinate: features times
    the sign of the class. `filled` is where the linear predictor starts.
    """
    dimension = len(columns)
    theta, z = np.empty(dimension), np.empty(len(filled))
    q = 1 / (2 * variance)
    for draw in range(len(out)):
        stream = s[draw]
        z[:] = filled
        for k in range(dimension):
            theta[k] = math.sqrt(variance) * normal(stream)
            _step(z, columns[k], theta[k])
        log_likelihood = _log(_likelihood(z, columns[0], 0.0))
        evaluations = 1
        log_weight = (betas[1] - betas[0]) * log_likelihood
        for j in range(1, len(betas) - 1):
            beta = betas[j]
            for k in range(dimension):
                column, x = columns[k], theta[k]
                level = beta * log_likelihood - q * x * x - exponential(stream)
                low = -width * uniform(stream)
                high = low + width
                # Both ends before either is judged: the processor works on them at once.
                left, right = _likelihood(z, column, low), _likelihood(z, column, high)
                evaluations += 2
                while _above(beta, left, level + q * (x + low) ** 2):
                    low -= width
                    left = _likelihood(z, column, low)
                    evaluations += 1
                while _above(beta, right, level + q * (x + high) ** 2):
                    high += width
                    right = _likelihood(z, column, high)
                    evaluations += 1
                while True:
                    delta = low + (high - low) * uniform(stream)
                    new = _likelihood(z, column, delta)
                    evaluations += 1
                    if delta == 0 or _above(beta, new, level + q * (x + delta) ** 2):
                        break
                    if delta < 0:
                        low = delta
                    else:
                        high = delta
                log_likelihood = _log(new)
                theta[k] = x + delta
                _step(z, column, delta)
            log_weight += (betas[j + 1] - beta) * log_likelihood
        out[draw, 0] = log_weight
        out[draw, 1] = evaluations


@compiled
def _plain_likelihood(columns: Any, theta: Any, rows: int) -> float:
    total = 0.0
    for i in range(rows):
        z = 0.0
        for k in range(len(theta)):
            z += columns[k, i] * theta[k]
        total -= math.log1p(math.exp(-abs(z))) + max(-z, 0.0)
    return total


@compiled
def anneal_plainly(
    s: Any, columns: Any, rows: int, betas: Any, variance: float, width: float, out: Any
) -> None:
    """Do what `anneal` does the straightforward way: the measure of its numbers and its speed."""
    theta = np.empty(len(columns))
    q = 1 / (2 * variance)
    for draw in range(len(out)):
        stream = s[draw]
        for k in range(len(theta)):
            theta[k] = math.sqrt(variance) * normal(stream)
        log_likelihood = _plain_likelihood(columns, theta, rows)
        evaluations = 1
        log_weight = (betas[1] - betas[0]) * log_likelihood
        for j in range(1, len(betas) - 1):
            beta = betas[j]
            for k in range(len(theta)):
                x = theta[k]
                level = beta * log_likelihood - q * x * x - exponential(stream)
                low = x - width * uniform(stream)
                high = low + width
                for end in range(2):
                    while True:
                        theta[k] = high if end else low
                        new = _plain_likelihood(columns, theta, rows)
                        evaluations += 1
                        if beta * new - q * theta[k] ** 2 <= level:
                            break
                        if end:
                            high += width
                        else:
                            low -= width
                while True:
                    theta[k] = low + (high - low) * uniform(stream)
                    new = _plain_likelihood(columns, theta, rows)
                    evaluations += 1
                    if theta[k] == x or beta * new - q * theta[k] ** 2 > level:
                        break
                    if theta[k] < x:
                        low = theta[k]
                    else:
                        high = theta[k]
                log_likelihood = new
            log_weight += (betas[j + 1] - beta) * log_likelihood
        out[draw, 0] = log_weight
        out[draw, 1] = evaluations
