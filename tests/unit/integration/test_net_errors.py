"""The error of nets from differences of their blocks, down to 64 parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from croupier.integration.net_errors import (
    BLOCKS,
    NetError,
    averaged,
    block_size,
    differences,
    net_error,
)


def nets(rng: np.random.Generator, blocks: int, rate: float) -> Any:
    """Return block means (4, blocks, 1) of nets whose variance is 1 and falls like n^-rate.

    A net is divided into halves that differ by 2 d, where d has the variance D_l of its level.
    """
    found, D = rng.normal(size=(4, 1)), 2**rate - 1
    while found.shape[1] < blocks:
        d = rng.normal(scale=np.sqrt(D), size=found.shape)
        found = np.stack((found - d, found + d), axis=2).reshape(4, -1)
        D *= 2**rate
    return found[:, :, None]


@pytest.mark.parametrize(("rate", "most"), [(1.2, 0.5), (1.5, 0.5), (2.2, 1.0)])
def test_more_blocks_know_the_rate_and_the_variance_better(rate: float, most: float) -> None:
    """A fast rate gains less: in some nets the larger blocks deny it by chance."""
    rng = np.random.default_rng(7)
    many = [nets(rng, BLOCKS, rate) for _ in range(400)]
    fine = [net_error(one, 1) for one in many]
    coarse = [net_error(4 * one.reshape(4, 16, 4, 1).mean(axis=2), 4) for one in many]
    off = [np.square([e.rate[0] - rate for e in each]).mean() for each in (fine, coarse)]
    assert off[0] < most * off[1]
    for e, limits in ((fine, (0.9, 1.15 if rate < 2 else 1.4)), (coarse, (0.7, 1.4))):
        assert limits[0] < 4 * np.mean([one.variance[0] for one in e]) < limits[1]
    assert fine[0].df == coarse[0].df == 9


def test_a_net_has_64_blocks_or_blocks_of_four_points_or_16_blocks() -> None:
    count = [n // block_size(n) for n in (16, 32, 64, 128, 256, 512, 2**20)]
    assert count == [16, 16, 16, 32, 64, 64, 64]


def test_differences_are_those_of_halves_quarters_and_so_on() -> None:
    blocks = np.random.default_rng(7).normal(size=(4, 64, 2))
    every = differences(blocks)
    assert [len(each) for each in every] == [4, 8, 16, 32, 64, 128]
    halves = blocks.reshape(4, 2, 32, 2).mean(axis=2)
    assert every[0] == pytest.approx((halves[:, 0] - halves[:, 1]) / 2)


def test_one_rate_is_kept() -> None:
    """A variance that falls like n^-3 at all sizes is extrapolated by nearly this rate."""
    rng = np.random.default_rng(22)
    rates = [net_error(nets(rng, BLOCKS, 3.0), 1).rate[0] for _ in range(200)]
    assert np.median(rates) > 2.5


def test_a_last_stage_that_is_no_doubling_keeps_degrees_of_freedom() -> None:
    whole = NetError(np.array([1.0]), np.array([1.5]), 9.0, np.eye(1))
    part = whole._replace(df=3.0)
    assert averaged(part, 320, whole, 256).df == pytest.approx(1 / (0.36 / 3 + 0.16 / 9))
    assert averaged(whole, 512, whole, 256).df == 9.0
