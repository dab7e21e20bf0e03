"""A mixture of normal or Student's distributions: its density, its draws and its plain form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.normal import compact, full, inverse_of, log_peak, turned
from croupier.distributions.weights import log_sum_exp

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal distributions with their shares, or Student's with `df` degrees of freedom.

    Component k has the mean means[k] and the scale matrix roots[k] roots[k]^T. That is its
    covariance if it is normal (`df` is None).

    >>> two = Mixture([0.5, 0.5], [[0.0], [4.0]], [[[1.0]], [[0.5]]])
    >>> two.log_density(np.array([[0.0], [4.0]])).round(4)
    array([-1.6121, -0.9187])
    """

    shares: Floats  # (k,), they sum to 1
    means: Floats  # (k, d)
    roots: Floats  # (k, d, d), lower triangular
    df: float | None = None

    def __post_init__(self) -> None:
        for name in ("shares", "means", "roots"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.means.shape[1])

    @cached_property
    def _inverses(self) -> list[Floats]:
        return [inverse_of(root) for root in self._compact]

    @cached_property
    def _compact(self) -> list[Floats]:
        return [compact(root) for root in self.roots]

    @cached_property
    def _peaks(self) -> Floats:
        return np.array([log_peak(root, self.df) for root in self.roots])

    def squared_distances(self, points: Floats, k: int) -> Floats:
        """Return |root^-1 (point - mean)|^2 for component k, (n,)."""
        z = turned(points - self.means[k], self._inverses[k])
        return np.asarray(np.einsum("ij,ij->i", z, z))

    def component_log_densities(self, points: Floats) -> Floats:
        """Return the log density of every component at points (n, d), without shares: (n, k)."""
        found = np.empty((len(points), len(self)))
        for k in range(len(self)):
            squares = self.squared_distances(points, k)
            if self.df is None:
                found[:, k] = self._peaks[k] - 0.5 * squares
            else:
                power = 0.5 * (self.df + self.dimension)
                found[:, k] = self._peaks[k] - power * np.log1p(squares / self.df)
        return found

    def joint(self, points: Floats) -> Floats:
        """Return log(share x density) of every component at points (n, d): (n, k)."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.component_log_densities(points) + np.log(self.shares))

    def log_density(self, points: Floats) -> Floats:
        """Return the log density at points (n, d)."""
        return np.asarray(log_sum_exp(self.joint(points)))

    def responsibilities(self, points: Floats) -> Floats:
        """Return the probability of every component given each of the points, (n, k)."""
        joint = self.joint(points)
        return np.asarray(np.exp(joint - log_sum_exp(joint)[:, None]))

    def draw(self, rng: np.random.Generator, size: Any) -> tuple[Floats, NDArray[np.intp]]:
        """Return independent points (n, d) and the component of each.

        `size` is their number, or the number from each component: then they come in that order.

        >>> two = Mixture([0.5, 0.5], [[0.0], [90.0]], [[[1.0]], [[1.0]]])
        >>> points, own = two.draw(np.random.default_rng(7), [1, 2])
        >>> own.tolist(), (points[:, 0] > 45).tolist()
        ([0, 1, 1], [False, True, True])
        """
        if np.ndim(size) == 0:
            own = rng.choice(len(self), int(size), p=self.shares)
        else:
            own = np.repeat(np.arange(len(self)), size)
        return self.placed(self.noise(rng, len(own)), own), own

    def noise(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of one component with the mean 0 and the root I, (size, d)."""
        z = rng.standard_normal((size, self.dimension))
        if self.df is not None:
            z *= np.sqrt(self.df / rng.chisquare(self.df, (size, 1)))
        return z

    def placed(self, z: Floats, own: NDArray[np.intp]) -> Floats:
        """Return mean + root z of the component of each row."""
        points = np.empty_like(z)
        for k in np.unique(own):
            rows = own == k
            points[rows] = self.means[k] + turned(z[rows], self._compact[k])
        return points

    def standardised(self, points: Floats, own: NDArray[np.intp]) -> Floats:
        """Return root^-1 (point - mean) of the component of each row."""
        z = np.empty_like(points)
        for k in np.unique(own):
            rows = own == k
            z[rows] = turned(points[rows] - self.means[k], self._inverses[k])
        return z

    def part(self, which: Any) -> Mixture:
        """Return the mixture of some of the components."""
        shares = self.shares[which]
        return replace(
            self, shares=shares / shares.sum(), means=self.means[which], roots=self.roots[which]
        )

    def widened(self, factor: float) -> Mixture:
        """Return the mixture with every scale matrix multiplied by a factor."""
        return replace(self, roots=math.sqrt(factor) * self.roots)

    def joined(self, other: Mixture, share: float) -> Mixture:
        """Return the mixture in which `other` has a share, after the components of this one."""
        return Mixture.mixed((self, other), (1 - share, share))

    def as_plain(self) -> dict[str, Any]:
        """Return the mixture as arrays and numbers, for a batch or a store.

        A root that is a multiple of the unit matrix is one number, and a diagonal one is a vector.
        """
        plain = {"shares": self.shares, "means": self.means, "roots": [*self._compact]}
        return plain if self.df is None else {**plain, "df": self.df}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Mixture:
        """Return the mixture that `as_plain` has written; lists do as well as arrays.

        >>> one = Mixture([1.0], [[0.0, 1.0]], [[[2.0, 0.0], [1.0, 3.0]]], 5.0)
        >>> Mixture.of(one.as_plain()).roots.tolist()
        [[[2.0, 0.0], [1.0, 3.0]]]
        """
        means = np.array(plain["means"], float)
        roots = [full(np.asarray(root, float), means.shape[1]) for root in plain["roots"]]
        df = plain.get("df")
        return cls(plain["shares"], means, np.array(roots), None if df is None else float(df))

    @classmethod
    def mixed(cls, parts: Sequence[Mixture], shares: Any) -> Mixture:
        """Return the mixture in which each part has its share; the components keep their order."""
        df = parts[0].df
        if any(part.df != df for part in parts):
            raise ValueError(f"mixtures with df={[part.df for part in parts]} cannot be joined")
        return cls(
            np.concatenate([w * part.shares for w, part in zip(shares, parts, strict=True)]),
            np.concatenate([part.means for part in parts]),
            np.concatenate([part.roots for part in parts]),
            df,
        )

    @classmethod
    def around(cls, means: Floats, width: Any, shares: Floats | None = None) -> Mixture:
        """Return round normals about means (k, d), with one width or one for each.

        >>> Mixture.around(np.zeros((2, 3)), [1.0, 2.0]).roots[1].diagonal().tolist()
        [2.0, 2.0, 2.0]
        """
        k, d = means.shape
        widths = np.broadcast_to(np.asarray(width, float), k)
        equal = np.full(k, 1 / k) if shares is None else shares
        return cls(equal, means, widths[:, None, None] * np.eye(d))

    @classmethod
    def normal(cls, mean: Any, root: Any = 1.0) -> Mixture:
        """Return one normal distribution; `root` is a number, d numbers, or a lower triangle.

        >>> Mixture.normal([0.0, 0.0], 2.0).log_density(np.zeros((1, 2))).round(4)
        array([-3.2242])
        """
        mean = np.atleast_1d(np.asarray(mean, float))
        return cls(np.ones(1), mean[None], full(np.asarray(root, float), len(mean))[None])
