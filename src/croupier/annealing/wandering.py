"""Random walks with the local scales of a fitted law, for places that the law lacks.

Moves about a law (`mixtures`) are reversible for the law, so they reach a place as seldom as draws
of the law do. The end of a curved valley that no component covers is then lost from level to level.
A random walk knows the law only as a scale, so points diffuse to wherever the posterior is.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.annealing.mixtures import Mixture, summed
from croupier.annealing.slices import Chains, Evaluate
from croupier.annealing.walks import accept

__all__ = ["poor", "wander"]

#: Moves about a law that go less far than this, as step^2 times the share that moved, are poor.
#: Moves about the right modes go 0.6 or further, also if these are fitted to a few points.
POOR: Final = 0.55

#: A random walk forgets where it was in about d steps. In more dimensions than this, evaluations
#: are better spent on a law: loggamma densities in 30 dimensions were off by 0.4 to 10 with walks,
#: and by 0.03 or less without them.
MOST: Final = 12

#: The scale of a step over that of the component, in units of 2.38/sqrt(d): a place that the law
#: lacks may be narrower than the component beside it, or longer.
SHORTEST: Final = 0.2
LONGEST: Final = 2.0


def poor(pace: float, dimensions: int) -> bool:
    """Say whether moves about a law go so little far that points should wander as well.

    >>> poor(0.2, 5), poor(0.7, 5), poor(0.2, 30)
    (True, False, False)
    """
    return dimensions <= MOST and pace < POOR


def wander(
    rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate, law: Mixture
) -> float:
    """Move all chains once by a random walk; return the share that moved.

    A chain at x takes component k with the probability p_k(x) = share_k t_k(x)/q(x), where q is the
    law, and a step from N(0, s^2 root_k root_k^T). The step is as likely as the step back, so the
    acceptance has f(y) p_k(y) over f(x) p_k(x). The scale s is 2.38/sqrt(d) (Roberts, Gelman and
    Gilks 1997) times a random factor.

    >>> rng = np.random.default_rng(7)
    >>> law = Mixture(np.ones(1), np.zeros((1, 2)), np.eye(2)[None], 8.0)
    >>> chains = Chains(np.zeros((500, 2)), np.zeros(500), np.zeros(500))
    >>> def evaluate(points, owner):
    ...     return -0.5 * ((points - [3.0, 0.0]) ** 2).sum(axis=1), np.zeros(len(points))
    >>> chains.prior += evaluate(chains.points, None)[0]
    >>> for _ in range(60):
    ...     _ = wander(rng, chains, 1.0, evaluate, law)
    >>> bool(abs(chains.points[:, 0].mean() - 3) < 0.2)
    True
    """
    m, d = chains.points.shape
    parts, rows = law.log_parts(chains.points), np.arange(m)
    chosen = (parts + rng.gumbel(size=parts.shape)).argmax(axis=1)
    factor = np.exp(rng.uniform(math.log(SHORTEST), math.log(LONGEST), (m, 1)))
    steps = 2.38 / math.sqrt(d) * factor * rng.standard_normal((m, d))
    for k in np.unique(chosen):
        own = chosen == k
        steps[own] = steps[own] @ law.roots[k].T
    proposed = chains.points + steps
    others = law.log_parts(proposed)
    before, after = (each[rows, chosen] - summed(each) for each in (parts, others))
    return accept(rng, chains, proposed, beta, evaluate, after - before)
