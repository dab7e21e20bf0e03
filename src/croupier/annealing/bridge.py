"""The optimal bridge between fresh draws of a proposal and draws of the posterior.

Z = E_q[f h] / E_post[q h] for any h; h = 1/(s_1 f/Z + s_2 q) has the smallest error, and Z in it is
found by iteration (Meng and Wong, Statistica Sinica 6, 1996, equations 3.8 and 4.1).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.weights import effective_size_of_logs, log_mean_exp

__all__ = ["Bridge", "bridge"]

#: The error of a mean over chains comes from the means of so many parts, in their order.
_PARTS: Final = 20
_MOST_STEPS: Final = 200
_CLOSE: Final = 1e-10


class Bridge(NamedTuple):
    """The log of Z by the bridge, and its standard error."""

    log_value: float
    log_stderr: float


def bridge(fresh: Floats, held: Floats) -> Bridge:
    """Return the bridge of logs of f/q at fresh draws of q and at draws of the posterior.

    The draws of the posterior are in the order of their chains: neighbours may depend on each
    other, and the means of contiguous parts show it (batch means). The relative variance is the sum
    of those of both means (Fruehwirth-Schnatter, Econometrics Journal 7, 2004).

    >>> rng = np.random.default_rng(7)  # f = 3 N(0, 1), q = N(0, 2^2)
    >>> ratio = lambda x: np.log(6) - 3 / 8 * x**2
    >>> found = bridge(ratio(rng.normal(0, 2, 4000)), ratio(rng.normal(0, 1, 4000)))
    >>> bool(abs(found.log_value - np.log(3)) < 4 * found.log_stderr)
    True
    """
    fresh, held = np.asarray(fresh, float), np.asarray(held, float)
    parts = min(_PARTS, len(held) // 2)
    if parts < 2 or not np.isfinite(held).any() or not np.isfinite(fresh).any():
        return Bridge(math.nan, math.inf)
    # Draws of the posterior count by how many independent ones they are worth.
    worth = _worth(held, parts)
    s1, s2 = worth / (worth + len(fresh)), len(fresh) / (worth + len(fresh))
    log_z = float(log_mean_exp(fresh))
    above = below = np.empty(0)
    for _ in range(_MOST_STEPS):
        above = fresh - np.logaddexp(math.log(s1) + fresh - log_z, math.log(s2))
        below = -np.logaddexp(math.log(s1) + held - log_z, math.log(s2))
        new = float(log_mean_exp(above) - log_mean_exp(below))
        done, log_z = abs(new - log_z) < _CLOSE, new
        if done:
            break
    first = 1 / effective_size_of_logs(above) - 1 / len(above)
    means = np.array([np.exp(part - below.max()).mean() for part in np.array_split(below, parts)])
    second = means.var(ddof=1) / parts / means.mean() ** 2
    return Bridge(log_z, math.sqrt(max(first, 0.0) + second))


def _worth(logs: Floats, parts: int) -> float:
    """Return how many independent draws a series is worth: its variance over that of its mean."""
    ranks = logs.argsort().argsort() / len(logs)
    means = np.array([part.mean() for part in np.array_split(ranks, parts)])
    spread = float(means.var(ddof=1)) / parts
    whole = float(ranks.var()) / len(ranks)
    return len(logs) * min(1.0, whole / spread) if spread > 0 else float(len(logs))
