"""Moves of Markov chains, and the one step that accepts them.

A move proposes a point for every chain, with the logarithm of the ratio of its densities, back over
forth. The caller evaluates the target there, so the evaluations may be a batch that other workers
make. Then `accepted` says which chains go:

    proposal = random_walk(rng, points, root)
    after = log_target(proposal.points)
    moved = accepted(rng, after - before + proposal.log_ratio)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture

__all__ = [
    "Proposal",
    "accepted",
    "autoregression",
    "jump",
    "langevin",
    "random_walk",
    "slice_along",
]


class Proposal(NamedTuple):
    """Where chains would go, (m, d), and log q(x' -> x) - log q(x -> x'), (m,).

    `own` is the component of a mixture about which each chain moves; None without a mixture.
    """

    points: Floats
    log_ratio: Floats
    own: Any = None


def accepted(rng: np.random.Generator, log_ratio: Floats) -> NDArray[np.bool_]:
    """Return which chains move: those with log U < log ratio (Metropolis 1953, Hastings 1970).

    `log_ratio` is that of the targets, new over old, plus that of the proposal.
    """
    return np.asarray(-rng.standard_exponential(len(log_ratio)) < log_ratio)


def random_walk(
    rng: np.random.Generator, points: Floats, root: Floats, scale: float | None = None
) -> Proposal:
    """Return x' = x + scale root Z; the scale is 2.38/sqrt(d) unless it is given.

    Roberts, Gelman and Gilks, Annals of Applied Probability 7, 1997.
    """
    m, d = points.shape
    scale = 2.38 / math.sqrt(d) if scale is None else scale
    return Proposal(points + scale * rng.standard_normal((m, d)) @ root.T, np.zeros(m))


def autoregression(
    rng: np.random.Generator, points: Floats, mixture: Mixture, step: Any = 1.0
) -> Proposal:
    """Return x' = m + sqrt(1 - s^2) (x - m) + s root Z about the component of each chain.

    A chain takes component k with its responsibility. The move leaves k as it is (Neal 1998,
    section 5; the preconditioned Crank-Nicolson move of Cotter, Roberts, Stuart and White, 2013,
    about a fitted normal). So only target/mixture is left in the ratio. Student's distribution is
    normal with a random scale, which is drawn given the point. `step` s, from 0 to 1, is one number
    or one for each component.
    """
    joint = mixture.joint(points)
    own = (joint + rng.gumbel(size=joint.shape)).argmax(axis=1)
    z = mixture.standardised(points, own)
    fresh = rng.standard_normal(z.shape)
    if mixture.df is not None:
        squares = np.einsum("ij,ij->i", z, z)
        gamma = rng.standard_gamma(0.5 * (mixture.df + z.shape[1]), len(z))
        fresh *= np.sqrt((mixture.df + squares) / (2 * gamma))[:, None]
    s = np.broadcast_to(np.asarray(step, float), len(mixture))[own][:, None]
    proposed = mixture.placed(np.sqrt(1 - s * s) * z + s * fresh, own)
    return _about(mixture, points, proposed, own)


def jump(rng: np.random.Generator, points: Floats, mixture: Mixture) -> Proposal:
    """Return fresh draws of a mixture: an independence move, from any component to any other."""
    proposed, own = mixture.draw(rng, len(points))
    return _about(mixture, points, proposed, own)


def _about(mixture: Mixture, points: Floats, proposed: Floats, own: Any) -> Proposal:
    ratio = mixture.log_density(points) - mixture.log_density(proposed)
    return Proposal(proposed, ratio, own)


def langevin(
    rng: np.random.Generator,
    points: Floats,
    gradient: Callable[[Floats], Floats],
    root: Floats,
    step: float | None = None,
) -> Proposal:
    """Return x' = x + e^2/2 C grad log f(x) + e root Z, with C = root root^T.

    The step e is 1.4/d^(1/6) unless it is given (Roberts and Rosenthal, JRSS B 60, 1998). A move
    takes two gradients. A drift is at most sqrt(d) standard deviations long, because gradients far
    out are huge (Roberts and Tweedie, Bernoulli 2, 1996).
    """
    m, d = points.shape
    e = 1.4 / d ** (1 / 6) if step is None else step

    def drift(x: Floats) -> Floats:
        found = 0.5 * e * e * (gradient(x) @ root)
        length = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found * np.minimum(1.0, math.sqrt(d) / np.maximum(length, 1e-300)))

    noise = rng.standard_normal((m, d))
    forth = drift(points) + e * noise
    proposed = points + forth @ root.T
    back = (forth + drift(proposed)) / e
    return Proposal(proposed, 0.5 * (np.square(noise) - np.square(back)).sum(axis=1))


def slice_along(
    rng: np.random.Generator,
    points: Floats,
    log_target: Floats,
    evaluate: Callable[[Floats, Any], Floats],
    coordinate: int,
    width: float,
    limit: int = 64,
) -> Floats:
    """Return chains after one move of slice sampling along a coordinate (Neal 2003, section 4).

    A chain draws a level below its density. An interval of `width` about the chain steps out until
    both ends are below the level, at most to `limit` widths. Then it shrinks at every point that is
    rejected. ``evaluate(points, rows)`` returns the log target of points that belong to these rows;
    the last point that a row evaluates is where it goes.
    """
    m, moved = len(points), points.copy()
    x = points[:, coordinate]
    level = log_target - rng.standard_exponential(m)

    def at(y: Floats, rows: Any) -> Floats:
        trial = points[rows]
        trial[:, coordinate] = y
        return evaluate(trial, rows)

    # Both ends of every interval, the left ones first: end e belongs to chain e mod m.
    left = x - width * rng.random(m)
    ends = np.concatenate((left, left + width))
    steps_left = np.floor(limit * rng.random(m))
    steps = np.concatenate((steps_left, limit - 1 - steps_left))
    active = np.flatnonzero(steps > 0)
    while active.size:
        active = active[at(ends[active], active % m) > level[active % m]]
        ends[active] += np.where(active < m, -width, width)
        steps[active] -= 1
        active = active[steps[active] > 0]
    low, high = ends[:m], ends[m:]
    active = np.arange(m)
    while active.size:
        y = low[active] + rng.random(active.size) * (high[active] - low[active])
        inside = at(y, active) >= level[active]
        moved[active[inside], coordinate] = y[inside]
        active, y = active[~inside], y[~inside]
        below = y < x[active]
        low[active[below]] = y[below]
        high[active[~below]] = y[~below]
    return moved
