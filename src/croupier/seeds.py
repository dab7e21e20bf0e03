"""The random stream of a (seed, purpose, ticket): randomness belongs to the number of a batch."""

from __future__ import annotations

import operator
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

from croupier.errors import PlanError

__all__ = ["DIGEST", "DRAWS", "NETS", "POLICY", "RandomLike", "seed_from", "stream"]

RandomLike: TypeAlias = int | np.integer | np.random.SeedSequence | np.random.Generator | None

#: The purpose of a stream: the draws of a batch, the decision for it, the digest of its draws, the
#: scrambles of nets.
DRAWS, POLICY, DIGEST, NETS = range(4)


class TicketSeed(ISpawnableSeedSequence):
    """The start of the stream of a ticket: a BLAKE2 hash of (seed, purpose, ticket).

    It replaces a SeedSequence with that spawn key and takes a fifth of the time. This matters in
    a run of many short batches.
    """

    def __init__(self, seed: int, purpose: int, ticket: int) -> None:
        self._key = (seed, purpose, ticket)
        self._parent: np.random.SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return the words that a bit generator starts from."""
        if n_words == 4 and dtype is np.uint64:  # what PCG64 asks for
            key = b"%d %d %d" % self._key
            return np.frombuffer(blake2b(key, digest_size=32).digest(), "<u8")
        return self._sequence().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        """Return seeds for an arm that needs several streams: ``rng.spawn(n)``."""
        return self._sequence().spawn(n_children)

    def _sequence(self) -> np.random.SeedSequence:
        if self._parent is None:
            seed, purpose, ticket = self._key
            self._parent = np.random.SeedSequence(seed, spawn_key=(purpose, ticket))
        return self._parent


def stream(seed: int, purpose: int, ticket: int) -> np.random.Generator:
    """Return the generator of one ticket, the same on every worker and after every crash.

    >>> int(stream(7, DRAWS, 3).integers(10**6) - stream(7, DRAWS, 3).integers(10**6))
    0
    """
    start: Any = TicketSeed(seed, purpose, ticket)
    return np.random.Generator(np.random.PCG64(start))


def seed_from(rng: RandomLike) -> int:
    """Reduce what `rng=` accepts to the one non-negative integer that a run records.

    A ``Generator`` is advanced, so that two runs with the same generator differ.

    >>> seed_from(7), seed_from(np.random.SeedSequence(7))
    (7, 7)
    """
    if rng is None:
        return _short(np.random.SeedSequence())
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**64, dtype=np.uint64))
    if isinstance(rng, np.random.SeedSequence):
        if isinstance(rng.entropy, int) and not rng.spawn_key and rng.pool_size == 4:
            return rng.entropy
        return _short(rng)
    way_out = "use None, a non-negative integer, a SeedSequence or a Generator"
    if isinstance(rng, bool | np.bool_):
        raise PlanError(f"rng must not be a bool, got {rng!r}: {way_out}")
    try:
        seed = operator.index(rng)
    except TypeError:
        raise PlanError(f"rng cannot be {rng!r}: {way_out}") from None
    try:
        str(seed)  # a run records its seed, and Python writes only so many digits
    except ValueError:
        raise PlanError(
            f"rng has too many digits to be recorded, {seed.bit_length()} bits: give fewer, or a "
            "SeedSequence"
        ) from None
    if seed < 0:
        raise PlanError(f"rng must not be negative, got {seed}: {way_out}")
    return seed


def _short(sequence: np.random.SeedSequence) -> int:
    """Return 64 bits of it: enough to differ, and short enough to write down."""
    return int(sequence.generate_state(1, np.uint64)[0])
