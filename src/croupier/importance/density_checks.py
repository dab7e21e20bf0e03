"""Warnings about mistakes in a family, from the densities at its points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from croupier.data.central_moments import ROUNDING
from croupier.data.draws import Floats
from croupier.distributions.weights import log_mixture
from croupier.importance.points import Points

__all__ = ["constant_warnings", "density_warnings"]

#: There is a warning beyond this many standard errors: a chance of one in two million.
_BEYOND: Final = 5.0

#: If the mean of p/q differs from 1 by less than this, the difference does not matter.
_GAP: Final = 1e-3

#: If p is 0 in places that no draw has shown, the mean may exceed 1 by 20/n, once in e^20 runs.
_UNSEEN: Final = 20.0


def constant_warnings(points: Points) -> list[str]:
    """Return a warning if f is the same number, not 0, at all points where p is not 0.

    The controls then explain all differences between the draws, and the error bar is tiny. It says
    nothing about points at which f is another number.

    >>> log_p = np.array([-1.0, -2.0, -np.inf])
    >>> ones = np.ones(3)
    >>> points = Points(log_p, np.array([1.0, 1.0, 0.0]), log_p, np.zeros((3, 1)), ones[:, None])
    >>> constant_warnings(points)[0][:37]
    'f was constant, 1, at all 2 points: t'
    """
    inside = np.isfinite(points.log_p)
    sign, log_p = points.sign[inside], points.log_p[inside]
    if len(sign) < 2 or not sign.all() or (sign != sign[0]).any():
        return []
    log_f = points.log_size[inside] - log_p
    if np.ptp(log_f) > ROUNDING * max(1.0, float(np.abs(log_p).max())):
        return []
    f = float(sign[0] * np.exp(np.median(log_f)))
    return [
        f"f was constant, {f:.6g}, at all {len(sign):,} points: the error bar holds only if it is "
        "constant everywhere; if another value is rare, add a proposal that draws it"
    ]


def density_warnings(
    log_p: Floats,
    log_q: Floats,
    source: np.ndarray,
    names: Sequence[str],
    *,
    normalised: bool,
) -> list[str]:
    """Return warnings about a family, as far as its points show them; an empty list if none.

    Under the mixture q of what was drawn, q_j/q has the mean 1 for every proposal whose points
    follow its density, and p/q has the mean 1 if p is normalised and the mixture reaches all of
    it. `log_p` (n,) and `log_q` (n, J) are log densities, `source` (n,) the proposals that drew.
    For any two proposals, q_j/q has the same mean over the points of q_k as q_k/q over the points
    of q_j. The proposal for which this fails most is probably wrong.

    >>> rng = np.random.default_rng(7)
    >>> x = np.concatenate((rng.normal(0, 1, 500), rng.normal(2, 1, 500)))
    >>> log_q = -0.5 * np.square(x[:, None] - [0, 3])
    >>> source = np.repeat([0, 1], 500)
    >>> density_warnings(log_q[:, 0], log_q, source, ["a", "b"], normalised=True)[0][:51]
    "'a' or 'b': its points do not follow its density, o"
    """
    count = np.bincount(source, minlength=log_q.shape[1]).astype(float)
    drawn = np.flatnonzero(count > 1)
    mixture = log_mixture(log_q, count / len(source))
    H = np.exp(log_q[:, drawn] - mixture[:, None])
    mean, error = _stratified(H, source, drawn)
    z = np.divide(mean - 1, error, out=np.zeros_like(mean), where=error > 0)
    found = []
    if (np.abs(z) > _BEYOND).any():
        blamed = " or ".join(repr(names[drawn[j]]) for j in _to_blame(H, source, drawn))
        worst = int(np.abs(z).argmax())
        found.append(
            f"{blamed}: its points do not follow its density, or its density is not normalised, "
            f"and every estimate is biased: the mean of q/mixture must be 1, and is "
            f"{mean[worst]:.4g} for {names[drawn[worst]]!r} ({z[worst]:+.1f} standard errors)"
        )
    elif normalised:
        weight = np.exp(log_p - mixture)[:, None]
        mean, error = _stratified(weight, source, drawn)
        if mean[0] < 1 - max(_BEYOND * float(error[0]), _GAP):
            found.append(
                f"no proposal reaches all of the target: the mean of p/mixture is {mean[0]:.4g} "
                f"where it must be 1, so {1 - mean[0]:.3g} of the target was never drawn: "
                "add a wider proposal, or fix a density that is not normalised"
            )
        elif mean[0] > 1 + max(_BEYOND * float(error[0]), _GAP, _UNSEEN / len(source)):
            found.append(
                "the points do not follow the densities, or a density is not normalised, and "
                f"every estimate is biased: the mean of p/mixture must be 1, and is {mean[0]:.4g}"
            )
    return found


def _stratified(x: Floats, source: np.ndarray, drawn: np.ndarray) -> tuple[Floats, Floats]:
    """Return the means of x (n, ...) over all points, and their errors for fixed counts."""
    variance = np.zeros(x.shape[1:])
    for j in drawn:
        part = x[source == j]
        variance += len(part) * part.var(axis=0, ddof=1)
    return x.mean(axis=0), np.sqrt(variance) / len(x)


def _to_blame(H: Floats, source: np.ndarray, drawn: np.ndarray) -> list[int]:
    """Return the proposals whose means differ most from the means in the other direction.

    If there are only two proposals, it cannot be seen which one is wrong.
    """
    mean = np.array([H[source == j].mean(axis=0) for j in drawn])
    error2 = np.array([H[source == j].var(axis=0, ddof=1) / np.sum(source == j) for j in drawn])
    both = error2 + error2.T
    z2 = np.divide(np.square(mean - mean.T), both, out=np.zeros_like(both), where=both > 0)
    blame = z2.sum(axis=0)
    return [int(j) for j in np.flatnonzero(blame >= 0.9 * blame.max())]
