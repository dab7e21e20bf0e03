"""A model to anneal: a prior that can be sampled and evaluated, and a log-likelihood.

Both are normalised here, once, to their batch form: arrays (chains, d) in, (chains,) out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from croupier.arms.charts import Chart, chart_of
from croupier.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.seeds import stream

__all__ = [
    "LogLikelihood",
    "Model",
    "Prior",
    "PriorLike",
    "as_prior",
    "is_compiled",
    "model_of",
    "pilot_stream",
]

LogLikelihood: TypeAlias = Callable[[Any], Any]
PriorLike: TypeAlias = Any

#: The seed of what is looked at before anything is drawn: the same in every process.
_SEED: Final = 0x7370

#: What its streams are for: a look at the prior, a pilot.
_LOOK: Final = 0
_PILOT: Final = 1

#: So many points of a prior are looked at.
_POINTS: Final = 200

_WAY_OUT = (
    "give a frozen distribution of scipy.stats, a list of them (one per coordinate), or a pair of "
    "functions (sample(rng, size), logpdf(points))"
)

_NONE = "returned None, not numbers: is a return missing?"


class Prior(Protocol):
    """What chains start from."""

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent points, an array (size, d)."""

    def logpdf(self, points: Floats) -> Any:
        """Return the log-density at each of the points (m, d), an array (m,)."""


@dataclass(frozen=True)
class Normal:
    """Independent normal coordinates: by far the most frequent prior, without scipy's overhead."""

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
class Uniform:
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
        """The distance between the quartiles, in standard deviations of a normal law."""
        return np.asarray((self.high - self.low) / 2.698)

    @cached_property
    def _scale(self) -> float:
        return float(np.log(self.high - self.low).sum())


#: Priors that need no looking at, and no checks.
_OURS: Final = (Normal, Correlated, Uniform)


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
    """One distribution of one coordinate after the other."""

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
        if self._alike:  # one call will do
            return np.asarray(self.coordinates[0].logpdf(points).sum(axis=1))
        columns = zip(self.coordinates, points.T, strict=True)
        return np.asarray(sum(each.logpdf(column) for each, column in columns))

    @cached_property
    def _alike(self) -> bool:
        first = self.coordinates[0].distribution
        same = all(each.distribution is first for each in self.coordinates)
        return same and _is_scipys(first)


@dataclass(frozen=True)
class Pair:
    """Two functions of the user's: sample(rng, size) and logpdf(points).

    `by_point`: the second is compiled, and takes one point.
    """

    sample_function: Callable[[np.random.Generator, int], Any]
    logpdf_function: Callable[[Any], Any]
    by_point: bool = False

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return what the first of them returns."""
        return self.sample_function(rng, size)

    def logpdf(self, points: Floats) -> Any:
        """Return what the second of them returns."""
        if self.by_point:
            return _each_point(self.logpdf_function, points)
        return self.logpdf_function(points)


def as_prior(prior: PriorLike) -> Prior:
    """Return a prior in its batch form, whichever of the accepted ways it was given in.

    A distribution that is not frozen has scipy's standard parameters: st.norm is st.norm(0, 1).

    >>> import numpy as np, scipy.stats as st
    >>> as_prior([st.norm(0, 1), st.norm(0, 2)]).sample(np.random.default_rng(0), 5).shape
    (5, 2)
    """
    if isinstance(prior, tuple) and len(prior) == 2 and all(map(callable, prior)):
        return Pair(*prior)
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
                f"a list as a prior is one distribution per coordinate, got {prior!r}: {_WAY_OUT}"
            )
        for find, kind in ((_normal, Normal), (_uniform, Uniform)):
            simple = [find(each) for each in prior]
            if all(each is not None for each in simple):
                return kind(*map(np.concatenate, zip(*simple, strict=True)))
        return Independent(tuple(map(Frozen, prior)))
    if isinstance(prior, (*_OURS, Frozen, Independent, Pair)):
        return prior
    _check_distribution(prior, "the prior")
    sampled = hasattr(prior, "rvs") or hasattr(prior, "sample")
    if not sampled or not hasattr(prior, "logpdf"):
        lacks = "be sampled" if not sampled else "be evaluated: it has no logpdf"
        raise PlanError(f"the prior {prior!r} cannot {lacks}; {_WAY_OUT}")
    if (normal := _normal(prior)) is not None:
        return Normal(*normal)
    if (uniform := _uniform(prior)) is not None:
        return Uniform(*uniform)
    return _multivariate_normal(prior) or Frozen(prior)


def _check_distribution(prior: Any, what: str) -> None:
    """Refuse what is a distribution of scipy.stats, but has no density or no parameters."""
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


def _one_coordinate(prior: Any) -> bool:
    return hasattr(prior, "logpdf") and (hasattr(prior, "rvs") or hasattr(prior, "sample"))


def _normal(prior: Any) -> tuple[Floats, Floats] | None:
    """Return mean and spread of scipy's norm(...), None of anything else."""
    if type(getattr(prior, "dist", None)).__name__ != "norm_gen":
        return None
    mean, spread = np.asarray(prior.mean()), np.asarray(prior.std())
    return None if mean.ndim or spread.ndim else (mean.reshape(1), spread.reshape(1))


def _uniform(prior: Any) -> tuple[Floats, Floats] | None:
    """Return the bounds of scipy's uniform(...), None of anything else."""
    if type(getattr(prior, "dist", None)).__name__ != "uniform_gen":
        return None
    low, high = map(np.asarray, prior.support())
    if low.ndim or high.ndim or not np.isfinite(high - low) or not low < high:
        return None
    return low.reshape(1), high.reshape(1)


def _multivariate_normal(prior: Any) -> Prior | None:
    """Return scipy's multivariate_normal(...) without its overhead, None of anything else."""
    if type(prior).__name__ != "multivariate_normal_frozen":
        return None
    mean, covariance = np.asarray(prior.mean, dtype=float), np.asarray(prior.cov, dtype=float)
    variances = covariance.diagonal()
    if np.count_nonzero(covariance) == len(mean) and (variances > 0).all():
        return Normal(mean, np.sqrt(variances))
    try:
        return Correlated(mean, np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise PlanError(
            "the prior's covariance is singular, so it has no density: give it as many "
            "coordinates as it has degrees of freedom, and work out the rest in log_likelihood"
        ) from None


@dataclass(frozen=True, eq=False)
class Model:
    """A prior and a log-likelihood, checked at every evaluation; `name` is that of the arm.

    `spread` is the prior's, coordinate by coordinate: the distance between its quartiles in
    standard deviations of a normal distribution, which heavy tails do not spoil. `mark` tells the
    model from others: a stored run of another one must not be gone on with. With a `chart`,
    points and densities are in its coordinates, and only the user's functions see the others.
    """

    name: str
    log_likelihood: LogLikelihood
    prior: Prior
    vectorised: bool
    dimensions: int
    spread: Floats
    mark: str = ""
    chart: Chart | None = None

    def named(self, name: str) -> Model:
        """Return the same model, under the name of another arm."""
        return self._but(name, self.mark)

    def marked(self, points: Floats, likelihood: Floats) -> Model:
        """Return the same model with a mark, from points of the prior and what it says of them.

        In single precision, which is the same on another machine.
        """
        with np.errstate(over="ignore"):
            some = np.concatenate((likelihood[:3], points[:3].ravel())).astype("<f4")
        return self._but(self.name, blake2b(some.tobytes(), digest_size=6).hexdigest())

    def _but(self, name: str, mark: str) -> Model:
        same = self.prior, self.vectorised, self.dimensions, self.spread
        return Model(name, self.log_likelihood, *same, mark, self.chart)

    def charted(self) -> Model:
        """Return the same model in the coordinates of a chart, where its prior needs one."""
        if isinstance(self.prior, Normal | Correlated):
            return self
        points = self.start(stream(_SEED, _LOOK, 0), _POINTS)
        chart = chart_of(points, self.spread, *_bounds(self.prior, points))
        if chart is None:
            return self
        return replace(self, chart=chart, spread=_spread_of(chart.to(points)))

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Return points from the prior, (size, d)."""
        points = self._sample(rng, size)
        return points if self.chart is None else self.chart.to(points)

    def _sample(self, rng: np.random.Generator, size: int) -> Floats:
        if isinstance(self.prior, _OURS):
            return self.prior.sample(rng, size)
        try:
            points = np.asarray(self.prior.sample(rng, size), dtype=float)
        except Exception as error:
            raise self._raised("the prior's sample", error) from error
        if points.shape == (size,) and self.dimensions == 1:
            points = points.reshape(size, 1)
        if points.shape != (size, self.dimensions) or not np.isfinite(points).all():
            fits = points.shape == (size, self.dimensions)
            wrong = "points that are not finite" if fits else f"shape {points.shape}"
            raise ArmError(
                f"the prior's sample has {wrong}; expected ({size}, {self.dimensions}), finite",
                arm=self.name,
                value=points,
            )
        return points

    def evaluate(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log-prior and log-likelihood; where the first is -inf, so is the second."""
        seen = self._seen(points)
        prior = self._density(points, seen)
        possible = prior > -np.inf
        if possible.all():
            return prior, self._likelihood(seen)
        # A model need not be defined where the prior forbids it.
        likelihood = np.full(len(points), -np.inf)
        if possible.any():
            likelihood[possible] = self._likelihood(seen[possible])
        return prior, likelihood

    def log_prior(self, points: Floats) -> Floats:
        """Return the prior's log-density, checked."""
        return self._density(points, self._seen(points))

    def likelihood(self, points: Floats) -> Floats:
        """Return the log-likelihood, checked: finite, or -inf where the model is impossible."""
        return self._likelihood(self._seen(points))

    def _seen(self, points: Floats) -> Floats:
        """Return points in the user's coordinates."""
        return points if self.chart is None else self.chart.back(points)

    def _density(self, points: Floats, seen: Floats) -> Floats:
        ours = isinstance(self.prior, _OURS)
        density = self.prior.logpdf(seen) if ours else self._asked(seen)
        return density if self.chart is None else density + self.chart.log_slope(points)

    def _asked(self, points: Floats) -> Floats:
        what = "the prior's log-density"
        # Here and below: a function that writes to its points must not move the chains.
        try:
            raw = self.prior.logpdf(points.copy())
        except Exception as error:
            raise self._raised(what, error) from error
        return self._checked(raw, points, what)

    def started(self, points: Floats) -> Floats:
        """Return the prior's log-density at points that it drew, where it cannot be -inf."""
        prior = self.log_prior(points)
        if not (prior > -np.inf).all():
            at = self._seen(points)[np.flatnonzero(prior == -np.inf)[0]]
            raise ArmError(
                f"the prior's log-density is -inf at {at}, a point of the prior's own sample: its "
                "two parts do not belong together",
                arm=self.name,
                value=at,
            )
        return prior

    def _likelihood(self, points: Floats) -> Floats:
        what = "the log-likelihood"
        try:
            if self.vectorised:
                raw = self.log_likelihood(points.copy())
            elif is_compiled(self.log_likelihood):
                raw = _each_point(self.log_likelihood, points)
            else:
                raw = [_number(self.log_likelihood(point)) for point in points.copy()]
        except Exception as error:
            raise self._raised(what, error, _of_shapes(error, self.dimensions)) from error
        return self._checked(raw, points, what)

    def _raised(self, what: str, error: Exception, hint: str = "") -> ArmError:
        return ArmError(f"{what} raised {type(error).__name__}: {error}{hint}", arm=self.name)

    def _checked(self, raw: Any, points: Floats, what: str) -> Floats:
        values = np.asarray(raw)
        if values.dtype == object and any(each is None for each in values.flat):
            raise ArmError(f"{what} {_NONE}", arm=self.name)
        if values.shape != (len(points),):
            # Of one coordinate a function may keep the axis, at one point scipy drops it.
            if values.size == len(points) and (len(points) == 1 or self.dimensions == 1):
                values = values.reshape(len(points))
            else:
                raise ArmError(
                    f"{what} has shape {values.shape} at points of shape {points.shape}; "
                    f"expected {(len(points),)}, one number for each",
                    arm=self.name,
                    value=raw,
                )
        if values.dtype != np.float64:
            try:
                values = values.astype(float, casting="same_kind")
            except (TypeError, ValueError):
                raise ArmError(f"{what} is no number: {raw!r}", arm=self.name, value=raw) from None
        if not (values < np.inf).all():
            at = int(np.flatnonzero(~(values < np.inf))[0])
            raise ArmError(
                f"{what} is {values[at]} at {points[at]}; it must be finite, or -inf where the "
                "point is impossible",
                arm=self.name,
                value=float(values[at]),
            )
        return values


def model_of(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    vectorised: bool | None = None,
    name: str = "ais",
) -> Model:
    """Return a model, after a look at a few points of the prior, from a stream of its own."""
    if not callable(log_likelihood):
        raise PlanError(f"log_likelihood must be a function of points, got {log_likelihood!r}")
    if vectorised not in (None, True, False):
        raise PlanError(f"vectorised must be True, False or None, got {vectorised!r}")
    batched = as_prior(prior)
    rng = stream(_SEED, _LOOK, 0)
    if isinstance(batched, _OURS) and np.isfinite(batched.mean + batched.spread).all():
        model = Model(name, log_likelihood, batched, True, len(batched.mean), batched.spread)
        points = batched.sample(rng, 4)  # a prior of ours needs no look
    else:
        model, points = _looked_at(name, log_likelihood, batched, rng)
    if vectorised is None:
        # As many as cannot be taken for the number of coordinates.
        few = points[: 3 if model.dimensions != 3 else 4]
        vectorised = _is_vectorised(log_likelihood, few, name)
    return model if vectorised else replace(model, vectorised=False)


def pilot_stream() -> np.random.Generator:
    """Return the random numbers of a pilot: the same in every process."""
    return stream(_SEED, _PILOT, 0)


def _looked_at(
    name: str, log_likelihood: LogLikelihood, prior: Prior, rng: np.random.Generator
) -> tuple[Model, Floats]:
    """Return the model of a prior, after a look at some points of it, and these points."""
    points = _trial(prior, rng, _POINTS)
    if isinstance(prior, Pair) and is_compiled(prior.logpdf_function):
        density, _ = _tried(prior.logpdf_function, points[0])
        prior = replace(prior, by_point=density is not None and density.ndim == 0)
    ranked = np.sort(points, axis=0)
    if (fixed := np.flatnonzero(ranked[0] == ranked[-1])).size:
        raise PlanError(
            f"coordinate {fixed[0]} of the prior is always {ranked[0, fixed[0]]:g}, and so has no "
            "density: leave it out of the prior, and put the number into log_likelihood"
        )
    _check_simplex(points)
    model = Model(name, log_likelihood, prior, True, points.shape[1], _spread_of(points))
    try:
        model.log_prior(points[:3])
        model.started(points)
    except ArmError as error:
        raise PlanError(f"the prior cannot be evaluated: {error}; {_WAY_OUT}") from error
    return model, points


def _check_simplex(points: Floats) -> None:
    """Refuse points whose coordinates always have the same sum."""
    d, total = points.shape[1], points.sum(axis=1)
    if d > 1 and np.ptp(total) <= 1e-9 * np.ptp(points, axis=0).max():
        raise PlanError(
            f"the prior is a law on a simplex: its {d} coordinates always sum to {total[0]:g}, so "
            f"it has no density in R^{d}; leave a coordinate out, of sample and of logpdf, and "
            "work it out in log_likelihood"
        )


def _spread_of(points: Floats) -> Floats:
    ranked, n = np.sort(points, axis=0), len(points)
    spread = np.asarray((ranked[3 * n // 4] - ranked[n // 4]) / 1.349)
    if not (spread > 0).all():
        spread = np.where(spread > 0, spread, np.maximum(points.std(axis=0), 1e-300))
    return spread


def _bounds(prior: Prior, points: Floats) -> tuple[Floats, Floats]:
    """Return the bounds of each coordinate, as far as scipy tells of them."""
    d = points.shape[1]
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    if isinstance(prior, Uniform):
        return prior.low, prior.high
    if isinstance(prior, Independent):
        low, high = np.array([_support(each.distribution) for each in prior.coordinates]).T
    elif isinstance(prior, Frozen) and d == 1:
        low, high = np.array([_support(prior.distribution)]).T
    outside = ((points < low) | (points > high)).any(axis=0)
    return np.where(outside, -np.inf, low), np.where(outside, np.inf, high)


def _is_scipys(distribution: Any) -> bool:
    return type(distribution).__module__.startswith("scipy.")


def _support(distribution: Any) -> tuple[float, float]:
    """Return the ends of a distribution of one coordinate; only scipy's word is taken for them."""
    support = getattr(distribution, "support", None)
    if support is None or not _is_scipys(distribution):
        return -np.inf, np.inf
    low, high = (np.asarray(end, dtype=float) for end in support())
    if low.size != 1 or high.size != 1 or not low < high:
        return -np.inf, np.inf
    return low.item(), high.item()


def _trial(prior: Prior, rng: np.random.Generator, size: int) -> Floats:
    try:
        points = np.asarray(prior.sample(rng, size), dtype=float)
    except PlanError:
        raise
    except Exception as error:
        raise PlanError(
            f"the prior cannot be sampled, it raised {type(error).__name__}: {error}; {_WAY_OUT}"
        ) from error
    if points.shape == (size,):
        points = points.reshape(size, 1)
    if points.ndim != 2 or len(points) != size or not points.shape[1]:
        raise PlanError(
            f"the prior cannot be sampled: {size} points came with shape {points.shape}, not "
            f"({size}, d); {_WAY_OUT}"
        )
    if not np.isfinite(points).all():
        raise PlanError("the prior's sample has points that are not finite")
    return points


def _is_vectorised(function: LogLikelihood, points: Floats, name: str) -> bool:
    """Find out whether a function takes points (m, d) or one point (d,): asked, not guessed.

    Vectorised is what gives one number per row, the same for a row alone; what also takes one
    point must give the same number there.
    """
    together, trouble = _tried(function, points)
    rows = len(points)
    columns = (rows, 1) if points.shape[1] == 1 else (rows,)
    fits = together is not None and together.shape in ((rows,), columns)
    # Two numbers say more than two times -inf.
    at = int(np.isfinite(together.ravel()).argmax()) if fits else 0
    alone, trouble_alone = _tried(function, points[at])
    single = alone is not None and alone.size == 1
    if fits:
        row = _tried(function, points[at : at + 1])[0]
        if row is not None and row.size == 1 and _same(row, together[at]):
            if single and not _same(alone, together[at]):
                raise PlanError(
                    "log_likelihood takes one point and many, and does not agree with itself: "
                    "say vectorised=True or vectorised=False"
                )
            return True
        again = _tried(function, points)[0]
        same = again is not None and again.shape == together.shape
        if not same or not np.allclose(again, together, rtol=1e-9, equal_nan=True):
            raise ArmError(
                "the log-likelihood gives different values for the same points: it must be a "
                "function of the points alone; fix the random numbers that it uses, once and for "
                "all points",
                arm=name,
                value=together,
            )
    if single:
        return False
    d = points.shape[1]
    if together is None:
        assert trouble is not None
        message = _said(trouble)
        if trouble_alone is not None and str(trouble_alone) != str(trouble):
            message += f"; for one point, it {_said(trouble_alone)}"
        hint = _of_shapes(trouble, d)
        raise ArmError(f"the log-likelihood {message}{hint}", arm=name, value=trouble) from trouble
    at_one = "is no number at one point"
    if trouble_alone is not None:
        at_one = f"for one point it {_said(trouble_alone)}"
    raise ArmError(
        f"the log-likelihood has shape {together.shape} at points of shape {points.shape}, and "
        f"{at_one}; expected ({rows},), or one number for one point{_of_shapes(trouble_alone, d)}",
        arm=name,
        value=together,
    )


class _NoNumbersError(TypeError):
    """What a function that did not raise has returned instead of numbers."""


def _said(trouble: Exception) -> str:
    if isinstance(trouble, _NoNumbersError):
        return str(trouble)
    return f"raised {type(trouble).__name__}: {trouble}"


def _of_shapes(trouble: Exception | None, dimensions: int) -> str:
    """Return what to compare a wrong index or shape with, nothing for other errors."""
    if not isinstance(trouble, IndexError | ValueError):
        return ""
    return f"; the prior has {dimensions} coordinate{'s' * (dimensions != 1)}"


def _tried(function: LogLikelihood, points: Floats) -> tuple[Any, Exception | None]:
    with np.errstate(all="ignore"):
        try:
            raw = function(points.copy())
            returned = np.asarray(raw)
        except Exception as error:
            return None, error
    if raw is None:
        return None, _NoNumbersError(_NONE)
    if returned.dtype.kind not in "fiub":
        return None, _NoNumbersError(f"returned {returned.dtype}, not numbers")
    return returned, None


def _same(one: Any, other: Any) -> bool:
    first, second = float(one.item()), float(other.item())
    both_missing = math.isnan(first) and math.isnan(second)
    return both_missing or math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def _number(value: Any) -> Any:
    """Return one number, which a function of one point may have wrapped in an array."""
    return np.reshape(value, ()) if value is not None and np.size(value) == 1 else value


def _each_point(function: Any, points: Floats) -> Any:
    from croupier.arms.compiled import each_point

    return each_point(function)(np.array(points, order="C"))


def is_compiled(function: Any) -> bool:
    """Tell whether numba has compiled a function, without loading numba to find out."""
    return hasattr(function, "py_func") and type(function).__module__.startswith("numba")
