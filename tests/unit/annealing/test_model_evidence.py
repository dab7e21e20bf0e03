"""cr.evidence: one call for the evidence of a model, whatever it picks as arms."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.special import betaln

import croupier as cr
from croupier.annealing.annealed import ais
from croupier.annealing.evidence_answer import Drawn
from croupier.annealing.models import model_of
from croupier.annealing.prior_checks import log_mass

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]


def gaussian(points: np.ndarray, data: np.ndarray, shift: float = 0.0) -> Any:
    z = (points - data) / 0.5
    constant = data.size * np.log(0.5 * np.sqrt(2 * np.pi))
    return -0.5 * (z * z).sum(axis=-1) - constant + shift


def gaussian_model(d: int, shift: float = 0.0) -> tuple[Callable[..., Any], Any, float]:
    data = np.linspace(-1, 1, d)
    truth = float(st.norm.logpdf(data, 0, 1.25**0.5).sum()) + shift
    return partial(gaussian, data=data, shift=shift), st.multivariate_normal(np.zeros(d), 1), truth


def z_score(result: cr.Result, truth: float) -> float:
    return float((result.log_value - truth) / result.log_stderr)


@pytest.mark.parametrize("d", [1, 2, 10, pytest.param(50, marks=pytest.mark.slow)])
def test_gaussian_models_in_several_dimensions(d: int) -> None:
    log_likelihood, prior, truth = gaussian_model(d)
    result = cr.evidence(log_likelihood, prior, draws=3000, rng=1)
    assert abs(z_score(result, truth)) < 4
    assert result.log_stderr < 0.1


@pytest.mark.parametrize("kernel", ["autoregressive", "random-walk", "slice"])
def test_every_kernel_serves(kernel: Any) -> None:
    log_likelihood, prior, truth = gaussian_model(3)
    result = cr.evidence(
        log_likelihood, prior, temperatures=(5, 20), kernel=kernel, draws=40_000, rng=2
    )
    assert list(result.arms.keys()) == ["ais-5", "ais-20"]
    assert abs(z_score(result, truth)) < 4


def test_beta_binomial_with_a_function_of_one_point() -> None:
    a, b, k, n = 2, 3, 17, 20

    def log_likelihood(p: np.ndarray) -> float:
        return float(k * np.log(p[0]) + (n - k) * np.log1p(-p[0]))

    truth = float(betaln(a + k, b + n - k) - betaln(a, b))
    result = cr.evidence(log_likelihood, st.beta(a, b), draws=2000, rng=3)
    assert abs(z_score(result, truth)) < 4


def test_two_modes() -> None:
    m, s = 3.0, 0.5

    def log_likelihood(x: np.ndarray) -> Any:
        one, other = (-0.5 * ((x - c) ** 2).sum(axis=1) / s**2 for c in (m, -m))
        return np.logaddexp(one, np.log(2) + other) - 2 * np.log(s * np.sqrt(2 * np.pi))

    truth = float(np.log(3) + 2 * st.norm.logpdf(m, 0, np.hypot(2, s)))
    result = cr.evidence(log_likelihood, [st.norm(0, 2)] * 2, draws=8_000, rng=4)
    assert abs(z_score(result, truth)) < 4


def test_an_evidence_that_no_double_holds() -> None:
    log_likelihood, prior, truth = gaussian_model(5, shift=-5000.0)
    result = cr.evidence(log_likelihood, prior, draws=3000, rng=5)
    assert abs(z_score(result, truth)) < 4
    assert result.value == 0


@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_a_likelihood_of_zero_on_part_of_the_prior(scale: float) -> None:
    # Where the data allow a hundredth of the prior, a pilot sees next to nothing.
    def log_likelihood(x: np.ndarray) -> Any:
        return np.where(x[:, 0] < 0.5 * scale, 0.0, -np.inf)

    result = cr.evidence(log_likelihood, st.uniform(0, 1), draws=8000, rng=6)
    assert abs(z_score(result, np.log(0.5 * scale))) < 4


def test_it_stops_at_a_tolerance_of_log_z() -> None:
    log_likelihood, prior, truth = gaussian_model(4)
    result = cr.evidence(log_likelihood, prior, draws=10**6, rtol=0.05, rng=7)
    low, high = result.log_interval  # type: ignore[misc]
    assert result.stopped == "tolerance"
    assert high - low <= 0.1
    assert low < truth < high


def test_a_budget_of_evaluations_is_kept() -> None:
    log_likelihood, prior, truth = gaussian_model(3)
    result = cr.evidence(
        log_likelihood, prior, temperatures=(3, 12), kernel="slice", cost=200_000, rng=8
    )
    assert result.stopped == "cost"
    assert 150_000 < result.cost < 260_000
    assert abs(z_score(result, truth)) < 4
    prices = [row.cost_per_draw for row in result.arms]
    assert prices[1] > 5 * prices[0] > 5 * 3  # type: ignore[operator]


def correlated_model(d: int, rho: float) -> tuple[Callable[..., Any], Any]:
    precision = np.linalg.inv(0.01 * ((1 - rho) * np.eye(d) + rho))

    def log_likelihood(x: np.ndarray) -> Any:
        z = x - 0.7
        return -0.5 * ((z @ precision) * z).sum(axis=1)

    return log_likelihood, st.multivariate_normal(np.zeros(d), np.eye(d))


@pytest.mark.parametrize("prior", [[st.norm(0, 1)] * 2, [st.uniform(-3, 6)] * 2])
def test_compiled_slices_are_compiled_once(prior: Any) -> None:
    from numba import njit

    from croupier.annealing.compiled_slices import annealing_of
    from croupier.functions.compiled import each_point

    @njit
    def log_likelihood(x: Any) -> Any:
        return -2 * ((x[0] - 1) ** 2 + (x[1] - 1) ** 2)

    def compiled() -> tuple[int, int]:
        return annealing_of.cache_info().misses, each_point.cache_info().misses

    assert ais(log_likelihood, prior, kernel="slice", temperatures=4).compiled
    results, before = [], compiled()
    for seed in (1, 2):
        results.append(
            cr.evidence(log_likelihood, prior, kernel="slice", temperatures=(4, 12),
                        draws=50_000, rng=seed)
        )  # fmt: skip
        assert compiled() == (before[0] + 1, before[1])
    one = prior[0].expect(lambda x: np.exp(-2 * (x - 1) ** 2))
    assert max(abs(z_score(result, 2 * np.log(one))) for result in results) < 4


def independent(*coordinates: Any) -> tuple[Any, Any]:
    def sample(rng: np.random.Generator, size: int) -> Any:
        return np.column_stack([each.rvs(size, random_state=rng) for each in coordinates])

    def logpdf(x: np.ndarray) -> Any:
        columns = zip(coordinates, x.T, strict=True)
        return sum(each.logpdf(column) for each, column in columns)

    return sample, logpdf


@pytest.mark.parametrize(
    ("prior", "constant"),
    [
        (independent(*[st.norm(0, 1)] * 3), 3.0),
        (independent(*[st.norm(2, 5)] * 3), -0.8),
        (independent(st.uniform(-5, 10), st.expon()), np.log(10)),
    ],
)
def test_a_prior_that_is_not_normalised_is_refused_where_that_matters(
    prior: Any, constant: float
) -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        return -(x**2).sum(axis=1)

    sample, logpdf = prior
    wrong = (sample, lambda x: logpdf(x) + constant)
    with pytest.raises(cr.PlanError, match=r"not normalised.* about e\^") as caught:
        cr.evidence(log_likelihood, wrong, draws=2000)
    shown = float(str(caught.value).split("e^")[1].split(" ")[0])
    assert abs(shown - constant) < 0.6
    exact = cr.evidence(log_likelihood, prior, draws=2000, rng=2)
    annealed = cr.evidence(log_likelihood, wrong, temperatures=12, draws=12_000, rng=2)
    error = np.hypot(exact.log_stderr, annealed.log_stderr)
    assert abs(exact.log_value - annealed.log_value) < 4 * error


@pytest.mark.parametrize(
    "prior",
    [
        independent(*[st.cauchy(0, 1)] * 3),
        independent(st.lognorm(3), st.gamma(0.3)),
        independent(*[st.uniform(0, 1)] * 30),
        independent(*[st.expon()] * 20),
    ],
)
def test_the_mass_of_a_prior_is_known_with_its_error(prior: Any) -> None:
    model = model_of(lambda x: -x.sum(axis=1), prior, vectorised=True)
    found = np.array([log_mass(model, np.random.default_rng(seed)) for seed in range(20)])
    assert np.abs(found[:, 0] / found[:, 1]).max() < 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": None}, "no budget"),
        ({"temperatures": 1}, "at least 2 each, got 1"),
        ({"temperatures": ()}, "at least 2 each"),
        ({"temperatures": (4, 4)}, "different numbers"),
        ({"temperatures": (2.5,)}, "whole number"),
        ({"temperatures": 4, "schedule": lambda u: 0.5 * u}, "from 0 to 1"),
        ({"schedule": "linear"}, "give temperatures= too"),
        ({"schedule": lambda u: u}, "give temperatures= too"),
        ({"temperatures": 4, "schedule": "power"}, "schedule must be 'power4', .* got 'power'"),
        ({"schedule": [0, 0.1]}, "from 0 to 1, got one from 0 to 0.1"),
        ({"temperatures": (4, 8), "schedule": [0, 0.1, 1]}, "your own betas make one arm"),
        ({"draws": None, "cost": -1}, "cost must be a finite number above 0"),
        ({"kernel": "gibbs"}, "kernel must be"),
        ({"sweeps": 2}, "sweeps is for your own ladder"),
        ({"temperatures": 4, "sweeps": 0}, "sweeps"),
        ({"anytime": True}, "a new epoch forgets older draws"),
        ({"log": False}, "leave out log="),
        ({"prior": None}, "no prior"),
        ({"log_likelihood": 3}, "must be a function of points"),
    ],
)
def test_wrong_use_is_refused(change: dict[str, Any], message: str) -> None:
    log_likelihood, prior, _ = gaussian_model(2)
    arguments: dict[str, Any] = {
        "log_likelihood": log_likelihood, "prior": prior, "draws": 100, **change
    }  # fmt: skip
    with pytest.raises(cr.PlanError, match=message):
        cr.evidence(**arguments)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("draw", ": did you mean 'draws'?"),
        ("temperature", ": did you mean 'temperatures'?"),
        ("vectorized", ": did you mean 'vectorised'?"),
        ("banana", ""),
    ],
)
def test_an_unknown_setting_is_named_with_the_likeliest_one(name: str, hint: str) -> None:
    log_likelihood, prior, _ = gaussian_model(2)
    with pytest.raises(TypeError) as caught:
        cr.evidence(log_likelihood, prior, **{name: 5})
    assert str(caught.value) == f"evidence() got an unexpected keyword argument {name!r}{hint}"


@pytest.mark.parametrize("kind", [list, np.array])
def test_betas_of_ones_own_say_how_many_there_are(kind: Any) -> None:
    log_likelihood, prior, truth = gaussian_model(2)
    betas = kind([0.0, 0.01, 0.1, 0.4, 1.0])
    result = cr.evidence(log_likelihood, prior, schedule=betas, draws=15_000, rng=1)
    assert list(result.arms.keys()) == ["ais-5"]
    assert abs(z_score(result, truth)) < 4


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_likelihood_that_is_no_likelihood_is_named_with_arm_and_value(value: float) -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        return np.where(x[:, 0] > 4.5, value, -(x[:, 0] ** 2))

    message = rf"^arm 'ais-2', ticket \d+: log_likelihood is {value}"
    with pytest.raises(cr.ArmError, match=message) as caught:
        cr.evidence(log_likelihood, st.norm(0, 1), temperatures=2, schedule="linear",
                    kernel="slice", draws=10**6, rng=1)  # fmt: skip
    assert str(caught.value.value) == str(value)


# -- where plain draws of the prior will do


def flat(points: np.ndarray) -> Any:
    """Return a likelihood that hardly varies over the prior N(0, 1): log Z = 0.02."""
    return 0.2 * points[..., 0]


def never(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the model was evaluated")


def test_a_stored_run_goes_on_with_another_tolerance(tmp_path: Any) -> None:
    settings: dict[str, Any] = {"seconds": 60, "rng": 7, "store": tmp_path / "run.db"}
    first = cr.evidence(flat, st.norm(0, 1), rtol=0.05, **settings)
    assert cr.evidence(flat, st.norm(0, 1), rtol=0.002, **settings).draws > first.draws


@pytest.mark.parametrize("share", [1e-4, 3e-3, 0.5, 1.0])
def test_a_tolerance_where_the_likelihood_is_mostly_zero(share: float) -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        return np.where(x[:, 0] <= share, 0.0, -np.inf)

    result = cr.evidence(log_likelihood, st.uniform(0, 1), draws=20_000, rtol=0.1, rng=1)
    if result.log_value == np.log(share):  # everywhere 1: nothing varies
        assert share == 1
    else:
        assert abs(z_score(result, np.log(share))) < 4


# -- one model is not taken for another


@pytest.mark.parametrize("settings", [{}, {"temperatures": 4, "schedule": "linear"}])
def test_a_stored_run_of_another_model_is_refused(tmp_path: Any, settings: Any) -> None:
    def model(datum: float) -> Any:
        return lambda x: -2 * (x[:, 0] - datum) ** 2

    settings = {"draws": 1500, "rng": 1, "store": tmp_path / "run.db", **settings}
    first = cr.evidence(model(1.0), st.norm(0, 1), **settings)
    again = cr.evidence(model(1.0), st.norm(0, 1), **settings)
    assert again.log_value == first.log_value
    for likelihood, prior in ((model(1.01), st.norm(0, 1)), (model(1.0), st.norm(0, 1.01))):
        with pytest.raises(cr.StoreError, match="version of arm"):
            cr.evidence(likelihood, prior, **settings)


def test_wrong_settings_are_named_before_anything_is_evaluated() -> None:
    with pytest.raises(TypeError, match=r"evidence\(\) got an unexpected keyword argument 'draw'"):
        cr.evidence(never, st.norm(0, 1), draw=100)  # type: ignore[call-arg]
    with pytest.raises(cr.PlanError, match="no budget"):
        cr.evidence(never, st.norm(0, 1), rtol=0.1)


# -- the search


def test_the_same_bits_whatever_the_width_and_the_workers() -> None:
    log_likelihood, prior, _ = gaussian_model(3)
    one = cr.evidence(log_likelihood, prior, draws=2000, rng=3)
    four = cr.evidence(log_likelihood, prior, draws=2000, rng=3, width=4, workers=2)
    assert one.log_value == four.log_value
    assert one.draws == four.draws == 2000


@pytest.mark.parametrize("tickets", [5, 40, 120])
def test_a_run_that_was_stopped_in_any_phase_goes_on_with_the_same_bits(
    tmp_path: Any, tickets: int
) -> None:
    log_likelihood, prior, _ = gaussian_model(3)
    settings: dict[str, Any] = {"draws": 2500, "rng": 3}
    whole = cr.evidence(log_likelihood, prior, **settings)
    store = tmp_path / "run.db"
    part = cr.evidence(
        log_likelihood, prior, store=store,
        callback=lambda progress: progress.tickets >= tickets, **settings,
    )  # fmt: skip
    assert part.draws < 2500
    assert cr.evidence(log_likelihood, prior, store=store, **settings).log_value == whole.log_value


def test_a_gradient_takes_fewer_evaluations_in_many_dimensions() -> None:
    data = np.linspace(-1, 1, 30)
    log_likelihood, prior, truth = gaussian_model(30)
    settings: dict[str, Any] = {"draws": 3000, "rng": 4}
    plain = cr.evidence(log_likelihood, prior, **settings)
    result = cr.evidence(log_likelihood, prior, gradient=lambda x: -4 * (x - data), **settings)
    assert abs(z_score(result, truth)) < 4
    assert result.details["search"]["evaluations"] <= plain.details["search"]["evaluations"]


def test_a_narrow_mode_beside_a_broad_one_is_found() -> None:
    # Half of the mass is in a mode with a tenth of the width.
    def log_likelihood(x: np.ndarray) -> Any:
        broad, narrow = (
            -0.5 * ((x - m) ** 2).sum(axis=1) / s**2 - 2 * np.log(s) for m, s in ((-1, 1), (2, 0.1))
        )
        return np.logaddexp(broad, narrow) - np.log(4 * np.pi)

    truth = -2 * np.log(10)
    result = cr.evidence(log_likelihood, [st.uniform(-5, 10)] * 2, draws=20_000, rng=5)
    assert abs(z_score(result, truth)) < 4


def many_modes(x: np.ndarray, places: np.ndarray, width: float) -> Any:
    squares = [((x - place) ** 2).sum(axis=1) for place in places]
    density = -0.5 * np.array(squares) / width**2
    constant = x.shape[1] * np.log(width * np.sqrt(2 * np.pi)) + np.log(len(places))
    return np.logaddexp.reduce(density, axis=0) - constant


@pytest.mark.parametrize(("d", "modes"), [(20, 2), (20, 5), (8, 10)])
def test_a_search_that_had_no_time_for_all_modes_says_so(d: int, modes: int) -> None:
    """With 3000 evaluations there are a few climbs, and prior points that these do not explain."""
    places = np.random.default_rng(d).uniform(-8, 8, (modes, d))
    log_likelihood = partial(many_modes, places=places, width=0.4)
    result = cr.evidence(log_likelihood, [(-10, 10)] * d, draws=3000, rng=1, vectorised=True)
    error = result.log_value + d * np.log(20)
    assert abs(error) < 4 * result.log_stderr or any("others may" in w for w in result.warnings)


def test_a_result_says_how_small_a_mode_could_be_missing() -> None:
    log_likelihood, prior, _ = gaussian_model(2)
    result = cr.evidence(log_likelihood, prior, draws=10_000, rng=1)
    search = result.details["search"]
    assert search["prior_points"] == 3000
    assert search["could_hide"] == pytest.approx(np.log(20) / 3000)
    assert "a mode whose basin holds less than 0.001 of the prior" in str(result)


@pytest.mark.parametrize(("scale", "warns"), [(0.002, False), (0.05, True)])
def test_a_heavy_tail_warns_where_weights_vary_more_than_their_mean(
    scale: float, warns: bool
) -> None:
    u = (np.arange(4000) + 0.5) / 4000
    drawn = Drawn.of(np.log(1 + scale * u**-0.9))
    assert drawn.shape > 0.7
    assert drawn.effective > 100
    assert drawn.uncertain == warns


def test_an_answer_that_rests_on_nothing_has_no_error() -> None:
    # A shell in 12 dimensions: no mixture covers it with so few evaluations.
    def log_likelihood(x: np.ndarray) -> Any:
        return -0.5 * ((np.linalg.norm(x, axis=1) - 3) / 0.01) ** 2

    with pytest.warns(cr.CroupierWarning, match="not usable"):
        result = cr.evidence(log_likelihood, [st.uniform(-5, 10)] * 12, draws=1000, rng=6)
    low, high = result.log_interval  # type: ignore[misc]
    assert low == -np.inf
    assert high == np.inf


def test_draws_from_the_posterior_take_no_evaluations() -> None:
    calls = 0
    log_likelihood, prior, _ = gaussian_model(2)

    def counted(x: np.ndarray) -> Any:
        nonlocal calls
        calls += len(x) if x.ndim == 2 else 1
        return log_likelihood(x)

    result = cr.evidence(counted, prior, draws=4000, rng=7)
    before = calls
    draws = result.posterior(2000, names=["a", "b"])
    assert calls == before
    assert np.abs((draws.mean - 0.8 * np.array([-1, 1])) / draws.stderr).max() < 4


def test_a_program_is_a_log_likelihood() -> None:
    code = """import sys
for line in sys.stdin:
    x, y = map(float, line.split())
    print(-2 * (x - 1) ** 2 - 2 * y**2)"""
    program = cr.Program([sys.executable, "-S", "-c", code], timeout=60)
    prior = [st.norm(0, 1)] * 2
    result = cr.evidence(program, prior, draws=1500, rng=7)
    function = cr.evidence(
        lambda x: -2 * (x[:, 0] - 1) ** 2 - 2 * x[:, 1] ** 2, prior, draws=1500, rng=7
    )
    assert result.log_value == pytest.approx(function.log_value, abs=1e-12)
    truth = np.log(np.pi / 2) + st.norm.logpdf([1, 0], 0, 1.25**0.5).sum()
    assert abs(z_score(result, truth)) < 4


def test_a_program_that_prints_no_numbers_is_refused_before_the_run() -> None:
    with pytest.raises(cr.PlanError, match="the program"):
        cr.evidence(cr.Program(["echo", "no"], timeout=60), st.norm(0, 1), draws=100)
