"""The arms of `evidence`: a look at the model, a pilot within its budget, and a ladder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from croupier.annealing.annealed import (
    KERNELS,
    Annealed,
    Custom,
    Kernel,
    KernelFunction,
    KernelName,
    Schedule,
    ais,
    betas_of,
    slope_for,
)
from croupier.annealing.fitted import Fitted, FittedModes
from croupier.annealing.gradients import Langevin, Slope
from croupier.annealing.mixtures import MixtureMoves
from croupier.annealing.model_doubts import likelihood_doubts, pilot_doubts
from croupier.annealing.models import Model, model_of, pilot_stream
from croupier.annealing.modes import Modes, affordable, searched
from croupier.annealing.pilot_limits import LEAST, PILOT, Limits, first_look, none_bought
from croupier.annealing.pilot_meter import Meter
from croupier.annealing.pilots import FIRST, Pilot, explore
from croupier.annealing.prior_checks import check_law, check_mass, check_proper
from croupier.annealing.priors import Frozen, Pair, Prior, PriorLike, is_scipys
from croupier.annealing.rungs import LONG, Builder, Later, Rung, is_poor, plain_arm
from croupier.annealing.slices import Slice
from croupier.annealing.vectorised import LogLikelihood
from croupier.annealing.walks import Autoregression, RandomWalk
from croupier.checks import count_of
from croupier.errors import PlanError
from croupier.estimates.intervals import ManyLooks

__all__ = ["Prepared", "Wish", "ladder", "prepared"]

#: The ladder if the pilot found nothing: geometric.
_PLAIN: Final = (16, 64, 256)

#: The way from prior to posterior is long if the first level is below this beta. Then a mode may
#: have little of the mass at first, and two searches look for modes; so they do if one fitted
#: distribution is far from the points of the pilot.
_FAR: Final = 0.15

#: In a budget of seconds, one chain takes at most about this share of it.
_CHAIN: Final = 0.01

#: A first look says how many plain draws of the prior are needed. If this factor times that number
#: is at most the limit, they are enough: a pilot and the first calls of its arms would take more.
_SAFE: Final = 1.5
_SOON: Final = 1000

#: A pilot with fewer points for each coordinate than this knows little about a covariance.
_MEAGRE: Final = 10


@dataclass(frozen=True)
class Wish:
    """What the user asked for: a model, and the ladder of arms; `evidence` describes them."""

    log_likelihood: LogLikelihood
    prior: PriorLike
    temperatures: int | Sequence[int] | None = None
    schedule: Schedule | None = None
    kernel: Any = "autoregressive"
    sweeps: int = 1
    vectorised: bool | None = None
    cost: Literal["evaluations"] | None = None
    precision: float | None = None
    most: int | None = None
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    gradient: Any = None


class Prepared(NamedTuple):
    """The arms of a ladder, the modes if they were searched for, and the seconds of an evaluation.

    `points` is the number of points of the pilot, if there was one. `said` are warnings: what the
    budget did not buy, and what looks wrong in the model.
    """

    arms: list[Rung]
    modes: Modes | None = None
    each: float = 0.0
    points: int = 0
    said: tuple[str, ...] = ()


def ladder(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: KernelName | KernelFunction = "autoregressive",
    sweeps: int = 1,
    vectorised: bool | None = None,
    cost: Literal["evaluations"] | None = None,
    precision: float | None = None,
    most: int | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    gradient: Callable[[Any], Any] | None = None,
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
    asked = (temperatures, schedule, kernel, sweeps, vectorised, cost, precision, most, seed)
    wish = Wish(log_likelihood, prior, *asked, limits or Limits(), gradient)
    return prepared(wish, wish.limits.meter()).arms


def prepared(wish: Wish, meter: Meter) -> Prepared:
    """Return the arms of `ladder`; the pilot has as many points as its share of the budget buys."""
    kernel, temperatures, schedule = wish.kernel, wish.temperatures, wish.schedule
    if not callable(kernel) and kernel not in KERNELS:
        known = ", ".join(map(repr, KERNELS))
        raise PlanError(f"kernel must be {known} or a function, got {kernel!r}")
    options: dict[str, Any] = {
        "kernel": kernel, "gradient": wish.gradient, "sweeps": wish.sweeps, "cost": wish.cost
    }  # fmt: skip
    steps = count_of("sweeps", wish.sweeps)
    if schedule is not None:
        numbers = _own_ladder(schedule, temperatures)
        options.update(schedule=schedule, vectorised=wish.vectorised)
        return Prepared(_annealed(wish, numbers, options))
    model = model_of(wish.log_likelihood, wish.prior, vectorised=wish.vectorised, name="evidence")
    if _doubtful(model.prior):
        check_proper(model, pilot_stream())
        check_law(model, pilot_stream())
        if temperatures is None:
            check_mass(model.charted(), pilot_stream())
    rng = pilot_stream()
    first, each, allowed = first_look(replace(model, meter=meter), rng, wish.limits, meter)
    model = model.marked(*first)
    doubts = likelihood_doubts(first.likelihood)
    if temperatures is None and wish.precision is not None:
        enough = _SAFE * first.enough(wish.precision, ManyLooks.least_df)
        if enough <= _SOON and (wish.most is None or enough <= wish.most):
            options.update(vectorised=model.vectorised, seed=wish.seed, limits=wish.limits)
            later = partial(_piloted, wish.log_likelihood, wish.prior, **options)
            soon = plain_arm(model, Slice(2 * model.spread))
            arms: list[Rung] = [soon, Later(later, math.ceil(enough), soon.version)]
            return Prepared(arms, said=doubts)
    if allowed < LEAST and temperatures is None:
        soon = plain_arm(model, Slice(2 * model.spread), costs=wish.cost is not None)
        return Prepared([soon], None, each, 0, (none_bought(allowed), *doubts))
    plain = model
    if kernel in ("autoregressive", "random-walk"):  # other moves are in the user's coordinates
        model = model.charted()
    slope = slope_for(kernel, wish.gradient, model)
    metered = replace(model, meter=meter)
    search = kernel == "autoregressive" and temperatures is None
    share = allowed / 4 if search and affordable(0.75 * allowed) else allowed
    pilot = explore(metered, rng, first.on(model), share)
    if pilot is None:  # it saw only zeros: the ladder must do without it
        options.update(vectorised=model.vectorised, kernel="slice" if kernel in KERNELS else kernel)
        options["gradient"] = None
        numbers = _PLAIN if temperatures is None else _each(temperatures)
        return Prepared(_annealed(wish, numbers, options), None, each, said=doubts)
    modes = None
    if search and (pilot.levels[0].beta < _FAR or is_poor(model, pilot)):
        left = None
        if wish.limits.seconds is not None:
            left = max(0.0, PILOT * wish.limits.seconds - meter.elapsed)
        # A few points of a function of many points take nearly as long as hundreds.
        pace = meter.decided(lambda: meter.pace(0.0 if model.vectorised else each))
        most = max(allowed, wish.limits.allowed(pace))
        rest = meter.decided(lambda: _rest(most, pace, left, meter.evaluations))
        modes = searched(metered, wish.seed, rest, left)
    found = modes if modes and modes.levels else pilot
    moves = (
        MixtureMoves(modes.levels)
        if modes and modes.levels
        else _moves(kernel, model, pilot, slope)
    )
    each = meter.decided(lambda: meter.pace(each))
    longest = meter.decided(lambda: _longest(wish.limits, each))
    build = Builder(plain, model, found, moves, steps, wish.cost is not None, longest)
    points = len(pilot.weights)
    doubts = (*doubts, *pilot_doubts(model, first.on(model), pilot))
    if temperatures is not None:
        own: list[Rung] = [build.annealed(n) for n in _each(temperatures)]
        return Prepared(own, None, each, points, doubts)
    said = (*_meagre(model, pilot, meter.evaluations), *doubts)
    return Prepared(build.ladder(), modes, each, points, said)


def _rest(allowed: float, pace: float, left: float | None, spent: int) -> float:
    """Return the evaluations that are left for searches."""
    rest = max(allowed - spent, 0.0)
    return rest if left is None else min(rest, left / pace)


def _longest(limits: Limits, each: float) -> float:
    """Return the most evaluations of one chain."""
    return LONG if limits.seconds is None else min(LONG, _CHAIN * limits.seconds / each)


def _meagre(model: Model, pilot: Pilot, evaluations: int) -> tuple[str, ...]:
    """Return what to say about a pilot with too few points, nothing if it has enough."""
    points = len(pilot.weights)
    if points >= _MEAGRE * model.dimensions or points >= FIRST:
        return ()
    return (
        f"the budget was small: the pilot bought {points} points in {evaluations:,} evaluations of "
        f"the likelihood, for {model.dimensions} coordinates, so the arms may fit badly; give more",
    )


def _own_ladder(schedule: Schedule, temperatures: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the numbers of temperatures for a schedule of the user."""
    own = not isinstance(schedule, str) and not callable(schedule)
    if temperatures is None:
        betas = None if callable(schedule) else betas_of(schedule, 2)
        if betas is None or not own:
            raise PlanError("schedule is for your own ladder: give temperatures= too")
        return (len(betas),)  # the user's own betas give their number
    if own and len(_each(temperatures)) > 1:
        raise PlanError(
            f"your own betas make one arm: give one number of temperatures with them, got "
            f"{temperatures!r}"
        )
    return _each(temperatures)


def _annealed(wish: Wish, numbers: Sequence[int], options: dict[str, Any]) -> list[Rung]:
    """Return arms that need no pilot."""
    return [ais(wish.log_likelihood, wish.prior, temperatures=n, **options) for n in numbers]


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


def _moves(kernel: Any, model: Model, pilot: Pilot, slope: Slope | None) -> Kernel:
    if slope is not None:
        return Langevin(pilot.levels, slope)
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
