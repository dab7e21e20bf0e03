"""evidence: the evidence of a model, by a ladder of annealed importance samplers as arms."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Unpack

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
)
from croupier.annealing.fitted import Fitted, FittedModes
from croupier.annealing.mixtures import MixtureMoves
from croupier.annealing.models import Model, model_of, pilot_stream
from croupier.annealing.modes import Modes, doubts, searched
from croupier.annealing.pilots import FIRST, Pilot, Start, explore
from croupier.annealing.prior_checks import check_law, check_mass
from croupier.annealing.priors import Frozen, Pair, Prior, PriorLike, is_scipys
from croupier.annealing.rungs import LONG, Builder, Later, Rung, plain_arm
from croupier.annealing.slices import Slice
from croupier.annealing.vectorised import LogLikelihood, is_compiled
from croupier.annealing.walks import Autoregression, RandomWalk
from croupier.arms.base import as_arms
from croupier.checks import count_of, fraction_of
from croupier.data.plan import Batching
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.combiners import Combiner
from croupier.estimates.intervals import ManyLooks
from croupier.policies import Policy
from croupier.results.result import Result
from croupier.running.estimate import Dealing, deal
from croupier.running.settings import ArmOptions, Budget, RunSettings, split_options

__all__ = ["evidence", "ladder"]

#: Chains of a first call: many chains move together, so a call costs far more than a chain.
OPENING: Final = 300

#: The first calls of all arms take at most this share of a budget of evaluations. Otherwise the
#: most expensive arm would get most of it, and not the best arm.
_FIRST: Final = 0.1

#: And at most this many evaluations; otherwise chains of slices would exceed a budget of seconds.
_EVALUATIONS: Final = 200_000

#: The ladder if the pilot found nothing: geometric.
_PLAIN: Final = (16, 64, 256)

#: The way from prior to posterior is long if the first level is below this beta. Then a mode may
#: have little of the mass at first, and two searches look for modes.
_FAR: Final = 0.15

#: The largest share of a budget of seconds for the pilot, and the points that time the likelihood.
_PILOT: Final = 0.4
_FEW: Final = 20

#: In a budget of seconds, one chain takes at most about this share of it.
_CHAIN: Final = 0.01

#: What croupier itself takes for a point of a pilot, in seconds: moves, groups and fits.
_OWN: Final = 1e-5

#: A first look says how many plain draws of the prior are needed. If this factor times that number
#: is at most the limit, they are enough: a pilot and the first calls of its arms would take more.
_SAFE: Final = 1.5
_SOON: Final = 1000


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
            of log Z, ``rng=``, ... A budget of seconds includes the pilot, which gets at most
            four tenths of it. Budgets of draws and of cost do not include it.

    Returns:
        A `Result`: `log_value` is log Z, with `log_stderr` and `log_interval`. `details["pilot"]`
        says what the pilot took. If it searched for modes, it also says how many it found, what
        each search gave for log Z, and which share of the tempered mass a mode needs to be seen.

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
    began = time.perf_counter()
    prepared = _prepared(
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
        seed=_seed_of(around),
        # A stored run may continue with another budget, and must then have the same arms.
        seconds=None if around.store else around.budget.seconds,
    )
    spent = time.perf_counter() - began
    own.setdefault("batch", _opening(prepared, around.budget))
    dealing = Dealing(policy=policy, combine=combine, log=True, **own)
    result = deal(as_arms(list(prepared.arms)), _without(around, spent), dealing)
    pilot = {"seconds": spent, **(prepared.modes.report() if prepared.modes else {})}
    said = [] if prepared.modes is None else doubts(prepared.modes)
    for text in said:
        warnings.warn(text, CroupierWarning, stacklevel=2)
    return replace(
        result,
        seconds=result.seconds + (spent if around.budget.seconds is not None else 0.0),
        warnings=(*result.warnings, *said),
        details={**result.details, "pilot": pilot},
    )


def _seed_of(around: RunSettings) -> int:
    """Return the seed of the run; without one, that of the store, if it has one."""
    if around.seeded or around.store is None:
        return around.seed
    from croupier.store.reading import planned_seed

    stored = planned_seed(around.store)
    return around.seed if stored is None else stored


def _without(around: RunSettings, spent: float) -> RunSettings:
    """Return the settings with what is left of a budget of seconds; a tenth is always left."""
    if (seconds := around.budget.seconds) is None:
        return around
    return replace(
        around, budget=replace(around.budget, seconds=max(seconds - spent, seconds / 10))
    )


def _precision(around: RunSettings) -> float | None:
    """Return the standard error of log Z that stops a run, None if none does or is known."""
    wanted = max(around.tolerance.atol or 0.0, around.tolerance.rtol or 0.0)
    # A stored run may continue with another tolerance, and must then have the same arms.
    if not wanted or around.anytime or around.store or around.budget.cost:
        return None
    confidence = fraction_of("confidence", around.confidence)
    return wanted / float(ManyLooks.at(ManyLooks.least_df, confidence))


def _opening(prepared: Prepared, budget: Budget) -> Batching:
    """Return how many chains the first call of each arm has."""
    arms = prepared.arms
    if isinstance(arms[-1], Later):
        return arms[-1].after
    model = arms[-1].model
    if not model.vectorised and not is_compiled(model.log_likelihood):
        return "growing"
    each = sum(arm.evaluations for arm in arms if not isinstance(arm, Later))
    most = _EVALUATIONS if budget.cost is None else _FIRST * budget.cost
    if budget.seconds is not None and prepared.each:
        most = min(most, _FIRST * budget.seconds / prepared.each)
    return int(np.clip(most / each, 4, OPENING))


class Prepared(NamedTuple):
    """The arms of a ladder, the modes if they were searched for, and the seconds of a point."""

    arms: list[Rung]
    modes: Modes | None = None
    each: float = 0.0


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
    seed: int = 0,
) -> list[Rung]:
    """Return the arms that `evidence` plays, the most promising first.

    If plain draws of the prior promise a standard error of `precision` soon, within `most` draws,
    there are two arms: these draws, and an arm that a pilot chooses when it is first called. If
    the way from prior to posterior is long, two searches look for modes, from the `seed`.

    >>> import scipy.stats as st
    >>> arms = ladder(lambda x: -8 * (x**2).sum(axis=1), [st.norm(0, 1)] * 3)
    >>> [arm.__name__ for arm in arms]
    ['fitted', 'ais-24']
    """
    return _prepared(
        log_likelihood,
        prior,
        temperatures=temperatures,
        schedule=schedule,
        kernel=kernel,
        sweeps=sweeps,
        vectorised=vectorised,
        cost=cost,
        precision=precision,
        most=most,
        seed=seed,
        seconds=None,
    ).arms


def _prepared(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int | Sequence[int] | None,
    schedule: Schedule | None,
    kernel: Any,
    sweeps: int,
    vectorised: bool | None,
    cost: Literal["evaluations"] | None,
    precision: float | None,
    most: int | None,
    seed: int,
    seconds: float | None,
) -> Prepared:
    """Return the arms of `ladder`; in a budget of seconds, the pilot has as many points as fit."""
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
        numbers = _each(temperatures)
        return Prepared([ais(log_likelihood, prior, temperatures=n, **options) for n in numbers])
    model = model_of(log_likelihood, prior, vectorised=vectorised, name="evidence")
    if _doubtful(model.prior):
        check_law(model, pilot_stream())
        if temperatures is None:
            check_mass(model.charted(), pilot_stream())
    rng, began = pilot_stream(), time.perf_counter()
    first, each = _first_look(model, rng, seconds)
    model = model.marked(*first)
    if temperatures is None and precision is not None:
        enough = _SAFE * first.enough(precision, ManyLooks.least_df)
        if enough <= _SOON and (most is None or enough <= most):
            options.update(vectorised=model.vectorised, seed=seed)
            later = partial(_piloted, log_likelihood, prior, **options)
            soon = plain_arm(model, Slice(2 * model.spread))
            return Prepared([soon, Later(later, math.ceil(enough), soon.version)])
    plain = model
    if kernel in ("autoregressive", "random-walk"):  # other moves are in the user's coordinates
        model = model.charted()
    allowed = math.inf if seconds is None else _PILOT * seconds / (each + _OWN)
    pilot = explore(model, rng, first.on(model), allowed / 4)
    if pilot is None:  # it saw only zeros: the ladder must do without it
        options.update(vectorised=model.vectorised, kernel="slice" if kernel in KERNELS else kernel)
        numbers = _PLAIN if temperatures is None else _each(temperatures)
        return Prepared([ais(log_likelihood, prior, temperatures=n, **options) for n in numbers])
    modes = None
    if kernel == "autoregressive" and temperatures is None and pilot.levels[0].beta < _FAR:
        left = None
        if seconds is not None:
            left = max(0.0, _PILOT * seconds - (time.perf_counter() - began))
            allowed *= left / (_PILOT * seconds)
        modes = searched(model, seed, allowed, left)
    moves = MixtureMoves(modes.levels) if modes and modes.levels else _moves(kernel, model, pilot)
    found = modes if modes and modes.levels else pilot
    longest = LONG if seconds is None else min(LONG, _CHAIN * seconds / (each + _OWN))
    steps = count_of("sweeps", sweeps)
    build = Builder(plain, model, found, moves, steps, cost is not None, longest)
    if temperatures is not None:
        return Prepared([build.annealed(n) for n in _each(temperatures)])
    return Prepared(build.ladder(), modes, each)


def _first_look(
    model: Model, rng: np.random.Generator, seconds: float | None
) -> tuple[Start, float]:
    """Return the first points of the prior, and the seconds that one takes.

    In a budget of seconds, a slow likelihood gets fewer points.
    """
    if seconds is None:
        return Start.of(model, rng), 0.0
    began = time.perf_counter()
    first = Start.of(model, rng, _FEW)
    each = (time.perf_counter() - began) / _FEW
    size = int(np.clip(_PILOT * seconds / max(each, 1e-9) / 200, _FEW, FIRST))
    return (first.joined(Start.of(model, rng, size - _FEW)) if size > _FEW else first), each


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


def _piloted(
    log_likelihood: LogLikelihood, prior: PriorLike, **options: Any
) -> Annealed | Fitted | FittedModes:
    """Return the best arm of a ladder, as a pilot sees it, except plain draws of the prior."""
    arms = ladder(log_likelihood, prior, **options)
    return next(arm for arm in arms if not isinstance(arm, Later) and arm.__name__ != "prior")
