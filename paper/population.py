"""Population Monte Carlo over a fixed set of proposals: the rival in Figure 2.

J fixed kernels, whose proportions follow the credit that each collects (Douc, Guillin, Marin and
Robert, Annals of Statistics 35, 2007).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.weights import log_mixture

__all__ = ["Update", "Weighed", "collected", "weighed"]

Ints: TypeAlias = NDArray[np.int64]

#: The kinds of credit of a proposal: see `weighed`.
Update: TypeAlias = Literal["printed", "payoff", "squared"]


class Weighed(NamedTuple):
    """The draws of a population: the value of each, and the credit for the proposal that drew."""

    value: Floats
    credit: Floats


def weighed(
    update: Update,
    log_size: Floats,
    sign: Floats,
    log_p: Floats,
    log_q: Floats,
    source: Ints,
    alpha: Floats,
) -> Weighed:
    """Return the values and the credits of a population, (..., G); `log_q` is (..., G, J).

    "printed": w = p/q_k, where k is the proposal that drew, as the d-kernel algorithm is printed
    (Douc, Guillin, Marin and Robert 2007, section 2). Its credit has the mean 1 for every k, so
    nothing can be learned from it. "payoff": |w f| and "squared": (w f)^2, both with
    w = p/sum_k alpha_k q_k. The denominator is the density that the population really has.
    """
    if update == "printed":
        own = np.take_along_axis(log_q, source[..., None], axis=-1)[..., 0]
        return Weighed(sign * np.exp(log_size - own), np.exp(log_p - own))
    size = np.exp(log_size - log_mixture(log_q, alpha))
    return Weighed(sign * size, size if update == "payoff" else size * size)


def collected(credit: Floats, source: Ints, alpha: Floats) -> Floats:
    """Return the next proportions, (..., J): the share of the credit that each proposal has.

    They do not change if no proposal has any credit.
    """
    own = source[..., None] == np.arange(alpha.shape[-1])
    each = np.where(own, credit[..., None], 0.0).sum(axis=-2)
    total = each.sum(axis=-1, keepdims=True)
    share = np.divide(each, total, out=np.array(alpha, copy=True), where=total > 0)
    return np.asarray(share)
