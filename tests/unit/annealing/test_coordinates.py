"""The coordinates of a search: normal numbers where quantiles are known, scaled ones elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing.coordinates import coordinates_of
from croupier.annealing.models import model_of


def nothing(x: np.ndarray) -> Any:
    return np.zeros(len(x))


@pytest.mark.parametrize(
    ("prior", "bounded"),
    [
        (st.norm(1, 2), (False,)),
        ([st.uniform(-1, 3), st.gamma(2)], (True, False)),
        (st.multivariate_normal([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]), (False, False)),
        ([st.beta(2, 3)] * 3, (True,) * 3),
    ],
)
def test_normal_numbers_are_placed_where_the_prior_is(prior: Any, bounded: Any) -> None:
    model = model_of(nothing, prior, vectorised=True)
    coordinates = coordinates_of(model)
    assert coordinates.bounded == bounded
    z = coordinates.sample(np.random.default_rng(7), 4000)
    assert coordinates.log_prior(z[:3]) == pytest.approx(st.norm.logpdf(z[:3]).sum(axis=1))
    x, y = coordinates.place(z), model.start(np.random.default_rng(8), 4000)
    for j in range(len(bounded)):
        assert st.ks_2samp(x[:, j], y[:, j]).pvalue > 1e-4


def test_a_point_far_out_has_finite_parameters() -> None:
    model = model_of(nothing, [st.norm(0, 1), st.gamma(2)], vectorised=True)
    assert np.isfinite(coordinates_of(model).place(np.array([[-500.0, 500.0]]))).all()


def test_a_sample_with_a_density_is_scaled() -> None:
    law = st.norm(100, 5)
    prior = (lambda rng, size: law.rvs((size, 2), random_state=rng),
             lambda x: law.logpdf(x).sum(axis=1))  # fmt: skip
    coordinates = coordinates_of(model_of(nothing, prior, vectorised=True))
    z = coordinates.sample(np.random.default_rng(7), 2000)
    assert np.abs(z.mean(axis=0)).max() < 0.3
    assert np.abs(z.std(axis=0) - 1).max() < 0.3
    assert coordinates.place(z).mean() == pytest.approx(100, abs=1)
    # The density is one of z: its integral over a fine grid is 1.
    side = np.linspace(-8, 8, 81)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert np.exp(coordinates.log_prior(grid)).sum() * 0.04 == pytest.approx(1, abs=1e-3)
