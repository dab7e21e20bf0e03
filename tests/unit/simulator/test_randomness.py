"""The random numbers of the kernels: their laws, and streams that can be put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from croupier.simulator import randomness
from croupier.simulator.compiling import inlined


def many(function: Callable[..., float], size: int, *parameters: float) -> np.ndarray:
    """Return numbers from one stream of the compiled function."""

    @inlined
    def loop(s: Any, out: Any) -> None:
        for i in range(len(out)):
            out[i] = function(s, *parameters)

    out = np.empty(size)
    loop(randomness.streams(np.uint64(2026), 1)[0], out)
    return out


@pytest.mark.parametrize(
    ("name", "parameters", "distribution"),
    [
        ("uniform", (), stats.uniform()),
        ("normal", (), stats.norm()),
        ("exponential", (), stats.expon()),
        ("gamma", (0.3,), stats.gamma(0.3)),
        ("gamma", (1.0,), stats.gamma(1.0)),
        ("gamma", (250.0,), stats.gamma(250.0)),
        ("beta", (1.0, 1.0), stats.beta(1.0, 1.0)),
        ("beta", (3.0, 900.0), stats.beta(3.0, 900.0)),
    ],
)
def test_random_numbers_have_their_distribution(
    name: str, parameters: Any, distribution: Any
) -> None:
    drawn = many(getattr(randomness, name), 400_000, *parameters)
    assert stats.kstest(drawn, distribution.cdf).pvalue > 1e-3


def test_the_ziggurat_reaches_into_the_tails() -> None:
    drawn = many(randomness.normal, 4_000_000)
    for edge in (3.0, 3.654, 4.5):
        expected = 2 * stats.norm.sf(edge) * len(drawn)
        z = (np.count_nonzero(np.abs(drawn) > edge) - expected) / np.sqrt(expected)
        assert abs(z) < 4


@pytest.mark.parametrize("chance", [0.5, 0.25, 0.3, 0.01, 0.999, 2**-30])
def test_sixty_four_tosses_at_once_have_their_chance_each(chance: float) -> None:
    s = randomness.streams(np.uint64(3), 1)[0]
    words = [int(randomness.tosses(s, np.uint64(chance * 2**64))) for _ in range(20_000)]
    bits = (np.array(words, np.uint64)[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    scale = np.sqrt(chance * (1 - chance) * len(words))
    z = (bits.sum(axis=0) - chance * len(words)) / scale
    assert abs(z.sum() / 8) < 4
    assert np.abs(z).max() < 5 or chance < 1e-3
    if 0.1 < chance < 0.9:  # neighbours know nothing of each other
        pairs = (bits[:, :-1] * bits[:, 1:]).mean() - chance**2
        assert abs(pairs) < 5 * chance / np.sqrt(64 * len(words))


@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(st.integers(1, 64), st.integers(0, 64)), max_size=30),
)
def test_tosses_that_are_put_back_come_again(key: int, moves: list[tuple[int, int]]) -> None:
    chance = np.uint64(2**63)
    tape, other = (randomness.streams(np.uint64(key), 1)[0] for _ in range(2))
    expected = [int(randomness.next_bits(tape, chance, 1)[0]) for _ in range(64 * len(moves) + 64)]
    at = 0
    for most, back in moves:
        bits, got = randomness.next_bits(other, chance, most)
        assert [(int(bits) >> i) & 1 for i in range(got)] == expected[at : at + got]
        at += got
        returned = min(back, int(got))
        if returned:
            kept = int(got) - returned
            randomness.put_back(other, np.uint64(int(bits) >> kept), returned)
            at -= returned


def test_ones_are_counted() -> None:
    for number in (0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF):
        assert randomness.ones_of(np.uint64(number)) == number.bit_count()


def test_gaps_between_events_are_geometric() -> None:
    gaps = many(randomness.steps_to, 200_000, 0.07)
    counts = np.bincount(gaps.astype(int), minlength=60)[1:60]
    expected = stats.geom(0.07).pmf(np.arange(1, 60)) * len(gaps)
    assert np.abs((counts - expected) / np.sqrt(expected)).max() < 4.5
    s = randomness.streams(np.uint64(1), 1)[0]
    assert randomness.steps_to(s, 0.0) == np.inf
    assert randomness.steps_to(s, 1.0) == 1


def test_streams_of_one_key_differ_and_repeat() -> None:
    one, same = (randomness.streams(np.uint64(9), 3) for _ in range(2))
    assert (one == same).all()
    assert len({tuple(row) for row in one[:, :4].tolist()}) == 3
