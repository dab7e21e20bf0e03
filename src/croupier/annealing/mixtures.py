"""A mixture of Student's distributions about several modes, and Metropolis moves about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from croupier.annealing.skewness import fit_skews, log_slope, skewed, straightened
from croupier.annealing.slices import Chains, Evaluate
from croupier.annealing.walks import accept
from croupier.data.draws import Floats

__all__ = ["Mixture", "MixtureLevel", "MixtureMoves", "Pace", "move"]

#: The share of moves that the steps aim at.
ACCEPTED: Final = 0.5


@dataclass(frozen=True, eq=False)
class Mixture:
    """Student's distributions with `freedom` degrees of freedom about `means`, with their shares.

    The scale of component k is roots[k] roots[k]^T. With z = roots[k]^-1 (x - means[k]), the
    density is that of Student's multivariate distribution in z. If the tails are `separate`, each
    coordinate of z has a Student's distribution of its own: in many dimensions, one coordinate of
    the multivariate distribution is far out only if all are, and the tails of one coordinate of
    the posterior are missing. With `skews`, one tail of a coordinate of z is longer than the other:
    z is a skewed y, and the distribution is that of y.
    """

    shares: Floats  # (K,), they sum to 1
    means: Floats  # (K, d)
    roots: Floats  # (K, d, d), lower triangular
    freedom: float
    separate: bool = False
    skews: Floats | None = None  # (K, d), see `skewness`

    @property
    def dimensions(self) -> int:
        """The number of coordinates."""
        return int(self.means.shape[1])

    def part(self, which: Any) -> Mixture:
        """Return the mixture of some of the components."""
        shares = self.shares[which] / self.shares[which].sum()
        skews = None if self.skews is None else self.skews[which]
        means, roots = self.means[which], self.roots[which]
        return replace(self, shares=shares, means=means, roots=roots, skews=skews)

    def skewed_like(self, points: Floats, weights: Floats) -> Mixture:
        """Return the mixture with the skews of weighted points; the same if none is clear."""
        straight = replace(self, skews=None)
        member = straight.log_parts(points).argmax(axis=1)
        skews = np.zeros(self.means.shape)
        for k in range(len(self.shares)):
            own = (member == k) & (weights > 0)
            if np.count_nonzero(own) > 1:
                z = (points[own] - self.means[k]) @ self._inverses[k]
                skews[k] = fit_skews(z, weights[own])
        return replace(straight, skews=skews) if skews.any() else straight

    def log_parts(self, points: Floats) -> Floats:
        """Return log(share x density) of every component at each of the points, (m, K)."""
        parts = np.empty((len(points), len(self.shares)))
        for k, (mean, inverse) in enumerate(zip(self.means, self._inverses, strict=True)):
            z = (points - mean) @ inverse
            if self.skews is None:
                parts[:, k] = self._peaks[k] - self._fall(z)
            else:
                y, slope = straightened(z, self.skews[k]), log_slope(z, self.skews[k])
                parts[:, k] = self._peaks[k] + slope - self._fall(y)
        return parts

    def _fall(self, z: Floats) -> Floats:
        """Return by how much the log-density at z is below that at the mean, row by row."""
        nu = self.freedom
        if self.separate:
            return np.asarray((nu + 1) / 2 * np.log1p(z * z / nu).sum(axis=1))
        squares = np.einsum("ij,ij->i", z, z)
        return np.asarray((nu + self.dimensions) / 2 * np.log1p(squares / nu))

    def log_density(self, points: Floats) -> Floats:
        """Return the log-density at each of the points, (m,)."""
        return summed(self.log_parts(points))

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return independent points, (size, d)."""
        chosen = rng.choice(len(self.shares), size, p=self.shares)
        return self.about(chosen, self.noise(rng, size))

    def noise(self, rng: np.random.Generator, size: int) -> Floats:
        """Return points z of one component with the mean 0 and the scale 1, (size, d)."""
        columns = self.dimensions if self.separate else 1
        scale = np.sqrt(self.freedom / rng.chisquare(self.freedom, (size, columns)))
        return np.asarray(scale * rng.standard_normal((size, self.dimensions)))

    def renewed(self, rng: np.random.Generator, z: Floats, step: Floats) -> Floats:
        """Return z after an autoregressive move, which is reversible for the noise.

        Student's distribution is normal with a random scale. The scale is drawn given the point,
        and then the normal part is renewed by `step`, from 0 to 1, (m, 1).
        """
        nu = self.freedom
        if self.separate:
            scale = np.sqrt((nu + z * z) / (2 * rng.standard_gamma((nu + 1) / 2, z.shape)))
        else:
            squares = np.einsum("ij,ij->i", z, z)
            gamma = rng.standard_gamma((nu + self.dimensions) / 2, len(z))
            scale = np.sqrt((nu + squares) / (2 * gamma))[:, None]
        fresh = scale * rng.standard_normal(z.shape)
        return np.asarray(np.sqrt(1 - step**2) * z + step * fresh)

    def about(self, chosen: Any, z: Floats) -> Floats:
        """Return mean + root z of the chosen component, row by row."""
        points = np.empty_like(z)
        for k in np.unique(chosen):
            rows = chosen == k
            own = z[rows] if self.skews is None else skewed(z[rows], self.skews[k])
            points[rows] = self.means[k] + own @ self.roots[k].T
        return points

    def within(self, chosen: Any, points: Floats) -> Floats:
        """Return the points in the coordinates of their chosen components."""
        z = np.empty_like(points)
        for k in np.unique(chosen):
            rows = chosen == k
            z[rows] = (points[rows] - self.means[k]) @ self._inverses[k]
            if self.skews is not None:
                z[rows] = straightened(z[rows], self.skews[k])
        return z

    @cached_property
    def _inverses(self) -> list[Floats]:
        return [np.asarray(np.linalg.inv(root).T) for root in self.roots]

    @cached_property
    def _peaks(self) -> Floats:
        nu, d = self.freedom, self.dimensions
        n, times = (1, d) if self.separate else (d, 1)
        one = math.lgamma((nu + n) / 2) - math.lgamma(nu / 2) - n / 2 * math.log(nu * math.pi)
        constant = times * one
        logs = np.log(np.einsum("kii->ki", self.roots)).sum(axis=1)
        return np.asarray(np.log(self.shares) + constant - logs)


@dataclass(frozen=True, eq=False)
class MixtureLevel:
    """What a search found at one temperature: the modes, and how far to move within each."""

    beta: float
    law: Mixture
    steps: Floats  # (K,), the share of the distance that a move renews


@dataclass(frozen=True, eq=False)
class MixtureMoves:
    """Moves within a mode, and a jump between modes where there are several."""

    levels: tuple[MixtureLevel, ...]

    @property
    def evaluations(self) -> float:
        """About how many evaluations of the likelihood a sweep takes for each chain."""
        return 1 + float(np.mean([len(level.law.shares) > 1 for level in self.levels]))

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move all chains once within their modes, then once between the modes."""
        level = next((each for each in self.levels if each.beta >= beta), self.levels[-1])
        move(rng, chains, beta, evaluate, level)
        if len(level.law.shares) > 1:
            move(rng, chains, beta, evaluate, level, jump=True)


class Pace:
    """How far the moves about a law go, mode by mode; the steps aim at a share that is accepted."""

    def __init__(self, law: Mixture) -> None:
        k = len(law.shares)
        self.law, self.steps, self.gone, self.moves = law, np.ones(k), np.zeros(k), 0

    def level(self, beta: float) -> MixtureLevel:
        """Return the law at a temperature, with the steps so far."""
        return MixtureLevel(beta, self.law, self.steps)

    def add(self, chosen: Any, moved: Any) -> None:
        """Count the moves of one sweep."""
        k = len(self.steps)
        count = np.bincount(chosen, minlength=k)
        share = np.bincount(chosen, moved, k) / np.maximum(count, 1)
        self.gone = self.gone + np.where(count > 0, share * self.steps**2, np.inf)
        changed = np.clip(self.steps * np.exp(share - ACCEPTED), 0.02, 1.0)
        self.steps = np.where(count > 0, changed, self.steps)
        self.moves += 1

    def mean(self) -> float:
        """Return how far a move goes, on average over the modes."""
        known = self.gone[np.isfinite(self.gone)]
        return float(known.mean()) / max(self.moves, 1) if known.size else 0.0


def move(
    rng: np.random.Generator,
    chains: Chains,
    beta: float,
    evaluate: Evaluate,
    level: MixtureLevel,
    *,
    jump: bool = False,
) -> tuple[Any, Any]:
    """Move all chains once; return the component of each chain, and whether it moved.

    A chain at x takes component k with the probability share_k t_k(x)/q(x), where q is the mixture,
    and makes an autoregressive move about t_k, which is reversible for t_k. Of the target
    f(x) share_k t_k(x)/q(x) of both, only f(x)/q(x) is left in the acceptance. A jump takes k by
    its share and makes a new point from t_k, with the same acceptance.
    """
    law, m = level.law, len(chains.points)
    parts = law.log_parts(chains.points)
    before = summed(parts)
    if jump:
        chosen = rng.choice(len(law.shares), m, p=law.shares)
        z = law.noise(rng, m)
    else:
        chosen = (parts + rng.gumbel(size=parts.shape)).argmax(axis=1)
        x = law.within(chosen, chains.points)
        z = law.renewed(rng, x, level.steps[chosen][:, None])
    proposed = law.about(chosen, z)
    old = chains.points.copy()
    accept(rng, chains, proposed, beta, evaluate, before - law.log_density(proposed))
    return chosen, (chains.points != old).any(axis=1)


def summed(parts: Floats) -> Floats:
    """Return log sum exp of each row."""
    top = parts.max(axis=1)
    return np.asarray(top + np.log(np.exp(parts - top[:, None]).sum(axis=1)))
