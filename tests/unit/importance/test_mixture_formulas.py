"""Mixing: weights, controls, proportions and counts, arrays in and arrays out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier.importance import mixture_formulas as mixing
from croupier.importance.mixture_formulas import (
    Answer,
    answer,
    apportioned,
    controls,
    first_counts,
    folds_of,
    mixed,
    next_counts,
    proportions,
    round_size,
)

SHIFTS = np.array([0.0, 0.7, 1.5])


def drawn(seed: int, each: int = 60, shifts: np.ndarray = SHIFTS) -> tuple[np.ndarray, ...]:
    """Return log |f p|, sign, log q and source of draws for E max(x - 1, 0), x standard normal."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(len(shifts)), each)
    x = rng.standard_normal(len(own)) + shifts[own]
    f = np.maximum(x - 1, 0)
    with np.errstate(divide="ignore"):
        log_size = np.log(f) - 0.5 * x * x
    return log_size, np.sign(f), -0.5 * np.square(x[:, None] - shifts), own


def estimated(
    log_size: np.ndarray, sign: np.ndarray, log_q: np.ndarray, own: np.ndarray
) -> tuple[Answer, int]:
    counts = np.bincount(own, minlength=log_q.shape[1]).astype(float)
    weighed = mixed(log_size, sign, log_q, counts)
    return answer(controls(weighed.y, weighed.H, folds_of(own))), weighed.exponent


def value(found: tuple[Answer, int]) -> np.ndarray:
    return np.ldexp(found[0][:2], found[1])


# -- weights


def test_the_mixture_is_that_of_the_counts() -> None:
    log_q = np.log([[1.0, 2.0], [4.0, 3.0]])
    weighed = mixed(np.log([1.0, 2.0]), np.array([1.0, -1.0]), log_q, np.array([1.0, 3.0]))
    q = np.array([1.75, 3.25])
    assert np.ldexp(weighed.y, weighed.exponent) == pytest.approx([1 / 1.75, -2 / 3.25])
    assert pytest.approx(np.array([[1, 2], [4, 3]]) / q[:, None]) == weighed.H
    assert pytest.approx([1, 1]) == weighed.H @ [0.25, 0.75]


@given(st.floats(-2000, 2000), st.floats(-2000, 2000), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_all_densities_may_be_scaled_by_anything(of_q: float, of_f: float, seed: int) -> None:
    log_size, sign, log_q, own = drawn(seed)
    found, exponent = estimated(log_size + of_q + of_f, sign, log_q + of_q, own)
    plain, unit = estimated(log_size, sign, log_q, own)
    # The unit may be another power of two: compare in logarithms.
    assert math.log(found.mean) + exponent * math.log(2) - of_f == pytest.approx(
        math.log(plain.mean) + unit * math.log(2), abs=1e-7
    )
    assert found.stderr / found.mean == pytest.approx(plain.stderr / plain.mean, rel=1e-6)
    assert found.df == pytest.approx(plain.df, rel=1e-6)


@given(st.permutations([0, 1, 2]), st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_the_order_of_the_proposals_decides_next_to_nothing(order: list[int], seed: int) -> None:
    log_size, sign, log_q, own = drawn(seed)
    place = np.argsort(order)
    # The folds are dealt along the proposals, so another order deals them in another way.
    plain = value(estimated(log_size, sign, log_q, own))
    other = value(estimated(log_size, sign, log_q[:, order], place[own]))
    assert other[0] == pytest.approx(plain[0], abs=0.5 * plain[1])
    assert other[1] == pytest.approx(plain[1], rel=0.2)


@given(st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_a_proposal_that_is_there_twice_changes_nothing(seed: int) -> None:
    log_size, sign, log_q, own = drawn(seed)
    twice = np.column_stack((log_q, log_q[:, 1]))
    counts = np.bincount(own).astype(float)
    shared = np.append(counts, 30.0) - [0, 30, 0, 0]
    one, two = (mixed(log_size, sign, q, c) for q, c in ((log_q, counts), (twice, shared)))
    assert two.y == pytest.approx(one.y, rel=1e-12)
    folds = folds_of(own)
    left = controls(one.y, one.H, folds), controls(two.y, two.H, folds)
    # The ridge is shared by the two, and so a little weaker for each.
    assert left[1].mean() == pytest.approx(left[0].mean(), rel=1e-3)
    assert left[1].std() == pytest.approx(left[0].std(), rel=1e-2)


def test_a_draw_of_weight_zero_may_have_any_size() -> None:
    weighed = mixed(
        np.array([-np.inf, 0.0]), np.array([0.0, 1.0]), np.zeros((2, 1)), np.array([2.0])
    )
    assert weighed.y.tolist() == [0, 1]


# -- controls


def test_what_the_controls_explain_is_gone() -> None:
    *_, log_q, own = drawn(7, each=400)
    weighed = mixed(log_q[:, 1], np.ones(len(own)), log_q, np.bincount(own).astype(float))
    found = answer(controls(weighed.y, weighed.H, folds_of(own)))
    assert np.ldexp(found.mean, weighed.exponent) == pytest.approx(1, abs=1e-5)
    assert weighed.y.std() > 100 * found.stderr * math.sqrt(len(own))


def test_controls_that_explain_nothing_are_not_used() -> None:
    rng = np.random.default_rng(7)
    y, H = rng.standard_normal(30), 1 + 0.1 * rng.standard_normal((30, 20))
    left = controls(y, H, folds_of(np.zeros(30, int)))
    assert left is y


def test_one_proposal_has_no_controls() -> None:
    y = np.arange(5.0)
    assert controls(y, np.ones((5, 1)), np.zeros(5, int)) is y


def test_coefficients_of_a_fold_come_from_the_others() -> None:
    log_size, sign, log_q, own = drawn(3)
    weighed = mixed(log_size, sign, log_q, np.bincount(own).astype(float))
    folds = folds_of(own)
    before = controls(weighed.y, weighed.H, folds)
    y = weighed.y.copy()
    first = np.flatnonzero(folds == 0)[0]
    y[first] += 0.01
    after = controls(y, weighed.H, folds)
    same = (folds == 0) & (np.arange(len(y)) != first)
    assert after[same] == pytest.approx(before[same], abs=1e-12)
    assert after[first] == pytest.approx(before[first] + 0.01, abs=1e-12)
    assert np.abs(after - before)[folds != 0].max() > 1e-6


def test_folds_have_their_share_of_every_proposal() -> None:
    own = np.random.default_rng(7).permutation(np.repeat([0, 1, 2], [40, 25, 8]))
    folds = folds_of(own)
    for proposal, count in enumerate((40, 25, 8)):
        dealt = np.bincount(folds[own == proposal], minlength=10)
        assert dealt.max() - dealt.min() <= 1
        assert dealt.sum() == count


# -- proportions and counts


def test_proportions_go_where_what_is_left_is() -> None:
    # Two proposals on two halves, the second with three times the deviation: Neyman's 1 to 3.
    H = np.repeat([[2.0, 0.0], [0.0, 2.0]], 500, axis=0)
    r = np.tile([1.0, -1.0], 500) * np.repeat([1.0, 3.0], 500)
    assert proportions(r, H, unseen=0.0) == pytest.approx([0.25, 0.75], abs=1e-3)


def test_a_proposal_that_costs_more_gets_less() -> None:
    H = np.repeat([[2.0, 0.0], [0.0, 2.0]], 500, axis=0)
    r = np.tile([1.0, -1.0], 500)
    # Variance times cost is least at shares ~ s/sqrt(cost).
    assert proportions(r, H, np.array([1.0, 4.0]), unseen=0.0) == pytest.approx(
        [2 / 3, 1 / 3], abs=1e-3
    )


def test_nothing_left_is_no_reason_to_prefer_a_proposal() -> None:
    assert proportions(np.ones(10), np.ones((10, 4))).tolist() == [0.25] * 4


def test_the_pilot_is_four_to_eight_draws_of_each() -> None:
    assert first_counts(16, 1000).tolist() == [15] * 16
    assert first_counts(16, 320).tolist() == [5] * 16
    assert first_counts(16, 100).tolist() == [4] * 16
    assert first_counts(3, 7).sum() == 7
    assert first_counts(3, 10_000).tolist() == [64, 64, 64]
    assert first_counts(3, None).tolist() == [64, 64, 64]


def test_rounds_double_and_the_last_takes_the_rest() -> None:
    sizes, t = [], 128
    while t < 10_000:
        sizes.append(round_size(t, 10_000))
        t += sizes[-1]
    assert sizes == [128, 256, 512, 1024, 2048, 5904]


@given(st.integers(1, 12), st.integers(1, 5000), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_counts_of_a_round_are_whole_and_complete(J: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, counts = rng.dirichlet(np.full(J, 0.3)), rng.integers(0, 500, J).astype(float)
    planned = next_counts(a, counts, size)
    assert planned.sum() == size
    assert (planned >= 0).all()
    T = counts.sum() + size
    if size > counts.sum() and J * mixing._FLOOR * math.sqrt(T / J) < size:
        fair = mixing._FLOOR * math.sqrt(T / J) / (1 + mixing._FLOOR * math.sqrt(J / T)) - 1
        assert (planned + counts >= fair * size / T - 1).all()


def test_remainders_go_to_the_largest() -> None:
    assert apportioned(np.array([0.5, 0.3, 0.2]), 4).tolist() == [2, 1, 1]
    assert apportioned(np.array([1.0, 0.0]), 3).tolist() == [3, 0]


def test_a_proposal_without_a_hit_keeps_a_share_of_the_draws() -> None:
    """Two proposals far apart; only the first has shown an event."""
    r = np.concatenate((np.ones(10), np.zeros(90)))
    H = np.zeros((100, 2))
    H[:50, 0] = H[50:, 1] = 2.0
    assert proportions(r, H, unseen=0.0)[1] < 0.3
    assert proportions(r, H)[1] > 1.15 * proportions(r, H, unseen=0.0)[1]
