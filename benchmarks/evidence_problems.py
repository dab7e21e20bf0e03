"""Models with a known evidence, most of them hard: several modes, curved or heavy-tailed ones.

The truths of shells, eggbox, Rosenbrock and eight schools are from quadrature, the others exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


# -- plain models that a user would write, and classes that nothing was tuned on


def regression(d: int, data: int = 0, noise: float = 0.5, at: float = 1.0) -> Problem:
    """Return a linear regression with normal priors."""
    rng = np.random.default_rng([d, 3])
    n = data or 3 * d + 10
    design = rng.standard_normal((n, d))
    y = design @ rng.normal(0, at, d) + noise * rng.standard_normal(n)
    constant = -n * np.log(noise) - 0.5 * n * np.log(2 * np.pi)

    def log_likelihood(x: Any) -> Any:
        left = y - x @ design.T
        return constant - 0.5 * np.einsum("ij,ij->i", left, left) / noise**2

    covariance = design @ design.T * 4 + noise**2 * np.eye(n)
    truth = st.multivariate_normal(np.zeros(n), covariance).logpdf(y)
    return Problem(log_likelihood, [st.norm(0, 2)] * d, float(truth))


def beta_binomial() -> Problem:
    """Return 7 of 10 successes with a uniform prior."""
    return Problem(
        lambda x: st.binom.logpmf(7, 10, x[:, 0]), [st.uniform(0, 1)], float(-np.log(11))
    )


def cauchy_prior() -> Problem:
    """Return one datum at 8 with a Cauchy prior."""
    z = np.linspace(-40, 60, 400_001)
    truth = np.log(np.trapezoid(st.norm.pdf(8, z, 1) * st.cauchy.pdf(z), z))
    return Problem(lambda x: st.norm.logpdf(8, x[:, 0], 1), [st.cauchy()], float(truth))


def centred(groups: int = 8) -> Problem:
    """Return a hierarchical model in its centred form, its prior as a pair of functions."""
    effects = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])[:groups]
    errors = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])[:groups]

    def sample(rng: Any, size: int) -> Any:
        mean, spread = rng.normal(0, 5, size), rng.normal(1, 1, size)
        each = mean[:, None] + np.exp(spread)[:, None] * rng.standard_normal((size, groups))
        return np.column_stack((mean, spread, each))

    def logpdf(x: Any) -> Any:
        top = st.norm.logpdf(x[:, 0], 0, 5) + st.norm.logpdf(x[:, 1], 1, 1)
        return top + st.norm.logpdf(x[:, 2:], x[:, :1], np.exp(x[:, 1:2])).sum(axis=1)

    def log_likelihood(x: Any) -> Any:
        return st.norm.logpdf(effects, x[:, 2:], errors).sum(axis=1)

    spread = np.linspace(-6, 8, 2001)
    logs = [
        st.multivariate_normal(np.zeros(groups), np.diag(errors**2 + np.exp(2 * s)) + 25.0).logpdf(
            effects
        )
        for s in spread
    ]
    truth = np.log(np.trapezoid(np.exp(logs) * st.norm.pdf(spread, 1, 1), spread))
    return Problem(log_likelihood, (sample, logpdf), float(truth))


def funnel(d: int, half: float = 50.0) -> Problem:
    """Return Neal's funnel: the spread of d - 1 coordinates is itself a parameter."""
    v = np.linspace(-20, 20, 20_001)
    inside = 2 * st.norm.cdf(half, 0, np.exp(v / 2)) - 1
    mass = np.trapezoid(st.norm.pdf(v, 0, 2) * inside ** (d - 1), v)

    def log_likelihood(x: Any) -> Any:
        return st.norm.logpdf(x[:, 1:], 0, np.exp(x[:, :1] / 2)).sum(axis=1)

    truth = np.log(mass) - (d - 1) * np.log(2 * half)
    return Problem(
        log_likelihood, [st.norm(0, 2), *[st.uniform(-half, 2 * half)] * (d - 1)], float(truth)
    )


def binary(d: int, data: int, link: str) -> Problem:
    """Return a logistic or a probit regression; the truths are from long importance sampling."""
    rng = np.random.default_rng([d, data, 5])
    design = np.column_stack((np.ones(data), rng.standard_normal((data, d - 1))))
    y = np.where(rng.random(data) < 1 / (1 + np.exp(-design @ rng.normal(0, 1, d))), 1.0, -1.0)

    def log_likelihood(x: Any) -> Any:
        line = y * (x @ design.T)
        return (st.norm.logcdf(line) if link == "probit" else -np.logaddexp(0, -line)).sum(axis=1)

    return Problem(log_likelihood, [st.norm(0, 2)] * d, BINARY[link, d])


#: From importance sampling: their errors are 0.002, 0.002, 0.05 and 0.002.
BINARY = {
    ("logit", 5): -28.069,
    ("logit", 6): -46.607,
    ("logit", 40): -103.18,
    ("probit", 4): -10.972,
}


def student_regression() -> Problem:
    """Return a regression with Student errors and outliers: three slopes and a log scale."""
    rng = np.random.default_rng(4)
    design = rng.standard_normal((40, 3))
    y = design @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_t(3, 40)

    def log_likelihood(x: Any) -> Any:
        return st.t.logpdf(y, 3, x[:, :3] @ design.T, np.exp(x[:, 3:])).sum(axis=1)

    return Problem(log_likelihood, [*[st.norm(0, 3)] * 3, st.norm(0, 1)], STUDENT)


#: From importance sampling, ± 0.004.
STUDENT = -52.899


def labels(kinds: int, data: int = 60) -> Problem:
    """Return a mixture of normal distributions with exchangeable labels: all means and log scales.

    The weights are equal, so a mixture of `kinds` has 2 kinds parameters.
    """
    rng = np.random.default_rng([kinds, 6])
    places = 4.0 * np.arange(kinds)
    y = places[rng.integers(kinds, size=data)] + rng.standard_normal(data)

    def log_likelihood(x: Any) -> Any:
        each = st.norm.logpdf(y[None, None], x[:, :kinds, None], np.exp(x[:, kinds:, None]))
        return (np.logaddexp.reduce(each, axis=1) - np.log(kinds)).sum(axis=1)

    prior = [*[st.norm(4, 6)] * kinds, *[st.norm(0, 0.7)] * kinds]
    return Problem(log_likelihood, prior, LABELS[kinds])


#: By importance sampling, ± 0.005 and 0.003: that of three labels is croupier's own with a million
#: evaluations, and a sequential Monte Carlo of 20 000 particles agrees to ± 0.02. Four labels are
#: two runs of the latter, -276.299 and -276.310.
LABELS = {2: -138.005, 3: -157.268, 4: -276.30}


def banana(d: int, bend: float = 0.1, half: float = 60.0) -> Problem:
    """Return a bent normal distribution: the first coordinate moves the second."""
    deviations = np.array([5.0, *[1.0] * (d - 1)])

    def log_likelihood(x: Any) -> Any:
        bent = x.copy()
        bent[:, 1] += bend * (x[:, 0] ** 2 - 25)
        return st.norm.logpdf(bent, 0, deviations).sum(axis=1)

    return Problem(log_likelihood, [st.uniform(-half, 2 * half)] * d, -d * np.log(2 * half))


def student_tails(d: int, half: float = 50.0) -> Problem:
    """Return independent Student distributions with 2 degrees of freedom in a box."""
    truth = d * np.log((2 * st.t.cdf(half, 2) - 1) / (2 * half))
    return Problem(
        lambda x: st.t.logpdf(x, 2).sum(axis=1), [st.uniform(-half, 2 * half)] * d, float(truth)
    )


def corner(d: int, pair: bool = False) -> Problem:
    """Return a likelihood that falls off from one corner of the cube."""
    truth = d * np.log(-np.expm1(-20.0) / 20)
    if not pair:
        return Problem(lambda x: -20 * x.sum(axis=1), [st.uniform(0, 1)] * d, float(truth))

    def logpdf(x: Any) -> Any:
        return np.where(((x >= 0) & (x <= 1)).all(axis=1), 0.0, -np.inf)

    return Problem(
        lambda x: -20 * x.sum(axis=1), (lambda rng, size: rng.random((size, d)), logpdf), truth
    )


def changepoint() -> Problem:
    """Return counts whose rate changes at an unknown time."""
    rng = np.random.default_rng(7)
    t = np.arange(60)
    y = rng.poisson(np.where(t < 35, 4.0, 1.5))
    from scipy.special import gammaln

    def rate(total: Any, n: Any) -> Any:
        return gammaln(2 + total) - (2 + total) * np.log(n + 1)

    cut = np.arange(61)  # counts before the change, uniform on (0, 60)
    first = np.array([y[:k].sum() for k in cut])
    logs = rate(first, cut) + rate(y.sum() - first, 60 - cut) - gammaln(y + 1).sum()
    truth = np.logaddexp.reduce(logs[1:]) - np.log(60)

    def log_likelihood(x: Any) -> Any:
        lam = np.where(t < x[:, 2:], x[:, :1], x[:, 1:2])
        return st.poisson.logpmf(y, lam).sum(axis=1)

    return Problem(log_likelihood, [st.gamma(2), st.gamma(2), st.uniform(0, 60)], float(truth))


def correlated(d: int, rho: float = 0.999) -> Problem:
    """Return a normal likelihood whose coordinates are almost the same."""
    covariance = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    like = st.multivariate_normal(np.full(d, 0.5), covariance)
    truth = st.multivariate_normal(np.zeros(d), covariance + 4 * np.eye(d)).logpdf(np.full(d, 0.5))
    return Problem(like.logpdf, [st.norm(0, 2)] * d, float(truth))


def spike_and_slab(d: int) -> Problem:
    """Return coordinates that are each in a spike or in a slab, with one datum each."""
    y = np.linspace(0, 3, d)

    def log_likelihood(x: Any) -> Any:
        spike = st.norm.logpdf(x, 0, 0.1) + np.log(0.5)
        slab = st.norm.logpdf(x, 0, 2) + np.log(0.5)
        return (st.norm.logpdf(y, x, 0.7) + np.logaddexp(spike, slab)).sum(axis=1)

    a, b = st.norm.pdf(y, 0, np.hypot(0.7, 0.1)), st.norm.pdf(y, 0, np.hypot(0.7, 2))
    truth = np.log((a + b) / 2).sum() - d * np.log(40)
    return Problem(log_likelihood, [st.uniform(-20, 40)] * d, float(truth))


def ball(d: int, radius: float, width: float = np.inf, half: float = 1.0) -> Problem:
    """Return a likelihood that is impossible outside of a ball, and flat or normal in it."""
    from scipy.special import gammaln

    centre = np.full(d, 0.3 * half)
    log_volume = 0.5 * d * np.log(np.pi) - gammaln(d / 2 + 1) + d * np.log(radius)
    truth = log_volume - d * np.log(2 * half)
    if np.isfinite(width):
        truth = d * np.log(width * np.sqrt(2 * np.pi)) - d * np.log(2 * half)
        truth += np.log(st.chi2(d).cdf((radius / width) ** 2))

    def log_likelihood(x: Any) -> Any:
        squares = ((x - centre) ** 2).sum(axis=1)
        inside = np.zeros(len(x)) if np.isinf(width) else -0.5 * squares / width**2
        return np.where(squares < radius**2, inside, -np.inf)

    return Problem(log_likelihood, [st.uniform(-half, 2 * half)] * d, float(truth))


def periodic(d: int) -> Problem:
    """Return three equal peaks around the circle in every coordinate."""
    from scipy.special import i0e

    return Problem(
        lambda x: (8 * np.cos(3 * x)).sum(axis=1) - 8.0 * d,
        [st.uniform(0, 2 * np.pi)] * d,
        float(d * np.log(i0e(8))),
    )


def sinusoids(waves: int) -> Problem:
    """Return waves of unknown frequency; each has two normal amplitudes."""
    rng = np.random.default_rng([waves, 8])
    t = np.sort(rng.uniform(0, 10, 50))
    y = sum(np.sin(2 * np.pi * f * t) for f in (0.7, 1.3)[:waves]) + 0.8 * rng.standard_normal(50)
    grid = np.linspace(0.1, 2.0, 600 if waves == 2 else 4000)
    waves_at = [np.column_stack((np.cos(w * t), np.sin(w * t))) for w in 2 * np.pi * grid]
    base = 0.64 * np.eye(50)
    if waves == 1:
        logs = [st.multivariate_normal(np.zeros(50), base + m @ m.T).logpdf(y) for m in waves_at]
        truth = np.logaddexp.reduce(logs) - np.log(len(grid))
    else:
        truth = TWO_WAVES

    def log_likelihood(x: Any) -> Any:
        curve = np.zeros((len(x), 50))
        for k in range(waves):
            phase = 2 * np.pi * x[:, 3 * k + 2 : 3 * k + 3] * t
            curve += x[:, 3 * k : 3 * k + 1] * np.cos(phase)
            curve += x[:, 3 * k + 1 : 3 * k + 2] * np.sin(phase)
        return st.norm.logpdf(y, curve, 0.8).sum(axis=1)

    prior = [st.norm(0, 1), st.norm(0, 1), st.uniform(0.1, 1.9)] * waves
    return Problem(log_likelihood, prior, float(truth))


#: By quadrature over both frequencies; the amplitudes are integrated exactly.
TWO_WAVES = -71.553083


def lotka_volterra() -> Problem:
    """Return predators and prey with four rates, observed with a noise of a tenth."""
    steps, every = 400, 40

    def curves(x: Any) -> Any:
        a, b, c, e = np.exp(x.T)
        u, v = np.full(len(x), 1.0), np.full(len(x), 0.5)
        found, h = [], 10 / steps

        def slope(u: Any, v: Any) -> Any:
            return a - b * np.exp(v), c * np.exp(u) - e

        u, v = np.log(u), np.log(v)
        for k in range(steps):
            p, q = slope(u, v)
            r, s = slope(u + h * p / 2, v + h * q / 2)
            u, v = np.clip(u + h * r, -20, 20), np.clip(v + h * s, -20, 20)
            if (k + 1) % every == 0:
                found.append(np.column_stack((u, v)))
        return np.stack(found, axis=1)

    rng = np.random.default_rng(9)
    y = curves(np.log([[1.0, 1.0, 0.8, 0.7]]))[0] + 0.1 * rng.standard_normal((10, 2))

    def log_likelihood(x: Any) -> Any:
        return st.norm.logpdf(y, curves(x), 0.1).sum(axis=(1, 2))

    return Problem(log_likelihood, [st.norm(0, 0.5)] * 4, PREY)


#: From importance sampling, ± 0.004.
PREY = 4.312


def phase(d: int) -> Problem:
    """Return a narrow spike on a plateau: a phase transition for annealing (Skilling 2006)."""
    return mixture([10 / 11, 1 / 11], [[0.2] * d, [0.0] * d], [0.02, 0.1], 0.5)


def poisson_gamma() -> Problem:
    """Return four rates with counts."""
    y, shape = np.array([3, 0, 12, 7]), 2.0
    truth = st.nbinom.logpmf(y, shape, 0.25).sum()
    return Problem(
        lambda x: st.poisson.logpmf(y, 3 * x).sum(axis=1), [st.gamma(shape)] * 4, float(truth)
    )


def beside(d: int) -> Problem:
    """Return half of the mass in a narrow mode beside a broad one.

    The basin of the narrow mode, where it is the higher one, has 1.5e-5 to 5.5e-5 of the box.
    """
    narrow = {2: 0.01, 3: 0.035, 4: 0.06, 5: 0.08}[d]
    return mixture([0.5, 0.5], [[2.0] * d, [-1.0] * d], [narrow, 1.5], 5.0)


def spikes(d: int, number: int) -> Problem:
    """Return equal narrow modes in a box."""
    rng = np.random.default_rng([d, number, 11])
    places = rng.uniform(-8, 8, (number, d))
    return mixture(np.full(number, 1 / number), places, np.full(number, 0.3))


MODELS: dict[str, Callable[[], Problem]] = {
    **{f"regression, d = {d}": (lambda d=d: regression(d)) for d in (3, 10, 30, 50)},
    "regression, log Z = -1e5": lambda: regression(3, 2000, 0.1),
    "beta-binomial": beta_binomial,
    "Cauchy prior": cauchy_prior,
    "centred hierarchical, d = 10": centred,
    "funnel, d = 10": lambda: funnel(10),
    "logistic, d = 5": lambda: binary(5, 50, "logit"),
    "logistic, d = 40": lambda: binary(40, 300, "logit"),
    "probit, 12 data": lambda: binary(4, 12, "probit"),
    "Student regression": student_regression,
    "three labels": lambda: labels(3),
    "Rosenbrock 2": lambda: rosenbrock(2),
    "banana, d = 10": lambda: banana(10),
    "Student tails, d = 5": lambda: student_tails(5),
    "corner, d = 6": lambda: corner(6),
    "corner as a pair": lambda: corner(6, True),
    "changepoint": changepoint,
    "correlation .999, d = 10": lambda: correlated(10),
    "two modes 1/.3, d = 6": lambda: two(6, 1.0, 0.3),
    "spike and slab, d = 6": lambda: spike_and_slab(6),
    "plateau, d = 3": lambda: ball(3, 0.3),
    "needle, d = 2": lambda: ball(2, 0.0036, 0.002),
    "periodic, d = 3": lambda: periodic(3),
    "sinusoid": lambda: sinusoids(1),
    "two sinusoids": lambda: sinusoids(2),
    "Lotka-Volterra": lotka_volterra,
    "phase transition, d = 12": lambda: phase(12),
    **{f"narrow beside broad, d = {d}": (lambda d=d: beside(d)) for d in (2, 3, 4, 5)},
}

UNSEEN: dict[str, Callable[[], Problem]] = {
    **{
        f"regression, d = {d}, noisy": (lambda d=d: regression(d, d + 5, 1.0))
        for d in (1, 3, 10, 30)
    },
    "correlation .999, d = 5": lambda: correlated(5),
    **{f"banana .03, d = {d}": (lambda d=d: banana(d, 0.03)) for d in (2, 5, 10)},
    "funnel, d = 6": lambda: funnel(6),
    "two labels": lambda: labels(2),
    "four labels": lambda: labels(4, 100),
    "corner, d = 5": lambda: corner(5),
    "Student tails, d = 3": lambda: student_tails(3),
    "two modes .8/.15, d = 5": lambda: two(5, 0.8, 0.15),
    "5 modes, d = 4": lambda: many(4, 5),
    "10 modes, d = 5": lambda: many(5, 10),
    "5 spikes, d = 3": lambda: spikes(3, 5),
    "3 spikes, d = 6": lambda: spikes(6, 3),
    "ball, d = 6": lambda: ball(6, 0.5, 0.2),
    "logistic, d = 6": lambda: binary(6, 80, "logit"),
    "Poisson-gamma": poisson_gamma,
    "phase transition, d = 5": lambda: phase(5),
    "periodic, d = 2": lambda: periodic(2),
}


# -- problems that were named after the engine was written, and before it was run on them


def unknown_spread() -> Problem:
    """Return twelve data with an unknown mean and an unknown spread; the truth is quadrature."""
    y = 3.0 + 2.0 * np.random.default_rng(31).standard_normal(12)

    def log_likelihood(x: Any) -> Any:
        return st.norm.logpdf(y, x[:, :1], x[:, 1:2]).sum(axis=1)

    v = np.linspace(np.log(1e-3), np.log(200), 20_001)
    s = np.exp(v)
    mean, squares = y.mean(), np.square(y - y.mean()).sum()
    # The density of the data is that of their mean, times (2 pi s^2)^-5.5 12^-.5 e^(-squares/2s^2).
    logs = -11 * v - 5.5 * np.log(2 * np.pi) - 0.5 * squares / s**2 + v - 0.5 * np.log(12)
    logs += st.norm.logpdf(mean, 0, np.sqrt(100 + s**2 / 12)) + st.halfnorm.logpdf(s, 0, 5)
    top = logs.max()
    truth = top + np.log(np.trapezoid(np.exp(logs - top), v))
    return Problem(log_likelihood, [st.norm(0, 10), st.halfnorm(0, 5)], float(truth))


def many_rates(groups: int = 12) -> Problem:
    """Return successes of many groups, each with its own rate: products of beta-binomials."""
    n = np.arange(5, 5 + 3 * groups, 3)
    k = np.random.default_rng(32).binomial(n, 0.3)
    truth = st.betabinom.logpmf(k, n, 2, 3).sum()
    return Problem(
        lambda x: st.binom.logpmf(k, n, x).sum(axis=1), [st.beta(2, 3)] * groups, float(truth)
    )


def sticks() -> Problem:
    """Return counts of five classes, their shares by breaking a stick: Dirichlet-multinomial."""
    counts = np.array([7, 0, 21, 3, 9])
    left = counts[::-1].cumsum()[::-1][1:]

    from scipy.special import betaln, xlogy

    def log_likelihood(x: Any) -> Any:
        return (xlogy(counts[:-1], x) + xlogy(left, 1 - x)).sum(axis=1)

    b = np.array([4.0, 3.0, 2.0, 1.0])
    truth = (betaln(1 + counts[:-1], b + left) - betaln(1, b)).sum()
    return Problem(log_likelihood, [st.beta(1, each) for each in b], float(truth))


def survival() -> Problem:
    """Return two groups of censored times with exponential rates: gamma is conjugate."""
    from scipy.special import gammaln

    deaths, times = np.array([4, 11]), np.array([130.0, 90.0])
    posterior = 2.0 + deaths
    truth = gammaln(posterior) - gammaln(2) + 2 * np.log(20) - posterior * np.log(20 + times)
    return Problem(
        lambda x: (deaths * np.log(x) - times * x).sum(axis=1),
        [st.gamma(2, scale=0.05)] * 2,
        float(truth.sum()),
    )


def autoregression() -> Problem:
    """Return a series with a mean, an autocorrelation near 1 and a spread; quadrature of two."""
    rng = np.random.default_rng(33)
    y = np.zeros(40)
    for t in range(1, 40):
        y[t] = 0.95 * y[t - 1] + 0.5 * rng.standard_normal()

    def log_likelihood(x: Any) -> Any:
        mean, phi, spread = x[:, :1], x[:, 1:2], np.exp(x[:, 2:])
        return st.norm.logpdf(y[1:] - mean - phi * (y[:-1] - mean), 0, spread).sum(axis=1)

    phi, v = np.linspace(-1, 1, 2001), np.linspace(-6, 4, 801)
    left = y[1:] - phi[:, None] * y[:-1]  # given phi, a normal with the mean (1 - phi) m
    a, s2 = (1 - phi)[:, None], np.exp(2 * v)
    total, squares = left.sum(axis=1)[:, None], np.square(left).sum(axis=1)[:, None]
    precision = 39 * a**2 / s2 + 0.25  # the prior of m is N(0, 2^2)
    logs = -39 * (v + 0.5 * np.log(2 * np.pi)) - 0.5 * squares / s2 - 0.5 * np.log(4 * precision)
    logs = logs + 0.5 * (a * total / s2) ** 2 / precision + st.norm.logpdf(v, 0, 1) + np.log(0.5)
    top = logs.max()
    inner = np.trapezoid(np.exp(logs - top), v, axis=1)
    truth = top + np.log(np.trapezoid(inner, phi))
    return Problem(log_likelihood, [st.norm(0, 2), st.uniform(-1, 2), st.norm(0, 1)], float(truth))


def two_means() -> Problem:
    """Return data of a mixture whose two means have the same prior; quadrature of both."""
    rng = np.random.default_rng(34)
    y = np.where(rng.random(40) < 0.3, -1.2, 1.0) + 0.6 * rng.standard_normal(40)

    def log_likelihood(x: Any) -> Any:
        one = np.log(0.5) + st.norm.logpdf(y, x[:, :1], 0.6)
        return np.logaddexp(one, np.log(0.5) + st.norm.logpdf(y, x[:, 1:], 0.6)).sum(axis=1)

    grid = np.linspace(-4, 4, 801)
    logs = np.array([log_likelihood(np.column_stack((np.full(801, a), grid))) for a in grid])
    logs += st.norm.logpdf(grid, 0, 3) + st.norm.logpdf(grid, 0, 3)[:, None]
    truth = np.logaddexp.reduce(logs, axis=None) + 2 * np.log(grid[1] - grid[0])
    return Problem(log_likelihood, [st.norm(0, 3)] * 2, float(truth))


def three_under_a_normal_prior(d: int) -> Problem:
    """Return three modes of unequal widths and masses under N(0, 5)."""
    rng = np.random.default_rng([35, d])
    places, widths = rng.normal(0, 4, (3, d)), np.array([0.3, 0.6, 1.2])
    weights = np.array([0.2, 0.3, 0.5])
    flat = mixture(weights, places, widths)
    parts = np.log(weights) + st.norm.logpdf(places, 0, np.hypot(5, widths)[:, None]).sum(axis=1)
    return Problem(flat.log_likelihood, [st.norm(0, 5)] * d, float(np.logaddexp.reduce(parts)))


def product_ridge() -> Problem:
    """Return a datum of a product of two normals: two branches of a hyperbola."""
    a = np.linspace(-12, 12, 400_001)
    truth = np.log(np.trapezoid(st.norm.pdf(a) * st.norm.pdf(1, 0, np.hypot(0.05, a)), a))
    return Problem(
        lambda x: st.norm.logpdf(1, x[:, 0] * x[:, 1], 0.05), [st.norm(0, 1)] * 2, float(truth)
    )


def sphere() -> Problem:
    """Return the surface of a ball in three dimensions."""
    r = np.linspace(0, 6, 60_001)
    truth = np.log(4 * np.pi * np.trapezoid(r**2 * st.norm.pdf(r, 2, 0.2), r)) - 3 * np.log(12)
    return Problem(
        lambda x: st.norm.logpdf(np.sqrt(np.square(x).sum(axis=1)), 2, 0.2),
        [st.uniform(-6, 12)] * 3,
        float(truth),
    )


def scaled_effects(groups: int = 10) -> Problem:
    """Return ten groups with effects that are a spread times standard normals; quadrature."""
    errors = np.linspace(0.5, 2.0, groups)
    y = 1.0 + np.random.default_rng(36).normal(0, np.hypot(errors, 0.7))

    def log_likelihood(x: Any) -> Any:
        return st.norm.logpdf(y, x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:], errors).sum(axis=1)

    v = np.linspace(-7, 7, 2001)
    logs = [
        st.multivariate_normal(np.zeros(groups), np.diag(errors**2 + np.exp(2 * s)) + 4).logpdf(y)
        for s in v
    ]
    truth = np.log(np.trapezoid(np.exp(logs) * st.norm.pdf(v), v))
    return Problem(log_likelihood, [st.norm(0, 2), *[st.norm(0, 1)] * (groups + 1)], float(truth))


def skewed(d: int = 8) -> Problem:
    """Return waiting times whose scales have wide log-normal priors: skewed in every coordinate."""
    n, total = np.arange(1, d + 1), np.random.default_rng(37).gamma(np.arange(1, d + 1))
    v = np.linspace(-20, 20, 200_001)[:, None]
    logs = -n * v - total * np.exp(-v) + st.norm.logpdf(v, 0, 2)
    truth = np.log(np.trapezoid(np.exp(logs), v[:, 0], axis=0)).sum()
    return Problem(
        lambda x: (-n * np.log(x) - total / x).sum(axis=1), [st.lognorm(2)] * d, float(truth)
    )


def gaussian_process() -> Problem:
    """Return a Gaussian process of 12 data: the logs of its length, its spread and its noise."""
    rng = np.random.default_rng(38)
    t = np.sort(rng.uniform(0, 5, 12))
    y = np.sin(2 * t) + 0.3 * rng.standard_normal(12)
    squares = (t[:, None] - t) ** 2

    def log_likelihood(x: Any) -> Any:
        length, spread, noise = np.exp(x.T)[:, :, None, None]
        k = spread**2 * np.exp(-0.5 * squares / length**2) + (noise**2 + 1e-10) * np.eye(12)
        solved = np.linalg.solve(k, np.broadcast_to(y[:, None], (len(x), 12, 1)))[:, :, 0]
        return -0.5 * (solved @ y + np.linalg.slogdet(k)[1]) - 6 * np.log(2 * np.pi)

    return Problem(log_likelihood, [st.norm(0, 1), st.norm(0, 1), st.norm(-1, 1)], PROCESS)


#: By quadrature with 61 nodes for each coordinate.
PROCESS = -11.574469


def in_order(d: int = 4) -> Problem:
    """Return a normal likelihood that is impossible unless the coordinates are in order."""
    from scipy.special import gammaln

    def log_likelihood(x: Any) -> Any:
        inside = st.norm.logpdf(x, 0.5, 0.1).sum(axis=1)
        return np.where((np.diff(x, axis=1) > 0).all(axis=1), inside, -np.inf)

    truth = d * np.log(1 - 2 * st.norm.sf(5)) - gammaln(d + 1)
    return Problem(log_likelihood, [st.uniform(0, 1)] * d, float(truth))


def double_exponential(d: int = 10) -> Problem:
    """Return a kink at its top and exponential tails in every coordinate."""
    truth = d * np.log((2 - np.exp(-21 / 0.5) - np.exp(-19 / 0.5)) / 2 / 40)
    return Problem(
        lambda x: st.laplace.logpdf(x, 1.0, 0.5).sum(axis=1),
        [st.uniform(-20, 40)] * d,
        float(truth),
    )


def comb() -> Problem:
    """Return twelve narrow peaks on a line."""
    return mixture(np.full(12, 1 / 12), np.linspace(-9, 9, 12)[:, None], np.full(12, 0.05))


NEW: dict[str, Callable[[], Problem]] = {
    "unknown spread": unknown_spread,
    "12 rates": many_rates,
    "sticks": sticks,
    "survival": survival,
    "autoregression": autoregression,
    "two means": two_means,
    "3 modes, normal prior, d = 10": lambda: three_under_a_normal_prior(10),
    "product ridge": product_ridge,
    "sphere": sphere,
    "scaled effects, d = 12": scaled_effects,
    "skewed, d = 8": skewed,
    "Gaussian process": gaussian_process,
    "in order, d = 4": in_order,
    "Laplace, d = 10": double_exponential,
    "comb": comb,
}
