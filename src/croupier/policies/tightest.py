"""The tightest of several upper bounds of bandits, each widened so that all hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.policies.bounded import (
    KLUCB,
    MOSS,
    UCB1,
    UCBV,
    IndexBandit,
    Lessons,
    ShortfallBandit,
)

__all__ = ["Tightest"]


@dataclass(frozen=True)
class Tightest(ShortfallBandit):
    """The tightest of several upper bounds, each made to hold together with the others.

    `of` names index policies, or holds them: every bound is taken at a time that is as many times
    later as there are bounds, which pays for the union of their failures. What they are paid is
    said here, not in them.
    """

    name: ClassVar[str] = "tightest"
    of: Sequence[Any] = ("ucb1", "ucb-v", "kl-ucb")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.of or not isinstance(self.of, Sequence) or isinstance(self.of, str):
            raise PlanError(f"of must be a sequence of index policies, got {self.of!r}")
        object.__setattr__(self, "of", tuple(_index_policy(one) for one in self.of))

    def shortfall(self, state: Lessons) -> Floats:
        later = state.at(state.total * len(self.of))
        return np.asarray(np.max([policy.shortfall(later) for policy in self.of], axis=0))


_INDEX_POLICIES: dict[str, type[IndexBandit]] = {p.name: p for p in (UCB1, UCBV, KLUCB, MOSS)}


def _index_policy(one: Any) -> IndexBandit:
    if isinstance(one, IndexBandit) and one.name in _INDEX_POLICIES:
        return one
    spec = dict(one) if isinstance(one, Mapping) else {"name": one}
    kind = _INDEX_POLICIES.get(spec.pop("name", None))
    if kind is None:
        known = ", ".join(sorted(_INDEX_POLICIES))
        raise PlanError(f"of must hold index policies, {known}, got {one!r}")
    return kind(**spec)
