"""The kernel of `variance-thompson`, the default policy, with growing batches as in a live run.

The steps are those of `policies.variance` and of the Allocator; formulas are theirs, compiled.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.data.central_moments import effective_df, merge_moments
from croupier.policies import indices
from croupier.simulator.compiling import ZERO, compiled, inlined
from croupier.simulator.kernels import note
from croupier.simulator.kinds import COSTS_CONSTANT, TWO_VALUES
from croupier.simulator.randomness import (
    exponential,
    gamma,
    next_bits,
    normal,
    ones_of,
    streams,
    uniform,
)
from croupier.simulator.sampling import chance_of, draw

__all__ = ["VarianceRules", "play_variance"]

_merge = inlined(merge_moments)
_df = inlined(effective_df)
_visit = inlined(indices.visit)
_others_off = inlined(indices.others_off)
_variance_draw = inlined(indices.variance_draw)
_price_draw = inlined(indices.price_draw)
_least_draws = inlined(indices.least_draws)
_waits = inlined(indices.waits)

_TINY: Final = float(np.finfo(float).tiny)


class VarianceRules(NamedTuple):
    """What decides how the policy plays: its floor, and the constants of the policy and a plan."""

    floor: float
    first: int
    ahead: float
    decisions: int
    scores: int
    share: float
    random_costs: bool
    one: bool


@compiled
def _variances(count: Any, moments: Any, variance: Any, df: Any) -> bool:
    """Write down every arm's variance and its effective df; return whether all of them vary."""
    varies = True
    for k in range(len(count)):
        m2, m4 = moments[k, 1], moments[k, 3]
        variance[k] = m2 / max(count[k] - 1, 1)
        if m2 == 0:
            varies = False
            m2 = m4 = 1.0
        df[k] = max(_df(count[k], m2, m4), 1.0)
    return varies


@compiled
def _first_least(numbers: Any) -> int:
    least = ZERO
    for k in range(1, len(numbers)):
        if numbers[k] < numbers[least]:
            least = k
    return least


@compiled
def _opening(first: int, count: Any, cost: Any, spent: float) -> int:
    """Return the arm that must be drawn before any preference, -1 if there is none."""
    fewest = count.min()
    if fewest >= 2:
        price = cost / count
        early = _waits(price, price.min(), spent - cost)
        count = np.where(early, np.inf, count)
    least = _first_least(count)
    return least if count[least] < max(first, 2) else -1


@compiled
def _floor(
    settings: Any, count: Any, variance: Any, guarded: Any, price: Any, draws: float, spent: float,
) -> tuple[int, int]:  # fmt: skip
    """Return the arm that is short of its least number of draws, and by how many; -1 if none."""
    arms = len(count)
    even = draws / arms
    floor = settings.floor * math.sqrt(even)
    best = math.inf
    for k in range(arms):
        if variance[k] > 0:
            best = min(best, price[k] * guarded[k])
    leasts = _least_draws(floor, even, count, variance, guarded, price, best)
    found, missing = -1, 0.0
    for k in range(arms):
        discount = math.sqrt(min(1.0, spent / draws / price[k]))
        plain = count[k] < floor * discount
        least = floor if plain else leasts[k]
        if count[k] < least * discount and (found < 0 or count[k] < count[found]):
            ahead = min(3 * floor, settings.ahead * even) if least == floor else 0.0
            found, missing = k, (least + ahead) * discount - count[k]
    return found, int(missing) + 1


@compiled
def _decide(
    settings: Any,
    s: Any,
    count: Any,
    moments: Any,
    variance: Any,
    df: Any,
    varies: bool,
    price: Any,
    error: Any,
    belief: Any,
    guarded: Any,
    precision: float,
    centre: float,
) -> tuple[int, int]:
    """Return an arm and for how many decisions it stands, by posterior draws of the variances."""
    arms = len(count)
    rows = max(1, min(settings.decisions, settings.scores // arms))
    named = np.empty(rows, np.int64)
    for row in range(rows):
        least = math.inf
        named[row] = 0
        for k in range(arms):
            chi2 = 2 * gamma(s, df[k] / 2)
            if len(belief):
                belief[row * arms + k] = chi2
            score = _variance_draw(guarded[k], df[k], chi2)
            if not varies:
                doubt, patience = abs(normal(s)), exponential(s)
                if variance[k] == 0:
                    off = 0.0
                    if precision > 0:
                        off = abs(moments[k, 0] - centre) + doubt / math.sqrt(max(precision, _TINY))
                    score = count[k] * off * off / patience
            score *= price[k]
            if settings.random_costs:
                score = _price_draw(score, error[k], normal(s))
            if score < least:
                named[row], least = k, score
    if rows == 1:
        return named[0], 1
    distinct = np.empty(rows, np.int64)
    many = ZERO
    for row in range(rows):
        new = True
        for j in range(many):
            new = new and distinct[j] != named[row]
        if new:
            distinct[many] = named[row]
            many += 1
    toss = uniform(s)
    if len(belief):
        belief[rows * arms] = toss
    arm = distinct[int(toss * many)]
    return arm, int((named == arm).sum())


@compiled
def play_variance(
    settings: Any,
    sampling: Any,
    keys: Any,
    times: Any,
    pulls: Any,
    decisions: Any,
    beliefs: Any,
) -> None:
    """Play the default policy; `settings` are VarianceRules.

    `decisions`, of shape (n, 2) or empty, takes the arm and the size of every batch of one run,
    `beliefs` what it drew from the posteriors.
    """
    arms = len(sampling.parameters)
    horizon = times[-1]
    counted = sampling.distribution == TWO_VALUES and sampling.cost_distribution == COSTS_CONSTANT
    for k in range(arms):
        counted = counted and sampling.cost_parameters[k, 0] == 1
    drawn = np.empty(arms, np.int64)
    count, variance, df, price, error = (
        np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms),
    )  # fmt: skip
    cost, cost_m2, moments = np.empty(arms), np.empty(arms), np.empty((arms, 4))
    nothing = np.empty(0)
    for run in range(len(keys)):
        s = streams(keys[run], arms + 1)
        drawn[:] = 0
        count[:] = 0
        cost[:] = 0
        cost_m2[:] = 0
        moments[:] = 0
        spent = draws = origin = 0.0
        mark = ticket = ZERO
        while spent < horizon:
            bought, growth, most = 1, 1.0, -1
            arm = -1
            if count.min() < max(settings.first, 2):
                arm = _opening(settings.first, count, cost, spent)
            if arm >= 0:
                most = 1
            elif arms == 1:
                arm = ZERO
            else:
                for k in range(arms):
                    price[k] = cost[k] / count[k]
                    error[k] = math.sqrt(cost_m2[k] / (1 - 1 / count[k])) / cost[k]
                varies = _variances(count, moments, variance, df)
                if not varies and variance.max() == 0:
                    arm = _first_least(count)
                else:
                    order = np.argsort(-variance, kind="mergesort")
                    guarded, precision, centre = _visit(
                        order, count, moments[:, 0].copy(), variance, _others_off(draws)
                    )
                    arm, most = _floor(settings, count, variance, guarded, price, draws, spent)
                    growth = 3.0
                    if arm < 0:
                        most, growth = -1, 1.0
                        belief = beliefs[ticket] if len(beliefs) else nothing
                        arm, bought = _decide(
                            settings, s[arms], count, moments, variance, df, varies, price, error,
                            belief, guarded, precision, centre,
                        )  # fmt: skip
            size = 1
            if count[arm] > 0 and not settings.one:
                afford = bought * settings.share * spent / (cost[arm] / count[arm])
                size = max(1, int(min(growth * count[arm], afford)))
            if most > 0:
                size = min(size, most)
            if count[arm] > 0:
                size = min(size, max(1, int((horizon - spent) / (cost[arm] / count[arm]))))
            if len(decisions):
                decisions[ticket, 0], decisions[ticket, 1] = arm, size
            ticket += 1
            if counted:
                low, high = sampling.parameters[arm, 0], sampling.parameters[arm, 1]
                chance = chance_of(sampling.parameters[arm, 2])
                highs = left = ZERO
                left = size
                while left > 0:
                    bits, got = next_bits(s[arm], chance, left)
                    highs += ones_of(bits)
                    left -= got
                if draws == 0:
                    origin = high if highs else low
                d, p = high - low, highs / size
                q = p * (1 - p)
                batch = (
                    low - origin + d * p,
                    d * d * size * q,
                    d * d * d * size * q * (1 - 2 * p),
                    d * d * d * d * size * q * (1 - 3 * q),
                )
                known = (moments[arm, 0], moments[arm, 1], moments[arm, 2], moments[arm, 3])
                merged = _merge(count[arm], known, float(size), batch)
                moments[arm, 0], moments[arm, 1] = merged[0], merged[1]
                moments[arm, 2], moments[arm, 3] = merged[2], merged[3]
                while mark < len(times) and times[mark] < spent + size:
                    note(pulls[run, mark], drawn)
                    pulls[run, mark, arm] += int(times[mark] - spent)
                    mark += 1
                drawn[arm] += size
                count[arm] += size
                cost[arm] += size
                spent += size
                draws += size
                continue
            for _ in range(size):
                value, paid = draw(s[arm], arm, sampling)
                if draws == 0:
                    origin = value
                while mark < len(times) and spent + paid > times[mark]:
                    note(pulls[run, mark], drawn)
                    mark += 1
                known = (moments[arm, 0], moments[arm, 1], moments[arm, 2], moments[arm, 3])
                merged = _merge(count[arm], known, 1.0, (value - origin, 0.0, 0.0, 0.0))
                moments[arm, 0], moments[arm, 1] = merged[0], merged[1]
                moments[arm, 2], moments[arm, 3] = merged[2], merged[3]
                if count[arm] > 0:
                    apart = paid - cost[arm] / count[arm]
                    cost_m2[arm] += apart * apart * count[arm] / (count[arm] + 1)
                drawn[arm] += 1
                count[arm] += 1
                cost[arm] += paid
                spent += paid
                draws += 1
        while mark < len(times):
            note(pulls[run, mark], drawn)
            mark += 1
