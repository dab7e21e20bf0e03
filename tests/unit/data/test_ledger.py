"""The ledger against exact arithmetic, at offsets and scales where a naive sum fails."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import croupier as cr
from croupier.data.batch_moments import Tally
from croupier.data.central_moments import ROUNDING
from croupier.data.draws import Batch, Draws
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.reduce_batch import chunks_of, outcome_of

PLAN = Plan(names=("a", "b", "c"), seed=0)


def outcome(values, ticket=0, arm="a", chunk=10_000, plan=PLAN, costs=None):
    values = np.asarray(values, dtype=float)
    batch = Batch(ticket, arm, len(values), 0, chunk)
    return outcome_of(plan, batch, chunks_of(batch, Draws(values, costs)))


def ledger_of(*parts, chunk=10_000):
    ledger = Ledger(3)
    for part in parts:
        ledger.add(0, outcome(part, chunk=chunk))
    return ledger


def exact_moments(values):
    """Mean and M2..M4 as fractions: no rounding at all."""
    x = [Fraction(float(v)) for v in values]
    mean = sum(x) / len(x)
    return [mean] + [sum((v - mean) ** r for v in x) for r in (2, 3, 4)]


def assert_exact(ledger, values, first=None):
    """Errors below 1e-10 of D for the mean and of n D^r for M_r, D = max |draw - first draw|.

    A spread of s = `ROUNDING` times the largest draw counts as rounding, and may be left out.
    """
    n = len(values)
    assert ledger.count[0] == n
    first = Fraction(float(values[0] if first is None else first))
    farthest = max(abs(Fraction(float(v)) - first) for v in values)
    unit = Fraction(2) ** int(ledger.exponent[0])
    rows = [Fraction(float(m)) for m in ledger.moments[:, 0, 0]]
    origin = Fraction(float(ledger.origin[0]))
    got = [origin + rows[0] * unit] + [rows[r - 1] * unit**r for r in (2, 3, 4)]
    exact = exact_moments(values)
    assert abs(got[0] - exact[0]) <= farthest * Fraction(1, 10**10)
    s = Fraction(ROUNDING) * max(abs(Fraction(float(v))) for v in values)
    for r in (2, 3, 4):
        bound = n * farthest**r * Fraction(1, 10**10)
        bound += 6 * n * s**2 * (farthest + n * s) ** (r - 2)
        assert abs(got[r - 1] - exact[r - 1]) <= bound, f"M{r}"


draws = st.lists(
    st.floats(min_value=-1e6, max_value=1e6, allow_nan=False, allow_subnormal=False),
    min_size=1,
    max_size=12,
)
shifts = st.sampled_from([0.0, 1.0, -3e5, 1e9, 1e12])
scales = st.sampled_from([0, -600, 600, -30, 200])


@settings(max_examples=200)
@given(
    st.lists(draws, min_size=1, max_size=5),
    shifts,
    scales,
    st.randoms(use_true_random=False),
    st.integers(1, 4),
)
def test_merging_in_any_order_equals_exact_moments(parts, shift, scale, random, chunk):
    parts = [np.ldexp(np.asarray(part) + shift, scale) for part in parts]
    first = parts[0][0]
    everything = np.concatenate(parts)
    assert_exact(ledger_of(everything, chunk=chunk), everything)
    random.shuffle(parts)
    assert_exact(ledger_of(*parts, chunk=chunk), everything, first)
    ledgers = [ledger_of(part, chunk=chunk) for part in parts]
    while len(ledgers) > 1:
        random.shuffle(ledgers)
        ledgers[0].merge(ledgers.pop())
    assert_exact(ledgers[0], everything, first)


@pytest.mark.parametrize("scale", [0, 600, -600])
def test_an_arm_that_varies_by_rounding_alone_has_not_varied(scale):
    rng = np.random.default_rng(1)
    w = rng.uniform(0.1, 3.0, 4000)
    rounded = np.ldexp((5.0 * w) / w, scale)
    assert np.unique(rounded).size > 1
    one_by_one, batches, mixed, vectors = Ledger(3), Ledger(3), Ledger(3), Ledger(3)
    mixed.add(1, outcome(np.ldexp([3.0, 7.0], scale)))  # another origin
    for part in np.split(rounded, 40):
        batches.add(0, outcome(part))
        mixed.add(0, outcome(part))
        vectors.add(0, outcome(np.column_stack((part, part + part * rng.random(len(part))))))
    for value in rounded[:100]:
        one_by_one.add(0, outcome([value]))
    for ledger in (one_by_one, batches, mixed):
        assert ledger.variance[0, 0] == 0
        assert ledger.scale.value_of(ledger.mean)[0, 0] == pytest.approx(np.ldexp(5.0, scale))
    assert (vectors.variance[0] > 0).tolist() == [False, True]
    mixed.merge(batches)
    assert mixed.variance[0, 0] == 0
    mixed.add(0, outcome(np.ldexp([5.0, 6.0], scale)))  # an event: now it has
    assert mixed.variance[0, 0] > 0


def test_a_spread_beyond_rounding_is_kept_beside_a_large_mean():
    ledger = ledger_of(1e9 + np.arange(10) / 1024)
    spread = ledger.scale.spread_of(np.sqrt(ledger.variance))[0, 0]
    assert spread == pytest.approx(0.00296, abs=1e-5)


def test_merging_with_an_empty_ledger_changes_nothing():
    full, empty = ledger_of([1.0, 2.0, 4.0]), Ledger(3)
    before = full.copy()
    full.merge(empty)
    empty.merge(before)
    for ledger in (full, empty):
        assert np.array_equal(ledger.moments, before.moments)
        assert np.array_equal(ledger.count, before.count)


def test_arms_that_only_one_ledger_knows_survive_a_merge():
    left, right = Ledger(3), Ledger(3)
    left.add(0, outcome([5.0, 7.0]))
    right.add(1, outcome([100.0, 104.0]))
    left.merge(right)
    assert left.scale.value_of(left.mean)[:2, 0].tolist() == [6.0, 102.0]
    assert left.scale.spread_of(np.sqrt(left.variance))[:2, 0] == pytest.approx([2**0.5, 8**0.5])
    assert left.count.tolist() == [2, 2, 0]


def test_an_offset_of_1e12_leaves_the_variance_exact():
    rng = np.random.default_rng(3)
    noise = rng.integers(-1000, 1000, 100_000) / 1024  # exact also beside 1e12
    plain, offset = Ledger(1), Ledger(1)
    for part in np.split(noise, 100):
        plain.add(0, outcome(part))
        offset.add(0, outcome(part + 1e12))
    assert offset.variance[0, 0] == pytest.approx(plain.variance[0, 0], rel=1e-12)
    assert offset.scale.value_of(offset.mean)[0, 0] - 1e12 == pytest.approx(noise.mean(), abs=1e-4)


def test_a_billion_draws_by_merging_keep_their_moments():
    part = np.random.default_rng(4).exponential(size=1000)
    ledger = ledger_of(part)
    for _ in range(20):  # 1000 * 2^20 draws
        ledger.merge(ledger.copy())
    assert ledger.count[0] == 1000 * 2**20 > 1e9
    n, mean = ledger.count[0], part.mean()
    central = [((part - mean) ** r).mean() for r in (2, 3, 4)]
    unit = 2.0 ** int(ledger.exponent[0])
    got = ledger.moments[1:, 0, 0] / n * unit ** np.arange(2, 5)
    assert got == pytest.approx(central, rel=1e-10)
    assert ledger.scale.value_of(ledger.mean)[0, 0] == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("power", [-600, 600, 900, -900])
def test_draws_times_a_power_of_two_give_the_same_bits(power):
    rng = np.random.default_rng(5)
    parts = [rng.lognormal(0, 2, size) for size in (1, 1, 3, 1000, 25_000)]
    plain, scaled = ledger_of(*parts), ledger_of(*(np.ldexp(p, power) for p in parts))
    assert np.array_equal(plain.moments, scaled.moments)
    assert np.array_equal(plain.exponent + power, scaled.exponent)
    assert np.array_equal(plain.df, scaled.df)
    assert scaled.scale.value_of(scaled.mean)[0, 0] == np.ldexp(
        plain.scale.value_of(plain.mean)[0, 0], power
    )


def test_a_huge_draw_late_in_a_batch_does_not_overflow():
    values = np.concatenate((np.full(5, 2.0**-300), [0.0], [2.0**500, 2.0**400]))
    assert_exact(ledger_of(values, chunk=2), values)


def test_a_constant_arm_has_exactly_no_variance_whatever_the_batches():
    ledger = Ledger(2)
    ledger.add(1, outcome([1.0, 2.0], arm="b"))
    for size in (1, 1, 7, 1000):
        ledger.add(0, outcome(np.full(size, 0.1)))
    assert ledger.moments[1:, 0, 0].tolist() == [0, 0, 0]
    assert ledger.scale.value_of(ledger.mean)[0, 0] == pytest.approx(0.1, rel=1e-15)


def test_chunks_of_any_length_give_the_moments_of_the_whole():
    values = np.random.default_rng(6).standard_t(3, size=(500, 4)) + 1e6
    whole, cut = Ledger(1), Ledger(1)
    whole.add(0, outcome(values))
    cut.add(0, outcome(values, chunk=7))
    units = [2.0 ** (ledger.exponent * np.arange(1, 5)[:, None]) for ledger in (cut, whole)]
    got, expected = cut.moments[:, 0] * units[0], whole.moments[:, 0] * units[1]
    assert got == pytest.approx(expected, rel=1e-9)


def test_vector_components_are_booked_apart_from_each_other():
    rng = np.random.default_rng(7)
    columns = rng.normal(size=(1000, 3)) * [1.0, 2.0**600, 2.0**-600] + [0, 0, 1]
    together = Ledger(1)
    together.add(0, outcome(columns))
    for j in range(3):
        alone = ledger_of(columns[:, j])
        assert together.moments[:, 0, j] == pytest.approx(alone.moments[:, 0, 0], rel=1e-9)


def test_effective_df_of_normal_draws_is_their_number_less_one():
    ledger = ledger_of(np.random.default_rng(8).normal(size=100_000))
    assert ledger.df[0, 0] == pytest.approx(99_999, rel=0.03)


@pytest.mark.parametrize("draws", [39, 40, 41])
def test_draws_whose_fourth_powers_underflow_know_next_to_nothing_of_their_variance(draws):
    values = 1e-100 * np.random.default_rng(8).normal(size=draws)
    ledger = ledger_of([1.0, 2.0])
    ledger.add(1, outcome(values, ticket=1, arm="b"))
    assert 1 <= ledger.df[1, 0] < 3


def test_heavy_tails_know_their_variance_less_well():
    rng = np.random.default_rng(9)
    normal, heavy = ledger_of(rng.normal(size=5000)), ledger_of(rng.lognormal(0, 1.5, 5000))
    assert heavy.df[0, 0] < normal.df[0, 0] / 20


def test_reported_costs_average_to_the_price():
    plan = Plan(names=("a", "b", "c"), seed=0, unit="cost")
    ledger = Ledger(3)
    ledger.add(0, outcome([1.0, 2.0], plan=plan, costs=[1.0, 3.0]))
    ledger.add(0, outcome([1.0], plan=plan, costs=[5.0]))
    assert ledger.price[0] == 3.0
    assert ledger.cost_m2[0] == pytest.approx(8.0)
    assert np.isnan(ledger.price[1])


def test_the_price_of_measured_time_is_that_of_large_calls():
    """A first call that compiles and calls for single draws say little about the cost of a draw."""
    plan = Plan(names=("a", "b", "c"), seed=0, unit="seconds")
    ledger = Ledger(3, measured=True)
    for size, seconds in ((1, 1.0), (1, 2e-5), (1, 2e-5), (1000, 1e-5 + 2e-5)):
        ledger.add(0, outcome(np.zeros(size), plan=plan, costs=seconds / size))
    assert ledger.price[0] == pytest.approx(3e-8, rel=0.01)
    assert ledger.cost[0] == pytest.approx(1.00007)


def test_a_variance_that_vanishes_beside_another_is_not_taken_for_known() -> None:
    table = cr.Allocator(["tiny", "huge"], rng=7)
    for _ in range(8):
        batch = table.ask()
        table.tell(batch, batch.rng().normal(0.0, 1e-200 if batch.arm == "tiny" else 1e150, 1))
    assert table.ledger.variance[0, 0] == 0
    assert not table.ledger.varies


# -- draws that are never negative


def positive_ledger(*parts):
    ledger = Ledger(3, positive=True)
    plan = Plan(names=("a", "b", "c"), seed=0, log=True)
    for arm, draws in enumerate(parts):
        if not len(draws):
            continue
        with np.errstate(divide="ignore"):
            logs = np.log(np.asarray(draws, dtype=float))
        batch = Batch(arm, plan.names[arm], len(logs), 0)
        chunks = chunks_of(batch, Draws(log_values=logs), log=True)
        ledger.add(arm, outcome_of(plan, batch, chunks))
    return ledger


def in_users_units(ledger, variance):
    return np.ldexp(variance[:, 0], 2 * ledger.exponent)


def test_an_arm_that_missed_what_another_is_sure_of_has_the_variance_of_what_it_missed():
    blind = np.tile([1e-3, 2e-3], 50)  # 100 draws with a mean of 1.5e-3
    seeing = np.full(400, 1.0)
    seeing[:200] = 3.0  # 400 draws with a mean of 2, (sum x)^2/sum x^2 = 320 effective ones
    ledger = positive_ledger(blind, seeing)
    gap = 2 * 100 ** (-1 / np.sqrt(400 * 4 / (4 + seeing.var(ddof=1)))) - 1.5e-3
    expected = [100 * gap**2, seeing.var(ddof=1), 0.0]
    assert in_users_units(ledger, ledger.variance) == pytest.approx(expected)
    own = [blind.var(ddof=1), seeing.var(ddof=1), 0.0]
    assert in_users_units(ledger, ledger.sample_variance) == pytest.approx(own)


def test_a_single_large_draw_is_no_evidence_against_another_arm():
    good = np.tile([0.8, 1.2], 50)
    lucky = np.r_[np.full(9, 0.0), 500.0]  # a mean of 50, of one effective draw: Markov allows it
    ledger = positive_ledger(good, lucky)
    assert in_users_units(ledger, ledger.variance)[0] == pytest.approx(good.var(ddof=1))


def test_an_arm_that_never_varied_stays_one_that_never_varied():
    ledger = positive_ledger(np.zeros(50), np.tile([0.9, 1.1], 200))
    assert ledger.variance[0, 0] == 0
    assert not ledger.varies


def test_what_was_missed_is_known_after_a_merge_too():
    whole = positive_ledger(np.tile([1e-3, 2e-3], 50), np.tile([1.0, 3.0], 200))
    blind, other = positive_ledger(np.tile([1e-3, 2e-3], 50)), Ledger(3, positive=True)
    seeing = positive_ledger([], np.tile([1.0, 3.0], 200))
    assert in_users_units(blind, blind.variance)[0] < 1e-6
    other.merge(blind)
    other.merge(seeing)
    assert in_users_units(other, other.variance) == pytest.approx(
        in_users_units(whole, whole.variance)
    )


@pytest.mark.parametrize("large", [1e70, 1e76, 3e76, 1e77, 1e120])
def test_fourth_powers_that_overflow_only_together_are_summed(large: float) -> None:
    rng, tally = np.random.default_rng(7), Tally()
    chunks = [rng.normal(size=1000)] + [large * rng.normal(size=1000) for _ in range(8)]
    for chunk in chunks:
        tally.add(chunk, arm="a", ticket=0)
    ordinary = np.concatenate(chunks) / large
    expected = np.sum((ordinary - ordinary.mean()) ** 4)
    unit = 2.0 ** (tally.exponent - np.log2(large))
    assert tally.moments()[3, 0] * unit**4 == pytest.approx(expected, rel=1e-9)
