"""Are the draws of an arm independent? Warnings about copies, and about batches that differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.data.history import History
from croupier.data.repeats import Repeats

__all__ = ["dependence_warnings", "spread_of_batches"]

#: Batches with fewer draws than this, and arms with fewer such batches, say too little.
_LEAST: Final = 8

#: The variance between batches, over what the draws within them allow. Independent draws of every
#: kind have about 1; that 8 batches come to 10 by chance is less likely than 1e-10.
_FAR: Final = 10.0

#: Means that differ by less than this, compared with the largest draws, differ by rounding only.
_ROUNDING: Final = 1e-12

_CAUSES: Final = (
    "usual causes are a generator with a fixed seed inside the arm, the global np.random in worker "
    "processes, and a program that takes its seed from the clock: draw from the rng that the arm "
    "is given"
)


def dependence_warnings(
    names: Sequence[str], history: History, repeats: Mapping[int, Repeats]
) -> list[str]:
    """Return a warning for every arm whose draws are not independent, as far as can be seen."""
    found = []
    for arm, remembered in repeats.items():
        seen = remembered.found()
        if seen.first is not None:
            one, other = seen.first
            found.append(
                f"arm {names[arm]!r} repeats its draws: {seen.copies} of {seen.batches} batches "
                f"share draws with an earlier one (tickets {one} and {other}, for example), so "
                f"there are fewer independent draws than the error bar assumes; {_CAUSES}"
            )
    ratios = spread_of_batches(history)
    for arm in np.flatnonzero(ratios > _FAR).tolist():
        shown = f"{ratios[arm]:.0f}" if np.isfinite(ratios[arm]) else "infinitely many"
        found.append(
            f"the draws of arm {names[arm]!r} resemble each other within a batch: the means of its "
            f"batches vary {shown} times as much as independent draws allow, so the error bar is "
            f"too short; {_CAUSES}"
        )
    return found


def spread_of_batches(history: History) -> Floats:
    """Return F for each arm: the variance between its batches over that within them.

    With B batches of n_b draws, means x_b and within-batch sums M2_b, it is
    [sum n_b (x_b - x)^2/(B - 1)] / [sum M2_b/sum (n_b - 1)], the ratio of a one-way analysis of
    variance (Fisher 1925), for the first component. NaN for an arm with fewer than 8 batches of 8
    draws or more, and for one that never varied, except by rounding errors.
    """
    ratios = np.full(len(history.names), np.nan)
    if len(history) < _LEAST:
        return ratios
    arm, n, x, m2 = history.first_component()
    large = (n >= _LEAST) & np.isfinite(x) & np.isfinite(m2)
    size = np.maximum(np.abs(x), np.sqrt(m2 / np.maximum(n, 1)))
    largest = float(size[large].max(initial=0.0))
    for k in np.unique(arm[large]).tolist():
        own = large & (arm == k)
        B = int(own.sum())
        if B < _LEAST:
            continue
        n_b, x_b = n[own].astype(float), x[own]
        centre = (n_b @ x_b) / n_b.sum()
        between = float(n_b @ np.square(x_b - centre)) / (B - 1)
        within = float(m2[own].sum()) / float((n_b - 1).sum())
        if math.sqrt(between / float(n_b.max())) > _ROUNDING * largest:
            ratios[k] = between / within if within > 0 else np.inf
    return ratios
