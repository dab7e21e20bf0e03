"""The paper's indices against references in high precision, and against each other."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from croupier.policies.indices import (
    catoni_mean,
    kl_level,
    kl_ucb,
    median_of_means,
    moss,
    robust_width,
    subgaussian_ucb,
    truncated_mean,
    ucb1,
    ucb_v,
)

pytestmark = pytest.mark.filterwarnings("error")

COUNTS = [1, 2, 3, 7, 10, 100, 1000, 10**4, 10**5, 10**6]
NEAR = [1e-12, 3e-12, 1e-9, 1e-6, 1e-3]
LOSSES = [*NEAR, 0.1, 0.3, 0.5, 0.7, 0.9, *(1 - near for near in NEAR)]
TIMES = [3, 10, 10**3, 10**6, 10**9]

grid = pytest.mark.parametrize("time", TIMES)


@pytest.fixture(autouse=True)
def _digits() -> Any:
    with mp.workdps(60):
        yield


def each(time: int) -> Any:
    for count in COUNTS:
        for loss in LOSSES:
            yield count, loss, mp.log(time)


def error_of(score: float, loss: float, bonus: Any) -> float:
    """Return the error of 1 - bound, relative to the larger of 1 - mean and bonus."""
    return float(abs(mp.mpf(score) - (mp.mpf(loss) - bonus)) / max(mp.mpf(loss), bonus))


@grid
@pytest.mark.parametrize("scale", [2.0, 0.5, 8.0])
def test_ucb1_to_ten_digits(time: int, scale: float) -> None:
    for count, loss, log_time in each(time):
        bonus = mp.sqrt(scale * log_time / count)
        score = ucb1(np.array(loss), np.array(float(count)), math.log(time), scale)
        assert error_of(float(score), loss, bonus) < 1e-10


@grid
@pytest.mark.parametrize("variance", [0.0, 1e-12, 0.01, 0.25])
def test_ucb_v_to_ten_digits(time: int, variance: float) -> None:
    for count, loss, log_time in each(time):
        level = mp.mpf(1.2) * log_time
        bonus = mp.sqrt(2 * mp.mpf(variance) * level / count) + 3 * level / count
        args = np.array(loss), np.array(variance), np.array(float(count)), math.log(time)
        assert error_of(float(ucb_v(*args, 1.2, 1.0)), loss, bonus) < 1e-10


@grid
def test_moss_to_ten_digits(time: int) -> None:
    for count, loss, _ in each(time):
        bonus = mp.sqrt(max(mp.log(mp.mpf(time) / (10 * count)), 0) / count)
        score = moss(np.array(loss), np.array(float(count)), time / 10)
        assert error_of(float(score), loss, bonus) < 1e-10


@grid
def test_subgaussian_to_ten_digits(time: int) -> None:
    for count, loss, log_time in each(time):
        bonus = mp.mpf(0.7) * mp.sqrt(2 * 3 * log_time / count)
        score = subgaussian_ucb(np.array(loss), np.array(float(count)), math.log(time), 0.7, 3.0)
        assert error_of(float(score), loss, bonus) < 1e-10


def kl_excess(w: Any, loss: float, level: float) -> Any:
    """Return KL(mean, q) - level at w = -log(1 - q), which rises with w from q = mean on."""
    loss_ = mp.mpf(loss)
    mean = 1 - loss_
    w = max(w, -mp.log(loss_), mp.mpf(10) ** -40)
    rest = mean * (mp.log(mean) - mp.log(-mp.expm1(-w))) if mean > 0 else 0
    return loss_ * (w + mp.log(loss_)) + rest - mp.mpf(level)


@grid
def test_kl_ucb_to_ten_digits_of_one_minus_the_bound(time: int) -> None:
    smallest = 290 * mp.log(10)
    for count in COUNTS:
        level = kl_level(time) / count
        scores = np.exp(-kl_ucb(np.array([*LOSSES, 1.0]), np.full(len(LOSSES) + 1, level)))
        for loss, score in zip([*LOSSES, 1.0], scores, strict=True):
            case = loss, count
            if kl_excess(smallest, loss, level) > 0:
                # The exact 1 - q lies between score/(1 + 1e-10) and score/(1 - 1e-10).
                w = -mp.log(mp.mpf(float(score)))
                assert kl_excess(w + mp.log1p(-1e-10), loss, level) < 0, case
                assert kl_excess(w + mp.log1p(1e-10), loss, level) > 0, case
            else:  # below 1e-290 it is zero, or has lost digits to the exponent
                assert score <= 1e-280, case


def test_kl_ucb_of_an_arm_that_never_lost_is_one() -> None:
    assert np.exp(-kl_ucb(np.array([0.0]), np.array([0.1])))[0] == 0


def test_the_level_of_kl_ucb_never_falls_and_is_that_of_three_before() -> None:
    levels = [kl_level(t) for t in (1, 2, 3, 4, 10, 1000)]
    assert levels[0] == levels[1] == levels[2] == pytest.approx(1.3808, abs=1e-4)
    assert np.all(np.diff(levels) >= 0)


def test_kl_ucb_is_tighter_than_hoeffding() -> None:
    losses = np.linspace(0.01, 0.99, 50)
    level = 0.3
    assert (np.exp(-kl_ucb(losses, np.full(50, level))) >= losses - np.sqrt(level / 2)).all()


# -- robust means


def test_robust_means_of_tame_losses_are_the_mean() -> None:
    losses = np.random.default_rng(7).random(4000)
    level, moment = 10.0, 1.0
    assert truncated_mean(losses, level, moment, 1.0) == pytest.approx(losses.mean(), abs=0.01)
    assert median_of_means(losses, level) == pytest.approx(losses.mean(), abs=0.02)
    assert catoni_mean(losses, level, moment) == pytest.approx(losses.mean(), abs=0.01)


@pytest.mark.parametrize("mean", ["truncated", "median-of-means", "catoni"])
def test_robust_means_keep_their_promise_where_the_plain_mean_is_lost(mean: str) -> None:
    # Pareto losses with index 2.5: the variance is 20/9 and the second moment 5, the mean 5/3.
    rng, level, n = np.random.default_rng(7), math.log(100), 400
    moment = 5.0 if mean == "truncated" else 20 / 9
    width = robust_width(n, level, moment, 1.0, mean)
    misses = 0
    for _ in range(300):
        losses = 1 + rng.pareto(2.5, n)
        if mean == "truncated":
            estimate = truncated_mean(losses, level, moment, 1.0)
        elif mean == "median-of-means":
            estimate = median_of_means(losses, level)
        else:
            estimate = catoni_mean(losses, level, moment)
        misses += abs(estimate - 5 / 3) > width
    assert misses <= 300 * 2 * 0.01 + 4 * math.sqrt(300 * 0.02)  # two sides of 1 %, 4 deviations


def test_catoni_waits_until_it_has_seen_enough() -> None:
    assert math.isinf(robust_width(10, 10.0, 1.0, 1.0, "catoni"))
    assert math.isfinite(robust_width(40, 10.0, 1.0, 1.0, "catoni"))


def test_catonis_mean_solves_its_equation() -> None:
    losses = np.random.default_rng(7).exponential(1.0, 500)
    level = 5.0
    theta = catoni_mean(losses, level, 1.0)
    alpha = math.sqrt(2 * level / (500 * (1 + 2 * level / (500 - 2 * level))))
    away = alpha * (losses - theta)
    assert abs((np.sign(away) * np.log1p(np.abs(away) + away**2 / 2)).sum()) < 1e-8
