"""Central sums M_r = sum (x - mean)^r of two samples as one, and what they say about a variance.

They are merged by Pébay's formulas (Sandia report SAND2008-6212, 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from croupier.data.batch_moments import larger
from croupier.data.draws import Floats

__all__ = [
    "FEW",
    "ROUNDING",
    "df_of",
    "effective_df",
    "merge_moments",
    "variance_with_missed",
    "without_rounding",
]

#: Below this many effective degrees of freedom the normal approximation cannot be trusted.
FEW: Final = 50.0

#: Draws that differ by less than this part of their size, in the root mean square, differ by
#: rounding errors only: 256 units in the last place.
ROUNDING: Final = 2.0**-44

#: Draws below this part of the largest draw of the run are 0 but for rounding. Without it, finite
#: differences that have not seen their rare event yet claim an error of 1e-12.
_ZERO: Final = 2.0**-30

#: log 100, and a tiny number of effective draws that replaces zero, so that the mean counts as 0.
_DOUBT: Final = math.log(100)
_LEAST_EFFECTIVE: Final = 1e-5


def merge_moments(
    n_a: Floats | float, a: Iterable[Any], n_b: Floats | float, b: Iterable[Any]
) -> tuple[Any, Any, Any, Any]:
    """Merge two sets of (mean, M2, M3, M4), arrays or numbers: Pébay 2008, eq. 2.1 and 3.1.

    >>> merge_moments(1.0, (1.0, 0, 0, 0), 1.0, (3.0, 0, 0, 0))
    (2.0, 2.0, 0.0, 2.0)
    """
    n = n_a + n_b
    p_a, p_b = n_a / n, n_b / n
    mean_a, a2, a3, a4 = a
    mean_b, b2, b3, b4 = b
    delta = mean_b - mean_a
    delta2 = delta * delta
    cross = delta2 * n_a * p_b
    m2 = a2 + b2 + cross
    m3 = a3 + b3 + delta * (cross * (p_a - p_b) + 3 * (p_a * b2 - p_b * a2))
    m4 = (
        a4
        + b4
        + delta2 * (cross * (p_a * p_a - p_a * p_b + p_b * p_b))
        + 6 * delta2 * (p_a * p_a * b2 + p_b * p_b * a2)
        + 4 * delta * (p_a * b3 - p_b * a3)
    )
    return mean_a + delta * p_b, m2, m3, m4


def without_rounding(
    n: Any, moments: Iterable[Any], size: Any, largest: Any = 0.0
) -> tuple[Any, Any, Any, Any]:
    """Return the moments of draws of this size; M2, M3 and M4 are 0 if they are rounding errors.

    An arm that varies by rounding errors alone, such as ``(5.0 * w) / w``, has not varied: it may
    not have seen its rare event yet. Its spread would otherwise pass for an error bar. Neither has
    an arm whose draws are all 0 beside the `largest` draw of the run, except for what a difference
    of rounded numbers leaves.

    >>> without_rounding(2, (0.0, 2e-30, 0.0, 0.0), 5.0)
    (0.0, 0.0, 0.0, 0.0)
    >>> without_rounding(2, (0.0, 2e-20, 0.0, 0.0), 5.0)
    (0.0, 2e-20, 0.0, 0.0)
    >>> without_rounding(2, (1e-10, 2e-20, 0.0, 0.0), 1e-10, largest=100.0)
    (1e-10, 0.0, 0.0, 0.0)
    """
    mean, m2, m3, m4 = moments
    rounded = m2 <= n * (ROUNDING * size) ** 2
    zero = m2 + n * size**2 <= n * (_ZERO * largest) ** 2
    if isinstance(m2, np.ndarray):
        if (flat := rounded | zero).any():
            m2, m3, m4 = (np.where(flat, 0.0, m) for m in (m2, m3, m4))
    elif rounded or zero:
        m2 = m3 = m4 = 0.0
    return mean, m2, m3, m4


def df_of(n: Any, m2: Any, m4: Any) -> Any:
    """Return the effective degrees of freedom of M2/(n - 1): see `Ledger.df`."""
    if isinstance(m2, np.ndarray):
        m2, m4 = np.where((m2 > 0) & (m4 > 0), (m2, m4), 1.0)
    elif m2 == 0 or m4 == 0:
        # Nothing is known about an arm that has not varied, or only below the smallest number.
        m2 = m4 = 1.0
    return larger(effective_df(n, m2, m4), 1.0)


def effective_df(n: Any, m2: Any, m4: Any) -> Any:
    """Return 2 (n - 1)/(kurtosis - 1) with a shrunk kurtosis: see `Ledger.df`."""
    # Divided twice: the square of a small sum would underflow.
    excess = n * (n * (m4 / m2) / m2) + (40 - n)  # (n + 10)(kurtosis - 1)
    return 2 * (n - 1) * (n + 10) / excess


def variance_with_missed(s2: Floats, mean: Floats, n: Floats) -> Floats:
    """Return variances (K, d) of draws that are never negative: see `Ledger.variance`."""
    squares = s2 + mean * mean
    effective = np.divide(n * mean * mean, squares, out=np.zeros_like(s2), where=squares > 0)
    sure = mean * np.exp(-_DOUBT / np.sqrt(np.maximum(effective, _LEAST_EFFECTIVE)))
    gap = np.maximum(sure.max(axis=0) - mean, 0.0)
    return np.where(s2 > 0, np.maximum(s2, n * gap * gap), s2)
