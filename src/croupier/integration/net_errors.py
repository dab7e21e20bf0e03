"""The error of R nets: from their means, and from contrasts between blocks of each net.

A few means say little about their own spread. But the first half of a net is a net, and so is each
quarter. The differences between halves, quarters and so on, down to 64 parts, show how fast the
variance falls with the number of points, and this is extrapolated to the whole net. What was known
before the last doubling is extrapolated too.

Nets are doubled one after the other, because a run that looks only when all nets are doubled stops
up to two times too late. In between, the estimate is a weighted mean of nets of two sizes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats

__all__ = [
    "BLOCKS",
    "NetError",
    "averaged",
    "block_size",
    "differences",
    "fallen",
    "least_of_smooth",
    "net_error",
    "net_weights",
    "uneven_error",
]

#: A net is kept as at most this many blocks of equal size, in the order of its points. If the net
#: is small, its blocks are no smaller than four points, as long as it has 16 of them: the first few
#: points of a net say little about the rate of larger ones.
BLOCKS: Final = 64
_FEWER: Final = 16
_SMALLEST: Final = 4

#: The exponent a of the variance n^-a is shrunk to this one, by so much information.
USUAL: Final = 1.5
_INFORMATION: Final = 8.0
_SLOWEST_RATE, _FASTEST_RATE = 1.0, 3.0

#: The extrapolated variance counts like this many degrees of freedom. Its own noise allows for
#: more; the rate may change.
_WORTH: Final = 6.0

#: The weight of what the variance before the last doubling says.
_BEFORE: Final = 0.4


class NetError(NamedTuple):
    """What the blocks of R nets of n points say about the mean of all nets.

    `variance` (m,) is the variance of the mean, `rate` (m,) the exponent a with which it falls,
    `df` its degrees of freedom. `covariance` (m, m) is that of the components.
    """

    variance: Floats
    rate: Floats
    df: float
    covariance: Floats


def block_size(stop: int) -> int:
    """Return the points of a block in a net that grows to `stop` points: 64 blocks, or fewer.

    >>> [block_size(stop) for stop in (8, 32, 64, 96, 256, 512)]
    [1, 2, 4, 4, 4, 8]
    """
    whole = 1 << (stop - 1).bit_length()
    return max(whole // BLOCKS, min(whole // _FEWER, _SMALLEST), 1)


def net_error(blocks: Floats, size: int) -> NetError:
    """Return the error of the mean from the sums (R, B, m) of blocks with `size` points each.

    With V(n) the variance of one net, D_l = V(n/2^l) - V(n/2^(l-1)) is the mean square of half the
    difference between neighbours of size n/2^l, without bias. If V falls like n^-a, then
    D_l = V(n) (2^a - 1) 2^(a(l-1)): a comes from the slope of log D_l, and each level gives V(n).
    This is averaged, level l with the weight 2^-l, and with the variance of the R means. a is
    shrunk to the usual one, 1.5.
    """
    R, B = blocks.shape[:2]
    means = blocks.sum(axis=1) / (B * size)
    away = means - means.mean(axis=0)
    found = differences(blocks / size)
    L = len(found)
    worth = _WORTH if L else 0.0
    df = R - 1 + worth
    rate = _rate(found) if L else np.full(blocks.shape[2], USUAL)
    shares = worth / df * _falling(L)
    parts = [away / np.sqrt(df)]
    for level, (share, each) in enumerate(zip(shares, found, strict=True)):
        larger = (2**rate - 1) * 2 ** (rate * level)
        parts.append(each * np.sqrt(share / len(each) / larger))
    rows = np.concatenate(parts)
    covariance = rows.T @ rows / R
    return NetError(np.diag(covariance).copy(), rate, df, covariance)


def least_of_smooth(spread: Floats, mean: Floats, points: int) -> Floats:
    """Return the least standard error that P points can claim, however smooth f is.

    Nets of a smooth f with the variance v have the variance v P^-3 at best. P points cannot say
    that v is below mean^2/P: this is what f adds to it if it is 0 in an unseen P-th of the domain.

    >>> least_of_smooth(np.array([1e-18, 4.0]), np.array([1.0, 1.0]), 100).round(6).tolist()
    [0.0001, 0.002002]
    """
    return np.asarray(np.sqrt((spread + np.square(mean) / points) / points**3))


def averaged(error: NetError, n: int, before: NetError, n_before: int) -> NetError:
    """Return the error of nets of n points, averaged with what `n_before` points said.

    A run stops where the error looks small, and often it looks small by chance. So the variance is
    0.6 V(n) + 0.4 V(n_before) (n_before/n)^a, with the larger of the two rates a. By recursion,
    every size of the past counts, with a weight that falls like 0.4^age. A last stage that is no
    doubling has few degrees of freedom of its own, and those of the average are Satterthwaite's
    (Biometrics Bulletin 2, 1946), at most those of before.

    >>> one = NetError(np.array([4.0]), np.array([1.0]), 9.0, np.array([[4.0]]))
    >>> averaged(one._replace(variance=np.array([1.0])), 32, one, 16).variance.round(9).tolist()
    [1.4]
    """
    rate = np.maximum(error.rate, before.rate)
    earlier = before.variance * (n_before / n) ** rate
    variance = (1 - _BEFORE) * error.variance + _BEFORE * earlier
    longer = np.sqrt(np.divide(variance, error.variance, out=np.ones_like(variance),
                               where=error.variance > 0))  # fmt: skip
    parts = (1 - _BEFORE) ** 2 / error.df + _BEFORE**2 / before.df  # of equal variances
    return error._replace(
        variance=variance,
        df=max(error.df, min(1 / parts, before.df)),
        covariance=error.covariance * np.multiply.outer(longer, longer),
    )


def _falling(levels: int) -> Floats:
    """Return the weights of the levels, 2^-l, with the sum 1."""
    weights = 0.5 ** np.arange(1, levels + 1)
    return np.asarray(weights / max(weights.sum(), 0.5))


def differences(blocks: Floats) -> list[Floats]:
    """Return half the differences between neighbours: halves first, then quarters and so on.

    `blocks` (R, B, m) are means of blocks. There are none if B is no power of two.

    >>> [len(each) for each in differences(np.zeros((4, 16, 1)))]
    [4, 8, 16, 32]
    """
    B, m = blocks.shape[1:]
    if B & (B - 1):
        return []  # the last stage of a budget was no doubling
    found = []
    while B > 1:
        B //= 2
        pairs = blocks.reshape(-1, B, 2, m)
        found.append(((pairs[:, :, 0] - pairs[:, :, 1]) / 2).reshape(-1, m))
        blocks = pairs.mean(axis=2)
    return found[::-1]


def _rate(differences: list[Floats]) -> Floats:
    """Return the exponent a from the slope of log D_l, shrunk to the usual one, from 1 to 3.

    log D_l has the variance 2/count, so the weights are count/2.
    """
    y = np.log(np.maximum([np.square(each).mean(axis=0) for each in differences], 1e-300))
    w = np.array([len(each) / 2 for each in differences])
    x = np.log(2) * np.arange(len(w))
    away = x - w @ x / w.sum()
    known = w @ np.square(away)
    a = ((w * away) @ y + _INFORMATION * USUAL) / (known + _INFORMATION)
    return np.asarray(np.clip(a, _SLOWEST_RATE, _FASTEST_RATE))


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


def uneven_error(blocks: Floats, size: int, ahead: int, before: NetError) -> NetError:
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
    error = net_error(latest, size)
    larger = np.maximum(before.variance, error.variance)
    variance = larger * fallen(ahead, R, before.rate)
    known = before.variance > 0
    longer = np.sqrt(np.divide(variance, before.variance, out=np.ones_like(variance), where=known))
    return before._replace(
        variance=variance, covariance=before.covariance * np.multiply.outer(longer, longer)
    )
