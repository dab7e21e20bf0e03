"""Paths of the Cox-Ingersoll-Ross rate, compiled: many side by side, so that SIMD carries them.

Loops are plain arithmetic on arrays, without a branch or a call of the mathematical library: these
are what a compiler turns into vector instructions. Normal numbers are made in single precision and
are off their law by less than 1e-6; they end at 6.8 standard deviations. The rate and its integral
are kept in double precision.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import compiled
from croupier.simulator.randomness import word

__all__ = ["LANES", "fill", "paths"]

#: Generators side by side. Each makes two normal numbers at a time, for two paths.
LANES: Final = 128


_U17, _U19, _U23, _U32, _U41, _U45 = (np.uint64(n) for n in (17, 19, 23, 32, 41, 45))
_F0, _F1, _F2, _HALF, _LOG2 = (np.float32(x) for x in (0, 1, 2, 0.5, math.log(2)))
_UNIT, _TURN = np.float32(2.0**-32), np.float32(2.0**-31)
_I1, _I23, _ROOT_HALF = np.int32(1), np.int32(23), np.int32(0x3F3504F3)

# Chebyshev fits. Of (log(1+x) - x + x^2/2)/x^3 for 1+x in [1/sqrt 2, sqrt 2], to 2e-7; of
# sin(pi v)/v and cos(pi v) in v^2 for |v| <= 1/2, to 2e-8 and 3e-10.
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7 = (
    np.float32(x)
    for x in (
        0.333333286, -0.250002965, 0.200014686, -0.166422476, 0.142021738, -0.129722389,
        0.127123079, -0.0810155875,
    )
)  # fmt: skip
_S0, _S1, _S2, _S3, _S4 = (
    np.float32(x) for x in (3.14159264, -5.16771008, 2.55007752, -0.598291286, 0.0776576603)
)
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(x) for x in (1, -4.93480214, 4.05870916, -1.335212, 0.234937314, -0.0243963245)
)


def _contracted(function: Any) -> Any:
    """Compile with products and sums contracted to one rounding; nothing else is relaxed."""
    return compiled(function, fastmath={"contract"})


@_contracted
def _bits(lanes: Any, low: Any, high: Any) -> None:
    """Write 64 random bits of every lane, in two halves: xoshiro256++ (Blackman and Vigna)."""
    for j in range(lanes.shape[1]):
        s0, s1, s2, s3 = lanes[0, j], lanes[1, j], lanes[2, j], lanes[3, j]
        x = s0 + s3
        x = ((x << _U23) | (x >> _U41)) + s0
        low[j], high[j] = np.int32(x), np.int32(x >> _U32)
        t = s1 << _U17
        s2 ^= s0
        s3 ^= s1
        lanes[0, j], lanes[1, j], lanes[2, j] = s0 ^ s3, s1 ^ s2, s2 ^ t
        lanes[3, j] = (s3 << _U45) | (s3 >> _U19)


@_contracted
def _normals(low: Any, high: Any, first: Any, second: Any) -> None:
    """Write two standard normal numbers per lane: Box and Muller, sqrt(-2 log u) (cos, sin)."""
    for j in range(len(low)):
        u = np.float32((np.float32(np.uint32(low[j])) + _HALF) * _UNIT)
        # u = (1 + x) 2^e, by its bits
        bits = np.float32(u).view(np.int32)
        e = np.int32(np.int32(bits - _ROOT_HALF) >> _I23)
        x = np.int32(bits - np.int32(e << _I23)).view(np.float32) - _F1
        y = _L7
        y = y * x + _L6
        y = y * x + _L5
        y = y * x + _L4
        y = y * x + _L3
        y = y * x + _L2
        y = y * x + _L1
        y = y * x + _L0
        square = x * x
        log_u = np.float32(e) * _LOG2 + (x + (square * x * y - _HALF * square))
        radius = np.float32(math.sqrt(max(-_F2 * log_u, _F0)))
        # An angle within half a turn, and a coin for the other half.
        v = np.float32(np.int32(high[j] >> _I1)) * _TURN
        radius *= _F1 - _F2 * np.float32(np.int32(high[j] & _I1))
        w = v * v
        c = _C5
        c = c * w + _C4
        c = c * w + _C3
        c = c * w + _C2
        c = c * w + _C1
        c = c * w + _C0
        s = _S4
        s = s * w + _S3
        s = s * w + _S2
        s = s * w + _S1
        s = s * w + _S0
        first[j] = radius * c
        second[j] = radius * (s * v)


@_contracted
def _noise(lanes: Any, low: Any, high: Any, z: Any, total: Any) -> None:
    """Fill z, of shape (steps, paths), with normal numbers, and add them up for each path."""
    half = len(low)
    total[:] = 0
    for t in range(len(z)):
        _bits(lanes, low, high)
        row = z[t]
        _normals(low, high, row[:half], row[half:])
        for j in range(len(row)):
            total[j] += row[j]


@_contracted
def _walk(p: Any, z: Any, drift: Any, rate: Any, area: Any) -> None:
    """Walk all paths: Euler steps with the noise z + drift, and the trapezoid sum of the rate."""
    steps = len(z)
    eta, kappa, start, dt = p[1], p[2], p[4], p[5] / steps
    spread = p[3] * math.sqrt(dt)
    for j in range(len(rate)):
        rate[j] = start
        area[j] = start / 2
    for t in range(steps):
        row = z[t]
        for j in range(len(rate)):
            above = max(rate[j], 0.0)
            step = (eta - kappa * above) * dt + spread * math.sqrt(above) * (row[j] + drift[j])
            rate[j] += step
            area[j] += max(rate[j], 0.0)
    for j in range(len(rate)):
        area[j] = dt * (area[j] - max(rate[j], 0.0) / 2)


@_contracted
def paths(lanes: Any, p: Any, shift: float, spread: float, payoffs: Any, totals: Any) -> None:
    """Write discounted payoffs and the totals of the noise, of N(shift, spread^2), path by path.

    `lanes`, of shape (4, lanes), are the states of the generators; p is strike, eta, kappa, sigma,
    start, maturity, notional, steps. The last block of paths is cut to what is asked for.
    """
    steps, half = int(p[7]), lanes.shape[1]
    low, high = np.empty(half, np.int32), np.empty(half, np.int32)
    z = np.empty((steps, 2 * half), np.float32)
    total, drift, rate, area = (
        np.empty(2 * half), np.empty(2 * half), np.empty(2 * half), np.empty(2 * half),
    )  # fmt: skip
    root = 1 / math.sqrt(steps)
    for done in range(0, len(payoffs), 2 * half):
        _noise(lanes, low, high, z, total)
        for j in range(2 * half):
            total[j] *= root
            drift[j] = (shift + (spread - 1) * total[j]) * root
        _walk(p, z, drift, rate, area)
        for j in range(min(2 * half, len(payoffs) - done)):
            payoffs[done + j] = p[6] * math.exp(-area[j]) * max(rate[j] - p[0], 0.0)
            totals[done + j] = shift + spread * total[j]


@_contracted
def fill(stream: Any, p: Any, values: Any) -> None:
    """Fill a block of values with draws of an arm: the payoff times its weight.

    The randomness comes from a stream of the simulator; p goes on with the shift of the arm.
    """
    lanes = np.empty((4, (len(values) + 1) // 2), np.uint64)
    for i in range(4):
        for j in range(lanes.shape[1]):
            lanes[i, j] = word(stream)
    totals = np.empty(len(values))
    shift = p[8]
    paths(lanes, p, shift, 1.0, values, totals)
    for j in range(len(values)):
        values[j] *= math.exp(shift * (shift / 2 - totals[j]))
