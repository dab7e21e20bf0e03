"""Peaks: climbs from many starting points at once, and a normal distribution at every peak.

A climb is a generator. It yields the points whose values it needs and is sent the values, so the
evaluations may be batches of a table. `together` drives many climbs: one batch serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture

__all__ = ["Asked", "Peak", "Values", "at_peaks", "climb", "joined", "together"]

#: Differences are taken over this share of the known width: their error then moves a peak by less
#: than a thousandth of the width.
_DIFFERENCE: Final = 1e-3

#: A climb ends when the next step promises to raise the log density by less than this.
_PROMISE: Final = 0.005

#: No step is longer than this, in standard deviations of the space: a bad gradient is not followed.
_LONGEST: Final = 2.0

#: The lengths of the trial steps, in units of the proposed step: far apart for the first one, whose
#: scale is not known.
_FIRST: Final = np.array([1.0, 0.3, 0.08, 0.015])
_LATER: Final = np.array([1.0, 0.4, 0.1])

#: A line without a higher point is tried again this many times, each time nearer.
_NEARER: Final = 4
_MOST_STEPS: Final = 200

#: The Hessian is measured again in the coordinates that it gives, so many times at most: the first
#: ones are poor where coordinates are nearly the same.
_WHITENED: Final = 3

#: Two peaks within this squared distance, in the units of either, are the same.
_SAME: Final = 2.0

#: A climb that comes to a known peak ends there, unless it is higher than the normal by this much.
_HIGHER: Final = 1.0

#: A component at a peak is this much wider than the normal, in variance, so that tails are covered.
_WIDER: Final = 1.2
_DF: Final = 8.0

#: The least share of a peak's component, over the number of peaks.
_LEAST_SHARE: Final = 0.02


class Asked(NamedTuple):
    """Points whose values a climb needs, and whether it needs their gradients."""

    points: Floats
    slope: bool = False


class Values(NamedTuple):
    """The values (m,) of the points that were asked for, and their gradients (m, d)."""

    values: Floats
    slopes: Floats | None = None


class Peak(NamedTuple):
    """A peak of a log density: where, how high, and the covariance of the normal that fits it."""

    mean: Floats
    height: float
    covariance: Floats

    @property
    def log_mass(self) -> float:
        """The log of the integral of the normal: height + log|2 pi C|/2 (Laplace 1774)."""
        d = len(self.mean)
        log_det = float(np.linalg.slogdet(self.covariance)[1])
        return self.height + 0.5 * (d * math.log(2 * math.pi) + log_det)

    def explains(self, point: Floats, value: float) -> bool:
        """Tell whether a point is on this peak, and as high as its normal says."""
        away = point - self.mean
        squares = float(away @ np.linalg.solve(self.covariance, away))
        return squares < len(away) + _SAME and value < self.height - 0.5 * squares + _HIGHER

    def near(self, other: Peak) -> bool:
        """Tell whether two climbs have ended at the same peak."""
        away = self.mean - other.mean
        return any(
            float(away @ np.linalg.solve(covariance, away)) < _SAME
            for covariance in (self.covariance, other.covariance)
        )


#: A climb, and what drives it: yields what is asked, is sent values, returns what it found, or None
#: if that is known.
Climb = Generator[Asked, Values, Peak | None]


def climb(
    start: Floats,
    value: float,
    most: float,
    *,
    gradient: bool = False,
    known: Sequence[Peak] = (),
) -> Climb:
    """Climb from a point to a peak with quasi-Newton steps, and fit a normal distribution there.

    The inverse Hessian is that of Broyden, Fletcher, Goldfarb and Shanno (Nocedal and Wright 2006,
    equation 6.17). Without gradients, forward differences take d evaluations. A climb ends its
    steps after `most` evaluations, or at a peak that is `known`.
    """
    x, f, spent, cap = start.copy(), value, 0, 1.0
    d = len(x)
    inverse: Floats | None = None
    slope: Floats | None = None
    step = np.zeros(d)
    for _ in range(_MOST_STEPS):
        if gradient:
            found = (yield Asked(x[None], slope=True)).slopes
            assert found is not None
            now, cost = found[0], 1
        else:
            now, cost = yield from _differences(x, f, inverse)
        spent += cost
        if slope is not None:
            inverse = _updated(inverse, step, slope - now, cap)
        slope = now
        if inverse is None:
            size = float(np.linalg.norm(slope))
            if not size > 0:
                break
            proposed = slope * (cap / size)
        else:
            proposed = inverse @ slope
            if 0.5 * slope @ proposed < _PROMISE:
                break
            length = float(np.linalg.norm(proposed))
            proposed *= min(1.0, _LONGEST / length)
        if spent > most:
            break
        lengths = _FIRST if inverse is None else _LATER
        for _ in range(_NEARER):
            values = (yield Asked(x + lengths[:, None] * proposed)).values
            spent += len(lengths)
            best = int(values.argmax())
            if values[best] > f:
                break
            lengths = lengths * lengths[-1] * 0.3
        else:
            break
        step = lengths[best] * proposed
        x, f = x + step, float(values[best])
        if any(peak.explains(x, f) for peak in known):
            return None
        if inverse is None:
            cap = max(2 * cap * float(lengths[best]), 1e-8)
    if inverse is None:
        inverse = np.eye(d) * min(1.0, cap**2)
    return (yield from _normal_at(x, f, inverse, max(most - spent, most / 2), gradient))


def _differences(
    x: Floats, f: float, inverse: Floats | None
) -> Generator[Asked, Values, tuple[Floats, int]]:
    """Return the gradient by forward differences; backward ones at an edge of the support."""
    widths = np.full(len(x), 0.01) if inverse is None else np.sqrt(inverse.diagonal())
    h = np.clip(_DIFFERENCE * widths, 1e-9, 1e-2)
    rise = (((yield Asked(x + np.diag(h))).values) - f) / h
    cost, edge = len(x), ~np.isfinite(rise)
    if edge.any():
        fall = (f - (yield Asked((x - np.diag(h))[edge])).values) / h[edge]
        rise[edge] = np.where(np.isfinite(fall), fall, 0.0)
        cost += int(edge.sum())
    return rise, cost


def _updated(inverse: Floats | None, step: Floats, change: Floats, cap: float) -> Floats:
    """Return the inverse Hessian after a step; `change` is that of the downhill gradient."""
    curved = float(step @ change)
    if inverse is None:
        least = curved / float(change @ change) if curved > 0 else min(1.0, cap**2)
        inverse = np.eye(len(step)) * least
    if curved <= 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    turn = np.eye(len(step)) - np.outer(step, change) / curved
    return np.asarray(turn @ inverse @ turn.T + np.outer(step, step) / curved)


def _normal_at(x: Floats, f: float, inverse: Floats, most: float, gradient: bool) -> Climb:
    """Fit a normal distribution with second differences over about one standard deviation.

    In the coordinates of the inverse Hessian the true one is nearly the unit matrix, so differences
    are of the right size in narrow and in wide directions. With gradients, their differences are
    the whole Hessian; without, d (d - 1)/2 more points have the mixed ones.
    """
    d = len(x)
    values, vectors = np.linalg.eigh((inverse + inverse.T) / 2)
    root = vectors * np.sqrt(np.clip(values, 1e-18, _LONGEST**2))
    for last in (False, False, True):
        both = yield _around(x, root, gradient)
        up, down = both.values[:d], both.values[d:]
        top = int(both.values.argmax())
        if both.values[top] > f + 2 and not last:  # the climb had not arrived
            x = x + (root.T[top] if top < d else -root.T[top - d])
            f = float(both.values[top])
            continue
        curved = 2 * f - up - down
        curved = np.where(np.isfinite(curved), curved, 100.0)
        if last or ((curved > 0.4) & (curved < 2.5)).all():
            break
        root = root / np.sqrt(np.clip(curved, 0.04, 100.0))
        root *= np.minimum(1.0, _LONGEST / np.maximum(np.linalg.norm(root, axis=0), 1e-300))
    i, j = np.triu_indices(d, 1)
    for _ in range(_WHITENED):
        hessian = np.diag(np.clip(curved, 0.1, 10.0))
        mixed = np.zeros(len(i))
        whole = d > 1 and (both.slopes is not None or len(i) <= most)
        if both.slopes is not None:
            fall = 0.5 * (both.slopes[d:] - both.slopes[:d]) @ root
            mixed = 0.5 * (fall + fall.T)[i, j]
            mixed[~np.isfinite((up + down)[i] + (up + down)[j])] = 0.0  # beyond a bound: no slope
        elif whole:
            most -= len(i)
            corner = (yield Asked(x + root.T[i] + root.T[j])).values
            with np.errstate(invalid="ignore"):  # beyond a bound, all of them are -inf
                mixed = up[i] + up[j] - corner - f
        hessian[i, j] = hessian[j, i] = np.where(np.isfinite(mixed), mixed, 0.0)
        values, vectors = np.linalg.eigh(hessian)
        good = values[0] > 0.2 and values[-1] < 5
        turn = vectors / np.sqrt(np.clip(values, 0.02, 50.0))
        known = np.isfinite(up) & np.isfinite(down)
        slope = 0.5 * np.subtract(up, down, out=np.zeros(d), where=known)
        newton = root @ (turn @ (turn.T @ slope))
        root = root @ turn
        if float(np.linalg.norm(newton)) <= _LONGEST:
            higher = float((yield Asked((x + newton)[None])).values[0])
            if higher > f:
                x, f = x + newton, higher
        if good or not whole or (both.slopes is None and len(i) > most):
            break
        both = yield _around(x, root, gradient)
        up, down = both.values[:d], both.values[d:]
        curved = np.where(np.isfinite(up + down), 2 * f - up - down, 100.0)
    return Peak(x, f, np.asarray(root @ root.T))


def _around(x: Floats, root: Floats, slope: bool) -> Asked:
    """Ask for the points one column of the root away from x, on both sides."""
    return Asked(np.concatenate((x + root.T, x - root.T)), slope)


def together(climbs: Sequence[Climb]) -> Generator[Asked, Values, list[Peak | None]]:
    """Drive climbs at once, so that what all of them need next is one batch."""
    found: dict[int, Peak | None] = {}
    wanted = {k: next(each) for k, each in enumerate(climbs)}
    while wanted:
        for slope in (False, True):
            rows = [k for k, each in wanted.items() if each.slope == slope]
            if not rows:
                continue
            sizes = [len(wanted[k].points) for k in rows]
            answer = yield Asked(np.concatenate([wanted[k].points for k in rows]), slope)
            ends = np.cumsum(sizes)
            for k, size, end in zip(rows, sizes, ends.tolist(), strict=True):
                part = slice(end - size, end)
                slopes = None if answer.slopes is None else answer.slopes[part]
                try:
                    wanted[k] = climbs[k].send(Values(answer.values[part], slopes))
                except StopIteration as done:
                    found[k] = done.value
                    del wanted[k]
    return [found[k] for k in sorted(found)]


def joined(known: list[Peak], new: Sequence[Peak | None]) -> list[Peak]:
    """Add peaks that are not known to a list, and return them; a higher twin takes a place."""
    added = []
    for peak in new:
        if peak is None:
            continue
        twins = [k for k, other in enumerate(known) if peak.near(other)]
        if not twins:
            known.append(peak)
            added.append(peak)
        elif peak.height > known[twins[0]].height + 0.5:
            known[twins[0]] = peak
    return added


def at_peaks(peaks: Sequence[Peak]) -> Mixture:
    """Return a mixture of Student's distributions at peaks, with the shares of their masses."""
    masses = np.array([peak.log_mass for peak in peaks])
    shares = np.exp(masses - masses.max())
    shares = np.maximum(shares / shares.sum(), _LEAST_SHARE / len(peaks))
    roots: list[Any] = [np.linalg.cholesky(_WIDER * peak.covariance) for peak in peaks]
    means = np.array([peak.mean for peak in peaks])
    return Mixture(shares / shares.sum(), means, np.array(roots), _DF)
