"""What looks wrong in a model: a likelihood in place of its log, or one with the wrong sign."""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.data.draws import Floats

__all__ = ["contradictions", "likelihood_warnings"]

#: A number that is never negative looks like a likelihood and not like its log if more than half of
#: the values are below this share of the largest, and if this many of them are not zero. So it does
#: if all values are at most 1, and this many of them differ.
_SMALL: Final = 1e-9
_SOME: Final = 5

#: Prior and data contradict each other if the log of the prior's density is lower by this where the
#: posterior is, and by so much more for each coordinate. In one coordinate with a normal prior,
#: these are 10 or 11 standard deviations.
_LOWER: Final = 50.0
_MORE: Final = 8.0


def likelihood_warnings(values: Floats) -> tuple[str, ...]:
    """Return a warning if the values at points of the prior look like likelihoods, not like logs.

    >>> x = np.linspace(-4, 4, 100)
    >>> len(likelihood_warnings(np.exp(-50 * x**2))), len(likelihood_warnings(-50 * x**2))
    (1, 0)
    """
    top = float(values.max(initial=0.0))
    if values.min(initial=0.0) < 0 or top <= 0:
        return ()
    small = values < _SMALL * top
    if small.mean() > 0.5 and np.count_nonzero(values[small]) >= _SOME:
        where = "never negative and nearly 0 at most points of the prior"
    elif (
        top <= 1 and len(np.unique(values)) >= _SOME
    ):  # as a log, the data would say next to nothing
        where = f"between {values.min():.3g} and {top:.3g} at all {len(values)} points of the prior"
    else:
        return ()
    return (f"log_likelihood is {where}: it seems to return the likelihood itself, not its log",)


def contradictions(typical: float, there: float, dimensions: int) -> tuple[str, ...]:
    """Return a warning if the posterior is where the prior has next to no mass.

    `typical` is the log density of the prior at its own points, `there` the largest one where the
    posterior is.

    >>> len(contradictions(-1.4, -100.0, 1)), len(contradictions(-1.4, -8.0, 1))
    (1, 0)
    """
    lower = typical - there
    if not lower > _LOWER + _MORE * dimensions:
        return ()
    return (
        f"the posterior is where the prior's density is e^{lower:.0f} times smaller than at its "
        "own points: either prior and data contradict each other, or the log-likelihood has the "
        "wrong sign: it must be largest where the data fit best",
    )
