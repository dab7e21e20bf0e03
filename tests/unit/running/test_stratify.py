"""Strata with known weights: who gets the draws, what the answer is, what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.engines.perform import perform
from croupier.policies.stratified import deviation_bound, unseen_deviation
from croupier.running.stratify import optimal_shares, regret
from croupier.store.codec import decoded, encoded
from tests.conftest import Clock

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

WEIGHTS = (0.5, 0.3, 0.2)


def normal(mean: float, spread: float, cost: float | None = None) -> Callable[..., Any]:
    def draw(rng: np.random.Generator, size: int) -> Any:
        values = rng.normal(mean, spread, size)
        return values if cost is None else cr.Draws(values, cost)

    return draw


def strata(power: int = 0) -> dict[str, Callable[..., Any]]:
    def scaled(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda rng, size: np.ldexp(draw(rng, size), power)

    return {
        "calm": scaled(normal(1.0, 0.1)),
        "skewed": scaled(lambda rng, size: rng.lognormal(0.0, 0.5, size)),
        "wild": scaled(normal(-7.0, 3.0)),
    }


def counts(result: cr.Result) -> list[int]:
    return [row.draws for row in result.arms]


# -- the answer


def test_the_estimate_is_the_weighted_sum_of_the_means_with_its_own_error() -> None:
    result = cr.stratify(strata(), WEIGHTS, draws=2000, rng=7)
    n = np.array(counts(result))
    mean, s2, error = (
        np.array([getattr(row, x) for row in result.arms]) for x in ("mean", "variance", "stderr")
    )
    w = np.array(WEIGHTS)
    assert result.value == pytest.approx(w @ mean, rel=1e-12)
    assert result.stderr == pytest.approx(np.sqrt((w**2 * error**2).sum()), rel=1e-12)
    # Means are taken epoch by epoch: they err a little more than the means of as many draws.
    assert result.stderr == pytest.approx(np.sqrt((w**2 * s2 / n).sum()), rel=0.05)
    assert [row.weight for row in result.arms] == pytest.approx(WEIGHTS)
    # Welch and Satterthwaite, with the effective degrees of freedom of each stratum.
    a, df = w**2 * error**2, result.basis.ledger.df[:, 0]
    assert result.basis.pooled.df[0] == pytest.approx(a.sum() ** 2 / (a**2 / df).sum())
    assert (result.plan.combine, result.plan.policy["name"]) == ("strata", "mc-ucb")


def test_means_that_differ_are_no_disagreement() -> None:
    arms = {"a": normal(0.0, 1.0), "b": normal(1000.0, 1.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cr.stratify(arms, [0.5, 0.5], draws=10_000, rng=7)
    assert result.agreement is None
    assert result.warnings == ()
    assert abs(result.value - 500) < 5 * result.stderr
    assert result.stderr < 0.02
    assert "agreement" not in str(result)


def test_the_error_is_not_known_before_every_stratum_was_drawn_twice() -> None:
    with pytest.warns(cr.CroupierWarning, match="1 of 3 strata were not drawn twice"):
        result = cr.stratify(strata(), WEIGHTS, draws=5, rng=7)
    assert np.isnan(result.stderr)
    assert result.interval == (-np.inf, np.inf)
    seen = []
    cr.stratify(strata(), WEIGHTS, draws=20, rng=7, callback=lambda p: seen.append(p.half_width))
    assert all(np.isinf(seen[:5]))
    assert all(np.isfinite(seen[6:]))


def test_strata_that_are_constant_give_the_exact_answer_with_an_unknown_error() -> None:
    arms = {"a": lambda rng, size: np.full(size, 2.0), "b": lambda rng, size: np.full(size, 4.0)}
    result = cr.stratify(arms, [0.25, 0.75], draws=1000, rng=7)
    assert result.value == 3.5
    assert np.isnan(result.stderr)
    assert np.isnan(regret(result))
    assert np.isnan(list(optimal_shares(result).values())).all()
    assert result.arms["b"].draws > result.arms["a"].draws > 200


def test_vectors_have_one_estimate_each() -> None:
    def arm(mean: float, spread: float) -> Callable[..., Any]:
        return lambda rng, size: rng.normal([mean, 2 * mean], [spread, 1e9], (size, 2))

    arms = {"a": arm(1.0, 0.1), "b": arm(2.0, 3.0)}
    result = cr.stratify(arms, [0.5, 0.5], draws=5000, rng=7, objective=(1.0, 0.0))
    assert (np.abs(result.value - [1.5, 3.0]) < 5 * result.stderr).all()
    assert result.arms["b"].share > 0.9
    even = cr.stratify(arms, [0.5, 0.5], draws=5000, rng=7, objective=(0.0, 1.0))
    assert abs(even.arms["b"].share - 0.5) < 0.05


# -- the allocation


def test_draws_are_dealt_as_the_optimal_allocation_would() -> None:
    result = cr.stratify(strata(), WEIGHTS, draws=20_000, rng=7)
    best = optimal_shares(result)
    assert sum(best.values()) == pytest.approx(1)
    for row in result.arms:
        assert row.share == pytest.approx(best[row.name], rel=0.15)
    assert 0 <= regret(result) < 0.01
    efficiencies = [row.efficiency for row in result.arms]
    assert max(efficiencies) == 1
    assert min(efficiencies) > 0.6  # near 1, where the allocation is near the optimum


def test_the_regret_is_that_of_the_counts() -> None:
    arms = {"a": normal(0.0, 1.0), "b": normal(5.0, 3.0)}
    result = cr.stratify(arms, [0.5, 0.5], draws=10_000, rng=7, policy="proportional")
    assert counts(result) == pytest.approx([5000, 5000], abs=400)
    # n sum(w^2 s^2/n_k)/(sum w s)^2 - 1 = 2 (1 + 9)/16 - 1 = 1/4 for equal counts
    assert regret(result) == pytest.approx(0.25, abs=0.02)
    with pytest.raises(
        cr.PlanError, match=r"a result of cr\.stratify, got a result of 'independent'"
    ):
        regret(cr.estimate(arms, draws=100, rng=7))


def test_dear_strata_are_drawn_less_by_the_root_of_their_cost() -> None:
    arms = {"cheap": normal(0.0, 1.0, 1.0), "dear": normal(5.0, 1.0, 16.0)}
    result = cr.stratify(arms, [0.5, 0.5], cost=50_000, rng=7)
    draws = result.arms
    assert draws["cheap"].draws / draws["dear"].draws == pytest.approx(4, rel=0.1)
    assert optimal_shares(result) == pytest.approx({"cheap": 0.2, "dear": 0.8}, rel=0.05)
    assert regret(result) < 0.01
    assert result.stopped == "cost"


def test_a_stratum_that_has_not_varied_does_not_starve() -> None:
    arms = {
        "rare": lambda rng, size: 5.0 * (rng.random(size) < 0.02),
        "zero": lambda rng, size: np.zeros(size),
        "plain": normal(0.0, 1.0),
    }
    for seed in range(5):
        result = cr.stratify(arms, [0.4, 0.2, 0.4], draws=10_000, rng=seed)
        assert 100 < result.arms["zero"].draws < 250  # (w t)^(2/3) = 159
        assert result.arms["rare"].variance > 0  # missed by one run in 160
    assert any("never varied: 'zero'" in warning for warning in result.warnings)
    assert result.arms["zero"].efficiency is None


def test_the_bounds_are_what_their_formulas_say() -> None:
    s = np.array([2.0])
    z = np.sqrt(np.log(1000) / 2)
    assert deviation_bound(s, np.sqrt([2 / 50]), 1000) == pytest.approx(
        2 * np.exp(z * np.sqrt(2 / 50) / 2)
    )
    assert unseen_deviation(3.0, np.array([7.0])) == pytest.approx(1.0)


def test_the_means_of_a_run_without_epochs_are_the_plain_ones() -> None:
    kept = cr.stratify(strata(), WEIGHTS, draws=2000, rng=7, keep_values=True)
    plain = cr.stratify(
        strata(), WEIGHTS, draws=2000, rng=7, keep_values=True, policy="proportional"
    )
    assert [row.mean for row in plain.arms] == pytest.approx(
        [row.values.mean() for row in plain.arms], rel=1e-12
    )
    off = [row.mean - row.values.mean() for row in kept.arms]
    assert all(off)
    assert all(abs(x) < 2 * row.stderr for x, row in zip(off, kept.arms, strict=True))
    assert plain.plan.settings == {"weights": list(WEIGHTS)}
    assert kept.plan.settings == {"weights": list(WEIGHTS), "epochs": 2.0}


# -- the same run, whatever happens around it


@pytest.mark.parametrize("settings", [{"draws": 5000}, {"draws": 3000, "width": 8},
                                      {"draws": 100_000, "atol": 0.05},
                                      {"draws": 300, "batch": "one"}], ids=str)  # fmt: skip
@pytest.mark.parametrize("power", [-600, 600])
def test_the_unit_of_the_draws_changes_no_decision(power: int, settings: dict[str, Any]) -> None:
    plain = cr.stratify(strata(), WEIGHTS, rng=3, **settings)
    if "atol" in settings:
        settings = {**settings, "atol": np.ldexp(settings["atol"], power)}
    scaled = cr.stratify(strata(power), WEIGHTS, rng=3, **settings)
    assert np.array_equal(plain.history.arm, scaled.history.arm)
    assert np.array_equal(plain.history.size, scaled.history.size)
    assert scaled.value == np.ldexp(plain.value, power)
    assert scaled.stderr == np.ldexp(plain.stderr, power)
    assert [row.efficiency for row in scaled.arms] == [row.efficiency for row in plain.arms]
    assert regret(scaled) == regret(plain)
    assert scaled.stopped == plain.stopped


@pytest.mark.parametrize("width", [1, 8])
def test_a_run_repeats_bit_by_bit(width: int, bits: Callable[[cr.Result], Any]) -> None:
    first, second = (
        cr.stratify(strata(), WEIGHTS, draws=2000, rng=7, width=width) for _ in range(2)
    )
    assert bits(first) == bits(second)


def test_ask_and_tell_in_any_order_is_the_same_run(bits: Callable[[cr.Result], Any]) -> None:
    arms = {name: cr.Arm(draw, name=name) for name, draw in strata().items()}
    shuffle = np.random.default_rng(1)
    table = cr.Allocator(list(arms), rng=7, width=8, weights=WEIGHTS)
    out: list[cr.Batch] = []
    left = 2000
    while left or out:
        while left and len(out) < 8 and (batch := table.ask(2000 - table.progress().draws)):
            out.append(batch)
            left -= batch.size
        batch = out.pop(int(shuffle.integers(len(out))))
        table.tell(perform(table.plan, arms[batch.arm], batch))
    expected = cr.stratify(arms, WEIGHTS, draws=2000, rng=7, width=8)
    assert bits(table.result()) == bits(expected)
    assert cr.Plan.from_json(table.plan.to_json()) == expected.plan
    assert cr.Allocator(expected.plan).plan == expected.plan


def test_a_snapshot_in_an_epoch_goes_on_to_the_same_bits(bits: Callable[[cr.Result], Any]) -> None:
    def table() -> cr.Allocator:
        return cr.Allocator(list(strata()), rng=7, width=3, weights=WEIGHTS)

    def play(played: cr.Allocator, tickets: int) -> None:
        for _ in range(tickets):
            batch = played.ask()
            assert batch is not None
            played.tell(batch, strata()[batch.arm](batch.rng(), batch.size))

    first, second, like = table(), table(), table().snapshot()
    play(first, 150)
    stored = decoded(encoded(first.snapshot(), like), like)
    second.go_on_from(stored, first._table.known.books.history.rows())
    for one in (first, second):
        play(one, 100)
    assert bits(first.result()) == bits(second.result())


@pytest.mark.parametrize("draws", [1, 2, 7, 30, 1234])
@pytest.mark.parametrize("width", [1, 8])
def test_a_budget_of_draws_is_met_exactly(draws: int, width: int) -> None:
    result = cr.stratify(strata(), WEIGHTS, draws=draws, rng=7, width=width)
    assert (result.draws, result.stopped) == (draws, "draws")
    assert np.isfinite(result.value)


def test_it_stops_at_a_tolerance_a_deadline_and_a_callback(clock: Clock) -> None:
    result = cr.stratify(strata(), WEIGHTS, draws=1e6, atol=0.05, rng=7)
    assert result.stopped == "tolerance"
    assert result.interval[1] - result.interval[0] <= 0.1
    always = cr.stratify(strata(), WEIGHTS, draws=1e6, atol=0.05, anytime=True, rng=7)
    assert always.draws > result.draws
    timed = {name: clock.timed(arm, 1e-4, 1e-4) for name, arm in strata().items()}
    late = cr.stratify(timed, WEIGHTS, seconds=0.1, rng=7)
    assert late.stopped == "seconds"
    assert late.seconds == pytest.approx(0.1, rel=0.05)
    asked = cr.stratify(strata(), WEIGHTS, draws=1e6, rng=7, callback=lambda p: p.draws > 500)
    assert asked.stopped == "callback"


def test_a_result_shows_itself_like_any_other() -> None:
    result = cr.stratify(strata(), WEIGHTS, draws=3000, rng=7, keep_values=True)
    assert "policy mc-ucb, combine strata, seed 7" in result.summary()
    assert "strata" in result._repr_html_()
    assert result.to_pandas().loc["wild", "weight"] == pytest.approx(0.2)
    assert len(result.arms["calm"].values) == result.arms["calm"].draws
    assert result.history.at(3000) == result.value
    assert len(result.plot().axes) == 3


def test_a_single_stratum_is_plain_sampling() -> None:
    result = cr.stratify({"all": normal(2.0, 1.0)}, [1.0], draws=500, rng=7)
    assert result.value == result.arms["all"].mean
    assert regret(result) == pytest.approx(0, abs=1e-12)


def test_a_warning_points_at_the_line_that_called() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cr.stratify(strata(), WEIGHTS, draws=5, rng=7)
    assert caught
    assert all(warning.filename == __file__ for warning in caught)


# -- what is given


def test_weights_may_be_given_by_name_and_in_single_precision() -> None:
    by_name = dict(reversed(list(zip(strata(), WEIGHTS, strict=True))))
    first = cr.stratify(strata(), WEIGHTS, draws=200, rng=7)
    assert cr.stratify(strata(), by_name, draws=200, rng=7).value == first.value
    tenths = {f"s{k}": normal(k, 1.0) for k in range(10)}
    single = cr.stratify(tenths, np.full(10, 0.1, np.float32), draws=200, rng=7)
    assert sum(single.plan.settings["weights"]) == pytest.approx(1, abs=1e-15)
    assert cr.Plan.from_json(single.plan.to_json()) == single.plan


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.3, 0.3], r"weights must sum to 1, got a sum of 1\.1: divide each weight by"),
        ([1, 1, 1], "weights must sum to 1, got a sum of 3"),
        ([0.5, 0.7, -0.2], r"weights must be a number of at least 0, got -0\.2"),
        ([0.5, 0.5, 0.0], "weights must be above 0, got .*: leave out the entries with weight 0"),
        ([0.5, 0.5], r"weights must have one entry per arm \(3 in all\), got \(0\.5, 0\.5\)"),
        ([0.5, 0.5, float("nan")], "weights must be a number of at least 0, got nan"),
        ([0.5, 0.5, float("inf")], "weights must be a number of at least 0, got inf"),
        ([0.5, 0.3, "0.2"], r"weights must be a number, got '0\.2'"),
        ([], "weights must have a weight above 0"),
        (0.5, r"weights must be a sequence of weights, got 0\.5"),
        (None, "weights must be one number for each of calm, skewed, wild, got None"),
        ("abc", "weights must be one number for each of calm, skewed, wild, got 'abc'"),
        ({"calm": 0.5, "wild": 0.5}, "names of the strata, .*; not in both: skewed"),
        (
            {"calm": 0.5, "wild": 0.3, "skewed": 0.1, 4: 0.1},
            "names of the strata, .*; not in both: 4",
        ),
        (np.eye(3), "weights must be a number"),
    ],
    ids=repr,
)
def test_weights_that_are_none_are_refused_with_a_way_out(weights: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.stratify(strata(), weights, draws=100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"combine": "mean"}, "strata are combined by their weights: leave combine out"),
        ({"policy": "best"}, "unknown policy 'best'"),
        ({"draws": None}, "no budget"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.stratify(strata(), WEIGHTS, **{"draws": 100, **settings})


def test_an_unknown_setting_names_stratify_and_the_likeliest_one() -> None:
    message = r"^stratify\(\) got .* 'draw': did you mean 'draws'\?$"
    with pytest.raises(TypeError, match=message):
        cr.stratify(strata(), WEIGHTS, draw=100)  # type: ignore[call-arg]


def test_weights_and_their_combiner_go_together() -> None:
    plan = cr.Plan(
        ("a", "b"), 7, table="strata", combine="strata", settings={"weights": [0.5, 0.5]}
    )
    assert cr.Allocator(plan).plan == plan
    with pytest.raises(cr.PlanError, match=r"strata need weights: .*, or use cr\.stratify"):
        cr.Allocator(replace(plan, settings={}))
    with pytest.raises(cr.PlanError, match="weights must have one entry per arm"):
        cr.Allocator(replace(plan, settings={"weights": [0.5, 0.3, 0.2]}))
    for growth in (1.0, float("nan"), "2", True):
        with pytest.raises(cr.PlanError, match=r"epochs must be a number between 1\.1 and 100"):
            cr.Allocator(replace(plan, settings={"weights": [0.5, 0.5], "epochs": growth}))
    with pytest.raises(cr.PlanError, match="strata are combined by their weights"):
        cr.Allocator(["a", "b"], weights=(0.5, 0.5), combine="mean")
