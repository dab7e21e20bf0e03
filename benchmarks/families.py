"""The cases: families of arms whose mean and variances are known exactly, and repeated runs."""

from __future__ import annotations

import math
import multiprocessing
import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

import croupier as cr

Draw = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class Family:
    """Arms with one mean, their variances, and their mean costs if they differ.

    `held_out` means that this family was not used to choose a constant of croupier. `limits` are
    the largest allowed I at the three budgets. `slack` is the largest allowed empirical ratio,
    relative to I, at the first budget (1.10 at the others).
    """

    name: str
    arms: tuple[Draw, ...]
    variances: tuple[float, ...]
    mean: float = 1.0
    costs: tuple[float, ...] | None = None
    held_out: bool = False
    limits: tuple[float, float, float] = (math.inf, 1.15, 1.15)
    slack: float = 1.15

    def named(self) -> dict[str, Draw]:
        """Return the arms as `estimate` takes them."""
        return {f"arm {k}": arm for k, arm in enumerate(self.arms)}

    def bandit(self, name: str) -> Any:
        """Return a policy of the paper with a range that favours it; a user would not know it.

        Values: three standard deviations of the best arm on either side of the mean. Costs: up to
        three times those of the most expensive arm. Payoffs outside the range are clipped, so
        that losses in [0, 1] have the moment and the subgaussian coefficient of the examples.
        """
        spread = 3 * math.sqrt(min(self.variances))
        ranges = {"bounds": (self.mean - spread, self.mean + spread), "clip": True}
        if self.costs is not None:
            ranges["cost_bounds"] = (0.0, 3 * max(self.costs))
        return replace(cr.policies.REGISTRY[name].example(), **ranges)

    def losses(self) -> np.ndarray:
        """Return cost times variance of every arm."""
        return np.array(self.variances) * (1.0 if self.costs is None else np.array(self.costs))

    def share(self, draws: np.ndarray, spent: np.ndarray | float) -> np.ndarray:
        """Return I = C/((delta V)* sum n_k/V_k): what the allocation costs, without noise.

        1 is the best arm in hindsight; ideal inverse-variance weights are assumed.
        """
        precision = (draws / np.array(self.variances)).sum(axis=-1)
        return np.asarray(spent / (self.losses().min() * precision))


# -- arms


def normal(variance: float, mean: float = 1.0) -> Draw:
    return lambda rng, size: rng.normal(mean, math.sqrt(variance), size)


def lognormal(sigma: float) -> Draw:
    return lambda rng, size: rng.lognormal(-sigma * sigma / 2, sigma, size)


def scaled_bernoulli(s: float) -> Draw:
    return lambda rng, size: 0.5 + s * ((rng.random(size) < 0.5) - 0.5)


RARE = 1e-3
_BEYOND = NormalDist().inv_cdf(1 - RARE)


def tilted(theta: float) -> Draw:
    """Return P(Z > z)/1e-3 by sampling from N(theta, 1)."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        x = rng.normal(theta, 1.0, size)
        return np.where(x > _BEYOND, np.exp(theta * theta / 2 - theta * x) / RARE, 0.0)

    return draw


def tilted_variance(theta: float) -> float:
    tail = NormalDist().cdf(-(_BEYOND + theta))
    return math.exp(theta * theta) * tail / RARE**2 - 1


def costly(draw: Draw, cost: Callable[[np.random.Generator, np.ndarray], Any]) -> Draw:
    """Return an arm that reports what its draws cost."""

    def costing(rng: np.random.Generator, size: int) -> cr.Draws:
        values = draw(rng, size)
        return cr.Draws(values, cost(rng, values))

    return costing


def lognormal_of(variance: float) -> Draw:
    return lognormal(math.sqrt(math.log1p(variance)))


def correlated(variance: float, cost: float) -> Draw:
    """Return normal draws whose cost is larger for larger values: correlation about 0.47."""
    spread = math.sqrt(variance)

    def draw(rng: np.random.Generator, size: int) -> cr.Draws:
        z = rng.standard_normal(size)
        return cr.Draws(1 + spread * z, cost * np.exp(0.5 * z - 0.125))

    return draw


COSTS = (1.0, 5.0, 20.0)


def priced(losses: tuple[float, float, float]) -> tuple[float, ...]:
    """Return the variances that give these products of cost and variance."""
    return tuple(loss / cost for loss, cost in zip(losses, COSTS, strict=True))


def _fixed_costs() -> Family:
    variances = priced((1.1, 1.0, 1.2))
    arms = (
        costly(normal(v), lambda rng, values, c=c: np.full(len(values), c))
        for v, c in zip(variances, COSTS, strict=True)
    )
    return Family("costs-fixed", tuple(arms), variances, costs=COSTS, limits=WITH_COSTS)


def _exponential_costs() -> Family:
    variances = priced((1.2, 1.0, 1.5))
    arms = (
        costly(normal(v), lambda rng, values, c=c: rng.exponential(c, len(values)) + 1e-12)
        for v, c in zip(variances, COSTS, strict=True)
    )
    return Family("costs-exponential", tuple(arms), variances, costs=COSTS, limits=WITH_COSTS)


def _lognormal_costs() -> Family:
    variances = priced((1.3, 1.0, 1.5))
    arms = (
        costly(lognormal_of(v), lambda rng, values, c=c: c * rng.lognormal(-0.5, 1.0, len(values)))
        for v, c in zip(variances, COSTS, strict=True)
    )
    return Family("costs-lognormal", tuple(arms), variances, costs=COSTS, limits=WITH_COSTS)


def _correlated_costs() -> Family:
    variances = priced((1.2, 1.0, 1.5))
    arms = (correlated(v, c) for v, c in zip(variances, COSTS, strict=True))
    return Family("costs-correlated", tuple(arms), variances, costs=COSTS, limits=WITH_COSTS)


FEW = (1.02, 1.01, 1.005)
MANY = (1.25, 1.08, 1.02)
HUNDRED = (1.5, 1.25, 1.10)
WITH_COSTS = (1.3, 1.13, 1.03)

_MIX = (1.1, 2.0, 10.0)
_NORMAL_16 = (1.0, *(_MIX * 5))
_NORMAL_100 = (1.0, *(_MIX * 33))
_SIGMAS = (0.5, 0.6, 1.0, 1.5, 2.0)
_TRAP = (0.7, 0.9, 1.5, 3.0)
_TILTS = (0.0, 1.0, 2.0, 3.0, 3.3, 4.5)

NAMED = (
    Family(
        "two-bernoulli",
        (scaled_bernoulli(0.1), scaled_bernoulli(0.3)),
        (0.1**2 / 4, 0.3**2 / 4),
        mean=0.5,
        limits=FEW,
    ),
    Family("normal-3", tuple(normal(v) for v in (1.0, 1.1, 2.0)), (1.0, 1.1, 2.0), limits=MANY),
    Family("normal-16", tuple(normal(v) for v in _NORMAL_16), _NORMAL_16, limits=MANY),
    Family("normal-100", tuple(normal(v) for v in _NORMAL_100), _NORMAL_100, limits=HUNDRED),
    Family(
        "lognormal",
        tuple(lognormal(s) for s in _SIGMAS),
        tuple(math.expm1(s * s) for s in _SIGMAS),
        limits=MANY,
    ),
    Family(
        "lognormal-trap",
        tuple(lognormal(s) for s in _TRAP),
        tuple(math.expm1(s * s) for s in _TRAP),
        limits=MANY,
        slack=1.3,
    ),
    Family(
        "rare-event",
        tuple(tilted(t) for t in _TILTS),
        tuple(tilted_variance(t) for t in _TILTS),
        limits=MANY,
        slack=1.3,
    ),
    _fixed_costs(),
    _exponential_costs(),
    _lognormal_costs(),
    _correlated_costs(),
)


# -- families that were not used for tuning


def student(df: float, scale: float) -> Draw:
    return lambda rng, size: 1 + scale * rng.standard_t(df, size)


def gamma(shape: float) -> Draw:
    return lambda rng, size: rng.gamma(shape, 1 / shape, size)


def laplace(scale: float) -> Draw:
    return lambda rng, size: rng.laplace(0.0, scale, size)


def contaminated(spread: float, share: float, factor: float) -> Draw:
    """Return normal draws, where a share of them is `factor` times as wide."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        wide = np.where(rng.random(size) < share, factor, 1.0)
        return 1 + spread * wide * rng.standard_normal(size)

    return draw


def poisson(rate: float) -> Draw:
    return lambda rng, size: rng.poisson(rate, size) / rate


def beta(a: float, b: float) -> Draw:
    return lambda rng, size: rng.beta(a, b, size) * (a + b) / a


def weibull(shape: float) -> Draw:
    mean = math.gamma(1 + 1 / shape)
    return lambda rng, size: rng.weibull(shape, size) / mean


def _beta_variance(a: float, b: float) -> float:
    return b / (a * (a + b + 1))


def _weibull_variance(shape: float) -> float:
    return math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1


_CONTAMINATED = ((1.0, 0.0, 1.0), (0.5, 0.01, 10.0), (0.8, 0.05, 4.0), (2.0, 0.0, 1.0))
_BETAS = ((2.0, 2.0), (0.5, 0.5), (1.0, 5.0), (8.0, 2.0), (0.2, 1.0))
_TIES = tuple(1 + 0.01 * k for k in range(8))
_LADDER = tuple(1.25**k for k in range(40))

HELD_OUT = (
    Family(
        "student-5",
        tuple(student(5, s) for s in (1.0, 1.1, 1.5, 3.0)),
        tuple(s * s * 5 / 3 for s in (1.0, 1.1, 1.5, 3.0)),
        held_out=True,
    ),
    Family(
        "gamma",
        tuple(gamma(a) for a in (4.0, 3.0, 1.0, 0.5, 0.2)),
        tuple(1 / a for a in (4.0, 3.0, 1.0, 0.5, 0.2)),
        held_out=True,
    ),
    Family(
        "laplace-mean-0",
        tuple(laplace(s) for s in (1.0, 1.2, 2.0, 5.0)),
        tuple(2 * s * s for s in (1.0, 1.2, 2.0, 5.0)),
        mean=0.0,
        held_out=True,
    ),
    Family(
        "contaminated",
        tuple(contaminated(*c) for c in _CONTAMINATED),
        tuple(s * s * (1 - e + e * f * f) for s, e, f in _CONTAMINATED),
        held_out=True,
    ),
    Family(
        "poisson",
        tuple(poisson(r) for r in (5.0, 3.0, 1.0, 0.1, 0.01)),
        tuple(1 / r for r in (5.0, 3.0, 1.0, 0.1, 0.01)),
        held_out=True,
    ),
    Family(
        "beta",
        tuple(beta(a, b) for a, b in _BETAS),
        tuple(_beta_variance(a, b) for a, b in _BETAS),
        held_out=True,
    ),
    Family(
        "weibull",
        tuple(weibull(c) for c in (3.0, 1.5, 1.0, 0.7, 0.5)),
        tuple(_weibull_variance(c) for c in (3.0, 1.5, 1.0, 0.7, 0.5)),
        held_out=True,
    ),
    Family("near-ties", tuple(normal(v) for v in _TIES), _TIES, held_out=True),
    Family("ladder-40", tuple(normal(v) for v in _LADDER), _LADDER, held_out=True),
)

FAMILIES = {family.name: family for family in (*NAMED, *HELD_OUT)}


# -- for coverage only


def _equal(name: str, draw: Draw, variance: float, arms: int, mean: float = 1.0) -> Family:
    return Family(name, (draw,) * arms, (variance,) * arms, mean=mean)


def pareto(a: float) -> Draw:
    return lambda rng, size: (rng.pareto(a, size) + 1) * (a - 1) / a


def _constant(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.ones(size)


def rare(p: float) -> Draw:
    return lambda rng, size: (rng.random(size) < p) / p


PROMISED = (
    FAMILIES["normal-3"],
    Family(
        "lognormal-1",
        (lognormal(1.0), lognormal(1.2)),
        (math.expm1(1.0), math.expm1(1.44)),
    ),
    FAMILIES["rare-event"],
    _equal("16-equal-normal", normal(1.0), 1.0, 16),
    _equal("16-equal-exponential", gamma(1.0), 1.0, 16),
    FAMILIES["costs-correlated"],
    Family(
        "offset-1e9",
        tuple(normal(v, 1e9) for v in (1e-6, 2e-6)),
        (1e-6, 2e-6),
        mean=1e9,
    ),
)
HARD = (
    _equal("lognormal-2", lognormal(2.0), math.expm1(4.0), 1),
    _equal("student-3", student(3, 1.0), 3.0, 1),
    _equal("pareto-2.5", pareto(2.5), 1 / (2.5 * 0.5), 1),
    _equal("16-equal-lognormal", lognormal(1.0), math.expm1(1.0), 16),
    Family("constant-and-rare", (_constant, rare(1e-3), rare(1e-4)), (0.0, 999.0, 9999.0)),
)


# -- repeated runs

CASES: dict[str, Family] = {
    **FAMILIES,
    **{family.name: family for family in (*PROMISED, *HARD)},
}
LEVELS = (0.95, 0.99)

#: The policies that need a range.
PAPER = ("ucb1", "ucb-v", "kl-ucb", "thompson", "moss", "tightest", "subgaussian-ucb", "robust-ucb")
_CHUNK = 20


@dataclass(frozen=True)
class Runs:
    """The results of many runs: draws per arm (R, K), cost, value, intervals at both levels."""

    draws: np.ndarray
    cost: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    stopped: np.ndarray

    def covered(self, mean: float, level: int = 0) -> float:
        """Return the share of the runs whose interval holds the true mean."""
        return float(((self.low[:, level] <= mean) & (mean <= self.high[:, level])).mean())


def _play(job: tuple[str, str, dict[str, Any], Sequence[int]]) -> list[tuple[Any, ...]]:
    name, policy, settings, seeds = job
    family = CASES[name]
    chosen: Any = policy
    if policy == "oracle":
        chosen = cr.policies.Fixed(f"arm {int(family.losses().argmin())}")
    elif policy in PAPER:
        chosen = family.bandit(policy)
    arms = family.named()
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            result = cr.estimate(arms, policy=chosen, rng=seed, progress=False, **settings)
            bounds = [result.confidence_interval(level) for level in LEVELS]
            rows.append(
                (
                    [row.draws for row in result.arms],
                    result.cost,
                    result.value,
                    [low for low, _ in bounds],
                    [high for _, high in bounds],
                    result.stopped,
                )
            )
    return rows


def replicate(family: Family, policy: str, runs: int, **settings: Any) -> Runs:
    """Run a family `runs` times with its own seeds; the same call gives the same numbers."""
    base = zlib.crc32(repr((family.name, policy, sorted(settings.items()))).encode()) * 1_000_000
    seeds = range(base, base + runs)
    jobs = [(family.name, policy, settings, seeds[i : i + _CHUNK]) for i in range(0, runs, _CHUNK)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        rows = [row for part in pool.imap(_play, jobs) for row in part]
    return Runs(*(np.array(column) for column in zip(*rows, strict=True)))
