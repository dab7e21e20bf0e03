"""A distribution of OpenTURNS as one of scipy.stats, without importing OpenTURNS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["FromOpenTURNS", "is_openturns", "scipys"]


@dataclass(frozen=True)
class FromOpenTURNS:
    """The methods of a frozen distribution of scipy.stats, from a distribution of OpenTURNS."""

    given: Any

    def ppf(self, p: Floats) -> Floats:
        """Return quantiles."""
        return self._quantiles(p, tail=False)

    def isf(self, p: Floats) -> Floats:
        """Return quantiles of the upper tail."""
        return self._quantiles(p, tail=True)

    def cdf(self, x: Floats) -> Floats:
        """Return probabilities to be below x."""
        return self._at(self.given.computeCDF, x)

    def sf(self, x: Floats) -> Floats:
        """Return probabilities to be above x."""
        return self._at(self.given.computeComplementaryCDF, x)

    def logpdf(self, x: Floats) -> Floats:
        """Return the log density."""
        return self._at(self.given.computeLogPDF, x)

    def rvs(self, size: int, random_state: np.random.Generator) -> Floats:
        """Return draws: quantiles, as OpenTURNS has random numbers of its own."""
        return self.ppf(random_state.random(size))

    def _quantiles(self, p: Floats, *, tail: bool) -> Floats:
        values = [self.given.computeScalarQuantile(each, tail) for each in np.ravel(p).tolist()]
        return np.reshape(values, np.shape(p))

    def _at(self, function: Any, x: Floats) -> Floats:
        if not np.size(x):
            return np.zeros(np.shape(x))
        return np.reshape(np.array(function(np.reshape(x, (-1, 1)))), np.shape(x))


def is_openturns(given: Any) -> bool:
    """Tell whether something is a distribution of OpenTURNS with one variable."""
    return hasattr(given, "computeScalarQuantile") and hasattr(given, "computeLogPDF")


def scipys(given: Any, where: str) -> Any:
    """Return a distribution with the methods of scipy's; those of OpenTURNS get them here."""
    if not is_openturns(given):
        return given
    if given.getDimension() != 1 or not given.isContinuous():
        raise PlanError(
            f"{where} is {given!r:.80}: of OpenTURNS, give continuous distributions of one "
            "variable; cr.rare.Nataf(marginals, correlation) joins several"
        )
    return FromOpenTURNS(given)
