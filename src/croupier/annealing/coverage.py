"""How much of a posterior do the draws of a law not show?

Chains that move over the posterior also come to places where a law has next to no draws. With
r = prior x likelihood/(Z q) there, n draws of q show a place with the share s of the posterior
n s/r times. The places that fewer than three draws show are missing from most runs, and neither the
estimate nor its error knows about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.fitted import FittedModes
from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model
from croupier.annealing.slices import Chains
from croupier.data.draws import Floats

__all__ = ["Coverage", "Places", "coverage_doubts"]

#: Places that fewer draws than this show are missing from most runs.
SEEN: Final = 3.0

#: Fewer chains than this in such places say little: one chain may stay long in a place that has
#: next to no share of the posterior.
CHAINS: Final = 3

#: A law lacks too much if this is more than so many standard errors of the result.
ERRORS: Final = 2.0


class Places(NamedTuple):
    """Places where chains were on the posterior, with their shares of it, and the chain of each."""

    chains: Chains
    shares: Floats
    owners: Any  # (m,), whole numbers

    @classmethod
    def joined(cls, parts: Sequence[Places]) -> Places:
        """Return the places of all parts; each part counts the same."""
        if len(parts) == 1:
            return parts[0]
        shares = np.concatenate([each.shares / each.shares.sum() for each in parts]) / len(parts)
        owners = np.concatenate([each.owners for each in parts])
        return cls(Chains.joined([each.chains for each in parts]), shares, owners)


class Coverage(NamedTuple):
    """The places of chains with the ratio r of posterior to law there, the largest first."""

    ratios: Floats
    shares: Floats
    owners: Any

    @classmethod
    def of(cls, model: Model, law: Mixture, places: Places) -> Coverage:
        """Return how a law covers some places; the mean of 1/r over the posterior is 1."""
        chains, shares = places.chains, places.shares / places.shares.sum()
        log_q = FittedModes(model, law).log_density(chains.points, chains.prior)
        r = chains.prior + chains.likelihood - log_q
        r -= r.min()
        r += np.log(shares @ np.exp(-r))
        order = np.argsort(-r, kind="stable")
        return cls(np.exp(np.minimum(r[order], 700.0)), shares[order], places.owners[order])

    def lacking(self, draws: float) -> float:
        """Return the share of the posterior that so many draws of the law do not show.

        >>> few = Coverage(
        ...     np.array([1e6, 1e6, 1e6, 1.0]), np.array([0.01, 0.01, 0.01, 0.97]), np.arange(4)
        ... )
        >>> few.lacking(1e5), few.lacking(1e9)
        (0.03, 0.0)
        """
        missing = np.cumsum(draws * self.shares / self.ratios) < SEEN
        if len(np.unique(self.owners[missing])) < CHAINS:
            return 0.0
        return float(self.shares[missing].sum())

    def cost(self, draws: float) -> float:
        """Return n times the expected squared relative error of n draws of the law.

        This is n u^2 for the share u that they do not show, and the relative variance of the rest.
        """
        missing = np.cumsum(draws * self.shares / self.ratios) < SEEN
        unseen, rest = float(self.shares[missing].sum()), ~missing
        variance = float(self.shares[rest] @ self.ratios[rest]) - 1
        return draws * unseen**2 + max(variance, 1e-3)


def coverage_doubts(coverage: Coverage | None, draws: float, log_stderr: float) -> list[str]:
    """Return a warning if a law lacks more of the posterior than the claimed error of log Z.

    >>> few = Coverage(np.full(3, 1e6), np.full(3, 0.01), np.arange(3))
    >>> len(coverage_doubts(few, 1e5, 0.001)), len(coverage_doubts(few, 1e5, 0.05))
    (1, 0)
    """
    lacking = 0.0 if coverage is None else coverage.lacking(draws)
    if not lacking > ERRORS * log_stderr:
        return []
    return [
        f"the fitted distribution lacks about {lacking:.2%} of the posterior: {draws:,.0f} of its "
        "draws hardly show places where chains have been, so log Z may be as much too low; give "
        "more, or compare several seeds"
    ]
