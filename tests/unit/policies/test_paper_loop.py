"""The recipe for the paper's loop plays the paper's algorithms, decision by decision."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.policies import KLUCB, UCB1, UCBV, Thompson
from croupier.seeds import DIGEST, POLICY, stream

ROUNDS = 800
SPREADS = np.array([[0.5], [0.4], [0.45]])

#: A bound on the mean payoff, from the payoffs of an arm and the round that is to be played.
Bound = Callable[[list[float], int], float]


def ucb1(payoffs: list[float], t: int) -> float:
    return float(np.mean(payoffs)) + sqrt(2 * log(t) / len(payoffs))


def ucb_v(payoffs: list[float], t: int) -> float:
    """The settings of Audibert et al. 2009, which the paper uses: zeta = 1.2, c = 1."""
    n, level = len(payoffs), 1.2 * log(t)
    return float(np.mean(payoffs) + sqrt(2 * np.var(payoffs) * level / n) + 3 * level / n)


def kl_ucb(payoffs: list[float], t: int) -> float:
    """sup{q: KL(mean, q) <= f/T}, as w = -log(1 - q): q itself may round to 1."""
    p, played = float(np.mean(payoffs)), max(t - 1, 3)
    level = (log(played) + 3 * log(log(played))) / len(payoffs)

    def divergence(w: float) -> float:
        q = 1 - exp(-w)
        return p * log(p / q) + (1 - p) * (log(1 - p) + w)

    low = -log(1 - p)
    high = low + 1
    while divergence(high) < level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle) <= level else (low, middle)
    return low


def tapes_of(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 0.5 + SPREADS * (2 * rng.random((3, ROUNDS)) - 1)


def table_of(policy: Any) -> cr.Allocator:
    return cr.Allocator(["a", "b", "c"], rng=7, policy=policy, batch="one", combine="mean")


def draw(table: cr.Allocator, arm: int, value: float) -> None:
    batch = table.ask()
    assert batch is not None
    assert (batch.arm, batch.size) == ("abc"[arm], 1)
    table.tell(batch, [value])


@pytest.mark.parametrize(
    ("policy", "bound"),
    [
        (UCB1(bounds=(0, 1), time="paper"), ucb1),
        (UCBV(bounds=(0, 1), time="paper"), ucb_v),
        (KLUCB(bounds=(0, 1)), kl_ucb),
    ],
    ids=["ucb1", "ucb-v", "kl-ucb"],
)
def test_the_recipe_plays_algorithm_1_and_averages_all_draws(policy: Any, bound: Bound) -> None:
    """Every arm once; then the largest bound; the payoff is 1 - X^2."""
    tapes, table = tapes_of(7), table_of(policy)
    payoffs: list[list[float]] = [[], [], []]
    values = []
    for t in range(1, ROUNDS + 1):
        arm = t - 1 if t <= 3 else int(np.argmax([bound(own, t) for own in payoffs]))
        x = float(tapes[arm, len(payoffs[arm])])
        draw(table, arm, x)
        values.append(x)
        payoffs[arm].append(1 - x**2)
    assert min(map(len, payoffs)) > 5
    assert table.result().value == pytest.approx(np.mean(values), rel=1e-14)


def test_the_recipe_plays_algorithm_2_and_averages_all_draws() -> None:
    """Thompson sampling, with the random numbers of the run: of decision t, and of its toss.

    croupier draws 1 - theta from the mirrored posterior, and tosses by the loss 1 - X.
    """
    tapes, table = tapes_of(8), table_of(Thompson(bounds=(0, 1)))
    seed = table.plan.seed
    successes, failures, played = np.zeros(3), np.zeros(3), [0, 0, 0]
    values = []
    for t in range(ROUNDS):
        theta = 1 - stream(seed, POLICY, t).beta(failures + 1, successes + 1)
        arm = int(np.argmax(theta))
        x = float(tapes[arm, played[arm]])
        draw(table, arm, x)
        values.append(x)
        played[arm] += 1
        payoff = 1 - x**2
        if 1 - stream(seed, DIGEST, t).random() <= payoff:
            successes[arm] += 1
        else:
            failures[arm] += 1
    assert min(played) > 5
    assert table.result().value == pytest.approx(np.mean(values), rel=1e-14)
