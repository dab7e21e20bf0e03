"""The arms of a proposal: in an ordinary run, and in a mixture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from croupier.data.draws import Draws
from croupier.errors import ArmError
from croupier.importance.points import Normal
from croupier.importance.side_observations import SHOWN

if TYPE_CHECKING:
    from croupier.importance.family import Family

__all__ = ["LARGEST_LOG", "ProposalArm", "Proposed"]

#: If the logarithm of a value is larger (plus or minus), it or its error does not fit a double. A
#: larger value of a draw counts as this: it is used only in the row of its proposal.
LARGEST_LOG: Final = 690.0


@dataclass(frozen=True)
class ProposalArm:
    """The arm of a proposal: its draws are f p/q, or their logarithms.

    With `side` it shows some of its points to the policy `SideThompson`. `cost` is the cost of a
    draw.
    """

    #: What one proposal of a family does not reach, the others may not reach either.
    shares_blind_spots: ClassVar[bool] = True

    family: Family
    proposal: int
    log: bool
    side: bool
    cost: float | None

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` draws, with some of their points if a policy wants to see them."""
        points = self.family.points(rng, size, self.proposal)
        if not self.log:
            values = points.values(self.proposal)
        else:
            name = self.family.names[self.proposal]
            if (points.sign < 0).any():
                message = (
                    "the integrand is negative somewhere, so it has no log: use arms(log=False)"
                )
                raise ArmError(message, arm=name, value=-1)
            values = points.log_size - points.log_q[:, self.proposal]
        extra = None
        if self.side:
            few = slice(None, None, -(-size // SHOWN))
            extra = points.log_size[few], points.sign[few], points.log_q[few]
        if self.log:
            return Draws(log_values=values, costs=self.cost, extra=extra)
        return Draws(values, self.cost, extra)


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
        values = points.sign * np.exp(np.minimum(log_value, LARGEST_LOG))
        return Draws(values, self.cost, {**state, **points._asdict()})
