"""Points, the draws of a proposal with all densities that an estimate needs; Normal, a proposal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.errors import PlanError

__all__ = ["Normal", "Points"]


class Points(NamedTuple):
    """The draws of one proposal, in logarithms: f p and the density of every proposal there.

    All densities are relative to one base measure, so only their ratios have a meaning.
    `log_size` is log |f p|, -inf where it is zero, and `sign` its sign; `log_p` has shape (n,),
    `log_q` (n, J); `statistic`, (n, m), is what a normal proposal is fitted to.
    """

    log_size: Floats
    sign: Floats
    log_p: Floats
    log_q: Floats
    statistic: Floats

    def values(self, proposal: int) -> Floats:
        """Return f p/q for the proposal that drew the points; its arm returns these values."""
        return np.asarray(self.sign * np.exp(self.log_size - self.log_q[:, proposal]))


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal distribution of m numbers, given by its mean and the root of its covariance.

    `mean` is a number or m of them; `root` a number (the standard deviation of each), m numbers
    (their deviations), or a lower triangular matrix with ``root @ root.T`` the covariance.

    >>> normal = Normal([1.0, 2.0], 0.5)
    >>> normal.sample(np.random.default_rng(7), 3).shape
    (3, 2)
    >>> Normal(0.0).logpdf(np.zeros((1, 1))).round(4)
    array([-0.9189])
    """

    mean: Floats
    root: Floats

    def __init__(self, mean: Any, root: Any = 1.0) -> None:
        centre = np.array(mean, float, ndmin=1)
        spread = np.array(root, float)
        m = centre.size
        if spread.ndim < 2:
            spread = np.diag(np.broadcast_to(spread, (m,)) if spread.size in (1, m) else spread)
        good = centre.ndim == 1 and spread.shape == (m, m) and np.isfinite(centre).all()
        if not (good and np.isfinite(spread).all() and not np.triu(spread, 1).any()):
            raise PlanError(
                f"a normal proposal needs m finite means and a lower triangular root (m, m), "
                f"got mean={mean!r} and root={root!r}"
            )
        if not (np.diag(spread) > 0).all():
            raise PlanError(f"the root of a normal proposal needs a diagonal above 0, got {root!r}")
        object.__setattr__(self, "mean", centre)
        object.__setattr__(self, "root", spread)

    @cached_property
    def _one(self) -> Mixture:
        return Mixture.normal(self.mean, self.root)

    def __len__(self) -> int:
        return len(self.mean)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` points, (size, m)."""
        return self.place(rng.standard_normal((size, len(self))))

    def place(self, z: Floats) -> Floats:
        """Return the points that standard normal numbers (n, m) become."""
        return self.mean + z @ self.root.T

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density at points (n, m)."""
        return self._one.component_log_densities(x.reshape(len(x), -1))[:, 0]
