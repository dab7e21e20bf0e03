"""Two doubts about a prior that a user gives as two functions, a sample and a log-density.

Whether they are the same law, which every arm needs, and whether the density is normalised, which
the weights of a fitted law need. Both are looked into with a stream of their own.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.annealing.models import Model
from croupier.annealing.priors import NormalPrior
from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["check_law", "check_mass", "log_mass", "surprise"]

#: A prior is refused at so many standard deviations: with some 40 looks, one in 40 000 right ones.
_SURPRISE: Final = 5.0

#: And if the log of its mass is further from 0 than this, and than six of its standard errors.
_MASS: Final = 0.1


def check_law(model: Model, rng: np.random.Generator) -> None:
    """Refuse a prior whose sample does not follow its density."""
    if surprise(model, rng) > _SURPRISE:
        raise PlanError(
            "the prior's sample and its log-density are not the same law: points of the sample, "
            "moved so that the density stays as it is, do not stay what they were; look for a "
            "rate in place of a scale, or a variance in place of a standard deviation"
        )


def check_mass(model: Model, rng: np.random.Generator) -> None:
    """Refuse a prior whose density does not integrate to 1."""
    mass, error = log_mass(model, rng)
    if abs(mass) > max(_MASS, 6 * error):
        raise PlanError(
            f"the prior's log-density is not normalised: its exponential integrates to about "
            f"e^{mass:.1f} and not to 1 (or its sample is of another law); add the constant, or "
            "give temperatures=, for arms of annealing alone, which do not need it"
        )


def surprise(model: Model, rng: np.random.Generator, size: int = 3000, moves: int = 4) -> float:
    """Return by how many standard deviations a prior's sample does not follow its density.

    Moves x' = x + c (a - b), with a and b other points of the sample, that are accepted by the
    density leave it as it is, and there and back are alike: if x is from it, h(x') > h(x) as
    often as h(x') < h(x), for any h. These are the log-density, each coordinate, and its distance
    from the median: sign tests, which no tail spoils.
    """
    d, few = model.dimensions, size // 6
    points = model.start(rng, size + few)
    others, start = points[:few], points[few:]
    x, density = start.copy(), model.started(start)
    first = density
    for _ in range(moves):
        a, b = rng.integers(few, size=(2, size))
        # Some are as far apart as two points, for modes; some are shorter, for what is narrow.
        c = rng.choice([1.0, 1.7 / math.sqrt(d), 0.3 / math.sqrt(d)], size=(size, 1))
        proposed = x + c * (others[a] - others[b])
        there = model.log_prior(proposed)
        moved = -rng.standard_exponential(size) < there - density
        x[moved] = proposed[moved]
        density = np.where(moved, there, density)
    middle = np.median(others, axis=0)
    changes = [density - first, *(x - start).T, *(np.abs(x - middle) - np.abs(start - middle)).T]
    scores = [
        np.sign(change).sum() / (1e-9 + np.count_nonzero(change)) ** 0.5 for change in changes
    ]
    return float(np.abs(scores).max())


def log_mass(model: Model, rng: np.random.Generator, size: int = 1000) -> tuple[float, float]:
    """Return the log of the integral of the prior's density, with its error (Bennett 1976).

    From points of the prior and of a normal law g, with l = log prior - log g there: the c with
    sum over the prior's of 1/(1 + e^(l - c)) = sum over g's of 1/(1 + e^(c - l)).
    """
    points = model.start(rng, 2 * size)
    g = NormalPrior(np.median(points[:size], axis=0), model.spread)
    own, others = points[size:], g.sample(rng, size)
    at_own = model.log_prior(own) - g.logpdf(own)
    at_others = model.log_prior(others) - g.logpdf(others)
    if not (at_others > -np.inf).any():
        return 0.0, np.inf  # they have nothing in common: no word on the mass
    both = np.concatenate([at_own, at_others[at_others > -np.inf]])
    low, high = float(both.min()) - 10, float(both.max()) + 10
    for _ in range(60):
        c = 0.5 * (low + high)
        enough = _logistic(c - at_own).sum() >= _logistic(at_others - c).sum()
        low, high = (low, c) if enough else (c, high)
    f = _logistic(both - c)
    information = float((f * (1 - f)).sum())
    variance = 1 / information - 2 / size if information > 0 else np.inf
    return c, math.sqrt(max(variance, 0.0))


def _logistic(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))
