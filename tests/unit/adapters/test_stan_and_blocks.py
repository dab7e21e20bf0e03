"""A model of BridgeStan, played by a class with the same functions; blocks of compiled calls."""

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.adapters.base import by_block, coordinate_names, split_points
from croupier.adapters.pymc_model import is_pymc_model
from croupier.adapters.stan_model import is_stan_model


class Scale:
    """One positive parameter s with the density e^-s, and two data of N(0, s^2)."""

    data = np.array([1.0, -2.0])

    def param_unc_names(self) -> list[str]:
        return ["s"]

    def param_names(self) -> list[str]:
        return ["s"]

    def param_constrain(self, theta: np.ndarray) -> np.ndarray:
        return np.exp(theta)

    def log_density(self, theta: np.ndarray, propto: bool = True, jacobian: bool = True) -> float:
        assert not propto, "constants belong to the evidence"
        assert jacobian
        if theta[0] > 50:
            raise RuntimeError("Stan rejects this point")
        s = np.exp(theta[0])
        return float(-s + theta[0] + st.norm.logpdf(self.data, 0, s).sum())

    def log_density_gradient(self, theta: np.ndarray, propto: bool = True) -> tuple[float, Any]:
        s = np.exp(theta[0])
        return self.log_density(theta, propto), np.array([-s + 1 - 2 + (self.data**2).sum() / s**2])


def test_the_joint_density_of_stan_is_reference_times_rest() -> None:
    model = cr.adapters.stan(Scale())
    points = np.linspace(-2, 3, 7)[:, None]
    joint = model.log_prior(points) + model.log_likelihood(points)
    np.testing.assert_allclose(joint, [Scale().log_density(x, propto=False) for x in points])
    np.testing.assert_allclose(model.log_prior(points), st.norm.logpdf(points[:, 0], 0, 2))
    slope = model.gradient(points) + model.prior_gradient(points)
    np.testing.assert_allclose(
        slope[:, 0], -np.exp(points[:, 0]) - 1 + 5 / np.exp(2 * points[:, 0])
    )
    assert model.names == ("s",)
    np.testing.assert_allclose(model.parameters(points)["s"], np.exp(points[:, 0]))


def test_a_point_that_stan_rejects_has_no_density() -> None:
    assert cr.adapters.stan(Scale()).log_likelihood(np.array([[60.0]]))[0] == -np.inf


def test_other_objects_are_refused_with_the_way_out() -> None:
    with pytest.raises(cr.PlanError, match="a model of BridgeStan is needed, got list"):
        cr.adapters.stan([])

    class CmdStanModel:
        pass

    CmdStanModel.__module__ = "cmdstanpy.model"
    with pytest.raises(cr.PlanError, match=r"give bridgestan\.StanModel"):
        cr.adapters.stan(CmdStanModel())
    assert is_stan_model(Scale())
    assert not is_stan_model(CmdStanModel())
    assert not is_pymc_model(CmdStanModel())


def test_blocks_have_few_sizes_and_lose_no_point() -> None:
    sizes = []

    def doubled(x: np.ndarray) -> np.ndarray:
        sizes.append(len(x))
        return 2 * x[:, 0]

    for n in (1, 16, 17, 1000, 2500):
        x = np.arange(float(n))[:, None]
        np.testing.assert_array_equal(by_block(doubled, x), 2 * x[:, 0])
    assert set(sizes) <= {16, 32, 64, 128, 256, 512, 1024}


def test_names_and_parts_agree() -> None:
    shapes = {"a": (), "b": (2, 2), "c": (1,)}
    assert coordinate_names(shapes) == ("a", "b[0,0]", "b[0,1]", "b[1,0]", "b[1,1]", "c[0]")
    parts = split_points(np.arange(12.0).reshape(2, 6), shapes)
    np.testing.assert_array_equal(parts["a"], [0, 6])
    np.testing.assert_array_equal(parts["b"][1], [[7, 8], [9, 10]])
    np.testing.assert_array_equal(parts["c"], [[5], [11]])
