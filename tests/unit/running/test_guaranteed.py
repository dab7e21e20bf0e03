"""interval='guaranteed' in every door: estimate, stratify, ask and tell, stores, merged runs."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import croupier as cr
from croupier.errors import PlanError
from croupier.store import log as store_log

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def coin(rng, size):
    return (rng.random(size) < 0.3).astype(float)


def half(rng, size):
    return 0.6 * (rng.random(size) < 0.5)


def pair(rng, size):
    x = rng.random(size)
    return np.column_stack((x, x**2))


def wild(rng, size):
    return rng.normal(0.3, 1.0, size)


ARMS = [cr.Arm(coin, name="coin", bounds=(0, 1)), cr.Arm(half, name="half", bounds=(0, 0.6))]
SURE = {"interval": "guaranteed", "rng": 7}


def test_the_interval_is_about_1_4_times_as_long_as_that_of_a_fixed_size():
    sure = cr.estimate(ARMS, draws=10_000, **SURE)
    fixed = cr.estimate(ARMS, draws=10_000, rng=7)
    ratio = np.diff(sure.interval) / np.diff(fixed.interval)
    assert 1.3 < ratio < 1.5
    assert sure.value == fixed.value
    assert sure.stderr == fixed.stderr
    assert sure.interval[0] < 0.3 < sure.interval[1]
    assert sure.to_dict()["interval_kind"] == "guaranteed"
    assert "guaranteed at any time" in sure.summary()


def test_another_level_gives_another_interval_of_the_same_bets():
    result = cr.estimate(ARMS, draws=3000, **SURE)
    assert result.confidence_interval(0.95) == result.interval
    low, high = result.confidence_interval(0.999)
    assert low < result.interval[0] < result.interval[1] < high


def test_every_component_of_a_vector_has_its_interval():
    arm = cr.Arm(pair, name="pair", bounds=(0, 1))
    result = cr.estimate([arm], draws=5000, **SURE)
    low, high = result.interval
    assert (low < [1 / 2, 1 / 3]).all()
    assert (high > [1 / 2, 1 / 3]).all()
    assert (high - low < 0.05).all()


def test_a_tolerance_stops_on_the_guaranteed_interval():
    result = cr.estimate(ARMS, draws=1e6, atol=0.01, **SURE)
    assert result.stopped == "tolerance"
    assert max(result.interval[1] - result.value, result.value - result.interval[0]) <= 0.01
    # The fixed-size interval of the better arm needs 3457 draws, and no bet less than 1.92 of it.
    assert 5000 < result.draws < 9000
    relative = cr.estimate(ARMS, draws=1e6, rtol=0.05, **SURE)
    assert relative.stopped == "tolerance"
    assert relative.draws < result.draws


def test_a_callback_may_stop_for_any_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cr.estimate(ARMS, draws=1e4, callback=lambda p: p.draws > 2000, **SURE)
    assert result.stopped == "callback"
    assert result.to_dict()["interval_kind"] == "guaranteed"


@pytest.mark.parametrize("budget", [{"seconds": 0.05}, {"cost": 3000.0}])
def test_other_budgets_are_followed_too(budget):
    def paid(rng, size):
        return cr.Draws(coin(rng, size), np.full(size, 2.0))

    arms = [cr.Arm(paid, name="paid", bounds=(0, 1))]
    result = cr.estimate(arms, **budget, **SURE)
    low, high = result.interval
    wide = 3.92 * np.sqrt(0.21 / result.draws)
    assert low < 0.3 < high
    # How many draws a second buys is not known, so the bets are best for fewer.
    assert high - low < (1.5 if "cost" in budget else 4) * wide


def test_the_picture_has_the_half_widths_of_earlier_times():
    result = cr.estimate(ARMS, draws=3000, **SURE)
    curve = result.history.curve()
    last = max(result.interval[1] - result.value, result.value - result.interval[0])
    assert curve.half_width[-1] == pytest.approx(last)
    assert (curve.half_width[:-1] >= 0.9 * last).all()
    again = result.history.curve()
    assert (again.half_width == curve.half_width).all()
    early = pickle.loads(pickle.dumps(result))
    assert early.interval == result.interval
    assert early.confidence_interval(0.9) == result.confidence_interval(0.9)


# -- what is refused


def test_arms_without_bounds_are_named_with_the_way_out():
    with pytest.raises(PlanError, match=r"1 of 2 arms have none \('wild'\).*bounds=\(low, high\)"):
        cr.estimate([*ARMS[:1], cr.Arm(wild, name="wild")], draws=100, **SURE)


def test_logs_are_refused():
    arm = cr.Arm(lambda rng, size: np.log(rng.random(size)), name="log", bounds=(-np.inf, 0))
    with pytest.raises(PlanError, match="return logs"):
        cr.estimate([arm], draws=100, log=True, **SURE)


def test_payoffs_that_are_clipped_are_refused():
    policy = cr.policies.UCB1(bounds=(0.0, 0.5), clip=True)
    with pytest.raises(PlanError, match="clip=True"):
        cr.estimate(ARMS, draws=100, policy=policy, **SURE)


def test_a_mixture_refuses_and_says_what_to_do():
    from scipy.stats import norm

    family = cr.importance.Family(norm(0, 1), [norm(0, 1), norm(0, 2)])
    with pytest.raises(PlanError, match="not possible for a mixture"):
        family.estimate(draws=100, interval="guaranteed")


def test_unknown_intervals_and_two_intervals_are_refused():
    with pytest.raises(PlanError, match="interval must be one of 'anytime', 'guaranteed'"):
        cr.estimate(ARMS, draws=100, interval="sure")
    with pytest.raises(PlanError, match="two intervals"):
        cr.estimate(ARMS, draws=100, anytime=True, interval="guaranteed")
    named = cr.estimate(ARMS, draws=1000, interval="anytime", rng=7)
    assert named.interval == cr.estimate(ARMS, draws=1000, anytime=True, rng=7).interval


def test_a_draw_beyond_its_bounds_ends_the_run():
    arm = cr.Arm(lambda rng, size: rng.random(size) * 1.01, name="far", bounds=(0, 1))
    with pytest.raises(cr.ArmError, match="outside of its bounds"):
        cr.estimate([arm], draws=10_000, **SURE)


# -- strata


def test_strata_have_a_guaranteed_interval():
    strata = {name: cr.Arm(coin, bounds=(0, 1)) for name in "ab"} | {
        "c": cr.Arm(half, bounds=(0, 1))
    }
    result = cr.stratify(strata, [0.5, 0.3, 0.2], draws=10_000, **SURE)
    fixed = cr.stratify(strata, [0.5, 0.3, 0.2], draws=10_000, rng=7)
    assert result.interval[0] < 0.3 < result.interval[1]
    assert np.diff(result.interval) < 1.8 * np.diff(fixed.interval)
    precise = cr.stratify(strata, [0.5, 0.3, 0.2], draws=1e6, atol=0.02, **SURE)
    assert precise.stopped == "tolerance"


# -- ask and tell, many batches out


def told_by_hand(order, width, draws=3000):
    table = cr.Allocator(
        ["coin", "half"], rng=7, bounds=[(0, 1), (0, 0.6)], width=width,
        interval=cr.Guaranteed.at(draws=draws),
    )  # fmt: skip
    drawn = {"coin": coin, "half": half}
    left = draws
    while left > 0:
        out = []
        while len(table.out) < width and (batch := table.ask(draws_left=left)) is not None:
            out.append(batch)
        if not out:
            break
        for batch in order(list(table.out)):
            table.tell(batch, drawn[batch.arm](batch.rng(), batch.size))
            left -= batch.size
    return table.result()


def test_the_order_of_arrival_does_not_matter():
    one = told_by_hand(list, 4)
    other = told_by_hand(lambda batches: batches[::-1], 4)
    assert one.interval == other.interval
    assert one.interval[0] < 0.3 < one.interval[1]


def test_workers_give_the_same_bits():
    serial = cr.estimate(ARMS, draws=3000, width=4, **SURE)
    threads = cr.estimate(ARMS, draws=3000, width=4, executor=lambda: ThreadPoolExecutor(2), **SURE)
    assert serial.interval == threads.interval


def test_ask_and_tell_without_a_budget():
    table = cr.Allocator(["coin"], rng=7, bounds=[(0, 1)], interval="guaranteed")
    for _ in range(200):
        batch = table.ask()
        table.tell(batch, coin(batch.rng(), batch.size))
    result = table.result()
    low, high = result.interval
    assert low < 0.3 < high
    assert high - low < 2.2 * 3.92 * np.sqrt(0.21 / result.draws)
    first = result.interval
    batch = table.ask()
    table.tell(batch, coin(batch.rng(), batch.size))
    assert result.confidence_interval(0.95) == first


def test_an_interval_that_is_set_later_follows_what_was_told():
    table = cr.Allocator(["coin"], rng=7, bounds=[(0, 1)])
    for _ in range(50):
        batch = table.ask()
        table.tell(batch, coin(batch.rng(), batch.size))
    table.interval = cr.Guaranteed.at(draws=1000)
    low, high = table.result().interval
    assert low < 0.3 < high


# -- stores


@pytest.mark.parametrize("every", [5, 10_000])
def test_a_run_that_was_stopped_continues_to_the_same_bits(tmp_path, monkeypatch, every):
    monkeypatch.setattr(store_log, "_SNAPSHOT_EVERY", every)
    whole = cr.estimate(ARMS, draws=3000, width=3, **SURE)
    path = tmp_path / "run.db"

    def fails(rng, size):
        if fails.calls == 0:
            raise OSError("the machine is gone")
        fails.calls -= 1
        return half(rng, size)

    fails.calls = 30
    broken = [ARMS[0], cr.Arm(fails, name="half", bounds=(0, 0.6))]
    with pytest.raises(cr.ArmError):
        cr.estimate(broken, draws=3000, width=3, store=path, **SURE)
    store = cr.Store(path, check=False)
    again = cr.estimate(ARMS, draws=3000, store=store, interval="guaranteed")
    assert again.interval == whole.interval
    assert cr.open_run(path).result().interval == whole.interval


@pytest.mark.parametrize("every", [5, 10_000])
def test_a_larger_budget_does_not_change_the_bets_of_tickets_that_were_seen(
    tmp_path, monkeypatch, every
):
    monkeypatch.setattr(store_log, "_SNAPSHOT_EVERY", every)
    path = tmp_path / "run.db"
    first = cr.estimate(ARMS, draws=1000, store=path, **SURE)
    longer = cr.estimate(ARMS, draws=4000, store=path, **SURE)
    tickets = len(first.history)
    assert [one.first for one in longer.basis.interval.horizons] == [0, tickets]
    assert cr.open_run(path).result().interval == longer.interval
    assert np.diff(longer.interval) < 0.7 * np.diff(first.interval)
    # The bets are those of a run by hand whose budget grew at the same ticket.
    from croupier.estimates.bet_sums import told_in

    book = longer.basis.interval.seated(longer.plan, True)
    for batch in told_in(longer.history.rows()):
        book.add(batch)
    assert (book.ends(0.95)[0][0], book.ends(0.95)[1][0]) == longer.interval


def test_tickets_of_another_interval_are_bet_on_without_a_budget(tmp_path):
    path = tmp_path / "run.db"
    plain = cr.estimate(ARMS, draws=1000, store=path, rng=7)
    sure = cr.estimate(ARMS, draws=2000, store=path, **SURE)
    horizons = sure.basis.interval.horizons
    assert [(one.first, one.draws) for one in horizons] == [(0, None), (len(plain.history), 2000)]
    assert sure.interval[0] < 0.3 < sure.interval[1]


def test_a_table_that_is_told_by_hand_continues_from_its_store(tmp_path):
    settings = {
        "rng": 7, "bounds": [(0, 1), (0, 0.6)], "interval": cr.Guaranteed.at(draws=1000),
    }  # fmt: skip

    def play(table, batches):
        for _ in range(batches):
            batch = table.ask()
            table.tell(batch, {"coin": coin, "half": half}[batch.arm](batch.rng(), batch.size))

    whole = cr.Allocator(["coin", "half"], **settings)
    play(whole, 80)
    for batches in (30, 50):
        with cr.Allocator(["coin", "half"], store=tmp_path / "run.db", **settings) as table:
            play(table, batches)
    assert table.result().interval == whole.result().interval


# -- merged runs


def test_merged_runs_multiply_what_their_gamblers_have_won():
    runs = [cr.estimate(ARMS, draws=4000, interval="guaranteed", rng=seed) for seed in range(3)]
    merged = cr.merge(runs)
    assert merged.to_dict()["interval_kind"] == "guaranteed"
    assert merged.interval[0] < 0.3 < merged.interval[1]
    lengths = [np.diff(one.interval)[0] for one in runs]
    assert np.diff(merged.interval)[0] < 0.75 * min(lengths)
    at = np.array([merged.interval[0]])
    together = sum(one.basis.interval.bets.won(at)[0, 0] for one in runs)
    assert together == pytest.approx(np.log(40), rel=1e-3)


def test_runs_of_different_arms_are_merged_too():
    runs = [cr.estimate([arm], draws=4000, interval="guaranteed", rng=seed)
            for seed, arm in enumerate(ARMS)]  # fmt: skip
    merged = cr.merge(runs)
    assert merged.to_dict()["interval_kind"] == "guaranteed"
    assert merged.interval[0] < 0.3 < merged.interval[1]
    assert np.diff(merged.interval) < min(np.diff(one.interval) for one in runs)


def test_merged_strata_multiply_too():
    strata = {"a": cr.Arm(coin, bounds=(0, 1)), "b": cr.Arm(half, bounds=(0, 1))}
    runs = [cr.stratify(strata, [0.5, 0.5], draws=4000, interval="guaranteed", rng=seed)
            for seed in range(2)]  # fmt: skip
    merged = cr.merge(runs)
    assert merged.interval[0] < 0.3 < merged.interval[1]
    assert np.diff(merged.interval) < min(np.diff(one.interval) for one in runs)
    other = cr.stratify(strata, [0.4, 0.6], draws=4000, interval="guaranteed", rng=5)
    with pytest.raises(PlanError, match="different strata"):
        cr.merge([runs[0], other])


def test_a_run_that_is_not_guaranteed_makes_a_merged_interval_that_is_not():
    sure = cr.estimate(ARMS, draws=2000, interval="guaranteed", rng=1)
    fixed = cr.estimate(ARMS, draws=2000, rng=2)
    assert cr.merge([sure, fixed]).to_dict()["interval_kind"] == "many-looks"
