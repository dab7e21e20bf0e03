"""Population: weights of the deterministic mixture, temperatures, and what peaks do not explain."""

from __future__ import annotations

import numpy as np
import pytest

from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import log_standard_normal
from croupier.distributions.weights import log_sum_exp
from croupier.searching.peaks import Peak
from croupier.searching.population import Defensive, Population, outlying, parameters


def of_normal(shift: float = 2.0, size: int = 4000) -> tuple[Population, float]:
    """Return prior points and draws near a posterior of two coordinates, and log Z."""
    rng = np.random.default_rng(7)
    population = Population(2)
    near = Defensive(Mixture.normal(np.full(2, 0.8 * shift), 0.6), 0.1)
    for source, z in (
        (Defensive(None), rng.standard_normal((size, 2))),
        (near, np.concatenate((
            0.8 * shift + 0.6 * rng.standard_normal((size - size // 10, 2)),
            rng.standard_normal((size // 10, 2)),
        ))),
    ):  # fmt: skip
        likelihood = -2 * np.square(z - shift).sum(axis=1)
        population.add(z, log_standard_normal(z), likelihood, source)
    return population, float(-np.log(5) - 0.4 * 2 * shift**2)


def test_the_weights_of_all_sources_add_up_to_the_evidence() -> None:
    population, truth = of_normal()
    assert float(log_sum_exp(population.log_weights())) == pytest.approx(truth, abs=0.03)
    assert float(log_sum_exp(population.log_weights(0.0))) == pytest.approx(0, abs=0.03)


def test_the_next_temperature_leaves_as_many_points_as_were_asked_for() -> None:
    population = Population(2)
    z = np.random.default_rng(7).standard_normal((4000, 2))
    likelihood = -200 * np.square(z - 2).sum(axis=1)
    population.add(z, log_standard_normal(z), likelihood, Defensive(None))
    beta = population.next_beta(300, 0.0)
    assert 0 < beta < 0.1
    assert population.effective(beta) == pytest.approx(300, rel=0.05)
    assert population.next_beta(300, 0.5) == 0.5
    assert of_normal()[0].next_beta(300, 0.0) == 1


def test_a_fit_promises_what_its_draws_then_have() -> None:
    population, truth = of_normal()
    rng = np.random.default_rng(8)
    mixture = population.fitted(rng)
    source = Defensive(mixture, 0.05)
    promised = population.excess(source, parameters(mixture))
    z = np.concatenate((mixture.draw(rng, 19_000)[0], rng.standard_normal((1000, 2))))
    logs = log_standard_normal(z) - 2 * np.square(z - 2).sum(axis=1)
    weights = np.exp(logs - source.log_density(z, log_standard_normal(z)) - truth)
    assert weights.mean() == pytest.approx(1, abs=4 * weights.std() / np.sqrt(20_000))
    assert promised == pytest.approx(weights.var(), rel=0.3)


def test_a_population_that_saw_nothing_is_fitted_as_wide_as_the_space() -> None:
    population = Population(2)
    z = np.zeros((5, 2))
    population.add(z, log_standard_normal(z), np.full(5, -np.inf), Defensive(None))
    assert population.effective() == 0
    assert population.fitted(np.random.default_rng(7)).means.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("bounded", [False, True])
def test_a_point_in_a_second_basin_is_the_first_to_climb_from(bounded: bool) -> None:
    from scipy.special import ndtr

    rng = np.random.default_rng(7)
    z = rng.standard_normal((3000, 3))
    x = 4 * (ndtr(z) - 0.5) if bounded else z
    broad = -np.square(x + 0.5).sum(axis=1)
    narrow = 3 - 50 * np.square(x - 1).sum(axis=1)
    value = np.logaddexp(broad, narrow)
    z_peak = np.full(3, -0.5 if not bounded else -0.3186)
    slope = 1.0 if not bounded else 4 * np.exp(-0.5 * 0.3186**2) / np.sqrt(2 * np.pi)
    height = 0.0 if bounded else -0.5 * 0.75
    covariance = np.eye(3) / (2 * slope**2 + (0 if bounded else 1))
    heights = value - 0.5 * np.square(z).sum(axis=1)
    score = outlying(z, heights, [Peak(z_peak, height, covariance)], (bounded,) * 3)
    top = np.argsort(-score)[:2]
    assert (narrow > broad).sum() >= 2
    assert (narrow[top] > broad[top]).all()
