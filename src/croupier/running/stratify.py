"""stratify: one budget for strata with known weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Unpack

import numpy as np

from croupier.arms.base import Arm, ArmLike, as_arms
from croupier.checks import choice, count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.estimates.combiners import Stratified
from croupier.policies import MCUCB, Policy, Proportional, as_policy
from croupier.policies.base import objective_weights
from croupier.results.result import Result
from croupier.running.estimate import Dealing, deal
from croupier.running.grown_strata import MOST_PILOT_DRAWS, PILOT, Grown, grow
from croupier.running.settings import ArmOptions, split_options
from croupier.seeds import POLICY, seed_from, stream
from croupier.tables.strata_kind import strata_of

__all__ = ["optimal_shares", "regret", "stratify"]

#: The draws of the pilot that grows strata, if the budget is not in draws.
_PILOT: Final = 1000


def stratify(
    strata: Mapping[str, ArmLike] | Iterable[ArmLike] | Callable[[Floats], Any],
    weights: Mapping[str, float] | Sequence[float] | None = None,
    *,
    over: Sequence[Any] | None = None,
    splits: Literal["adaptive"] | None = None,
    pilot: int | None = None,
    policy: str | Policy | None = None,
    **settings: Unpack[ArmOptions],
) -> Result:
    """Spend a budget on strata with known weights, most of it where it reduces the error most.

    Each stratum has its own mean mu_k. The estimate is their weighted sum mu = sum w_k mu_k. Its
    standard error is sqrt(sum w_k^2 s_k^2/n_k).

    Args:
        strata: Like the arms of `estimate`. Each of them draws from one stratum only.
            With `over`, a function of points (size, d) that returns `size` values.
        weights: The probability of each stratum, by name or in the order of the strata. All
            are above 0, and their sum is 1. Strata that grow have known weights.
        over: What the function is averaged over, if the strata grow: for each coordinate a pair
            (low, high) or a distribution of scipy.stats.
        splits: "adaptive", the default with `over`, grows boxes on a pilot, which is used for
            nothing else (sample splitting), and then deals the rest of the draws to them.
            Carpentier and Munos 2012. Without a clear gain there is one stratum.
        pilot: The most draws of the pilot, 16 % of `draws` by default. Fewer are used if there is
            little to gain. The result does not count them.
        policy: "mc-ucb" (Carpentier and Munos 2011), "proportional", "uniform",
            or your own policy. The other policies look for one best arm, which strata do not have.
            By default "mc-ucb"; with ``splits="adaptive"`` the shares that the pilot found best,
            `policies.Proportional`.
        **settings: Budgets, tolerances and all other options of `estimate`, except `combine`.

    Returns:
        A `Result`. Its rows have the weights of the strata. The efficiency of a stratum is what
        one more draw would add to the precision, per cost, relative to the best stratum. All
        efficiencies are 1 if the allocation is optimal. See also
        `croupier.running.stratify.regret`.

    >>> import croupier as cr
    >>> def low(rng, size):
    ...     return np.exp(rng.uniform(0.0, 0.5, size))
    >>> def high(rng, size):
    ...     return np.exp(rng.uniform(0.5, 1.0, size))
    >>> result = cr.stratify([low, high], [0.5, 0.5], draws=10_000, rng=7)
    >>> round(result.value, 2), result.draws, result.arms["high"].share > 0.6
    (1.72, 10000, True)
    """
    if "combine" in settings:
        raise PlanError("strata are combined by their weights: leave combine out")
    if splits is not None:
        choice("splits", splits, Literal["adaptive"])
    if splits is not None or over is not None:
        grown = _grown(strata, weights, over, pilot, settings)
        strata, weights = grown.strata, grown.weights
        policy = Proportional(grown.shares) if policy is None else policy
    elif pilot is not None:
        raise PlanError(f"pilot={pilot!r} is for splits='adaptive': leave it out")
    named = as_arms(strata)  # type: ignore[arg-type]
    run_settings, own = split_options("stratify", settings, ("policy",))
    combiner = Stratified(_in_order(named, weights))
    if len(combiner.weights) != len(named):
        raise PlanError(
            f"weights must have one entry per arm ({len(named)} in all), got {combiner.weights!r}"
        )
    policy = MCUCB.name if policy is None else policy
    table = strata_of(combiner.weights, as_policy(policy))
    return deal(named, run_settings, Dealing(policy=policy, combine=combiner, table=table, **own))


def _grown(function: Any, weights: Any, over: Any, pilot: int | None, settings: Any) -> Grown:
    """Grow the strata of a function, and take the draws of the pilot from the budget."""
    if not callable(function) or weights is not None or over is None:
        raise PlanError(
            "splits='adaptive' grows the strata of one function: give "
            "cr.stratify(f, over=[(0, 1), (0, 1)], splits='adaptive', draws=...), without weights"
        )
    if settings.get("store") is not None and settings.get("rng") is None:
        raise PlanError(
            "a stored run whose strata grow needs rng=, so that they grow alike when it continues"
        )
    draws = settings.get("draws")
    if draws is not None and count_of("draws", draws) < 500:
        raise PlanError(f"draws={draws!r} are too few to grow strata: give at least 500")
    if pilot is None:
        pilot = _PILOT if draws is None else int(min(PILOT * draws, MOST_PILOT_DRAWS))
    seed = seed_from(settings.get("rng"))
    grown = grow(function, over, count_of("pilot", pilot), stream(seed, POLICY, 0))
    settings["rng"] = seed
    if draws is not None:
        settings["draws"] = int(draws) - grown.pilot
        if settings["draws"] < 4 * len(grown.strata):
            raise PlanError(f"the pilot of {grown.pilot} draws leaves too few of {draws!r} draws")
    return grown


def _in_order(strata: Sequence[Arm], weights: Any) -> tuple[float, ...]:
    names = [str(stratum.name) for stratum in strata]
    if isinstance(weights, Mapping):
        if differing := set(names) ^ set(weights):
            raise PlanError(
                f"weights must have the names of the strata, {', '.join(names)}; "
                f"not in both: {', '.join(sorted(map(str, differing)))}"
            )
        return tuple(weights[name] for name in names)
    if weights is None or isinstance(weights, str):
        raise PlanError(
            f"weights must be one number for each of {', '.join(names)}, got {weights!r}"
        )
    return weights  # type: ignore[no-any-return]  # checked where they are used


class _Known(NamedTuple):
    """What a result knows about its strata, arrays of shape (K,)."""

    draws: Floats
    equal: Floats  # the draws at equal weights that would have the same variance
    price: Floats
    part: Floats  # w_k s_k


def _known(result: Result) -> _Known:
    ledger, plan = result.basis.ledger, result.plan
    weights = plan.settings.get("weights")
    if weights is None:
        raise PlanError(f"result must be a result of cr.stratify, got a result of {plan.table!r}")
    s2 = ledger.variance
    s = np.sqrt(s2 @ objective_weights(plan, ledger, s2))
    return _Known(ledger.count, ledger.for_estimate.count, ledger.price, np.array(weights) * s)


def optimal_shares(result: Result) -> dict[str, float]:
    """Return the optimal shares of the cost: ~ w_k s_k sqrt(c_k), with c_k the cost per draw.

    This is Neyman's allocation (Cochran, Sampling Techniques, 3rd ed., 1977, section 5.5), with
    the standard deviations and costs that the run itself found. It is NaN if no stratum has varied.

    >>> import croupier as cr
    >>> parts = {s: lambda rng, size, s=s: rng.normal(0, float(s), size) for s in ("1", "3")}
    >>> shares = optimal_shares(cr.stratify(parts, [0.5, 0.5], draws=10_000, rng=7))
    >>> {name: round(share, 2) for name, share in shares.items()}
    {'1': 0.25, '3': 0.75}
    """
    _, _, price, part = _known(result)
    share = part * np.sqrt(price)
    total = share.sum()
    share = share / total if total else np.full(len(share), np.nan)
    return dict(zip(result.plan.names, share.tolist(), strict=True))


def regret(result: Result) -> float:
    """Return how much more variance the estimate has than with the optimal static allocation.

    It is C sum(w_k^2 s_k^2/n_k) / (sum w_k s_k sqrt(c_k))^2 - 1, with the cost C of all draws
    (their number, if each costs 1). 0 is the best; 0.05 means 5 % more variance. The standard
    deviations and costs are those that the run itself found. If the draws were dealt in epochs,
    n_k is the number of equally weighted draws that would have the same variance, which is at most
    the number of draws. It is NaN if no stratum has varied.

    >>> import croupier as cr
    >>> parts = {s: lambda rng, size, s=s: rng.normal(0, float(s), size) for s in ("1", "3")}
    >>> 0 <= regret(cr.stratify(parts, [0.5, 0.5], draws=10_000, rng=7)) < 0.01
    True
    """
    draws, n, price, part = _known(result)
    best = float(part @ np.sqrt(price)) ** 2
    if not best or not n.all():
        return float("nan")
    # By Cauchy's inequality this is never below 0, except by rounding.
    return max(float((draws @ price) * (np.square(part) / n).sum()) / best - 1, 0.0)
