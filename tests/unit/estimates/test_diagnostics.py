"""What a result warns about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from tests.conftest import Clock

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]


def normal(mean: float = 1.0, spread: float = 1.0) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, spread, size)


def said(result: cr.Result, words: str) -> bool:
    return any(words in warning for warning in result.warnings)


# -- agreement


def test_agreement_is_welchs_test_against_the_leader() -> None:
    arms = {"a": normal(1.0, 1.0), "b": normal(1.05, 1.0)}
    result = cr.estimate(arms, draws=4000, rng=7, policy="uniform", keep_values=True)
    expected = stats.ttest_ind(
        result.arms["a"].values, result.arms["b"].values, equal_var=False
    ).pvalue
    assert result.agreement == pytest.approx(expected, rel=0.02)


def test_agreement_allows_for_the_number_of_comparisons() -> None:
    arms = {f"arm{k}": normal(1.0 + 0.05 * (k == 3)) for k in range(6)}
    result = cr.estimate(arms, draws=12_000, rng=7, policy="uniform", keep_values=True)
    rows = list(result.arms)
    leader = max(rows, key=lambda row: row.share)
    least = min(
        stats.ttest_ind(leader.values, row.values, equal_var=False).pvalue
        for row in rows
        if row is not leader
    )
    assert result.agreement == pytest.approx(min(1.0, 5 * least), rel=0.02)


def test_a_biased_arm_is_named() -> None:
    arms = {"a": normal(), "odd": normal(2.0), "b": normal()}
    result = cr.estimate(arms, draws=6000, rng=7, policy="uniform")
    assert result.agreement < 1e-6
    assert said(result, "the arms disagree (p ")
    assert said(result, "'odd'")
    assert said(result, "at least one of them is biased")


def test_a_biased_component_is_found() -> None:
    arms = {
        "a": lambda rng, size: rng.normal([1.0, 2.0, 3.0], 1.0, (size, 3)),
        "b": lambda rng, size: rng.normal([1.0, 2.5, 3.0], 1.0, (size, 3)),
    }
    result = cr.estimate(arms, draws=4000, rng=7, policy="uniform")
    assert said(result, "the arms disagree")
    assert result.agreement[1] < 1e-6
    assert result.agreement[0] > 1e-3 < result.agreement[2]


def test_arms_that_share_a_mean_agree() -> None:
    arms = {"a": normal(spread=1.0), "b": normal(spread=0.3), "c": normal(spread=0.1)}
    flagged = [said(cr.estimate(arms, draws=3000, rng=seed), "disagree") for seed in range(15)]
    assert not any(flagged)


def test_there_is_no_agreement_where_there_is_nothing_to_compare() -> None:
    assert cr.estimate({"a": normal()}, draws=1000, rng=7).agreement is None
    still = {"a": normal(), "still": lambda rng, size: np.ones(size)}
    assert cr.estimate(still, draws=1000, rng=7).agreement is None
    vector = {"a": lambda rng, size: rng.random((size, 2))}
    assert np.isnan(cr.estimate(vector, draws=1000, rng=7).agreement).tolist() == [True, True]


# -- the error bar


def test_few_effective_degrees_of_freedom_warn() -> None:
    few = cr.estimate({"a": normal()}, draws=20, rng=7)
    assert said(few, "effective degrees of freedom and may be too short: draw more")
    assert not cr.estimate({"a": normal()}, draws=2000, rng=7).warnings


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_variance_that_looks_infinite_warns(sign: float) -> None:
    arms = {"heavy": lambda rng, size: sign * rng.pareto(1.2, size), "good": normal(5.0)}
    result = cr.estimate({"heavy": arms["heavy"]}, draws=20_000, rng=7)
    assert said(result, "the variance of 'heavy' looks infinite, or its largest draws have not ")
    assert said(result, "been seen yet (Pareto shape")
    assert said(result, "the error bar cannot be trusted")


def test_a_heavy_tail_of_an_arm_that_hardly_counts_does_not_warn() -> None:
    arms = {
        "heavy": lambda rng, size: rng.pareto(1.5, size),
        "good": normal(2.0, 0.01),
    }
    result = cr.estimate(arms, draws=20_000, rng=7)
    assert result.arms["heavy"].weight < 0.01
    assert not said(result, "infinite")


@pytest.mark.parametrize("name", ["normal", "exponential", "uniform"])
def test_a_light_tail_does_not_warn(name: str) -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        return getattr(rng, name)(size=size)

    assert not any(
        said(cr.estimate({"a": arm}, draws=20_000, rng=seed), "infinite") for seed in range(5)
    )


def test_a_shape_close_to_the_limit_does_not_warn_in_a_run_of_logs() -> None:
    """Pareto draws with the shape 0.45 have a finite variance; half of the estimates are higher."""

    def light(rng: np.random.Generator, size: int) -> np.ndarray:
        return np.log1p(rng.pareto(1 / 0.45, size))

    def heavy(rng: np.random.Generator, size: int) -> np.ndarray:
        return np.log1p(rng.pareto(1 / 0.9, size))

    flagged = [
        said(cr.estimate({"a": light}, draws=20_000, rng=seed, log=True), "infinite")
        for seed in range(20)
    ]
    assert sum(flagged) <= 3
    assert said(cr.estimate({"a": heavy}, draws=20_000, rng=7, log=True), "looks infinite")


@pytest.mark.parametrize("log", [False, True])
def test_an_arm_far_below_the_others_says_nothing_in_a_run_of_logs(log: bool) -> None:
    """There it has not seen its tail, as its draws are never negative; it may not be biased."""
    arms = {
        "ok": lambda rng, size: rng.uniform(0.8, 1.2, size),
        "low": lambda rng, size: rng.lognormal(-5, 1.0, size),
    }
    logs = {name: lambda rng, size, arm=arm: np.log(arm(rng, size)) for name, arm in arms.items()}
    result = cr.estimate(logs if log else arms, draws=400, rng=7, log=log)
    assert said(result, "far from the leading arm: 'low'") != log


def test_a_bad_setting_of_one_estimator_says_nothing_against_the_leader() -> None:
    """A proposal far out has not seen its tail: nearer to 0, in a box that is too large."""

    def tail(rng: np.random.Generator, size: int, rate: float) -> np.ndarray:
        k = rng.poisson(rate, size)
        return np.where(k >= 20, np.exp(rate - 8 + k * np.log(8 / rate)), 0.0)

    for seed in range(4):  # the first three of them said so
        result = cr.estimate(cr.continuum(tail, rate=(8, 30)), draws=10_000, rng=seed)
        assert not said(result, "far from the leading arm")


def test_a_setting_that_is_biased_away_from_zero_is_mentioned() -> None:
    def biased(rng: np.random.Generator, size: int, shift: float) -> np.ndarray:
        return rng.normal(1.0 + (shift > 0.8), 0.01 if shift < 0.2 else 0.1, size)

    result = cr.estimate(cr.continuum(biased, shift=(0, 1)), draws=400, rng=7)
    assert said(result, "far from the leading arm") or said(result, "the arms disagree")


# -- arms that do not vary


def test_arms_that_never_varied_are_named_but_not_all_of_them() -> None:
    still = {f"still{k}": lambda rng, size: np.ones(size) for k in range(5)}
    result = cr.estimate({"a": normal(), **still}, draws=1000, rng=7)
    assert said(result, "never varied: 'still0', 'still1', 'still2' and 2 more arms")
    assert said(result, "a rare event that was not seen yet")


def test_nothing_at_all_varies() -> None:
    result = cr.estimate({"a": lambda rng, size: np.ones(size)}, draws=100, rng=7)
    assert said(result, "either the answer is exact, or every arm has missed a rare event")
    assert len(result.warnings) == 1


def nowhere(rng: np.random.Generator, size: int) -> Any:
    return np.full(size, -np.inf)


def test_a_run_of_logs_without_any_value_says_so() -> None:
    result = cr.estimate({"a": nowhere, "b": nowhere}, draws=100, rng=7, log=True)
    assert said(result, "no draw had a value above 0 (every log is -inf)")
    assert not said(result, "exact")
    assert len(result.warnings) == 1


def test_a_component_of_logs_without_any_value_is_named() -> None:
    def arm(rng: np.random.Generator, size: int) -> Any:
        return np.column_stack([rng.normal(size=size), nowhere(rng, size)])

    result = cr.estimate({"a": arm}, draws=1000, rng=7, log=True)
    assert said(result, "no draw had a value above 0 in component 1")


@pytest.mark.parametrize("log", [False, True])
def test_equal_draws_that_are_not_zero_may_be_exact(log: bool) -> None:
    result = cr.estimate({"a": lambda rng, size: np.ones(size)}, draws=100, rng=7, log=log)
    assert said(result, "no arm has varied, so nothing is known about the error: either the answer")


@pytest.mark.parametrize("draws", [3, 5])
def test_too_few_draws_say_what_the_answer_is_worth(draws: int) -> None:
    arms = {name: normal() for name in "abc"}
    result = cr.estimate(arms, draws=draws, rng=7)
    assert said(result, "nothing is known about the error; give a larger budget") or said(
        result, "the error bar is not reliable; give a budget of at least 30 draws"
    )


# -- draws that are never negative


def logs_of(rare: float) -> Callable[..., Any]:
    """Return an arm with the mean 1, mostly from draws of 1/rare that come once in 1/rare."""

    def draw(rng: np.random.Generator, size: int) -> Any:
        return np.where(rng.random(size) < rare, -np.log(rare), -20.0 + rng.random(size))

    return draw


def test_an_arm_that_has_seen_nothing_does_not_lead_nor_make_the_error_bar() -> None:
    arms = {"blind": logs_of(1e-9), "seeing": logs_of(0.5)}
    result = cr.estimate(arms, draws=2000, log=True, rng=7)
    assert result.arms["seeing"].weight > 0.99
    assert result.arms["seeing"].efficiency == 1
    assert abs(result.log_value) < 4 * result.log_stderr < 1

    def trusting(ledger: Any) -> Any:  # all of the weight to the arm that has seen nothing
        return np.array([1.0, 0.0])

    result = cr.estimate(arms, draws=200, log=True, policy="uniform", combine=trusting, rng=7)
    low, high = result.log_interval  # type: ignore[misc]
    assert result.log_value < -15
    assert low < 0 < high


# -- the arm that should have led


@pytest.mark.expects_misallocation
def test_a_far_more_efficient_arm_that_did_not_lead_is_said() -> None:
    arms = {"poor": normal(spread=1.0), "good": normal(spread=0.1)}
    shares = {"name": "uniform"}
    result = cr.estimate(arms, draws=2000, rng=7, policy="uniform", audit=0.01)
    assert result.plan.policy == shares
    assert said(result, "'good' has more than 3 times the efficiency of 'poor'")
    assert not said(cr.estimate(arms, draws=2000, rng=7), "times the efficiency")


def test_an_interrupted_call_does_not_make_a_poor_arm_of_the_best_one(clock: Clock) -> None:
    """The machine stops for a second in the last batch of the arm that gets the time."""

    def best(rng: np.random.Generator, size: int) -> np.ndarray:
        clock.now += 1e-8 * size + (1.0 if 0.08 < clock.now < 0.1 else 0.0)
        return rng.normal(1.0, 1.0, size)

    arms = {"best": best, "rival": clock.arm(1.6, 0.0, 1e-8)}
    result = cr.estimate(arms, seconds=0.1, rng=7)
    assert result.leader == "best"
    assert result.arms["best"].efficiency < 1 / 3  # by what its largest calls took
    assert not said(result, "times the efficiency")
