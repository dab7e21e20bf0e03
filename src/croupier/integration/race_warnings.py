"""What deserves a warning in the result of a race."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.data.extremes import HEAVY
from croupier.estimates.combiners import Pooled
from croupier.integration.runner import Runner
from croupier.integration.standing import Standing

__all__ = ["race_warnings"]

#: The other families deserve a warning if they make the leader's error this many times longer.
_LONGER: Final = 2.0


def race_warnings(standing: Standing | None, pooled: Pooled) -> list[str]:
    """Return the warnings about the estimate of a race."""
    if standing is None:
        return ["no net is complete: nothing reliable is known; give a larger budget"]
    leader = standing.leader
    found = []
    if leader.constant.any():
        found.append(_alike(leader, pooled))
    if not pooled.varies.any():
        return found
    if not standing.trusted:
        found.append(
            f"only {leader.effective:.0f} effective points carry the integral: a part "
            "of it may be missed and the error bar may be too short; draw more, or give "
            "narrower bounds"
        )
    if standing.doubt > _LONGER**2:
        found.append(
            "the families of nets do not agree with each other, so the error bar was made "
            f"{standing.doubt**0.5:.1f} times longer: draw more"
        )
    shape = leader.shape
    if leader.longer > _LONGER:
        found.append(
            f"the family {leader.family!r} leads, but other families have seen values that it has "
            f"not, so the error bar was made {leader.longer:.1f} times longer, and may still be "
            "too short. f may have a heavy tail or a narrow peak; draw more, use a transform that "
            "removes the singularity, or give bounds around the peak"
        )
    if (shape > HEAVY).any():
        found.append(
            "the values of f have a heavy tail (Pareto shape of the extreme values "
            f"{np.nanmax(shape):.2f}, above {HEAVY}): the largest may not have been seen. "
            "The error bar was made longer, and may still be too short; use a transform that "
            "removes the singularity"
        )
    return found


def _alike(leader: Runner, pooled: Pooled) -> str:
    """Say that f was constant, and what this does not exclude."""
    value = pooled.mean[leader.constant][0]
    text = f"f was constant, {value:.6g}, at all {leader.points} points"
    if not value:
        return (
            f"{text}: the interval has no ends, because the size of f elsewhere is not known. A "
            f"region with less than {3 / leader.points:.1g} of the domain may have been missed. "
            "Give bounds around the place where f is not 0"
        )
    if not pooled.varies[leader.constant].all():
        return f"{text}: nothing is known about the error; draw more"
    return (
        f"{text}: the error bar holds if f is between 0 and {2 * value:.6g} in the regions that "
        "were missed"
    )
