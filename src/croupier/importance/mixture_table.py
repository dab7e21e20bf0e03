"""Mixture: the table of an importance family. All draws are weighted together.

Batches come in rounds. When a whole round was told, the next one is planned: the proportions are
learned from what the controls leave, and a normal proposal may be fitted. So the result does not
depend on the width, on the workers or on the order of arrival.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats, Outcome
from croupier.data.plan import ROUND, Plan
from croupier.data.scale import Scale
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import Interval
from croupier.importance import mixture_formulas
from croupier.importance.mixture_answer import FITTED_TO, Weighing
from croupier.importance.mixture_formulas import Ints
from croupier.importance.points import Normal
from croupier.results.result import Result
from croupier.tables.rounds import Answer, Piece, Rounds, extra_of, pieces

__all__ = ["Mixture"]

#: If a tolerance may stop the run, a round grows it by at most 25 %, once it has so many draws.
_ENOUGH: Final = 1_000


class Mixture(Rounds):
    """Deals a budget to the proposals of a family and weights all draws by their mixture.

    The plan's settings are ``{"proportions": "learned", "equal" or shares, "tune": the number of
    proposals to fit, "spread": whether their spread is fitted, "normalised": whether p is
    normalised}``. Each round doubles the draws. If the `aim` has a
    tolerance, the rounds are smaller.
    """

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        super().__init__(plan, interval)
        settings = plan.settings
        self._shares = settings["proportions"]
        self._tune = int(settings["tune"])
        self._fixed = len(plan.names) - self._tune
        self._weighing = Weighing(plan)
        self._planned: Ints = np.empty(0, np.int64)

    @property
    def tuned(self) -> tuple[Normal, ...]:
        """The normal proposals that were fitted so far."""
        return tuple(self._weighing.tuned)

    def state_of(self, piece: Piece) -> dict[str, Any]:
        """Return the counts of the round, and the normal of a fitted proposal."""
        state: dict[str, Any] = {"planned": tuple(self._planned.tolist())}
        k = self.books.index[piece.arm] - self._fixed
        if k >= 0:
            normal = self._weighing.tuned[k]
            state |= {"mean": tuple(normal.mean.tolist()), "root": normal.root.tolist()}
        return state

    # -- rounds

    def plan_round(self, left: float) -> list[Piece]:
        """Plan the next round from everything told so far."""
        ledger = self.books.ledger
        t, J = int(ledger.draws), self._fixed
        n = None if math.isinf(left) else t + max(1, int(left))
        if self.round < 1 and not self._weighing.tuned:
            if t == 0 and self.plan.unit != "draws":  # the first draws show what a draw costs
                missing = np.ones(J, np.int64)
            else:
                drawn = ledger.count[:J].astype(np.int64)
                missing = np.maximum(mixture_formulas.first_counts(J, n) - drawn, 0)
            if missing.any():
                return self._pieces(missing)
        size = self._size(t, n)
        if len(self._weighing.tuned) < self._tune and self._may_fit(t, n):
            self._weighing.fit()
        known = J + len(self._weighing.tuned)
        a = self._proportions(known)
        return self._pieces(mixture_formulas.next_counts(a, ledger.count[:known], size))

    def _may_fit(self, t: int, n: int | None) -> bool:
        """Tell whether enough draws are known for a fit, or whether waiting has cost enough."""
        return self._weighing.known() >= FITTED_TO or (n is not None and t >= n / 4)

    def _pieces(self, planned: Ints) -> list[Piece]:
        self._planned = planned
        cut = [
            pieces(self.plan.names[k], int(count), self.most_in_a_call)
            for k, count in enumerate(planned)
        ]
        return [piece for each in cut for piece in each]

    def _size(self, t: int, n: int | None) -> int:
        if not self.aim.given or t < _ENOUGH:
            return mixture_formulas.round_size(t, n)
        b = max(1, int(min(ROUND, self.aim.growth(self.estimate(self.seen()))) * t))
        return b if n is None or n - t >= 1.5 * b else n - t

    def _proportions(self, known: int) -> Floats:
        if self._shares == "equal":
            return np.full(known, 1 / known)
        if self._shares != "learned":
            return np.array(self._shares, float)
        price = None if self.plan.unit == "draws" else self.prices()[:known]
        return self._weighing.proportions(price)

    # -- tell

    def add(self, outcome: Outcome) -> None:
        """Add the draws of the next outcome; a normal that they were drawn from is kept."""
        extra = extra_of(outcome)
        if "mean" in extra:  # a stored one counts to the last bit
            k = self.books.index[outcome.arm] - self._fixed
            self._weighing.replace(k, Normal(extra["mean"], extra["root"]))
        self._weighing.add(outcome)

    def end_round(self) -> None:
        """Weight all draws again."""
        self.look(self.answer(()))

    def plan_again(self, outcome: Outcome) -> list[Piece]:
        """Begin the round of a stored outcome: it does not depend on the present budget."""
        planned = extra_of(outcome)["planned"]
        if len(planned) > self._fixed + len(self._weighing.tuned):
            self._weighing.fit()
        return self._pieces(np.array(planned, np.int64))

    # -- what is known

    def answer(self, early: Sequence[Outcome]) -> Answer:
        """Return the answer of all draws, weighted by their mixture."""
        seen, weighed, pooled = self._weighing.of_all(early)

        def finish(result: Result, _: Estimate) -> Result:
            warnings = [
                *self._weighing.warnings(seen, weighed, pooled),
                *self.books.warnings(),
                *result.warnings,
            ]
            fitted = [{"mean": n.mean.tolist(), "root": n.root.tolist()} for n in self.tuned]
            details = {"proposals": fitted} if fitted else {}
            return replace(result, warnings=tuple(warnings), details=details)

        scale = Scale(np.zeros(1), np.array([weighed.exponent]))
        return Answer(pooled, scale, finish=finish)
