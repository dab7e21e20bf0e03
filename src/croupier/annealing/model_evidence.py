"""evidence: the evidence of a model, from its log-likelihood and its prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Unpack, cast

import numpy as np

from croupier.adapters.base import ModelObject
from croupier.adapters.read_model import model_object
from croupier.annealing.annealed import (
    KERNELS,
    KernelFunction,
    KernelName,
    Schedule,
    ais,
    betas_of,
)
from croupier.annealing.coordinates import coordinates_of
from croupier.annealing.evidence_arm import Evaluating
from croupier.annealing.evidence_result import EvidenceResult
from croupier.annealing.evidence_rounds import Start
from croupier.annealing.evidence_table import PHASES, EvidenceTable
from croupier.annealing.gradients import slope_of
from croupier.annealing.models import LogLikelihood, Model, PriorLike, model_of
from croupier.annealing.prior_checks import check_distribution, check_mass, check_proper
from croupier.arms.base import Arm, as_arms
from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.estimates.combiners import Combiner
from croupier.policies import Policy
from croupier.running.estimate import Dealing, deal
from croupier.running.loop import conduct
from croupier.running.settings import ArmOptions, Budget, RunSettings, split_options
from croupier.seeds import stream
from croupier.spaces.given import Sampled

__all__ = ["Start", "evidence", "looked_at", "searched"]

_KIND: Final = "evidence"

#: The first look at a model, for its mark and its checks, has a seed of its own: it is the same in
#: every process.
_SEED: Final = 0x7370
_CHECKS: Final = 4
_MARKED: Final = 3

#: The options of a run of arms that a run of one model does not have.
_OF_ARMS: Final = ("objective", "batch", "keep_values", "audit", "names")


def evidence(
    log_likelihood: LogLikelihood,
    prior: PriorLike = None,
    *,
    prior_transform: Callable[[Any], Any] | None = None,
    dimensions: int | None = None,
    gradient: Callable[[Any], Any] | None = None,
    vectorised: bool | None = None,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: KernelName | KernelFunction | None = None,
    sweeps: int | None = None,
    policy: str | Policy | None = None,
    combine: str | Combiner | None = None,
    **settings: Unpack[ArmOptions],
) -> EvidenceResult:
    """Estimate the evidence of a model, Z = integral prior x likelihood, with its error.

    A search finds where the posterior is: points of the prior, climbs to peaks, and a population
    that goes from the prior to the posterior. A mixture of distributions is fitted there, and fresh
    draws of the frozen mixture make the estimate, so it is unbiased for Z. Evaluations of the
    likelihood are the draws, wherever they are made.

    Args:
        log_likelihood: A function of points (n, d) that returns (n,), or of one point (d,) that
            returns a number; -inf where the data are impossible. Or a `cr.Program`. Or a model that
            has its own prior: of PyMC, of BridgeStan, or `adapters.numpyro(model, data)`.
        prior: A frozen distribution of scipy.stats, bounds (low, high), a list of these (one per
            coordinate), a pair of functions (sample(rng, size), logpdf(points)), or any other form
            that `over=` of `integrate` takes.
        prior_transform: Instead of `prior`: a function from the unit cube to the parameters, of
            one point (d,) or of many (n, d), as nested samplers take it.
        dimensions: The number of coordinates of that cube.
        gradient: The gradient of `log_likelihood`, (n, d) to (n, d), or of one point. Climbs then
            take far fewer evaluations in many dimensions. It is called where `log_likelihood` is
            called, too, and its calls are not draws.
        vectorised: Whether `log_likelihood` takes many points; if None, a few calls find out.
        temperatures: Your own ladder instead of the search: one arm of annealed importance
            sampling for each number.
        schedule: The betas of such a ladder, as in `annealing.ais`. Betas given as numbers make
            one arm, and need no `temperatures`.
        kernel: How its chains move; see `annealing.ais`. By default "autoregressive".
        sweeps: Its moves at each temperature, by default 1.
        policy: The policy that plays its arms, as in `estimate`.
        combine: How its arms are combined, as in `estimate`.
        **settings: Budgets, tolerances and all other settings of `estimate`: ``draws=`` or
            ``cost=`` (evaluations of the likelihood), ``seconds=``, ``rtol=`` for the half-width
            of log Z, ``rng=``, ...

    Returns:
        An `EvidenceResult`: `log_value` is log Z, with `log_stderr` and `log_interval`, and
        `posterior(n)` makes draws from the posterior. `details["search"]` says what was looked at,
        and how small the basin of a mode is that could be missing.

    >>> import croupier as cr, scipy.stats as st
    >>> def log_likelihood(x):
    ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> result = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
    >>> truth = st.norm.logpdf(1.0, 0, 1.25**0.5)
    >>> bool(abs(result.log_value - truth) < 4 * result.log_stderr)
    True
    """
    run_settings, own = split_options("evidence", settings, tuple(evidence.__kwdefaults__ or ()))
    if (found := model_object(log_likelihood)) is not None:
        unused = {"prior": prior, "prior_transform": prior_transform, "gradient": gradient}
        for name, value in unused.items():
            if value is not None:
                raise PlanError(f"a model has its own prior and gradient: leave out {name}=")
        _refuse({}, own, run_settings)
        return _of_model(found, run_settings)
    if gradient is None:
        gradient = getattr(log_likelihood, "gradient", None)
    if own.pop("log", True) is not True:
        raise PlanError("evidence always works in logs: leave out log=")
    form: dict[str, Any] = {"vectorised": vectorised}
    if prior_transform is not None:
        _check_transform(prior, prior_transform, dimensions)
        prior = prior_transform, None
        form |= {"argument": "prior_transform", "dimension": dimensions}
    elif dimensions is not None:
        raise PlanError("dimensions is for prior_transform=: a prior knows its own number")
    ladder = {
        "temperatures": temperatures, "schedule": schedule, "kernel": kernel, "sweeps": sweeps,
        "policy": policy, "combine": combine,
    }  # fmt: skip
    given = {name: value for name, value in ladder.items() if value is not None}
    if temperatures is not None or schedule is not None:
        model = model_of(log_likelihood, prior, **form)
        _check_prior(model)
        options = {**given, "gradient": gradient, "vectorised": vectorised}
        return _of_ladder(log_likelihood, model.space, run_settings, own, options)
    _refuse(given, own, run_settings)
    return searched(looked_at(log_likelihood, prior, **form), gradient, run_settings)


def _check_transform(prior: PriorLike, transform: Any, dimensions: int | None) -> None:
    if prior is not None:
        raise PlanError("prior and prior_transform are two priors: give one of them")
    if not callable(transform):
        raise PlanError(
            f"prior_transform must be a function of points, got {transform!r}; give distributions "
            "as prior="
        )
    if dimensions is None:
        raise PlanError("prior_transform needs dimensions=, the number of coordinates of the cube")
    count_of("dimensions", dimensions)


def _of_model(model: ModelObject, run_settings: RunSettings) -> EvidenceResult:
    """Play the table of a model of another library."""
    prior = model.sample, model.log_prior
    checked = looked_at(model.log_likelihood, prior, vectorised=True, proper=True)
    return searched(
        checked,
        model.gradient,
        run_settings,
        names=model.names,
        named=model.parameters,
        prior_gradient=model.prior_gradient,
    )


def _refuse(given: dict[str, Any], own: dict[str, Any], run_settings: RunSettings) -> None:
    """Refuse settings of a ladder without a ladder, and what fresh draws cannot give."""
    if given:
        name, value = next(iter(given.items()))
        if name == "kernel" and not callable(value) and value not in KERNELS:
            known = ", ".join(map(repr, KERNELS))
            raise PlanError(f"kernel must be {known} or a function, got {value!r}")
        raise PlanError(f"{name} is for your own ladder: give temperatures= too")
    for name in _OF_ARMS:
        if own.get(name) is not None:
            raise PlanError(f"{name} is for your own ladder: give temperatures= too")
    if run_settings.kept == "guaranteed":
        raise PlanError(
            "interval='guaranteed' is not possible for cr.evidence: the weights of its draws have "
            "no bounds that are known before"
        )
    if run_settings.anytime:
        raise PlanError(
            "anytime=True is not possible for cr.evidence: a new epoch forgets older draws; give "
            "rtol= to stop early"
        )


def _check_prior(model: Model) -> np.random.Generator | None:
    """Refuse two functions that are improper, or a sample with another density.

    Returns the random numbers for further checks; None for other priors, which need none.
    """
    if not isinstance(model.space, Sampled):
        return None
    rng = stream(_SEED, _CHECKS, 1)
    check_proper(model, rng)
    check_distribution(model, rng)
    return rng


def looked_at(
    log_likelihood: LogLikelihood, prior: PriorLike, *, proper: bool = False, **form: Any
) -> Model:
    """Return a model that was checked at a few points, which do not count as draws.

    The density of a prior that is known to be `proper` is not checked.
    """
    model = model_of(log_likelihood, prior, name="evidence", **form)
    if not proper:
        rng = _check_prior(model)
        if rng is not None:
            check_mass(model, rng)
    points = model.start(stream(_SEED, _CHECKS, 0), _MARKED)
    return model.marked(model.users(points), model.likelihood(points))


def searched(
    model: Model,
    gradient: Any,
    run_settings: RunSettings,
    start: Start | None = None,
    names: tuple[str, ...] = (),
    parameters: Callable[[Floats], Any] | None = None,
    named: Callable[[Floats], Mapping[str, Floats]] | None = None,
    prior_gradient: Callable[[Floats], Floats] | None = None,
) -> EvidenceResult:
    """Play the table of a model.

    `start` is what is known of its posterior, in the coordinates of the search. `parameters` takes
    points to those that the user sees, and `named` to those of a model by their names.
    """
    coordinates = coordinates_of(model, prior_gradient)
    slope = None
    if gradient is not None:
        slope = slope_of(model, gradient, model.start(stream(_SEED, _CHECKS, 2), 4))
        some = coordinates.sample(stream(_SEED, _CHECKS, 3), 1)
        if coordinates.pulled_back(some, np.zeros_like(some)) is None:
            slope = None  # the climbs take differences
    arm = Evaluating(model, coordinates, slope)
    arms = [Arm(arm, name=name, version=arm.version) for name in PHASES]
    run_settings = replace(run_settings, budget=_in_evaluations(run_settings.budget))
    executors = run_settings.executors(arms)
    plan = run_settings.plan(
        arms,
        executors,
        table=_KIND,
        versions=tuple([arm.version for arm in arms]),
        log=True,
        settings={
            "dimension": model.dimensions,
            "bounded": list(coordinates.bounded),
            "gradient": slope is not None,
            **_plain_start(start),
        },
        policy={"name": _KIND},
        combine=_KIND,
    )
    result = cast(EvidenceResult, conduct(EvidenceTable, plan, arms, run_settings, executors))
    place = partial(_parameters, coordinates.place, parameters)
    return replace(result, place=place, names=names, named=named)


def _plain_start(start: Start | None) -> dict[str, Any]:
    """Return what is known of a posterior as plain data for a plan."""
    if start is None:
        return {}
    mixture = {
        name: np.asarray(part).tolist() if name != "roots" else [each.tolist() for each in part]
        for name, part in start.mixture.as_plain().items()
    }
    return {"start": mixture, "held": start.held.tolist()}


def _parameters(
    place: Callable[[Floats], Floats], parameters: Callable[[Floats], Any] | None, points: Floats
) -> Floats:
    """Return points as the user's parameters."""
    x = place(points)
    return x if parameters is None else np.asarray(parameters(x))


def _in_evaluations(budget: Budget) -> Budget:
    """Return a budget in which cost= is draws=: both are evaluations of the likelihood."""
    if budget.cost is None:
        return budget
    draws = budget.cost if budget.draws is None else min(budget.draws, budget.cost)
    return replace(budget, draws=max(1, math.floor(draws)), cost=None)


def _of_ladder(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    run_settings: RunSettings,
    own: dict[str, Any],
    options: dict[str, Any],
) -> EvidenceResult:
    """Play the user's own ladder: arms of annealed importance sampling; draws= are evaluations."""
    temperatures, schedule = options.pop("temperatures", None), options.pop("schedule", None)
    policy, combine = options.pop("policy", "auto"), options.pop("combine", "guarded")
    numbers = _numbers(temperatures, schedule)
    options = {"kernel": "autoregressive", "cost": "evaluations", **options}
    if schedule is not None:
        options["schedule"] = schedule
    arms = [ais(log_likelihood, prior, temperatures=n, **options) for n in numbers]
    budget = run_settings.budget
    if budget.draws is not None:
        cost = min(float(budget.draws), budget.cost or math.inf)
        run_settings = replace(run_settings, budget=replace(budget, draws=None, cost=cost))
    dealing = Dealing(policy=policy, combine=combine, log=True, **own)
    result = deal(as_arms(arms), run_settings, dealing)
    return EvidenceResult.weighted(result, np.empty((0, 0)), np.empty(0), result.details)


def _numbers(
    temperatures: int | Sequence[int] | None, schedule: Schedule | None
) -> tuple[int, ...]:
    """Return the numbers of temperatures of a ladder."""
    betas = schedule is not None and not isinstance(schedule, str) and not callable(schedule)
    if temperatures is None:
        if schedule is None or not betas:
            raise PlanError("schedule is for your own ladder: give temperatures= too")
        return (len(betas_of(schedule, 2)),)  # the user's own betas give their number
    given: Sequence[Any] = (
        (temperatures,) if np.ndim(temperatures) == 0 else tuple(temperatures)  # type: ignore[arg-type]
    )
    numbers = tuple(count_of("temperatures", each) for each in given)
    if not numbers or min(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise PlanError(
            f"temperatures must be different numbers of at least 2 each, got {temperatures!r}"
        )
    if betas and len(numbers) > 1:
        raise PlanError(
            f"your own betas make one arm: give one number of temperatures with them, got "
            f"{temperatures!r}"
        )
    return numbers
