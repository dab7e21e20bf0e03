"""integrate: one integrand, one domain, and a race of randomised nets for the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, Unpack

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.integrand import integrand_of
from croupier.checks import choice, known_settings, seed_of
from croupier.errors import PlanError
from croupier.functions.failures import Bounded, known_range, named_ends
from croupier.functions.function import Function
from croupier.functions.programs import Program
from croupier.integration.challengers import FITTED, PLAIN
from croupier.integration.net_arm import NetArm
from croupier.integration.race import Race
from croupier.integration.runner import NETS_EACH
from croupier.results.result import Result
from croupier.running.loop import conduct
from croupier.running.settings import Options, RunSettings, settings_of
from croupier.spaces.read_space import read_space

__all__ = ["integrate"]

#: The kind of table, and what its plan says where others name a policy and a combiner.
RACE: Final = "race"

_OWN: Final = ("draws", "dimension", "names", "on_failure", "bounds", "retries")

#: If calls may fail, f is tried at so many places: with 5 % failures, 1 run in 10^12 finds none.
_PLACES: Final = 12

#: The fewest evaluations: two points in each net.
_FEWEST: Final = 2 * NETS_EACH


def integrate(
    f: Callable[[Any], Any] | Program,
    over: Any,
    *,
    draws: float | None = None,
    dimension: int | None = None,
    names: Sequence[str] | None = None,
    on_failure: Literal["raise", "bounds"] = "raise",
    bounds: tuple[float, float] | None = None,
    retries: int = 0,
    **options: Unpack[Options],
) -> Result:
    """Integrate a function; the best of several families of randomised nets is found on the way.

    Args:
        f: The integrand. It takes points (n, d) and returns n values, or an array (n, m) for m
            integrals at once. A function of one point is wrapped, which is slower. Or it is a
            `cr.Program`.
        over: Where to integrate. Bounds ``(low, high)`` for one dimension, or a list of them; an
            end may be infinite. A frozen distribution of scipy.stats, a list of them (bounds may
            be among them), or a frozen ``multivariate_normal``: then the result is the expectation
            of f. Or a pair of functions ``(transform, log_density)``: x = transform(u) for uniform
            points u (n, dimension), and the log density of x. The result is the integral over dx;
            with None in place of the log density, it is the expectation of f(x).
        draws: The most evaluations of f.
        dimension: The number of coordinates of u; only for a pair of functions.
        names: The names of the m integrals, for tables, data frames and JSON.
        on_failure: What a call of f means that raises or returns NaN. "raise" ends the run with the
            point. "bounds" gives two estimates, "at least" and "at most", with either end of
            `bounds` in place of the missing value; ``result.between`` covers both.
        bounds: The range of the values of f, for on_failure="bounds".
        retries: How often a call of f that fails is repeated first.
        **options: ``rtol=``, ``atol=``, ``seconds=``, ``rng=``, ``workers=``, ``store=`` and all
            other options of `estimate`, except those about arms. With a tolerance, every integral
            must reach it.

    Returns:
        A `Result`. Its rows are the families of nets. The interval is Student's, from the spread
        of 4 independent nets and of their halves, quarters and so on, down to 64 parts.

    >>> import numpy as np
    >>> import croupier as cr
    >>> result = cr.integrate(
    ...     lambda x: np.exp(-x.sum(axis=1)), [(0, 1)] * 3, rtol=1e-3, draws=100_000, rng=7
    ... )
    >>> round(result.value, 3), round((1 - 1 / np.e) ** 3, 3), result.stopped
    (0.253, 0.253, 'tolerance')
    """
    known_settings("integrate", options, (*_OWN, *Options.__annotations__))
    settings = settings_of(draws, **options)
    _check(settings)
    domain = read_space(over, needs=("cube",), dimension=dimension)
    choice("on_failure", on_failure, Literal["raise", "bounds"])
    integrand: Function | Bounded
    if on_failure == "raise":
        if bounds is not None:
            raise PlanError("bounds= is for on_failure='bounds': leave it out")
        integrand = integrand_of(f, domain, retries=seed_of("retries", retries))
    else:
        known = known_range(bounds, "bounds=(low, high)")
        found = integrand_of(f, domain, places=_PLACES, retries=seed_of("retries", retries))
        integrand = Bounded(found, known)
        names = named_ends(names, int(np.prod(found.shape, dtype=int)))
    plain = PLAIN if domain.rotation is not None else PLAIN[:1]
    families = (*plain, *(FITTED if domain.dimension > 1 else FITTED[:2]))  # one axis cannot turn
    arms = [Arm(NetArm(integrand, domain, name), name) for name in families]
    executors = settings.executors(arms)
    rotation = None if domain.rotation is None else domain.rotation.tolist()
    plan = settings.plan(
        arms,
        executors,
        table=RACE,
        settings={"dimension": domain.dimension, "rotation": rotation},
        policy={"name": RACE},
        combine=RACE,
        components=names,
    )
    return conduct(Race, plan, arms, settings, executors)


def _check(settings: RunSettings) -> None:
    if settings.kept is not None:
        name = "anytime=True" if settings.kept == "anytime" else "interval='guaranteed'"
        raise PlanError(
            f"{name} is not possible for a race of nets: the points of a net are not independent; "
            "give rtol= or atol= to stop early"
        )
    if settings.budget.cost is not None:
        raise PlanError("cost= is not possible: an integrand reports no costs; give draws=")
    if settings.budget.draws is not None and settings.budget.draws < _FEWEST:
        raise PlanError(
            f"draws={settings.budget.draws} is too small for {NETS_EACH} nets: give at least "
            f"{_FEWEST}"
        )
