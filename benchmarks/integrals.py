"""Integrals with known answers, each with several proposals, for importance families."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.importance import Family, Normal

Array = np.ndarray


@dataclass(frozen=True)
class Integral:
    """A family, its exact value, and V*: the variance of the best proposal by itself.

    `limits` are the limits of n MSE/V* at n = 1000 and 10^4, if there are any. `start` has the
    means and deviations of the Gaussian components that a rival starts from, if it can take part.
    `dimension` is the dimension of the points. In a `hidden` one learned proportions must fail.
    """

    name: str
    make: Callable[[], Family]
    value: float
    best: float
    limits: tuple[float | None, float | None] = (None, 1.05)
    start: tuple[Array, Array] | None = None
    target: Callable[[np.random.Generator, Array], Array] | None = None
    held_out: bool = False
    hidden: bool = False

    @property
    def perfect(self) -> bool:
        """Whether one proposal has no variance at all."""
        return self.best == 0


def phi(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def above(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def log_normal_density(x: Array) -> Array:
    """Return the log density of independent standard normals at points (n, d)."""
    return np.asarray(-0.5 * np.square(x).sum(axis=1) - 0.5 * x.shape[1] * math.log(2 * math.pi))


def log_of(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)


# -- the option of the paper

#: Prices of the Euler chain and variances of the best arm, by the recursion of paper.cir.
PRICES = {0.06: 18.4502722, 0.07: 9.2567468, 0.08: 1.8865208}
BEST = {0.06: 1.40614551, 0.07: 2.33162344, 0.08: 0.96904616}
GRID = tuple(k / 10 for k in range(16))
THREE = (0.0, 0.75, 1.5)


@dataclass(frozen=True)
class Paths:
    """The caplet's paths, their total noise drawn from any normal distribution."""

    strike: float

    def __call__(self, rng: np.random.Generator, size: int, normal: Normal) -> tuple[Array, Array]:
        """Return payoffs and totals."""
        from paper.cir import Caplet

        shift, spread = float(normal.mean[0]), float(normal.root[0, 0])
        return Caplet(strike=self.strike).simulate(rng, size, shift=shift, spread=spread)

    def at(self, rng: np.random.Generator, x: Array) -> Array:
        """Return log f p at given totals; the rest of the path is drawn as usual."""
        from paper.cir import Caplet

        # Each total has its own path, which is then moved to this total.
        caplet = Caplet(strike=self.strike)
        noise = rng.standard_normal((caplet.steps, len(x)))
        noise += (x[:, 0] - noise.sum(axis=0) / math.sqrt(caplet.steps)) / math.sqrt(caplet.steps)
        step = caplet.maturity / caplet.steps
        rate = np.full(len(x), caplet.start)
        area = 0.5 * rate
        for eps in noise:
            drift = (caplet.eta - caplet.kappa * rate) * step
            rate = rate + drift + caplet.sigma * np.sqrt(rate * step) * eps
            area += rate
        area -= 0.5 * rate
        payoff = np.exp(-area * step) * caplet.notional * np.maximum(rate - self.strike, 0)
        return log_of(payoff) + log_normal_density(x)


def option(strike: float, limits: tuple[float, float]) -> Integral:
    paths = Paths(strike)
    start = np.array(GRID)[:, None]
    return Integral(
        f"option {strike}",
        lambda: Family.simulated(paths, GRID),
        PRICES[strike],
        BEST[strike],
        limits,
        start=(start, np.ones_like(start)),
        target=paths.at,
    )


# -- points in many dimensions that are moved


def tilted(
    name: str, f: Callable[[Array], Array], shifts: Array, value: float, best: float, **more: Any
) -> Integral:
    return Integral(
        name,
        lambda: Family.tilted(f, shifts),
        value,
        best,
        start=(shifts, np.ones_like(shifts)),
        target=lambda rng, x: log_of(np.asarray(f(x), float)) + log_normal_density(x),
        **more,
    )


def rare_event() -> Integral:
    """P(sum x > 4 sqrt(10)) in 10 dimensions; V = e^{|m|^2} P(z > 4 + u.m) - P^2."""
    u = np.full(10, 1 / math.sqrt(10))
    aside = np.zeros((3, 10))
    aside[0, :2], aside[1, 2:4], aside[2, 4:6] = (1, -1), (1.5, -1.5), (-1, 1)
    shifts = np.array([0 * u, 2 * u, 3 * u, 4 * u, 5 * u, *(4 * u + aside)])
    value = above(4)
    moments = [math.exp(m @ m) * above(4 + u @ m) for m in shifts]
    return tilted(
        "rare event, 10 dimensions",
        lambda x: x.sum(axis=1) > 4 * math.sqrt(10),
        shifts, value, min(moments) - value**2,
    )  # fmt: skip


def basket() -> Integral:
    """A call on the mean of five independent lognormal shares, out of the money."""

    def payoff(x: Array) -> Array:
        return np.maximum(100 * np.exp(0.3 * x - 0.045).mean(axis=1) - 115, 0)

    u = np.full(5, 1 / math.sqrt(5))
    shifts = np.array([0 * u, u, 1.5 * u, 2 * u, 3 * u, np.eye(5)[0] * 2, np.eye(5)[1] * 2])
    return tilted("basket option, 5 dimensions", payoff, shifts, *quasi(payoff, shifts))


def quasi(f: Callable[[Array], Array], shifts: Array) -> tuple[float, float]:
    """Return E f and the smallest variance of the shifts, by a scrambled Sobol sequence.

    E_m[(w f)^2] = e^{|m|^2} E_{-m}[f^2]; the points are drawn where f^2 is large.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    centre = np.full(shifts.shape[1], 1.5 / math.sqrt(shifts.shape[1]))
    first, second = [], []
    for seed in range(2):
        x = ndtri(qmc.Sobol(shifts.shape[1], rng=seed).random_base2(17)) + centre
        y, w = f(x), np.exp(-x @ centre + centre @ centre / 2)
        first.append((w * y).mean())
        # (f p)^2/q_m relative to the density of x: w times f^2 p/q_m.
        ratios = np.exp(-x @ shifts.T + np.square(shifts).sum(axis=1) / 2)
        second.append((w[:, None] * np.square(y)[:, None] * ratios).mean(axis=0))
    value = float(np.mean(first))
    return value, float(np.mean(second, axis=0).min()) - value**2


def nearly_equal() -> Integral:
    """E max(x1 - 1.5, 0) with 64 proposals close to each other in three dimensions."""
    near = np.random.default_rng(64).normal(0, 0.25, (64, 3))
    shifts = near + np.array([2.0, 0.0, 0.0])

    def squared(m: float) -> float:
        a = m - 1.5
        return (a * a + 1) * above(-a) + a * phi(a)

    value = phi(1.5) - 1.5 * above(1.5)
    moments = [math.exp(m @ m) * squared(-m[0]) for m in shifts]
    return tilted(
        "64 nearly equal proposals",
        lambda x: np.maximum(x[:, 0] - 1.5, 0),
        shifts, value, min(moments) - value**2,
    )  # fmt: skip


def perfect() -> Integral:
    """E e^x, for which N(1, 1) has no variance at all."""
    shifts = np.array([[0.0], [1.0], [2.0]])
    return tilted("one proposal perfect", lambda x: np.exp(x[:, 0]), shifts, math.exp(0.5), 0.0)


def useless() -> Integral:
    """P(x > 3) with one good proposal and eleven that point elsewhere."""
    shifts = np.zeros((12, 6))
    shifts[0, 0] = 3.15
    for k in range(1, 12):
        shifts[k, 1 + (k - 1) % 5] = 2.0 if k < 6 else -2.0
        shifts[k, 0] = -1.0
    value = above(3)
    moments = [math.exp(m @ m) * above(3 + m[0]) for m in shifts]
    return tilted("11 of 12 useless", lambda x: x[:, 0] > 3, shifts, value, min(moments) - value**2)


@dataclass(frozen=True)
class Noisy:
    """f = (1 + x) + 3 noise: the densities say nothing about the noise."""

    def __call__(self, rng: np.random.Generator, size: int, normal: Normal) -> tuple[Array, Array]:
        """Return values of f, and x."""
        x = normal.sample(rng, size)
        return 1 + x[:, 0] + 3 * rng.standard_normal(size), x


def noise() -> Integral:
    shifts = np.array([-0.5, 0.0, 0.5])
    moments = [math.exp(m * m) * (1 + (1 - m) ** 2 + 9) for m in shifts]
    return Integral(
        "noise that no control explains",
        lambda: Family.simulated(Noisy(), shifts),
        1.0,
        min(moments) - 1,
        held_out=True,
    )


# -- one dimension, by quadrature


def line(
    name: str,
    log_target: Callable[[Array], Array],
    f: Callable[[Array], Array],
    proposals: dict[str, Any],
    start: tuple[Array, Array] | None,
    **more: Any,
) -> Integral:
    """Return an integral over the line: value and variances by the trapezoid rule in sinh(u)."""
    u = np.linspace(-25, 25, 400_001)
    x = np.sinh(u)
    step = np.cosh(u) * (u[1] - u[0])
    fp = f(x) * np.exp(log_target(x))
    value = float(fp @ step)
    best = math.inf
    for one in proposals.values():
        log_q = one.logpdf(x[:, None]) if isinstance(one, Normal) else one[1](x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(fp == 0, 0.0, np.square(fp) / np.exp(log_q))
        second = float(ratio @ step)  # infinite where the proposal does not reach
        if math.isfinite(second):
            best = min(best, second - value**2)

    def log_fp(rng: np.random.Generator, points: Array) -> Array:
        return log_of(f(points[:, 0])) + log_target(points[:, 0])

    return Integral(
        name,
        lambda: Family(log_target, {k: _flat(q) for k, q in proposals.items()}, f, normalised=True),
        value, best, start=start, target=log_fp, **more,
    )  # fmt: skip


def _flat(one: Any) -> Any:
    """Return a normal distribution of one number as functions of points (n,)."""
    if not isinstance(one, Normal):
        return one
    return lambda rng, size: one.sample(rng, size)[:, 0], lambda x: one.logpdf(x[:, None])


def bell(x: Array, mean: float, spread: float) -> Array:
    return np.asarray(
        -0.5 * np.square((x - mean) / spread) - math.log(spread * math.sqrt(2 * math.pi))
    )


def normals(*pairs: tuple[float, float]) -> tuple[dict[str, Any], tuple[Array, Array]]:
    """Return normal proposals by mean and deviation, and the same for a rival to start from."""
    named = {f"N({m:g}, {s:g})": Normal(m, s) for m, s in pairs}
    points = np.array(pairs)
    return named, (points[:, :1], points[:, 1:])


def two_modes() -> Integral:
    proposals, start = normals((-3, 0.6), (3, 0.6), (0, 3))
    return line(
        "two modes",
        lambda x: np.logaddexp(bell(x, -3, 0.5), bell(x, 3, 0.5)) - math.log(2),
        lambda x: np.square(x), proposals, start,
    )  # fmt: skip


def student(df: float, scale: float = 1.0) -> tuple[Callable[..., Array], Callable[..., Array]]:
    constant = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)

    def logpdf(x: Array) -> Array:
        away = np.log1p(np.square(x / scale) / df)
        return np.asarray(constant - math.log(scale) - 0.5 * (df + 1) * away)

    return lambda rng, size: scale * rng.standard_t(df, size), logpdf


def heavy_tails() -> Integral:
    proposals = {
        "t(2)": student(2), "t(3)": student(3), "t(3) x 2": student(3, 2.0), "cauchy": student(1),
    }  # fmt: skip
    start = np.zeros((3, 1)), np.array([[1.0], [2.0], [5.0]])
    return line("heavy tails", student(4)[1], np.abs, proposals, start)


def half_normal() -> tuple[Callable[..., Array], Callable[..., Array]]:
    def logpdf(x: Array) -> Array:
        return np.where(x > 0, bell(x, 0, 1) + math.log(2), -np.inf)

    return lambda rng, size: np.abs(rng.standard_normal(size)), logpdf


def gap() -> Integral:
    wide, start = normals((0, 2), (0.5, 1.5))
    return line(
        "one does not cover the target",
        lambda x: bell(x, 0, 1),
        lambda x: np.square(x), {"half": half_normal(), **wide}, start,
    )  # fmt: skip


def hidden_mode() -> Integral:
    """Half the answer lies where only the last proposal draws, with 1 in 28 of its draws.

    The other half is rough, so all the remaining variance is there, and the last proposal gets too
    few draws.
    """
    proposals, start = normals(*((m / 4, 1.1) for m in range(-3, 4)), (10.4, 1.2))
    return line(
        "hidden mode",
        lambda x: np.logaddexp(bell(x, 0, 1), bell(x, 8, 0.3)) - math.log(2),
        lambda x: np.where(x < 5, 1 + np.sin(12 * x), 1.0), proposals, start, hidden=True,
    )  # fmt: skip


# -- two that were not used for tuning


def beta_law(a: float, b: float) -> tuple[Callable[..., Array], Callable[..., Array]]:
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)

    def logpdf(x: Array) -> Array:
        inside = (x > 0) & (x < 1)
        y = np.where(inside, x, 0.5)
        density = constant + (a - 1) * np.log(y) + (b - 1) * np.log1p(-y)
        return np.where(inside, density, -np.inf)

    return lambda rng, size: rng.beta(a, b, size), logpdf


def evidence() -> Integral:
    """The evidence of 14 successes in 20 tosses under a uniform prior: 1/21 without 20 over 14."""
    proposals = {f"beta({a}, {b})": beta_law(a, b) for a, b in ((1, 1), (4, 2), (9, 5), (20, 8))}
    prior = beta_law(1, 1)[1]
    x = (np.arange(400_000) + 0.5) / 400_000

    def f(x: Array) -> Array:
        return np.asarray(np.exp(14 * np.log(x) + 6 * np.log1p(-x)))

    value = float(f(x).mean())
    moments = [float((np.square(f(x)) / np.exp(q(x))).mean()) for _, q in proposals.values()]
    return Integral(
        "beta-binomial evidence",
        lambda: Family(prior, proposals, f, normalised=True),
        value, min(moments) - value**2, held_out=True,
    )  # fmt: skip


def counts() -> Integral:
    """P(X >= 20) of a Poisson number with the mean 5, from Poisson numbers of other means."""
    k = np.arange(150)
    log_factorial = np.array([math.lgamma(i + 1) for i in k])

    def law(mean: float) -> tuple[Callable[..., Array], Callable[..., Array]]:
        return (
            lambda rng, size: rng.poisson(mean, size),
            lambda x: x * math.log(mean) - mean - log_factorial[np.minimum(x, 149)],
        )

    proposals = {f"poisson({m})": law(m) for m in (5, 10, 15, 20, 25)}
    fp = np.where(k >= 20, np.exp(law(5)[1](k)), 0.0)
    value = float(fp.sum())
    moments = [float((np.square(fp) / np.exp(q(k))).sum()) for _, q in proposals.values()]
    return Integral(
        "tail of a Poisson number",
        lambda: Family(law(5)[1], proposals, lambda x: x >= 20, normalised=True),
        value, min(moments) - value**2, held_out=True,
    )  # fmt: skip


MAKERS: dict[str, Callable[[], Integral]] = {
    "option 0.06": lambda: option(0.06, (0.10, 0.08)),
    "option 0.07": lambda: option(0.07, (0.08, 0.07)),
    "option 0.08": lambda: option(0.08, (0.18, 0.14)),
    "rare event, 10 dimensions": rare_event,
    "basket option, 5 dimensions": basket,
    "two modes": two_modes,
    "heavy tails": heavy_tails,
    "64 nearly equal proposals": nearly_equal,
    "one proposal perfect": perfect,
    "one does not cover the target": gap,
    "11 of 12 useless": useless,
    "hidden mode": hidden_mode,
    "beta-binomial evidence": evidence,
    "tail of a Poisson number": counts,
    "noise that no control explains": noise,
}
