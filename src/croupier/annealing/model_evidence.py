"""evidence: the evidence of a model, by a ladder of annealed importance samplers as arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np

from croupier.annealing.annealed import (
    KERNELS,
    Annealed,
    Custom,
    Kernel,
    KernelFunction,
    Schedule,
    ais,
    betas_of,
    compilable,
)
from croupier.annealing.fitted import HEAVIER, Fitted
from croupier.annealing.models import Model, model_of, pilot_stream
from croupier.annealing.pilots import LEFT, Pilot, Start, explore
from croupier.annealing.prior_checks import check_law, check_mass
from croupier.annealing.priors import Frozen, Pair, Prior, PriorLike, is_scipys
from croupier.annealing.slices import Slice
from croupier.annealing.vectorised import LogLikelihood, is_compiled
from croupier.annealing.walks import Autoregression, RandomWalk
from croupier.arms.base import as_arms
from croupier.checks import count_of, fraction_of
from croupier.data.plan import Batching
from croupier.errors import PlanError
from croupier.estimates.combiners import Combiner
from croupier.estimates.intervals import ManyLooks
from croupier.policies import Policy
from croupier.results.result import Result
from croupier.running.estimate import Dealing, deal
from croupier.running.settings import ArmOptions, RunSettings, split_options

__all__ = ["evidence", "ladder"]

#: Chains of a first call: many chains move together, so a call costs far more than a chain.
OPENING: Final = 300

#: The first calls of all arms take at most this share of a budget of evaluations. Otherwise the
#: most expensive arm would get most of it, and not the best arm.
_FIRST: Final = 0.1

#: And at most this many evaluations; otherwise chains of slices would exceed a budget of seconds.
_EVALUATIONS: Final = 200_000

#: Arms whose chains take more evaluations than this are left out if another arm takes fewer.
_LONG: Final = 20_000

#: The variances of a log-weight that the temperatures of a ladder aim at.
_AIMS: Final = (2.0, 0.7, 0.25)

#: The ladder if the pilot found nothing: geometric.
_PLAIN: Final = (16, 64, 256)

#: A first look says how many plain draws of the prior are needed. If this factor times that number
#: is at most the limit, they are enough: a pilot and the first calls of its arms would take more.
_SAFE: Final = 1.5
_SOON: Final = 1000

#: A fitted distribution is judged by at most this many points.
_JUDGES: Final = 200

#: Arms that a pilot expects to be this many times worse than the best are left out.
_HOPELESS: Final = 50.0

#: A fitted distribution gets heavier tails if they raise the variance by at most this factor.
_DEARER: Final = 1.3


def evidence(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: Literal["autoregressive", "random-walk", "slice"] | KernelFunction = "autoregressive",
    sweeps: int = 1,
    vectorised: bool | None = None,
    policy: str | Policy = "auto",
    combine: str | Combiner = "guarded",
    **settings: Unpack[ArmOptions],
) -> Result:
    """Estimate the evidence of a model, Z = integral prior x likelihood, with its error.

    A short pilot finds where the posterior's mass is. It chooses a ladder of arms, all of them
    exactly unbiased for Z: plain sampling of the prior, sampling from a distribution fitted to the
    posterior, and annealed importance sampling with few and with many temperatures. The budget
    then goes to the best of them. If plain sampling of the prior promises to reach the tolerance
    at once, it is tried first, and the pilot runs only if this fails.

    Args:
        log_likelihood: A function of points (chains, d) that returns (chains,), or of one point
            (d,) that returns a number; -inf where the data are impossible.
        prior: A frozen distribution of scipy.stats, a list of them (one per coordinate), or a
            pair of functions (sample(rng, size), logpdf(points)). A distribution that is not
            frozen has its standard parameters: `st.norm` is N(0, 1).
        temperatures: Your own ladder: one arm of annealed importance sampling for each number.
        schedule: The betas of such a ladder, as in `annealing.ais`; by default the pilot's. Betas
            given as numbers make one arm, and need no `temperatures`.
        kernel: How chains move: "autoregressive", "random-walk", "slice", or a function; see
            `annealing.ais`.
        sweeps: Moves at each temperature.
        vectorised: Whether `log_likelihood` takes many points; if None, a few calls find out.
        policy: As in `estimate`.
        combine: As in `estimate`.
        **settings: Budgets, tolerances and all other settings of `estimate`: ``draws=``,
            ``seconds=`` or ``cost=`` (evaluations of the likelihood), ``rtol=`` for the half-width
            of log Z, ``rng=``, ... The evaluations of the pilot come before the budget and are not
            part of it: some hundreds for each of its levels, and more if points are hard to move.

    Returns:
        A `Result`: `log_value` is log Z, with `log_stderr` and `log_interval`.

    >>> import croupier as cr, scipy.stats as st
    >>> def log_likelihood(x):
    ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> result = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
    >>> truth = st.norm.logpdf(1.0, 0, 1.25**0.5)
    >>> bool(abs(result.log_value - truth) < 4 * result.log_stderr)
    True
    """
    around, own = split_options("evidence", settings, tuple(evidence.__kwdefaults__ or ()))
    if own.pop("log", True) is not True:
        raise PlanError("evidence always works in logs: leave out log=")
    arms = ladder(
        log_likelihood,
        prior,
        temperatures=temperatures,
        schedule=schedule,
        kernel=kernel,
        sweeps=sweeps,
        vectorised=vectorised,
        cost="evaluations" if around.budget.cost is not None else None,
        precision=None if "batch" in own else _precision(around),
        most=around.budget.draws,
    )
    own.setdefault("batch", _opening(arms, around.budget.cost))
    dealing = Dealing(policy=policy, combine=combine, log=True, **own)
    return deal(as_arms(list(arms)), around, dealing)


def _precision(around: RunSettings) -> float | None:
    """Return the standard error of log Z that stops a run, None if none does or is known."""
    wanted = max(around.tolerance.atol or 0.0, around.tolerance.rtol or 0.0)
    # A stored run may continue with another tolerance, and must then have the same arms.
    if not wanted or around.anytime or around.store or around.budget.cost:
        return None
    confidence = fraction_of("confidence", around.confidence)
    return wanted / float(ManyLooks.at(ManyLooks.least_df, confidence))


def _opening(arms: Sequence[Rung], cost: float | None) -> Batching:
    """Return how many chains the first call of each arm has."""
    if isinstance(arms[-1], Later):
        return arms[-1].after
    model = arms[-1].model
    if not model.vectorised and not is_compiled(model.log_likelihood):
        return "growing"
    each = sum(arm.evaluations for arm in arms if not isinstance(arm, Later))
    most = _EVALUATIONS if cost is None else _FIRST * cost
    return int(np.clip(most / each, 4, OPENING))


def ladder(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: Literal["autoregressive", "random-walk", "slice"] | KernelFunction = "autoregressive",
    sweeps: int = 1,
    vectorised: bool | None = None,
    cost: Literal["evaluations"] | None = None,
    precision: float | None = None,
    most: int | None = None,
) -> list[Rung]:
    """Return the arms that `evidence` plays, the most promising first.

    If plain draws of the prior promise a standard error of `precision` soon, within `most` draws,
    there are two arms: these draws, and an arm that a pilot chooses when it is first called.

    >>> import scipy.stats as st
    >>> arms = ladder(lambda x: -8 * (x**2).sum(axis=1), [st.norm(0, 1)] * 3)
    >>> [arm.__name__ for arm in arms]
    ['fitted', 'ais-24']
    """
    if not callable(kernel) and kernel not in KERNELS:
        known = ", ".join(map(repr, KERNELS))
        raise PlanError(f"kernel must be {known} or a function, got {kernel!r}")
    options: dict[str, Any] = {"kernel": kernel, "sweeps": sweeps, "cost": cost}
    if schedule is not None and temperatures is None:
        betas = None if callable(schedule) else betas_of(schedule, 2)
        if betas is None or isinstance(schedule, str):
            raise PlanError("schedule is for your own ladder: give temperatures= too")
        temperatures = len(betas)  # the user's own betas give their number
    if temperatures is not None and schedule is not None:
        if (
            not isinstance(schedule, str)
            and not callable(schedule)
            and len(_each(temperatures)) > 1
        ):
            raise PlanError(
                f"your own betas make one arm: give one number of temperatures with them, got "
                f"{temperatures!r}"
            )
        options.update(schedule=schedule, vectorised=vectorised)
        return [ais(log_likelihood, prior, temperatures=n, **options) for n in _each(temperatures)]
    model = model_of(log_likelihood, prior, vectorised=vectorised, name="evidence")
    if _doubtful(model.prior):
        check_law(model, pilot_stream())
        if temperatures is None:
            check_mass(model.charted(), pilot_stream())
    rng = pilot_stream()
    first = Start.of(model, rng)
    model = model.marked(*first)
    if temperatures is None and precision is not None:
        enough = _SAFE * first.enough(precision, ManyLooks.least_df)
        if enough <= _SOON and (most is None or enough <= most):
            options.update(vectorised=model.vectorised)
            later = partial(_piloted, log_likelihood, prior, **options)
            soon = _plain(model, Slice(2 * model.spread))
            return [soon, Later(later, math.ceil(enough), soon.version)]
    plain = model
    if kernel in ("autoregressive", "random-walk"):  # other moves are in the user's coordinates
        model = model.charted()
    pilot = explore(model, rng, first.on(model))
    if pilot is None:  # it saw only zeros: the ladder must do without it
        options.update(vectorised=model.vectorised, kernel="slice" if kernel in KERNELS else kernel)
        numbers = _PLAIN if temperatures is None else _each(temperatures)
        return [ais(log_likelihood, prior, temperatures=n, **options) for n in numbers]
    moves = _moves(kernel, model, pilot)
    build = _Builder(plain, model, pilot, moves, count_of("sweeps", sweeps), cost is not None)
    if temperatures is not None:
        return [build.annealed(n) for n in _each(temperatures)]
    return build.ladder()


def _doubtful(prior: Prior) -> bool:
    """Return whether a density is the user's own; those of scipy.stats are normalised."""
    if isinstance(prior, Frozen):
        return not is_scipys(prior.distribution)
    return isinstance(prior, Pair)


def _each(temperatures: int | Sequence[int]) -> tuple[int, ...]:
    given = (temperatures,) if np.ndim(temperatures) == 0 else tuple(temperatures)  # type: ignore[arg-type]
    numbers = tuple(count_of("temperatures", each) for each in given)
    if not numbers or min(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise PlanError(
            f"temperatures must be different numbers of at least 2 each, got {temperatures!r}"
        )
    return numbers


def _moves(kernel: Any, model: Model, pilot: Pilot) -> Kernel:
    if kernel == "autoregressive":
        return Autoregression(pilot.levels)
    if kernel == "random-walk":
        return RandomWalk(pilot.levels)
    if kernel == "slice":
        return Slice(2 * model.spread)
    return Custom(kernel, model.name)


@dataclass(frozen=True, eq=False)
class Later:
    """An arm that a pilot chooses when it is first called; every process chooses the same arm.

    Before it, `after` plain draws of the prior are made.
    """

    make: Callable[[], Annealed | Fitted]
    after: int
    version: str

    #: The arm returns logs, so `estimate` needs log=True.
    logs: ClassVar[bool] = True
    __name__: ClassVar[str] = "piloted"

    @cached_property
    def arm(self) -> Annealed | Fitted:
        """The arm that the pilot has chosen."""
        return self.make()

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` draws."""
        return self.arm(rng, size)


#: An arm of a ladder.
Rung: TypeAlias = Annealed | Fitted | Later


def _piloted(log_likelihood: LogLikelihood, prior: PriorLike, **options: Any) -> Annealed | Fitted:
    """Return the best arm of a ladder, as a pilot sees it, except plain draws of the prior."""
    arms = ladder(log_likelihood, prior, **options)
    return next(arm for arm in arms if not isinstance(arm, Later) and arm.__name__ != "prior")


def _plain(model: Model, moves: Kernel, *, costs: bool = False) -> Annealed:
    """Return plain sampling of the prior; no chain is moved."""
    return Annealed(model.named("prior"), np.array([0.0, 1.0]), moves, costs=costs)


class _Builder(NamedTuple):
    """Makes arms from what a pilot found; `plain` is the model without a chart."""

    plain: Model
    model: Model
    pilot: Pilot
    moves: Kernel
    sweeps: int
    costs: bool

    def annealed(self, temperatures: int) -> Annealed:
        """Return an arm with this number of temperatures on the pilot's schedule."""
        model, betas = self.model.named(f"ais-{temperatures}"), self.pilot.betas(temperatures)
        compiled = isinstance(self.moves, Slice) and compilable(model)
        return Annealed(model, betas, self.moves, self.sweeps, self.costs, compiled=compiled)

    def fitted(self) -> tuple[float, Fitted]:
        """Return the fitted distribution with the relative variance that a pilot expects."""
        model, pilot = self.model.named("fitted"), self.pilot
        fitted = Fitted(model, pilot.levels[-1], pilot.effective, self.costs)
        excess = _excess(fitted, pilot)
        if model.chart is not None:
            # Tails there are often between those of an exponential and a normal distribution.
            safer = replace(fitted, freedom=HEAVIER)
            if (other := _excess(safer, pilot)) < _DEARER * excess:
                return other, safer
        return excess, fitted

    def ladder(self) -> list[Rung]:
        """Return arms in the order of their expected cost times variance."""
        plain = _plain(self.plain, self.moves, costs=self.costs)
        excess, fitted = self.fitted()
        expected: list[tuple[float, Annealed | Fitted]] = [
            (self.pilot.excess, plain),
            (2 * excess, fitted),
        ]
        # One step per level adds -log(LEFT) to the variance of a log-weight; r steps add 1/r of it.
        levels = len(self.pilot.levels)
        whole = levels**2 * -math.log(LEFT)
        wanted = (math.ceil(whole / aim) for aim in _AIMS)
        for steps in sorted({max(2, steps) for steps in wanted}):
            variance = math.expm1(whole / steps)
            expected.append((2 * steps * variance, self.annealed(steps + 1)))
        if expected[-1][1].evaluations > _LONG:  # the finest is the last, the coarsest the third
            most = max(_LONG, expected[2][1].evaluations)
            expected = [pair for pair in expected if pair[1].evaluations <= most]
        expected.sort(key=lambda pair: pair[0])
        best = min(score for score, _ in expected)
        hopeful: list[Rung] = [arm for score, arm in expected if score <= _HOPELESS * best]
        # One arm must not depend on the fitted distribution, even if the pilot prefers it.
        rest = [arm for _, arm in expected if isinstance(arm, Annealed) and len(arm.betas) > 2]
        return hopeful if any(arm in hopeful for arm in rest) else [*hopeful, rest[0]]


def _excess(fitted: Fitted, pilot: Pilot) -> float:
    """Return the relative variance of the weights of `fitted`, from points of the posterior.

    With r = prior x likelihood/q there, E[r] = Z (1 + variance/Z^2) and E[1/r] = 1/Z.
    """
    chains, alive = pilot.chains, pilot.weights.nonzero()[0]
    alive = alive[:: 1 + len(alive) // _JUDGES]
    weights, prior = pilot.weights[alive], chains.prior[alive]
    r = prior + chains.likelihood[alive] - fitted.log_density(chains.points[alive], prior)
    r -= r.max()
    weights /= weights.sum()
    with np.errstate(over="ignore"):
        return max(float((weights @ np.exp(r)) * (weights @ np.exp(-r)) - 1), 1e-3)
