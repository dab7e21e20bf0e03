"""What kernels are told by a number: an index, a payoff, a distribution, what went wrong.

Players and problems choose by these names, and numba compiles the same names into the kernels. This
file needs no compiler.

| index | its parameters |
|---|---|
| UCB1 | scale, how much later than the draws so far the time is |
| UCB_V | zeta, c, cut |
| KL_UCB | f |
| MOSS | horizon (0: anytime), arms |
| SUBGAUSSIAN | sigma, alpha |
| EVEN | none: the smallest count, which draws in turn |
| TIGHTEST | how many indices, then kind and three parameters of each |

| distribution of the values | its parameters |
|---|---|
| TWO_VALUES | low, high, the chance of high |
| NORMAL | mean, deviation |
| TRUNCATED | mean and deviation before the cut, low, high |
| UNIFORM | low, high |
| LOGNORMAL | mean and deviation of the logarithm |
| RECORDED | none: any of the arm's recorded draws |

| distribution of the costs | its parameters |
|---|---|
| COSTS_CONSTANT | the cost |
| COSTS_LOGNORMAL | mean and deviation of the logarithm |
| COSTS_RECORDED | none: beside the recorded value |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

UCB1, UCB_V, KL_UCB, MOSS, SUBGAUSSIAN, EVEN, TIGHTEST = range(7)

# Payoffs: see `croupier.policies.payoffs`.
SECOND_MOMENT, VARIANCE, COST_VARIANCE, COST_VARIANCE_TRIPLES = range(4)

USERS_OWN, TWO_VALUES, NORMAL, TRUNCATED, UNIFORM, LOGNORMAL, RECORDED = range(-1, 6)
COSTS_CONSTANT, COSTS_LOGNORMAL, COSTS_RECORDED = range(3)

# What can go wrong, written with the run's arm, time and value; 0 is nothing.
OUT_OF_RANGE, NOT_A_NUMBER = range(1, 3)

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
    COSTS_RECORDED: "recorded",
}
