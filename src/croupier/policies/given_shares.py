"""Given shares: the counts of strata are fixed before the first draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.policies.base import Choice, Random, first_draws, price_of
from croupier.policies.stratified import most_behind

__all__ = ["GivenShares"]


class _State(NamedTuple):
    plan: Plan
    shares: Floats


@dataclass(frozen=True)
class GivenShares:
    """For strata, see `stratify`: counts in proportion to `shares`, whatever the draws are.

    The shares come from elsewhere, such as the pilot of strata that grow. The draws decide nothing,
    so no mean is biased, and no epochs are needed. Without shares, they are the weights of the
    strata.

    >>> import croupier as cr
    >>> parts = {s: lambda rng, size, s=s: rng.normal(0, float(s), size) for s in ("1", "3")}
    >>> policy = GivenShares((0.25, 0.75))
    >>> result = cr.stratify(parts, [0.5, 0.5], draws=1000, policy=policy, rng=7)
    >>> 230 < result.arms["1"].draws < 270
    True
    """

    shares: Sequence[float] = ()
    name: ClassVar[str] = "shares"

    def __post_init__(self) -> None:
        shares = tuple(map(float, self.shares))
        if not all(0 < share < np.inf for share in shares):
            raise PlanError(f"shares must be finite and above 0, got {self.shares!r}")
        object.__setattr__(self, "shares", shares)

    def start(self, plan: Plan) -> _State:
        shares = self.shares or plan.settings.get("weights") or [1.0] * len(plan.names)
        if len(shares) != len(plan.names):
            raise PlanError(
                f"shares must have one entry per arm ({len(plan.names)} in all), got "
                f"{len(shares)}: policy=cr.policies.GivenShares([...])"
            )
        return _State(plan, np.array(shares, float))

    def choose(self, state: _State, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        if (first := first_draws(state.plan, ledger, pending)) is not None:
            return first
        return most_behind(state.shares, price_of(state.plan, ledger), ledger, pending)

    def learn(self, state: _State, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> _State:
        return state

    @classmethod
    def example(cls) -> Self:
        return cls()
