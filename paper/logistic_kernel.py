"""Annealed importance sampling of the logistic model, compiled: slice sampling by coordinates.

The linear predictor is kept from move to move: along one coordinate it changes by delta times a
column. log(1 + e^-z) is max(-z, 0) + log(1 + e^-|z|), so that the terms under the logarithm lie in
(1, 2] and their product, of up to 1000 rows, needs one logarithm.

Slice sampling asks whether the likelihood at a point is above a level, and bounds mostly tell. The
log-likelihood l is concave and its second derivative along a column c is at least -sum c_i^2/4:
l + delta l' - delta^2 sum c_i^2/8 <= l(delta) <= l + delta l'. Where these leave it open, the sum
of min(z_i, 0) is next, and then the likelihood itself: what is decided is the same. An evaluation
is a question asked, however it was answered.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import compiled
from croupier.simulator.randomness import exponential, normal, uniform

__all__ = ["LANES", "anneal", "anneal_plainly", "ladder"]

#: Rows are filled up to a multiple of this, for whole vectors.
LANES: Final = 4

#: A row that is only there to fill up: its term is 1 wherever theta goes.
FILLED: Final = 1e6

_LN2: Final = math.log(2)
_PER_LN2: Final = 1 / _LN2
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11 = (1 / math.factorial(k) for k in range(2, 12))


def _vectorised(function: Any) -> Any:
    """Compile with sums and products taken in any order, as vector units take them."""
    return compiled(function, fastmath={"reassoc", "nsz", "contract"})


@compiled
def ladder(temperatures: int) -> Any:
    """Return beta = ((0..n-1)/(n-1))^4."""
    return (np.arange(temperatures) / (temperatures - 1)) ** 4


@_vectorised
def _softened(x: float) -> float:
    """Return e^-|x|.

    e^-t = 2^-k e^r, r = k log 2 - t within (log 2)/2 of 0, by Taylor's polynomial: 6e-15 off.
    """
    t = min(abs(x), 700.0)
    k = np.int32(t * _PER_LN2 + 0.5)
    r = k * _LN2 - t
    r2 = r * r
    r4 = r2 * r2
    low = (1 + r) + r2 * (_C2 + _C3 * r) + r4 * ((_C4 + _C5 * r) + r2 * (_C6 + _C7 * r))
    high = (_C8 + _C9 * r) + r2 * (_C10 + _C11 * r)
    power = np.int64((np.int64(1023) - np.int64(k)) << 52).view(np.float64)
    return power * (low + r4 * r4 * high)


@_vectorised
def _likelihood(z: Any, column: Any, delta: float) -> float:
    """Return the log-likelihood at a step along a column."""
    linear = 0.0
    product = 1.0
    for i in range(len(z)):
        x = z[i] + delta * column[i]
        linear += min(x, 0.0)
        product *= 1 + _softened(x)
    return linear - math.log(product)


@_vectorised
def _linear(z: Any, column: Any, delta: float) -> float:
    """Return sum_i min(z_i, 0) at a step: the log-likelihood and at most log 2 a row more."""
    linear = 0.0
    for i in range(len(z)):
        linear += min(z[i] + delta * column[i], 0.0)
    return linear


@_vectorised
def _step(z: Any, column: Any, delta: float, following: Any) -> tuple[float, float]:
    """Go a step; return the log-likelihood there, and its slope along the column that follows."""
    linear = 0.0
    product = 1.0
    slope = 0.0
    for i in range(len(z)):
        x = z[i] + delta * column[i]
        z[i] = x
        linear += min(x, 0.0)
        e = _softened(x)
        product *= 1 + e
        slope += following[i] * ((e if x > 0 else 1.0) / (1 + e))
    return linear - math.log(product), slope


@compiled
def _gains(z: Any, column: Any, delta: float, start: float, least: float, logarithm: float) -> bool:
    """Is the log-likelihood at a step above `start`, where it is now, by more than `least`?"""
    linear = _linear(z, column, delta) - start
    if linear <= least:
        return False
    if linear - logarithm > least:
        return True
    return _likelihood(z, column, delta) - start > least


@compiled
def _surely(gain: float, bend: float, least: float) -> int:
    """Is a gain between `gain - bend` and `gain` above the least? 1 is yes, -1 no, 0 open."""
    if gain <= least:
        return -1
    return 1 if gain - bend > least else 0


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
    theta, z, bends = np.empty(dimension), np.empty(len(filled)), np.empty(dimension)
    for k in range(dimension):
        bends[k] = (columns[k] * columns[k]).sum() / 8
    q = 1 / (2 * variance)
    logarithm = (filled == 0).sum() * _LN2  # of the product, at most
    for draw in range(len(out)):
        stream = s[draw]
        z[:] = filled
        start = slope = 0.0
        for k in range(dimension):
            theta[k] = math.sqrt(variance) * normal(stream)
            start, slope = _step(z, columns[k], theta[k], columns[0])
        evaluations = 1
        log_weight = (betas[1] - betas[0]) * start
        for j in range(1, len(betas) - 1):
            beta = betas[j]
            for k in range(dimension):
                column, x = columns[k], theta[k]
                # From here, the log-likelihood is below its tangent, by bend delta^2 at most.
                tangent, bend = beta * slope, beta * bends[k]
                depth = exponential(stream)
                low = -width * uniform(stream)
                high = low + width
                while True:
                    evaluations += 1
                    least = q * low * (2 * x + low) - depth
                    sure = _surely(tangent * low, bend * low * low, least)
                    if sure < 0:
                        break
                    if not (sure or _gains(z, column, low, start, least / beta, logarithm)):
                        break
                    low -= width
                while True:
                    evaluations += 1
                    least = q * high * (2 * x + high) - depth
                    sure = _surely(tangent * high, bend * high * high, least)
                    if sure < 0:
                        break
                    if not (sure or _gains(z, column, high, start, least / beta, logarithm)):
                        break
                    high += width
                while True:
                    delta = low + (high - low) * uniform(stream)
                    evaluations += 1
                    least = q * delta * (2 * x + delta) - depth
                    sure = _surely(tangent * delta, bend * delta * delta, least)
                    if sure > 0 or delta == 0:
                        break
                    if sure == 0 and _gains(z, column, delta, start, least / beta, logarithm):
                        break
                    if delta < 0:
                        low = delta
                    else:
                        high = delta
                theta[k] = x + delta
                following = columns[k + 1 if k + 1 < dimension else 0]
                start, slope = _step(z, column, delta, following)
            log_weight += (betas[j + 1] - beta) * start
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
