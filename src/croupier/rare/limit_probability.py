"""probability: how probable it is that a limit state is below zero, from the function alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Unpack, cast

import numpy as np

from croupier.arms.base import Arm
from croupier.checks import choice, known_settings, seed_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.functions.failures import AT_LEAST, AT_MOST, OnFailure
from croupier.functions.programs import Program
from croupier.rare.limit_state import Evaluated, LimitState, limit_state
from croupier.rare.rare_result import ProbabilityResult
from croupier.rare.rare_table import PHASES, RareTable
from croupier.rare.rounds import bound_by_default
from croupier.running.loop import conduct
from croupier.running.settings import Options, RunSettings, settings_of
from croupier.spaces.base import Space
from croupier.spaces.read_space import read_space

__all__ = ["probability"]

_KIND: Final = "probability"
_OWN: Final = (
    "draws", "below", "gradient", "starts", "known", "dimension", "names", "tolerance_for",
    "on_failure", "retries",
)  # fmt: skip


def probability(
    g: Callable[[Any], Any] | Program,
    over: Any,
    *,
    draws: float | None = None,
    below: float = 0.0,
    gradient: Callable[[Any], Any] | None = None,
    starts: Any = None,
    known: Any = None,
    dimension: int | None = None,
    names: Sequence[str] | None = None,
    tolerance_for: Any = None,
    on_failure: OnFailure = "raise",
    retries: int = 0,
    **settings: Unpack[Options],
) -> ProbabilityResult:
    """Estimate the probability that g(X) is below 0. No proposals are needed.

    In up to 10 dimensions, a Gaussian process learns where g is at its limit, and fresh calls make
    the estimate, with the process as a control variate. Otherwise, or if g cannot be learned, a
    search finds where g is below its limit, a mixture of normal distributions is fitted there, and
    fresh draws of the frozen mixture make the estimate. The calls of g are the draws.

    Args:
        g: The limit state. It takes many points (n, d) and returns n numbers, or it takes one
            point and returns a number; croupier finds out which, with a few calls that are not
            counted. For m limit states it returns (n, m), or m numbers. Or it is a `cr.Program`.
        over: The distribution of X: a dimension (standard normal), a list of frozen distributions
            of scipy.stats (independent), a frozen `multivariate_normal`,
            `croupier.rare.Nataf(marginals, correlation)`, or a pair (dimension, transform). Bounds
            are uniform distributions; all other forms of `over` of `croupier.integrate` work too.
        draws: Budget in calls of g; or give `seconds`. At most half of it is for the search.
        below: The limit.
        gradient: The derivatives of g for your variables, (n, d), or (n, m, d) for m limit states;
            it is called as g is. In a search, which means in more than 10 dimensions or for several
            limit states, walkers follow it to the design points. It is called at up to about a
            hundred points where g is called, too; `result.search` says how often.
        starts: Failing points that you know, in your coordinates (k, d): they join the search. For
            a transform they are standard normal points.
        known: Points that were evaluated elsewhere, and g there: ``(points, values)``, (k, d) in
            your coordinates and (k,). They tell a surrogate where to look and are no calls; the
            estimate does not depend on whether they are right.
        dimension: The number of coordinates of u, if `over` is a transform of the unit cube.
        names: Names of m limit states.
        tolerance_for: The components of m limit states that `rtol` and `atol` bind, by name or
            index: ``["any"]``. Otherwise these are every limit state and "any", but not "all".
        on_failure: What a call of g means that raises or returns NaN. "raise" ends the run with the
            point. "bounds" estimates two probabilities, "at least" and "at most": without the
            points where calls failed, and with them; ``result.between`` covers both. "fails" and
            "safe" count them as failures or not.
        retries: How often a call of g that fails is repeated first.
        **settings: Tolerances, workers, a store and all other settings of `cr.estimate`, except
            `cost` and `anytime`.

    Returns:
        A `ProbabilityResult`. For m > 1 limit states, its values are the probabilities of each,
        then that any fails (a series system) and that all fail (a parallel system).

    >>> import croupier as cr
    >>> result = cr.probability(lambda x: 4 - x[:, 0], over=2, draws=20_000, rtol=0.1, rng=7)
    >>> abs(result.value - 3.167e-5) < 4 * result.stderr, result.draws < 200
    (True, True)
    >>> bool(abs(result.design_points[0, 0] - 4) < 0.2), 3.9 < result.beta < 4.1
    (True, True)
    """
    known_settings("probability", settings, (*_OWN, *Options.__annotations__))
    run_settings = settings_of(draws, **settings)
    _check(run_settings)
    space = read_space(over, needs=("normal",), dimension=dimension)
    choice("on_failure", on_failure, OnFailure)
    repeated = seed_of("retries", retries)
    limit = limit_state(g, space, _number(below), gradient, on_failure=on_failure, retries=repeated)
    if on_failure == "bounds":
        if names is not None:
            raise PlanError("names= is for several limit states, but g has one: leave names out")
        names = (AT_LEAST, AT_MOST)
    arms = [Arm(Evaluated(limit), name=name) for name in PHASES]
    executors = run_settings.executors(arms)
    begin, evaluated = _starts(starts, space), _known(known, space, limit)
    components = _components(limit.states, names)
    run_settings = run_settings.bound_to(_bound(tolerance_for, components, run_settings))
    plan = run_settings.plan(
        arms,
        executors,
        table=_KIND,
        settings={
            "dimension": space.dimension,
            "states": limit.states,
            "below": limit.below,
            "starts": None if begin is None else begin.tolist(),
            **({} if gradient is None else {"gradient": True}),
            **({} if evaluated is None else {"known": evaluated}),
            **({} if on_failure == "raise" else {"on_failure": on_failure}),
        },
        policy={"name": _KIND},
        combine=_KIND,
        components=components,
    )
    return cast(ProbabilityResult, conduct(RareTable, plan, arms, run_settings, executors))


def _check(run_settings: RunSettings) -> None:
    if run_settings.kept == "guaranteed":
        raise PlanError(
            "interval='guaranteed' is not possible for cr.probability: the weights of its draws "
            "have no bounds that are known before; use cr.estimate with plain draws of 0 and 1"
        )
    if run_settings.anytime:
        raise PlanError(
            "anytime=True is not possible for cr.probability: a new epoch forgets older draws; "
            "give rtol= to stop early"
        )
    if run_settings.budget.cost is not None:
        raise PlanError("cost= is a budget, but g reports no costs: give draws= or seconds=")


def _number(below: Any) -> float:
    try:
        number = float(below)
    except (TypeError, ValueError):
        raise PlanError(f"below must be a number, got {below!r}") from None
    if not np.isfinite(number):
        raise PlanError(f"below must be finite, got {below!r}")
    return number


def _starts(starts: Any, space: Space) -> Floats | None:
    if starts is None:
        return None
    known, d = None, space.dimension
    with suppress(TypeError, ValueError):
        points = np.array(starts, float, ndmin=2)
        if points.ndim == 2 and points.shape[1] == d:
            known = space.to_normal(points)
    if known is None or not np.isfinite(known).all():
        raise PlanError(
            f"starts must be points (k, {d}) inside of the distribution, got {starts!r:.200}"
        )
    return known


def _known(known: Any, space: Space, limit: LimitState) -> list[Any] | None:
    """Return points in normal space and the limit state there, as lists; None if there are none."""
    if known is None:
        return None
    if limit.states > 1:
        raise PlanError(f"known= is for one limit state, but g has {limit.states}: leave it out")
    d, found = space.dimension, None
    with suppress(TypeError, ValueError):
        points, values = known
        x, g = np.array(points, float, ndmin=2), np.array(values, float).reshape(-1) - limit.below
        if x.ndim == 2 and len(x) == len(g) > 0 and x.shape[1] == d:
            found = space.to_normal(x), g
    if found is None or not all(np.isfinite(column).all() for column in found):
        raise PlanError(
            f"known must be points (k, {d}) inside of the distribution and k finite values of g, "
            f"got {known!r:.200}"
        )
    return [column.tolist() for column in found]


def _components(states: int, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if states == 1:
        if names is not None:
            raise PlanError("names= is for several limit states, but g has one: leave names out")
        return None
    given = tuple(f"g{k + 1}" for k in range(states)) if names is None else tuple(names)
    if len(given) != states:
        raise PlanError(f"names must be {states}, one for each limit state, got {given!r}")
    return (*given, "any", "all")


def _bound(
    chosen: Any, components: tuple[str, ...] | None, run_settings: RunSettings
) -> tuple[int, ...] | None:
    """Return the indices of the components that a tolerance binds; None if there is one only."""
    if chosen is None:
        return bound_by_default(0 if components is None else len(components))
    if components is None:
        raise PlanError("tolerance_for= is for several limit states, but g has one: leave it out")
    if not run_settings.aim.given:
        raise PlanError("tolerance_for= says what a tolerance is for: give rtol= or atol=, too")
    wanted = [chosen] if isinstance(chosen, str | int) else list(chosen)
    known: dict[Any, int] = {name: k for k, name in enumerate(components)}
    known.update((k, k) for k in range(len(components)))
    if not wanted or any(isinstance(each, bool) or each not in known for each in wanted):
        raise PlanError(
            f"tolerance_for must be some of {', '.join(map(repr, components))}, or their indices "
            f"from 0 to {len(components) - 1}, got {chosen!r:.200}"
        )
    return tuple(sorted({known[each] for each in wanted}))
