"""The draws of simulated arms, compiled: a distribution is a number and a row per arm."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from croupier.simulator.compiling import compiled
from croupier.simulator.kinds import (
    COSTS_CONSTANT,
    COSTS_LOGNORMAL,
    LOGNORMAL,
    NORMAL,
    TRUNCATED,
    TWO_VALUES,
    UNIFORM,
)
from croupier.simulator.randomness import next_bits, normal, uniform

__all__ = ["Sampling", "chance_of", "draw"]


class Sampling(NamedTuple):
    """What the arms of a problem draw: a row of parameters per arm; recorded values and costs."""

    distribution: int
    parameters: Any
    cost_distribution: int
    cost_parameters: Any
    recorded: Any


@compiled
def chance_of(probability: float) -> np.uint64:
    """Return a probability as the 64-bit fraction that `tosses` takes."""
    if probability >= 1:
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    return np.uint64(probability * 18446744073709551616.0)


@compiled
def _truncated(s: Any, mean: float, deviation: float, low: float, high: float) -> float:
    """Return a normal number within [low, high], by rejection from a normal or a uniform one."""
    if deviation < high - low:
        while True:
            x = mean + deviation * normal(s)
            if low <= x <= high:
                return x
    peak = min(max(mean, low), high)
    top = (peak - mean) / deviation
    while True:
        x = low + (high - low) * uniform(s)
        z = (x - mean) / deviation
        if uniform(s) < math.exp((top * top - z * z) / 2):
            return x


@compiled
def draw(s: Any, arm: int, sampling: Any) -> tuple[float, float]:
    """Return a value of an arm and what it cost."""
    distribution, cost_distribution, p = (
        sampling.distribution,
        sampling.cost_distribution,
        sampling.parameters[arm],
    )
    row = 0
    if distribution == TWO_VALUES:
        bits, _ = next_bits(s, chance_of(p[2]), 1)
        value = p[1] if bits else p[0]
    elif distribution == NORMAL:
        value = p[0] + p[1] * normal(s)
    elif distribution == TRUNCATED:
        value = _truncated(s, p[0], p[1], p[2], p[3])
    elif distribution == UNIFORM:
        value = p[0] + (p[1] - p[0]) * uniform(s)
    elif distribution == LOGNORMAL:
        value = math.exp(p[0] + p[1] * normal(s))
    else:
        row = int(p[0]) + int(uniform(s) * p[1])
        value = sampling.recorded[row, 0]
    c = sampling.cost_parameters[arm]
    if cost_distribution == COSTS_CONSTANT:
        cost = c[0]
    elif cost_distribution == COSTS_LOGNORMAL:
        cost = math.exp(c[0] + c[1] * normal(s))
    else:
        cost = sampling.recorded[row, 1]
    return value, cost
