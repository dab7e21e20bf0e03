"""What deserves a warning in the result of a race."""

from __future__ import annotations

from typing import Final

from croupier.estimates.combiners import Pooled
from croupier.integration.standing import Standing

__all__ = ["race_warnings"]

#: A warning says so if the other families make the leader's variance this many times larger.
_DOUBT: Final = 4.0


def race_warnings(standing: Standing | None, pooled: Pooled) -> list[str]:
    """Return the warnings about the estimate of a race."""
    if standing is None:
        return ["no net is complete: nothing reliable is known; give a larger budget"]
    if not pooled.varies.all():
        value = pooled.mean[~pooled.varies][0]
        return [
            f"f seems to be constant: every net has the mean {value:.6g}, so nothing is known "
            "about the error; a small region where f differs may have been missed"
        ]
    found = []
    if not standing.trusted:
        found.append(
            f"only {standing.leader.effective:.0f} effective points carry the integral: a part "
            "of it may be missed and the error bar may be too short; draw more, or give "
            "narrower bounds"
        )
    if standing.doubt > _DOUBT:
        found.append(
            "the families of nets do not agree with each other, so the error bar was made "
            f"{standing.doubt**0.5:.1f} times longer: draw more"
        )
    return found
