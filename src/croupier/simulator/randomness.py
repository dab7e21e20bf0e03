"""Random numbers for compiled kernels: one stream per arm and one for the policy, per run.

A stream is a row of six 64-bit words: the state of xoshiro256++ (Blackman and Vigna, ACM TOMS 47,
2021), a buffer of coin tosses, and how many of them are left. An arm's draws come from its own
stream, so the j-th draw of an arm is the same for every policy and at any time.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import compiled

__all__ = [
    "WORDS",
    "beta",
    "exponential",
    "gamma",
    "gamma_from",
    "log_uniform",
    "next_bits",
    "normal",
    "ones_of",
    "put_back",
    "steps_to",
    "streams",
    "tosses",
    "uniform",
    "word",
]

#: Words of a stream.
WORDS: Final = 6

_UNIT: Final = 2.0**-53

_U1, _U7, _U8, _U9, _U11, _U27, _U30, _U31 = (np.uint64(n) for n in (1, 7, 8, 9, 11, 27, 30, 31))
_U17, _U23, _U41, _U45, _U19 = (np.uint64(n) for n in (17, 23, 41, 45, 19))
_GOLDEN, _MIX1, _MIX2 = (
    np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE: Final = np.uint64(0)


@compiled
def streams(key: np.uint64, count: int) -> Any:
    """Return `count` streams from one 64-bit key, by SplitMix64 (Steele et al., OOPSLA 2014)."""
    s = np.empty((count, WORDS), np.uint64)
    x = key
    for k in range(count):
        for i in range(4):
            x = x + _GOLDEN
            z = (x ^ (x >> _U30)) * _MIX1
            z = (z ^ (z >> _U27)) * _MIX2
            s[k, i] = z ^ (z >> _U31)
        s[k, 4] = _NONE
        s[k, 5] = _NONE
    return s


@compiled
def word(s: Any) -> np.uint64:
    """Return 64 random bits of one stream: xoshiro256++."""
    s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
    x = s0 + s3
    result = ((x << _U23) | (x >> _U41)) + s0
    t = s1 << _U17
    s2 ^= s0
    s3 ^= s1
    s[1] = s1 ^ s2
    s[0] = s0 ^ s3
    s[2] = s2 ^ t
    s[3] = (s3 << _U45) | (s3 >> _U19)
    return result


@compiled
def uniform(s: Any) -> float:
    """Return a number in [0, 1)."""
    return float(word(s) >> _U11) * _UNIT


@compiled
def log_uniform(s: Any) -> float:
    """Return the logarithm of a number in (0, 1]."""
    return math.log(float((word(s) >> _U11) + _U1) * _UNIT)


@compiled
def exponential(s: Any) -> float:
    """Return an exponential number with mean 1."""
    return -log_uniform(s)


# -- normal numbers, by the ziggurat: Marsaglia and Tsang (J. Stat. Software 5, 2000)

_LAYERS: Final = 256
_EDGE: Final = 3.6541528853610088
_AREA: Final = 0.00492867323399


def _ziggurat() -> tuple[Any, Any, Any]:
    def height(x: float) -> float:
        return math.exp(-x * x / 2)

    x = [_AREA / height(_EDGE), _EDGE]
    while len(x) < _LAYERS:
        x.append(math.sqrt(-2 * math.log(_AREA / x[-1] + height(x[-1]))))
    x.append(0.0)
    edges = np.array(x)
    scale = 2.0**53
    inside = (edges[1:] / edges[:-1] * scale).astype(np.uint64)
    return inside, edges[:-1] / scale, np.exp(-edges * edges / 2)


_INSIDE, _STEP, _HEIGHT = _ziggurat()


@compiled
def normal(s: Any) -> float:
    """Return a standard normal number."""
    while True:
        bits = word(s)
        layer = bits & np.uint64(255)
        far = bits >> _U11
        x = float(far) * _STEP[layer]
        if bits & np.uint64(256):
            x = -x
        if far < _INSIDE[layer]:
            return x
        if layer == 0:
            while True:
                tail = -log_uniform(s) / _EDGE
                if -2 * log_uniform(s) > tail * tail:
                    return _EDGE + tail if x > 0 else -_EDGE - tail
        low, high = _HEIGHT[layer], _HEIGHT[layer + np.uint64(1)]
        if low + uniform(s) * (high - low) < math.exp(-x * x / 2):
            return x


@compiled
def gamma_from(s: Any, d: float, c: float) -> float:
    """Return a gamma number of the shape d + 1/3, at least 1; c is 1/sqrt(9 d)."""
    while True:
        x = normal(s)
        v = 1 + c * x
        if v <= 0:
            continue
        v = v * v * v
        u = uniform(s)
        if u < 1 - 0.0331 * (x * x) * (x * x):
            return d * v
        if math.log(u) < x * x / 2 + d * (1 - v + math.log(v)):
            return d * v


@compiled
def gamma(s: Any, shape: float) -> float:
    """Return a gamma number with scale 1: Marsaglia and Tsang (ACM TOMS 26, 2000)."""
    if shape < 1:
        return gamma(s, shape + 1) * math.exp(log_uniform(s) / shape)
    d = shape - 1 / 3
    return gamma_from(s, d, 1 / math.sqrt(9 * d))


@compiled
def beta(s: Any, a: float, b: float) -> float:
    """Return a number from Beta(a, b)."""
    x = gamma(s, a)
    return x / (x + gamma(s, b))


# -- coin tosses, 64 at a time


@compiled
def tosses(s: Any, chance: np.uint64) -> np.uint64:
    """Return 64 bits, each of them set with probability chance/2^64; half is 2^63.

    All 64 compare a random binary fraction with the chance, digit by digit, until the last of
    them is decided: eight digits or so.
    """
    if chance == np.uint64(1) << np.uint64(63):
        return word(s)
    open_ones, ones = _ALL, _NONE
    digit = np.uint64(63)
    while open_ones:
        random = word(s)
        if (chance >> digit) & _U1:
            ones |= open_ones & ~random
            open_ones &= random
        else:
            open_ones &= ~random
        if digit == 0:
            break
        digit -= _U1
    return ones


@compiled
def next_bits(s: Any, chance: np.uint64, most: int) -> tuple[np.uint64, np.int64]:
    """Return the next tosses of a stream, at most `most`, and how many they are."""
    if s[5] == 0:
        s[4] = tosses(s, chance)
        s[5] = np.uint64(64)
    have = np.int64(s[5])
    count = min(have, np.int64(most))
    bits = s[4]
    if count < 64:
        bits &= (_U1 << np.uint64(count)) - _U1
        s[4] >>= np.uint64(count)
    s[5] = np.uint64(have - count)
    return bits, count


@compiled
def put_back(s: Any, bits: np.uint64, count: int) -> None:
    """Give back the last `count` tosses that were taken."""
    have = s[5]
    if have == 0:
        s[4] = bits
    else:
        s[4] = (s[4] << np.uint64(count)) | bits
    s[5] = have + np.uint64(count)


@compiled
def ones_of(x: np.uint64) -> np.int64:
    """Return how many bits are set."""
    x = x - ((x >> _U1) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def steps_to(s: Any, chance: float) -> float:
    """Return at which trial an event of this chance first happens: 1, 2, ...; inf if never."""
    if chance >= 1:
        return 1.0
    if chance <= 0:
        return math.inf
    return 1.0 + math.floor(log_uniform(s) / math.log1p(-chance))
