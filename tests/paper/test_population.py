"""Population Monte Carlo: weights and credit, and what the printed form cannot learn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from croupier.data.draws import Floats
from croupier.importance import Family
from paper.cir import Caplet
from paper.fig2_contest import Asked, population
from paper.population import Update, collected, weighed

FAMILY = Family.tilted(lambda x: np.exp(x[:, 0]), [0, 1, 2])


def test_the_credit_is_the_weight_that_each_proposal_has_collected() -> None:
    source, alpha = np.array([0, 0, 2]), np.array([0.5, 0.25, 0.25])
    assert collected(np.array([1.0, 2.0, 1.0]), source, alpha).tolist() == [0.75, 0, 0.25]
    assert collected(np.zeros(3), source, alpha).tolist() == alpha.tolist()
    many = collected(np.ones((5, 3)), np.tile(source, (5, 1)), np.tile(alpha, (5, 1)))
    assert many == pytest.approx(np.tile([2 / 3, 0, 1 / 3], (5, 1)))


def test_the_weights_are_those_of_the_formulas() -> None:
    points = FAMILY.points(np.random.default_rng(7), 50, 1)
    source, alpha = np.ones(50, np.int64), np.array([0.2, 0.3, 0.5])
    parts = points.log_size, points.sign, points.log_p, points.log_q
    f, p, q = np.exp(points.log_size - points.log_p), np.exp(points.log_p), np.exp(points.log_q)
    printed = weighed("printed", *parts, source, alpha)
    assert printed.value == pytest.approx(f * p / q[:, 1])
    assert printed.credit == pytest.approx(p / q[:, 1])
    mixture = q @ alpha
    assert weighed("payoff", *parts, source, alpha).credit == pytest.approx(f * p / mixture)
    assert weighed("squared", *parts, source, alpha).credit == pytest.approx((f * p / mixture) ** 2)


def test_populations_side_by_side_are_those_of_the_family() -> None:
    # The loss after three populations, of runs played together and of runs by themselves.
    caplet = Caplet(0.08, steps=2)
    exact = caplet.exact([0.0, 0.6, 1.2])
    together = population("squared", 100)(Asked(caplet, exact, (300,), 1000, seed=3))
    family = caplet.family([0.0, 0.6, 1.2])
    alone = [_three_populations(family, np.random.default_rng(seed)) for seed in range(300)]
    one, other = (np.square(np.ravel(v) - exact.price) for v in (together.values, alone))
    error = math.hypot(one.std() / math.sqrt(len(one)), other.std() / math.sqrt(len(other)))
    assert abs(one.mean() - other.mean()) < 4 * error


def test_the_printed_form_does_not_learn_and_the_others_do() -> None:
    # The credit of the printed form has the mean 1 whatever the proposal: it stays there.
    rng = np.random.default_rng(7)
    equal = np.full(3, 1 / 3)
    printed = np.array([_population(FAMILY, rng, equal, "printed", 1000)[1] for _ in range(200)])
    z = (printed.mean(axis=0) - equal) / (printed.std(axis=0) / math.sqrt(200))
    assert np.abs(z).max() < 4
    updates: tuple[Update, ...] = ("payoff", "squared")
    for update in updates:
        alpha = equal
        for _ in range(20):
            _, alpha = _population(FAMILY, rng, alpha, update, 1000)
        assert alpha[1] > 0.8  # of the shift that makes every draw the same


def _three_populations(family: Family, rng: np.random.Generator) -> float:
    alpha, values = np.full(len(family), 1 / len(family)), []
    for _ in range(3):
        value, alpha = _population(family, rng, alpha, "squared", 100)
        values.append(value)
    return float(np.mean(values))


def _population(
    family: Family, rng: np.random.Generator, alpha: Floats, update: Update, size: int
) -> tuple[float, Floats]:
    """Return the mean of one population, and the proportions of the next one."""
    counts = rng.multinomial(size, alpha)
    parts = [family.points(rng, int(count), k) for k, count in enumerate(counts) if count]
    log_size, sign, log_p, log_q, _ = (np.concatenate(part) for part in zip(*parts, strict=True))
    source = np.repeat(np.arange(len(family)), counts)
    value, credit = weighed(update, log_size, sign, log_p, log_q, source, alpha)
    return float(value.mean()), collected(credit, source, alpha)
