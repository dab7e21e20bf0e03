"""Nets that agree by the grid of their points have an honest error all the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import croupier as cr
from benchmarks.low_dimensions import two
from croupier.integration import one_integrand
from croupier.integration.challengers import FITTED
from croupier.integration.least_errors import error_of_jump, highest_jump
from croupier.integration.net_arm import net_points
from croupier.integration.net_errors import net_error
from tests.marks import slow

R, N = 4, 256
SEEDS = 60


def blocks_of(f: Callable[[Any], Any], d: int, seed: int) -> tuple[Any, Any]:
    """Return the means of 16 blocks of 4 nets, an array (4, 16, 1), and all values."""
    points = [net_points(seed, 0, net, d, 0, N) for net in range(R)]
    values = np.array([f(each) for each in points])
    return values.reshape(R, 16, -1).mean(axis=2)[:, :, None], values


def errors(f: Callable[[Any], Any], d: int, value: float) -> tuple[Any, Any]:
    """Return |mean - value| in standard errors, without and with the least error of jumps."""
    plain, honest = [], []
    for seed in range(SEEDS):
        blocks, values = blocks_of(f, d, seed)
        raw = net_error(blocks * (N // 16), N // 16).variance[0]
        points = net_points(seed, 0, 0, d, 0, N)
        height = highest_jump(points, f(points)[:, None])[0]
        least = (error_of_jump(R) * height / N) ** 2
        off = abs(values.mean() - value)
        plain.append(off / np.sqrt(max(raw, 1e-300)))
        honest.append(off / np.sqrt(max(raw, least)))
    return np.array(plain), np.array(honest)


def test_the_error_of_equal_nets_is_that_of_a_uniform_jump() -> None:
    rng = np.random.default_rng(7)
    share = rng.random(400_000)
    left = rng.binomial(R, share)
    equal = (left == 0) | (left == R)
    off = (left / R - share)[equal]
    assert np.sqrt(np.square(off).mean()) == pytest.approx(error_of_jump(R), rel=0.01)


#: Each dimension and each edge of a jump; those that the quick tests try.
JUMPS = set(product([1, 2, 3, 4, 5], [0.3347, 0.6273, 0.7497]))
A_FEW = {(1, 0.3347), (2, 0.6273), (5, 0.7497)}


@pytest.mark.parametrize(("d", "edge"), [*sorted(A_FEW), *slow(*sorted(JUMPS - A_FEW))])
def test_an_indicator_of_one_axis_is_never_far_off(d: int, edge: float) -> None:
    plain, honest = errors(lambda x: (x[:, -1] < edge) * 1.0, d, edge)
    assert (plain > 4).any()  # without the least error, some seeds claim far too much
    assert honest.max() < 4


def test_the_highest_jump_of_a_smooth_function_is_small() -> None:
    u = net_points(7, 0, 0, 1, 0, 1024)
    smooth = np.sin(6 * u)
    assert highest_jump(u, smooth)[0] < 6 * 2 / 1024
    assert highest_jump(u, smooth + (u > 0.7))[0] == pytest.approx(1, abs=0.02)


def test_few_distinct_values_are_stairs_in_any_dimension() -> None:
    x = net_points(7, 0, 0, 3, 0, 256)
    stairs = np.floor(4 * x[:, :1])
    assert highest_jump(x, stairs).tolist() == [1.0]
    assert highest_jump(x, np.hstack((3 * stairs, x[:, :1]))).tolist() == [3.0, 0.0]
    assert highest_jump(x, np.ones((256, 1))).tolist() == [0.0]
    jac = 1 + 2 * x[:, 1]  # the values of a fit: the jump is as high as the largest of them
    assert highest_jump(x, stairs * jac[:, None] / 3, jac)[0] == pytest.approx(1.0, rel=0.05)
    assert highest_jump(x, x[:, :1] * jac[:, None], jac).tolist() == [0.0]


@pytest.mark.parametrize("axes", [1, 2])
def test_a_jump_next_to_one_half_is_covered(axes: int) -> None:
    for seed in range(4):
        result = cr.integrate(
            lambda x: (x[:, 0] < 0.5014) * 1.0, [(0, 1)] * axes, rtol=1e-3, draws=2**16, rng=seed,
            progress=False,
        )  # fmt: skip
        assert abs(result.value - 0.5014) < 4 * result.stderr


def test_a_jump_next_to_a_fraction_of_a_power_of_two_is_covered() -> None:
    """All nets have the same share of their points left of 0.4997, and it is 1/2."""
    for seed in range(8):
        result = cr.integrate(
            lambda x: np.exp(x[:, 0]) * (x[:, 0] < 0.4997), (0, 1), draws=2048, rng=seed,
            progress=False,
        )  # fmt: skip
        assert abs(result.value - np.expm1(0.4997)) < 3 * result.stderr


@pytest.mark.parametrize("seed", [113, *slow(120, 125)])
@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_a_run_does_not_stop_when_another_family_has_seen_a_spike(seed: int) -> None:
    spike = two()[-1]
    result = cr.integrate(spike.f, [(0, 1)] * 2, rtol=1e-3, draws=2**16, rng=seed, progress=False)
    assert abs(result.value - spike.value) < 4 * result.stderr


def test_a_store_from_before_a_family_is_refused_with_the_way_out(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return np.exp(x.sum(axis=1))

    store, over = tmp_path / "run.db", [(0, 1)] * 3
    with patch.object(one_integrand, "FITTED", FITTED[:2]):
        before = cr.integrate(f, over, draws=500, store=store, rng=7, progress=False)
    with pytest.raises(cr.StoreError) as caught:
        cr.integrate(f, over, draws=1000, store=store, progress=False)
    text = str(caught.value)
    assert "'identity', 'separable', 'normal' -> 'identity', 'separable', 'normal', 'tur" in text
    assert "the run was begun with another version of croupier" in text
    assert f"cr.open_run({str(store)!r}).result()" in text
    assert "give another store= for a new run" in text
    assert cr.open_run(store).result().value == before.value  # what the text promises
