"""Nets that are doubled one by one: their mean, their error, and runs that stop in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import croupier as cr
from croupier.integration.changes import NormalMixture, Separable
from croupier.integration.net_arm import net_points
from croupier.integration.net_errors import fallen, net_error, net_weights, uneven_error
from croupier.integration.pool import point_variances
from croupier.spaces.base import Moved

CUBE = [(0, 1)] * 5


def kinked(x: Any) -> Any:
    return np.prod(np.abs(x - 0.4), axis=1)


KINKED = 0.26**5


def integrate(**options: Any) -> cr.Result:
    return cr.integrate(kinked, CUBE, **{"draws": 10**6, "rng": 7, "progress": False, **options})


def test_nets_of_one_size_have_equal_weights_and_larger_ones_more() -> None:
    assert net_weights(np.full(4, 64.0)).tolist() == [0.25] * 4
    weights = net_weights(np.array([128.0, 64.0, 64.0, 64.0]))
    assert weights.sum() == pytest.approx(1)
    assert weights[0] / weights[1] == pytest.approx(2**1.5)


@pytest.mark.parametrize("rate", [1.0, 1.5, 2.0, 3.0])
def test_every_net_that_is_doubled_lowers_the_variance_down_to_that_of_all(rate: float) -> None:
    each = [float(fallen(ahead, 4, np.array([rate]))[0]) for ahead in range(5)]
    assert each[0] == pytest.approx(1)
    assert each[4] == pytest.approx(2**-rate)
    assert (np.diff(each) < 0).all()


def test_the_error_of_uneven_nets_is_not_below_that_of_their_mean() -> None:
    n, seeds = 64, 60
    every = np.array(
        [[kinked(net_points(seed, 0, net, 5, 0, 2 * n)) for net in range(4)] for seed in range(60)]
    )
    for ahead in (1, 3):
        known = np.where(np.arange(4) < ahead, 2.0 * n, n)
        values = np.where(np.arange(2 * n) < known[:, None], every, 0.0)
        blocks = values.reshape(seeds, 4, 16, n // 8, 1).sum(axis=3)
        variances = [
            uneven_error(each, n // 8, ahead, net_error(each[:, :8], n // 8)).variance[0]
            for each in blocks
        ]
        means = (values.sum(axis=2) / known) @ net_weights(known)
        true = np.square(means - KINKED).mean()  # its own error is 18 %
        assert 0.8 < np.mean(variances) / true < 3
        assert abs(means.mean() - KINKED) < 4 * np.sqrt(true / seeds)


def test_a_look_in_between_needs_both_errors_to_be_small() -> None:
    rng = np.random.default_rng(7)
    blocks = rng.normal(size=(4, 16, 1))
    before = net_error(blocks[:, :8], 1)
    quiet = uneven_error(blocks, 1, 2, before)
    blocks[:2, 8:] *= 10  # the latest points vary much more
    loud = uneven_error(blocks, 1, 2, before)
    assert loud.variance[0] > 5 * quiet.variance[0]
    assert quiet.variance[0] >= before.variance[0] * fallen(2, 4, before.rate)[0]
    assert np.diag(loud.covariance) == pytest.approx(loud.variance)


def test_a_run_stops_while_its_nets_are_doubled() -> None:
    found = [integrate(rtol=1e-2, rng=seed) for seed in range(1, 7)]
    assert all(result.stopped == "tolerance" for result in found)
    leaders = [max(row.draws for row in result.arms) for result in found]
    assert len(set(leaders)) > 3  # not only powers of two
    assert sum(abs(result.value / KINKED - 1) < 1e-2 for result in found) >= 5


def test_a_stop_in_between_is_the_same_with_threads_and_from_a_store(tmp_path: Path) -> None:
    for seed in (1, 2):
        alone = integrate(rtol=1e-2, width=2, rng=seed)
        with ThreadPoolExecutor(2) as threads:
            shared = integrate(rtol=1e-2, width=2, rng=seed, executor=threads)
        path = tmp_path / f"{seed}.db"
        stored = integrate(rtol=1e-2, width=2, rng=seed, store=path)
        assert alone.value == shared.value == stored.value
        assert alone.draws == shared.draws == stored.draws
        assert cr.open_run(path).result().value == alone.value


def test_a_run_that_stopped_in_between_can_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = integrate(rtol=1e-2, store=path)
    again = integrate(rtol=1e-2, store=path)  # nothing more is needed
    assert (again.value, again.draws) == (first.value, first.draws)
    longer = integrate(rtol=3e-3, store=path)
    assert longer.draws > first.draws
    assert longer.stopped == "tolerance"
    assert abs(longer.value / KINKED - 1) < 6e-3


def test_the_variance_of_single_points_is_known_before_they_are_drawn() -> None:
    rng = np.random.default_rng(7)
    u = rng.random((20_000, 2))
    f = np.exp(3 * u[:, :1])
    moved = Moved(u, ndtri(u), np.ones(20_000))
    flat = np.array([[0.0, 1.0], [0.0, 1.0]])
    tilted = Separable(flat, np.array([[0.2, 2.0], [1.0, 1.0]]))
    drawn = tilted.move(rng.random((20_000, 2)))
    true = (np.exp(3 * drawn.cube[:, 0]) * drawn.jac).var()
    assert point_variances(tilted, moved, f, 20_000)[0] == pytest.approx(true, rel=0.05)
    mixture = NormalMixture(np.zeros(2), 0.2 * np.eye(2))  # a narrow one, for a wide f
    assert point_variances(mixture, moved, f, 20_000)[0] > 2 * f.var()


def test_a_normal_mixture_that_is_worse_than_the_leader_gets_one_small_net_at_most() -> None:
    result = integrate(rtol=1e-2)
    assert result.arms["normal"].draws <= 64
    assert result.arms["separable"].draws > 800
