"""The payoffs that the recorded policies saw, made anew from a seed, and the recording itself.

Only uniform numbers, comparisons and sums go in, so the tables are the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20140621
SEQUENCES = 50
ROUNDS = 2000
KINDS = ("bernoulli", "two values", "beta", "uniform", "mixed")
RECORDING = Path(__file__).with_name("decisions.npz")


def arms_of(sequence: int) -> int:
    """Return the number of arms: 2 in sequences 0..24, 10 in sequences 25..49."""
    return 2 if sequence < SEQUENCES // 2 else 10


def payoffs_of(sequence: int) -> np.ndarray:
    """Return the table of one sequence: row k holds arm k's payoffs, in the order of its pulls.

    >>> payoffs_of(3).shape, payoffs_of(30).shape
    ((2, 2000), (10, 2000))
    """
    rng = np.random.Generator(np.random.PCG64([SEED, sequence]))
    kind = KINDS[sequence % len(KINDS)]
    return np.array([_payoffs(rng, kind) for _ in range(arms_of(sequence))])


def _payoffs(rng: np.random.Generator, kind: str) -> np.ndarray:
    if kind == "mixed":
        kind = KINDS[int(4 * rng.random())]
    one, other = rng.random(2)
    if kind == "beta":  # Beta(a, b), whole a and b: the a-th smallest of a + b - 1 uniforms
        a, b = 1 + int(4 * one), 1 + int(4 * other)
        return np.sort(rng.random((ROUNDS, a + b - 1)), axis=1)[:, a - 1]
    uniform = rng.random(ROUNDS)
    if kind == "bernoulli":
        return (uniform < one).astype(float)
    if kind == "two values":  # the higher one with probability 1/2 .. 1
        low, high = one / 2, (1 + one) / 2
        return np.where(uniform < (1 + other) / 2, high, low)
    low, high = one / 2, one / 2 + other / 2
    return low + (high - low) * uniform


def checksum() -> str:
    """Return the SHA-256 of all payoffs, to compare with the one in the recording."""
    found = hashlib.sha256()
    for sequence in range(SEQUENCES):
        found.update(payoffs_of(sequence).astype("<f8").tobytes())
    return found.hexdigest()


def load() -> Mapping[str, Any]:
    """Return the recording, having checked that the payoffs still are those it was made from."""
    recording = np.load(RECORDING)
    if str(recording["payoffs"]) != checksum():
        raise ValueError("the payoffs are not those of the recording: numpy draws other numbers")
    return recording
