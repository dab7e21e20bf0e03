"""The log-likelihood far away from known modes, as far as they explain it.

About a mode, the log-likelihood falls more or less like a parabola, and far away from all modes it
is about that of the mode whose parabola is highest there. The parabolas are fitted to points of the
prior. Where the log-likelihood is far above all of them, a mode is missing.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model
from croupier.data.draws import Floats

__all__ = ["Landscape", "far_coordinates", "parabolas"]

#: A parabola is fitted to at least this many points, and to at most so many for each of its
#: numbers.
FEW: Final = 3
MOST: Final = 20

#: Rounds in which points find their modes, and modes the sizes of their parabolas.
ROUNDS: Final = 3

#: How far a parabola is off beforehand: its constant, its vector and its matrix, in widths of the
#: mode; and the relative error of a fall that is left. They shrink a fit to few points.
OFF: Final = (3.0, 1.0, 0.2)
NOISE: Final = 0.01

#: This share of the points, the highest above a parabola, is left out of its fit: they may belong
#: to a mode that is not known.
TRIMMED: Final = 0.05

#: In more dimensions only the diagonal of a matrix is fitted.
PRODUCTS: Final = 25

#: A mode explains a point if its fall there is at most this many times the least of all.
NEARLY: Final = 1.3

#: The step of a difference.
_SMALL: Final = 1e-4


class Landscape(NamedTuple):
    """Parabolas of known modes in the far coordinates, as falls below the height of the highest.

    Mode k falls by depths[k] + slopes[k] M^2/2, where M is the distance from its mean in its own
    widths. `bent` has a constant, a vector and a matrix for each mode that correct this, in these
    widths.
    """

    means: Floats  # (K, d)
    inverses: Floats  # (K, d, d), of the roots, transposed
    depths: Floats  # (K,), of the peaks below `top`
    slopes: Floats  # (K,)
    bent: tuple[tuple[float, Floats, Floats] | None, ...]
    top: float

    def falls(self, far: Floats) -> Floats:
        """Return how far below the top each mode is at each of the points, (m, K)."""
        falls = np.empty((len(far), len(self.means)))
        for k, (mean, inverse) in enumerate(zip(self.means, self.inverses, strict=True)):
            z = (far - mean) @ inverse
            falls[:, k] = 0.5 * self.slopes[k] * np.einsum("ij,ij->i", z, z) + self.depths[k]
        return falls

    def explained(self, far: Floats) -> Floats:
        """Return the fall that each mode explains, (m, K); infinite where another is far above."""
        falls = self.falls(far)
        least = falls.min(axis=1)
        for k, bend in enumerate(self.bent):
            near = falls[:, k] <= NEARLY * least
            if bend is not None and near.any():
                constant, vector, matrix = bend
                z = (far[near] - self.means[k]) @ self.inverses[k]
                more = constant + np.einsum("ij,ij->i", z @ matrix + vector, z)
                falls[near, k] = np.maximum(falls[near, k] + more, falls[near, k] / NEARLY)
            falls[~near, k] = np.inf
        return falls

    def joined_by(self, other: Landscape) -> Landscape:
        """Return the modes of both."""
        depths = np.concatenate([self.top - self.depths, other.top - other.depths])
        pairs = zip(self[:2], other[:2], strict=True)
        means, inverses = (np.concatenate(pair) for pair in pairs)
        top = max(self.top, other.top)
        slopes = np.concatenate([self.slopes, other.slopes])
        # What corrects a fall does not depend on the top.
        return Landscape(means, inverses, top - depths, slopes, self.bent + other.bent, top)

    def fitted(self, far: Floats, likelihood: Floats, which: Any) -> Landscape:
        """Return the landscape with some of its parabolas fitted to the log-likelihood of points.

        The errors are relative to the fall.
        """
        land, fall = self, self.top - likelihood
        for _ in range(ROUNDS):
            falls = land.falls(far)
            member, slopes = falls.argmin(axis=1), land.slopes.copy()
            for k in which:
                own = np.flatnonzero(member == k)
                if len(own) >= FEW:
                    here = np.maximum(falls[own, k] - land.depths[k], 1e-300)
                    ratio = float(np.median((fall[own] - land.depths[k]) / here))
                    slopes[k] *= min(max(ratio, 1e-3), 1e3)
            land = land._replace(slopes=slopes)
        falls = land.falls(far)
        member, bent = falls.argmin(axis=1), list(land.bent)
        for k in which:
            own = np.flatnonzero(member == k)
            if len(own) >= FEW:
                z = (far[own] - land.means[k]) @ land.inverses[k]
                bent[k] = _bend(z, fall[own] - falls[own, k], falls[own, k])
        return land._replace(bent=tuple(bent))


def far_coordinates(model: Model, points: Floats) -> Floats:
    """Return points in the coordinates of the user where the prior has two bounds.

    A normal mode is a parabola there. Elsewhere they are those of the model: without bounds, the
    tails of a prior may be heavy. All are in spreads of the prior.
    """
    if model.chart is None:
        return points / model.spread
    width = model.chart.high - model.chart.low
    between = np.isfinite(width)
    scale = np.where(between, width / 12**0.5, model.spread)
    return np.asarray(np.where(between, model.seen(points), points) / scale)


def parabolas(model: Model, law: Mixture, heights: Floats) -> Landscape:
    """Return the parabolas of the components of a law; `heights` are their log-likelihoods."""
    means, k = far_coordinates(model, law.means), len(law.shares)
    inverses = np.empty(law.roots.shape)
    for i, (mean, root) in enumerate(zip(law.means, law.roots, strict=True)):
        moved = far_coordinates(model, mean + _SMALL * root.T) - means[i]
        inverses[i] = np.linalg.pinv(moved / _SMALL)
    top = float(heights.max())
    return Landscape(means, inverses, top - heights, np.ones(k), (None,) * k, top)


def _bend(z: Floats, rest: Floats, scale: Floats) -> tuple[float, Floats, Floats]:
    """Return what a weighted ridge regression on a parabola finds, without points far above it."""
    d = z.shape[1]
    rows, columns = np.triu_indices(d) if d <= PRODUCTS else (np.arange(d), np.arange(d))
    numbers = 1 + d + len(rows)
    z, rest, scale = (each[: MOST * numbers] for each in (z, rest, scale))
    scale = NOISE * np.maximum(scale, 1.0)
    parts = [np.ones((len(z), 1)), z, z[:, rows] * z[:, columns]]
    terms, rest = np.concatenate(parts, axis=1) / scale[:, None], rest / scale
    ridge = np.repeat(np.array(OFF) ** -2.0, (1, d, len(rows)))
    kept = np.ones(len(rest), dtype=bool)
    for _ in range(2):
        x = terms[kept]
        found = np.linalg.solve(x.T @ x + np.diag(ridge), x.T @ rest[kept])
        left = rest - terms @ found
        kept = left >= np.quantile(left, TRIMMED)
    matrix = np.zeros((d, d))
    matrix[rows, columns] = found[1 + d :]
    return float(found[0]), np.asarray(found[1 : 1 + d], dtype=float), matrix
