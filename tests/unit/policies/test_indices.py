"""The formulas of the policies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier.policies.indices import (
    _swept,
    least_draws,
    log_variance_bound,
    others_off,
    shared_mean_guard,
    variance_draw,
    visit,
)

pytestmark = pytest.mark.filterwarnings("error")


def column(*numbers: float) -> np.ndarray:
    return np.array(numbers)[:, None]


def test_a_draw_of_the_variance_is_a_scaled_inverse_chi_square() -> None:
    chi2 = np.random.default_rng(7).chisquare(12.0, 100_000)
    drawn = variance_draw(np.array(3.0), np.array(12.0), chi2)
    assert drawn.mean() == pytest.approx(12 * 3.0 / (12 - 2), rel=0.01)  # df s2/(df - 2)


def test_the_bound_is_below_the_variance_and_closer_the_more_is_known() -> None:
    bounds = log_variance_bound(np.full(3, 2.0), np.array([5.0, 50.0, 5000.0]), 1000.0)
    assert (np.diff(bounds) > 0).all()
    assert (bounds < 2.0).all()
    z = np.sqrt(np.log(1000.0) / 2)
    assert bounds[1] == pytest.approx(2.0 * np.exp(-z * np.sqrt(2 / 50)))


def test_arms_that_agree_keep_their_variances() -> None:
    variance = column(4.0, 1.0, 0.25)
    guarded, precision, centre = shared_mean_guard(
        np.full(3, 100.0), column(1.0, 1.01, 0.99), variance
    )
    assert np.array_equal(guarded, variance)
    assert precision[0] == pytest.approx(100 / 4 + 100 / 1 + 100 / 0.25)
    assert centre[0] == pytest.approx((25 * 1.0 + 100 * 1.01 + 400 * 0.99) / 525)


def test_an_arm_that_claims_a_small_variance_but_disagrees_is_raised() -> None:
    # METHODS 1: D = |x - M/A| - 2/sqrt(A), V = n D^2/4, against the one more variable arm.
    guarded, _, _ = shared_mean_guard(np.full(2, 100.0), column(1.0, 3.0), column(4.0, 1e-6))
    away = 2.0 - 2 / np.sqrt(100 / 4.0)
    assert guarded[:, 0] == pytest.approx([4.0, 100 * away**2 / 4])


def test_the_most_variable_arm_is_never_raised() -> None:
    guarded, _, _ = shared_mean_guard(np.full(2, 100.0), column(50.0, 3.0), column(4.0, 1e-6))
    assert guarded[0, 0] == 4.0


def test_arms_that_have_not_varied_have_no_say() -> None:
    count, mean, variance = np.full(3, 100.0), column(1.0, 99.0, 1.1), column(4.0, 0.0, 1.0)
    guarded, precision, centre = shared_mean_guard(count, mean, variance)
    two = [0, 2]
    expected = shared_mean_guard(count[two], mean[two], variance[two])
    assert np.array_equal(guarded[two], expected[0])
    assert np.array_equal(precision, expected[1])
    assert np.array_equal(centre, expected[2])


def test_nothing_that_varies_has_no_precision() -> None:
    _, precision, centre = shared_mean_guard(np.full(2, 9.0), column(1.0, 2.0), column(0.0, 0.0))
    assert precision.tolist() == centre.tolist() == [0.0]


def test_a_component_in_which_nothing_varies_is_left_alone() -> None:
    variance = np.array([[4.0, 0.0], [1.0, 0.0]])
    mean = np.array([[1.0, 5.0], [1.0, 5.0]])
    guarded, precision, centre = shared_mean_guard(np.full(2, 9.0), mean, variance)
    assert guarded[:, 0].tolist() == [4.0, 1.0]
    assert precision[1] == 0.0
    assert np.isfinite(centre).all()


@pytest.mark.parametrize("flat_first", [True, False])
def test_a_variance_that_is_tiny_beside_another_is_told_from_none(flat_first: bool) -> None:
    variance = column(1.0, 0.0, 1e-60) if flat_first else column(1.0, 1e-60, 0.0)
    guarded, precision, centre = shared_mean_guard(np.full(3, 9.0), column(0, 0, 0), variance)
    assert np.isfinite(precision).all()
    assert np.isfinite(centre).all()
    assert precision[0] == pytest.approx(9e60)
    assert np.isfinite(guarded[variance > 0]).all()


@given(st.integers(1, 8), st.integers(1, 3), st.integers(0, 2**32))
def test_the_guard_only_ever_raises(arms: int, components: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    variance = rng.lognormal(0, 3, (arms, components))
    count = rng.integers(2, 10**6, arms).astype(float)
    guarded, precision, centre = shared_mean_guard(
        count, rng.normal(0, 1, (arms, components)), variance
    )
    assert (guarded >= variance).all()
    assert np.isfinite(guarded).all()
    assert (precision > 0).all()
    assert np.isfinite(centre).all()


def plain_guard(n: list[float], x: list[float], s2: list[float], z: float) -> list[float]:
    """The rule as it is written: each raised variance counts before the next arm is visited."""
    raised = dict.fromkeys(range(len(n)), 0.0)
    visited: list[int] = []
    for k in sorted(range(len(n)), key=lambda k: -s2[k]):
        a = sum(n[j] / raised[j] for j in visited)
        d = -1.0
        if visited:
            d = abs(x[k] - sum(n[j] * x[j] / raised[j] for j in visited) / a) - z / a**0.5
        raised[k] = max(s2[k], n[k] * max(d, 0.0) ** 2 / 4)
        visited.append(k)
    return [raised[k] for k in range(len(n))]


arms_seen = st.lists(
    st.tuples(st.integers(2, 500), st.floats(-5, 5), st.floats(1e-6, 10)), min_size=1, max_size=12
)


@given(arms_seen, st.floats(1, 4))
def test_the_guard_visits_arm_by_arm(arms: list[tuple[int, float, float]], z: float) -> None:
    n, x, s2 = (list(map(float, column)) for column in zip(*arms, strict=True))
    order = sorted(range(len(s2)), key=s2.__getitem__, reverse=True)
    assert visit(order, n, x, s2, z)[0] == pytest.approx(plain_guard(n, x, s2, z), rel=1e-9)


def test_many_traps_do_not_mislead_the_guard() -> None:
    """Each claims a hundred times less variance than the one before, and all share a wrong mean."""
    n, x, s2 = [100.0] * 6, [0.0, *[3.0] * 5], [10.0 ** (-2 * k) for k in range(6)]
    z = others_off(sum(n))
    guarded, _, _ = shared_mean_guard(np.array(n), column(*x), column(*s2))
    assert guarded[1:].min() > 150
    assert _swept(np.array(n), column(*x), column(*s2), z)[0] == pytest.approx(guarded, rel=0.05)


def test_a_long_run_forgives_a_disagreement_that_chance_makes() -> None:
    """Means 2.6 standard errors apart: seen in one of 2000 runs of 10^6 draws, where it lasted."""
    n, s2 = [332_035.0, 808.0], [0.043, 0.0473]
    apart = 2.6 * (s2[0] / n[0] + s2[1] / n[1]) ** 0.5
    guarded, _, _ = shared_mean_guard(np.array(n), column(0.0, apart), column(*s2))
    assert guarded[:, 0].tolist() == s2


def test_a_short_run_does_not_forgive_it() -> None:
    n, s2 = [300.0, 20.0], [0.01, 1.0]
    apart = 2.6 * (s2[0] / n[0] + s2[1] / n[1]) ** 0.5
    guarded, _, _ = shared_mean_guard(np.array(n), column(0.0, apart), column(*s2))
    assert guarded[0, 0] > 10 * s2[0]


def test_a_long_run_still_doubts_an_arm_far_from_the_others() -> None:
    """Four standard errors apart."""
    n, s2 = [1e6, 1000.0], [0.01, 1.0]
    guarded, _, _ = shared_mean_guard(np.array(n), column(0.0, 4 / 1000**0.5), column(*s2))
    assert guarded[0, 0] > 100 * s2[0]


def test_sweeping_over_many_arms_is_visiting_them() -> None:
    rng = np.random.default_rng(7)
    n, s2 = rng.integers(4, 50, 1000).astype(float), rng.gamma(2.0, 1.0, 1000)
    x = rng.normal(0, np.sqrt(s2 / n)) + 5 * (rng.random(1000) < 0.05)
    order = np.argsort(-s2, kind="stable").tolist()
    z = others_off(n.sum())
    exact = visit(order, n.tolist(), x.tolist(), s2.tolist(), z)[0]
    swept = _swept(n, x[:, None], s2[:, None], z)[0][:, 0]
    assert np.quantile(np.abs(swept / exact - 1), 0.99) < 0.1


def least(**changed: float) -> float:
    """Return the least draws of an arm that has 50 draws and a variance of 2; the best has 1."""
    given = {"count": 50.0, "variance": 2.0, "guarded": 2.0, "price": 1.0} | changed
    arrays = {name: np.array([value]) for name, value in given.items()}
    return float(least_draws(350.0, 5e5, **arrays, best=1.0)[0])


def test_most_arms_have_the_plain_floor() -> None:
    assert least() == 350


def test_the_guard_alone_does_not_make_an_arm_worse_beyond_doubt() -> None:
    assert least(variance=0.5, guarded=50.0) >= 350


def test_a_doubted_arm_has_what_settles_the_doubt() -> None:
    assert least(count=300.0, variance=0.5, guarded=1.5) == pytest.approx(900)


def test_the_larger_a_doubt_the_less_may_be_lost_on_it() -> None:
    assert least(count=5000.0, variance=0.5, guarded=10.0) == pytest.approx(5e5 / 20**2)
    assert least(count=5000.0, variance=0.5, guarded=500.0) == 350


def test_a_doubted_arm_that_would_lose_anyway_is_not_tested() -> None:
    assert least(count=300.0, variance=2.0, guarded=6.0) == 350


def test_an_arm_that_has_not_varied_keeps_the_floor() -> None:
    assert least(variance=0.0, guarded=0.0) == 350
