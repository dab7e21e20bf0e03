"""[strata]: arms with known weights whose weighted sum is estimated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from croupier.cli.sections import Section
from croupier.cli.sections.arms import arm_of
from croupier.errors import PlanError

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SECTION"]


def _play(contents: Any, folder: Path, options: Mapping[str, Any]) -> Result:
    from croupier.running.stratify import stratify

    if not isinstance(contents, Mapping) or not contents:
        raise PlanError("[strata] must have a section for every stratum, such as [strata.north]")
    arms, weights = {}, {}
    for name, entry in contents.items():
        arms[name] = arm_of("strata", name, entry, folder, ("weight",))
        if "weight" not in entry:
            raise PlanError(f"[strata.{name}] has no weight: the weights of all strata sum to 1")
        weights[name] = entry["weight"]
    return stratify(arms, weights=list(weights.values()), **options)


SECTION = Section(
    "strata", "arms with known weights, whose weighted sum is estimated", _play, of_arms=True
)
