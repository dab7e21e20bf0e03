"""Annealed importance sampling: unbiased for models with a known evidence, clear where refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
import scipy.stats as st
from scipy.special import betaln

import croupier as cr
from croupier.annealing.annealed import Annealed, ais, betas_of
from croupier.annealing.models import model_of
from croupier.annealing.walks import Autoregression, RandomWalk, ScaledWalk

pytestmark = pytest.mark.filterwarnings("error")

NOISE = 0.5


def gaussian(points: np.ndarray, data: np.ndarray) -> Any:
    """Log-likelihood of data ~ N(theta, NOISE^2), coordinate by coordinate."""
    z = (points - data) / NOISE
    return -0.5 * (z**2).sum(axis=-1) - data.size * np.log(NOISE * np.sqrt(2 * np.pi))


def gaussian_model(d: int) -> tuple[Callable[[np.ndarray], Any], Any, float]:
    data = np.linspace(-1, 1, d)
    truth = st.norm.logpdf(data, 0, np.hypot(1, NOISE)).sum()
    return partial(gaussian, data=data), st.multivariate_normal(np.zeros(d), 1.0), float(truth)


def z_score(log_weights: Any, truth: float) -> float:
    scaled = np.exp(np.asarray(log_weights) - truth)
    return float((scaled.mean() - 1) / (scaled.std(ddof=1) / np.sqrt(scaled.size)))


def in_the_square(rng: np.random.Generator, size: int) -> Any:
    return rng.random((size, 2))


def square_logpdf(x: np.ndarray) -> Any:
    return np.where(((x > 0) & (x < 1)).all(axis=1), 0.0, -np.inf)


@numba.njit
def compiled_gaussian(point: Any) -> Any:
    total = np.nan if point[0] > 50 else 0.0
    for i in range(point.size):
        total -= 0.5 * ((point[i] - 1.0) / 0.5) ** 2 + np.log(0.5 * np.sqrt(2 * np.pi))
    return total


@numba.njit
def compiled_uniform(point: Any) -> Any:
    return 0.0 if 0.0 < point[0] < 4.0 else -np.inf


# -- known evidence


@pytest.mark.parametrize(
    ("d", "temperatures", "kernel", "chains"),
    [
        (2, 20, "slice", 4000),
        (2, 20, "random-walk", 4000),
        (2, 20, "autoregressive", 4000),
        (10, 40, "slice", 1000),
        pytest.param(10, 200, "random-walk", 2000, marks=pytest.mark.slow),
        (10, 60, "autoregressive", 4000),
        (50, 40, "slice", 60),
        pytest.param(50, 400, "autoregressive", 400, marks=pytest.mark.slow),
    ],
)
def test_gaussian_models_in_several_dimensions(
    d: int, temperatures: int, kernel: Any, chains: int
) -> None:
    log_likelihood, prior, truth = gaussian_model(d)
    arm = ais(log_likelihood, prior, temperatures=temperatures, kernel=kernel)
    assert abs(z_score(arm(np.random.default_rng(21), chains), truth)) < 4


@pytest.mark.parametrize("kernel", ["slice", "random-walk", "autoregressive"])
def test_beta_binomial(kernel: Any) -> None:
    a, b, k, n = 2, 3, 17, 20
    truth = np.log(st.binom.pmf(k, n, 0.5) * 2.0**n) + betaln(a + k, b + n - k) - betaln(a, b)
    arm = ais(lambda p: st.binom.logpmf(k, n, p[:, 0]), st.beta(a, b), temperatures=12,
              kernel=kernel)  # fmt: skip
    assert abs(z_score(arm(np.random.default_rng(22), 4000), float(truth))) < 4


def test_two_modes() -> None:
    # The likelihood is a mixture of normal densities at +-m: so is the evidence, of wider ones.
    m, s = 3.0, 0.5

    def log_likelihood(x: np.ndarray) -> Any:
        one, other = (-0.5 * ((x - c) ** 2).sum(axis=1) / s**2 for c in (m, -m))
        return np.logaddexp(one, np.log(2) + other) - 2 * np.log(s * np.sqrt(2 * np.pi))

    wide = np.hypot(2.0, s)
    truth = np.log(3) + 2 * st.norm.logpdf(m, 0, wide)
    prior = [st.norm(0, 2), st.norm(0, 2)]
    for kernel in ("slice", "random-walk"):
        arm = ais(log_likelihood, prior, temperatures=20, kernel=kernel)  # type: ignore[arg-type]
        assert abs(z_score(arm(np.random.default_rng(23), 3000), float(truth))) < 4


def test_an_evidence_that_no_double_holds() -> None:
    log_likelihood, prior, truth = gaussian_model(2)
    arm = ais(lambda x: log_likelihood(x) - 5000, prior, temperatures=20)
    log_weights = arm(np.random.default_rng(24), 2000)
    assert abs(z_score(log_weights, truth - 5000)) < 4
    assert log_weights.max() < -4990


@pytest.mark.parametrize("kernel", ["slice", "random-walk", "autoregressive"])
def test_a_likelihood_of_zero_on_part_of_the_prior(kernel: Any) -> None:
    # Uniform data on (0, theta): the likelihood is 0 below the largest of them.
    data = np.array([0.3, 0.5, 0.2])

    def log_likelihood(theta: np.ndarray) -> Any:
        return np.where(theta[:, 0] < 0.5, -np.inf, -data.size * np.log(theta[:, 0]))

    truth = np.log((0.5**-2 - 1) / 2)  # integral of theta^-3 from 0.5 to 1
    arm = ais(log_likelihood, st.uniform(0, 1), temperatures=10, kernel=kernel)
    log_weights = arm(np.random.default_rng(25), 4000)
    assert 0.4 < np.isneginf(log_weights).mean() < 0.6
    assert abs(z_score(log_weights, float(truth))) < 4


def test_two_temperatures_are_plain_sampling_of_the_prior() -> None:
    log_likelihood, prior, _ = gaussian_model(3)
    arm = ais(log_likelihood, prior, temperatures=2)
    points = np.random.default_rng(5).standard_normal((7, 3))
    assert np.allclose(arm(np.random.default_rng(5), 7), log_likelihood(points))


def test_more_temperatures_have_less_variance() -> None:
    log_likelihood, prior, _ = gaussian_model(4)
    spread = [
        np.std(ais(log_likelihood, prior, temperatures=n)(np.random.default_rng(6), 500))
        for n in (5, 20, 80)
    ]
    assert spread[0] > 1.5 * spread[1] > 2 * spread[2]


# -- what a model may be


def test_one_point_or_many_give_the_same_weights() -> None:
    log_likelihood, prior, _ = gaussian_model(3)
    many = ais(log_likelihood, prior, temperatures=6)
    one = ais(lambda x: float(log_likelihood(x[None])[0]), prior, temperatures=6)
    assert many.model.function.takes == "all"
    assert one.model.function.takes == "one"
    assert np.allclose(many(np.random.default_rng(1), 20), one(np.random.default_rng(1), 20))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: -(x**2).sum(axis=1), True),
        (lambda x: -(x**2).sum(axis=-1), True),  # takes both, and agrees with itself
        (lambda x: -(x**2).sum(), False),
        (lambda x: -(x[0] ** 2) - x[1] ** 2, False),  # of many points, the first two rows
        (lambda x: -max(x), False),
        (lambda x: np.array([-x[0]]), False),
        (lambda x: [-float(row[0]) for row in x], True),
    ],
)
def test_whether_a_function_takes_many_points_is_found_out(function: Any, expected: bool) -> None:
    for d in (2, 3, 4):
        prior = st.multivariate_normal(np.zeros(d), 1.0)
        assert model_of(function, prior).function.takes == ("all" if expected else "one")


def test_rows_that_depend_on_each_other_are_not_taken_for_vectorised() -> None:
    prior = st.multivariate_normal(np.zeros(2), 1.0)
    with pytest.raises(cr.PlanError, match="returns 2 numbers at a point"):
        ais(lambda x: (x - x.mean(axis=0)).sum(axis=1) if x.ndim == 2 else x, prior)


@pytest.mark.parametrize(
    "prior",
    [
        st.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]]),
        [st.norm(0, 1), st.expon()],
        [st.norm(0, 1), st.norm(1, 2)],
        st.multivariate_t([0, 0], np.eye(2), df=5),
        (in_the_square, square_logpdf),
    ],
)
def test_priors_of_every_kind(prior: Any) -> None:
    # E[exp(-|x|_1)] by the prior's own sampling, far more of it, is the truth to compare with.
    arm = ais(lambda x: -np.abs(x).sum(axis=1), prior, temperatures=6)
    plain = ais(lambda x: -np.abs(x).sum(axis=1), prior, temperatures=2)
    annealed = np.exp(arm(np.random.default_rng(31), 4000))
    sampled = np.exp(plain(np.random.default_rng(32), 40000))
    error = np.hypot(annealed.std() / np.sqrt(4000), sampled.std() / np.sqrt(40000))
    assert abs(annealed.mean() - sampled.mean()) < 4 * error


def test_the_likelihood_is_not_asked_where_the_prior_is_zero() -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        assert (x > 0).all()
        return np.log(x[:, 0])

    arm = ais(log_likelihood, st.expon(), temperatures=8)
    assert abs(z_score(arm(np.random.default_rng(8), 2000), 0.0)) < 4  # E[x] = 1


# -- compiled


def test_a_compiled_function_runs_in_compiled_chains() -> None:
    truth = 3 * st.norm.logpdf(1, 0, np.sqrt(1.25))
    arm = ais(compiled_gaussian, [st.norm(0, 1)] * 3, temperatures=20, cost="evaluations")
    assert arm.compiled
    weights, evaluations = arm._compiled(np.random.default_rng(41), 4000)
    assert abs(z_score(weights, float(truth))) < 4
    assert evaluations.min() > 18 * 3
    plain = ais(compiled_gaussian.py_func, [st.norm(0, 1)] * 3, temperatures=20, vectorised=False)
    in_numpy, counted = plain._block(np.random.default_rng(42), 300)
    assert np.isclose(evaluations.mean(), counted.mean(), rtol=0.05)
    assert np.isclose(weights.std(), in_numpy.std(), rtol=0.25)


@pytest.mark.slow
def test_a_compiled_prior_of_ones_own() -> None:
    prior = (lambda rng, size: 4 * rng.random((size, 1)), compiled_uniform)
    arm = ais(compiled_gaussian, prior, temperatures=10)
    assert arm.compiled
    # The prior's density is known but for its constant, 1/4, which no move depends on.
    truth = float(np.log(st.norm.cdf(6) - st.norm.cdf(-2)) - np.log(4))
    assert abs(z_score(arm(np.random.default_rng(44), 2000), truth)) < 4


def test_a_compiled_function_with_another_kernel_or_prior() -> None:
    truth = float(np.log(st.norm.cdf(6) - st.norm.cdf(-2)) - np.log(4))
    arm = ais(compiled_gaussian, st.beta(1, 1, 0, 4), temperatures=10)
    assert not arm.compiled
    assert abs(z_score(arm(np.random.default_rng(43), 2000), truth)) < 4


def test_a_compiled_function_that_returns_nan_is_named() -> None:
    arm = ais(compiled_gaussian, st.norm(0, 100), temperatures=5, name="mine")
    with pytest.raises(cr.ArmError, match="arm 'mine': log_likelihood is nan"):
        arm(np.random.default_rng(0), 50)


# -- arms


@pytest.mark.parametrize("kernel", ["slice", "random-walk", "autoregressive"])
def test_an_arm_is_a_pure_function_and_can_be_sent_to_a_worker(kernel: Any) -> None:
    log_likelihood, prior, _ = gaussian_model(2)
    arm = ais(log_likelihood, prior, temperatures=5, kernel=kernel)
    sent = pickle.loads(pickle.dumps(arm))
    first = arm(np.random.default_rng(1), 30)
    assert (first == arm(np.random.default_rng(1), 30)).all()
    assert (first == sent(np.random.default_rng(1), 30)).all()
    again = ais(log_likelihood, prior, temperatures=5, kernel=kernel)
    assert (first == again(np.random.default_rng(1), 30)).all()


def test_memory_is_that_of_a_block() -> None:
    seen = []

    def log_likelihood(x: np.ndarray) -> Any:
        seen.append(len(x))
        return -(x**2).sum(axis=1)

    arm = ais(log_likelihood, st.norm(0, 1), temperatures=3, block=100)
    arm(np.random.default_rng(0), 250)
    assert max(seen[10:]) <= 200  # both ends of the intervals of 100 chains


def test_names_and_kernels() -> None:
    log_likelihood, prior, _ = gaussian_model(2)
    assert ais(log_likelihood, prior, temperatures=7).__name__ == "ais-7"
    assert ais(log_likelihood, prior, name="mine").__name__ == "mine"
    kinds: dict[str, Any] = {"random-walk": RandomWalk, "autoregressive": Autoregression}
    for kernel, kind in kinds.items():
        assert isinstance(ais(log_likelihood, prior, kernel=kernel).kernel, kind)  # type: ignore[arg-type]
    arm = ais(log_likelihood, prior, kernel="random-walk", spread=lambda beta: 1 / (1 + beta))
    assert isinstance(arm.kernel, ScaledWalk)


def test_a_kernel_of_ones_own() -> None:
    log_likelihood, prior, truth = gaussian_model(2)

    def metropolis(rng: Any, points: np.ndarray, beta: float, log_density: Any) -> np.ndarray:
        proposed = points + 0.7 * rng.standard_normal(points.shape)
        moved = np.log(rng.random(len(points))) < log_density(proposed) - log_density(points)
        return np.where(moved[:, None], proposed, points)

    arm = ais(log_likelihood, prior, temperatures=20, kernel=metropolis, sweeps=2)
    assert abs(z_score(arm(np.random.default_rng(51), 4000), truth)) < 4


# -- what is refused


@pytest.mark.parametrize(
    ("value", "shown"), [(np.nan, "nan"), (np.inf, "inf")]
)  # fmt: skip
def test_a_likelihood_that_is_no_likelihood_is_named_with_its_value(
    value: float, shown: str
) -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        return np.where(x[:, 0] > 1, value, -(x[:, 0] ** 2))

    for temperatures in (2, 10):
        arm = ais(log_likelihood, st.norm(0, 1), temperatures=temperatures, name="mine")
        message = f"log_likelihood is {shown} at the point"
        with pytest.raises(cr.ArmError, match=message) as caught:
            arm(np.random.default_rng(0), 100)
        assert str(caught.value.value) == shown


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x, "returns 2 numbers at a point"),
        (lambda x: np.zeros(7), r"returns 7 numbers at a point"),
        (lambda x: None, "not numbers"),
        (lambda x: 1 / 0, "raised ZeroDivisionError"),
        (lambda: 0.0, "raised TypeError"),
    ],
)
def test_a_likelihood_of_the_wrong_shape_is_refused_before_anything_is_drawn(
    function: Any, message: str
) -> None:
    with pytest.raises(cr.PlanError, match=message):
        ais(function, st.multivariate_normal(np.zeros(2), 1.0), name="mine")


def test_a_shape_that_goes_wrong_later_is_named() -> None:
    arm = ais(lambda x: -(x[:10] ** 2).sum(axis=1), st.norm(0, 1), temperatures=3, name="mine")
    with pytest.raises(cr.ArmError, match=r"log_likelihood returned an array of shape \(10,\)"):
        arm(np.random.default_rng(0), 20)


def half(rng: np.random.Generator, size: int) -> Any:
    return rng.random((size, 2))


def failing(rng: np.random.Generator, size: int) -> Any:
    raise RuntimeError("no samples today")


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (3.5, r"prior= cannot be 3\.5: give"),
        (None, "no prior: give distributions"),
        ("normal", "prior= cannot be 'normal'"),
        (SimpleNamespace(rvs=st.norm.rvs), r"no density \(logpdf\)"),
        ([], "no axes"),
        ([st.norm(0, 1), 3.0], r"axis 1 of prior= cannot be 3\.0"),
        ((failing, lambda x: x[:, 0]), "raised RuntimeError: no samples today"),
        ((lambda rng, size: rng.random(size + 1), lambda x: x), r"shape \(3,\)"),
        ((lambda rng, size: np.full((size, 2), np.inf), lambda x: x[:, 0]), "not finite"),
        ((lambda rng, size: rng.random((size, 2)), lambda x: x), "returns 2 numbers at a point"),
        ((lambda rng, size: rng.random((size, 2)), lambda x: 1 / 0), "raised ZeroDivisionError"),
        ((lambda rng, size: rng.random((size, 2)), lambda x: x[:, 0] * np.nan), "is nan"),
        ((half, lambda x: np.where(x[:, 0] > 0.5, 0.0, -np.inf)), "a point of the prior's own"),
        ((lambda rng, size: np.ones((size, 2)), lambda x: x[:, 0]), "coordinate 0 of the prior is"),
        (st.multivariate_normal([0, 0], np.ones((2, 2)), allow_singular=True), "singular"),
    ],
)
def test_a_prior_that_cannot_be_sampled_or_evaluated_is_refused(prior: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        ais(lambda x: -(x**2).sum(axis=1), prior)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (lambda u: 0.1 + 0.9 * u, "from 0 to 1, got one from 0.1 to 1"),
        (lambda u: 0.9 * u, "got one from 0 to 0.9"),
        (lambda u: u[::-1], "got one from 1 to 0"),
        (lambda u: np.sin(np.pi * u / 2 * 5), "must rise at every step"),
        (lambda u: np.round(u), "must rise at every step, got 0 after 0"),
        (lambda u: u[1:], r"shape \(9,\)"),
        (
            lambda u: np.where(np.arange(10) == 4, np.nan, u),
            "must rise at every step, got nan after",
        ),
        (lambda u: "abc", "numbers from 0 to 1"),
        (lambda u: 1 / 0, "schedule raised ZeroDivisionError"),
        ([0.0, 0.5], "got one from 0 to 0.5"),
        ([0.0, 0.7, 0.5, 1.0], "got 0.5 after 0.7"),
        ([1.0], "2 or more"),
        ("cubic", "'power4', 'linear', a function or betas, got 'cubic'"),
    ],
)
def test_a_schedule_that_does_not_rise_from_0_to_1_is_refused(schedule: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message) as caught:
        ais(lambda x: x, st.norm(0, 1), temperatures=10, schedule=schedule, name="mine")
    assert str(caught.value).startswith("arm 'mine': ")


def test_schedules() -> None:
    assert np.allclose(betas_of("power4", 5), [0, 1 / 256, 1 / 16, 81 / 256, 1])
    assert np.allclose(betas_of("linear", 3), [0, 0.5, 1])
    assert np.allclose(betas_of(lambda u: u**2, 3), [0, 0.25, 1])
    assert np.allclose(betas_of([0, 0.1, 1], 99), [0, 0.1, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperatures": 1}, "at least 2"),
        ({"temperatures": 2.5}, "whole number"),
        ({"kernel": "gibbs"}, "kernel must be 'slice', 'random-walk'"),
        ({"sweeps": 0}, "sweeps"),
        ({"width": -1.0}, "width must be above 0"),
        ({"width": "wide"}, "width must be above 0"),
        ({"width": 1.0, "kernel": "random-walk"}, "width is for kernel='slice'"),
        ({"spread": 1.0}, "spread is for kernel='random-walk', got kernel='slice'"),
        ({"limit": 0}, "limit"),
        ({"block": 0}, "block"),
        ({"cost": "seconds"}, "cost must be 'evaluations'"),
        ({"vectorised": "yes"}, "vectorised must be"),
        ({"kernel": "autoregressive", "spread": 1.0}, "spread is for"),
    ],
)
def test_wrong_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        ais(lambda x: -(x**2).sum(axis=1), st.norm(0, 1), **change)


def test_functions_that_fail_later_are_named_with_what_they_raised() -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        if (x > 2).any():
            raise RuntimeError("out of memory")
        return -(x**2).sum(axis=1)

    with pytest.raises(cr.ArmError, match=r"log_likelihood raised RuntimeError"):
        ais(log_likelihood, st.norm(0, 1), kernel="random-walk", name="mine")

    def sample(rng: np.random.Generator, size: int) -> Any:
        return rng.standard_normal((size, 2 if size != 10 else 3))

    prior = (sample, lambda x: st.norm.logpdf(x).sum(axis=1))
    arm = ais(lambda x: -(x**2).sum(axis=1), prior, name="mine")
    with pytest.raises(cr.PlanError, match=r"shape \(10, 3\): return \(10, 2\)"):
        arm(np.random.default_rng(0), 10)


def test_functions_that_write_to_their_points_do_not_move_the_chains() -> None:
    def tidy(x: np.ndarray) -> Any:
        return -np.square(np.exp(x) - 1).sum(axis=-1)

    def untidy(x: np.ndarray) -> Any:
        np.exp(x, out=x)
        return -np.square(x - 1).sum(axis=-1)

    prior = st.multivariate_normal(np.zeros(2), 1)
    for vectorised in (True, False):
        options: dict[str, Any] = {"temperatures": 5, "vectorised": vectorised}
        arms = [ais(function, prior, **options) for function in (tidy, untidy)]
        here, there = (arm(np.random.default_rng(12), 50) for arm in arms)
        assert (here == there).all()


def test_an_arm_of_logs_is_not_averaged_as_if_it_were_none() -> None:
    arm = ais(lambda x: -(x**2).sum(axis=1), st.norm(0, 1), temperatures=3, name="mine")
    with pytest.raises(cr.PlanError, match="arm 'mine' returns logs: give estimate"):
        cr.estimate([arm], draws=100, rng=1)


def test_a_likelihood_that_is_no_function_is_refused() -> None:
    with pytest.raises(cr.PlanError, match="must be a function of points"):
        ais(3.0, st.norm(0, 1))  # type: ignore[arg-type]


def test_a_pilot_that_finds_nothing_says_what_to_do() -> None:
    arguments: Any = (lambda x: np.full(len(x), -np.inf), st.norm(0, 1))
    with pytest.raises(cr.PlanError, match="use kernel='slice'"):
        ais(*arguments, kernel="random-walk")
    assert isinstance(ais(*arguments), Annealed)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda rng, points, beta, f: points[:-1], "returned points of shape"),
        (lambda rng, points, beta, f: points - 10, "where the density is 0"),
    ],
)
def test_a_kernel_that_goes_astray_is_named(kernel: Any, message: str) -> None:
    arm = ais(lambda x: -x[:, 0], st.expon(), temperatures=3, kernel=kernel, name="mine")
    with pytest.raises(cr.ArmError, match=f"arm 'mine': the kernel .*{message}"):
        arm(np.random.default_rng(0), 10)


@pytest.mark.parametrize("spread", [0.0, -1.0, [1.0, 2.0], "wide", lambda beta: np.nan])
def test_a_spread_that_is_none_is_refused(spread: Any) -> None:
    settings: dict[str, Any] = {"temperatures": 3, "kernel": "random-walk", "spread": spread}
    with pytest.raises(cr.PlanError, match="spread must be above 0"):
        ais(lambda x: -x[:, 0], st.expon(), **settings)(np.random.default_rng(0), 10)
