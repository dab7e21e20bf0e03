"""The evidence of the logistic models: data, likelihood, reference, and the annealing kernel."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import croupier as cr
import paper
from croupier.errors import PlanError
from croupier.simulator.randomness import streams
from paper.logistic import Annealed, Evidence, pima
from paper.logistic_kernel import anneal, anneal_plainly, ladder

#: log Z by rows and scaling, known to 0.0005 (standardised) and 0.005 (raw).
KNOWN = {
    (5, True): -3.2360,
    (10, True): -6.7600,
    (50, True): -32.8820,
    (5, False): -5.503,
    (10, False): -12.302,
    (50, False): -49.391,
}
STANDARDISED = [key for key in KNOWN if key[1]]
RAW = [key for key in KNOWN if not key[1]]


def estimate(model: Evidence, temperatures: int, draws: int) -> tuple[float, float]:
    """Return log Z and its standard error."""
    logs = model.log_weights(np.random.default_rng(7), draws, temperatures).log_values
    weights = np.exp(logs - logs.max())
    mean = weights.mean()
    return float(logs.max() + np.log(mean)), float(weights.std(ddof=1) / mean / math.sqrt(draws))


def test_the_data_are_shipped_with_where_they_come_from() -> None:
    features, classes = pima()
    assert features.shape == (768, 8)
    assert features[0].tolist() == [6, 148, 72, 35, 0, 33.6, 0.627, 50]
    assert set(classes) == {0.0, 1.0}
    note = (Path(paper.__file__).parent / "data" / "README.md").read_text("utf-8")
    assert "National Institute of Diabetes and Digestive and Kidney Diseases" in note
    assert "UCI" in note


def test_standardised_features_are_so_over_all_rows() -> None:
    signed = Evidence(rows=768).signed
    features = signed * (2 * pima()[1] - 1)[:, None]
    assert features.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-12)
    assert features.std(axis=0, ddof=1) == pytest.approx(np.ones(8))
    assert np.array_equal(Evidence(rows=5).signed, signed[:5])


def test_the_likelihood_is_that_of_logistic_regression() -> None:
    model, theta = Evidence(rows=10, standardised=False), np.linspace(-0.01, 0.02, 8)
    features, classes = pima()
    chance = 1 / (1 + np.exp(-features[:10] @ theta))
    expected = np.log(np.where(classes[:10] == 1, chance, 1 - chance)).sum()
    assert model.log_likelihood(theta) == pytest.approx(expected)
    assert model.log_likelihood([theta, theta]) == pytest.approx([expected, expected])


def test_the_prior_is_normal() -> None:
    theta = np.linspace(-0.3, 0.4, 8)
    normal = NormalDist(0, math.sqrt(0.05))
    expected = sum(math.log(normal.pdf(one)) for one in theta)
    assert Evidence().log_prior(theta) == pytest.approx(expected)


@pytest.mark.parametrize("key", KNOWN)
def test_the_reference_is_the_known_evidence(key: tuple[int, bool]) -> None:
    log_value, error = Evidence(*key).reference(100_000)
    rounding = 0.0005 if key[1] else 0.005
    assert abs(log_value - KNOWN[key]) < 4 * error + rounding
    assert error < (0.0005 if key[1] else 0.025)


@pytest.mark.parametrize("key", KNOWN)
def test_the_mode_has_no_slope(key: tuple[int, bool]) -> None:
    model = Evidence(*key)
    gradient, _ = model._slopes(model.mode())
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("key", STANDARDISED)
def test_annealing_finds_the_evidence(key: tuple[int, bool]) -> None:
    log_z, error = estimate(Evidence(*key), 400, 500)
    assert error < 0.01
    assert abs(log_z - KNOWN[key]) < 4 * math.hypot(error, 0.0005)


@pytest.mark.parametrize("key", RAW[:2])
def test_annealing_finds_the_evidence_of_raw_features(key: tuple[int, bool]) -> None:
    log_z, error = estimate(Evidence(*key), 2000, 250)
    assert error < 0.03
    assert abs(log_z - KNOWN[key]) < 4 * math.hypot(error, 0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "draws"), list(zip(RAW, (1000, 1500, 2500), strict=True)))
def test_annealing_finds_the_evidence_of_raw_features_to_a_fiftieth(
    key: tuple[int, bool], draws: int
) -> None:
    log_z, error = estimate(Evidence(*key), 8000, draws)
    assert abs(log_z - KNOWN[key]) < 4 * math.hypot(error, 0.005)
    assert abs(log_z - KNOWN[key]) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("rows", [5, 10, 50])
def test_the_relative_variance_falls_as_the_temperatures_rise(rows: int) -> None:
    # Each of two variances of 6000 nearly normal draws is known to 2 %: 0.7 is five errors.
    errors = [estimate(Evidence(rows), number, 6000)[1] for number in (400, 2000)]
    assert (errors[0] / errors[1]) ** 2 == pytest.approx(5, abs=0.7)


@pytest.mark.parametrize(("rows", "standardised"), [(5, True), (10, True), (50, True), (50, False)])
def test_the_kernel_is_the_straightforward_loop_but_faster(rows: int, standardised: bool) -> None:
    model = Evidence(rows, standardised)
    columns, filled = model.columns
    quick, plain = np.empty((20, 2)), np.empty((20, 2))
    settings = (ladder(100), model.prior_variance, model.width)
    anneal(streams(np.uint64(3), 20), columns, filled, *settings, quick)
    anneal_plainly(streams(np.uint64(3), 20), columns, rows, *settings, plain)
    assert quick[:, 0] == pytest.approx(plain[:, 0], abs=1e-9)
    assert np.array_equal(quick[:, 1], plain[:, 1])


def test_all_rows_fit_under_one_logarithm() -> None:
    model = Evidence(768, standardised=False)
    columns, filled = model.columns
    quick, plain = np.empty((2, 2)), np.empty((2, 2))
    settings = (ladder(6), model.prior_variance, model.width)
    anneal(streams(np.uint64(3), 2), columns, filled, *settings, quick)
    anneal_plainly(streams(np.uint64(3), 2), columns, 768, *settings, plain)
    assert quick[:, 0] == pytest.approx(plain[:, 0], rel=1e-11)


def test_a_likelihood_that_does_not_depend_on_theta_is_found_exactly() -> None:
    out = np.empty((3, 2))
    anneal(streams(np.uint64(3), 3), np.zeros((8, 8)), np.zeros(8), ladder(50), 0.05, 0.7, out)
    assert out[:, 0] == pytest.approx(np.full(3, -8 * math.log(2)))
    # At least two ends and a point, for 8 coordinates and 48 temperatures, and the first theta.
    assert (out[:, 1] >= 1 + 3 * 8 * 48).all()


def test_sweeps_keep_the_prior_where_the_likelihood_is_flat() -> None:
    # Two temperatures make no sweep, three make one; the weight reads theta_0 and theta_1 alike.
    columns, start = np.zeros((8, 8)), np.zeros(8)
    columns[0, 0], start[1:] = 1.0, 1e6
    values = []
    for betas in ([0.0, 1e-9], [0.0, 1e-15, 1e-9]):
        out = np.empty((20_000, 2))
        draws = streams(np.uint64(5), len(out))
        anneal(draws, columns, start, np.array(betas), 0.05, 0.7, out)
        # log(1 + e^-z) - log 2 is close to -z/2 + z^2/8, and z is the first coordinate.
        values.append(out[:, 0] / 1e-9 + math.log(2))
    before, after = (np.array(v) for v in values)
    spread = math.sqrt(0.05) / 2
    assert abs(after.std() / spread - 1) < 4 / math.sqrt(2 * len(after)) + 0.01
    assert abs(after.mean() - before.mean()) < 4 * spread * math.sqrt(2 / len(after))


def test_an_arm_reports_likelihood_evaluations_and_survives_pickling() -> None:
    arm = Evidence(rows=10).arm(50)
    assert arm.name == "50 temperatures"
    again = pickle.loads(pickle.dumps(arm))
    first, second = (one.draw(np.random.default_rng(1), 4) for one in (arm, again))
    assert np.array_equal(first.values, second.values)
    assert (np.asarray(first.costs) > 3 * 8 * 48).all()


def test_arms_share_the_evidence_and_run_under_either_clock() -> None:
    arms = Evidence(rows=5).arms((20, 100))
    counted = cr.estimate(arms, cost=3e6, rng=7)
    assert abs(math.log(counted.value) - KNOWN[5, True]) < 4 * counted.stderr / counted.value
    timed = cr.estimate(arms, seconds=30, draws=200, clock="cpu", rng=7)
    assert timed.draws == 200
    assert abs(math.log(timed.value) - KNOWN[5, True]) < 5 * timed.stderr / timed.value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Evidence(rows=769), "rows must be at most 768"),
        (lambda: Evidence(rows=0), "rows"),
        (lambda: Evidence(prior_variance=-1.0), "prior_variance"),
        (lambda: Evidence().arm(1), "temperatures must be at least 2"),
        (lambda: Annealed(Evidence(), 1)(np.random.default_rng(0), 1), "temperatures"),
        (lambda: Evidence().reference(100, df=-1.0), "df"),
    ],
)
def test_what_makes_no_model_is_refused(make: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make()  # type: ignore[operator]
