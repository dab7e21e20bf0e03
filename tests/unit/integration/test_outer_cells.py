"""The far ends of normal coordinates: what a few points there cannot say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import croupier as cr
from croupier.integration.changes import Identity, NormalMixture, Rotated, Separable
from croupier.integration.least_errors import error_of_outer_cells
from croupier.integration.net_arm import net_points
from tests.marks import slow

ALONG = 1 / np.sqrt(20)


def cosine(u: Any) -> Any:
    """Return a function of one direction across 20 normal axes, with the mean e^-1/2."""
    return np.cos(ndtri(u).sum(axis=1) * ALONG)


#: Of the seeds 1000 to 1159, these are runs whose error bar missed when only the nets made it.
@pytest.mark.parametrize("seed", [1010, *slow(1152, 1157)])
def test_a_turn_to_one_direction_has_an_error_bar_that_holds(seed: int) -> None:
    result = cr.integrate(cosine, [(0, 1)] * 20, rtol=1e-4, draws=200_000, rng=seed, progress=False)
    assert result.stopped == "tolerance"
    low, high = result.interval
    assert low <= np.exp(-0.5) <= high


@pytest.fixture(scope="module")
def normals() -> Any:
    """Return 200 nets of 4096 points of one normal coordinate."""
    return ndtri([net_points(7, 0, net, 1, 0, 4096)[:, 0] for net in range(200)])


@pytest.mark.parametrize("n", [256, 1024, 4096])
@pytest.mark.parametrize(("f", "mean"), [(np.cos, np.exp(-0.5)), (np.positive, 0.0)], ids=str)
def test_the_least_error_is_about_that_of_nets_on_one_normal_coordinate(
    normals: Any, f: Any, mean: float, n: int
) -> None:
    values = f(normals[:, :n])
    true = np.sqrt(np.square(values.mean(axis=1) - mean).mean() / 4)
    least = error_of_outer_cells(values.var(), 4 * n, 4)
    assert 0.5 * least < true < 1.3 * least


def test_only_turned_axes_have_no_ends() -> None:
    edges = np.tile(np.linspace(0, 1, 9), (2, 1))
    flat = np.ones_like(edges)
    assert not Identity().endless
    assert not Separable(edges, flat).endless
    assert Rotated(np.eye(2)).endless
    assert not NormalMixture(np.zeros(2), np.eye(2)).endless
