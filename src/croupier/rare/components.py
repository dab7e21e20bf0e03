"""Components: the normal distributions that a search draws from, and their mixture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.importance.points import log_mixture

__all__ = ["Component", "Frozen", "dealt", "effective", "log_normal", "mixture_of", "plain",
           "scout_widths", "scouts"]  # fmt: skip

#: How far the scouts are from the nominal distribution, in nats, from the narrowest to the widest.
_NATS: Final = (0.0, 2.0, 6.0)


@dataclass(frozen=True, eq=False)
class Component:
    """A normal distribution of d numbers.

    `root` is a number (the standard deviation of every coordinate), or a lower triangular matrix
    with ``root @ root.T`` the covariance.

    >>> Component(np.zeros(2), np.array(2.0)).logpdf(np.zeros((1, 2))).round(4)
    array([-3.2242])
    """

    mean: Floats
    root: Floats

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(np.linalg.inv(self.root))

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` points (size, d)."""
        normals = rng.standard_normal((size, len(self.mean)))
        moved = normals * self.root if self.root.ndim == 0 else normals @ self.root.T
        return np.asarray(self.mean + moved)

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density at points (n, d)."""
        d, away = len(self.mean), x - self.mean
        if self.root.ndim == 0:
            squares = np.square(away / self.root).sum(axis=1)
            log_det = d * math.log(float(self.root))
        else:
            # The inverse, because a solver starts threads for thousands of points with 2 numbers.
            squares = np.square(away @ self._inverse.T).sum(axis=1)
            log_det = float(np.log(np.diag(self.root)).sum())
        return np.asarray(-0.5 * squares - log_det - 0.5 * d * math.log(2 * math.pi))


def log_normal(x: Floats) -> Floats:
    """Return the log density of the standard normal distribution at points (n, d)."""
    return np.asarray(-0.5 * np.square(x).sum(axis=1) - 0.5 * x.shape[1] * math.log(2 * math.pi))


def scout_widths(d: int) -> tuple[float, ...]:
    """Return the widths s of the scouts: d ((s^2 - 1)/2 - ln s) is 0, 2 and 6 nats.

    >>> [round(s, 2) for s in scout_widths(2)], [round(s, 2) for s in scout_widths(100)]
    ([1.0, 2.12, 3.04], [1.0, 1.14, 1.25])
    """
    widths = []
    for nats in _NATS:
        low, high = 1.0, 1.0 + math.sqrt(2 * nats / d) + 1.0
        for _ in range(60):  # bisection: the function grows for s > 1
            middle = (low + high) / 2
            far = d * ((middle**2 - 1) / 2 - math.log(middle)) > nats
            low, high = (low, middle) if far else (middle, high)
        widths.append(1.0 if nats == 0 else low)
    return tuple(widths)


def scouts(d: int) -> list[Component]:
    """Return the scouts N(0, s^2 I), the narrowest first: it is the nominal distribution."""
    return [Component(np.zeros(d), np.array(width)) for width in scout_widths(d)]


def effective(log_weight: Floats) -> float:
    """Return the effective number of weighted draws, (sum w)^2/sum w^2; 0 for none.

    >>> round(effective(np.log([1.0, 1.0, 1e-9])), 3)
    2.0
    """
    if not len(log_weight):
        return 0.0
    w = np.exp(log_weight - log_weight.max())
    return float(w.sum() ** 2 / np.square(w).sum())


class Frozen(NamedTuple):
    """A mixture of components with shares that sum to 1. `modes` is the number of fitted ones.

    The fitted components come first, then as many twins, then the scouts.
    """

    components: tuple[Component, ...]
    shares: Floats
    modes: int = 0

    @property
    def plain(self) -> bool:
        """Whether all draws are nominal ones: then they have no weights."""
        return bool(self.shares[-3] == 1)

    def densities(self, x: Floats) -> Floats:
        """Return the log densities of all components, (n, C)."""
        return np.column_stack([each.logpdf(x) for each in self.components])

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density of the mixture at points (n, d)."""
        return log_mixture(self.densities(x), self.shares)

    def lists(self) -> dict[str, Any]:
        """Return the mixture as lists, for a batch: two batches can be compared."""
        return {
            "means": [each.mean.tolist() for each in self.components],
            "roots": [each.root.tolist() for each in self.components],
            "shares": self.shares.tolist(),
            "modes": self.modes,
        }

    def arrays(self) -> dict[str, Any]:
        """Return the mixture as arrays, for a store."""
        return {
            "means": np.array([each.mean for each in self.components]),
            "roots": [each.root for each in self.components],
            "shares": self.shares,
            "modes": self.modes,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Frozen:
        """Return the mixture that `lists` or `arrays` has written."""
        pairs = zip(plain["means"], plain["roots"], strict=True)
        components = tuple(
            [Component(np.asarray(mean, float), np.asarray(root, float)) for mean, root in pairs]
        )
        return cls(components, np.asarray(plain["shares"], float), int(plain["modes"]))


def dealt(shares: Floats, size: int, before: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the component of each of `size` draws, so that every piece has its due of each.

    `before` are the draws that each component has had: a component that is too rare for one round
    has its turn in a later one.

    >>> dealt(np.array([0.5, 0.25, 0.25]), 8).tolist()
    [0, 1, 2, 0, 0, 1, 2, 0]
    >>> dealt(np.array([0.9, 0.1]), 4, np.array([5, 0])).tolist()
    [0, 0, 1, 0]
    """
    had = np.zeros(len(shares)) if before is None else before
    due = np.maximum(shares * (had.sum() + size) - had, 0.0)
    due *= size / due.sum()
    counts = np.floor(due).astype(np.int64)
    rest = size - int(counts.sum())
    counts[np.argsort(counts - due, kind="stable")[:rest]] += 1
    places = [(np.arange(count) + 0.5) / max(count, 1) for count in counts]
    own = np.repeat(np.arange(len(shares)), counts)
    return own[np.argsort(np.concatenate(places), kind="stable")]


def plain(d: int) -> Frozen:
    """Return the nominal distribution as a mixture: the rival that needs no search."""
    return Frozen(tuple(scouts(d)), np.array([1.0, 0.0, 0.0]))


def mixture_of(fits: Sequence[tuple[float, Component]], d: int, fitted: float) -> Frozen:
    """Return fitted components with the share `fitted` together, and scouts for the rest."""
    wide = scouts(d)
    total = sum(share for share, _ in fits)
    shares = [fitted * share / total for share, _ in fits]
    components = (*(component for _, component in fits), *wide)
    left = 1.0 - (fitted if fits else 0.0)
    return Frozen(components, np.array(shares + [left / len(wide)] * len(wide)), len(fits))
