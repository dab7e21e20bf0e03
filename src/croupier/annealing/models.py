"""A model to anneal: a log-likelihood, and a prior that is a space of `spaces/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal
from croupier.errors import ArmError, PlanError
from croupier.functions.function import LOG_LIKELIHOOD, Function, Role, Takes
from croupier.functions.programs import Program
from croupier.functions.read_function import enough_points, read_function
from croupier.seeds import stream
from croupier.spaces.axes import Axes
from croupier.spaces.base import Space
from croupier.spaces.given import Sampled
from croupier.spaces.read_space import read_space
from croupier.spaces.vectors import NormalVector, simplified

__all__ = [
    "IMPROPER",
    "LogLikelihood",
    "Model",
    "PriorLike",
    "log_density",
    "model_of",
    "pilot_stream",
    "placed",
    "takes_of",
]

PriorLike: TypeAlias = Any
LogLikelihood: TypeAlias = Callable[[Any], Any] | Program

#: The seed of the points that show how a model is called: the same in every process.
_SEED: Final = 0x7370

#: The purposes of its streams: points of the prior, a pilot.
_LOOK: Final = 0
_PILOT: Final = 1

#: Points of the prior that show its spread, and whether it has a density.
_POINTS: Final = 200

#: The normal distribution has 6e-300 beyond this, and a double has nothing beyond 38.
_FARTHEST: Final = 37.0

#: The distance from the median to the upper quartile of a normal distribution.
_QUARTILE: Final = 0.6744897501960817

#: What is said of a prior whose density has no finite integral.
IMPROPER: Final = (
    "the prior is improper: {}. Its integral is infinite, so the evidence is not defined: any "
    "constant factor of the prior is a factor of Z. Give a proper prior, for example a wide normal "
    "distribution, and see how log Z depends on its width"
)

#: The way out if prior and likelihood are known only together.
_JOINT: Final = (
    "give a distribution q that covers the posterior as prior=, and log_joint(x) - q.logpdf(x) as "
    "log_likelihood; or cr.evidence_from_draws(log_joint, chains)"
)


@dataclass(frozen=True, eq=False)
class Model:
    """A prior and a log-likelihood; `name` is the name of the arm.

    `spread` is the spread of the prior in each coordinate: the distance between its quartiles in
    standard deviations of a normal distribution, which is robust to heavy tails. `mark` differs
    between models, so that a stored run does not continue with another model. A model that is
    `normal` moves in the standard normal numbers behind its prior: there are neither bounds nor
    heavy tails, and only the user's functions see the user's coordinates.
    """

    name: str
    function: Function
    space: Space
    spread: Floats
    mark: str = ""
    normal: bool = False

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a point."""
        return self.space.dimension

    @property
    def scale(self) -> Floats:
        """The spread of the prior in the coordinates of the model."""
        return np.ones(self.dimensions) if self.normal else self.spread

    def marked(self, points: Floats, likelihood: Floats) -> Model:
        """Return the same model with a mark, from its values at some points of the prior.

        The values are in single precision, which is the same on another machine.
        """
        with np.errstate(over="ignore"):
            some = np.concatenate((likelihood[:3], points[:3].ravel())).astype("<f4")
        return replace(self, mark=blake2b(some.tobytes(), digest_size=6).hexdigest())

    def in_normals(self) -> Model:
        """Return the same model in normal numbers, if its prior has a map from them."""
        if isinstance(self.space, NormalVector) or "normal" in self.space.lacks:
            return self
        return replace(self, normal=True)

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Return points from the prior, (size, d)."""
        if self.normal:
            return rng.standard_normal((size, self.dimensions))
        points = self.space.sample(rng, size)
        if not (finite := np.isfinite(points)).all():
            row, *_ = np.argwhere(~finite)[0]
            raise ArmError(
                f"the prior's sample is not finite: {points[row]}", arm=self.name, value=points
            )
        return points

    def evaluate(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log-prior and log-likelihood; where the first is -inf, so is the second."""
        prior = self.log_prior(points)
        possible = prior > -np.inf
        if possible.all():
            return prior, self.likelihood(points)
        # A model need not be defined where the prior forbids it.
        likelihood = np.full(len(points), -np.inf)
        if possible.any():
            likelihood[possible] = self.likelihood(points[possible])
        return prior, likelihood

    def log_prior(self, points: Floats) -> Floats:
        """Return the prior's log-density."""
        return log_standard_normal(points) if self.normal else self.space.logpdf(points)

    def likelihood(self, points: Floats) -> Floats:
        """Return the log-likelihood, checked: finite, or -inf where the model is impossible."""
        return self.function(self.users(points))

    def users(self, points: Floats) -> Floats:
        """Return points in the user's coordinates."""
        return placed(self.space, points) if self.normal else points

    def started(self, points: Floats) -> Floats:
        """Return the prior's log-density at points that it drew, where it cannot be -inf."""
        prior = self.log_prior(points)
        if not (prior > -np.inf).all():
            at = points[np.flatnonzero(prior == -np.inf)[0]]
            raise ArmError(
                f"the prior's log-density is -inf at {at}, a point of the prior's own "
                "sample: sample and logpdf must belong to the same distribution",
                arm=self.name,
                value=at,
            )
        return prior


def placed(space: Space, z: Floats) -> Floats:
    """Return the points of normal numbers; quantiles of 0 and 1 may be infinite."""
    if not isinstance(space, NormalVector):
        z = np.clip(z, -_FARTHEST, _FARTHEST)
    return np.asarray(space.from_normal(z), float)


def model_of(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    vectorised: bool | None = None,
    name: str = "ais",
    argument: str = "prior",
    dimension: int | None = None,
) -> Model:
    """Return a model, after calls at a few points of the prior from a separate stream."""
    takes = takes_of(vectorised)
    space = _prior_of(prior, argument, dimension)
    rng = stream(_SEED, _LOOK, 0)
    with np.errstate(invalid="ignore"):  # bounds may be infinite
        points = space.sample(rng, _POINTS)
    _check_finite(points, argument)
    if isinstance(space, Sampled):
        _check_density(points)
    function = log_density(log_likelihood, points, LOG_LIKELIHOOD, takes)
    model = Model(name, function, space, _spread_of(space, points), normal="density" in space.lacks)
    if isinstance(space, Sampled):
        try:
            model.started(points)
        except ArmError as error:
            raise PlanError(f"the prior cannot be evaluated: {error}") from error
    return model


def log_density(given: Any, points: Floats, role: Role, takes: Takes | None = None) -> Function:
    """Return a log-density of the user, with its way of being called: one number per point."""
    n = enough_points(points.shape[1])
    sets = [points[k * n : (k + 1) * n] for k in range(max(1, min(4, len(points) // n)))]
    found = read_function(given, sets, role, takes=takes)
    if found.shape:
        raise PlanError(
            f"{role.name} returns {found.shape[0]} numbers at a point: return one number"
        )
    return found


def takes_of(vectorised: bool | None) -> Takes | None:
    """Return how `vectorised` says that a function takes its points, None if it does not."""
    if vectorised not in (None, True, False):
        raise PlanError(f"vectorised must be True, False or None, got {vectorised!r}")
    return None if vectorised is None else "all" if vectorised else "one"


def pilot_stream() -> np.random.Generator:
    """Return the random numbers of a pilot: the same in every process."""
    return stream(_SEED, _PILOT, 0)


def _prior_of(prior: PriorLike, argument: str, dimension: int | None) -> Space:
    """Return the space of a prior; it needs a sample, and a density or normal numbers."""
    if prior is None:
        raise PlanError(
            "no prior: give distributions, (sample(rng, size), logpdf(points)), or "
            "prior_transform= with dimensions=, a function of the unit cube. If you only have a "
            f"joint log-density, {_JOINT}"
        )
    if callable(prior) and not hasattr(prior, "logpdf") and not hasattr(prior, "rvs"):
        raise PlanError(
            f"the prior is a function, {prior!r}, which cannot be sampled: give distributions, or "
            f"(sample(rng, size), logpdf(points)); if you only have a joint log-density, {_JOINT}"
        )
    if isinstance(prior, str) and prior.lower() in ("flat", "improper", "jeffreys"):
        raise PlanError(IMPROPER.format(f"{prior!r}"))
    space = simplified(read_space(prior, argument=argument, dimension=dimension))
    for need in ("sample", *(("density",) if "normal" in space.lacks else ())):
        if need in space.lacks:
            raise PlanError(f"{argument}= cannot be used here: {space.lacks[need]}")
    return space


def _check_finite(points: Floats, argument: str) -> None:
    if not (finite := np.isfinite(points)).all():
        at = np.argwhere(~finite)[0]
        raise PlanError(
            f"the sample of {argument}= is not finite: {points[tuple(at)]} in coordinate {at[1]}; "
            "check the parameters of that distribution: a scale must be above 0, and a prior "
            "without bounds is improper"
        )


def _check_density(points: Floats) -> None:
    """Refuse points that have no density: fixed or discrete coordinates, or a simplex."""
    ranked, d, total = np.sort(points, axis=0), points.shape[1], points.sum(axis=1)
    if (fixed := np.flatnonzero(ranked[0] == ranked[-1])).size:
        raise PlanError(
            f"coordinate {fixed[0]} of the prior is always {ranked[0, fixed[0]]:g}, so it has no "
            "density: leave it out of the prior, and put the number into log_likelihood"
        )
    different = 1 + np.count_nonzero(np.diff(ranked, axis=0), axis=0)
    if (few := np.flatnonzero(different < len(ranked) / 2)).size:  # a density has no ties
        raise PlanError(
            f"coordinate {few[0]} of the prior has only {different[few[0]]} different values in "
            f"{len(ranked)} points, so it is discrete and has no density: give a distribution of "
            "scipy.stats, or prior_transform=, which may return whole numbers"
        )
    if d > 1 and np.ptp(total) <= 1e-9 * np.ptp(points, axis=0).max():
        raise PlanError(
            f"the {d} coordinates of the prior always sum to {total[0]:g}, so it has no density in "
            f"R^{d} (it lies on a simplex): leave one coordinate out of sample and logpdf, and "
            "compute it in log_likelihood"
        )


def _spread_of(space: Space, points: Floats) -> Floats:
    """Return the distance of the quartiles, of the prior itself or of points of it."""
    if isinstance(space, NormalVector):
        root = space.root
        return np.asarray(np.abs(root) if root.ndim == 1 else np.linalg.norm(root, axis=1))
    if isinstance(space, Axes) and "normal" not in space.lacks:
        ends = np.repeat([[-_QUARTILE], [_QUARTILE]], space.dimension, axis=1)
        lower, upper = space.from_normal(ends)
    else:
        lower, upper = np.quantile(points.reshape(len(points), -1), [0.25, 0.75], axis=0)
    spread = np.asarray((upper - lower) / (2 * _QUARTILE))
    return np.where(spread > 0, spread, np.maximum(np.abs(points).std(axis=0), 1e-300))
