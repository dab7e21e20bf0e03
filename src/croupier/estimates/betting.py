"""Betting: what a bet on or against a mean has won, as a function of the mean that is tried.

A gambler who stakes the fraction l of his wealth on every draw y in [0, 1] has, after the draws,
prod (1 + l (y - m)). If m is the mean of every draw, whatever was drawn before, this is a
martingale that starts at 1. By Ville's inequality it reaches 1/alpha with a probability of at most
alpha, at any time (Waudby-Smith and Ramdas, JRSS B 86, 2024, section 4). So the means at which a
gambler has not become rich are a confidence interval that holds at all times.

A batch is known by its moments, not draw by draw. So the log of the wealth is replaced by a
polynomial that is never above it. With x = l (y - m), x0 = -l m and x1 = l (1 - m):

    log(1 + x) >= x - A x^2 + B x^3 on [x0, x1], with equality at x0, 0 and x1.

It is Hermite's interpolation at x0, 0, 0, x1. Its error is f4(z)/4! x^2 (x - x0)(x - x1), and the
fourth derivative f4 of log(1 + x) is negative, so the error has one sign. For draws of 0 and 1 it
is exact. For draws that are close to their mean a second one is better:

    log(1 + x) >= x - x^2/2 + x^3/3 - C x^4 for x >= x0, with equality at x0.

Fan, Grama and Liu (Electron. J. Probab. 20, 2015, eq. 4.12) have the same with a quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats

__all__ = ["FRACTIONS", "crossing", "log_wealth", "nearest_fraction"]

#: The fractions that may be staked: 2, 1, 1/sqrt(2), 1/2, ...
FRACTIONS: Final[Floats] = np.append(2.0, 2.0 ** (-np.arange(63) / 2))

#: No draw may cost more than this share of the wealth.
_MOST_STAKED: Final = 0.95

#: Below these sizes, series replace differences that lose their digits.
_SMALL: Final = 1e-3
_SMALL_FOURTH: Final = 3e-2

#: How close a crossing is found, relative to its distance from the centre or to itself.
_CLOSE: Final = 1e-6
_ROUNDING: Final = 4e-16
_STEPS: Final = 200


def nearest_fraction(fraction: Floats) -> NDArray[np.int64]:
    """Return the number of the nearest fraction that may be staked.

    >>> nearest_fraction(np.array([5.0, 1.0, 0.45, 0.0]))
    array([ 0,  1,  3, 63])
    """
    with np.errstate(divide="ignore"):
        halvings = -np.log2(fraction)
    steps = np.where(halvings < -0.5, 0.0, 1 + np.maximum(np.rint(2 * halvings), 0.0))
    return np.minimum(steps, len(FRACTIONS) - 1).astype(np.int64)


def log_wealth(fraction: Floats, sums: Floats, m: Floats) -> Floats:
    """Return a lower bound of sum log(1 + l (y - m)) from n and the sums of y, y^2, y^3, y^4.

    The draws y and the means m lie in [0, 1]. The fraction is cut to 0.95/m. Of the two lower
    bounds the larger counts. Both fall with m, the second only for fractions of at most 1.

    >>> heads = np.array([[10.0, 7.0, 7.0, 7.0, 7.0]])
    >>> exact = 7 * np.log1p(0.5 * 0.6) + 3 * np.log1p(0.5 * -0.4)
    >>> bool(np.isclose(log_wealth(np.array([0.5]), heads, np.array([0.4])), exact)[0])
    True
    """
    n, s1, s2, s3, s4 = sums.T
    lam = np.minimum(fraction, _MOST_STAKED / np.maximum(m, _MOST_STAKED / FRACTIONS[0]))
    x0, x1 = -lam * m, lam * (1 - m)
    h0, h1 = _second(x0), _second(x1)
    b = (h0 - h1) / lam
    a = h0 + b * x0
    x = lam * (s1 - n * m)
    xx = lam**2 * (s2 - m * (2 * s1 - m * n))
    xxx = lam**3 * (s3 - m * (3 * s2 - m * (3 * s1 - m * n)))
    xxxx = lam**4 * (s4 - m * (4 * s3 - m * (6 * s2 - m * (4 * s1 - m * n))))
    cubic = x - a * xx + b * xxx
    quartic = x - xx / 2 + xxx / 3 - _fourth(x0) * xxxx
    return np.asarray(np.where(fraction <= 1, np.maximum(cubic, quartic), cubic))


def _second(x: Floats) -> Floats:
    """Return (x - log(1 + x))/x^2, which falls in x."""
    small = np.abs(x) < _SMALL
    far = np.where(small, 1.0, x)
    series = 1 / 2 - x * (1 / 3 - x * (1 / 4 - x / 5))
    return np.where(small, series, (far - np.log1p(far)) / far**2)


def _fourth(x: Floats) -> Floats:
    """Return (x - x^2/2 + x^3/3 - log(1 + x))/x^4 for x <= 0, which falls in x."""
    small = np.abs(x) < _SMALL_FOURTH
    far = np.where(small, -0.5, x)
    series = 1 / 4 - x * (1 / 5 - x * (1 / 6 - x * (1 / 7 - x * (1 / 8 - x / 9))))
    whole = (far - far**2 / 2 + far**3 / 3 - np.log1p(far)) / far**4
    return np.where(small, series, whole)


def crossing(wealth: Callable[[Floats], Floats], level: float, centre: Floats) -> Floats:
    """Return where falling functions on [0, 1] cross a level, all at once, never too far right.

    `centre` is a guess to the right of the crossing. A function that starts below the level gives
    0, and a function that never falls below it gives 1. The error is 1e-6 of the distance between
    the crossing and the centre.

    >>> crossing(lambda t: 1 - t, 0.75, np.array([0.5])).round(6)
    array([0.25])
    """
    left, right = np.zeros_like(centre), np.ones_like(centre)
    above, below = wealth(left) - level, wealth(right) - level
    left, right = np.where(below >= 0, right, left), np.where(above < 0, left, right)
    t = centre
    for step in range(_STEPS):
        wide = right - left > np.maximum(_CLOSE * np.abs(centre - left), _ROUNDING * right)
        if not wide.any():
            break
        value = wealth(t) - level
        rich = value >= 0
        left, above = np.where(wide & rich, (t, value), (left, above))
        right, below = np.where(wide & ~rich, (t, value), (right, below))
        middle = (left + right) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            line = left + (right - left) * above / (above - below)
        # A step a little beyond the crossing closes the bracket from the other side.
        line += np.where(step % 2, 0.25, -0.25) * _CLOSE * np.abs(centre - left)
        inside = (line > left) & (line < right) & (step % 3 < 2)
        t = np.where(inside, line, middle)
    return left
