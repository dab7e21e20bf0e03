"""A model to anneal: a prior that can be sampled and evaluated, and a log-likelihood.

Both are converted here, once, to their batch form: from arrays (chains, d) to arrays (chains,).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from croupier.annealing.priors import (
    OURS,
    WAY_OUT,
    Correlated,
    NormalPrior,
    Pair,
    Prior,
    PriorLike,
    as_prior,
    bounds_of,
    each_point,
)
from croupier.annealing.transforms import Chart, chart_of
from croupier.annealing.vectorised import (
    NO_NUMBERS,
    LogLikelihood,
    is_compiled,
    is_vectorised,
    one_number,
    shape_hint,
    tried,
)
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.seeds import stream

__all__ = ["Model", "model_of", "pilot_stream"]

#: The seed for the first look at a model, before anything is drawn: the same in every process.
_SEED: Final = 0x7370

#: The purposes of its streams: a look at the prior, a pilot.
_LOOK: Final = 0
_PILOT: Final = 1

#: The number of points of a prior that are looked at.
_POINTS: Final = 200


@dataclass(frozen=True, eq=False)
class Model:
    """A prior and a log-likelihood, checked at every evaluation; `name` is the name of the arm.

    `spread` is the spread of the prior in each coordinate: the distance between its quartiles in
    standard deviations of a normal distribution, which is robust to heavy tails. `mark` differs
    between models, so that a stored run does not continue with another model. With a `chart`,
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
        """Return the same model with a mark, from its values at some points of the prior.

        The values are in single precision, which is the same on another machine.
        """
        with np.errstate(over="ignore"):
            some = np.concatenate((likelihood[:3], points[:3].ravel())).astype("<f4")
        return self._but(self.name, blake2b(some.tobytes(), digest_size=6).hexdigest())

    def _but(self, name: str, mark: str) -> Model:
        same = self.prior, self.vectorised, self.dimensions, self.spread
        return Model(name, self.log_likelihood, *same, mark, self.chart)

    def charted(self) -> Model:
        """Return the same model in the coordinates of a chart, if its prior needs one."""
        if isinstance(self.prior, NormalPrior | Correlated):
            return self
        points = self.start(stream(_SEED, _LOOK, 0), _POINTS)
        chart = chart_of(points, self.spread, *bounds_of(self.prior, points))
        if chart is None:
            return self
        return replace(self, chart=chart, spread=_spread_of(chart.to(points)))

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Return points from the prior, (size, d)."""
        points = self._sample(rng, size)
        return points if self.chart is None else self.chart.to(points)

    def _sample(self, rng: np.random.Generator, size: int) -> Floats:
        if isinstance(self.prior, OURS):
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
        seen = self.seen(points)
        prior = self._density(points, seen)
        possible = prior > -np.inf
        if possible.all():
            return prior, self.values_at(seen)
        # A model need not be defined where the prior forbids it.
        likelihood = np.full(len(points), -np.inf)
        if possible.any():
            likelihood[possible] = self.values_at(seen[possible])
        return prior, likelihood

    def log_prior(self, points: Floats) -> Floats:
        """Return the prior's log-density, checked."""
        return self._density(points, self.seen(points))

    def likelihood(self, points: Floats) -> Floats:
        """Return the log-likelihood, checked: finite, or -inf where the model is impossible."""
        return self.values_at(self.seen(points))

    def seen(self, points: Floats) -> Floats:
        """Return points in the user's coordinates."""
        return points if self.chart is None else self.chart.back(points)

    def _density(self, points: Floats, seen: Floats) -> Floats:
        ours = isinstance(self.prior, OURS)
        density = self.prior.logpdf(seen) if ours else self._asked(seen)
        return density if self.chart is None else density + self.chart.log_slope(points)

    def _asked(self, points: Floats) -> Floats:
        what = "the prior's log-density"
        # Here and below, a copy: a function that writes to its points must not move the chains.
        try:
            raw = self.prior.logpdf(points.copy())
        except Exception as error:
            raise self._raised(what, error) from error
        return self._checked(raw, points, what)

    def started(self, points: Floats) -> Floats:
        """Return the prior's log-density at points that it drew, where it cannot be -inf."""
        prior = self.log_prior(points)
        if not (prior > -np.inf).all():
            at = self.seen(points)[np.flatnonzero(prior == -np.inf)[0]]
            raise ArmError(
                f"the prior's log-density is -inf at {at}, a point of the prior's own "
                "sample: sample and logpdf must belong to the same distribution",
                arm=self.name,
                value=at,
            )
        return prior

    def values_at(self, points: Floats) -> Floats:
        """Return the log-likelihood at points in the coordinates of the user, checked."""
        if not len(points):
            return np.empty(0)  # a function may not know what to do with no points
        what = "the log-likelihood"
        try:
            if self.vectorised:
                raw = self.log_likelihood(points.copy())
            elif is_compiled(self.log_likelihood):
                raw = each_point(self.log_likelihood, points)
            else:
                raw = [one_number(self.log_likelihood(point)) for point in points.copy()]
        except ArmError:
            raise  # a transform of the prior has failed
        except Exception as error:
            raise self._raised(what, error, shape_hint(error, self.dimensions)) from error
        return self._checked(raw, points, what)

    def _raised(self, what: str, error: Exception, hint: str = "") -> ArmError:
        return ArmError(f"{what} raised {type(error).__name__}: {error}{hint}", arm=self.name)

    def _checked(self, raw: Any, points: Floats, what: str) -> Floats:
        values = np.asarray(raw)
        if values.dtype == object and any(each is None for each in values.flat):
            raise ArmError(f"{what} {NO_NUMBERS}", arm=self.name)
        if values.shape != (len(points),):
            # With one coordinate a function may keep the axis; at one point scipy drops it.
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
                raise ArmError(
                    f"{what} is not a number: {raw!r}", arm=self.name, value=raw
                ) from None
        if not (values < np.inf).all():
            at = int(np.flatnonzero(~(values < np.inf))[0])
            hint = "; is its sign right?" if values[at] == np.inf else ""
            raise ArmError(
                f"{what} is {values[at]} at {points[at]}; it must be finite, or -inf where the "
                f"point is impossible{hint}",
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
    """Return a model, after a look at a few points of the prior from a separate stream."""
    if not callable(log_likelihood):
        raise PlanError(f"log_likelihood must be a function of points, got {log_likelihood!r}")
    if vectorised not in (None, True, False):
        raise PlanError(f"vectorised must be True, False or None, got {vectorised!r}")
    batched = as_prior(prior)
    rng = stream(_SEED, _LOOK, 0)
    if isinstance(batched, OURS) and np.isfinite(batched.mean + batched.spread).all():
        model = Model(name, log_likelihood, batched, True, len(batched.mean), batched.spread)
        points = batched.sample(rng, 4)  # our own priors need no look
    else:
        model, points = _looked_at(name, log_likelihood, batched, rng)
    if vectorised is None:
        # A number that cannot be confused with the number of coordinates.
        few = points[: 3 if model.dimensions != 3 else 4]
        vectorised = is_vectorised(log_likelihood, few, name)
    return model if vectorised else replace(model, vectorised=False)


def pilot_stream() -> np.random.Generator:
    """Return the random numbers of a pilot: the same in every process."""
    return stream(_SEED, _PILOT, 0)


def _looked_at(
    name: str, log_likelihood: LogLikelihood, prior: Prior, rng: np.random.Generator
) -> tuple[Model, Floats]:
    """Return the model of a prior, after a look at some of its points, and these points."""
    points = _trial(prior, rng, _POINTS)
    if isinstance(prior, Pair) and is_compiled(prior.logpdf_function):
        density, _ = tried(prior.logpdf_function, points[0])
        prior = replace(prior, by_point=density is not None and density.ndim == 0)
    ranked = np.sort(points, axis=0)
    if (fixed := np.flatnonzero(ranked[0] == ranked[-1])).size:
        raise PlanError(
            f"coordinate {fixed[0]} of the prior is always {ranked[0, fixed[0]]:g}, so it has no "
            "density: leave it out of the prior, and put the number into log_likelihood"
        )
    _check_ties(ranked)
    _check_simplex(points)
    model = Model(name, log_likelihood, prior, True, points.shape[1], _spread_of(points))
    try:
        model.log_prior(points[:3])
        model.started(points)
    except ArmError as error:
        raise PlanError(f"the prior cannot be evaluated: {error}; {WAY_OUT}") from error
    return model, points


def _check_ties(ranked: Floats) -> None:
    """Refuse a coordinate with few values: a density has no ties."""
    different = 1 + np.count_nonzero(np.diff(ranked, axis=0), axis=0)
    if (few := np.flatnonzero(different < len(ranked) / 2)).size:
        raise PlanError(
            f"coordinate {few[0]} of the prior has only {different[few[0]]} different values in "
            f"{len(ranked)} points, so it is discrete and has no density: add up the evidence "
            "given each of its values, times their probabilities; or give prior_transform=, which "
            "may return whole numbers"
        )


def _check_simplex(points: Floats) -> None:
    """Refuse points whose coordinates always have the same sum."""
    d, total = points.shape[1], points.sum(axis=1)
    if d > 1 and np.ptp(total) <= 1e-9 * np.ptp(points, axis=0).max():
        raise PlanError(
            f"the {d} coordinates of the prior always sum to {total[0]:g}, so it has no density in "
            f"R^{d} (it lies on a simplex): leave one coordinate out of sample and logpdf, and "
            "compute it in log_likelihood"
        )


def _spread_of(points: Floats) -> Floats:
    ranked, n = np.sort(points, axis=0), len(points)
    spread = np.asarray((ranked[3 * n // 4] - ranked[n // 4]) / 1.349)
    if not (spread > 0).all():
        spread = np.where(spread > 0, spread, np.maximum(points.std(axis=0), 1e-300))
    return spread


def _trial(prior: Prior, rng: np.random.Generator, size: int) -> Floats:
    try:
        points = np.asarray(prior.sample(rng, size), dtype=float)
    except PlanError:
        raise
    except Exception as error:
        raise PlanError(
            f"the prior cannot be sampled, it raised {type(error).__name__}: {error}; {WAY_OUT}"
        ) from error
    if points.shape == (size,):
        points = points.reshape(size, 1)
    if points.ndim != 2 or len(points) != size or not points.shape[1]:
        raise PlanError(
            f"the prior cannot be sampled: {size} points came with shape {points.shape}, not "
            f"({size}, d); {WAY_OUT}"
        )
    if not (finite := np.isfinite(points)).all():
        at = np.argwhere(~finite)[0]
        raise PlanError(
            f"the prior's sample is not finite: {points[tuple(at)]} in coordinate {at[1]}; check "
            "the parameters of that distribution (a scale must be above 0)"
        )
    return points
