"""Integrals over the unit cube with known values: what `make bench-integrate` and the peers play.

The race of nets was built on the `first` 31: the six families of Genz in 2, 5, 10 and 20
dimensions, and seven others. The ten that follow (`later`) came later. Choices were made while
looking at them too, so they are no clean test: this is what `held_out_problems` is for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import integrate as quadrature
from scipy.special import ndtr, ndtri

Array = np.ndarray


@dataclass(frozen=True)
class Problem:
    """An integrand of points (n, d) in the unit cube, and its exact integral."""

    name: str
    dimension: int
    f: Callable[[Array], Array]
    value: float
    group: str = "first"


#: The difficulties of Genz: the sum of the parameters a in each dimension is h/d^e.
_HARD = {
    "oscillatory": (110.0, 1.5),
    "product peak": (600.0, 2.0),
    "corner peak": (600.0, 2.0),
    "gaussian": (100.0, 1.0),
    "continuous": (150.0, 2.0),
    "discontinuous": (100.0, 2.0),
}


def genz(family: str, d: int) -> Problem:
    """Return a problem of Genz (1984), its parameters from a fixed seed."""
    rng = np.random.default_rng([d, sorted(_HARD).index(family)])
    w, a = rng.random(d), 0.1 + rng.random(d)
    hard, power = _HARD[family]
    a *= hard / d**power / a.sum()
    if family == "oscillatory":

        def f(x: Array) -> Array:
            return np.cos(2 * np.pi * w[0] + x @ a)

        total = np.exp(2j * np.pi * w[0]) * np.prod((np.exp(1j * a) - 1) / (1j * a))
        value = float(total.real)
    elif family == "product peak":

        def f(x: Array) -> Array:
            return np.prod(1 / (a**-2.0 + (x - w) ** 2), axis=1)

        value = float(np.prod(a * (np.arctan(a * (1 - w)) + np.arctan(a * w))))
    elif family == "corner peak":
        a = np.minimum(a, 3.0)  # the sum below has alternating signs

        def f(x: Array) -> Array:
            return (1 + x @ a) ** -(d + 1.0)

        value = _corner(a)
    elif family == "gaussian":

        def f(x: Array) -> Array:
            return np.exp(-(((x - w) * a) ** 2).sum(axis=1))

        each = [math.sqrt(math.pi) / (2 * b) * (math.erf(b * (1 - c)) + math.erf(b * c))
                for b, c in zip(a, w, strict=True)]  # fmt: skip
        value = math.prod(each)
    elif family == "continuous":

        def f(x: Array) -> Array:
            return np.exp(-(np.abs(x - w) * a).sum(axis=1))

        value = float(np.prod((2 - np.exp(-a * w) - np.exp(-a * (1 - w))) / a))
    else:
        w = 0.3 + 0.6 * w

        def f(x: Array) -> Array:
            inside = (x[:, 0] < w[0]) & (x[:, 1] < w[1])
            return np.where(inside, np.exp(x @ a), 0.0)

        ends = np.where(np.arange(d) < 2, w, 1.0)
        value = float(np.prod(np.expm1(a * ends) / a))
    return Problem(f"{family} {d}", d, f, value)


def _corner(a: Array) -> float:
    """Return the integral of (1 + a x)^-(d+1) as a one-dimensional integral.

    (1 + s)^-(d+1) is the mean of e^(-s t) under t^d e^-t/d!, so the axes separate.
    """
    d = len(a)

    def inner(t: float) -> float:
        each = -np.expm1(-a * t) / (a * t)
        return float(np.exp(d * math.log(t) - t - math.lgamma(d + 1)) * np.prod(each))

    peaks = [d / 4, d, 3 * d]
    return float(quadrature.quad(inner, 0, 60 + 6 * d, points=peaks, epsabs=0, epsrel=1e-12,
                                 limit=500)[0])  # fmt: skip


# -- seven others


def keister(d: int = 5) -> Problem:
    """Return Keister's integral of cos(|x|) exp(-|x|^2) over R^d (1996), as an expectation."""

    def f(u: Array) -> Array:
        return np.cos(np.sqrt(0.5 * np.square(ndtri(u)).sum(axis=1))) * math.pi ** (d / 2)

    def radial(r: float) -> float:
        return math.cos(r) * math.exp(-r * r) * r ** (d - 1)

    sphere = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    value = sphere * quadrature.quad(radial, 0, 12, epsabs=0, epsrel=1e-12, limit=300)[0]
    return Problem(f"Keister {d}", d, f, value)


def _log_prices(u: Array) -> Array:
    """Return the logs of a price at d equal steps in one year; sigma .3, rate .05, start 1."""
    d = u.shape[1]
    steps = (0.05 - 0.045) / d + 0.3 * math.sqrt(1 / d) * ndtri(u)
    return np.cumsum(steps, axis=1)


def geometric_asian(d: int = 16) -> Problem:
    """Return a call on the geometric mean of d prices; it is lognormal."""

    def f(u: Array) -> Array:
        mean = np.exp(_log_prices(u).mean(axis=1))
        return math.exp(-0.05) * np.maximum(mean - 1.0, 0.0)

    steps = np.arange(d, 0, -1) / d
    m, s = 0.005 / d * steps.sum(), 0.3 * math.sqrt((steps**2).sum() / d)
    value = math.exp(m + s * s / 2) * ndtr(m / s + s) - ndtr(m / s)
    return Problem(f"Asian {d}", d, f, float(math.exp(-0.05) * value))


def digital_barrier(d: int = 8) -> Problem:
    """Return the chance that d normal steps of a walk all stay below a level each."""
    levels = np.linspace(0.4, 1.6, d)

    def f(u: Array) -> Array:
        return (ndtri(u) < levels).all(axis=1) * 1.0

    return Problem(f"digital barrier {d}", d, f, float(np.prod(ndtr(levels))))


def spike(d: int = 5) -> Problem:
    """Return a narrow normal peak off the centre."""
    at, s = np.linspace(0.3, 0.7, d), 0.03

    def f(x: Array) -> Array:
        return np.exp(-0.5 * (((x - at) / s) ** 2).sum(axis=1))

    value = float(np.prod(s * math.sqrt(2 * math.pi) * (ndtr((1 - at) / s) - ndtr(-at / s))))
    return Problem(f"spike {d}", d, f, value)


def ridge(d: int = 4) -> Problem:
    """Return a peak along a diagonal direction, which no product of axes can follow."""

    def f(u: Array) -> Array:
        z = ndtri(u).sum(axis=1) / math.sqrt(d)
        return np.exp(-0.5 * ((z - 1.0) / 0.05) ** 2)

    s2 = 1 + 0.05**2
    value = 0.05 / math.sqrt(s2) * math.exp(-0.5 / s2)
    return Problem(f"ridge {d}", d, f, value)


def rare_event(d: int = 6) -> Problem:
    """Return the chance that a sum of d normals is above 3.7 standard deviations."""

    def f(u: Array) -> Array:
        return (ndtri(u).sum(axis=1) > 3.7 * math.sqrt(d)) * 1.0

    return Problem(f"rare event {d}", d, f, float(ndtr(-3.7)))


def heavy_tail(d: int = 4) -> Problem:
    """Return a product of powers u^-.4: its variance is finite, its fourth moment is not."""

    def f(u: Array) -> Array:
        return np.prod(0.6 * u**-0.4, axis=1)

    return Problem(f"heavy tail {d}", d, f, 1.0)


# -- ten more


def later() -> list[Problem]:
    """Return the ten problems that came later."""

    def owen(d: int) -> Problem:
        return Problem(
            f"additive {d}", d, lambda x: (x**3).sum(axis=1) + 1.0, 1.0 + d / 4, group="later"
        )

    def product(d: int) -> Problem:
        return Problem(
            f"Sobol g {d}", d,
            lambda x: np.prod((np.abs(4 * x - 2) + np.arange(d)) / (1 + np.arange(d)), axis=1),
            1.0, group="later",
        )  # fmt: skip

    def two_peaks(d: int) -> Problem:
        def f(x: Array) -> Array:
            one = np.exp(-50 * ((x - 0.25) ** 2).sum(axis=1))
            return one + np.exp(-50 * ((x - 0.75) ** 2).sum(axis=1))

        each = math.sqrt(math.pi / 50) / 2
        side = each * (math.erf(math.sqrt(50) * 0.75) + math.erf(math.sqrt(50) * 0.25))
        return Problem(f"two peaks {d}", d, f, 2 * side**d, group="later")

    def ball(d: int) -> Problem:
        def f(x: Array) -> Array:
            return ((x**2).sum(axis=1) < 1) * 1.0

        value = math.pi ** (d / 2) / math.gamma(d / 2 + 1) / 2**d
        return Problem(f"ball {d}", d, f, value, group="later")

    def basket(d: int) -> Problem:
        def f(u: Array) -> Array:
            z = ndtri(u).sum(axis=1) / math.sqrt(d)
            return np.maximum(np.exp(0.4 * z - 0.08) - 1.2, 0.0)

        at = math.log(1.2) / 0.4 + 0.2
        return Problem(f"call {d}", d, f, float(ndtr(0.4 - at) - 1.2 * ndtr(-at)), group="later")

    def bessel(d: int) -> Problem:
        def f(x: Array) -> Array:
            return np.exp(np.cos(2 * np.pi * x).sum(axis=1))

        return Problem(f"periodic {d}", d, f, float(np.i0(1.0)) ** d, group="later")

    def log_peak(d: int) -> Problem:
        return Problem(
            f"logarithm {d}", d, lambda x: -np.log(x).sum(axis=1) / d, 1.0, group="later"
        )

    def student(d: int) -> Problem:
        def f(u: Array) -> Array:
            return np.abs(ndtri(u)).max(axis=1) * 1.0

        def tail(t: float) -> float:
            return 1 - (2 * float(ndtr(t)) - 1) ** d

        value = quadrature.quad(tail, 0, 12, epsabs=0, epsrel=1e-11)[0]
        return Problem(f"largest {d}", d, f, value, group="later")

    return [owen(30), product(8), two_peaks(4), ball(6), basket(12), bessel(7), log_peak(9),
            student(10), bessel(3), product(15)]  # fmt: skip


def problems() -> list[Problem]:
    """Return all 41 problems."""
    of_genz = [genz(family, d) for family in _HARD for d in (2, 5, 10, 20)]
    others = [keister(), geometric_asian(), digital_barrier(), spike(), ridge(), rare_event(),
              heavy_tail()]  # fmt: skip
    return [*of_genz, *others, *later()]
