"""Runs of logs: draws that no double holds, reduced, allocated, stored, merged and shown."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import croupier as cr
from croupier import policies
from croupier.data.extremes import Tail
from croupier.data.log_scale import EMPTY, LogTally, exp_of, log_of, relative
from croupier.data.plan import Plan
from croupier.theory.reduction import allocation_from

LN2 = math.log(2.0)


def narrow(rng, size):
    return rng.normal(-0.125, 0.5, size)


def wide(rng, size):
    return rng.normal(-0.5, 1.0, size)


def far_narrow(rng, size):
    return narrow(rng, size) - 5000


def far_wide(rng, size):
    return wide(rng, size) - 5000


FAR = {"narrow": far_narrow, "wide": far_wide}


def moved(arm, by):
    return lambda rng, size: arm(rng, size) + by


def exponentials(arm):
    return lambda rng, size: np.exp(arm(rng, size))


@pytest.fixture(autouse=True)
def strictly():
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", cr.CroupierWarning)
        yield


def same(a, b):
    assert (a.log_value, a.log_stderr, a.log_interval) == (
        b.log_value,
        b.log_stderr,
        b.log_interval,
    )
    assert [row.draws for row in a.arms] == [row.draws for row in b.arms]


# -- the moments of a batch


@pytest.mark.parametrize("log", [-1e6, -5000.0, 0.0, 3.0, 1e6])
@pytest.mark.parametrize("shape", [(1,), (50,), (50, 3)])
def test_moments_of_logs_are_those_of_the_draws_whatever_their_size(log, shape):
    noise = np.random.default_rng(7).normal(0.0, 1.0, shape)
    logs = log + noise
    noise = logs - log  # what is left of it after rounding
    tally = LogTally()
    for part in np.array_split(logs, min(3, len(logs))):
        tally.add(part, arm="a", ticket=0)
    x = np.exp(noise).reshape(len(noise), -1)
    mean = x.mean(axis=0)
    got = tally.moments()
    assert log_of(got[0], tally.exponent) - log == pytest.approx(
        np.log(mean), abs=4e-16 * abs(log) + 1e-14
    )
    assert got[0].max() <= 1
    for r, row in enumerate(got[1:], 2):
        expected = ((x - mean) ** r).sum(axis=0) / mean**r
        assert row / got[0] ** r == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_moments_keep_their_digits_where_draws_hardly_vary():
    noise = 1e-9 * np.random.default_rng(7).normal(size=10_000)
    tally = LogTally()
    for part in np.array_split(noise, 4):
        tally.add(part, arm="a", ticket=0)
    mean, m2, _, m4 = tally.moments()[:, 0]
    n = len(noise)
    x = np.expm1(noise)
    away = x - x.mean()
    assert math.sqrt(m2 / n) / mean == pytest.approx(away.std(), rel=1e-6)
    assert n * m4 / m2**2 == pytest.approx(n * (away**4).sum() / (away**2).sum() ** 2, rel=1e-6)


def test_zeros_count_and_a_batch_of_nothing_else_is_fine():
    tally = LogTally()
    tally.add(np.full(3, -np.inf), arm="a", ticket=0)
    assert tally.exponent == EMPTY
    assert not tally.moments().any()
    tally.add(np.array([-5000.0]), arm="a", ticket=0)
    assert log_of(tally.moments()[0], tally.exponent) == pytest.approx(-5000 - math.log(4))
    tally.add(np.full(4, -np.inf), arm="a", ticket=0)
    assert log_of(tally.moments()[0], tally.exponent) == pytest.approx(-5000 - math.log(8))


def test_a_later_part_may_be_larger_than_a_double_can_tell_or_smaller():
    for first, second in ((-5000.0, 3000.0), (3000.0, -5000.0)):
        tally = LogTally()
        tally.add(np.array([first, first - 1]), arm="a", ticket=0)
        tally.add(np.array([second, second - 1]), arm="a", ticket=0)
        expected = 3000 + math.log((1 + math.exp(-1)) / 4)
        assert log_of(tally.moments()[0], tally.exponent) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "says"),
    [(math.nan, "negative draw"), (math.inf, "infinite draw"), (1e300, "beyond"), (-1e300, "-inf")],
)
def test_what_is_no_log_is_refused_by_name(value, says):
    def bad(rng, size):
        return np.full(size, value)

    with pytest.raises(cr.ArmError, match=says) as caught:
        cr.estimate({"bad": bad}, draws=10, rng=7, log=True)
    assert caught.value.arm == "bad"
    assert caught.value.value == value or math.isnan(value)


def test_a_log_of_minus_1e300_among_others_is_as_good_as_zero():
    logs, zeros = (np.array([0.0, -1.0, low]) for low in (-1e300, -np.inf))
    first, second = LogTally(), LogTally()
    first.add(logs, arm="a", ticket=0)
    second.add(zeros, arm="a", ticket=0)
    assert (first.moments() == second.moments()).all()


def test_draws_say_which_of_the_two_they_are():
    logs = {"a": lambda rng, size: cr.Draws(log_values=narrow(rng, size))}
    plain = {"a": lambda rng, size: cr.Draws(np.exp(narrow(rng, size)))}
    with pytest.raises(cr.ArmError, match="log=True"):
        cr.estimate(logs, draws=10, rng=7)
    with pytest.raises(cr.ArmError, match="log_values"):
        cr.estimate(plain, draws=10, rng=7, log=True)
    bare = cr.estimate({"a": narrow}, draws=100, rng=7, log=True)
    same(cr.estimate(logs, draws=100, rng=7, log=True), bare)
    with pytest.raises(cr.PlanError, match="log must be"):
        cr.estimate({"a": narrow}, draws=100, log="natural")


# -- a run


@settings(max_examples=15, deadline=None)
@given(
    log=st.floats(-150, 150),
    sigmas=st.lists(st.floats(0.01, 0.3), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_a_run_of_logs_is_the_run_of_the_draws(log, sigmas, seed):
    # As long as no arm misses what others have seen, of which only logs tell.
    arms = {
        str(k): moved(lambda rng, size, s=s: rng.normal(-s * s / 2, s, size), log)
        for k, s in enumerate(sigmas)
    }
    logs = cr.estimate(arms, draws=500, rng=seed, log=True)
    draws = cr.estimate({k: exponentials(f) for k, f in arms.items()}, draws=500, rng=seed)
    assert (logs.history.arm == draws.history.arm).all()
    assert (logs.history.size == draws.history.size).all()
    assert logs.value == pytest.approx(draws.value, rel=1e-12)
    assert logs.stderr == pytest.approx(draws.stderr, rel=1e-9)
    assert logs.log_value == pytest.approx(math.log(draws.value), abs=1e-12)
    assert logs.log_stderr == pytest.approx(draws.stderr / draws.value, rel=1e-9)
    assert logs.history.at(100) == pytest.approx(draws.history.at(100), rel=1e-12)
    for one, other in zip(logs.arms, draws.arms, strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-12)
        assert one.efficiency == pytest.approx(other.efficiency, rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(power=st.integers(-(10**6), 10**6), seed=st.integers(0, 2**32))
def test_powers_of_two_change_no_decision(power, seed):
    here = cr.estimate({"narrow": narrow, "wide": wide}, draws=500, rng=seed, log=True)
    by = power * LN2
    there = {"narrow": moved(narrow, by), "wide": moved(wide, by)}
    there = cr.estimate(there, draws=500, rng=seed, log=True)
    assert (here.history.arm == there.history.arm).all()
    assert there.log_value - by == pytest.approx(here.log_value, abs=1e-9)
    assert there.log_stderr == pytest.approx(here.log_stderr, rel=1e-6)


def test_an_evidence_of_e_to_the_minus_5000():
    result = cr.estimate(FAR, draws=20_000, rng=7, log=True)
    assert abs(result.log_value + 5000) < 4 * result.log_stderr < 0.02
    low, high = result.log_interval
    assert (low + high) / 2 == pytest.approx(result.log_value)
    assert (result.value, result.stderr, result.interval) == (0.0, 0.0, (0.0, 0.0))
    assert result.arms["narrow"].share > 0.9
    assert result.arms["narrow"].relative_deviation == pytest.approx(
        math.sqrt(math.expm1(0.25)), rel=0.05
    )
    assert result.confidence_interval(0.9) == (0.0, 0.0)
    inner = result.log_confidence_interval(0.5)
    assert low < inner[0] < inner[1] < high
    assert result.log_confidence_interval(0.95) == pytest.approx(result.log_interval)
    copy = pickle.loads(pickle.dumps(result))
    same(copy, result)


def test_beyond_the_largest_double_values_are_infinite_and_logs_are_not():
    arms = {"narrow": moved(narrow, 5000), "wide": moved(wide, 5000)}
    result = cr.estimate(arms, draws=2000, rng=7, log=True)
    assert result.value == result.stderr == math.inf
    assert abs(result.log_value - 5000) < 4 * result.log_stderr


def test_intervals_are_symmetric_on_the_log_scale_and_their_exponentials_elsewhere():
    result = cr.estimate({"wide": wide}, draws=200, rng=7, log=True)
    assert result.interval == pytest.approx(tuple(np.exp(result.log_interval)))
    half = 1.96 * result.log_stderr
    assert half < (result.log_interval[1] - result.log_value) < 1.2 * half


@pytest.mark.parametrize("log", [-700.0, 3.0])
def test_a_run_of_draws_that_hardly_vary_knows_how_much_they_do(log):
    sigma = 1e-9 if abs(log) < 10 else 1e-7  # a log of 700 has no more digits

    def hardly(rng, size):
        return log + sigma * rng.standard_normal(size)

    result = cr.estimate({"hardly": hardly}, draws=20_000, rng=7, log=True)
    assert result.log_stderr == pytest.approx(sigma / math.sqrt(20_000), rel=0.03)
    assert abs(result.log_value - log) < 4 * result.log_stderr + 2e-16 * abs(log)


def test_vectors_have_each_component_by_itself():
    shifts = np.array([-5000.0, 0.0, 3000.0])

    def both(rng, size):
        return rng.normal(-0.125, 0.5, (size, 3)) + shifts

    def other(rng, size):
        return rng.normal(-0.5, 1.0, (size, 3)) + shifts

    arms = {"both": both, "other": other}
    result = cr.estimate(arms, draws=5000, rng=7, log=True)
    assert (np.abs(result.log_value - shifts) < 4 * result.log_stderr).all()
    assert result.value[0] == 0
    assert result.value[2] == math.inf
    assert result.arms["both"].log_mean.shape == (3,)
    assert not result.log_value.flags.writeable
    weighted = cr.estimate(arms, draws=5000, rng=7, log=True, objective=[1, 0, 0])
    assert weighted.arms["both"].share > 0.9
    result.plot(component=2)
    assert "as logs" in str(result)
    assert "component" in result.to_xarray().log_value.dims


def test_zeros_alone_are_a_value_of_zero_of_which_nothing_is_known():
    result = cr.estimate({"a": lambda rng, size: np.full(size, -np.inf)}, draws=50, rng=7, log=True)
    assert result.value == 0
    assert result.log_value == -math.inf
    assert math.isnan(result.log_stderr)
    assert result.log_interval == (-math.inf, math.inf)
    assert "no draw had a value above 0" in result.warnings[0]
    str(result)
    result.plot()


def test_draws_that_are_mostly_zero_average_to_their_share():
    def rare(rng, size):
        return np.where(rng.random(size) < 0.3, -5000.0, -np.inf)

    result = cr.estimate({"rare": rare}, draws=20_000, rng=7, log=True)
    assert abs(result.log_value - (-5000 + math.log(0.3))) < 4 * result.log_stderr


# -- everything around a run


@pytest.mark.parametrize("policy", sorted(policies.REGISTRY))
def test_every_policy_deals_logs_as_it_deals_draws(policy):
    example = policies.REGISTRY[policy].example()
    if hasattr(example, "bounds"):
        example = replace(example, bounds=(-math.inf, -4990))
    arms = {"a": moved(narrow, -5000), "b": moved(wide, -5000)}
    result = cr.estimate(arms, draws=400, rng=7, log=True, policy=example)
    assert result.draws == 400
    assert abs(result.log_value + 5000) < 6 * result.log_stderr


def test_bounded_policies_make_the_decisions_of_the_draws():
    logs = {"a": narrow, "b": wide}
    for scaling in ("common", "per-arm"):
        for payoff in ("second-moment", "variance"):
            one = policies.KLUCB(payoff=payoff, scaling=scaling, clip=True, bounds=(-math.inf, 3.0))
            two = policies.KLUCB(payoff=payoff, scaling=scaling, clip=True, bounds=(0, math.exp(3)))
            drawn = {k: exponentials(f) for k, f in logs.items()}
            a = cr.estimate(logs, draws=300, rng=7, log=True, policy=one, batch="one")
            b = cr.estimate(drawn, draws=300, rng=7, policy=two, batch="one")
            assert (a.history.arm == b.history.arm).all()


def test_policies_that_need_a_range_say_so():
    for policy in ("ucb1", "subgaussian-ucb"):
        with pytest.raises(cr.PlanError, match="range of the logs"):
            cr.estimate(FAR, draws=10, log=True, policy=policy)
    apart = [cr.Arm(narrow, "a", bounds=(-math.inf, 0)), cr.Arm(wide, "b", bounds=(-5000, -4000))]
    with pytest.raises(cr.PlanError, match="apart"):
        cr.estimate(apart, draws=10, log=True, policy="ucb1")
    with pytest.raises(cr.PlanError, match="must be finite"):
        cr.estimate([cr.Arm(narrow, "a", bounds=(-math.inf, 0))], draws=10)
    with pytest.raises(cr.PlanError, match="must be finite"):
        cr.estimate({"a": narrow}, draws=10, policy=policies.UCB1(bounds=(-math.inf, 0)))


def test_a_draw_outside_of_its_bounds_is_refused():
    arms = [cr.Arm(far_wide, "wide", bounds=(-math.inf, -5000))]
    with pytest.raises(cr.ArmError, match="outside of its bounds"):
        cr.estimate(arms, draws=100, rng=7, log=True)


def test_a_bandit_of_another_library_needs_the_range_of_the_logs():
    class First:
        def choose(self):
            return 0

        def learn(self, arm, reward):
            assert 0 <= reward <= 1

    with pytest.raises(cr.PlanError, match="bounds"):
        cr.estimate(FAR, draws=10, log=True, policy=allocation_from(First()))
    policy = allocation_from(First(), bounds=(-math.inf, -4990))
    assert cr.estimate(FAR, draws=10, rng=7, log=True, policy=policy).arms["narrow"].draws == 10


def test_a_tolerance_is_one_of_the_log():
    seen = []
    for given_ in ({"rtol": 0.05}, {"atol": 0.05}):
        result = cr.estimate(FAR, draws=10**6, rng=7, log=True, **given_)
        assert result.stopped == "tolerance"
        assert result.log_interval[1] - result.log_value <= 0.05
        seen.append(result.draws)
    assert seen[0] == seen[1] < 10_000


def test_the_callback_sees_both_scales():
    seen = []
    cr.estimate(FAR, draws=100, rng=7, log=True, callback=seen.append)
    last = seen[-1]
    assert last.value == 0
    assert abs(last.log_value + 5000) < 6 * last.log_stderr < 6 * last.log_half_width
    plain = []
    cr.estimate({"a": narrow}, draws=10, rng=7, callback=plain.append)
    assert plain[-1].log_value is plain[-1].log_half_width is plain[-1].log_stderr is None


def test_kept_values_are_the_logs():
    result = cr.estimate(FAR, draws=500, rng=7, log=True, keep_values=True)
    values = result.arms["narrow"].values
    assert len(values) == result.arms["narrow"].draws
    top = values.max()
    mean = top + math.log(np.exp(values - top).mean())
    assert result.arms["narrow"].log_mean == pytest.approx(mean, abs=1e-11)


def test_history_has_the_estimate_of_any_time_on_both_scales():
    result = cr.estimate(FAR, draws=5000, rng=7, log=True)
    assert result.history.log_at(5000) == result.log_value
    assert abs(result.history.log_at(1000) + 5000) < 0.1
    assert result.history.at(1000) == 0
    assert math.isnan(result.history.log_at(0.5))
    plain = cr.estimate({"a": exponentials(narrow)}, draws=100, rng=7)
    with pytest.raises(cr.PlanError, match="made without log=True"):
        plain.history.log_at(50)
    with pytest.raises(cr.PlanError, match="made without log=True"):
        plain.log_confidence_interval(0.9)
    assert plain.log_value is plain.log_interval is None


@pytest.mark.slow
def test_a_stored_run_goes_on_to_the_same_bits(tmp_path):
    path = tmp_path / "run.db"
    whole = cr.estimate(FAR, draws=3000, rng=7, log=True, batch="one")
    cr.estimate(FAR, draws=1500, rng=7, log=True, batch="one", store=path)
    again = cr.estimate(FAR, draws=3000, log=True, batch="one", store=path)
    same(whole, again)
    stored = cr.open_run(path)
    assert stored.plan.log
    same(whole, stored.result())
    assert (stored.history.curve().value == whole.history.curve().value).all()
    with pytest.raises(cr.StoreError, match="log: True -> False"):
        cr.estimate(FAR, draws=3000, batch="one", store=path)


def test_a_plan_of_logs_goes_to_json_and_back():
    logs = Plan(("a",), 7, log=True, bounds=((-math.inf, 0.0),))
    assert Plan.from_json(logs.to_json()) == logs


def test_workers_give_the_same_bits():
    here = cr.estimate(FAR, draws=3000, rng=7, log=True, width=4)
    there = cr.estimate(FAR, draws=3000, rng=7, log=True, width=4, workers=2)
    same(here, there)


def test_runs_of_logs_merge():
    runs = [cr.estimate(FAR, draws=3000, rng=seed, log=True) for seed in (1, 2)]
    both = cr.merge(runs)
    assert both.log_stderr < 0.8 * runs[0].log_stderr
    assert abs(both.log_value + 5000) < 4 * both.log_stderr
    assert both.runs.agreement > 1e-3
    assert both.runs.log_values == tuple(run.log_value for run in runs)
    other = cr.estimate({"other": far_wide}, draws=3000, rng=3, log=True)
    mixed = cr.merge([*runs, other])
    assert abs(mixed.log_value + 5000) < 4 * mixed.log_stderr
    far_off = {"narrow": moved(far_narrow, 1), "wide": moved(far_wide, 1)}
    off = cr.estimate(far_off, draws=3000, rng=4, log=True)
    assert cr.merge([runs[0], off]).runs.agreement < 1e-6
    with pytest.raises(cr.PlanError, match="with log=True and some without"):
        cr.merge([runs[0], cr.estimate({"narrow": narrow, "wide": wide}, draws=100, rng=9)])


def test_strata_of_logs_add_up():
    strata = {"low": moved(narrow, -5000), "high": moved(wide, -4999)}
    result = cr.stratify(strata, [0.25, 0.75], draws=20_000, rng=7, log=True)
    exact = -5000 + math.log(0.25 + 0.75 * math.e)
    assert abs(result.log_value - exact) < 4 * result.log_stderr


def test_ask_and_tell_take_logs():
    table = cr.Allocator(["narrow", "wide"], rng=7, log=True)
    for _ in range(40):
        batch = table.ask()
        logs = FAR[batch.arm](batch.rng(), batch.size)
        table.tell(batch, logs if batch.ticket % 2 else cr.Draws(log_values=logs))
    result = table.result()
    same(result, cr.estimate(FAR, draws=result.draws, rng=7, log=True))
    with pytest.raises(cr.ArmError, match="log_values"):
        table.tell(table.ask(), cr.Draws(np.ones(1)))


def test_costs_and_one_at_a_time_functions_come_with_logs():
    def one(rng):
        return cr.Draws(log_values=rng.normal(-5000.125, 0.5), costs=2.0)

    result = cr.estimate({"one": cr.scalar(one)}, cost=400, rng=7, log=True)
    assert result.cost == 400
    assert abs(result.log_value + 5000) < 4 * result.log_stderr


def test_tables_plots_and_frames_say_that_it_is_a_log():
    result = cr.estimate(FAR, draws=2000, rng=7, log=True)
    assert str(result).startswith("log: -5000.0")
    assert "log mean" in str(result)
    assert "rel. deviation" in result._repr_html_()
    assert repr(result).startswith("<Result log: -5000.0")
    assert result.plot().axes[0].get_title("left").startswith("Log of estimate: -5000.0")
    frame = result.to_pandas()
    logs = ["log_mean", "log_stderr", "relative_deviation"]
    assert list(frame.columns)[:7] == ["draws", "share", "weight", *logs, "mean"]
    assert frame.loc["narrow", "log_mean"] == result.arms["narrow"].log_mean
    assert result.to_xarray().log_value == result.log_value
    assert result.to_dict()["log"]["value"] == result.log_value
    plain = cr.estimate({"a": exponentials(narrow)}, draws=100, rng=7)
    assert "log" not in plain.to_dict()
    assert "log_mean" not in plain.to_pandas()


def test_a_log_with_a_large_offset_is_written_out():
    far = {"a": lambda rng, size: rng.normal(-1000007.0, 0.5, size)}
    result = cr.estimate(far, draws=2000, rng=7, log=True)
    assert str(result).startswith("log: -1000006.8")  # the mean of the draws: e^0.125 more
    assert "e+06" not in str(result) + repr(result)
    axes = result.plot().axes[0]
    assert "e+06" not in axes.get_title("left") + axes.get_ylabel()


def test_tails_of_logs_are_those_of_the_draws():
    heavy = np.random.default_rng(7).pareto(1.2, 4000) + 1
    logs, draws = Tail(), Tail()
    for part in np.split(heavy, 40):
        draws.add(part[:, None], len(part))
        logs.add(np.log(part)[:, None] - 5000, len(part))
    assert logs.shape_of_logs() == pytest.approx(draws.shape(), rel=1e-9)
    assert logs.shape_of_logs() > 0.7
    assert np.isnan(Tail().shape_of_logs())
    result = cr.estimate(
        {"heavy": lambda rng, size: np.log(rng.pareto(1.2, size) + 1) - 5000},
        draws=5000, rng=7, log=True,
    )  # fmt: skip
    assert any("infinite" in text for text in result.warnings)


def test_the_log_of_what_a_double_cannot_hold():
    assert exp_of(np.array([1.0]), np.array([10**6])) == math.inf
    assert log_of(np.array([1.0]), np.array([10**6])) == pytest.approx(10**6 * LN2, rel=1e-16)
    assert np.isnan(log_of(np.array([-1.0]), np.array([0])))
    assert relative(np.array([1.0]), np.array([0.0])) == math.inf
