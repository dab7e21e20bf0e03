"""The registry of ready-made arms: one file each, with the function and an example.

Each function makes an unbiased, vectorised arm from an integrand or from what it needs. A draw
reports its cost in evaluations, so that ``cost=`` is a budget of evaluations.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NamedTuple

from croupier.arms.base import Arm

__all__ = ["READY_MADE", "Known", "known", "ready_made"]

#: The module of each ready-made arm: it has a function of this name, and `example`.
READY_MADE: Final[dict[str, str]] = {
    "plain": "croupier.arms.plain_draws",
    "antithetic": "croupier.arms.antithetic_pairs",
    "control_variate": "croupier.arms.control_variates",
    "controlled": "croupier.arms.controlled_draws",
    "stratified": "croupier.arms.stratified_cells",
    "latin_hypercube": "croupier.arms.latin_hypercubes",
    "randomised_net": "croupier.arms.randomised_nets",
    "importance": "croupier.arms.proposed_draws",
    "rejection": "croupier.arms.accepted_draws",
    "conditional": "croupier.arms.conditional_means",
    "debiased": "croupier.arms.debiased_sums",
    "multilevel": "croupier.arms.multilevel_sums",
}


class Known(NamedTuple):
    """An example for the contract tests: an arm with its mean, variance and cost per draw.

    If `at_most` is True, the variance is an upper bound.
    """

    arm: Arm
    mean: float
    variance: float
    cost: float
    at_most: bool = False


def ready_made(name: str) -> Any:
    """Return the function that makes a ready-made arm."""
    return getattr(import_module(READY_MADE[name]), name)


def known(name: str) -> Known:
    """Return the example of a ready-made arm."""
    example: Known = import_module(READY_MADE[name]).example()
    return example
