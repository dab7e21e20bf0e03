"""What any family has seen counts: in the fits, in the error and in the warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.arms.base import Arm
from croupier.data.draws import Batch
from croupier.data.plan import Plan
from croupier.engines.perform import perform
from croupier.functions.function import INTEGRAND, Function
from croupier.integration.changes import Identity, NormalMixture
from croupier.integration.fits import fit_normal_mixture, tempered
from croupier.integration.net_arm import NetArm, Segment
from croupier.integration.pool import Pool
from croupier.integration.race_result import pooled_of, race_warnings
from croupier.integration.runner import Runner
from croupier.integration.standing import standing_of
from croupier.spaces.axes import Axes, Bounds


def integrate(f: Any, over: Any, **options: Any) -> cr.Result:
    return cr.integrate(f, over, **{"rng": 7, "progress": False, **options})


def test_the_points_of_all_families_together_are_those_of_the_mixture_of_their_densities() -> None:
    changes = [Identity(), NormalMixture(np.array([1.0, 0.0]), 0.5 * np.eye(2))]
    runners = [
        Runner(k, name, change) for k, (name, change) in enumerate(zip("ab", changes, strict=True))
    ]
    pool = Pool(2)
    for runner, count in zip(runners, (256, 1024), strict=True):
        segment = Segment(7, runner.number, runner.change, (0, count), 0, 4, 0, count)
        jac = runner.change.move(segment.points(2)).jac
        values = np.ones((segment.size, 1)) if jac is None else jac[:, None]
        pool.add(segment, np.arange(segment.size), values)
    at = pool.everything(runners)
    assert at.points == 4 * (256 + 1024) == len(at.f)
    assert at.f == pytest.approx(1.0)
    assert at.weight.sum() / at.points == pytest.approx(1.0, rel=0.02)
    most = 1 / (1 / 5 + 4 / 5 * 0.1)  # the families have 1/5 and 4/5 of the points
    assert at.weight.max() <= most + 1e-9
    runners[1].points = 4 * 4096  # three quarters of them came when the pool was full
    seen = pool.seen(runners[1], runners)
    assert seen.points == 4 * (256 + 4096)
    p = 1 / seen.values[:, 0]  # f is 1
    assert seen.relative * p == pytest.approx((17 * p - 1) / 16)


def test_a_tempered_fit_keeps_a_peak_that_is_seen_from_afar_only() -> None:
    """The peaks are at (1, 1, 1, 1) and (-1, -1, -1, -1), with a standard deviation of 0.1."""
    z = np.random.default_rng(7).normal(size=(64, 4))
    logs = -50 * np.square(z[:, None, :] - np.array([[1.0], [-1.0]])).sum(axis=2)
    size, one = np.exp(logs.max(axis=1)), np.ones(64)
    weight = size / size.sum()
    assert 1 / np.square(weight).sum() < 2  # a single point has nearly everything
    soft = tempered(size, one, 100)
    assert np.square(soft.sum()) / np.square(soft).sum() == pytest.approx(32)
    fitted = fit_normal_mixture(z, soft, one)
    assert fitted is not None
    deviations = np.linalg.norm(fitted.root, axis=1)
    for peak in (-1, 1):
        assert (np.abs(fitted.mean - peak) < 2 * deviations).all()


def test_a_value_beyond_the_largest_of_many_points_is_rare() -> None:
    """Nets integrate a sum over 20 axes far more exactly than its largest values are known."""
    for seed in (13, 15, 17):  # 512 points of another family made its error bar 12 times longer
        result = integrate(lambda x: x.sum(axis=1), [(0, 1)] * 20, draws=20_000, rng=seed)
        assert abs(result.value - 10) < 4 * result.stderr
        assert not result.warnings


def test_what_only_another_family_has_seen_makes_the_error_longer_and_is_said() -> None:
    """The normal family has not seen a second peak; a single point of the plain nets has."""
    runner = Runner(1, "normal", Identity())
    noise = Function(lambda x: np.random.default_rng(7).uniform(0.9, 1.1, len(x)), "all", INTEGRAND)
    segment = Segment(7, 1, Identity(), (0, 64), 0, 4, 0, 64)
    arm = Arm(NetArm(noise, Axes((Bounds(0.0, 1.0),) * 2), "normal"), "normal")
    runner.add(perform(Plan(("normal",), 7), arm, Batch(0, "normal", 256, 7, 256, segment)))
    runner.complete(64)
    own = np.sqrt(runner.error.variance)
    standing = standing_of([runner])
    assert not race_warnings(standing, pooled_of(["normal"], [runner], standing, 256))
    runner.misses(10 * own)
    standing = standing_of([runner])
    (warning,) = race_warnings(standing, pooled_of(["normal"], [runner], standing, 256))
    assert "the error bar was made 10.0 times longer" in warning
    assert standing.variance == pytest.approx(100 * own**2)


def test_a_second_peak_is_found_from_points_far_away_from_both() -> None:
    def peaks(x: Any) -> Any:
        away = [np.square(x - centre).sum(axis=1) for centre in (0.2, 0.65)]
        return sum(np.exp(-each / (2 * 0.02**2)) for each in away)

    for seed in range(3):  # fits to |f| alone returned one half
        result = integrate(peaks, [(0, 1)] * 3, rtol=0.03, draws=10**5, rng=seed)
        assert abs(result.value - 2 * (0.02**2 * 2 * np.pi) ** 1.5) < 4 * result.stderr


def test_fits_are_compared_also_if_the_first_family_has_seen_nothing_but_underflow() -> None:
    """The values of the first family are below 1e-150, so their squares are 0, or nearly so."""
    result = integrate(
        lambda x: np.exp(-np.square(x - 50).sum(axis=1) / 2), [(-np.inf, np.inf)] * 2,
        rtol=1e-3, draws=100_000, rng=5,
    )  # fmt: skip
    assert result.stopped == "tolerance"
    assert abs(result.value - 2 * np.pi) < 4 * result.stderr


def test_two_peaks_in_the_plane_are_both_found() -> None:
    def peaks(x: Any) -> Any:
        away = [np.square(x - centre).sum(axis=1) for centre in (0.25, 0.8)]
        return sum(np.exp(-each / (2 * 0.005**2)) for each in away)

    result = integrate(peaks, [(0, 1)] * 2, rtol=0.01, draws=50_000, rng=102)
    assert result.stopped == "tolerance"
    assert abs(result.value - 4 * np.pi * 0.005**2) < 4 * result.stderr
