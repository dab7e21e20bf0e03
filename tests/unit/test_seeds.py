"""Random streams: one for each (seed, purpose, ticket), and one seed from whatever rng= takes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier.errors import PlanError
from croupier.seeds import DIGEST, DRAWS, POLICY, TicketSeed, seed_from, stream


@given(seed=st.integers(0, 2**300), purpose=st.sampled_from([DRAWS, POLICY, DIGEST]))
def test_a_stream_always_begins_anew(seed: int, purpose: int) -> None:
    first, second = (stream(seed, purpose, 5).random(4) for _ in range(2))
    assert np.array_equal(first, second)


def test_seed_purpose_and_ticket_all_make_a_difference() -> None:
    keys = [
        (seed, purpose, ticket) for seed in (0, 1) for purpose in (0, 1, 2) for ticket in (0, 9)
    ]
    assert len({stream(*key).random() for key in keys}) == len(keys)


def test_a_stream_never_changes_from_one_release_to_the_next() -> None:
    assert stream(7, POLICY, 3).integers(2**63) == 5120962421405990161
    assert stream(2**200, DRAWS, 0).integers(2**63) == 5377317622824879565


def test_a_stream_has_children_of_its_own() -> None:
    rng = stream(7, DRAWS, 3)
    numbers = {child.random() for child in [*rng.spawn(2), *rng.spawn(1), rng]}
    assert len(numbers) == 4
    again = stream(7, DRAWS, 3)
    assert again.spawn(2)[1].random() in numbers
    assert stream(7, DRAWS, 4).spawn(1)[0].random() not in numbers


def test_a_stream_can_be_pickled_with_its_children() -> None:
    rng = stream(7, DRAWS, 3)
    twin = pickle.loads(pickle.dumps(rng))
    assert twin.spawn(1)[0].random() == rng.spawn(1)[0].random()
    assert twin.random() == rng.random()


def test_other_bit_generators_can_start_from_the_seed_of_a_ticket() -> None:
    seeds = [TicketSeed(7, DRAWS, ticket) for ticket in (3, 3, 4)]
    first, same, other = (np.random.Generator(np.random.MT19937(s)).random() for s in seeds)
    assert first == same != other


@pytest.mark.parametrize("seed", [0, 7, 2**64, 2**200, np.int64(7), np.uint8(200)])
def test_an_integer_is_its_own_seed(seed: Any) -> None:
    assert seed_from(seed) == int(seed)
    assert type(seed_from(seed)) is int


def test_no_seed_is_a_new_one_each_time() -> None:
    assert seed_from(None) != seed_from(None)
    assert seed_from(None) >= 0


def test_a_generator_is_advanced() -> None:
    rng = np.random.default_rng(7)
    assert seed_from(rng) != seed_from(rng)
    assert seed_from(np.random.default_rng(7)) == seed_from(np.random.default_rng(7))


def test_a_seed_sequence_is_not_used_up() -> None:
    parent = np.random.SeedSequence(7)
    one, other = parent.spawn(2)
    assert seed_from(parent) == seed_from(parent) == 7
    assert seed_from(one) == seed_from(one) != seed_from(other)
    assert seed_from(np.random.SeedSequence([1, 2])) != seed_from(np.random.SeedSequence([2, 1]))
    assert seed_from(np.random.SeedSequence(7, pool_size=8)) != 7


@pytest.mark.parametrize(
    ("rng", "message"),
    [
        (-1, "rng must not be negative, got -1: use None"),
        (np.int8(-3), "rng must not be negative, got -3: use None"),
        (True, "rng must not be a bool, got True: use None"),
        (np.False_, r"rng must not be a bool, got .*False.*: use None"),
        (7.0, r"rng cannot be 7\.0: use None"),
        ("7", "rng cannot be '7': use None"),
        ([7], r"rng cannot be \[7\]: use None"),
        (np.random.RandomState(7), "rng cannot be RandomState.*: use None"),
    ],
)
def test_what_is_no_seed_is_refused_with_what_is(rng: Any, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{message}, a non-negative integer, a SeedSequence"):
        seed_from(rng)
