"""What the caplet is worth without Monte Carlo: the Euler chain backwards, and continuous time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.data.draws import Floats

if TYPE_CHECKING:
    from paper.cir import Caplet

__all__ = ["Exact", "continuous_price", "euler"]

#: The grid has 4 points in a standard deviation of a step, reaches 9 deviations of the rate at
#: maturity, and is interpolated through 8 points at once.
_FINE: Final = 4.0
_REACH: Final = 9.0
_POINTS: Final = 8
_NODES: Final = 32


@dataclass(frozen=True, eq=False)
class Exact:
    """The price of the Euler chain, and the variance of one draw of every arm."""

    price: float
    thetas: tuple[float, ...]
    variances: Floats

    @property
    def best(self) -> int:
        """The number of the arm of least variance, V*."""
        return int(self.variances.argmin())


def euler(caplet: Caplet, thetas: Sequence[float]) -> Exact:
    """Return the price and variances of the Euler chain, by backward recursion.

    Under a drift a of every step, the draw has the mean square E_a[(wP)^2] = e^(n a^2) E_-a[P^2]:
    the second moment of the plain payoff with the drift reversed.
    """
    price = _moment(caplet, 1, 0.0)
    square = [
        math.exp(theta * theta * caplet.maturity) * _moment(caplet, 2, -theta) for theta in thetas
    ]
    return Exact(price, tuple(thetas), np.array(square) - price * price)


def _moment(caplet: Caplet, power: int, theta: float) -> float:
    """Return E[P^power] when the Brownian motion has the drift theta.

    u_n-1(r) = e^(-c r dt) E[e^(-c r' dt/2) (M (r' - K)^+)^c] and u_t-1(r) = e^(-c r dt) E[u_t(r')],
    with c the power and r' = m(r) + s(r) eps; the rate at time 0 is discounted by dt/2 only.
    """
    dt = caplet.maturity / caplet.steps
    start = np.array([caplet.start])
    half = math.exp(power * caplet.start * dt / 2)  # what the recursion discounts too much
    if caplet.steps == 1:
        return float(half * _last(caplet, power, theta, start)[0])
    grid, below = _grid(caplet, theta)
    rates = _squared(grid)
    step = _operator(caplet, theta, grid, below, rates)
    first = _operator(caplet, theta, grid, below, start)
    discount = np.exp(-power * dt * np.maximum(rates, 0))
    u = _last(caplet, power, theta, rates)
    for _ in range(caplet.steps - 2):
        u = discount * (step @ u)
    return float((first @ u)[0] * math.exp(-power * dt * caplet.start) * half)


def _moves(caplet: Caplet, theta: float, rate: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the deviation of the next rate."""
    dt = caplet.maturity / caplet.steps
    above = np.maximum(rate, 0)
    deviation = caplet.sigma * np.sqrt(above * dt)
    drift = (caplet.eta - caplet.kappa * above) * dt + theta * math.sqrt(dt) * deviation
    return rate + drift, deviation


def _last(caplet: Caplet, power: int, theta: float, rate: Floats) -> Floats:
    """Return the recursion's last step, u_n-1, in closed form: the kink is at the strike."""
    from scipy.special import ndtr

    dt = caplet.maturity / caplet.steps
    mean, s = _moves(caplet, theta, rate)
    s = np.maximum(s, 1e-300)
    c = power * dt / 2
    # e^(-c r) times the density of N(mean, s^2) is a multiple of that of N(mean - c s^2, s^2).
    factor = np.exp(-c * mean + c * c * s * s / 2)
    over = mean - c * s * s - caplet.strike
    # 40 deviations away the payoff is certain, and so is its absence.
    d = np.clip(over / s, -40, 40)
    density = np.exp(-d * d / 2) / math.sqrt(2 * math.pi)
    if power == 1:
        payoff = over * ndtr(d) + s * density
    else:
        payoff = (over * over + s * s) * ndtr(d) + over * s * density
    discount = np.exp(-power * dt * np.maximum(rate, 0))
    return np.asarray(caplet.notional**power * factor * payoff * discount)


def _grid(caplet: Caplet, theta: float) -> tuple[Floats, int]:
    """Return square roots of the rates that the chain can reach, and how many are below 0.

    In y = sqrt(r) all steps are equally wide, and what is a root of r near 0 is smooth; a rate
    below 0 has the root of its size, with a minus.
    """
    dt = caplet.maturity / caplet.steps
    path = np.empty(caplet.steps + 1)
    path[0] = caplet.start
    for t in range(caplet.steps):
        path[t + 1] = max(float(_moves(caplet, theta, path[t : t + 1])[0][0]), 0.0)
    width = caplet.sigma * math.sqrt(dt) / 2 / _FINE
    reach = _REACH * caplet.sigma * math.sqrt(caplet.maturity) / 2
    high = math.ceil((math.sqrt(path.max()) + reach) / width)
    low = math.floor((math.sqrt(path.min()) - reach) / width)
    if low <= 0:
        # A step from 0 or above ends no lower than -(reach sigma)^2 dt/4, and is then pushed back.
        low = -max(math.ceil(_REACH * _FINE), _POINTS)
    points = np.arange(low, max(high, low + _POINTS) + 1, dtype=float)
    return width * points, max(-low, 0)


def _squared(y: Floats) -> Floats:
    """Return the rate of a root: with its sign."""
    return y * np.abs(y)


def _operator(caplet: Caplet, theta: float, grid: Floats, below: int, rates: Floats) -> Any:
    """Return the matrix that takes u on the grid to E[u(r')] at some rates.

    Gauss-Hermite quadrature of r', and a polynomial through the nearest points of the grid that
    are on the same side of 0, where u has a kink.
    """
    from scipy.sparse import csr_array
    from scipy.special import roots_hermitenorm

    nodes, chances = roots_hermitenorm(_NODES)
    mean, deviation = _moves(caplet, theta, rates)
    landing = mean[:, None] + deviation[:, None] * nodes
    root = np.clip(np.copysign(np.sqrt(np.abs(landing)), landing), grid[0], grid[-1])
    place = (root - grid[0]) / (grid[1] - grid[0])
    left = np.floor(place).astype(int) - _POINTS // 2 + 1
    left = np.where(root < 0, np.minimum(left, below - _POINTS + 1), np.maximum(left, below))
    left = np.clip(left, 0, len(grid) - _POINTS)
    x = place - left
    k = np.arange(_POINTS)
    weights = np.repeat(x[:, :, None], _POINTS, axis=2)
    weights[:] = (chances / math.sqrt(2 * math.pi))[:, None]
    for i in k:  # Lagrange: the product over i of (x - i)/(k - i), i other than k
        others = k != i
        weights[:, :, others] *= (x[:, :, None] - i) / (k[others] - i)
    rows = np.broadcast_to(np.arange(len(rates))[:, None, None], weights.shape)
    entries = (weights.ravel(), (rows.ravel(), (left[:, :, None] + k).ravel()))
    return csr_array(entries, shape=(len(rates), len(grid)))


def continuous_price(caplet: Caplet) -> float:
    """Return the price in continuous time: a noncentral chi-square under the forward measure.

    Cox, Ingersoll and Ross (1985); the notation is that of Brigo and Mercurio (2006), 3.2.3:
    the bond P(0, T) = A e^(-B r), and 2 (phi + psi) r(T) has 4 eta/sigma^2 degrees of freedom.
    """
    kappa, variance, maturity = caplet.kappa, caplet.sigma**2, caplet.maturity
    h = math.sqrt(kappa * kappa + 2 * variance)
    grown = math.expm1(h * maturity)
    below = 2 * h + (kappa + h) * grown
    log_a = 2 * caplet.eta / variance * (math.log(2 * h / below) + (kappa + h) * maturity / 2)
    bond = math.exp(log_a - 2 * grown / below * caplet.start)
    phi, psi = 2 * h / (variance * grown), (kappa + h) / variance
    df = 4 * caplet.eta / variance
    noncentral = 2 * phi * phi * caplet.start * math.exp(h * maturity) / (phi + psi)
    k = 2 * (phi + psi) * caplet.strike
    # E[X; X > k] = df P(X_df+2 > k) + noncentral P(X_df+4 > k)
    upper = df * _above(k, df + 2, noncentral) + noncentral * _above(k, df + 4, noncentral)
    return float(
        caplet.notional
        * bond
        * (upper / (2 * (phi + psi)) - caplet.strike * _above(k, df, noncentral))
    )


def _above(x: float, df: float, noncentral: float) -> float:
    """Return P(X > x) of a noncentral chi-square: a Poisson mixture of central ones."""
    from scipy.special import gammaincc, gammaln, xlogy

    mean = noncentral / 2
    reach = 12 * math.sqrt(mean) + 60
    j = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach))
    chance = np.exp(xlogy(j, mean) - mean - gammaln(j + 1))
    return float(chance @ gammaincc(df / 2 + j, x / 2))
