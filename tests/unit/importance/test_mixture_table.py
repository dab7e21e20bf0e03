"""Mixture: rounds, stores, workers, budgets, tuning, and what its result says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.importance import Family, Normal
from croupier.importance.mixture_answer import fitted
from croupier.importance.mixture_run import tuned_names
from tests.fair_clock import fair_clock
from tests.marks import slow

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

EXACT = math.exp(-0.5) / math.sqrt(2 * math.pi) - math.erfc(1 / math.sqrt(2)) / 2


def above_one(x: np.ndarray) -> np.ndarray:
    return np.maximum(x[:, 0] - 1, 0)


def family(**settings: Any) -> Family:
    return Family.tilted(above_one, [0, 1, 2, 4], **settings)


def same(first: cr.Result, second: cr.Result) -> bool:
    return (
        (first.value, first.stderr, first.interval)
        == (second.value, second.stderr, second.interval)
        and [row.draws for row in first.arms] == [row.draws for row in second.arms]
        and [row.mean for row in first.arms] == [row.mean for row in second.arms]
    )


KINDS: dict[str, dict[str, Any]] = {
    "learned": {},
    "equal": {"proportions": "equal"},
    "tuned": {"tune": 3},
}
every = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@every
def test_the_estimate_is_right_and_better_than_the_best_arm(kind: dict[str, Any]) -> None:
    result = family().estimate(draws=5000, rng=7, **kind)
    assert abs(result.value - EXACT) < 4 * result.stderr
    assert result.draws == 5000
    if kind != KINDS["equal"]:
        best = min(row.variance for row in result.arms if row.draws > 100)
        assert result.stderr < math.sqrt(best / 5000)


@every
@pytest.mark.parametrize("width", [2, 9])
def test_the_width_changes_no_bit(kind: dict[str, Any], width: int) -> None:
    one = family().estimate(draws=2000, rng=7, **kind)
    assert same(one, family().estimate(draws=2000, rng=7, width=width, **kind))


def test_workers_change_no_bit() -> None:
    one = family().estimate(draws=2000, rng=7, tune=2)
    assert same(one, family().estimate(draws=2000, rng=7, tune=2, workers=2))


@every
@pytest.mark.parametrize(("width", "tickets"), [(5, 2), (1, 13), *slow((1, 2), (5, 13))])
def test_a_stored_run_goes_on_to_the_last_bit(
    kind: dict[str, Any], width: int, tickets: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    cut = family().estimate(
        draws=3000, rng=7, width=width, store=path,
        callback=lambda progress: progress.tickets >= tickets, **kind,
    )  # fmt: skip
    assert cut.stopped == "callback"
    whole = family().estimate(draws=3000, rng=7, **kind)
    assert same(family().estimate(draws=3000, store=path, **kind), whole)
    stored = cr.open_run(path).result()
    assert same(stored, whole)
    assert stored.stopped == "draws"


def test_a_stored_run_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    family().estimate(draws=1000, rng=7, store=path, tune=2)
    more = family().estimate(draws=4000, store=path, tune=2)
    assert more.draws == 4000
    assert abs(more.value - EXACT) < 4 * more.stderr


def test_another_plan_is_refused_by_the_store(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    family().estimate(draws=500, rng=7, store=path)
    with pytest.raises(cr.StoreError, match="holds another run"):
        family().estimate(draws=500, proportions="equal", store=path)


def test_proportions_may_be_given(tmp_path: Path) -> None:
    shares = {"shift=0": 0.1, "shift=1": 0.2, "shift=2": 0.3, "shift=4": 0.4}
    result = family().estimate(draws=1000, rng=7, proportions=shares)
    assert [row.draws for row in result.arms] == [100, 200, 300, 400]
    assert [row.weight for row in result.arms] == [0.1, 0.2, 0.3, 0.4]
    again = family().estimate(draws=1000, rng=7, proportions=[0.1, 0.2, 0.3, 0.4])
    assert same(result, again)


def test_what_a_draw_costs_counts() -> None:
    costs = [1, 1, 50, 50]
    dear = family(costs=costs).estimate(cost=20_000, rng=7)
    assert dear.stopped == "cost"
    assert abs(dear.cost - 20_000) <= 50  # less than a draw of the dear ones
    even = family().estimate(draws=dear.draws, rng=7)
    share = [sum(row.draws for row in list(r.arms)[2:]) / r.draws for r in (dear, even)]
    assert share[0] < share[1] / 2
    assert abs(dear.value - EXACT) < 4 * dear.stderr


def test_a_tolerance_stops_the_run_and_is_met() -> None:
    result = family().estimate(draws=1_000_000, rtol=0.01, rng=8)
    assert result.stopped == "tolerance"
    low, high = result.interval
    assert (high - low) / 2 <= 0.01 * result.value
    assert abs(result.value - EXACT) <= (high - low) / 2
    needed = result.draws * ((high - low) / 2 / (0.01 * result.value)) ** 2
    assert result.draws < 2.1 * max(needed, 1500)  # rounds are short after 1000 draws


def test_a_budget_of_seconds_is_used_up() -> None:
    with fair_clock():
        result = family().estimate(seconds=0.05, rng=7)
    assert result.stopped == "seconds"
    assert all(row.draws for row in result.arms)


@pytest.mark.parametrize("seconds", [1e-9, 1e-3])
def test_however_short_the_time_something_is_known(seconds: float) -> None:
    assert family().estimate(seconds=seconds, rng=7).draws >= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no budget"),
        ({"draws": 7}, "draws=7 is too small for 4 proposals: give at least 8"),
        ({"draws": 100, "anytime": True}, "anytime=True is not possible for a mixture"),
        ({"draws": 100, "proportions": "even"}, "proportions must be 'learned', 'equal' or one"),
        ({"draws": 100, "proportions": [0.5, 0.5]}, "proportions must be 4 numbers"),
        ({"draws": 100, "proportions": [0.3] * 4}, r"proportions must sum to 1, got a sum of 1\.2"),
        ({"draws": 100, "proportions": {"a": 1.0}}, "must have the names of the proposals"),
        ({"draws": 100, "proportions": [0.25] * 4, "tune": 1}, "proportions has no number for"),
        ({"draws": 100, "tune": -1}, "tune must be a whole number of at least 1"),
        ({"cost": 100}, "the family has no costs"),
    ],
)
def test_wrong_use_says_what_and_the_way_out(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        family().estimate(**settings)


def test_counts_cannot_be_tuned() -> None:
    poisson = (lambda rng, size: rng.poisson(5, size), lambda x: x * math.log(5.0))
    counts = Family(lambda x: x * math.log(5.0), {"five": poisson}, lambda x: x > 8)
    with pytest.raises(cr.PlanError, match="counts or labels"):
        counts.tune(draws=100, rng=7)


def test_only_moved_normals_keep_their_spread() -> None:
    free = Family(Normal(0.0), {"wide": Normal(0.0, 2.0)}, lambda x: x[:, 0] > 1)
    with pytest.raises(cr.PlanError, match="spread=False"):
        free.tune(draws=100, spread=False)
    assert free.tune(draws=1000, rng=7).arms["tuned 1"].draws > 0
    moved = family().tune(draws=1000, rng=7, spread=False)
    assert moved.arms["tuned 1"].draws > 0


def test_an_integrand_that_is_never_hit_leaves_the_error_unknown() -> None:
    blind = Family.tilted(lambda x: x[:, 0] > 50, [0, 1])
    with pytest.warns(cr.CroupierWarning, match="every draw of f is 0"):
        result = blind.estimate(draws=200, rng=7)
    assert result.value == 0
    assert result.interval == (-math.inf, math.inf)


def test_a_sampler_that_does_not_follow_its_density_is_named() -> None:
    bad = (lambda rng, size: rng.normal(1.5, 1.0, (size, 1)), Normal(1.0).logpdf)
    proposals = {"low": Normal(0.0), "bad": bad, "high": Normal(2.0)}
    wrong = Family(Normal(0.0), proposals, lambda x: x[:, 0] > 1)
    with pytest.warns(cr.CroupierWarning, match="'bad': its points do not follow its density"):
        wrong.estimate(draws=5000, rng=7, proportions="equal")


def test_densities_of_e_to_the_minus_2000_are_fine() -> None:
    def law(mean: float) -> tuple[Any, Any]:
        return (
            lambda rng, size: rng.normal(mean, 1, size),
            lambda x: -0.5 * np.square(x - mean) - 2000,
        )

    tiny = Family(law(0.0)[1], {"here": law(0.0), "there": law(2.0)}, np.exp)
    result = tiny.estimate(draws=1000, rng=7)
    assert abs(result.value - math.exp(0.5)) < 4 * result.stderr


@pytest.mark.parametrize("log_scale", [-2000.0, 2000.0])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_value_that_no_double_holds_is_not_given_without_a_word(log_scale: float) -> None:
    here = Normal(0.0).logpdf
    huge = Family(lambda x: here(x) + log_scale, {"a": Normal(0.0), "b": Normal(1.0)})
    with pytest.warns(cr.CroupierWarning, match=rf"about e\^{log_scale:.0f}, beyond"):
        result = huge.estimate(draws=1000, rng=7)
    assert result.value == (0 if log_scale < 0 else math.inf)
    by_logs = cr.estimate(huge.arms(log=True), draws=1000, log=True, rng=7)
    assert by_logs.log_value == pytest.approx(log_scale, abs=0.1)


def test_huge_weights_of_a_useless_proposal_do_no_harm() -> None:
    # Where the second proposal draws, f p/q of it is e^1000 at times: the mixture never sees it.
    far = Family(
        lambda x: -0.5 * np.square(x),
        {
            "good": (lambda r, n: r.normal(0, 1, n), lambda x: -0.5 * np.square(x)),
            "thin": (
                lambda r, n: r.normal(0, 1, n),
                lambda x: -0.5 * np.square(x) - 1000 * (np.abs(x) > 1),
            ),
        },
    )
    result = far.estimate(draws=1000, rng=7)
    assert math.isfinite(result.value)
    assert math.isfinite(result.arms["thin"].mean)


def test_the_history_is_that_of_the_rounds() -> None:
    result = family().estimate(draws=2000, rng=7)
    curve = result.history.curve()
    assert curve.value[-1] == result.value
    assert math.isnan(curve.value[0])
    assert len(np.unique(curve.value[~np.isnan(curve.value)])) == 4  # the pilot and three rounds
    assert result.history.at(2000) == result.value
    assert curve.half_width[-1] == pytest.approx((result.interval[1] - result.interval[0]) / 2)


def test_a_result_can_be_looked_at_as_any_other() -> None:
    result = family().estimate(draws=2000, rng=7, tune=1)
    assert "mixture" in str(result)
    assert list(result.to_pandas().index) == [*family().names, "tuned 1"]
    assert result.to_dict()["value"] == result.value
    low, high = result.confidence_interval(0.99)
    assert low < result.interval[0] < result.interval[1] < high
    assert result.plot() is not None


def test_runs_of_mixtures_are_merged_run_by_run() -> None:
    runs = [family().estimate(draws=2000, rng=seed) for seed in (1, 2)]
    both = cr.merge(runs)
    assert len(both.arms) == 2
    assert abs(both.value - EXACT) < 4 * both.stderr


def test_a_callback_sees_the_estimate_of_the_last_round() -> None:
    seen: list[tuple[int, float]] = []
    family().estimate(
        draws=500, rng=7, callback=lambda progress: seen.append((progress.draws, progress.value))
    )
    assert seen[-1][0] == 500
    assert all(math.isfinite(value) for _, value in seen)
    assert len({value for _, value in seen}) < len(seen)


# -- fitting


def test_a_fitted_normal_has_the_weighed_moments_and_is_wider() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((5000, 2)) @ np.array([[1.0, 0.5], [0.0, 0.7]]) + [3.0, -1.0]
    normal = fitted(x, np.ones(5000))
    assert normal is not None
    assert normal.mean == pytest.approx(x.mean(axis=0))
    covariance = normal.root @ normal.root.T / 1.1**2
    assert covariance == pytest.approx(np.cov(x.T), rel=0.01)


def test_draws_that_do_not_tell_fit_nothing() -> None:
    x = np.array([[1.0], [2.0], [3.0]])
    assert fitted(x, np.zeros(3)) is None
    assert fitted(x, np.array([0.0, 1.0, 0.0])) is None
    assert fitted(1e200 * x, np.ones(3)) is None


def test_names_of_fitted_proposals_are_free() -> None:
    assert tuned_names(["a"], 2) == ("tuned 1", "tuned 2")
    assert tuned_names(["tuned 1"], 1) == ("tuned' 1",)


@pytest.mark.parametrize(
    ("method", "setting", "meant"),
    [
        ("estimate", "draw", "draws"),
        ("estimate", "proportion", "proportions"),
        ("tune", "worker", "workers"),
        ("tune", "proposal", "proposals"),
    ],
)
def test_an_unknown_setting_names_the_method_and_the_likeliest_one(
    method: str, setting: str, meant: str
) -> None:
    message = rf"^Family\.{method}\(\) got .* '{setting}': did you mean '{meant}'\?$"
    with pytest.raises(TypeError, match=message):
        getattr(family(), method)(**{setting: 100})


def test_an_event_with_few_hits_has_an_interval_above_zero() -> None:
    rare = Family.tilted(lambda x: x[:, 0] > 4.2, [0, 1])
    with pytest.warns(cr.CroupierWarning):
        result = rare.estimate(draws=2000, rng=7)
    low, high = result.interval
    assert 0 < low < result.value < high
    assert high - result.value > result.value - low  # a count is skewed to the right


def test_what_tune_has_fitted_can_be_read_and_used_again() -> None:
    result = Family.tilted(lambda x: x[:, 0] > 4, [0, 4]).tune(draws=10_000, rng=7)
    assert len(result.proposals) >= 1
    assert all(Normal(**each).mean[0] > 3.9 for each in result.proposals)


def test_tune_warns_if_its_proposals_rest_on_too_few_draws() -> None:
    with pytest.warns(cr.CroupierWarning, match="tune refines, it does not search"):
        Family.tilted(lambda x: x[:, 0] > 2.5, [0]).tune(draws=3000, proposals=1, rng=7)
