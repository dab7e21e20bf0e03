"""Draws multiplied by a power of two change no decision, and give an exactly scaled result."""

from __future__ import annotations

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def arms(power):
    def scaled(draw):
        return lambda rng, size: np.ldexp(draw(rng, size), power)

    return {
        "lognormal": scaled(lambda rng, size: rng.lognormal(-0.125, 0.5, size)),
        "normal": scaled(lambda rng, size: rng.normal(1.0, 0.8, size)),
        "rare": scaled(lambda rng, size: 100.0 * (rng.random(size) < 0.01)),
        "constant": scaled(lambda rng, size: np.ones(size)),
    }


@pytest.mark.parametrize("power", [-600, 600])
@pytest.mark.parametrize(
    "settings",
    [
        {"draws": 20_000},
        {"draws": 20_000, "width": 8},
        {"draws": 3000, "policy": "variance-lcb"},
        {"draws": 3000, "policy": "greedy", "combine": "inverse-variance"},
        {"draws": 300_000, "rtol": 0.01},
        {"draws": 300_000, "rtol": 0.05, "anytime": True},
        {"draws": 300, "batch": "one"},
    ],
    ids=str,
)
def test_scaled_draws_give_the_same_decisions_and_a_scaled_result(power, settings):
    plain = cr.estimate(arms(0), rng=3, **settings)
    scaled = cr.estimate(arms(power), rng=3, **settings)
    assert np.array_equal(plain.history.arm, scaled.history.arm)
    assert np.array_equal(plain.history.size, scaled.history.size)
    assert scaled.value == np.ldexp(plain.value, power)
    assert scaled.stderr == np.ldexp(plain.stderr, power)
    assert scaled.interval == tuple(np.ldexp(plain.interval, power))
    assert scaled.stopped == plain.stopped
    assert scaled.agreement == plain.agreement
    assert [row.efficiency for row in scaled.arms] == [row.efficiency for row in plain.arms]


@pytest.mark.parametrize("power", [-600, 600])
def test_components_may_have_scales_of_their_own(power):
    def vectors(powers):
        def draw(spread):
            return lambda rng, n: np.ldexp(rng.normal([1.0, 2.0], spread, (n, 2)), powers)

        return {"a": draw([1.0, 0.2]), "b": draw([0.3, 0.5])}

    plain = cr.estimate(vectors([0, 0]), draws=5000, rng=5)
    scaled = cr.estimate(vectors([0, power]), draws=5000, rng=5)
    assert np.array_equal(plain.history.arm, scaled.history.arm)
    assert scaled.value.tolist() == np.ldexp(plain.value, [0, power]).tolist()
    assert scaled.stderr.tolist() == np.ldexp(plain.stderr, [0, power]).tolist()
