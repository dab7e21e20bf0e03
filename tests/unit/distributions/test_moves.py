"""Moves: every one leaves its target as it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.moves import (
    Proposal,
    accepted,
    autoregression,
    jump,
    langevin,
    random_walk,
    slice_along,
)

TARGET = Mixture([0.3, 0.7], [[-1.0, 0.0], [2.0, 1.0]], [np.eye(2), [[1.0, 0.0], [0.5, 0.7]]])
ABOUT = Mixture([0.5, 0.5], [[-0.5, 0.5], [1.5, 0.5]], [1.3 * np.eye(2), 0.9 * np.eye(2)])
STUDENT = Mixture(ABOUT.shares, ABOUT.means, ABOUT.roots, 5.0)


def gradient(x: Floats) -> Floats:
    step = 1e-5
    columns = [
        TARGET.log_density(x + step * e) - TARGET.log_density(x - step * e) for e in np.eye(2)
    ]
    return np.column_stack(columns) / (2 * step)


Move = Callable[[np.random.Generator, Floats], Proposal]
MOVES: dict[str, Move] = {
    "random walk": lambda rng, x: random_walk(rng, x, np.eye(2)),
    "autoregression": lambda rng, x: autoregression(rng, x, ABOUT, 0.7),
    "autoregression about Student's": lambda rng, x: autoregression(rng, x, STUDENT, [0.5, 1.0]),
    "jump": lambda rng, x: jump(rng, x, ABOUT),
    "jump of Student's": lambda rng, x: jump(rng, x, STUDENT),
    "Langevin": lambda rng, x: langevin(rng, x, gradient, np.array([[1.2, 0.0], [0.3, 0.8]])),
}


def same(x: Floats) -> None:
    known, _ = TARGET.draw(np.random.default_rng(8), len(x))
    for direction in ([1, 0], [0, 1], [1, -1]):
        assert stats.ks_2samp(x @ direction, known @ direction).pvalue > 1e-3


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
def test_the_target_stays_as_it_is(move: Move) -> None:
    rng = np.random.default_rng(7)
    x, _ = TARGET.draw(rng, 4000)
    start = x.copy()
    for _ in range(10):
        proposal = move(rng, x)
        change = TARGET.log_density(proposal.points) - TARGET.log_density(x)
        moved = accepted(rng, change + proposal.log_ratio)
        x = np.where(moved[:, None], proposal.points, x)
    assert abs(np.corrcoef(x[:, 0], start[:, 0])[0, 1]) < 0.9
    same(x)


def test_an_autoregression_about_the_target_is_always_accepted() -> None:
    rng = np.random.default_rng(7)
    x, _ = STUDENT.draw(rng, 500)
    for step in (0.1, 1.0):
        proposal = autoregression(rng, x, STUDENT, step)
        change = STUDENT.log_density(proposal.points) - STUDENT.log_density(x)
        assert accepted(rng, change + proposal.log_ratio).all()
        assert set(proposal.own) == {0, 1}


def test_a_slice_move_leaves_the_target_and_says_last_where_each_row_goes() -> None:
    rng = np.random.default_rng(7)
    x, _ = TARGET.draw(rng, 2000)
    for sweep in range(6):
        last = x.copy()

        def evaluate(points: Floats, rows: Any, last: Floats = last) -> Floats:
            last[rows] = points
            return TARGET.log_density(points)

        coordinate = sweep % 2
        x = slice_along(rng, x, TARGET.log_density(x), evaluate, coordinate, 2.0)
        assert np.array_equal(x, last)
    same(x)


def test_a_point_outside_the_target_is_never_accepted() -> None:
    rng = np.random.default_rng(7)
    assert not accepted(rng, np.full(100, -np.inf)).any()
    assert not accepted(rng, np.full(100, np.nan)).any()
