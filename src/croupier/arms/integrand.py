"""The integrand: how f is called, found out at points of its domain, and its weighted values."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import ArmError, CroupierWarning, PlanError, text_of
from croupier.functions.failures import Bounded
from croupier.functions.function import INTEGRAND, Function, shown
from croupier.functions.programs import Program
from croupier.functions.read_function import enough_points, read_function
from croupier.spaces.base import Moved, Space

__all__ = ["integrand_of", "weighted_values"]

#: The function is tried at these points of the cube before the run. They do not count as draws.
_TRIED: Final = (0.37, 0.61, 0.53)


def integrand_of(f: Any, domain: Space, *, places: int = 1, retries: int = 0) -> Function:
    """Find out how f is called; warn if it takes one point, as a function of all is faster.

    It is tried at so many `places`, until one of them has no failed call.
    """
    points = [_points(domain, place) for place in range(places)]
    found = read_function(f, points, INTEGRAND, retries=retries)
    if found.takes != "all" and not isinstance(f, Program):
        warnings.warn(
            "f takes one point at a time, so it is called in a loop: a function of all points "
            f"(n, {domain.dimension}) is much faster",
            CroupierWarning,
            stacklevel=4,
        )
    return found


def _points(domain: Space, place: int) -> Floats:
    """Return a few points of the domain."""
    d = domain.dimension
    many = enough_points(d)
    u = np.array(
        [[(base + 0.618 * j + 0.073 * place) % 1.0 for j in range(d)] for base in _TRIED[:many]]
    )
    try:
        if "cube" in domain.lacks:
            return domain.sample(np.random.default_rng(place), many)
        return domain.place(Moved(u, None, None))[0]
    except PlanError:
        raise
    except Exception as error:
        raise PlanError(f"over= cannot be evaluated: {text_of(error)}") from error


def weighted_values(
    integrand: Function | Bounded, domain: Space, moved: Moved, name: str
) -> Floats:
    """Return f(x) times all weights at points of the cube; refuse what is not finite."""
    x, weight = domain.place(moved)
    values = integrand(x)
    for factor in (weight, moved.jac):
        if factor is not None:
            values = _times(values, factor)
    finite = np.isfinite(values)
    if not finite.all():
        at = x[int(np.argmin(finite.reshape(len(x), -1).all(axis=1)))]
        raise ArmError(
            f"f times the weight of the point is not finite at the point {shown(at)}. "
            f"{INTEGRAND.way_out}",
            arm=name,
            value=np.inf,
        )
    return values


def _times(values: Floats, factor: Floats) -> Floats:
    """Multiply values by weights. A value of 0 stays 0, also where the weight is infinite."""
    factor = factor if values.ndim == 1 else factor[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(values == 0, 0.0, values * factor)
