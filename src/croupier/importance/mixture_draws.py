"""The draws of a mixture: the arm of a proposal, all draws as arrays, and a fitted normal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from croupier.data.draws import Draws, Floats, Outcome
from croupier.distributions.fit import fit_normal
from croupier.importance.mixture_formulas import Ints
from croupier.importance.points import Normal, Points
from croupier.tables.rounds import extra_of

if TYPE_CHECKING:
    from croupier.importance.family import Family

__all__ = ["Proposed", "Seen", "fitted", "gathered", "joined", "tuned_names"]

#: The variance of a fitted normal over that of the draws, so that its tails reach far enough.
_WIDER: Final = 1.21

#: The largest logarithm of the value of a draw. The value is used only in the row of its proposal.
_LARGEST_LOG: Final = 690.0


def tuned_names(names: Sequence[str], tune: int) -> tuple[str, ...]:
    """Return names for the proposals that will be fitted; none of them is in `names`."""
    prefix = "tuned"
    while any(name.startswith(f"{prefix} ") for name in names):
        prefix += "'"
    return tuple(f"{prefix} {k + 1}" for k in range(tune))


@dataclass(frozen=True)
class Proposed:
    """The arm of a proposal: the values f p/q for the ledger, the points for the table.

    The table sends a state with every batch: the round, and the normal distribution of a fitted
    proposal.
    """

    family: Family
    proposal: int
    name: str
    cost: float | None

    def draw(self, rng: np.random.Generator, size: int, state: Mapping[str, Any]) -> Draws:
        """Return the values of `size` points; `extra` has the points."""
        if "mean" in state:
            normal = Normal(state["mean"], state["root"])
            points = self.family.points(rng, size, normal, self.name)
            log_own = normal.logpdf(points.statistic)
        else:
            points = self.family.points(rng, size, self.proposal)
            log_own = points.log_q[:, self.proposal]
        log_value = np.where(points.sign == 0, -np.inf, points.log_size - log_own)
        values = points.sign * np.exp(np.minimum(log_value, _LARGEST_LOG))
        return Draws(values, self.cost, {**state, **points._asdict()})


class Seen(NamedTuple):
    """All draws in ticket order; `own` is the proposal and `round` the round of each draw."""

    points: Points
    own: Ints
    round: Ints


def gathered(outcomes: Sequence[Outcome], index: Mapping[str, int]) -> Seen:
    """Return the points of outcomes as arrays, in their order."""
    extras = [extra_of(outcome) for outcome in outcomes]
    sizes = [outcome.size for outcome in outcomes]
    points = Points(*(np.concatenate([e[name] for e in extras]) for name in Points._fields))
    own = np.repeat([index[outcome.arm] for outcome in outcomes], sizes)
    return Seen(points, own, np.repeat([e["round"] for e in extras], sizes))


def joined(first: Seen, second: Seen) -> Seen:
    """Return the draws of both, one after the other."""
    pairs = zip(first.points, second.points, strict=True)
    points = Points(*(np.concatenate(pair) for pair in pairs))
    own = np.concatenate((first.own, second.own))
    return Seen(points, own, np.concatenate((first.round, second.round)))


def fitted(statistic: Floats, weight: Floats, *, spread: bool = True) -> Normal | None:
    """Return the normal with the weighted mean of a statistic (n, m) and 1.1 times its spread.

    None means that the draws are too few to fit a normal.

    >>> fitted(np.array([[0.0], [2.0]]), np.array([1.0, 1.0])).root.round(4)
    array([[1.1]])
    """
    if not spread:
        total = weight.sum()
        return Normal(weight @ statistic / total) if total > 0 else None
    found = fit_normal(statistic, weight)
    if found is None:
        return None
    wide = found.widened(_WIDER)
    return Normal(wide.means[0], wide.roots[0])
