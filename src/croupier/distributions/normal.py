"""One normal or Student component: how points turn by its root, and the density at its mean.

A root is lower triangular, and root root^T is the covariance. A compact root is a number for a
multiple of the unit matrix, or a vector for a diagonal matrix: d times less work for each point.
"""

from __future__ import annotations

import math

import numpy as np

from croupier.data.draws import Floats

__all__ = ["compact", "full", "inverse_of", "log_peak", "log_standard_normal", "root_of", "turned"]


def compact(root: Floats) -> Floats:
    """Return a root (d, d) as a number or a vector if it is no more than that.

    >>> compact(2 * np.eye(3)).tolist(), compact(np.diag([1.0, 2.0])).tolist()
    (2.0, [1.0, 2.0])
    """
    diagonal = root.diagonal()
    if np.count_nonzero(root) > np.count_nonzero(diagonal):
        return root
    return np.array(diagonal[0]) if (diagonal == diagonal[0]).all() else diagonal


def full(root: Floats, dimension: int) -> Floats:
    """Return a root, compact or not, as a matrix (d, d)."""
    return root if root.ndim == 2 else root * np.eye(dimension)


def inverse_of(root: Floats) -> Floats:
    """Return the compact inverse of a compact root.

    For thousands of points a product with it is faster than to solve for each of them.
    """
    if root.ndim < 2:
        return np.asarray(1 / root)
    from scipy.linalg.blas import dtrsm  # solve_triangular starts threads, even for 2 by 2

    return np.asarray(dtrsm(1.0, root, np.eye(len(root)), lower=1))


def turned(z: Floats, root: Floats) -> Floats:
    """Return root z for each row of z (n, d); `root` may be compact."""
    return np.asarray(z @ root.T if root.ndim == 2 else z * root)


def log_peak(root: Floats, df: float | None = None) -> float:
    """Return the log density at the mean: normal, or Student's with `df` degrees of freedom."""
    d, log_det = len(root), float(np.log(root.diagonal()).sum())
    if df is None:
        return -0.5 * d * math.log(2 * math.pi) - log_det
    one = math.lgamma((df + d) / 2) - math.lgamma(df / 2) - 0.5 * d * math.log(df * math.pi)
    return one - log_det


def log_standard_normal(x: Floats) -> Floats:
    """Return the log density of the standard normal distribution at points (n, d)."""
    return np.asarray(-0.5 * np.einsum("ij,ij->i", x, x) - 0.5 * x.shape[1] * math.log(2 * math.pi))


def root_of(covariance: Floats) -> Floats:
    """Return the lower triangular root of a covariance; a LinAlgError if there is none."""
    return np.asarray(np.linalg.cholesky(covariance), float)
