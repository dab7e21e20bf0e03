"""croupier's indices make the decisions that SMPyBandits made: see tests/data/smpybandits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import croupier as cr
from croupier.policies import KLUCB, MOSS, UCB1, UCBV
from croupier.policies.indices import kl_level, kl_ucb, moss, ucb1, ucb_v
from tests.data.smpybandits.recipe import ROUNDS, SEQUENCES, arms_of, load, payoffs_of

#: Decisions whose indices are closer than this are ties.
TIE = 1e-9


class Past(NamedTuple):
    """What was known before every round that follows the first K: arrays (rounds, K)."""

    loss: np.ndarray
    variance: np.ndarray
    count: np.ndarray
    time: np.ndarray


@pytest.fixture(scope="module")
def recording() -> Any:
    return load()


def past_of(sequence: int, arms: np.ndarray) -> Past:
    """Return the past of every round of a recorded game."""
    table, size = payoffs_of(sequence), arms_of(sequence)
    pulled = arms[:, None] == np.arange(size)
    count = np.cumsum(pulled, axis=0)
    losses = 1 - table[arms, count[np.arange(ROUNDS), arms] - 1]
    first = np.cumsum(np.where(pulled, losses[:, None], 0.0), axis=0)
    second = np.cumsum(np.where(pulled, np.square(losses)[:, None], 0.0), axis=0)
    known = slice(size - 1, ROUNDS - 1)  # after round n, for the decision of round n + 1
    count, first, second = count[known].astype(float), first[known], second[known]
    time = np.arange(size, ROUNDS, dtype=float)[:, None]
    variance = np.maximum(second / count - np.square(first / count), 0.0)
    return Past(first / count, variance, count, time)


def scores_of(name: str, past: Past) -> np.ndarray:
    log_time = np.log(past.time)
    if name == "ucb1":
        return ucb1(past.loss, past.count, log_time)  # type: ignore[arg-type]
    if name == "ucbv":  # SMPyBandits has zeta = 1
        return ucb_v(past.loss, past.variance, past.count, log_time, 1.0, 1.0)  # type: ignore[arg-type]
    if name == "klucb_fine":
        level = np.array([kl_level(time) for time in past.time[:, 0]])[:, None]
        return np.exp(-kl_ucb(past.loss, level / past.count))
    horizon = ROUNDS if name == "moss_horizon" else past.time
    return moss(past.loss, past.count, horizon / past.count.shape[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ucb1", "ucbv", "klucb_fine", "moss", "moss_horizon"])
def test_the_same_decisions_as_smpybandits_up_to_ties(name: str, recording: Any) -> None:
    judged = 0
    for sequence in range(SEQUENCES):
        arms = recording[name][sequence].astype(int)
        size = arms_of(sequence)
        scores = scores_of(name, past_of(sequence, arms))
        rows = np.arange(len(scores))
        behind = scores[rows, arms[size:]] - scores.min(axis=1)
        # Where its own index was not a number, SMPyBandits played any arm (UCB-V, cancellation).
        sound = recording[f"{name}_best"][sequence][size:] > 0
        assert (behind[sound] <= TIE).all(), f"sequence {sequence}"
        judged += int(sound.sum())
    assert judged >= 97_000


@pytest.mark.parametrize(
    ("name", "policy"),
    [("ucb1", UCB1()), ("ucbv", UCBV(zeta=1.0)), ("klucb_fine", KLUCB()), ("moss", MOSS())],
)
@pytest.mark.parametrize("sequence", [4, 28])
def test_a_live_table_follows_the_recorded_game(
    name: str, policy: Any, sequence: int, recording: Any
) -> None:
    """Play 300 rounds; where SMPyBandits tossed for a tie, play what it played."""
    arms = recording[name][sequence].astype(int)
    tied = recording[f"{name}_best"][sequence] != 1
    decade = recording[f"{name}_decade"][sequence]
    table, size = payoffs_of(sequence), arms_of(sequence)
    names = tuple(map(str, range(size)))
    plan = cr.Plan(names=names, seed=7, bounds=((0.0, 1.0),) * size)
    state = policy.start(plan)
    ledger = cr.Allocator(plan).ledger
    pulls = [0] * size
    for played, tie, close in zip(arms[:300], tied, decade, strict=False):
        if sum(pulls) >= size and not tie and close < 9:
            assert policy.choose(state, ledger, np.zeros(size), None) == played
        payoff = table[played, pulls[played]]
        pulls[played] += 1
        draws = cr.Draws(np.array([np.sqrt(1 - payoff)]))
        state = policy.learn(state, ledger, int(played), policy.digest(plan, played, draws, None))
