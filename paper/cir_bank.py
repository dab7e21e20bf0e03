"""The caplet on finitely many paths: a law from which draws are quick, and everything is known.

A path costs 100 steps. A bank walks some paths once, and its arms draw from these with the chances
that the drift gives them. Price, weights and variances are those of this law, not of the Euler
chain, and are sums over the paths: the yardstick of a run on a bank is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from paper.cir import THETAS, Caplet, Exact

__all__ = ["PathBank"]

#: Paths are walked with totals of N(0.75, 1.7^2), which covers the drifts 0 to 1.5.
_SHIFT: Final = 0.75
_SPREAD: Final = 1.7

#: A draw chooses a path with the high bits of a number and its alias with the low ones.
_MOST: Final = 1 << 20


@dataclass(frozen=True, eq=False)
class PathBank:
    """Some paths of a caplet: their payoffs, the totals of their noise, and their chances.

    The chances are those of the standard normal law in the cells around the totals: edges are
    halfway between two neighbours. A drift t multiplies the chance of a path with the total x by
    exp(t x)/M(t), where M(t) is the mean of exp(t x) over the bank.

    >>> bank = PathBank.walked(Caplet(0.08), 4096, seed=7)
    >>> exact = bank.exact()
    >>> round(exact.price, 1), exact.best
    (1.9, 12)
    """

    payoffs: Floats
    totals: Floats
    chances: Floats
    thetas: tuple[float, ...]
    shifts: Floats

    @classmethod
    def walked(
        cls, caplet: Caplet, paths: int, seed: int = 2014, thetas: Sequence[float] = THETAS
    ) -> PathBank:
        """Return a bank of so many paths."""
        paths = count_of("paths", paths)
        if not 16 <= paths <= _MOST:
            raise PlanError(f"a bank must have 16 to {_MOST} paths, got {paths}")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(paths,)))
        payoffs, totals = caplet.simulate(rng, paths, _SHIFT, _SPREAD)
        order = np.argsort(totals)
        totals = totals[order]
        middle = (totals[1:] + totals[:-1]) / 2
        chances = np.diff(np.concatenate([[0.0], _normal_below(middle), [1.0]]))
        shifts = np.array([caplet.shift_of(theta) for theta in thetas])
        return cls(payoffs[order], totals, chances, tuple(thetas), shifts)

    @cached_property
    def ratios(self) -> Floats:
        """q/p of every path (row) under every drift (column): exp(t x)/M(t)."""
        tilted = np.exp(np.outer(self.totals, self.shifts))
        return np.asarray(tilted / (self.chances @ tilted))

    @cached_property
    def aliases(self) -> tuple[Floats, Any]:
        """Walker's tables, a row per arm: the chance to keep a path, and the path instead of it."""
        from paper.cir_bank_kernel import alias_table

        arms, paths = len(self.thetas), len(self.totals)
        keep, other = np.empty((arms, paths)), np.empty((arms, paths), np.int64)
        for k in range(arms):
            alias_table(self.chances * self.ratios[:, k], keep[k], other[k])
        return keep, other

    def exact(self) -> Exact:
        """Return the price and the variance of every arm, for the law of the bank."""
        price = float(self.chances @ self.payoffs)
        squares = (self.chances * self.payoffs**2) @ (1 / self.ratios)
        return Exact(price, self.thetas, squares - price * price)

    def rows(self) -> Floats:
        """Return what the simulator draws from: the chance to keep, and both draws, per path."""
        keep, other = self.aliases
        draws = (self.payoffs[:, None] / self.ratios).T
        both = np.stack([keep, draws, np.take_along_axis(draws, other, axis=1)], axis=-1)
        return np.asarray(both.reshape(len(keep), -1))


def _normal_below(x: Floats) -> Floats:
    return np.array([math.erfc(-one / math.sqrt(2)) / 2 for one in x.tolist()])
