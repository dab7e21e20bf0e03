"""The variance of single points under a density that was not played yet, from known evaluations.

A fit that does not lower the variance of single points hardly ever lowers that of nets. This is
known before the first point of the fit is paid for.
"""

from __future__ import annotations

import numpy as np

from croupier.data.draws import Floats
from croupier.integration.changes import Change
from croupier.spaces.base import Moved

__all__ = ["point_variances"]


def point_variances(change: Change, moved: Moved, values: Floats, points: int) -> Floats:
    """Return the variance of f/q for points with the density q of a change, per component.

    `values` (n, m) are f/p at places `moved` whose points have the density p = 1/jac; they are
    those of so many `points` that are not 0. E_q (f/q)^2 is the mean of (f/p)^2 p/q over the points
    (importance sampling: Owen, Monte Carlo theory, methods and examples, 2013, section 9.1).

    >>> from croupier.integration.changes import Identity
    >>> u = (np.arange(1000)[:, None] + 0.5) / 1000
    >>> point_variances(Identity(), Moved(u, None, None), u, 1000).round(4).tolist()
    [0.0833]
    """
    weight = 1 / change.density_at(moved)
    if moved.jac is not None:
        weight = weight / moved.jac
    second = weight @ np.square(values) / points
    return np.asarray(np.maximum(second - np.square(values.sum(axis=0) / points), 0.0))
