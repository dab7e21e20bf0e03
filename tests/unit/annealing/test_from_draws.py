"""evidence_from_draws: log Z from chains, and what it says of chains that are wrong."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import quad

import croupier as cr
from croupier.annealing.from_draws import read_chains


def regression(d: int) -> tuple[Any, np.ndarray, float]:
    """A conjugate regression: its log joint density, four chains, and its log Z."""
    rng = np.random.default_rng(d)
    x = rng.normal(size=(2 * d + 10, d))
    y = x @ rng.normal(size=d) + rng.normal(size=len(x))
    precision = x.T @ x + np.eye(d)
    mean, covariance = np.linalg.solve(precision, x.T @ y), np.linalg.inv(precision)

    def log_joint(theta: np.ndarray) -> np.ndarray:
        return st.norm.logpdf(theta).sum(axis=1) + st.norm.logpdf(y - theta @ x.T).sum(axis=1)

    log_z = st.multivariate_normal(np.zeros(len(y)), np.eye(len(y)) + x @ x.T).logpdf(y)
    chains = rng.multivariate_normal(mean, covariance, size=(4, 500))
    return log_joint, chains, float(log_z)


@pytest.mark.parametrize("d", [1, 5, 30])
def test_the_evidence_of_a_regression_is_right(d: int) -> None:
    log_joint, chains, truth = regression(d)
    result = cr.evidence_from_draws(log_joint, chains, draws=8000, rng=1)
    assert result.log_stderr < 0.03
    assert abs(result.log_value - truth) < 4 * result.log_stderr
    assert not result.warnings
    joined = result.details["search"]["bridge"]
    assert abs(joined["log_value"] - truth) < 4 * joined["log_stderr"]


def test_budget_and_seed_are_those_of_every_run() -> None:
    log_joint, chains, _ = regression(2)
    calls = []

    def counted(theta: np.ndarray) -> np.ndarray:
        calls.append(len(theta))
        return log_joint(theta)

    first = cr.evidence_from_draws(counted, chains, draws=3000, rng=5, vectorised=True)
    assert first.draws == 3000
    assert 3000 <= sum(calls) < 3020  # and a look at a few points
    again = cr.evidence_from_draws(log_joint, chains, draws=3000, rng=5, width=1)
    assert again.log_value == first.log_value


def test_a_function_of_one_point_gives_the_same() -> None:
    log_joint, chains, _ = regression(2)
    many = cr.evidence_from_draws(log_joint, chains, draws=1000, rng=5)
    one = cr.evidence_from_draws(lambda theta: log_joint(theta[None])[0], chains, draws=1000, rng=5)
    assert one.log_value == pytest.approx(many.log_value, abs=1e-9)


def two_modes(x: np.ndarray) -> np.ndarray:
    parts = [st.norm.logpdf(x, centre, 0.7).sum(axis=1) for centre in (-3, 3)]
    return np.logaddexp(*parts) - math.log(2)


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_chains_of_one_of_two_modes_are_noticed_and_the_answer_is_right() -> None:
    rng = np.random.default_rng(2)
    chains = -3 + 0.7 * rng.normal(size=(4, 500, 3))
    result = cr.evidence_from_draws(two_modes, chains, draws=20_000, rng=1)
    assert abs(result.log_value) < 4 * result.log_stderr
    assert any("have missed a part of the posterior" in text for text in result.warnings)


def test_chains_of_both_modes_are_no_fault() -> None:
    rng = np.random.default_rng(2)
    side = rng.choice([-3, 3], size=(4, 500, 1))
    chains = side + 0.7 * rng.normal(size=(4, 500, 3))
    result = cr.evidence_from_draws(two_modes, chains, draws=20_000, rng=1)
    assert abs(result.log_value) < 4 * result.log_stderr
    assert not result.warnings


def test_chains_that_move_slowly_are_no_fault() -> None:
    rng = np.random.default_rng(4)
    x = np.empty((4, 1000, 2))
    x[:, 0] = rng.normal(size=(4, 2))
    for t in range(1, 1000):  # an autocorrelation time of about 100
        x[:, t] = 0.98 * x[:, t - 1] + math.sqrt(1 - 0.98**2) * rng.normal(size=(4, 2))
    result = cr.evidence_from_draws(
        lambda theta: st.norm.logpdf(theta).sum(axis=1), x, draws=5000, rng=1
    )
    assert abs(result.log_value) < 4 * result.log_stderr
    assert not result.warnings


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize("shift", [0.6, 20.0])
def test_chains_of_another_density_are_noticed(shift: float) -> None:
    chains = np.random.default_rng(3).normal(shift, 1, (4, 500, 2))
    result = cr.evidence_from_draws(
        lambda theta: st.norm.logpdf(theta).sum(axis=1), chains, draws=8000, rng=1
    )
    assert any("another density" in text for text in result.warnings)


def test_a_positive_parameter_is_fitted_by_its_logarithm() -> None:
    def log_joint(x: np.ndarray) -> np.ndarray:
        s = x[:, 0]
        assert (s > 0).all(), "bounds keep the points inside"
        return st.expon.logpdf(s) + st.norm.logpdf(2.0, 0, s) + st.beta.logpdf(x[:, 1], 2, 3)

    def of_s(s: float) -> float:
        return math.exp(-s) * st.norm.pdf(2.0, 0, s)

    truth = math.log(quad(of_s, 0, 60)[0])
    grid = np.linspace(1e-3, 30, 20_000)
    weights = np.exp(-grid) * st.norm.pdf(2.0, 0, grid)
    rng = np.random.default_rng(5)
    s = rng.choice(grid, 2000, p=weights / weights.sum())
    chains = np.column_stack((s, rng.beta(2, 3, 2000)))
    bounds = [(0, np.inf), (0, 1)]
    result = cr.evidence_from_draws(log_joint, chains, bounds=bounds, draws=8000, rng=1)
    assert abs(result.log_value - truth) < 4 * result.log_stderr
    assert result.log_stderr < 0.02
    draws = result.posterior(1000)
    assert draws.points[:, 0].min() > 0
    assert abs(draws["x1"].mean() - 0.4) < 5 * draws.stderr[1]


def test_a_gradient_is_used_by_the_climbs() -> None:
    d, asked = 20, []
    chains = np.random.default_rng(1).normal(size=(2, 500, d))

    def gradient(x: np.ndarray) -> np.ndarray:
        asked.append(len(x))
        return -x

    result = cr.evidence_from_draws(
        lambda x: st.norm.logpdf(x).sum(axis=1), chains, gradient=gradient, draws=8000, rng=1
    )
    assert abs(result.log_value) < 4 * result.log_stderr
    assert result.details["search"]["climbs"] > 0
    assert sum(asked) > 4  # more than the first look


def test_every_form_of_chains_is_read() -> None:
    rng = np.random.default_rng(1)
    array = rng.normal(size=(3, 40, 2))
    np.testing.assert_array_equal(read_chains(array).points, array)
    assert read_chains(array[0]).points.shape == (1, 40, 2)
    assert read_chains(array.tolist()).names == ("x0", "x1")
    mapping = {"a": array[:, :, 0], "b": array}
    read = read_chains(mapping)
    assert read.names == ("a", "b[0]", "b[1]")
    np.testing.assert_array_equal(read.points, np.concatenate((array[:, :, :1], array), axis=2))
    xarray = pytest.importorskip("xarray")
    variables = {
        name: (("chain", "draw", *[f"{name}_{j}" for j in range(value.ndim - 2)]), value)
        for name, value in mapping.items()
    }
    posterior = xarray.Dataset(variables)
    data = SimpleNamespace(posterior=posterior)
    np.testing.assert_array_equal(read_chains(data).points, read.points)


@pytest.mark.parametrize(
    ("chains", "message"),
    [
        (np.zeros(5), r"chains must be \(n, d\) or \(chains, n, d\), got the shape \(5,\)"),
        ("text", "chains cannot be str"),
        ({"a": np.zeros((2, 5)), "b": np.zeros((2, 6))}, "every parameter of chains must have"),
        ({"a": np.zeros(5)}, "every parameter of chains must have"),
        ({}, "every parameter of chains must have"),
        (np.ones((2, 50, 2)), "x0 is the same in all draws, 1: leave it out"),
        (np.random.default_rng(1).normal(size=(1, 10, 2)), "are too few"),
        (np.repeat(np.random.default_rng(1).normal(size=(1, 50, 1)), 2, axis=2), "functions of"),
    ],
)
def test_chains_that_cannot_be_used_are_refused(chains: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.evidence_from_draws(lambda x: -(x**2).sum(axis=1), chains, draws=100, vectorised=True)


def test_a_draw_that_is_not_finite_is_named() -> None:
    chains = np.zeros((2, 30, 2))
    chains[1, 7, 1] = np.nan
    with pytest.raises(cr.PlanError, match="x1 is nan at draw 7 of chain 1"):
        read_chains(chains)


def test_bounds_are_checked() -> None:
    chains = np.random.default_rng(1).normal(size=(2, 100, 2))
    with pytest.raises(cr.PlanError, match="bounds must be 2 pairs"):
        cr.evidence_from_draws(lambda x: -x[:, 0], chains, bounds=[(0, 1)], draws=100)
    with pytest.raises(cr.PlanError, match=r"outside of the bounds \(0, inf\)"):
        cr.evidence_from_draws(lambda x: -x[:, 0], chains, bounds=[(0, np.inf)] * 2, draws=100)
