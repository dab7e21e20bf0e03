"""The surrogate: a Gaussian process interpolates, knows its error, and learns point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from croupier.searching.one_thread import one_thread
from croupier.searching.surrogate import _Posterior, surrogate_of


def bent(x: Any) -> Any:
    return 3 - x[:, 0] + 0.3 * np.sin(2 * x[:, 1])


def points(n: int, seed: int = 7, d: int = 2) -> Any:
    return 1.5 * np.random.default_rng(seed).standard_normal((n, d))


def test_the_gradient_of_the_posterior_is_its_derivative() -> None:
    x = points(20)
    y = bent(x) - bent(x).mean()
    posterior = _Posterior(x, y)
    logs = posterior.middle + 0.3
    steps = 1e-5 * np.eye(len(logs))
    known = [(posterior(logs + e)[0] - posterior(logs - e)[0]) / 2e-5 for e in steps]
    assert posterior(logs)[1] == pytest.approx(known, rel=1e-4, abs=1e-4)


def test_known_points_are_met_and_other_points_lie_within_the_error() -> None:
    x = points(40)
    found = surrogate_of(x, bent(x))
    h, s = found.predict(x)
    assert (np.sign(h) == np.sign(bent(x))).all()
    fresh = points(200, seed=8)
    h, s = found.predict(fresh)
    z = (found.warp(bent(fresh)) - found.warp(np.zeros(1)) - h) / s
    assert 0.05 < np.sqrt(np.mean(z**2)) < 2


def test_a_view_that_learns_points_one_by_one_is_the_view_of_all_points() -> None:
    x, fresh = points(30), points(50, seed=8)
    whole = surrogate_of(x, bent(x))
    part = whole.with_points(points(3, seed=9), bent(points(3, seed=9)))
    one_by_one = whole.view(fresh)
    for k in range(3):
        known = points(3, seed=9)[: k + 1]
        one_by_one = one_by_one.learned(whole.with_points(known, bent(known)))
    together = part.view(fresh)
    assert one_by_one.h == pytest.approx(together.h, abs=1e-4)
    assert one_by_one.s == pytest.approx(together.s, rel=0.01, abs=1e-5)


def test_a_point_is_fully_correlated_with_itself_and_not_with_one_far_away() -> None:
    x = points(30)
    found = surrogate_of(x, bent(x))
    view = found.view(np.array([[3.0, 0.0], [3.0, 0.0], [-40.0, 40.0]]))
    r = view.squared_correlation(np.array([0]), np.arange(3))[0]
    assert r[1] == pytest.approx(1, abs=0.1)
    assert r[2] < 0.5


def test_values_of_many_orders_are_bent_and_keep_their_sign() -> None:
    x = points(60)
    g = np.exp(3 - 2 * x[:, 0]) - 1
    found = surrogate_of(x, g)
    assert np.isfinite(found.warp.c)
    fresh = points(200, seed=8)
    fails = found.chance(fresh) > 0.5
    assert np.mean(fails == (np.exp(3 - 2 * fresh[:, 0]) < 1)) > 0.97


def test_infinite_values_are_clipped() -> None:
    x = points(40)
    g = np.where(x[:, 1] > 2, np.inf, 2 - x[:, 0])
    assert np.isfinite(surrogate_of(x, g).predict(points(20, seed=8))[0]).all()


def test_a_jump_makes_the_error_larger_than_that_of_a_smooth_function() -> None:
    x, fresh = points(60), points(100, seed=8)
    jump = np.where(x[:, 0] > 0.3, -1.0, 1.0) + 0.1 * x[:, 1]
    smooth, rough = surrogate_of(x, bent(x)), surrogate_of(x, jump)
    assert np.median(rough.predict(fresh)[1]) > 5 * np.median(smooth.predict(fresh)[1])


def test_noise_becomes_the_nugget() -> None:
    x = points(120)
    noise = np.random.default_rng(1).standard_normal(120)
    assert surrogate_of(x, bent(x) + noise).noise() > 5 * surrogate_of(x, bent(x)).noise()


def test_one_thread_leaves_the_number_of_threads_as_it_was() -> None:
    from croupier.searching.one_thread import _libraries

    before = [library.get() for library in _libraries()]
    for library in _libraries():
        library.put(2)
    with one_thread():
        assert all(library.get() == 1 for library in _libraries())
    assert all(library.get() == 2 for library in _libraries())
    for library, threads in zip(_libraries(), before, strict=True):
        library.put(threads)
