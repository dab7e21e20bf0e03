"""Models with a known evidence, most of them hard: several modes, curved or heavy-tailed ones.

The truths of shells, eggbox, Rosenbrock and eight schools are from quadrature, the others exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.stats as st

SHELLS = {2: -1.7456, 5: -5.6736, 10: -14.5905, 20: -36.0865, 30: -60.1278}
ROSENBROCK = {2: -5.804132, 3: -10.4770, 4: -15.1017, 5: -19.7324, 6: -24.3797, 10: -43.1084}


class Problem(NamedTuple):
    """A log-likelihood of points (m, d), one distribution for each coordinate, and log Z."""

    log_likelihood: Callable[[Any], Any]
    prior: Sequence[Any]
    truth: float


def mixture(weights: Any, places: Any, widths: Any, half: float = 10.0) -> Problem:
    """Return normal modes at `places` (k, d) in a box."""
    weights, widths = np.log(weights), np.asarray(widths)
    places = np.asarray(places, dtype=float)
    d = places.shape[1]
    peaks = weights - d * (np.log(widths) + 0.5 * np.log(2 * np.pi))

    def log_likelihood(x: Any) -> Any:
        squares = [((x - m) ** 2).sum(axis=1) / s**2 for m, s in zip(places, widths, strict=True)]
        return np.logaddexp.reduce(peaks[:, None] - 0.5 * np.array(squares), axis=0)

    return Problem(log_likelihood, [st.uniform(-half, 2 * half)] * d, -d * np.log(2 * half))


def two(d: int, wide: float, narrow: float) -> Problem:
    """Return two modes of unequal width, with the weights 0.3 and 0.7."""
    return mixture([0.3, 0.7], [[-5.0] * d, [5.0] * d], [wide, narrow])


def many(d: int, modes: int) -> Problem:
    """Return modes of random weights, widths and places."""
    rng = np.random.default_rng([d, modes, 1])
    places = rng.uniform(-8, 8, (modes, d))
    widths = np.exp(rng.uniform(np.log(0.2), np.log(0.6), modes))
    return mixture(rng.dirichlet(np.full(modes, 2.0)), places, widths)


def shells(d: int) -> Problem:
    """Return two Gaussian shells of radius 2 and width 0.1."""
    centre = np.zeros(d)
    centre[0] = 3.5

    def log_likelihood(x: Any) -> Any:
        away = [np.sqrt(((x - c) ** 2).sum(axis=1)) for c in (centre, -centre)]
        logs = [-0.5 * ((r - 2) / 0.1) ** 2 - 0.5 * np.log(2 * np.pi * 0.01) for r in away]
        return np.logaddexp(*logs)

    return Problem(log_likelihood, [st.uniform(-6, 12)] * d, SHELLS[d])


def eggbox() -> Problem:
    """Return 18 equal modes in two dimensions."""

    def log_likelihood(x: Any) -> Any:
        return (2 + np.cos(x[:, 0] / 2) * np.cos(x[:, 1] / 2)) ** 5

    return Problem(log_likelihood, [st.uniform(0, 10 * np.pi)] * 2, 235.856)


def rosenbrock(d: int) -> Problem:
    """Return a curved valley."""

    def log_likelihood(x: Any) -> Any:
        return -(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(axis=1)

    return Problem(log_likelihood, [st.uniform(-5, 10)] * d, ROSENBROCK[d])


def loggamma(d: int) -> Problem:
    """Return four modes with tails of a log-gamma distribution (Beaujean and Caldwell 2013)."""

    def heavy(x: Any, place: float) -> Any:
        return (x - place) - np.exp(np.minimum(x - place, 700.0))

    def log_likelihood(x: Any) -> Any:
        half = np.log(0.5)
        total = np.logaddexp(half + heavy(x[:, 0], 10), half + heavy(x[:, 0], -10))
        normal = (half + st.norm.logpdf(x[:, 1], m, 1) for m in (10, -10))
        total = total + np.logaddexp(*normal)
        for i in range(2, d):
            one = heavy(x[:, i], 10) if i + 1 <= (d + 2) / 2 else st.norm.logpdf(x[:, i], 10, 1)
            total = total + one
        return total

    return Problem(log_likelihood, [st.uniform(-30, 60)] * d, -d * np.log(60))


def eight_schools() -> Problem:
    """Return Rubin's eight schools: a mean, a spread with a half-Cauchy prior, eight effects."""
    effects = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])
    errors = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])

    def log_likelihood(x: Any) -> Any:
        z = (effects - x[:, :1] - x[:, 1:2] * x[:, 2:]) / errors
        return -0.5 * (z**2).sum(axis=1) - np.log(errors).sum() - 4 * np.log(2 * np.pi)

    prior = [st.norm(0, 5), st.halfcauchy(0, 5), *[st.norm(0, 1)] * 8]
    return Problem(log_likelihood, prior, -31.311347)


def spike() -> Problem:
    """Return a mode with a hundredth of the prior's width beside a broad one, in 4 dimensions."""
    return mixture([0.5, 0.5], [[-4.0] * 4, [4.0] * 4], [1.0, 0.2])


def two_under_a_normal_prior(d: int, wide: float, narrow: float) -> Problem:
    """Return two modes of unequal width under N(0, 5)."""
    modes = ((0.3, -5, wide), (0.7, 5, narrow))
    parts = [np.log(w) + d * st.norm.logpdf(m, 0, np.hypot(5, s)) for w, m, s in modes]
    flat = two(d, wide, narrow)
    return Problem(flat.log_likelihood, [st.norm(0, 5)] * d, float(np.logaddexp(*parts)))


def student_and_banana() -> Problem:
    """Return a Student's mode (4 degrees of freedom) and a curved one, in 5 dimensions.

    The curve has a Jacobian of 1, so both are normalised; 1e-4 of them is outside the box.
    """
    student = st.multivariate_t(np.full(5, -6.0), 0.25 * (0.5 * np.eye(5) + 0.5), df=4)

    def log_likelihood(x: Any) -> Any:
        bend = x[:, 1] - 0.5 * (x[:, 0] ** 2 - 2.25)
        banana = st.norm.logpdf(x[:, 0], 0, 1.5) + st.norm.logpdf(bend, 0, 0.4)
        banana = banana + st.norm.logpdf(x[:, 2:], 3, 0.7).sum(axis=1)
        return np.logaddexp(np.log(0.4) + student.logpdf(x), np.log(0.6) + banana)

    return Problem(log_likelihood, [st.uniform(-20, 40)] * 5, -5 * np.log(40))


def two_explanations() -> Problem:
    """Return a regression whose first two columns are nearly the same, and sparse coefficients.

    A coefficient is N(0, 0.05^2) or N(0, 2^2), with equal chances, so Z is a sum over 2^6 normal
    densities of the data.
    """
    rng = np.random.default_rng(19)
    x = rng.standard_normal((40, 6))
    x[:, 1] = x[:, 0] + 0.05 * rng.standard_normal(40)
    y = 1.5 * x[:, 0] - 0.8 * x[:, 3] + 0.5 * rng.standard_normal(40)
    scales = np.array([0.05, 2.0])

    def sample(rng: np.random.Generator, size: int) -> Any:
        return scales[rng.integers(2, size=(size, 6))] * rng.standard_normal((size, 6))

    def logpdf(b: Any) -> Any:
        logs = [np.log(0.5) - 0.5 * (b / s) ** 2 - np.log(s * np.sqrt(2 * np.pi)) for s in scales]
        return np.logaddexp(*logs).sum(axis=1)

    def log_likelihood(b: Any) -> Any:
        away = (y - b @ x.T) / 0.5
        return -0.5 * (away**2).sum(axis=1) - 40 * np.log(0.5 * np.sqrt(2 * np.pi))

    parts = [
        st.multivariate_normal(np.zeros(40), 0.25 * np.eye(40) + (x * np.array(s) ** 2) @ x.T)
        .logpdf(y) - 6 * np.log(2)
        for s in product(scales, repeat=6)
    ]  # fmt: skip
    prior: Any = (sample, logpdf)
    return Problem(log_likelihood, prior, float(np.logaddexp.reduce(parts)))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "two modes .6/.4, d = 8": lambda: two(8, 0.6, 0.4),
    "two modes .5/.2, d = 4": lambda: two(4, 0.5, 0.2),
    "two modes .8/.4, d = 8": lambda: two(8, 0.8, 0.4),
    "two modes 1/.3, d = 8": lambda: two(8, 1.0, 0.3),
    "narrow mode, d = 4": spike,
    "eggbox": eggbox,
    "eight schools": eight_schools,
    **{f"shells, d = {d}": (lambda d=d: shells(d)) for d in SHELLS},
    **{f"Rosenbrock, d = {d}": (lambda d=d: rosenbrock(d)) for d in (2, 3, 5, 10)},
    **{f"loggamma, d = {d}": (lambda d=d: loggamma(d)) for d in (2, 10, 30)},
    **{
        f"{k} modes, d = {d}": (lambda d=d, k=k: many(d, k)) for d in (2, 8, 20) for k in (2, 5, 10)
    },
}
