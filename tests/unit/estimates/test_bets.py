"""Bets on a bounded mean: the wealth at the true mean is a supermartingale, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from croupier.errors import PlanError
from croupier.estimates.bet_sums import Horizon, Told, horizon_at, left_of, told_in
from croupier.estimates.bets import Bets
from croupier.estimates.betting import FRACTIONS, crossing, log_wealth
from croupier.estimates.strata_bets import StrataBets
from tests.marks import slow

LEVEL = math.log(2 / 0.05)


def told(ticket, arm, values):
    """Return a batch of draws, about its first draw as a run has it."""
    x = np.asarray(values, dtype=float)
    x = x if x.ndim == 2 else x[:, None]
    mean = x.mean(axis=0)
    central = [((x - mean) ** r).sum(axis=0) for r in (2, 3, 4)]
    moments = np.array((mean - x[0], *central))
    exponent = np.zeros(x.shape[1], np.int64)
    return Told(ticket, arm, len(x), float(len(x)), x[0], exponent, moments)


def powers(y):
    return np.array([y**r for r in range(5)]).T


Y = np.linspace(0, 1, 101)


@pytest.mark.parametrize("fraction", [FRACTIONS[0], FRACTIONS[23], *slow(*FRACTIONS[1:23])])
def test_the_wealth_is_never_above_what_a_gambler_has(fraction):
    staked = np.full_like(Y, fraction)
    for m in np.linspace(0, 1, 101):
        cut = min(fraction, 0.95 / max(m, 1e-9))
        has = np.log1p(cut * (Y - m))
        won = log_wealth(staked, powers(Y), np.full_like(Y, m))
        assert (won <= has + 1e-12).all()
        assert won[[0, -1]] == pytest.approx(has[[0, -1]], abs=1e-12)  # exact for 0 and 1


@pytest.mark.parametrize("fraction", [FRACTIONS[0], FRACTIONS[23], *slow(*FRACTIONS[1:23])])
def test_the_wealth_falls_with_the_mean_that_is_tried(fraction):
    staked = np.full_like(Y, fraction)
    tried = [log_wealth(staked, powers(Y), np.full_like(Y, m)) for m in np.linspace(0, 1, 501)]
    assert np.diff(tried, axis=0).max() <= 1e-12


def test_a_crossing_is_found_from_the_left():
    steep = np.array([1e-9, 0.3, 1.0])
    t = crossing(lambda t: 1 - t / steep, 0.5, np.array([1e-8, 0.4, 1.0]))
    assert (t <= steep / 2).all()
    assert t == pytest.approx(steep / 2, rel=1e-4)
    assert crossing(lambda t: 0.4 - t, 0.5, np.array([0.5])) == 0
    assert crossing(lambda t: 2.0 - t, 0.5, np.array([0.5])) == 1


#: Two arms with the mean 0.3: their values, their probabilities and their bounds.
ARMS = [
    ((0.0, 0.3, 0.9), (0.4, 0.4, 0.2), (0.0, 1.0)),
    ((-0.2, 0.7), (4 / 9, 5 / 9), (-0.2, 1.3)),
]
SIZES = (1, 2, 1, 2)


def adaptive(seen):
    """Return the next arm: the draws so far decide."""
    return int(sum(seen) > 0.3 * len(seen)) if seen else 0


def expected(make, wealth, width):
    """Return the expected wealth after all batches, over every possible course of a run."""
    total = 0.0

    def go(ticket, batches, probability):
        nonlocal total
        if ticket == len(SIZES):
            book = make()
            for number, (arm, values) in enumerate(batches):
                book.add(told(number, arm, values))
            total += probability * wealth(book)
            return
        known = [x for _, values in batches[: max(ticket - width + 1, 0)] for x in values]
        arm = adaptive(known)
        values, chances, _ = ARMS[arm]
        for drawn in itertools.product(range(len(values)), repeat=SIZES[ticket]):
            chance = math.prod(chances[i] for i in drawn)
            batch = (arm, [values[i] for i in drawn])
            go(ticket + 1, [*batches, batch], probability * chance)

    go(0, [], 1.0)
    return total


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("draws", [6, *slow(60, 100_000)])
@pytest.mark.parametrize("side", [0, 1])
def test_the_expected_wealth_at_the_true_mean_is_at_most_1(width, draws, side):
    def make():
        bounds = [bounds for *_, bounds in ARMS]
        return Bets(bounds, LEVEL, width, [Horizon(0, draws=draws)])

    mean = expected(make, lambda book: math.exp(book.won(np.array([0.3]))[side, 0]), width)
    assert 0.5 < mean <= 1 + 1e-12


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("side", [1, -1])
def test_the_expected_wealth_on_strata_is_at_most_1(width, side):
    def make():
        bounds = [bounds for *_, bounds in ARMS]
        return StrataBets(bounds, [0.6, 0.4], LEVEL, width, [Horizon(0, draws=60)])

    scaled = np.array([(0.3 - low) / (high - low) for *_, (low, high) in ARMS])

    def wealth(book):
        off = float(book._sum[0] - book._phi[:, 0] @ scaled)
        return math.exp(side * off - float(book._paid[0]))

    mean = expected(make, wealth, width)
    assert 0.5 < mean <= 1 + 1e-12


def test_a_bet_does_not_know_the_batches_that_were_out_when_it_was_asked_for():
    """With width 3, the bet on ticket 3 is the same whatever tickets 1 and 2 have shown."""
    rng = np.random.default_rng(1)
    first, last = rng.random(40), rng.random(30)
    found = []
    for low in (0.0, 0.9):
        book = Bets([(0.0, 1.0)], LEVEL, 3, [Horizon(0, draws=1000)])
        book.add(told(0, 0, first))
        for ticket in (1, 2):
            book.add(told(ticket, 0, low + 0.1 * rng.random(50)))
        before = set(book._bets._rows), book._bets._sums.copy()
        book.add(told(3, 0, last))
        changed = {
            key
            for key, row in book._bets._rows.items()
            if key not in before[0] or (book._bets._sums[row] != before[1][row]).any()
        }
        found.append(changed)
    assert found[0] == found[1]


def test_arms_with_other_bounds_bet_on_the_same_mean():
    """An arm that is moved and stretched gives the interval that is moved and stretched."""
    x = np.random.default_rng(2).random(500)
    plain = Bets([(0.0, 1.0)], LEVEL, 1, [Horizon(0, draws=1000)])
    moved = Bets([(-3.0, 1.0)], LEVEL, 1, [Horizon(0, draws=1000)])
    for ticket, part in enumerate(np.split(x, 10)):
        plain.add(told(ticket, 0, part))
        moved.add(told(ticket, 0, 4 * part - 3))
    ends = np.array(plain.ends(LEVEL)).ravel()
    assert np.array(moved.ends(LEVEL)).ravel() == pytest.approx(4 * ends - 3, rel=1e-5)


def test_a_component_of_a_vector_is_bet_on_as_if_it_were_alone():
    x = np.random.default_rng(3).random((400, 2)) * (1.0, 0.1)
    both = Bets([(0.0, 1.0)], LEVEL, 1, [Horizon(0, draws=400)])
    alone = Bets([(0.0, 1.0)], LEVEL, 1, [Horizon(0, draws=400)])
    for ticket, part in enumerate(np.split(x, 10)):
        both.add(told(ticket, 0, part))
        alone.add(told(ticket, 0, part[:, 1]))
    assert both.ends(LEVEL)[0][1] == pytest.approx(alone.ends(LEVEL)[0][0], rel=1e-9)
    assert both.ends(LEVEL)[1][1] == pytest.approx(alone.ends(LEVEL)[1][0], rel=1e-9)


def test_bets_that_were_copied_do_not_change():
    book = Bets([(0.0, 1.0)], LEVEL, 2, [Horizon(0, draws=100)])
    book.add(told(0, 0, [0.1, 0.4, 0.9]))
    kept = book.copy()
    before = kept.ends(LEVEL)
    for ticket in range(1, 30):
        book.add(told(ticket, 0, [0.1, 0.1, 0.2]))
    assert kept.ends(LEVEL) == before
    assert book.ends(LEVEL) != before


def test_bounds_without_a_common_number_are_refused():
    with pytest.raises(PlanError, match="no number in common"):
        Bets([(0.0, 1.0), (2.0, 3.0)], LEVEL, 1, [Horizon()])


def test_a_horizon_counts_from_its_first_ticket():
    both = [Horizon(0, draws=100), Horizon(7, draws=400)]
    assert [horizon_at(both, ticket).draws for ticket in (0, 6, 7, 50)] == [100, 100, 400, 400]
    assert left_of(both[0], 30, 30.0) == 70
    assert left_of(Horizon(0, cost=60.0), 30, 15.0) == 90
    assert left_of(Horizon(0), 30, 15.0) == 970
    assert left_of(Horizon(0), 600, 15.0) == 3000
    assert left_of(Horizon(0, draws=10), 30, 15.0) == 0


def test_the_batches_of_a_history_can_be_bet_on_again():
    import croupier as cr

    arm = cr.Arm(lambda rng, size: rng.random(size), name="u", bounds=(0, 1))
    result = cr.estimate([arm], draws=2000, rng=1, interval="guaranteed")
    book = Bets([(0.0, 1.0)], LEVEL, 1, [Horizon(0, draws=2000)])
    for batch in told_in(result.history.rows()):
        book.add(batch)
    low, high = book.ends(LEVEL)
    assert (low[0], high[0]) == result.interval
