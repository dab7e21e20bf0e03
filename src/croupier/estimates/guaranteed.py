"""Guaranteed: an interval that holds in finite samples and at all times, where bounds are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast

from croupier.checks import Range
from croupier.data.draws import Floats
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.bet_sums import Horizon, Told
from croupier.estimates.bets import Bets
from croupier.estimates.strata_bets import StrataBets

__all__ = ["Guaranteed", "merged_bets"]


class _Book(Protocol):
    """The bets of a run, on one mean or on strata."""

    def add(self, told: Told) -> None: ...
    def ends(self, level: float) -> tuple[Floats, Floats]: ...
    def copy(self) -> Self: ...


@dataclass(frozen=True, eq=False)
class Guaranteed:
    """Holds in finite samples and at all times at once, for arms whose bounds are known.

    Nothing is assumed except the bounds and that every draw has the right mean, whatever was drawn
    before. So it holds under every policy and for every reason to stop. `horizons` are the budgets
    of the run, each with its first ticket: the interval is shortest at the end of a budget. See
    `bets` for the method.
    """

    horizons: tuple[Horizon, ...] = (Horizon(),)
    bets: _Book | None = None

    name: ClassVar[str] = "guaranteed"
    looking: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    @classmethod
    def at(
        cls,
        draws: float | None = None,
        *,
        cost: float | None = None,
        atol: float | None = None,
        rtol: float | None = None,
    ) -> Guaranteed:
        """Return an interval that is shortest after this many draws, or at such a tolerance.

        It holds at all other times as well. `cost` is in the unit of the plan.

        >>> Guaranteed.at(draws=10_000).horizons[0].draws
        10000
        """
        return cls((Horizon(0, draws, cost, atol, rtol),))

    def seated(self, plan: Plan, shared_mean: bool) -> Guaranteed:
        """Return the interval for a run of this plan, before its first batch."""
        bounds = _bounds(plan)
        level, width = math.log(2 / (1 - plan.confidence)), plan.width
        if shared_mean:
            return replace(self, bets=Bets(bounds, level, width, self.horizons))
        weights = plan.settings["weights"]
        return replace(self, bets=StrataBets(bounds, weights, level, width, self.horizons))

    @property
    def shared_mean(self) -> bool:
        """Whether all arms share one mean."""
        return isinstance(self.bets, Bets)

    def add(self, told: Told) -> None:
        """Bet on the batch that is next in ticket order."""
        assert self.bets is not None
        self.bets.add(told)

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """Return both ends of the interval, one number per component."""
        if self.bets is None:
            raise PlanError(
                "the bets of merged runs are not in the JSON of their result: merge the runs again "
                "for an interval at another level"
            )
        return self.bets.ends(math.log(2 / (1 - confidence)))

    def kept(self) -> Guaranteed:
        """Return the interval as it is now, for a result: later batches do not change it."""
        return replace(self, bets=None if self.bets is None else self.bets.copy())

    # -- what every interval has

    def multiplier(self, pooled: Any, confidence: float) -> Floats:
        """Return infinity: the interval does not follow from a standard error."""
        return cast(Floats, pooled.mean + math.inf)

    def ready(self, pooled: Any) -> bool:
        """Return True: it holds whenever the run stops."""
        return self.bets is not None

    def look(self, pooled: Any, confidence: float, end: Any = None) -> Guaranteed:
        """Return itself: it learns from batches."""
        return self

    def state(self) -> dict[str, Any]:
        """Return its name and its horizons; the bets can be made again from the batches."""
        return {"name": self.name, "horizons": [list(one) for one in self.horizons]}

    def after(self, state: Mapping[str, Any], ticket: int) -> Guaranteed:
        """Return the interval for a run whose earlier tickets were played with another state.

        The bets on a ticket stay as they were when it was asked for. If an earlier call had
        another kind of interval, its tickets are bet on without a budget: a budget that was chosen
        after they were seen must not count.
        """
        known = state["name"] == self.name
        before = _horizons(state["horizons"]) if known else (Horizon(),)
        own = self.horizons[-1]
        if ticket == 0 or own._replace(first=before[-1].first) == before[-1]:
            return replace(self, horizons=self.horizons if ticket == 0 else before)
        kept = [one for one in before if one.first < ticket]
        return replace(self, horizons=(*kept, own._replace(first=ticket)))

    def resumed(self, state: Mapping[str, Any]) -> Guaranteed | None:
        """Return this interval if it bets as a snapshot does; its bets are made again from rows."""
        if state["name"] != self.name or not set(_horizons(state["horizons"])) <= {*self.horizons}:
            return None
        return self


def _bounds(plan: Plan) -> Sequence[Range]:
    """Return the bounds of all arms; refuse a plan that has none for an arm."""
    if plan.log:
        raise PlanError(
            "interval='guaranteed' needs the bounds of the draws, but the arms return logs "
            "(log=True): return the draws themselves, or give anytime=True"
        )
    if plan.policy.get("clip", False):
        raise PlanError(
            f"interval='guaranteed' needs draws that keep to their bounds, but the policy "
            f"{plan.policy['name']!r} has clip=True, which lets draws leave them: give clip=False"
        )
    without = [name for name, known in zip(plan.names, plan.bounds, strict=True) if known is None]
    if without:
        shown = ", ".join(map(repr, without[:3])) + (", ..." if len(without) > 3 else "")
        raise PlanError(
            f"interval='guaranteed' needs the bounds of every arm, and {len(without)} of "
            f"{len(plan.names)} arms have none ({shown}): give cr.Arm(draw, bounds=(low, high)) "
            "or Allocator(bounds=[...]), or use anytime=True, which needs no bounds"
        )
    return [known for known in plan.bounds if known is not None]


def _horizons(stored: Any) -> tuple[Horizon, ...]:
    """Return horizons from plain data; ValueError for anything that `state` does not write."""
    found = []
    for first, *limits in stored:
        good = [limit is None or (isinstance(limit, int | float) and limit >= 0)
                for limit in limits]  # fmt: skip
        if type(first) is not int or first < 0 or len(limits) != 4 or not all(good):
            raise ValueError(f"an interval has the horizon {(first, *limits)!r:.80}")
        found.append(Horizon(first, *limits))
    if not found or found[0].first != 0:
        raise ValueError(f"an interval has the horizons {stored!r:.80}")
    return tuple(found)


def merged_bets(
    runs: Sequence[Guaranteed], plans: Sequence[Plan], *, same_arms: bool
) -> Guaranteed:
    """Return the interval of independent runs: what the gamblers of all runs have won together.

    The wealth in independent runs multiplies, and the product is a martingale as well. It is best
    for two or three runs: each run was bet on as if it were alone.
    """
    books = [one.bets for one in runs]
    if runs[0].shared_mean:
        bounds = [known for plan in plans[: 1 if same_arms else None] for known in _bounds(plan)]
        shared = [book for book in books if isinstance(book, Bets)]
        return replace(runs[0], bets=Bets.merged(shared, bounds, apart=not same_arms))
    if not same_arms:
        raise PlanError(
            "the runs have guaranteed intervals and different strata: they cannot be merged into "
            "one guaranteed interval; merge runs of the same strata, or give confidence= lower "
            "levels and intersect the intervals of the runs yourself"
        )
    strata = [book for book in books if isinstance(book, StrataBets)]
    return replace(runs[0], bets=StrataBets.merged(strata))
