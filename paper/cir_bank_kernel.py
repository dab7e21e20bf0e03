"""Draws from a bank of paths, compiled: one by one for policies, and for population Monte Carlo."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import compiled
from croupier.simulator.randomness import streams, uniform

__all__ = ["UPDATES", "alias_table", "fill", "play_populations"]

#: The updates of population Monte Carlo, in the order of their numbers here.
UPDATES: Final = ("printed", "payoff", "squared")


@compiled
def alias_table(chances: Any, keep: Any, other: Any) -> None:
    """Write Walker's table of some chances that sum to 1, by Vose's algorithm (1991)."""
    n = len(chances)
    few, many = np.empty(n, np.int64), np.empty(n, np.int64)
    some = most = 0
    for i in range(n):
        keep[i], other[i] = chances[i] * n, i
        if keep[i] < 1:
            few[some] = i
            some += 1
        else:
            many[most] = i
            most += 1
    while some > 0 and most > 0:
        some -= 1
        small, large = few[some], many[most - 1]
        other[small] = large
        keep[large] -= 1 - keep[small]
        if keep[large] < 1:
            most -= 1
            few[some] = large
            some += 1
    for i in range(some):  # 1 but for rounding
        keep[few[i]] = 1.0


@compiled
def fill(stream: Any, p: Any, values: Any) -> None:
    """Fill a block with draws of an arm; p has three numbers per path, see `PathBank.rows`."""
    n = len(p) // 3
    for j in range(len(values)):
        x = uniform(stream) * n
        i = int(x)
        values[j] = p[3 * i + 1] if x - i < p[3 * i] else p[3 * i + 2]


def _summed(function: Any) -> Any:
    """Compile with sums in any order, so that vector units can take them."""
    return compiled(function, fastmath={"reassoc", "contract"})


@_summed
def _mixture(alpha: Any, ratios: Any) -> float:
    """Return sum_j alpha_j q_j/p of one path."""
    total = 0.0
    for j in range(len(alpha)):
        total += alpha[j] * ratios[j]
    return total


@compiled
def play_populations(
    update: int,
    size: int,
    payoffs: Any,
    ratios: Any,
    keep: Any,
    other: Any,
    draws: Any,
    keys: Any,
    values: Any,
) -> None:
    """Play population Monte Carlo on a bank, a run per key: `paper.population.weighed`.

    `update` is one of `UPDATES`, by its number. `values`, of shape (runs, draws), takes the mean of
    all draws so far.
    """
    paths, arms = ratios.shape
    alpha, edges, credit = np.empty(arms), np.empty(arms), np.empty(arms)
    for run in range(len(keys)):
        s = streams(keys[run], 1)[0]
        alpha[:] = 1 / arms
        total, done, mark = 0.0, 0, 0
        while mark < len(draws):
            edge = 0.0
            for j in range(arms):
                edge += alpha[j]
                edges[j] = edge
                credit[j] = 0
            for _ in range(min(size, draws[-1] - done)):
                u, k = uniform(s), 0
                while k < arms - 1 and u >= edges[k]:
                    k += 1
                x = uniform(s) * paths
                i = int(x)
                if x - i >= keep[k, i]:
                    i = other[k, i]
                if update == 0:
                    value = payoffs[i] / ratios[i, k]
                    credit[k] += 1 / ratios[i, k]
                else:
                    value = payoffs[i] / _mixture(alpha, ratios[i])
                    credit[k] += abs(value) if update == 1 else value * value
                total += value
                done += 1
                if done == draws[mark]:
                    values[run, mark] = total / done
                    mark += 1
            everything = credit.sum()
            if everything > 0:
                alpha[:] = credit / everything
