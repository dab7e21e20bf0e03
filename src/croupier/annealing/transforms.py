"""Changes of variables (charts) in which a prior has neither boundaries nor heavy tails.

A distribution at a boundary, or with a power-law tail, is far from normal, and no normal
distribution covers it. In a chart u, these are N(0, 1): a uniform distribution on an interval, an
F(2, 2) distribution above a bound, and, approximately, Student's with few degrees of freedom on
the line. Distributions with lighter tails than these have lighter tails than N(0, 1) there. The
integral of a density is the same in any coordinates, with the slope dx/du.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats

__all__ = ["Chart", "chart_of"]

#: A coordinate has heavy tails if one of a few hundred points is this many spreads away.
_FAR: Final = 6.0

#: Below it, log and 1/x overflow.
_TINY: Final = 1e-300

_LOG_ROOT: Final = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates u, with p = Phi(u), the normal distribution function, and o = p/(1 - p).

    x = low + (high - low) p between two bounds, x = low + scale o above one, x = high - scale/o
    below one, x = centre + scale (o - 1/o)/2 where `heavy`; x = u elsewhere.
    """

    low: Floats  # (d,), -inf where there is none
    high: Floats  # (d,), inf where there is none
    heavy: Any  # (d,)
    centre: Floats  # (d,)
    scale: Floats  # (d,)

    def to(self, points: Floats) -> Floats:
        """Return u for each of the points (m, d)."""
        from scipy.special import expit, ndtri

        u = np.clip(points, *self._inside)
        odds = []  # their logarithms
        with np.errstate(divide="ignore"):  # a point on a bound, except for the smallest of numbers
            if (i := self._between).size:
                odds.append((i, np.log((u[:, i] - self.low[i]) / (self.high[i] - u[:, i]))))
            if (i := self._above).size:
                odds.append((i, np.log((u[:, i] - self.low[i]) / self.scale[i])))
            if (i := self._below).size:
                odds.append((i, -np.log((self.high[i] - u[:, i]) / self.scale[i])))
            if (i := self._heavy).size:
                odds.append((i, np.arcsinh((u[:, i] - self.centre[i]) / self.scale[i])))
        for i, v in odds:
            tail = np.maximum(expit(-np.abs(v)), _TINY)
            u[:, i] = np.copysign(ndtri(tail), v)
        return u

    def back(self, u: Floats) -> Floats:
        """Return x for each of the u (m, d)."""
        x = np.array(u)
        for i, tail in self._tails(u, self._between):
            away = (self.high[i] - self.low[i]) * tail  # from the nearer bound
            x[:, i] = np.where(u[:, i] < 0, self.low[i] + away, self.high[i] - away)
        for i, tail in self._tails(u, self._above):
            odds = tail / (1 - tail)
            x[:, i] = self.low[i] + self.scale[i] * np.where(u[:, i] < 0, odds, 1 / odds)
        for i, tail in self._tails(u, self._below):
            odds = tail / (1 - tail)
            x[:, i] = self.high[i] - self.scale[i] * np.where(u[:, i] < 0, 1 / odds, odds)
        for i, tail in self._tails(u, self._heavy):
            odds = tail / (1 - tail)
            x[:, i] = self.centre[i] + self.scale[i] * np.copysign(0.5 * (1 / odds - odds), u[:, i])
        return np.clip(x, *self._inside)

    def log_slope(self, u: Floats) -> Floats:
        """Return log dx/du, summed over the coordinates, for each of the u (m, d)."""
        bent = u[:, self._bent]
        total = self._constant - 0.5 * np.einsum("ij,ij->i", bent, bent)
        for i, tail in self._tails(u, self._above):
            total -= 2 * np.where(u[:, i] < 0, np.log1p(-tail), np.log(tail)).sum(axis=1)
        for i, tail in self._tails(u, self._below):
            total -= 2 * np.where(u[:, i] < 0, np.log(tail), np.log1p(-tail)).sum(axis=1)
        for _, tail in self._tails(u, self._heavy):
            odds = tail / (1 - tail)
            total += (np.log1p(odds * odds) - 2 * np.log(tail)).sum(axis=1)
        return np.asarray(total)

    @staticmethod
    def _tails(u: Floats, coordinates: Any) -> list[tuple[Any, Floats]]:
        """Return coordinates with Phi(-|u|) there, or nothing if there are no such coordinates."""
        if not coordinates.size:
            return []
        from scipy.special import ndtr

        return [(coordinates, np.maximum(ndtr(-np.abs(u[:, coordinates])), _TINY))]

    @cached_property
    def _constant(self) -> float:
        widths = np.where(np.isfinite(self.high - self.low), self.high - self.low, self.scale)
        logs = np.log(widths) - math.log(2) * self.heavy - _LOG_ROOT
        return float(logs[self._bent].sum())

    @cached_property
    def _inside(self) -> tuple[Floats, Floats]:
        """The first and last numbers between the bounds: at these, a density may be infinite."""
        largest = np.finfo(float).max
        low = np.maximum(np.nextafter(self.low, np.inf), -largest)
        return low, np.minimum(np.nextafter(self.high, -np.inf), largest)

    @cached_property
    def _bent(self) -> Any:
        return np.flatnonzero(self.heavy | (self.low > -np.inf) | (self.high < np.inf))

    @cached_property
    def _between(self) -> Any:
        return np.flatnonzero((self.low > -np.inf) & (self.high < np.inf))

    @cached_property
    def _above(self) -> Any:
        return np.flatnonzero((self.low > -np.inf) & (self.high == np.inf))

    @cached_property
    def _below(self) -> Any:
        return np.flatnonzero((self.low == -np.inf) & (self.high < np.inf))

    @cached_property
    def _heavy(self) -> Any:
        return np.flatnonzero(self.heavy)


def chart_of(points: Floats, spread: Floats, low: Floats, high: Floats) -> Chart | None:
    """Return a chart for a distribution with bounds, from its points; None if it needs no chart."""
    centre = np.median(points, axis=0)
    free = (low == -np.inf) & (high == np.inf)
    heavy = free & (np.abs(points - centre).max(axis=0) > _FAR * spread)
    if not (heavy | ~free).any():
        return None
    scale = np.where(low > -np.inf, centre - low, np.where(high < np.inf, high - centre, spread))
    return Chart(low, high, heavy, centre, np.maximum(scale, _TINY))
