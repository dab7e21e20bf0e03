"""Gaps: points that fill them, and a failing hole that no slope leads to."""

from __future__ import annotations

import numpy as np
import pytest

from croupier.rare.gaps import gap_points


@pytest.mark.parametrize("d", [1, 2, 3])
def test_points_in_gaps_keep_away_from_known_points_and_from_each_other(d: int) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, d)) * 2
    found = gap_points(x, 1e-4, rng)
    others = rng.normal(size=(100, d)) * 2
    away, usual = (
        np.linalg.norm(each[:, None] - x, axis=2).min(axis=1) for each in (found, others)
    )
    assert np.median(away) > np.median(usual)
    assert len(np.unique(found, axis=0)) == len(found)


def test_there_are_no_gaps_that_count_where_points_are_dense() -> None:
    x = np.array(np.meshgrid(*2 * [np.arange(-3, 3.01, 0.1)])).reshape(2, -1).T
    assert not len(gap_points(x, 0.5, np.random.default_rng(7)))


def test_gaps_beyond_which_nothing_is_probable_do_not_count() -> None:
    found = gap_points(np.zeros((1, 2)), 1e-3, np.random.default_rng(7))
    assert np.linalg.norm(found, axis=1).max() < np.sqrt(-2 * np.log(0.05e-3))
