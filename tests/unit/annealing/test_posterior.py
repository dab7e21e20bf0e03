"""Draws from the posterior: right moments, an honest effective size, names."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

DATA = np.array([1.0, -0.5, 0.3])


def log_likelihood(points: np.ndarray) -> Any:
    return st.norm.logpdf(DATA, points, 0.5).sum(axis=1)


def result(**settings: Any) -> Any:
    settings = {"draws": 20_000, "rng": 7, "progress": False, **settings}
    return cr.evidence(log_likelihood, [st.norm(0, 1)] * 3, **settings)


#: A normal prior and a normal likelihood: mean 0.8 y, variance 0.2.
MEAN, SPREAD = 0.8 * DATA, np.sqrt(0.2)


@pytest.mark.parametrize(
    "settings",
    [{}, {"temperatures": 12}, {"temperatures": 2, "schedule": "linear", "kernel": "slice"}],
)
def test_a_normal_posterior_has_its_exact_moments(settings: Any) -> None:
    draws = result(**settings).posterior(4000, names=["a", "b", "c"])
    assert draws.points.shape == (4000, 3)
    assert len(draws) == 4000
    error = SPREAD / np.sqrt(draws.effective)
    assert (np.abs(draws.mean - MEAN) < 4 * error).all()
    assert np.allclose(draws.stderr, error, rtol=0.2)
    deviations = draws.points.std(axis=0)
    assert (np.abs(deviations / SPREAD - 1) < 4 / np.sqrt(2 * draws.effective)).all()
    assert (draws["b"] == draws.points[:, 1]).all()
    assert draws.to_dict()["c"].shape == (1, 4000)
    with pytest.raises(KeyError, match="'d' is not a coordinate: there are a, b, c"):
        draws["d"]


def test_the_effective_size_is_honest() -> None:
    """Over 200 seeds the means scatter as the effective size says, within 15 %."""
    run = result(temperatures=5)
    many = [run.posterior(300, rng=seed) for seed in range(200)]
    scatter = np.std([each.mean - MEAN for each in many])
    claimed = SPREAD / np.sqrt(np.mean([each.effective for each in many]))
    assert 0.8 < scatter / claimed < 1.15


def test_both_modes_are_drawn_in_their_shares() -> None:
    def two(points: np.ndarray) -> Any:
        parts = [
            np.log(w) + st.norm.logpdf(points, m, s).sum(axis=1)
            for w, m, s in ((0.3, -5, 0.6), (0.7, 5, 0.3))
        ]
        return np.logaddexp(*parts)

    box = [st.uniform(-10, 20)] * 3
    draws = cr.evidence(two, box, draws=300_000, rtol=0.02, rng=7).posterior(5000)
    share = float((draws["x0"] > 0).mean())
    assert abs(share - 0.7) < 4 * np.sqrt(0.21 / draws.effective)
    assert np.std(draws["x0"][draws["x0"] > 0]) == pytest.approx(0.3, rel=0.1)
    assert np.abs(draws.points).max() < 10  # in the coordinates of the prior, not of a chart


def test_a_function_of_one_point_on_the_unit_cube_gives_parameters() -> None:
    def transform(u: np.ndarray) -> np.ndarray:
        x = np.array(u)
        x[0], x[1] = st.norm.ppf(u[0]), 4 * u[1]
        return x

    run = cr.evidence(
        lambda x: float(st.norm.logpdf(1.0, x[0], 0.5)),
        prior_transform=transform, dimensions=2, draws=3000, rng=7,
    )  # fmt: skip
    draws = run.posterior(2000)
    assert abs(draws["x0"].mean() - 0.8) < 4 * SPREAD / np.sqrt(draws.effective)
    assert abs(draws["x1"].mean() - 2) < 4 * np.sqrt(16 / 12 / draws.effective)


def test_draws_depend_on_the_seed_alone() -> None:
    run = result()
    assert (run.posterior(100).points == run.posterior(100).points).all()
    assert (run.posterior(100, rng=1).points != run.posterior(100, rng=2).points).any()


def test_wrong_names_and_results_from_files_are_refused() -> None:
    run = result()
    with pytest.raises(cr.PlanError, match="names must be 3 different names"):
        run.posterior(10, names=["a", "a", "b"])
    with pytest.raises(cr.PlanError, match="n must be"):
        run.posterior(0)
    with pytest.raises(cr.PlanError, match="no likelihood to draw with"):
        pickle.loads(pickle.dumps(run)).posterior(10)


def test_few_effective_draws_warn() -> None:
    run = cr.evidence(
        lambda x: -800 * (x**2).sum(axis=1), [st.norm(0, 1)] * 4,
        temperatures=2, schedule="linear", kernel="slice", draws=3000, rng=7,
    )  # fmt: skip
    with pytest.warns(cr.CroupierWarning, match="are worth only"):
        run.posterior(1000)


def test_numpy_takes_the_draws_as_an_array_of_points() -> None:
    draws = result().posterior(100)
    assert np.asarray(draws).shape == (100, 3)
    assert np.shares_memory(np.asarray(draws), draws.points)
    assert not np.shares_memory(np.array(draws), draws.points)
    assert np.array(draws, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(draws, dtype=np.float32, copy=False)
