"""Surrogates and the control variate: what they leave of the variance, and that they do no harm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import croupier as cr
from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import log_standard_normal
from croupier.rare.components import Frozen, dealt, mixture_of
from croupier.rare.control import Control, df_of
from croupier.rare.epoch_answer import Epoch
from croupier.rare.surrogate import Surrogate, Training, surrogate_of

quiet = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

MIXTURE = mixture_of(Mixture.normal([3.3, 0.0], 0.8), 2, 0.9)


def drawn(rng: np.random.Generator, n: int, mixture: Frozen = MIXTURE) -> tuple[Floats, Any]:
    own = dealt(mixture.shares, n)
    return mixture.mixture.placed(mixture.mixture.noise(rng, n), own), own


def trained(g: Any, d: int = 2, n: int = 400) -> Surrogate | None:
    rng = np.random.default_rng(7)
    component = Mixture.normal(np.r_[3.0, np.zeros(d - 1)])
    mixture = mixture_of(component, d, 0.9)
    x, _ = drawn(rng, n, mixture)
    log_q = mixture.mixture.log_density(x)
    counts = np.exp(2 * (log_standard_normal(x) - log_q))
    nothing = np.empty((0, d)), np.empty(0)
    return surrogate_of(Training(x, g(x), counts, np.ones(n), *nothing), component.log_density(x))


def test_a_curved_limit_state_of_two_numbers_is_known_from_400_draws() -> None:
    found = trained(lambda x: 3 - x[:, 0] + 0.3 * np.square(x[:, 1]))
    assert found is not None
    assert found.left < 0.1
    x = np.array([[4.0, 0.0], [2.0, 0.0], [4.0, 3.0]])
    assert np.allclose(found.chance(x), [1, 0, 0], atol=0.05)


def test_sums_and_squares_of_twenty_numbers_are_known_as_polynomials() -> None:
    found = trained(lambda x: 3 - x[:, 0] + 0.1 * np.square(x[:, 1:]).sum(axis=1) - 1.9, d=20)
    assert found is not None
    assert found.left < 0.05


def test_a_model_of_noise_claims_little() -> None:
    rng = np.random.default_rng(8)
    found = trained(lambda x: rng.normal(size=len(x)))
    assert found is None or found.left > 0.4


def test_infinite_values_do_not_spoil_a_model() -> None:
    found = trained(lambda x: np.where(x[:, 1] > 2, np.inf, 3 - x[:, 0]))
    assert found is None or np.isfinite(found.chance(np.zeros((1, 2)))).all()


class _Wrong:
    """Says that everything fails that does not."""

    used, left_out = np.empty(0, np.intp), np.empty(0)

    def at(self, x: Floats) -> Floats:
        return np.asarray(x[:, 0] - 3.0)


def test_a_wrong_surrogate_costs_precision_but_no_bias() -> None:
    """200 epochs of 100 draws: |z| < 4, with a surrogate that is wrong everywhere."""
    rng = np.random.default_rng(7)
    surrogate = Surrogate(_Wrong(), 0.1, 0.5, 0.5, 10.0)
    z, own = drawn(rng, 20_000)
    weight = np.exp(log_standard_normal(z) - MIXTURE.mixture.log_density(z))
    mean = float((weight * surrogate.chance(z)).mean())
    control = Control(surrogate, mean, float(np.var(weight)), 1000.0)
    values = []
    for _ in range(200):
        x, own = drawn(rng, 100)
        epoch = Epoch(MIXTURE, 2, 1, control)
        epoch.add(x, (3.0 - x[:, :1]), own)
        chance = surrogate.chance(x)
        values.append(control.estimate(chance, _weights(epoch), x[:, 0] > 3, own).mean)
    error = np.std(values) / np.sqrt(200) + np.std(weight * surrogate.chance(z)) / np.sqrt(20_000)
    assert abs(np.mean(values) - norm.sf(3)) < 4 * error


def _weights(epoch: Epoch) -> Floats:
    mixture = replace(epoch.mixture.mixture, shares=epoch.counts / len(epoch))
    return np.asarray(np.exp(log_standard_normal(epoch.x) - mixture.log_density(epoch.x)))


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e-310, 0.0])
def test_residuals_that_are_almost_zero_have_degrees_of_freedom(scale: float) -> None:
    u = scale * np.random.default_rng(7).normal(size=50)
    assert 1 <= df_of(u) <= 60


def test_an_epoch_weighs_its_draws_by_the_counts_that_were_drawn() -> None:
    """Rounded counts would bias the mean: the weights of a certain event have the mean 1."""
    rng, means = np.random.default_rng(7), []
    for _ in range(400):
        x, own = drawn(rng, 13)  # the scouts' due is less than one draw each
        epoch = Epoch(MIXTURE, 2, 1)
        epoch.add(x, np.where(x[:, :1] > 2.5, -1.0, 1.0), own)
        means.append(epoch.answer().pooled.mean[0])
    assert abs(np.mean(means) - norm.sf(2.5)) < 4 * np.std(means) / np.sqrt(400)


def test_a_component_that_is_too_rare_for_one_round_has_its_turn_later() -> None:
    shares = np.array([0.9, 0.07, 0.03])
    counts = np.zeros(3, np.int64)
    for _ in range(40):
        counts += np.bincount(dealt(shares, 10, counts), minlength=3)
        assert np.abs(counts - counts.sum() * shares).max() < 1.01


@pytest.mark.usefixtures("searching")
def test_a_surrogate_halves_the_calls_of_a_curved_limit_state() -> None:
    result = cr.probability(
        lambda x: 3 - x[:, 0] + 0.3 * np.square(x[:, 1]), 2, draws=50_000, rtol=0.1, rng=7
    )
    assert result.arms["estimate"].draws < 300
    assert result.search["surrogate"] is not None
    assert result.search["surrogate"] < 0.2
    assert result.stderr < 0.05 * result.value


@pytest.mark.usefixtures("searching")
def test_the_result_says_what_could_hide() -> None:
    result = cr.probability(lambda x: 4 - x[:, 0], 2, draws=20_000, rtol=0.1, rng=7)
    assert result.search["at_distance"] == pytest.approx(4, abs=0.3)
    assert 0 < result.search["could_hide"] < 1e-3


@quiet
def test_several_limit_states_have_no_surrogate() -> None:
    result = cr.probability(lambda x: np.column_stack((3 - x[:, 0], 3 - x[:, 1])), 2, draws=3000)
    assert result.search["surrogate"] is None
