"""A bank of paths: its law, its exact price and variances, and the contestants that play on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from croupier.errors import PlanError
from croupier.simulator.randomness import streams
from paper import fig2_contest as contest
from paper.cir import Caplet
from paper.cir_bank import PathBank
from paper.fig2_contest import Asked


@pytest.fixture(scope="module")
def bank() -> PathBank:
    return PathBank.walked(Caplet(0.08), 4096, seed=7)


def test_the_bank_is_close_to_the_euler_chain(bank: PathBank) -> None:
    exact, chain = bank.exact(), Caplet(0.08).exact()
    assert exact.price == pytest.approx(chain.price, rel=0.01)
    assert exact.variances == pytest.approx(chain.variances, rel=0.03)
    assert bank.chances.sum() == pytest.approx(1)
    assert bank.chances @ bank.ratios == pytest.approx(np.ones(16))


def test_every_arm_and_every_mixture_of_them_has_the_price_for_its_mean(bank: PathBank) -> None:
    price = bank.exact().price
    own = bank.chances[:, None] * bank.ratios  # what the drifts make of the chances
    assert (own * (bank.payoffs[:, None] / bank.ratios)).sum(axis=0) == pytest.approx(price)
    alpha = np.random.default_rng(7).dirichlet(np.ones(16))
    mixed = bank.payoffs / (bank.ratios @ alpha)
    assert (own @ alpha) @ mixed == pytest.approx(price)


def test_alias_tables_have_the_chances_of_the_paths(bank: PathBank) -> None:
    keep, other = bank.aliases
    for k in (0, 7, 15):
        given = keep[k] + np.bincount(other[k], 1 - keep[k], minlength=4096)
        assert given / 4096 == pytest.approx(bank.chances * bank.ratios[:, k], abs=1e-12)


def test_draws_have_the_mean_and_variance_of_the_bank(bank: PathBank) -> None:
    from paper.cir_bank_kernel import fill

    exact, values = bank.exact(), np.empty(200_000)
    rows, stream = bank.rows(), streams(np.uint64(3), 1)[0]
    for k in (0, 12):
        fill(stream, rows[k], values)
        error = math.sqrt(exact.variances[k] / len(values))
        assert abs(values.mean() - exact.price) < 4 * error
        assert values.var() == pytest.approx(exact.variances[k], rel=0.05)


@pytest.mark.parametrize("paths", [3, 1 << 21])
def test_a_bank_that_is_too_small_or_too_large_is_refused(paths: int) -> None:
    with pytest.raises(PlanError, match="a bank must have 16 to 1048576 paths"):
        PathBank.walked(Caplet(), paths)


def test_contestants_that_walk_their_own_paths_refuse_a_bank(bank: PathBank) -> None:
    asked = Asked(Caplet(0.08), bank.exact(), (100,), 2, seed=3, bank=bank)
    for name in (contest.DEFAULT, contest.ALL_PROPOSALS):
        with pytest.raises(PlanError, match="walk paths of their own"):
            contest.CONTESTANTS[name](asked)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pmc-100", "pmc-1000", "pmc-printed-100"])
def test_populations_on_a_bank_lose_what_they_lose_on_new_paths(name: str) -> None:
    """A difference of 4 standard errors; the bank's own losses differ by a few percent."""
    caplet, bank = Caplet(0.08), PathBank.walked(Caplet(0.08), 1 << 15)
    losses = []
    for some in (None, bank):
        exact = caplet.exact() if some is None else some.exact()
        asked = Asked(caplet, exact, (3000,), 400, seed=3, bank=some)
        values = contest.CONTESTANTS[name](asked).values[:, 0]
        losses.append(np.square(values - exact.price) / exact.variances.min())
    one, other = losses
    error = math.hypot(one.std(), other.std()) / 20
    assert abs(one.mean() - other.mean()) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ucb1", "ucb-v", "kl-ucb", "thompson"])
def test_policies_on_a_bank_allocate_as_on_new_paths(name: str) -> None:
    caplet, bank = Caplet(0.08), PathBank.walked(Caplet(0.08), 1 << 15)
    losses = []
    for some in (None, bank):
        exact = caplet.exact() if some is None else some.exact()
        asked = Asked(caplet, exact, (3000,), 100, seed=3, bank=some)
        pulls = contest.CONTESTANTS[name](asked).pulls
        assert pulls is not None
        losses.append(pulls[:, 0] @ exact.variances / exact.variances.min() / 3000)
    one, other = losses
    error = math.hypot(one.std(), other.std()) / 10
    assert abs(one.mean() - other.mean()) < 4 * error + 0.005 * one.mean()
