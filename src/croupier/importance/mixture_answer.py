"""All draws of a mixture: their weights, the answer, and what is learned from them.

The proportions of the next round are learned from the draws, and normals are fitted to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from croupier.data.central_moments import FEW
from croupier.data.draws import Floats, Outcome
from croupier.data.extremes import HEAVY, Tail, extremes_of
from croupier.data.log_scale import log_of
from croupier.data.plan import Plan
from croupier.distributions.fit import fit_normal
from croupier.distributions.weights import effective_size
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.few_hits import FEW_HITS, FewHits
from croupier.importance import mixture_formulas
from croupier.importance.density_checks import constant_warnings, density_warnings
from croupier.importance.mixture_formulas import Answer, Ints, Mixed
from croupier.importance.points import Normal, Points
from croupier.importance.proposal_arms import LARGEST_LOG
from croupier.tables.rounds import extra_of

__all__ = ["FITTED_TO", "Weighed", "Weighing", "fitted"]

#: The variance of a fitted normal over that of the draws, so that its tails reach far enough.
_WIDER: Final = 1.21

#: The weights of a good mixture are bounded, but sometimes they look as if their variance was
#: infinite. Then it is well known all the same: df is more than 4 % of the number of draws.
_UNKNOWN: Final = 0.04

#: If more draws than this share are not zero, the integrand is no rare event.
_RARE: Final = 0.5

#: A normal that is fitted to fewer effective draws may be far off.
FITTED_TO: Final = 30.0


class Seen(NamedTuple):
    """All draws in ticket order; `own` is the proposal of each draw."""

    points: Points
    own: Ints


def gathered(outcomes: Sequence[Outcome], index: Mapping[str, int]) -> Seen:
    """Return the points of outcomes as arrays, in their order."""
    extras = [extra_of(outcome) for outcome in outcomes]
    sizes = [outcome.size for outcome in outcomes]
    points = Points(*(np.concatenate([e[name] for e in extras]) for name in Points._fields))
    return Seen(points, np.repeat([index[outcome.arm] for outcome in outcomes], sizes))


def joined(first: Seen, second: Seen) -> Seen:
    """Return the draws of both, one after the other."""
    pairs = zip(first.points, second.points, strict=True)
    points = Points(*(np.concatenate(pair) for pair in pairs))
    return Seen(points, np.concatenate((first.own, second.own)))


def fitted(statistic: Floats, weight: Floats, *, spread: bool = True) -> Normal | None:
    """Return the normal with the weighted mean of a statistic (n, m) and 1.1 times its spread.

    None means that the draws are too few to fit a normal.

    >>> fitted(np.array([[0.0], [2.0]]), np.array([1.0, 1.0])).root.round(4)
    array([[1.1]])
    """
    if not spread:
        total = weight.sum()
        return Normal(weight @ statistic / total) if total > 0 else None
    found = fit_normal(statistic, weight)
    if found is None:
        return None
    wide = found.widened(_WIDER)
    return Normal(wide.means[0], wide.roots[0])


class Weighed(NamedTuple):
    """The weights of the draws, what the controls leave of them, and the answer."""

    mixed: Mixed
    left: Floats
    answer: Answer
    exponent: int


class Weighing:
    """All draws of a mixture, weighted together; `tuned` are the normals fitted so far."""

    def __init__(self, plan: Plan) -> None:
        settings = plan.settings
        self._names = plan.names
        self._normalised, self._spread = bool(settings["normalised"]), bool(settings["spread"])
        self._fixed = len(plan.names) - int(settings["tune"])
        self._index = {name: k for k, name in enumerate(plan.names)}
        self._fresh: list[Outcome] = []
        self._gathered: Seen | None = None
        self.told = 0
        self.tuned: list[Normal] = []
        self._fitted_to: list[float] = []
        self._latest: tuple[int, Weighed, Pooled] | None = None

    def add(self, outcome: Outcome) -> None:
        """Take the next outcome, in ticket order."""
        self._fresh.append(outcome)
        self.told += 1

    def _seen(self) -> Seen:
        """Return everything told so far, as arrays; the outcomes themselves are dropped."""
        if self._fresh:
            new = gathered(self._fresh, self._index)
            self._gathered = new if self._gathered is None else joined(self._gathered, new)
            self._fresh = []
        assert self._gathered is not None
        return self._gathered

    def _look(self) -> tuple[Weighed, Pooled]:
        """Look at everything told so far; the look is kept until more is told."""
        if self._latest is None or self._latest[0] < self.told:
            weighed = self._weigh(self._seen())
            self._latest = self.told, weighed, self._pooled(self._seen(), weighed)
        _, weighed, pooled = self._latest
        return weighed, pooled

    def of_all(self, late: Sequence[Outcome]) -> tuple[Seen, Weighed, Pooled]:
        """Return all draws told so far and those that came early, their weights and the answer."""
        if not late:
            return self._seen(), *self._look()
        seen = gathered(late, self._index)
        seen = joined(self._seen(), seen) if self.told else seen
        weighed = self._weigh(seen)
        return seen, weighed, self._pooled(seen, weighed)

    def _densities(self, points: Points) -> Floats:
        """Return the log densities of all proposals, the fitted ones too."""
        fitted = [normal.logpdf(points.statistic) for normal in self.tuned]
        return np.column_stack((points.log_q, *fitted)) if fitted else points.log_q

    def _weigh(self, seen: Seen) -> Weighed:
        points, log_q = seen.points, self._densities(seen.points)
        counts = np.bincount(seen.own, minlength=log_q.shape[1]).astype(float)
        mixed = mixture_formulas.mixed(points.log_size, points.sign, log_q, counts)
        left = mixture_formulas.controls(
            mixed.y, mixed.H[:, counts > 0], mixture_formulas.folds_of(seen.own)
        )
        return Weighed(mixed, left, mixture_formulas.answer(left), mixed.exponent)

    def _pooled(self, seen: Seen, weighed: Weighed) -> Pooled:
        found, t = weighed.answer, len(seen.own)
        counts = np.bincount(seen.own, minlength=len(self._names))
        pooled = Pooled(
            mean=np.array([found.mean]),
            variance=np.array([found.stderr**2]),
            df=np.array([found.df]),
            varies=np.array([found.stderr > 0]),
            weights=counts[:, None] / t,
            draws=t,
        )
        y = weighed.mixed.y
        if not y.any() or (y < 0).any() or (y > 0).mean() > _RARE:
            return pooled
        return _with_few_hits(pooled, y, weighed.exponent)

    # -- what is learned from the draws

    def proportions(self, price: Floats | None) -> Floats:
        """Return the proportions of the next round, learned from what the controls leave."""
        weighed, _ = self._look()
        H = weighed.mixed.H
        for normal in self.tuned[H.shape[1] - self._fixed :]:
            density = normal.logpdf(self._seen().points.statistic)
            H = np.column_stack((H, mixture_formulas.ratio(density, weighed.mixed.log_mixture)))
        return mixture_formulas.proportions(weighed.left, H, price)

    def known(self) -> float:
        """Return the effective number of draws that a fit would rest on."""
        return float(effective_size(np.abs(self._look()[0].mixed.y)))

    def fit(self) -> None:
        """Fit one more normal proposal to the statistic, weighted by |y|."""
        weighed, _ = self._look()
        statistic = self._seen().points.statistic
        if not statistic.shape[1]:
            raise PlanError(
                "a normal proposal cannot be fitted to points that are counts or labels: "
                "leave tune out"
            )
        size = np.abs(weighed.mixed.y)
        normal = fitted(statistic, size, spread=self._spread)
        if normal is not None:
            self.tuned.append(normal)
            self._fitted_to.append(self.known())

    def replace(self, k: int, normal: Normal) -> None:
        """Replace the fitted normal number k, or add it after the last one."""
        self.tuned[k : k + 1] = [normal]

    # -- warnings

    def warnings(self, seen: Seen, weighed: Weighed, pooled: Pooled) -> list[str]:
        """Return the warnings about the answer, as far as its draws show them."""
        points, log_q = seen.points, self._densities(seen.points)
        found = density_warnings(
            points.log_p, log_q, seen.own, self._names, normalised=self._normalised
        )
        log_value = float(log_of(np.abs(pooled.mean), np.array([weighed.exponent]))[0])
        if math.isfinite(log_value) and abs(log_value) > LARGEST_LOG:
            found.append(
                f"the value is about e^{log_value:.0f}, beyond the range of doubles: add a "
                "constant to the log of the target, or use cr.estimate(family.arms(log=True), "
                "log=True)"
            )
        if not pooled.varies[0]:
            what = (
                "every draw of f is 0" if not points.sign.any() else "no draw differs from another"
            )
            found.append(f"{what}: nothing is known about the error; add proposals, or draw more")
        elif self._normalised and (constant := constant_warnings(seen.points)):
            found.extend(constant)
        elif pooled.df[0] < FEW:
            found.append(
                f"the error bar rests on {pooled.df[0]:.0f} effective degrees of freedom and may "
                "be too short: draw more"
            )
        if self._fitted_to and min(self._fitted_to) < FITTED_TO:
            found.append(
                f"a proposal of tune was fitted to {min(self._fitted_to):.0f} effective draws "
                f"(below {FITTED_TO:.0f}): tune refines, it does not search, and what no draw has "
                "shown is missing; give proposals nearer to the event, or use cr.probability"
            )
        tail = Tail()
        tail.add(extremes_of(weighed.mixed.y), len(seen.own))
        shape = float(tail.shape()[0])
        if shape > HEAVY and pooled.df[0] < _UNKNOWN * len(seen.own):
            found.append(
                f"the variance of the mixture looks infinite (Pareto shape of the extreme draws "
                f"{shape:.2f}, above 0.5): add a proposal with wider tails"
            )
        return found


def _with_few_hits(pooled: Pooled, y: Floats, exponent: int) -> Pooled:
    """Return the estimate of an event that few draws have shown: the plain mean, gamma ends."""
    n = len(y)
    plain = np.array([[y.mean()], [np.square(y).sum() / n**2], [y.max() / n]])
    mean, variance, largest = np.ldexp(plain, [[exponent], [2 * exponent], [exponent]])
    few = FewHits(mean, variance, largest, np.full(1, np.inf))
    if few.hits[0] >= FEW_HITS:
        return pooled
    return pooled._replace(mean=plain[0], variance=np.array([y.var(ddof=1) / n]), few=few)
