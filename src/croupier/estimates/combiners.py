"""Combiners: from a ledger to arm weights that sum to 1, and so to one estimate.

A combiner is a function ``ledger -> weights``. The weights have the shape (K, d), or (K,) if they
are the same for all components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.checks import shares_of
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.errors import PlanError
from croupier.estimates.few_hits import FewHits

__all__ = [
    "COMBINERS",
    "Combiner",
    "Pooled",
    "Stratified",
    "as_combiner",
    "guarded",
    "inverse_variance",
    "leaves_all_to_a_single_arm",
    "mean",
    "name_of",
    "pool",
]

Combiner: TypeAlias = Callable[[Ledger], Floats]

_TINY: Final = float(np.finfo(float).tiny)

#: The sum of the weights may differ from 1 by this much.
_ROUNDING: Final = 1e-5


def leaves_all_to_a_single_arm(combiner: Combiner) -> Combiner:
    """Mark a combiner that gives weight 1 to the only arm drawn: then `pool` does not call it."""
    combiner.leaves_all_to_a_single_arm = True  # type: ignore[attr-defined]
    return combiner


@leaves_all_to_a_single_arm
def mean(ledger: Ledger) -> Floats:
    """Weight every draw equally: exactly unbiased at a fixed number of draws (paper, section 1)."""
    weights = np.broadcast_to(ledger.count[:, None], ledger.mean.shape)
    return np.asarray(weights / weights.sum(axis=0))


@leaves_all_to_a_single_arm
def inverse_variance(ledger: Ledger) -> Floats:
    """Weight every draw by 1/(sample variance of its arm) (the paper's dashed lines).

    This is a large gain if costs differ. It is dangerous for skewed draws, because an arm with a
    small sample variance then often has a small sample mean. An arm that never varied gets no
    weight. If no arm varied, the weights are those of `mean`.
    """
    s2 = ledger.variance
    n = np.broadcast_to(ledger.count[:, None], s2.shape)
    precise = np.divide(n, s2, out=np.zeros_like(s2), where=s2 > 0)
    precise = np.where((s2 > 0).any(axis=0), precise, n)
    return np.asarray(precise / precise.sum(axis=0))


@leaves_all_to_a_single_arm
def guarded(ledger: Ledger) -> Floats:
    """Weight by inverse variance relative to the leading arm, with care for unsure variances.

    The leader L is the arm with the most cost spent beyond its first draws. If an arm looks worse
    than the leader, 1.5 standard errors are subtracted from its log-variance. If its mean disagrees
    with the mean of the leader, its variance is increased. No arm counts for more per cost than the
    leader:

    - V_k = s2_k, or max(s2_L, s2_k exp(-1.5 sqrt(2/df_k + 2/df_L))) where s2_k > s2_L;
    - V_k >= n_k max(|x_k - x_L| - 2 sqrt(s2_L/n_L), 0)^2/4; an arm that never varied has max V;
    - weight_k ~ n_k min(d_k/d_L, s2_L/V_k), weight_L ~ n_L.

    If the leader has not varied, the weights are those of `mean`. They also are if no arm really
    leads (`Ledger.is_led`), after a few draws of each of many arms: weights by their variances
    would then pick those arms whose draws are alike by chance.
    """
    n = ledger.count[:, None]
    if not ledger.is_led:
        return mean(ledger)
    leader = ledger.leader
    s2, x = ledger.variance, ledger.mean
    s2_leader = s2[leader]
    spread = 2 / ledger.df
    forgiven = s2 * np.exp(-1.5 * np.sqrt(spread + spread[leader]))
    v = np.where(s2 > s2_leader, np.maximum(s2_leader, forgiven), s2)
    apart = np.abs(x - x[leader]) - 2 * np.sqrt(s2_leader / n[leader])
    v = np.maximum(v, n * np.square(np.maximum(apart, 0.0)) / 4)
    v = np.where(s2 == 0, v.max(axis=0), v)
    price = ledger.price
    price = np.where(np.isnan(price), 1.0, price)
    weights = n * np.minimum((price / price[leader])[:, None], s2_leader / np.maximum(v, _TINY))
    weights[leader] = n[leader]
    weights = np.where(s2_leader > 0, weights, n)
    return np.asarray(weights / weights.sum(axis=0))


@dataclass(frozen=True)
class Stratified:
    """Weight the mean of every stratum by its known weight: mu = sum w_k mu_k.

    Each stratum has its own mean, so the distance between the means says nothing about the error
    (Cochran, Sampling Techniques, 3rd ed., 1977, section 5.3). Until every stratum was drawn, the
    weights of the drawn strata are scaled to sum to 1.
    """

    weights: tuple[float, ...]

    #: The name in a plan.
    name: ClassVar[str] = "strata"

    #: The arms do not share one mean. For a combiner without this attribute, they do.
    shared_mean: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", shares_of("weights", self.weights))

    def __call__(self, ledger: Ledger) -> Floats:
        """Return the weights of the strata that were drawn."""
        weights = np.array(self.weights)
        if not ledger.fewest:
            weights *= ledger.count > 0
            weights /= weights.sum()
        return weights


#: Every combiner that has a name and needs nothing but the ledger.
COMBINERS: dict[str, Combiner] = {
    "guarded": guarded,
    "mean": mean,
    "inverse-variance": inverse_variance,
}


def as_combiner(combine: str | Combiner) -> Combiner:
    """Return a combiner from its name; a function is returned unchanged.

    >>> as_combiner("mean") is mean
    True
    """
    if callable(combine):
        return combine
    if not isinstance(combine, str) or combine not in COMBINERS:
        known = ", ".join(COMBINERS)
        raise PlanError(
            f"unknown combiner {combine!r}; the combiners are {known}, or a function of the ledger"
        )
    return COMBINERS[combine]


def name_of(combiner: Combiner) -> str:
    """Return the name under which a plan records a combiner."""
    if isinstance(own := getattr(combiner, "name", None), str):
        return own
    for name, known in COMBINERS.items():
        if combiner is known:
            return name
    return f"{combiner.__module__}.{getattr(combiner, '__qualname__', type(combiner).__name__)}"


class Pooled(NamedTuple):
    """One estimate of d components, on the scale of the ledger's means.

    `variance` is q, and `df` are the effective degrees of freedom of q. `varies` says whether any
    arm with a weight has varied. If none has, nothing is known about the error. `shared` says
    whether the arms share one mean; strata do not. `covariance` (d, d) is that of the components,
    up to a factor for each, if the table knows it. `few` is known if the draws are
    rare events.
    """

    mean: Floats
    variance: Floats
    df: Floats
    varies: NDArray[np.bool_]
    weights: Floats
    draws: float
    shared: bool = True
    covariance: Floats | None = None
    few: FewHits | None = None


def _alone(ledger: Ledger, arm: int) -> Pooled:
    """Return the estimate from one arm alone: its sample mean."""
    weights = np.zeros(ledger.mean.shape)
    weights[arm] = 1.0
    s2 = ledger.variance[arm]
    draws = float(ledger.count[arm])
    return Pooled(ledger.mean[arm].copy(), s2 / draws, ledger.df[arm], s2 > 0, weights, draws)


def pool(ledger: Ledger, combiner: Combiner) -> Pooled:
    """Combine the arms: q = sum a_k, with a_k = u_k^2 [M2_k + n_k (x_k - muhat)^2]/(1 - u_k).

    u_k = w_k/n_k is the weight of one draw of the arm. So q adds up the squared distances of all
    draws from the estimate, each with the square of its weight. The factor 1/(1 - u_k) makes it
    unbiased for equal draws (MacKinnon and White, J. Econometrics 29, 1985: HC2). With equal
    weights, q is the sample variance of all draws over their number. The distance of the means
    counts the error that the variances miss when the arms disagree.

    Strata have different means, so their error is a_k = w_k^2 s2_k/n_k. It is not known until each
    stratum was drawn twice. The effective degrees of freedom are q^2/sum(a_k^2/df_k)
    (Welch-Satterthwaite).
    """
    alone = getattr(combiner, "leaves_all_to_a_single_arm", False)
    if alone and np.count_nonzero(ledger.count) == 1:
        return _alone(ledger, int(ledger.count.argmax()))
    weights = np.asarray(combiner(ledger), dtype=float)
    if weights.ndim == 1:
        weights = weights[:, None]
    if weights.shape not in ((len(ledger), 1), ledger.mean.shape):
        raise PlanError(
            f"the combiner's weights must have the shape {ledger.mean.shape} or {(len(ledger),)}, "
            f"got {weights.shape} from {combiner!r}"
        )
    if weights.shape != ledger.mean.shape:
        weights = np.broadcast_to(weights, ledger.mean.shape)
    total = weights.sum(axis=0)
    if not (np.abs(total - 1) <= _ROUNDING).all():  # NaN is not close to anything
        raise PlanError(f"the combiner's weights must sum to 1, got {total} from {combiner!r}")
    seen = ledger.for_estimate
    x, s2 = seen.mean, seen.variance
    n = np.maximum(seen.count, 1)[:, None]
    muhat = (weights * x).sum(axis=0)
    shared = getattr(combiner, "shared_mean", True)
    if shared:
        one = weights / n
        squares = (n - 1) * s2 + n * np.square(x - muhat)
        a = np.square(one) * squares / np.maximum(1 - one, 0.5)
    else:
        a = np.square(weights) * s2 / n
    q = a.sum(axis=0)
    spread = (np.square(a) / ledger.df).sum(axis=0)
    df = np.divide(np.square(q), spread, out=np.ones_like(q), where=spread > 0)
    varies = np.asarray(((s2 > 0) & (weights != 0)).any(axis=0))
    if not shared:
        varies &= ledger.fewest > 1
    return Pooled(muhat, q, df, varies, weights, ledger.draws, shared)
