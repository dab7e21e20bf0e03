"""Priors as others give them: a transform of the unit cube, a joint density, and improper ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.spaces.read_space import read_space

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def likelihood(x: np.ndarray) -> Any:
    return st.norm.logpdf(x, [1.0, 0.5], 0.3).sum(axis=-1)


def of_one(u: np.ndarray) -> np.ndarray:
    """Return parameters of one point; rows of many points are not coordinates."""
    x = np.array(u)
    x[0] = st.norm.ppf(u[0])
    x[1] = 10 * u[1] - 5
    return x


def of_many(u: np.ndarray) -> np.ndarray:
    return np.stack([st.norm.ppf(u[..., 0]), 10 * u[..., 1] - 5], axis=-1)


TRUTH = float(st.norm.logpdf(1.0, 0, np.hypot(1, 0.3)) - np.log(10))


@pytest.mark.parametrize("transform", [of_one, of_many])
@pytest.mark.parametrize("function", [likelihood, lambda x: float(likelihood(np.ravel(x)))])
def test_a_transform_of_the_unit_cube_is_a_prior(transform: Any, function: Any) -> None:
    result = cr.evidence(function, prior_transform=transform, dimensions=2, draws=6000, rng=7)
    assert abs(result.log_value - TRUTH) < 4 * result.log_stderr
    assert result.log_stderr < 0.1


@pytest.mark.parametrize(
    ("transform", "takes"),
    [
        (of_one, "one"),
        (of_many, "all"),
        (lambda u: np.column_stack([u[:, 0], u[:, 1]]), "all"),
    ],
)
def test_how_a_transform_takes_its_points_is_found_out(transform: Any, takes: str) -> None:
    space: Any = read_space((transform, None), argument="prior_transform", dimension=2)
    assert space.transform.takes == takes


def test_the_faces_of_the_cube_are_not_infinite_parameters() -> None:
    space = read_space((of_many, None), dimension=2)
    assert np.isfinite(space.from_normal(np.array([[-40.0, -40.0], [40.0, 40.0]]))).all()


def test_a_transform_may_return_more_parameters_than_the_cube_has_coordinates() -> None:
    def transform(u: np.ndarray) -> Any:
        x = of_many(u)
        return np.concatenate((x, x[..., :1] + x[..., 1:]), axis=-1)

    def of_three(x: np.ndarray) -> Any:
        assert np.allclose(x[..., 2], x[..., 0] + x[..., 1])
        return likelihood(x[..., :2])

    result = cr.evidence(of_three, prior_transform=transform, dimensions=2, draws=6000, rng=7)
    assert abs(result.log_value - TRUTH) < 4 * result.log_stderr
    assert result.posterior(100).points.shape == (100, 3)


def test_a_gradient_is_one_of_the_parameters() -> None:
    result = cr.evidence(
        likelihood, prior_transform=of_many, dimensions=2, draws=6000, rng=7,
        gradient=lambda x: ([1.0, 0.5] - x) / 0.09,
    )  # fmt: skip
    assert abs(result.log_value - TRUTH) < 4 * result.log_stderr


def test_a_transform_that_fails_later_is_named_with_its_point() -> None:
    def rarely(u: np.ndarray) -> Any:
        return np.where(u > 0.999, np.nan, 10 * u - 5)

    with pytest.raises(
        cr.CroupierError, match=r"the transform in prior_transform= is nan at the point .*0\.999"
    ):
        cr.evidence(likelihood, prior_transform=rarely, dimensions=2, draws=20_000, rng=1)


def test_a_discrete_parameter_may_be_the_image_of_the_cube() -> None:
    def transform(u: np.ndarray) -> Any:
        return np.stack([np.floor(3 * u[..., 0]), 10 * u[..., 1] - 5], axis=-1)

    result = cr.evidence(likelihood, prior_transform=transform, dimensions=2, draws=6000, rng=7)
    truth = np.log(st.norm.pdf([0, 1, 2], 1.0, 0.3).mean() / 10)
    assert abs(result.log_value - truth) < 4 * result.log_stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": None}, "needs dimensions="),
        ({"dimensions": 0}, "dimensions"),
        ({"prior": st.norm(0, 1)}, "two priors"),
        ({"prior_transform": 3}, "must be a function of points, got 3"),
        ({"prior_transform": [st.norm(0, 1)] * 2}, "give distributions as prior="),
        ({"prior_transform": lambda u: u[7]}, r"raised IndexError.*points have 2 coordinates"),
        (
            {"prior_transform": lambda u: np.array([u[0], u[1], u[5]])},
            "raised IndexError.*points have 2 coordinates",
        ),
        ({"prior_transform": lambda u: None}, "returned None, not numbers"),
        ({"prior_transform": lambda u: {"a": u[0]}}, "values of type object"),
        ({"prior_transform": lambda u: np.random.default_rng().random(2)}, "the same points"),
        ({"prior_transform": lambda u: np.where(u > 0.9, np.nan, u)}, "is nan at the point"),
        ({"prior_transform": lambda u: np.inf * u}, "is inf at the point"),
        ({"prior_transform": None}, "dimensions is for prior_transform="),
    ],
)
def test_wrong_transforms_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"prior_transform": of_one, "dimensions": 2, "draws": 100, **change}
    with pytest.raises(cr.CroupierError, match=message):
        cr.evidence(likelihood, given.pop("prior", None), **given)


def flat_pair(logpdf: Any) -> Any:
    return lambda rng, size: rng.normal(0, 10, (size, 1)), logpdf


@pytest.mark.parametrize(
    "prior",
    [
        "flat",
        flat_pair(lambda x: np.zeros(len(x))),
        flat_pair(lambda x: -np.log(np.abs(x[:, 0]) + 1e-3)),
    ],
)
def test_improper_priors_are_refused_by_that_name(prior: Any) -> None:
    with pytest.raises(cr.PlanError, match="the prior is improper"):
        cr.evidence(lambda x: -(x**2).sum(axis=-1), prior, draws=1000)


def test_heavy_tails_are_not_improper() -> None:
    law = st.cauchy(0, 1)
    prior = (lambda rng, size: law.rvs((size, 1), random_state=rng), lambda x: law.logpdf(x[:, 0]))
    result = cr.evidence(lambda x: -0.5 * x[:, 0] ** 2, prior, draws=5000, rng=7)
    truth = np.log(law.expect(lambda x: np.exp(-0.5 * x**2)))
    assert abs(result.log_value - truth) < 4 * result.log_stderr


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (None, r"no prior: .*prior_transform= with dimensions=.*give a distribution q"),
        ([st.norm(0, 0)] * 2, "not finite: nan in coordinate 0.*a scale must be above 0"),
        (st.uniform(-np.inf, np.inf), "without bounds is improper"),
        ([st.norm(0, 1), st.uniform(0, np.inf)], "in coordinate 1.*without bounds is improper"),
        (
            (
                lambda rng, size: rng.poisson(3, (size, 2)).astype(float),
                lambda x: st.poisson(3).logpmf(x).sum(axis=1),
            ),
            "coordinate 0 of the prior has only .* different values in 200 points",
        ),
        (flat_pair(lambda x: st.norm.pdf(x[:, 0], 0, 10)), "the density itself, not its log"),
    ],
)
def test_other_wrong_priors_name_the_value_and_the_way_out(prior: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.evidence(likelihood, prior, draws=1000)


def test_one_function_as_a_prior_names_the_way_out_for_a_joint_density() -> None:
    with pytest.raises(cr.PlanError, match=r"joint log-density, give a distribution q"):
        cr.evidence(likelihood, lambda x: 0.0, draws=1000)


def test_the_way_out_gives_the_evidence_of_a_joint_density() -> None:
    def joint(x: np.ndarray) -> Any:
        return st.norm.logpdf(x, 0, 1).sum(axis=1) + likelihood(x)

    q = st.multivariate_normal([0.5, 0.5], 4 * np.eye(2))
    result = cr.evidence(lambda x: joint(x) - q.logpdf(x), q, draws=6000, rng=7)
    truth = st.norm.logpdf([1.0, 0.5], 0, np.hypot(1, 0.3)).sum()
    assert abs(result.log_value - truth) < 4 * result.log_stderr
