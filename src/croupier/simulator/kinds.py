"""What kernels are told by a number: an index, a payoff, a distribution, what went wrong.

Plain constants: players and problems choose by them, and numba compiles the same names into the
kernels. This file needs no compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = [
    "COSTS_CONSTANT",
    "COSTS_GAMMA",
    "COSTS_LOGNORMAL",
    "COSTS_RECORDED",
    "COST_DISTRIBUTIONS",
    "COST_VARIANCE",
    "COST_VARIANCE_TRIPLES",
    "DISTRIBUTIONS",
    "EVEN",
    "KL_UCB",
    "LOGNORMAL",
    "MOSS",
    "NORMAL",
    "NOT_A_NUMBER",
    "OUT_OF_RANGE",
    "PAYOFFS",
    "RECORDED",
    "SECOND_MOMENT",
    "SUBGAUSSIAN",
    "TIGHTEST",
    "TRUNCATED",
    "TWO_VALUES",
    "UCB1",
    "UCB_V",
    "UNIFORM",
    "USERS_OWN",
    "VARIANCE",
]

# Indices, with their parameters.
UCB1: Final = 0  # scale, how much later than the draws so far the time is
UCB_V: Final = 1  # zeta, c, cut
KL_UCB: Final = 2  # f
MOSS: Final = 3  # horizon (0: anytime), arms
SUBGAUSSIAN: Final = 4  # sigma, alpha
EVEN: Final = 5  # the smallest count: draws in turn
TIGHTEST: Final = 6  # how many indices, then kind and three parameters of each

# Payoffs: see `croupier.policies.payoffs`.
SECOND_MOMENT: Final = 0
VARIANCE: Final = 1
COST_VARIANCE: Final = 2
COST_VARIANCE_TRIPLES: Final = 3

# Laws of the values, with their parameters.
USERS_OWN: Final = -1
TWO_VALUES: Final = 0  # low, high, the chance of high
NORMAL: Final = 1  # mean, deviation
TRUNCATED: Final = 2  # mean and deviation before the cut, low, high
UNIFORM: Final = 3  # low, high
LOGNORMAL: Final = 4  # mean and deviation of the logarithm
RECORDED: Final = 5  # any of the arm's recorded draws

# Laws of the costs, with their parameters.
COSTS_CONSTANT: Final = 0  # the cost
COSTS_LOGNORMAL: Final = 1  # mean and deviation of the logarithm
COSTS_GAMMA: Final = 2  # shape, scale
COSTS_RECORDED: Final = 3  # beside the recorded value

# What can go wrong: written with the run's arm, time and value.
OUT_OF_RANGE: Final = 1
NOT_A_NUMBER: Final = 2

#: Payoffs by the names that policies have for them, and distributions as they are shown.
PAYOFFS: Final[Mapping[str, int]] = {
    "second-moment": SECOND_MOMENT,
    "variance": VARIANCE,
    "cost-variance": COST_VARIANCE,
    "cost-variance-triples": COST_VARIANCE_TRIPLES,
}
DISTRIBUTIONS: Final[Mapping[int, str]] = {
    USERS_OWN: "arms of your own",
    TWO_VALUES: "two values",
    NORMAL: "normal",
    TRUNCATED: "truncated normal",
    UNIFORM: "uniform",
    LOGNORMAL: "lognormal",
    RECORDED: "recorded",
}
COST_DISTRIBUTIONS: Final[Mapping[int, str]] = {
    COSTS_CONSTANT: "constant",
    COSTS_LOGNORMAL: "lognormal",
    COSTS_GAMMA: "gamma",
    COSTS_RECORDED: "recorded",
}
