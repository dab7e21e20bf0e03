"""The cubature in a race: few evaluations where f is smooth, never a silent wrong answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr

SQUARE = [(0, 1)] * 2
WAVES = 1 + float(((np.exp(10j) - 1) * (np.exp(7j) - 1) / (10j * 7j)).real)


def waves(x: Any) -> Any:
    return 1 + np.cos(10 * x[:, 0] + 7 * x[:, 1])


def integrate(f: Any, over: Any, **options: Any) -> cr.Result:
    return cr.integrate(f, over, **{"rng": 7, "progress": False, **options})


def test_a_smooth_integrand_needs_few_evaluations() -> None:
    result = integrate(waves, SQUARE, rtol=1e-4, draws=10**6)
    assert result.stopped == "tolerance"
    assert result.arms["cubature"].weight == 1
    assert result.draws < 4000  # the nets alone need 50 000
    assert abs(result.value / WAVES - 1) < 1e-4
    assert not result.warnings


def test_the_row_of_the_cubature_has_its_value_as_the_mean() -> None:
    result = integrate(lambda x: np.exp(x[:, 0]), (0, 1), rtol=1e-3, draws=10**5)
    row = result.arms["cubature"]
    assert row.mean == pytest.approx(np.e - 1, rel=1e-12)
    assert result.draws == sum(row.draws for row in result.arms)


def test_more_digits_are_checked_at_more_points() -> None:
    draws = [
        integrate(lambda x: np.exp(x[:, 0]), (0, 1), rtol=rtol, draws=10**6).draws
        for rtol in (1e-3, 1e-5)
    ]
    assert draws[0] < 300  # 16 nodes, and the 256 points of nets that every run has
    assert 1000 < draws[1] < 5000


def test_many_dimensions_have_no_cubature() -> None:
    assert "cubature" in integrate(waves, SQUARE, draws=200).arms
    assert "cubature" not in integrate(waves, [(0, 1)] * 3, draws=200).arms


@pytest.mark.parametrize("width", [1, 4])
def test_workers_a_store_and_a_resumed_run_change_no_bit(tmp_path: Path, width: int) -> None:
    options: dict[str, Any] = {"rtol": 1e-5, "draws": 10**5, "width": width}
    alone = integrate(waves, SQUARE, **options)
    with ThreadPoolExecutor(2) as threads:
        shared = integrate(waves, SQUARE, executor=threads, **options)
    store = tmp_path / "run.db"

    def stop(progress: Any) -> bool:
        return bool(progress.tickets >= 5)

    integrate(waves, SQUARE, store=store, callback=stop, **options)
    resumed = integrate(waves, SQUARE, store=store, **options)
    assert alone.arms["cubature"].draws > 64
    assert alone.value == shared.value == resumed.value
    assert alone.stderr == shared.stderr == resumed.stderr
    assert alone.draws == shared.draws == resumed.draws
    assert cr.open_run(store).result().value == alone.value


@pytest.mark.parametrize("draws", [64, 100, 128, 200, 1000, 5000])
def test_draws_are_met_exactly_with_nodes_among_them(draws: int) -> None:
    result = integrate(waves, SQUARE, draws=draws)
    assert result.draws == draws
    assert abs(result.value - WAVES) < 6 * result.stderr


def test_a_budget_that_ended_within_a_doubling_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    short = integrate(waves, SQUARE, draws=700, store=store)
    longer = integrate(waves, SQUARE, draws=20_000, store=store)
    assert longer.draws == 20_000
    assert longer.stderr < short.stderr
    assert abs(longer.value - WAVES) < 6 * longer.stderr


def spiked(x: Any) -> Any:
    """A spike of 0.3 % of the line with a third of the integral; no node is near it."""
    return 1 + 200 * np.exp(-0.5 * np.square((x[:, 0] - 0.4997) / 0.001))


def test_a_spike_between_the_nodes_is_seen_by_the_nets() -> None:
    value = 1 + 200 * 0.001 * np.sqrt(2 * np.pi)
    for seed in range(5):
        result = integrate(spiked, (0, 1), draws=4000, rng=seed)
        low, high = result.interval
        assert low < value < high or result.warnings


def test_a_jump_gives_no_short_error_bar() -> None:
    off = []
    for seed in range(10):
        result = integrate(lambda x: 1.0 * (x.sum(axis=1) < 0.8), SQUARE, draws=2000, rng=seed)
        off.append(abs(result.value - 0.32) / result.stderr)
    assert max(off) < 4
    assert np.median(off) < 1.5


def test_distributions_infinite_ends_and_vectors() -> None:
    mean = integrate(lambda x: np.cos(x[:, 0]), stats.norm(), rtol=1e-4, draws=10**6)
    assert abs(mean.value - np.exp(-0.5)) < 6 * mean.stderr
    bell = integrate(lambda x: np.exp(-(x**2)), (-np.inf, np.inf), rtol=1e-4, draws=10**6)
    assert abs(bell.value - np.sqrt(np.pi)) < 6 * bell.stderr

    def both(x: Any) -> Any:
        return np.column_stack((waves(x), x[:, 0] * x[:, 1]))

    pair = integrate(both, SQUARE, rtol=1e-4, draws=10**6)
    assert (np.abs(pair.value - [WAVES, 0.25]) < 6 * pair.stderr).all()
    assert pair.arms["cubature"].weight == 1
    assert (np.sqrt(np.diag(pair.covariance)) >= 0.999 * pair.stderr).all()


def test_an_integrand_that_fails_at_a_node_names_the_point() -> None:
    def f(x: Any) -> Any:
        return np.where(np.abs(x[:, 0] - 0.0052995) < 1e-6, np.nan, x[:, 0])  # the first node

    with pytest.raises(cr.ArmError, match="f is nan at the point"):
        integrate(f, (0, 1), rtol=1e-6, draws=10**5)
