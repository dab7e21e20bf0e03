"""cr.probability: known answers, all kinds of input, bad input, stores and workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.rare import Nataf, ProbabilityResult
from tests.fair_clock import fair_clock

quiet = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

#: These tests are of the search; those of learning are in test_learning.py.
pytestmark = pytest.mark.usefixtures("searching")


def beyond(x: Any) -> Any:
    return 4.0 - x[:, 0]


def near(result: cr.Result, value: float) -> bool:
    return bool(abs(result.value - value) < 4 * result.stderr)


def test_a_probability_of_3e5_takes_two_thousand_calls() -> None:
    result = cr.probability(beyond, 2, draws=50_000, rtol=0.1, rng=7)
    assert isinstance(result, ProbabilityResult)
    assert near(result, stats.norm.sf(4))
    assert result.stopped == "tolerance"
    assert result.draws < 3000
    assert result.draws == result.search["calls"] + result.arms["estimate"].draws
    assert result.beta == pytest.approx(4, abs=0.05)
    low, high = result.beta_interval
    assert low < result.beta < high
    assert np.allclose(result.design_points[0], [4, 0], atol=0.4)
    assert result.mode_shares.sum() > 0.9
    assert result.warnings == ()


def test_the_calls_of_g_are_the_draws() -> None:
    called = []

    def counted(x: Any) -> Any:
        called.append(len(x))
        return 3 - x[:, 0]

    result = cr.probability(counted, 2, draws=2000, rng=7)
    assert result.draws == 2000
    assert sum(called) == 2000 + 3 + 1  # three points and one: how is g called


def test_a_function_of_one_point_is_found_out() -> None:
    def one(x: Any) -> float:
        return float(4.0 - x[0])

    assert cr.probability(one, 2, draws=2500, rng=7).value == (
        cr.probability(beyond, 2, draws=2500, rng=7).value
    )


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_sum_of_rows_is_not_taken_for_a_sum_of_columns(d: int) -> None:
    def one(x: Any) -> Any:
        assert x.shape == (d,)
        return 3 * np.sqrt(d) - x.sum()

    result = cr.probability(one, d, draws=4000, rng=7)
    assert near(result, stats.norm.sf(3))


@pytest.mark.parametrize(
    ("over", "g", "value"),
    [
        ([stats.expon(), stats.expon()], lambda x: 15 - x.sum(axis=1), stats.gamma(2).sf(15)),
        (
            stats.multivariate_normal([1, 2], [[2, 1], [1, 3]]),
            lambda x: 14 - x.sum(axis=1),
            stats.norm(3, np.sqrt(7)).sf(14),
        ),
        (
            Nataf([stats.norm(), stats.norm()], [[1, 0.6], [0.6, 1]]),
            lambda x: 7 - x.sum(axis=1),
            stats.norm(0, np.sqrt(3.2)).sf(7),
        ),
        ((1, lambda z: np.exp(z)), lambda x: np.e**4 - x[:, 0], stats.norm.sf(4)),
    ],
    ids=["marginals", "a normal vector", "a copula", "a transform"],
)
def test_every_kind_of_distribution_has_its_known_answer(over: Any, g: Any, value: float) -> None:
    assert near(cr.probability(g, over, draws=50_000, rtol=0.1, rng=7), value)


def test_design_points_are_in_the_coordinates_of_the_user() -> None:
    result = cr.probability(lambda x: 15 - x[:, 0], [stats.expon()], draws=3000, rng=7)
    assert result.design_points.min() == pytest.approx(15, abs=0.3)
    nearest = min(result.search["components"], key=lambda each: each["distance"])
    known = nearest["design_point_normal"]
    assert known[0] == pytest.approx(-stats.norm.ppf(np.exp(-15)), abs=0.1)


def test_all_four_branches_are_found() -> None:
    def branches(x: Any) -> Any:
        return np.minimum.reduce([3.5 - x[:, 0], 3.5 + x[:, 0], 3.5 - x[:, 1], 3.5 + x[:, 1]])

    result = cr.probability(branches, 2, draws=50_000, rtol=0.1, rng=7)
    assert near(result, 1 - (1 - 2 * stats.norm.sf(3.5)) ** 2)
    sides = {(int(np.argmax(np.abs(p))), bool(p.sum() > 0)) for p in result.design_points}
    assert len(sides) == 4


@pytest.mark.slow
@quiet
def test_several_limit_states_share_their_draws() -> None:
    def two(x: Any) -> Any:
        return np.column_stack((2.5 - x[:, 0], 3 - x[:, 1]))

    result = cr.probability(two, 2, draws=100_000, rtol=0.1, rng=7, names=["left", "right"])
    a, b = stats.norm.sf([2.5, 3])
    known = np.array([a, b, a + b - a * b, a * b])
    assert result.components == ("left", "right", "any", "all")
    assert (np.abs(result.value - known) < 4 * result.stderr).all()
    assert (result.stderr < 0.06 * known)[:3].all()  # the tolerance does not bind "all"
    assert np.allclose(np.sqrt(np.diag(result.covariance)), result.stderr, rtol=0.3)
    assert result.covariance[0, 2] > 0  # a failure of one is a failure of any
    assert result.beta.shape == (4,)


def test_the_limit_may_be_another_number() -> None:
    result = cr.probability(lambda x: -x[:, 0], 2, below=-3.5, draws=20_000, rtol=0.1, rng=7)
    assert near(result, stats.norm.sf(3.5))


def test_a_start_finds_a_hole_that_no_slope_leads_to() -> None:
    def hole(x: Any) -> Any:
        inside = np.square(x - np.array([-3.0, -3.0])).sum(axis=1) < 0.2**2
        return np.where(inside, -1.0, 4.5 - x[:, 0])

    known = stats.norm.sf(4.5) + stats.ncx2.cdf(0.2**2, 2, 18)
    result = cr.probability(hole, 2, draws=50_000, rtol=0.1, starts=[[-3, -3]], rng=7)
    assert near(result, known)


@quiet
def test_never_failing_says_the_bound_and_what_was_scouted() -> None:
    result = cr.probability(lambda x: 1 + x[:, 0] ** 2, 2, draws=20_000, rng=7)
    assert result.value == 0
    assert result.interval[0] == 0
    assert 0 < result.interval[1] < 1e-3
    (said,) = [text for text in result.warnings if "never below" in text]
    assert "widths 1, 2.12, 3.04" in said
    assert result.beta == np.inf


@quiet
def test_always_failing_is_a_probability_of_one() -> None:
    for seed in range(7, 11):  # three of these means would be above 1
        result = cr.probability(lambda x: -1 - x[:, 0] ** 2, 2, draws=1500, rng=seed)
        assert result.value == pytest.approx(1, abs=0.01)
        assert result.value <= 1
        assert result.interval[1] <= 1


@quiet
def test_a_small_budget_ends_the_search_and_says_so() -> None:
    result = cr.probability(beyond, 2, draws=800, rng=7)
    assert result.draws == 800
    assert any("ended the search" in text for text in result.warnings)
    assert 0 <= result.interval[0] <= result.interval[1] <= 1


@pytest.mark.parametrize(("limit", "draws", "d"), [(2.0, 60, 2), (2.0, 300, 10), (4.0, 100, 100)])
@quiet
def test_a_budget_that_pays_for_no_search_has_the_interval_of_plain_draws(
    limit: float, draws: int, d: int
) -> None:
    result = cr.probability(lambda x: limit - x[:, 0], d, draws=draws, rng=7)
    hits = round(result.value * draws)
    exact = stats.binomtest(hits, draws).proportion_ci()
    assert result.interval == pytest.approx((exact.low, exact.high))
    assert any("does not pay for a search" in text for text in result.warnings)


@pytest.mark.parametrize(("seed", "limit", "d"), [(s, 3.5, 100) for s in range(6)])
@quiet
def test_few_effective_hits_never_bring_the_upper_end_below_the_truth(
    seed: int, limit: float, d: int
) -> None:
    result = cr.probability(lambda x: limit - x.sum(axis=1) / np.sqrt(d), d, draws=2000, rng=seed)
    assert result.interval[1] > stats.norm.sf(limit)


def noisy(x: Any) -> Any:
    return 3.0 - x[:, 0] + 0.3 * np.sin(1e6 * x[:, 1])


@quiet
def test_a_heavy_tail_of_weights_does_not_hold_up_a_run_that_is_precise_enough() -> None:
    calls = [cr.probability(noisy, 2, draws=50_000, rtol=0.1, rng=seed).draws for seed in range(4)]
    assert max(calls) < 40_000


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 7, 8])  # values and forecasts on both sides of 1
def test_a_limit_state_with_the_wrong_sign_is_noticed(seed: int) -> None:
    with pytest.warns(cr.CroupierWarning, match="is its sign right"):
        cr.probability(lambda x: x[:, 0] - 9, 2, draws=2000, rng=seed)


def test_a_yes_or_no_function_has_no_levels_and_is_found_all_the_same() -> None:
    def step(x: Any) -> Any:
        return np.where(x[:, 0] + x[:, 1] > 4.2, -1.0, 1.0)

    result = cr.probability(step, 2, draws=50_000, rtol=0.1, rng=7)
    assert near(result, stats.norm.sf(4.2 / np.sqrt(2)))


@pytest.mark.parametrize(
    ("g", "over", "said"),
    [
        (3, 2, "g must be a function"),
        ({"a": lambda x: x[:, 0], "b": lambda x: x[:, 1]}, 2, "give one that returns np.column"),
        (lambda x: x[:, 5], 2, "the points have 2 coordinates"),
        (lambda x: np.zeros((len(x), 2, 2)), 2, r"returned an array of shape \(3, 2, 2\)"),
        (lambda x: "red", 2, "returned values of type <U3: return real numbers"),
    ],
)
def test_a_bad_limit_state_is_refused_before_the_run(g: Any, over: Any, said: str) -> None:
    with pytest.raises(cr.PlanError, match=said):
        cr.probability(g, over, draws=1000)


def test_nan_in_the_run_names_the_point_and_keeps_what_was_stored(tmp_path: Path) -> None:
    calls = []

    def bad(x: Any) -> Any:
        calls.append(len(x))
        return np.where(sum(calls) > 500, np.nan, 4 - x[:, 0])

    with pytest.raises(cr.ArmError, match=r"ticket .*g is nan at the point \("):
        cr.probability(bad, 2, draws=10_000, rng=7, store=tmp_path / "run.db")
    assert cr.open_run(tmp_path / "run.db").result().draws > 0


def test_an_error_in_g_is_told_with_its_ticket() -> None:
    calls = []

    def raises(x: Any) -> Any:
        calls.append(len(x))
        if sum(calls) > 500:
            raise RuntimeError("the mesh is broken")
        return 4 - x[:, 0]

    with pytest.raises(cr.ArmError, match=r"raised RuntimeError: the mesh is broken"):
        cr.probability(raises, 2, draws=10_000, rng=7)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"draws": 1000, "anytime": True}, "anytime=True is not possible"),
        ({"draws": 1000, "interval": "guaranteed"}, "'guaranteed' is not possible"),
        ({"cost": 10.0}, "g reports no costs"),
        ({}, "no budget"),
        ({"draws": 1000, "below": "low"}, "below must be a number"),
        ({"draws": 1000, "below": np.inf}, "below must be finite"),
        ({"draws": 1000, "starts": [[1, 2, 3]]}, r"starts must be points \(k, 2\)"),
        ({"draws": 1000, "names": ["a"]}, "names= is for several limit states"),
        ({"draws": 1000, "start": [[1, 2]]}, "start"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises((cr.PlanError, TypeError), match=said):
        cr.probability(beyond, 2, **options)


class Stop:
    """Stops a run after some tickets, as a kill would, between two batches."""

    def __init__(self, tickets: int) -> None:
        self.tickets = tickets

    def __call__(self, progress: cr.Progress) -> bool:
        return progress.tickets >= self.tickets


@cache
def uncut() -> Any:
    return cr.probability(beyond, 2, draws=3000, rng=7)


@quiet
@pytest.mark.parametrize(
    "tickets",
    [5, 110, 150, *[pytest.param(n, marks=pytest.mark.slow) for n in (16, 40, 130, 175)]],
)
def test_search_walk_and_estimate_survive_a_cut(tickets: int, tmp_path: Path) -> None:
    whole = uncut()
    assert whole.history.size.size > 175
    store = tmp_path / "run.db"
    cr.probability(beyond, 2, draws=3000, rng=7, store=store, callback=Stop(tickets))
    again = cr.probability(beyond, 2, draws=3000, rng=7, store=store)
    assert again.value == whole.value
    assert again.interval == whole.interval
    assert again.to_dict()["details"] == whole.to_dict()["details"]
    opened = cr.open_run(store).result()
    assert opened.design_points.tolist() == whole.design_points.tolist()


@quiet
def test_threads_and_widths_change_nothing() -> None:
    here = uncut()
    with ThreadPoolExecutor(2) as threads:
        there = cr.probability(beyond, 2, draws=3000, rng=7, executor=threads, width=5)
    assert (here.value, here.interval) == (there.value, there.interval)


def test_a_result_comes_back_from_json_with_its_details() -> None:
    result = cr.probability(beyond, 2, draws=2500, rng=7)
    again = ProbabilityResult.from_dict(result.to_dict())
    assert again.beta == result.beta
    assert again.search == result.search
    assert again.confidence_interval(0.5) == result.confidence_interval(0.5)


@quiet
def test_a_run_may_have_a_budget_in_seconds() -> None:
    with fair_clock():
        result = cr.probability(beyond, 2, seconds=0.6, rng=7)
    assert result.stopped == "seconds"
    assert result.draws > 300


def test_a_limit_state_that_is_true_or_false_is_refused_unless_one_of_them_fails() -> None:
    with pytest.raises(cr.PlanError, match=r"True or False.*below 0.*np\.where\(fails"):
        cr.probability(lambda x: x[:, 0] < 3, 2, draws=1_000, rng=7)
    with pytest.raises(cr.PlanError, match="True or False"):
        cr.probability(lambda x: bool(x[0] > 3), 2, draws=1_000, rng=7)
    result = cr.probability(lambda x: x[:, 0] < 2, 2, below=0.5, draws=1_000, rng=7)
    assert abs(result.value - stats.norm.sf(2)) < 4 * result.stderr


@pytest.mark.filterwarnings("ignore:the budget ended the search:croupier.CroupierWarning")
def test_a_count_may_be_a_variable_of_a_rare_event() -> None:
    result = cr.probability(lambda x: 14.5 - x[:, 0], [stats.poisson(3)], draws=2_000, rng=1)
    assert abs(result.value - stats.poisson.sf(14, 3)) < 4 * result.stderr


def doubled(x: Any) -> Any:
    x *= 2
    return 3.0 - x[:, 0]


def doubled_one(x: Any) -> float:
    x *= 2
    return float(3.0 - x[0])


@pytest.mark.parametrize("g", [doubled, doubled_one])
@quiet
def test_a_limit_state_that_changes_its_points_in_place_changes_only_its_copy(g: Any) -> None:
    result = cr.probability(g, 2, draws=3000, rng=7)
    assert near(result, stats.norm.sf(1.5))
    assert 1.4 < result.design_points[0, 0] < 2.5


def raises_far_out(x: Any) -> float:
    if x[0] > 1.5:
        raise ValueError("no convergence")
    return float(4 - x[0])


def test_an_error_in_g_names_the_point() -> None:
    with pytest.raises(cr.ArmError, match=r"ValueError: no convergence, at the point \("):
        cr.probability(raises_far_out, 2, draws=3000, rng=7)


def four_directions(x: Any) -> Any:
    return np.min([3.0 + 0.2 * i - x[:, i] for i in range(4)], axis=0)


@quiet
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_hits_whose_weights_differ_by_orders_have_a_long_upper_end(seed: int) -> None:
    """The search is cut short: the hits are worth few, and much of the mass may be unseen."""
    result = cr.probability(lambda x: 4 - x.sum(axis=1) / np.sqrt(20), 20, draws=1900, rng=seed)
    low, high = result.interval
    assert low < stats.norm.sf(4) < high


def test_a_limit_state_that_the_tolerance_does_not_bind_starts_no_new_epoch() -> None:
    """All three at once have the probability 1.9e-7, and a single draw may carry it."""
    limits = np.array([2.0, 2.5, 3.0])
    result = cr.probability(lambda x: limits - x, 3, draws=100_000, rtol=0.1, rng=2)
    assert result.stopped == "tolerance"
    assert result.search["epochs"] == 1
    assert not result.warnings


def test_a_run_with_several_modes_says_how_much_another_one_could_hide() -> None:
    result = cr.probability(four_directions, 8, draws=4000, rng=0)
    hidden = result.search["could_hide"]
    assert hidden > result.value
    assert f"with a probability of up to {hidden:.2g}" in " ".join(str(result).split())
    assert any(f"one with a probability of {hidden:.2g} could" in said for said in result.warnings)


def test_modes_in_many_dimensions_say_how_much_another_one_could_hide() -> None:
    result = cr.probability(four_directions, 14, draws=4000, rng=0)
    *_, warning = result.warnings
    assert warning.startswith("3 components in 14 dimensions, and another mode")  # there are four
    assert f"of up to {result.search['could_hide']:.2g} could have been missed" in warning


def test_a_printed_result_shows_index_modes_and_calls_and_no_row_of_the_search(
    tmp_path: Path,
) -> None:
    result = cr.probability(beyond, 2, draws=50_000, rtol=0.1, rng=7)
    page = result.report(tmp_path / "run.html").read_text(encoding="utf-8")
    for text in (result.summary(), page):
        for said in ("reliability index", "design point", "calls of g", "could be missed"):
            assert said in text
    rows = [line.split()[0] for line in result.summary().splitlines() if line.strip()]
    assert "estimate" in rows
    assert "search" not in rows
    *_, efficiencies = result.plot().axes
    assert [label.get_text() for label in efficiencies.get_yticklabels()] == ["estimate"]


def apart(x: Any) -> Any:
    """Return two limit states that never fail together."""
    return np.column_stack((3.5 - x[:, 0], 3.4 + x[:, 0]))


@quiet
def test_each_limit_state_has_its_own_line_with_its_reliability_index() -> None:
    text = str(cr.probability(apart, 2, draws=3000, names=["bending", "shear"], rng=1))
    for name, beta in (("bending", 3.5), ("shear", 3.4), ("any", 3.23)):
        index = next(line for line in text.splitlines() if line.startswith("reliability index of "
                     + name))  # fmt: skip
        assert abs(float(index.split(": ")[1].split()[0]) - beta) < 0.1


@quiet
def test_a_tolerance_does_not_wait_for_all_limit_states_to_fail() -> None:
    result = cr.probability(apart, 2, draws=30_000, rtol=0.2, rng=1)
    assert result.stopped == "tolerance"
    assert result.arms["estimate"].draws < 3000
    assert not any("never below" in text or "rtol" in text for text in result.warnings)
    low, high = result.interval
    assert ((high - low) / 2 <= 0.2 * result.value)[:-1].all()
    assert (np.abs(result.value[:2] - stats.norm.sf([3.5, 3.4])) < 4 * result.stderr[:2]).all()


@quiet
def test_tolerance_for_chooses_the_components_by_name_or_index() -> None:
    def run(chosen: Any) -> cr.Result:
        return cr.probability(
            apart, 2, draws=8000, rtol=0.2, rng=1, names=["a", "b"], tolerance_for=chosen
        )

    by_name, by_index, never = run(["b", "any"]), run([1, 2]), run("all")
    assert by_name.draws == by_index.draws < 8000
    assert by_name.stopped == "tolerance"
    assert never.stopped == "draws"
    assert any("rtol=0.2 was not reached" in text for text in never.warnings)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rtol": 0.1, "tolerance_for": ["d"]}, "must be some of 'g1', 'g2', 'any', 'all'"),
        ({"rtol": 0.1, "tolerance_for": [4]}, "indices from 0 to 3"),
        ({"rtol": 0.1, "tolerance_for": []}, r"must be some of .* got \[\]"),
        ({"rtol": 0.1, "tolerance_for": [True]}, "must be some of"),
        ({"tolerance_for": ["any"]}, "give rtol= or atol=, too"),
    ],
)
def test_a_wrong_tolerance_for_is_refused(given: Any, text: str) -> None:
    with pytest.raises(cr.PlanError, match=text):
        cr.probability(apart, 2, draws=3000, **given)


def test_tolerance_for_is_refused_for_one_limit_state() -> None:
    with pytest.raises(cr.PlanError, match="tolerance_for= is for several limit states"):
        cr.probability(beyond, 2, draws=3000, rtol=0.1, tolerance_for="any")
