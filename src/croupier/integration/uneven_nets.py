"""Nets that are doubled one after the other: some of them are ahead of the others.

A run that looks only when all nets are doubled stops up to two times too late. When each net is
doubled alone, the run can stop in between. The estimate is then a weighted mean of nets of two
sizes, and its error comes from the error of the nets before, and from their latest points.
"""

from __future__ import annotations

import numpy as np

from croupier.data.draws import Floats
from croupier.integration.net_errors import USUAL, NetError, net_error

__all__ = ["fallen", "net_weights", "uneven_error"]


def net_weights(points: Floats) -> Floats:
    """Return the weights of nets of different sizes: the usual precision n^1.5, with the sum 1.

    They do not depend on the values, so the weighted mean has no bias.

    >>> net_weights(np.array([32, 16, 16, 16])).round(3).tolist()
    [0.485, 0.172, 0.172, 0.172]
    """
    weights = points**USUAL
    return np.asarray(weights / weights.sum())


def fallen(ahead: int, nets: int, rate: Floats) -> Floats:
    """Return the variance of the weighted mean when `ahead` nets are doubled, relative to before.

    With w_r the weight of a net, and V n^-a the variance of one with n points, it is
    R sum_r w_r^2 (n_r/n)^-a.

    >>> [fallen(ahead, 4, np.array([1.5])).round(2).tolist() for ahead in (0, 1, 2, 4)]
    [[1.0], [0.69], [0.52], [0.35]]
    """
    points = np.where(np.arange(nets) < ahead, 2.0, 1.0)
    return np.asarray(nets * (np.square(net_weights(points)) @ points[:, None] ** -rate))


def uneven_error(
    blocks: Floats, size: int, ahead: int, before: NetError, usual: float = USUAL
) -> NetError:
    """Return the error of the weighted mean when the first `ahead` of R nets are doubled.

    `blocks` (R, B, m) are the sums of blocks with `size` points each; nets that are not ahead have
    only the first half of them. `before` is the error when no net was doubled. The latest points of
    every net, its second half if it is ahead, are R nets as large as those before. They have an
    error of their own. The larger of the two counts, so a look in between needs both of them to be
    small: a run that looks more often must not stop more often by chance.

    >>> blocks = np.random.default_rng(7).normal(size=(4, 16, 1))
    >>> before = net_error(blocks[:, :8], 1)
    >>> [bool(uneven_error(blocks, 1, k, before).variance < before.variance) for k in (1, 3)]
    [True, True]
    """
    R, half = len(blocks), blocks.shape[1] // 2
    latest = np.where((np.arange(R) < ahead)[:, None, None], blocks[:, half:], blocks[:, :half])
    error = net_error(latest, size, usual)
    larger = np.maximum(before.variance, error.variance)
    variance = larger * fallen(ahead, R, before.rate)
    known = before.variance > 0
    longer = np.sqrt(np.divide(variance, before.variance, out=np.ones_like(variance), where=known))
    return before._replace(
        variance=variance, covariance=before.covariance * np.multiply.outer(longer, longer)
    )
