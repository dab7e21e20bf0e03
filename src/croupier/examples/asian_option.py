"""The demo: an arithmetic Asian call, priced by arms that are hard to rank beforehand.

Under Black and Scholes the logarithm of the asset is a Brownian motion with drift, seen at
`FIXINGS` equal steps; the option pays max(mean of the fixings - STRIKE, 0). That price has no
closed form. The same option on the geometric mean has one (Kemna and Vorst, Journal of Banking
and Finance 14, 1990), which makes it a control variate. An arm here takes the increments of the
motion as standard normals, one row per path.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from croupier.data.draws import Floats
from croupier.results.result import Result
from croupier.running.estimate import estimate

__all__ = ["ARMS", "PRICE", "TITLE", "Alternative", "alternatives", "geometric_price", "price"]

SPOT: Final = 100.0
STRIKE: Final = 110.0
RATE: Final = 0.05
VOLATILITY: Final = 0.3
MATURITY: Final = 1.0
FIXINGS: Final = 50

TITLE: Final = (
    f"The price of an arithmetic Asian call: spot {SPOT:g}, strike {STRIKE:g}, {FIXINGS} fixings"
)

#: The price by numerical integration, one fixing at a time; the tests compute it again.
PRICE: Final = 4.183866

#: How far importance sampling moves the Brownian motion, over the whole interval [0, MATURITY].
DRIFT: Final = 1.0

#: The number of equally likely slices into which the stratified arm cuts the main direction.
SLICES: Final = 64

#: The stratified arm makes this many draws at a time, so that their paths fit into the cache.
_BLOCK: Final = 50

_STEP: Final = MATURITY / FIXINGS
_TIMES: Final[Floats] = np.linspace(_STEP, MATURITY, FIXINGS)
_DISCOUNT: Final = exp(-RATE * MATURITY)
_MEDIAN: Final[Floats] = log(SPOT) + (RATE - VOLATILITY**2 / 2) * _TIMES

#: The geometric mean depends only on this direction u of the increments: n, n-1, ..., 1.
_WEIGHTS: Final[Floats] = np.arange(FIXINGS, 0.0, -1.0)
_DIRECTION: Final[Floats] = _WEIGHTS / np.sqrt(_WEIGHTS @ _WEIGHTS)


def increments(rng: np.random.Generator, size: int) -> Floats:
    """Return z ~ N(0, 1), a row of independent increments for each path."""
    return rng.standard_normal((size, FIXINGS))


def log_path(z: Floats) -> Floats:
    """Return log S_i = log SPOT + (r - sigma^2/2) t_i + sigma sqrt(dt) (z_1 + ... + z_i)."""
    return _MEDIAN + VOLATILITY * sqrt(_STEP) * np.cumsum(z, axis=1)


def arithmetic(path: Floats) -> Floats:
    """Return the discounted payoff e^(-rT) max(mean S - K, 0); its mean is the price."""
    return np.asarray(_DISCOUNT * np.maximum(np.exp(path).mean(axis=1) - STRIKE, 0.0))


def geometric(path: Floats) -> Floats:
    """Return the discounted payoff on the geometric mean, e^(-rT) max(exp(mean log S) - K, 0)."""
    return np.asarray(_DISCOUNT * np.maximum(np.exp(path.mean(axis=1)) - STRIKE, 0.0))


def geometric_price() -> float:
    """Return E geometric = e^(-rT) (e^(m + v/2) Phi(d + sqrt v) - K Phi(d)).

    m and v are the mean and the variance of mean log S, which is normal; d = (m - log K)/sqrt v.
    """
    m = float(_MEDIAN.mean())
    v = VOLATILITY**2 * float(np.minimum.outer(_TIMES, _TIMES).mean())
    d = (m - log(STRIKE)) / sqrt(v)
    return _DISCOUNT * float(exp(m + v / 2) * ndtr(d + sqrt(v)) - STRIKE * ndtr(d))


_GEOMETRIC_PRICE: Final = geometric_price()


def likelihood_ratio(z: Floats) -> Floats:
    """Return the density of N(0, 1) at z divided by that of N(a, 1): exp(n a^2/2 - a sum z)."""
    a = DRIFT * sqrt(_STEP)
    return np.asarray(np.exp(FIXINGS * a * a / 2 - a * z.sum(axis=1)))


def naive(rng: np.random.Generator, size: int) -> Floats:
    """Arm: arithmetic(z)."""
    return arithmetic(log_path(increments(rng, size)))


def antithetic(rng: np.random.Generator, size: int) -> Floats:
    """Arm: (arithmetic(z) + arithmetic(-z))/2, two paths a draw."""
    z = increments(rng, size)
    return (arithmetic(log_path(z)) + arithmetic(log_path(-z))) / 2


def stratified(rng: np.random.Generator, size: int) -> Floats:
    """Arm: the mean of arithmetic(z) over one z in each slice of u·z, SLICES paths a draw."""
    sizes = [min(_BLOCK, size - start) for start in range(0, size, _BLOCK)]
    return np.concatenate([_stratified(rng, block) for block in sizes])


def _stratified(rng: np.random.Generator, size: int) -> Floats:
    z = increments(rng, size)
    rest = z - np.outer(z @ _DIRECTION, _DIRECTION)
    along = ndtri((np.arange(SLICES) + rng.random((size, SLICES))) / SLICES)
    paths = rest[:, None, :] + along[:, :, None] * _DIRECTION
    payoffs = arithmetic(log_path(paths.reshape(-1, FIXINGS)))
    return np.asarray(payoffs.reshape(size, SLICES).mean(axis=1))


def control_variate(rng: np.random.Generator, size: int) -> Floats:
    """Arm: arithmetic(z) - geometric(z) + E geometric; the fixed coefficient 1 is unbiased."""
    path = log_path(increments(rng, size))
    return arithmetic(path) - geometric(path) + _GEOMETRIC_PRICE


def importance(rng: np.random.Generator, size: int) -> Floats:
    """Arm: w(z) arithmetic(z), z ~ N(a, 1), towards paths that pay."""
    z = increments(rng, size) + DRIFT * sqrt(_STEP)
    return likelihood_ratio(z) * arithmetic(log_path(z))


def importance_and_control(rng: np.random.Generator, size: int) -> Floats:
    """Arm: w(z) (arithmetic(z) - geometric(z)) + E geometric, z ~ N(a, 1)."""
    z = increments(rng, size) + DRIFT * sqrt(_STEP)
    path = log_path(z)
    return likelihood_ratio(z) * (arithmetic(path) - geometric(path)) + _GEOMETRIC_PRICE


#: Six unbiased estimators of one price.
ARMS: Final[dict[str, Callable[[np.random.Generator, int], Floats]]] = {
    "naive": naive,
    "antithetic": antithetic,
    "stratified": stratified,
    "control variate": control_variate,
    "importance": importance,
    "importance+control": importance_and_control,
}


def price(
    seconds: float = 3.0,
    *,
    seed: int | None = None,
    progress: bool | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Result:
    """Price the option with all arms in `seconds`.

    >>> price(0.2, seed=7).stopped
    'seconds'
    """
    return estimate(ARMS, seconds=seconds, rng=seed, progress=progress, store=store)


@dataclass(frozen=True)
class Alternative:
    """Another way to the same standard error: its cost, and its cost divided by the run's cost."""

    name: str
    cost: float
    times: float


def alternatives(result: Result) -> list[Alternative]:
    """Return what the standard error of a run costs in other ways, the cheapest way first.

    One arm with n draws has the variance V_k/n at the cost d_k n, so it needs d_k V_k/stderr^2.
    A round of one draw from each of K arms costs d_1 + ... + d_K. The plain mean of a round has
    the variance (V_1 + ... + V_K)/K^2, and 1/(1/V_1 + ... + 1/V_K) if it is weighted by inverse
    variances, which are not known beforehand. V_k and d_k are the estimates of the run itself. If
    an arm has not varied, its own cost and the cost of an even split are not known.
    """
    rows = [row for row in result.arms if row.variance]
    V = np.array([row.variance for row in rows])
    d = np.array([row.cost_per_draw for row in rows])
    loss = {f"{row.name} alone": row.cost_per_draw * row.variance for row in rows}
    if len(rows) == len(result.arms):
        loss["even split, plain mean"] = d.sum() * V.sum() / len(rows) ** 2
        loss["even split, inverse variance"] = d.sum() / (1 / V).sum()
    ways = [(name, float(each / result.stderr**2)) for name, each in loss.items()]
    ways.sort(key=lambda way: way[1])
    return [Alternative(name, cost, cost / result.cost) for name, cost in ways]
