"""What theory says about an allocation: its regret from counts, and bounds on the regret.

Neufeld, György, Schuurmans and Szepesvári, *Adaptive Monte Carlo via Bandit Allocation* (ICML
2014), here "the paper". Distributions are those of draws in [0, 1], all with one mean; the payoff
that a bandit policy sees is 1 - X^2, so that its gaps are the differences of the variances.
"""

from croupier.theory.bounds import (
    d_inf,
    kl_ucb_leading_term,
    lower_bound,
    minimax_order,
    thompson_leading_term,
    ucb1_bound,
    ucbv_bound,
)
from croupier.theory.distributions import (
    Discrete,
    Distribution,
    ScaledBernoulli,
    TruncatedNormal,
    UniformDistribution,
)
from croupier.theory.regret import (
    DefinedRegret,
    cost_regret,
    deadline_means,
    mse_regret,
    normalised_mse,
    regret_from_counts,
    regret_from_errors,
)
from croupier.theory.renewal import (
    Concentration,
    allocation_bound,
    cost_regret_bound,
    fewest_draws,
    ratio_bounds,
    renewal_bounds,
    single_arm_bound,
)

__all__ = [
    "Concentration",
    "DefinedRegret",
    "Discrete",
    "Distribution",
    "ScaledBernoulli",
    "TruncatedNormal",
    "UniformDistribution",
    "allocation_bound",
    "cost_regret",
    "cost_regret_bound",
    "d_inf",
    "deadline_means",
    "fewest_draws",
    "kl_ucb_leading_term",
    "lower_bound",
    "minimax_order",
    "mse_regret",
    "normalised_mse",
    "ratio_bounds",
    "regret_from_counts",
    "regret_from_errors",
    "renewal_bounds",
    "single_arm_bound",
    "thompson_leading_term",
    "ucb1_bound",
    "ucbv_bound",
]
