"""Two checks of a prior that a user gives as two functions, a sample and a log-density.

The first checks that they are the same distribution, which every arm needs. The second checks that
the density is normalised, which the weights of `fitted` need. Both use a separate random stream.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from croupier.annealing.models import IMPROPER, Model
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.spaces.axes import Axes, Marginal

__all__ = ["check_distribution", "check_mass", "check_proper", "log_mass", "surprise"]

#: A prior is refused at this many standard deviations. With about 40 tests, one correct prior in
#: 40 000 is refused.
_SURPRISE: Final = 5.0

#: It is also refused if the log of its mass differs from 0 by more than this, and by more than six
#: standard errors.
_MASS: Final = 0.1


#: Two distances from the middle of a prior, in spreads. A density that falls more slowly than
#: 1/distance between them has no finite integral.
_AWAY: Final = (1e4, 1e8)


#: A coordinate has heavy tails if one of a thousand points is this many spreads away: a normal
#: distribution does not cover it.
_FAR: Final = 6.0

#: The upper quartile of Cauchy's distribution is 1, that of the normal distribution this.
_QUARTILE: Final = 0.67449


def check_proper(model: Model, rng: np.random.Generator) -> None:
    """Refuse a density that does not fall far from its sample: it has no finite integral."""
    points = model.start(rng, 200)
    middle, slowest = np.median(points, axis=0), -math.log(_AWAY[1] / _AWAY[0])
    for coordinate in range(model.dimensions):
        for side in (-1, 1):
            there = np.tile(middle, (2, 1))
            there[:, coordinate] += side * model.spread[coordinate] * np.array(_AWAY)
            try:
                near, far = model.log_prior(there)
            except ArmError:
                continue  # a density that cannot be evaluated so far away says nothing
            if far > -np.inf and far - near > 1.02 * slowest:
                inside = model.log_prior(points)
                if near == far == 0 and inside.min() >= 0 and np.ptp(inside) > 0:
                    raise PlanError(
                        "the prior's logpdf is never negative, and 0 far away: it seems to return "
                        "the density itself, not its log"
                    )
                raise PlanError(
                    IMPROPER.format(
                        f"in coordinate {coordinate} its log-density falls only from {near:.4g} to "
                        f"{far:.4g} between {there[0, coordinate]:.3g} and "
                        f"{there[1, coordinate]:.3g}"
                    )
                )


def check_distribution(model: Model, rng: np.random.Generator) -> None:
    """Refuse a prior whose sample does not follow its density."""
    if surprise(model, rng) > _SURPRISE:
        raise PlanError(
            "the prior's sample and its log-density are not the same distribution: moves that "
            "leave the density unchanged do change the sample; check for a rate instead of a "
            "scale, or a variance instead of a standard deviation"
        )


def check_mass(model: Model, rng: np.random.Generator) -> None:
    """Refuse a prior whose density does not integrate to 1."""
    mass, error = log_mass(model, rng)
    if abs(mass) > max(_MASS, 6 * error):
        raise PlanError(
            f"the prior's log-density is not normalised: its exponential integrates to about "
            f"e^{mass:.1f} and not to 1 (or its sample is from another distribution); add the "
            "constant, or give temperatures=, for arms that only anneal and do not need it"
        )


def surprise(model: Model, rng: np.random.Generator, size: int = 3000, moves: int = 4) -> float:
    """Return by how many standard deviations a prior's sample does not follow its density.

    The moves are x' = x + c (a - b), where a and b are other points of the sample. If they are
    accepted by the density, they leave it unchanged and are reversible: if x is from the density,
    h(x') > h(x) as often as h(x') < h(x), for any h. The functions h are the log-density, each
    coordinate, and its distance from the median. The tests are sign tests, which are robust to
    heavy tails.
    """
    d, few = model.dimensions, size // 6
    points = model.start(rng, size + few)
    others, start = points[:few], points[few:]
    x, density = start.copy(), model.started(start)
    first = density
    for _ in range(moves):
        a, b = rng.integers(few, size=(2, size))
        # Some moves are as long as the distance of two points, to jump between modes; others are
        # shorter.
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

    It uses points of the prior and of a distribution g of independent coordinates, normal or, where
    the prior has heavy tails, Cauchy's, with l = log prior - log g there,
    and returns the c with
    sum over the prior's of 1/(1 + e^(l - c)) = sum over g's of 1/(1 + e^(c - l)).
    """
    points = model.start(rng, 2 * size)
    middle = np.median(points[:size], axis=0)
    far = np.abs(points[:size] - middle).max(axis=0) > _FAR * model.spread
    g = Axes(tuple(map(_covering, middle.tolist(), model.spread.tolist(), far.tolist())))
    own, others = points[size:], g.sample(rng, size)
    at_own = model.log_prior(own) - g.logpdf(own)
    at_others = model.log_prior(others) - g.logpdf(others)
    if not (at_others > -np.inf).any():
        return 0.0, np.inf  # they do not overlap: nothing is known about the mass
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


def _covering(middle: float, spread: float, far: bool) -> Marginal:
    from scipy.stats import cauchy, norm

    return Marginal(cauchy(middle, _QUARTILE * spread) if far else norm(middle, spread))


def _logistic(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))
