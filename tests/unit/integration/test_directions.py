"""Turned nets: the first coordinates go along the directions in which the integrand changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.integration.directions import fit_turned

Bits = Callable[[cr.Result], Any]

ALONG = np.array([3.0, -2.0, 1.0, 2.0, -1.0]) / np.sqrt(19)


def points(n: int = 4000, d: int = 5) -> np.ndarray:
    return np.random.default_rng(7).standard_normal((n, d))


def turned(f: Any, n: int = 4000) -> Any:
    z = points(n)
    values = np.asarray(f(z), float).reshape(n, -1)
    return fit_turned(z, values, np.ones(n))


@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.tanh(8 * (z @ ALONG - 1)),
        lambda z: np.cos(z @ ALONG),  # even: the gradient is 0 on average, the Hessian is not
        lambda z: np.maximum(z @ ALONG - 0.5, 0.0),
        lambda z: np.stack([np.cos(z @ ALONG), np.exp(z @ ALONG)], axis=1),
    ],
    ids=["monotone", "even", "an option", "two integrals"],
)
def test_the_first_axis_is_the_direction_of_a_function_of_one_direction(f: Any) -> None:
    rotation = turned(f).rotation
    assert rotation.T @ rotation == pytest.approx(np.eye(5), abs=1e-12)
    assert abs(rotation[:, 0] @ ALONG) > 0.98


@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.exp(z[:, 2]),
        lambda z: np.exp(0.3 * z).sum(axis=1),
        lambda z: np.exp(-0.5 * np.square(z).sum(axis=1)),
        lambda z: np.ones(len(z)),
        lambda z: np.zeros(len(z)),
        lambda z: np.where(z[:, 0] > 5, np.inf, 1.0),
    ],
    ids=["an axis", "a sum", "a ball", "constant", "zero", "infinite"],
)
def test_nothing_is_turned_where_nothing_is_gained(f: Any) -> None:
    assert turned(f) is None


def test_weighted_points_give_the_same_direction() -> None:
    """Points of N(0, 1.5^2 I) with the weights phi/q."""
    z = 1.5 * points(20_000)
    jac = 1.5**5 * np.exp(-0.5 * np.square(z).sum(axis=1) * (1 - 1 / 1.5**2))
    values = (np.cos(z @ ALONG) * jac)[:, None]
    assert abs(fit_turned(z, values, jac).rotation[:, 0] @ ALONG) > 0.98


def valley(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.square(x @ ALONG))


NORMALS = [stats.norm()] * 5
VALLEY = float(stats.norm.expect(lambda t: np.log1p(t * t)))


def integrate(**options: Any) -> cr.Result:
    settings = {"rtol": 2e-3, "draws": 200_000, "rng": 7, "progress": False, **options}
    return cr.integrate(valley, NORMALS, **settings)


def test_a_valley_that_crosses_the_axes_is_led_by_turned_nets() -> None:
    result = integrate()
    assert result.arms["turned"].weight == 1
    assert result.stopped == "tolerance"
    assert result.value == pytest.approx(VALLEY, rel=2e-3)


def test_a_cut_run_with_a_turn_is_resumed_to_the_same_bits(tmp_path: Path, bits: Bits) -> None:
    calls = itertools.count()
    path = tmp_path / "run.db"

    def cut(x: np.ndarray) -> np.ndarray:
        if next(calls) >= 40:
            raise KeyboardInterrupt
        return valley(x)

    settings: dict[str, Any] = {"rtol": 1e-3, "draws": 200_000, "rng": 7, "progress": False}
    whole = cr.integrate(valley, NORMALS, width=4, **settings)
    part = cr.integrate(cut, NORMALS, width=4, store=path, **settings)
    assert part.stopped == "interrupted"
    assert {row.name: row.draws for row in part.arms}["turned"] > 0
    resumed = cr.integrate(valley, NORMALS, store=path, **settings)
    assert bits(resumed) == bits(whole)
