"""Priors: the distributions that chains start from, each converted once to its batch form.

Every accepted form of a prior becomes functions from arrays (chains, d) to arrays (chains,).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = [
    "IMPROPER",
    "JOINT",
    "OURS",
    "WAY_OUT",
    "Correlated",
    "Frozen",
    "Independent",
    "NormalPrior",
    "Pair",
    "Prior",
    "PriorLike",
    "UniformPrior",
    "as_prior",
    "bounds_of",
    "each_point",
    "is_scipys",
]

PriorLike: TypeAlias = Any

WAY_OUT: Final = (
    "give a frozen distribution of scipy.stats, a list of them (one per coordinate), or a pair of "
    "functions (sample(rng, size), logpdf(points))"
)


#: What is said of a prior whose density has no finite integral.
IMPROPER: Final = (
    "the prior is improper: {}. Its integral is infinite, so the evidence is not defined: any "
    "constant factor of the prior is a factor of Z. Give a proper prior, for example a wide normal "
    "distribution, and see how log Z depends on its width"
)

#: The way out if prior and likelihood are known only together.
JOINT: Final = (
    "give a distribution q that covers the posterior as prior=, and log_joint(x) - q.logpdf(x) as "
    "log_likelihood"
)


class Prior(Protocol):
    """The distribution that chains start from."""

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent points, an array (size, d)."""

    def logpdf(self, points: Floats) -> Any:
        """Return the log-density at each of the points (m, d), an array (m,)."""


@dataclass(frozen=True)
class NormalPrior:
    """Independent normal coordinates, the most frequent prior, without scipy's overhead."""

    mean: Floats  # (d,)
    spread: Floats  # (d,)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return mean + spread Z."""
        return self.mean + self.spread * rng.standard_normal((size, len(self.mean)))

    def logpdf(self, points: Floats) -> Floats:
        """Return -sum(z^2)/2 - sum log(spread) - (d/2) log(2 pi)."""
        z = (points - self.mean) / self.spread
        return np.asarray(-0.5 * np.einsum("ij,ij->i", z, z) - self._scale)

    @cached_property
    def _scale(self) -> float:
        return _scale_of(self.spread)


@dataclass(frozen=True)
class Correlated:
    """A normal distribution with a covariance of full rank, root root^T."""

    mean: Floats  # (d,)
    root: Floats  # (d, d), lower triangular

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return mean + root Z."""
        return self.mean + rng.standard_normal((size, len(self.mean))) @ self.root.T

    def logpdf(self, points: Floats) -> Floats:
        """Return -|root^-1 (x - mean)|^2/2 - log|root| - (d/2) log(2 pi)."""
        z = np.linalg.solve(self.root, (points - self.mean).T)
        return np.asarray(-0.5 * np.einsum("ij,ij->j", z, z) - _scale_of(self.root.diagonal()))

    @property
    def spread(self) -> Floats:
        """The standard deviation of each coordinate."""
        return np.asarray(np.sqrt(np.square(self.root).sum(axis=1)))


@dataclass(frozen=True)
class UniformPrior:
    """Independent uniform coordinates, without scipy's overhead."""

    low: Floats  # (d,)
    high: Floats  # (d,)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return low + (high - low) U."""
        return self.low + (self.high - self.low) * rng.random((size, len(self.low)))

    def logpdf(self, points: Floats) -> Floats:
        """Return -sum log(high - low) between the bounds, -inf elsewhere."""
        inside = ((points >= self.low) & (points <= self.high)).all(axis=1)
        return np.where(inside, -self._scale, -np.inf)

    @property
    def mean(self) -> Floats:
        """The middle of each coordinate."""
        return np.asarray(0.5 * (self.low + self.high))

    @property
    def spread(self) -> Floats:
        """The distance between the quartiles, in standard deviations of a normal distribution."""
        return np.asarray((self.high - self.low) / 2.698)

    @cached_property
    def _scale(self) -> float:
        return float(np.log(self.high - self.low).sum())


#: Priors that need no first look and no checks.
OURS: Final = (NormalPrior, Correlated, UniformPrior)


def _scale_of(roots: Floats) -> float:
    """Return the log of the integral of exp(-|z|^2/2), with the diagonal of a root."""
    return float(np.log(roots).sum()) + 0.5 * len(roots) * math.log(2 * math.pi)


@dataclass(frozen=True)
class Frozen:
    """A frozen distribution of scipy.stats, of one coordinate or of several."""

    distribution: Any

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return scipy's draws, one axis for a distribution of one coordinate."""
        if hasattr(self.distribution, "rvs"):
            points = np.asarray(self.distribution.rvs(size=size, random_state=rng))
        else:  # the newer distributions, scipy.stats.Normal and so on
            points = np.asarray(self.distribution.sample(size, rng=rng))
        return points if points.shape[:1] == (size,) else points.reshape(size, -1)

    def logpdf(self, points: Floats) -> Any:
        """Return scipy's log-density."""
        return self.distribution.logpdf(points)


@dataclass(frozen=True)
class Independent:
    """A list of distributions, one for each coordinate."""

    coordinates: tuple[Frozen, ...]

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return a column from each."""
        columns = [each.sample(rng, size) for each in self.coordinates]
        for item, column in enumerate(columns):
            if column.size != size:
                raise PlanError(
                    f"item {item} of the list that is the prior has {column.size // size} "
                    "coordinates, and a list has one distribution per coordinate: give a pair of "
                    "functions (sample(rng, size), logpdf(points)) of all coordinates at once"
                )
        return np.column_stack([column.reshape(size) for column in columns])

    def logpdf(self, points: Floats) -> Floats:
        """Return the sum of the log-densities."""
        if self._alike:  # one call is enough
            return np.asarray(self.coordinates[0].logpdf(points).sum(axis=1))
        columns = zip(self.coordinates, points.T, strict=True)
        return np.asarray(sum(each.logpdf(column) for each, column in columns))

    @cached_property
    def _alike(self) -> bool:
        first = self.coordinates[0].distribution
        same = all(each.distribution is first for each in self.coordinates)
        return same and is_scipys(first)


@dataclass(frozen=True)
class Pair:
    """The user's two functions: sample(rng, size) and logpdf(points).

    `by_point` means that `logpdf` is compiled and takes one point.
    """

    sample_function: Callable[[np.random.Generator, int], Any]
    logpdf_function: Callable[[Any], Any]
    by_point: bool = False

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return what the user's `sample` returns."""
        return self.sample_function(rng, size)

    def logpdf(self, points: Floats) -> Any:
        """Return what the user's `logpdf` returns."""
        if self.by_point:
            return each_point(self.logpdf_function, points)
        return self.logpdf_function(points)


def as_prior(prior: PriorLike) -> Prior:
    """Return a prior in its batch form, from any of the accepted forms.

    A distribution that is not frozen has scipy's standard parameters: st.norm is st.norm(0, 1).

    >>> import numpy as np, scipy.stats as st
    >>> as_prior([st.norm(0, 1), st.norm(0, 2)]).sample(np.random.default_rng(0), 5).shape
    (5, 2)
    """
    if isinstance(prior, tuple) and len(prior) == 2 and all(map(callable, prior)):
        return Pair(*prior)
    _check_proper(prior)
    if isinstance(prior, Mapping):
        raise PlanError(
            "a prior of several coordinates is a list, not a dict: points have no names; give "
            "list(prior.values()), in the order in which log_likelihood reads its coordinates"
        )
    if isinstance(prior, Sequence) and not isinstance(prior, str):
        for item, each in enumerate(prior):
            _check_distribution(each, f"item {item} of the list that is the prior")
        if not prior or not all(map(_one_coordinate, prior)):
            raise PlanError(
                f"a list as a prior is one distribution per coordinate, got {prior!r}; for bounds "
                f"(low, high), give st.uniform(low, high - low); or {WAY_OUT}"
            )
        prior = [part for each in prior for part in _coordinates(each)]
        for find, kind in ((_normal, NormalPrior), (_uniform, UniformPrior)):
            # [law] * d is one object, and scipy takes long to answer.
            once = {id(each): find(each) for each in {id(each): each for each in prior}.values()}
            simple = [once[id(each)] for each in prior]
            if all(each is not None for each in simple):
                return kind(*map(np.concatenate, zip(*simple, strict=True)))
        return Independent(tuple(map(Frozen, prior)))
    if isinstance(prior, (*OURS, Frozen, Independent, Pair)):
        return prior
    _check_distribution(prior, "the prior")
    if len(coordinates := _coordinates(prior)) > 1:
        return as_prior(coordinates)
    sampled = hasattr(prior, "rvs") or hasattr(prior, "sample")
    if not sampled or not hasattr(prior, "logpdf"):
        lacks = "be sampled" if not sampled else "be evaluated: it has no logpdf"
        raise PlanError(f"the prior {prior!r} cannot {lacks}; {WAY_OUT}")
    if (normal := _normal(prior)) is not None:
        return NormalPrior(*normal)
    if (uniform := _uniform(prior)) is not None:
        return UniformPrior(*uniform)
    return _multivariate_normal(prior) or Frozen(prior)


def _check_proper(prior: Any) -> None:
    """Refuse what can only mean a prior without an integral, or a density without a sample."""
    if prior is None:
        raise PlanError(
            f"no prior: {WAY_OUT}; or prior_transform= with dimensions=, a function of the unit "
            f"cube. If you only have a joint log-density, {JOINT}"
        )
    if callable(prior) and not hasattr(prior, "logpdf") and not hasattr(prior, "rvs"):
        raise PlanError(
            f"the prior is a function, {prior!r}, which cannot be sampled; {WAY_OUT}; if you only "
            f"have a joint log-density, {JOINT}"
        )
    if isinstance(prior, str) and prior.lower() in ("flat", "improper", "jeffreys"):
        raise PlanError(IMPROPER.format(f"{prior!r}"))
    items = prior if isinstance(prior, list | tuple) else [prior]
    for item, each in enumerate(items):
        if type(getattr(each, "dist", None)).__name__ not in ("uniform_gen", "loguniform_gen"):
            continue
        given = [*each.args, *each.kwds.values()]
        if not np.isfinite(np.asarray(given, dtype=float)).all():
            which = f"item {item} of the list that is the prior" if items is prior else "it"
            raise PlanError(IMPROPER.format(f"{which} is a uniform distribution without bounds"))


def _check_distribution(prior: Any, what: str) -> None:
    """Refuse a distribution of scipy.stats that has no density or no parameters."""
    law = getattr(prior, "dist", prior)
    kinds = {kind.__name__ for kind in type(law).__mro__}
    name = getattr(law, "name", None) or type(prior).__name__.removesuffix("_frozen")
    continuous = hasattr(prior, "logpdf") and "DiscreteDistribution" not in kinds
    if hasattr(prior, "logpmf") and not continuous:
        raise PlanError(
            f"{what}, {name}, is discrete and has no density: add up the evidence given each of "
            "its values, times their probabilities"
        )
    if "rv_generic" in kinds and law is prior and prior.numargs:
        shapes = ", ".join(f"{shape.strip()}=..." for shape in prior.shapes.split(","))
        raise PlanError(f"{what} has no parameters yet: freeze it, st.{name}({shapes})")


def _coordinates(prior: Any) -> list[Any]:
    """Return st.norm([0, 0], [2, 1]) as two distributions; others have one coordinate."""
    given = [*getattr(prior, "args", ()), *getattr(prior, "kwds", {}).values()]
    if not any(map(np.ndim, given)) or not hasattr(prior, "dist"):
        return [prior]
    rows = zip(*map(np.ravel, np.broadcast_arrays(*given)), strict=True)
    first = len(prior.args)
    return [
        prior.dist(*row[:first], **dict(zip(prior.kwds, row[first:], strict=True))) for row in rows
    ]


def _one_coordinate(prior: Any) -> bool:
    return hasattr(prior, "logpdf") and (hasattr(prior, "rvs") or hasattr(prior, "sample"))


def _normal(prior: Any) -> tuple[Floats, Floats] | None:
    """Return mean and spread of scipy's norm(...), None for anything else."""
    if type(getattr(prior, "dist", None)).__name__ != "norm_gen":
        return None
    mean, spread = np.asarray(prior.mean()), np.asarray(prior.std())
    return None if mean.ndim or spread.ndim else (mean.reshape(1), spread.reshape(1))


def _uniform(prior: Any) -> tuple[Floats, Floats] | None:
    """Return the bounds of scipy's uniform(...), None for anything else."""
    if type(getattr(prior, "dist", None)).__name__ != "uniform_gen":
        return None
    low, high = map(np.asarray, prior.support())
    if low.ndim or high.ndim or not np.isfinite(high - low) or not low < high:
        return None
    return low.reshape(1), high.reshape(1)


def _multivariate_normal(prior: Any) -> Prior | None:
    """Return scipy's multivariate_normal(...) without its overhead, None for anything else."""
    if type(prior).__name__ != "multivariate_normal_frozen":
        return None
    mean, covariance = np.asarray(prior.mean, dtype=float), np.asarray(prior.cov, dtype=float)
    variances = covariance.diagonal()
    if np.count_nonzero(covariance) == len(mean) and (variances > 0).all():
        return NormalPrior(mean, np.sqrt(variances))
    try:
        return Correlated(mean, np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise PlanError(
            "the prior's covariance is singular, so it has no density: give it as many "
            "coordinates as it has degrees of freedom, and compute the rest in log_likelihood"
        ) from None


def bounds_of(prior: Prior, points: Floats) -> tuple[Floats, Floats]:
    """Return the bounds of each coordinate, as far as scipy knows them."""
    d = points.shape[1]
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    if isinstance(prior, UniformPrior):
        return prior.low, prior.high
    if isinstance(prior, Independent):
        low, high = np.array([_support(each.distribution) for each in prior.coordinates]).T
    elif isinstance(prior, Frozen) and d == 1:
        low, high = np.array([_support(prior.distribution)]).T
    outside = ((points < low) | (points > high)).any(axis=0)
    return np.where(outside, -np.inf, low), np.where(outside, np.inf, high)


def is_scipys(distribution: Any) -> bool:
    """Return whether a distribution is one of scipy's own, whose bounds can be trusted."""
    return type(distribution).__module__.startswith("scipy.")


def _support(distribution: Any) -> tuple[float, float]:
    """Return the bounds of a distribution of one coordinate; only scipy's own are trusted."""
    support = getattr(distribution, "support", None)
    if support is None or not is_scipys(distribution):
        return -np.inf, np.inf
    low, high = (np.asarray(end, dtype=float) for end in support())
    if low.size != 1 or high.size != 1 or not low < high:
        return -np.inf, np.inf
    return low.item(), high.item()


def each_point(function: Any, points: Floats) -> Any:
    """Return the values of a compiled function of one point at each of the points."""
    from croupier.annealing import compiled_slices as compiled

    return compiled.each_point(function)(np.array(points, order="C"))
