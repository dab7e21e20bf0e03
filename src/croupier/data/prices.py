"""Prices: what draws of the arms cost, as far as a ledger knows, and what a budget buys."""

from __future__ import annotations

import math

import numpy as np

from croupier.data.call_prices import CHUNK, STEP, CallPrices, fastest, with_call
from croupier.data.draws import Floats
from croupier.data.entries import Entry
from croupier.data.leading import spent_beyond
from croupier.data.scale import Ints

__all__ = ["Prices"]


class Prices:
    """The half of a ledger that is about costs: `Ledger` says what its numbers are."""

    first: int
    measured: bool
    exponent: Ints
    count: Floats
    cost: Floats
    cost_m2: Floats
    calls: Floats
    fewest: float
    _call_prices: Floats
    _even: bool
    _ones: Floats

    @property
    def price(self) -> Floats:
        """Cost per draw; NaN for an arm that was never drawn.

        For reported costs it is their mean. For measured times it is the cost per draw in the arm's
        largest calls, because a call for one draw mostly measures the call.
        """
        if self._even:
            return self._ones if self.fewest else np.where(self.count > 0, 1.0, np.nan)
        if self.measured:
            return self.call_prices.pace
        unknown = np.full(len(self.count), np.nan)
        return np.asarray(np.divide(self.cost, self.count, out=unknown, where=self.count > 0))

    def best_price(self, arm: int) -> float:
        """Return the cost per draw of an arm in those of its calls that were the fastest.

        The machine may have interrupted its largest calls.
        """
        price = float(self.price[arm])
        return min(price, fastest(self.calls[arm])) if self.measured else price

    @property
    def most_in_a_call(self) -> int:
        """The largest number of draws in one call of an arm; a larger batch is several calls."""
        return max(1, CHUNK // len(self.exponent))

    @property
    def call_prices(self) -> CallPrices:
        """What calls of the arms cost, where costs are measured times."""
        return CallPrices(*self._call_prices)

    def price_in(self, cost: float) -> Floats:
        """Return the cost per draw in a batch that costs `cost`; NaN where it is not known.

        Where costs are measured, it is the least that it can be: see `call_prices`.
        """
        return self.call_prices.per_draw(cost, self.most_in_a_call) if self.measured else self.price

    def cost_of(self, arm: int, size: int) -> float:
        """Return what a batch of an arm will cost; NaN if it is not known."""
        if not self.measured:
            return size * float(self.price[arm])
        call, draw = self._call_prices[:2, arm].tolist()
        return float(call * math.ceil(size / self.most_in_a_call) + draw * size)

    def bought(self, arm: int, cost: float) -> float:
        """Return how many draws of an arm a decision buys that may spend about `cost`.

        Where costs are measured, a call is at most STEP times as large as the largest before it,
        unless the pace of these allows more. A call takes its time even if it makes one draw, so at
        least as much is spent on the draws in it.
        """
        if not self.measured:
            return cost / float(self.price[arm])
        call, draw, largest, _ = self._call_prices[:, arm].tolist()
        cost = max(cost, 2 * call)
        paced = cost * largest / (call + draw * largest)
        hoped = cost / float(self.price_in(cost)[arm])
        return float(min(hoped, max(paced, STEP * largest)))

    def telling_call(self, arm: int, cost: float) -> int:
        """Return the size of a call that tells what more draws cost; 0 if this is known.

        It is not known in a batch of `cost` if its price was taken for nothing: see `call_prices`.
        """
        call, draw, largest, least = self._call_prices[:, arm].tolist()
        hoped = least == 0 and cost > call + draw * largest
        return min(int(STEP * largest), self.most_in_a_call) if hoped else 0

    def affords(self, arm: int, cost: float) -> float:
        """Return how many draws of an arm cost at most `cost`, as far as is known."""
        if not self.measured:
            return cost / float(self.price[arm])
        call, draw, largest, _ = self._call_prices[:, arm].tolist()
        if cost < call + draw * largest:
            return float((cost - call) / draw) if draw else 0.0
        return float(cost * largest / (call + draw * largest))

    @property
    def price_error(self) -> Floats:
        """Relative standard error of the mean reported cost of a draw; every arm must have two."""
        return np.asarray(np.sqrt(self.cost_m2 / (1 - 1 / self.count)) / self.cost)

    @property
    def preferred(self) -> Floats:
        """The cost that was spent on each arm beyond its first draws: what a policy chose."""
        return spent_beyond(self.cost, self.count, self.first)

    def _add_cost(self, arm: int, outcome: Entry) -> None:
        n_a, n_b, cost = self.count.item(arm), outcome.size, outcome.cost
        self._even &= cost == n_b and outcome.cost_m2 == 0
        if n_a and not self._even:
            apart = cost / n_b - self.cost[arm] / n_a
            self.cost_m2[arm] += apart * apart * n_a * n_b / (n_a + n_b)
        self.cost_m2[arm] += outcome.cost_m2
        self.cost[arm] += cost
        if not self.measured:
            return
        calls = math.ceil(n_b / self.most_in_a_call)
        noted = with_call(self.calls, arm, n_b / calls, cost / calls, calls)
        self.calls, self._call_prices[:, arm] = noted
