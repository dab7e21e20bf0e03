"""Slice sampling by coordinates, exact, for many chains at once (Neal, Annals of Statistics 2003).

A chain at x draws a level below its density, y ~ U(0, f(x)), then a point from the part of the
slice {f > y} that an interval of the coordinate reveals: it steps out by a width until both ends
are outside, and shrinks at every point that is rejected. All chains do this together; only those
that are not done yet are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["Chains", "Evaluate", "Slice", "slice_sample", "widths_of"]


class Evaluate(Protocol):
    """Gives densities to a kernel and counts the evaluations: one per point."""

    def __call__(self, points: Floats, chains: Any, /) -> tuple[Floats, Floats]:
        """Return log-prior and log-likelihood at points that belong to these chains."""


@dataclass(slots=True)
class Chains:
    """The points of all chains, (m, d), and the two parts of their log-density there, (m,)."""

    points: Floats
    prior: Floats
    likelihood: Floats


@dataclass(frozen=True)
class Slice:
    """One sweep of slice sampling over the coordinates, at prior x likelihood^beta.

    `width` (d,) is the first length of an interval and the step by which it grows. An interval is
    never longer than `limit` times the width.
    """

    width: Floats
    limit: int = 64

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains, one coordinate after the other."""
        for coordinate in range(chains.points.shape[1]):
            self._move(rng, chains, beta, evaluate, coordinate)

    def _move(
        self,
        rng: np.random.Generator,
        chains: Chains,
        beta: float,
        evaluate: Evaluate,
        coordinate: int,
    ) -> None:
        m, w = len(chains.points), float(self.width[coordinate])
        x = chains.points[:, coordinate].copy()
        level = chains.prior + beta * chains.likelihood - rng.standard_exponential(m)
        # Both ends of every interval, the left ones first: entry e belongs to chain e mod m.
        left = x - w * rng.random(m)
        ends = np.concatenate([left, left + w])
        steps_left = np.floor(self.limit * rng.random(m))
        steps = np.concatenate([steps_left, self.limit - 1 - steps_left])
        active = np.flatnonzero(steps > 0)
        while active.size:
            owner = active % m
            trial = chains.points[owner]
            trial[:, coordinate] = ends[active]
            prior, likelihood = evaluate(trial, owner)
            active = active[prior + beta * likelihood > level[owner]]
            ends[active] += np.where(active < m, -w, w)
            steps[active] -= 1
            active = active[steps[active] > 0]
        low, high = ends[:m], ends[m:]
        active = np.arange(m)
        while active.size:
            u = rng.random(active.size)
            proposed = low[active] + u * (high[active] - low[active])
            trial = chains.points[active]
            trial[:, coordinate] = proposed
            prior, likelihood = evaluate(trial, active)
            inside = prior + beta * likelihood >= level[active]
            done = active[inside]
            chains.points[done, coordinate] = proposed[inside]
            chains.prior[done], chains.likelihood[done] = prior[inside], likelihood[inside]
            active, proposed = active[~inside], proposed[~inside]
            below = proposed < x[active]
            low[active[below]] = proposed[below]
            high[active[~below]] = proposed[~below]


def slice_sample(
    log_density: Callable[[Floats], Any],
    points: Any,
    rng: np.random.Generator,
    *,
    width: Any = 1.0,
    limit: int = 64,
    sweeps: int = 1,
) -> Floats:
    """Return chains (m, d) after some sweeps of slice sampling at a log-density (m, d) -> (m,).

    >>> rng = np.random.default_rng(7)
    >>> start = rng.standard_normal((1000, 2))
    >>> moved = slice_sample(lambda x: -0.5 * (x**2).sum(axis=1), start, rng, width=2.0)
    >>> bool(abs(moved.std() - 1) < 0.1)
    True
    """
    moved = np.array(points, dtype=float)
    if moved.ndim != 2:
        raise PlanError(f"points must be an array (chains, d), got shape {moved.shape}")
    kernel = Slice(widths_of(width, moved.shape[1]), count_of("limit", limit))

    def evaluate(trial: Floats, chains: Any) -> tuple[Floats, Floats]:
        density = np.asarray(log_density(trial), dtype=float)
        if density.shape != (len(trial),) or not (density < np.inf).all():
            raise PlanError(
                f"log_density must return one number for each of {len(trial)} points, finite or "
                f"-inf, got {density!r}"
            )
        return density, np.zeros(len(trial))

    density, nothing = evaluate(moved, None)
    if not (density > -np.inf).all():
        raise PlanError("points must all have a density above 0: every chain starts at one of them")
    chains = Chains(moved, density, nothing)
    for _ in range(count_of("sweeps", sweeps)):
        kernel.sweep(rng, chains, 1.0, evaluate)
    return chains.points


def widths_of(width: Any, dimensions: int) -> Floats:
    """Return one positive width per coordinate."""
    try:
        widths = np.asarray(width, dtype=float)
    except (TypeError, ValueError):
        raise PlanError(f"width must be above 0 and finite, got {width!r}") from None
    if widths.shape not in ((), (dimensions,)):
        raise PlanError(f"width must be one number, or one for each of {dimensions}, got {width!r}")
    if not ((widths > 0) & np.isfinite(widths)).all():
        raise PlanError(f"width must be above 0 and finite, got {width!r}")
    return np.broadcast_to(widths, (dimensions,)).copy()
