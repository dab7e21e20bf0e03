"""What simulated draws cost: a distribution for every arm; checks of numbers, one per arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.simulator import kinds

__all__ = ["Costs", "above_zero", "costs_of", "lognormal_costs", "numbers"]


class Costs(NamedTuple):
    """What draws cost: a distribution, a row of parameters per arm, and the mean of each arm."""

    distribution: int
    parameters: Floats
    means: Floats


def costs_of(costs: ArrayLike | Costs | None, arms: int) -> Costs:
    """Return what the draws of some arms cost: 1 each, if nothing is said."""
    if isinstance(costs, Costs):
        if len(costs.means) != arms:
            raise PlanError(f"costs are for {len(costs.means)} arms, the problem has {arms}")
        return costs
    means = np.ones(arms) if costs is None else numbers("costs", costs)
    if means.shape != (arms,) or not (means > 0).all():
        raise PlanError(f"costs must be above 0, one for each of {arms} arms, got {costs!r}")
    return Costs(kinds.COSTS_CONSTANT, np.column_stack((means, np.zeros(arms))), means)


def lognormal_costs(means: ArrayLike, spread: float) -> Costs:
    """Return random costs whose logarithm is normal with deviation `spread`, with given means.

    >>> lognormal_costs([1, 5, 20], spread=0.5).means
    array([ 1.,  5., 20.])
    """
    mean = above_zero("means", means)
    positive("spread", spread)
    logs = np.log(mean) - spread * spread / 2
    return Costs(
        kinds.COSTS_LOGNORMAL, np.column_stack((logs, np.full(len(mean), float(spread)))), mean
    )


def numbers(name: str, value: ArrayLike) -> Floats:
    """Return finite numbers as an array."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise PlanError(f"{name} must be numbers, got {value!r}") from None
    if not np.isfinite(array).all():
        raise PlanError(f"{name} must be finite, got {value!r}")
    return array


def above_zero(name: str, value: ArrayLike) -> Floats:
    """Return numbers above 0, one per arm, as an array."""
    array = np.atleast_1d(numbers(name, value))
    if array.ndim != 1 or len(array) == 0 or not (array > 0).all():
        raise PlanError(f"{name} must be numbers above 0, one per arm, got {value!r}")
    return array
