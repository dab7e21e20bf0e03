"""Family: one integrand and one target, and several proposals to draw from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from croupier.arms.base import Arm, copied
from croupier.checks import known_settings, positive
from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.errors import ArmError, PlanError
from croupier.importance.mixture_run import MixtureOptions, run_mixture
from croupier.importance.points import Normal, Points
from croupier.importance.proposal_arms import ProposalArm
from croupier.importance.proposals import (
    Proposal,
    as_log_density,
    as_proposals,
    density_at,
    in_order,
    is_normalised,
    numbers_of,
)
from croupier.importance.shifted_normals import (
    Free,
    Moved,
    Space,
    Tilt,
    directions_of,
    first_column,
    names_of_shifts,
    shifts_of,
)
from croupier.results.result import Result
from croupier.running.settings import Options, settings_of
from croupier.views.formats import printable

__all__ = ["Family"]


class Family:
    """An integrand f and a target density p, with J proposals q_j to draw from.

    A family estimates the integral of f p. Every proposal is an arm with the draws f p/q_j, see
    `arms`. `estimate` draws from all proposals at once and is far better than any single arm.

    Args:
        target: log p(x) at n points, an array (n,), or a frozen distribution of scipy.stats.
        proposals: A mapping name -> proposal, or a sequence. A proposal is a frozen distribution
            of scipy.stats, a pair of functions ``(sample(rng, size), logpdf(x))``, or a `Normal`.
        f: The integrand, a function of n points. Without it f = 1, and the integral of p is
            estimated. If an integrand underflows, put it into the target.
        normalised: Whether p integrates to 1. Then croupier can see gaps in the proposals. A
            distribution is normalised; a function is assumed not to be.
        costs: What a draw of each proposal costs, by name or in their order, for `cost=`.

    >>> from scipy.stats import norm
    >>> family = Family(norm(0, 1), {"here": norm(0, 1), "there": norm(2, 1)}, lambda x: x > 2)
    >>> import croupier as cr
    >>> result = cr.estimate(family.arms(), draws=10_000, rng=7)
    >>> round(result.value, 2), result.arms["there"].share > 0.9
    (0.02, True)
    """

    def __init__(
        self,
        target: Any,
        proposals: Mapping[str, Any] | Iterable[Any],
        f: Callable[[Any], Any] | None = None,
        *,
        normalised: bool | None = None,
        costs: Mapping[str, float] | Sequence[float] | None = None,
    ) -> None:
        self.names, self.proposals = as_proposals(proposals)
        self.normalised = is_normalised(target) if normalised is None else bool(normalised)
        self.costs = _costs(self.names, costs)
        if f is not None and not callable(f):
            raise PlanError(f"f must be a function of the points, got {f!r}")
        self._log_target = as_log_density(target)
        self._integrand = f
        self._space: Space | None = None
        self._moved: Mixture | None = None

    @classmethod
    def tilted(
        cls,
        f: Callable[[Floats], Any],
        shifts: Any,
        *,
        directions: Any = None,
        names: Sequence[str] | None = None,
        costs: Mapping[str, float] | Sequence[float] | None = None,
    ) -> Family:
        """Return a family for E f(x), x standard normal; the proposals are moved normals.

        `shifts` are J points (J, m), or J numbers. Without `directions` the proposals are
        N(shift, I) in m dimensions. With `directions`, (d, m) with orthonormal columns u, x has
        d dimensions and only its m coordinates u.T x are moved. The densities need only these. For
        a path of d steps, the drift is the direction with equal entries 1/sqrt(d).

        >>> family = Family.tilted(lambda x: x.sum(axis=1) > 8, [[0, 0], [4, 4]])
        >>> import croupier as cr
        >>> from math import erfc
        >>> result = cr.estimate(family.arms(), draws=20_000, rng=7)
        >>> abs(result.value - erfc(4) / 2) < 4 * result.stderr
        True
        """
        means = shifts_of(shifts)
        columns = None if directions is None else directions_of(directions, means.shape[1])
        if not callable(f):
            raise PlanError(f"f must be a function of the points, got {f!r}")
        return cls.simulated(Tilt(f, columns), means, names=names, costs=costs)

    @classmethod
    def simulated(
        cls,
        simulate: Callable[[np.random.Generator, int, Normal], tuple[Any, Any]],
        shifts: Any,
        *,
        names: Sequence[str] | None = None,
        costs: Mapping[str, float] | Sequence[float] | None = None,
    ) -> Family:
        """Return a family whose points are simulated: any model that is driven by normal numbers.

        ``simulate(rng, size, normal)`` returns `size` values of the integrand, and the statistic
        (size, m): m numbers that are standard normal in the model but are drawn from `normal`
        instead. Everything else in the model is unchanged. The densities need only the statistic,
        so a path of a thousand steps is as cheap to reweight as its drift.

        >>> def path(rng, size, normal):
        ...     steps = rng.standard_normal((size, 100))
        ...     drift = steps.sum(axis=1, keepdims=True) / 10
        ...     moved = normal.place(drift)
        ...     steps += (moved - drift) / 10
        ...     return np.maximum(steps.cumsum(axis=1).max(axis=1) - 30, 0), moved
        >>> family = Family.simulated(path, [0, 1, 2, 3])
        >>> family.names
        ('shift=0', 'shift=1', 'shift=2', 'shift=3')
        """
        means = shifts_of(shifts)
        if not callable(simulate):
            raise PlanError(f"simulate must be a function (rng, size, normal), got {simulate!r}")
        space = Space(simulate, means.shape[1])
        named = names_of_shifts(means) if names is None else tuple(names)
        if len(named) != len(means):
            raise PlanError(f"names must be {len(means)}, one for each proposal, got {named!r}")
        moved = {
            name: Moved(space, Normal(mean), name) for name, mean in zip(named, means, strict=True)
        }
        if len(moved) != len(means):
            raise PlanError(
                f"every proposal needs its own name, got {named!r}: remove the repeated ones, or "
                "give names="
            )
        standard = Moved(space, Normal(np.zeros(means.shape[1])), "")
        family = cls(standard.logpdf, moved, first_column, normalised=True, costs=costs)
        family._space, family._moved = space, Mixture.around(means, 1.0)
        return family

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Family({len(self)} proposals: {printable(', '.join(self.names))})"

    # -- the points that every estimate is made of

    def points(
        self, rng: np.random.Generator, size: int, proposal: int | Normal, name: str | None = None
    ) -> Points:
        """Draw from a proposal, given by its number or as a `Normal`; all in logarithms."""
        if isinstance(proposal, Normal):
            name = "tuned" if name is None else name
            drawn: Proposal = self._learned(proposal, name)
        else:
            name, drawn = self.names[proposal], self.proposals[proposal]
        x = np.asarray(drawn.sample(rng, size))
        if x.shape[:1] != (size,):
            message = f"was asked for {size} points and sampled an array of shape {x.shape}"
            raise ArmError(message, arm=name, value=x)
        if self._moved is not None and np.isfinite(x).all():
            # Their densities need no call of the user's functions.
            log_q = self._moved.component_log_densities(self.statistic(x))
        else:
            log_q = np.empty((size, len(self)))
            for j, one in enumerate(self.proposals):
                whose = "its log density" if j == proposal else f"log density of {self.names[j]!r}"
                log_q[:, j] = density_at(one.logpdf, x, size, whose, name)
        if not isinstance(proposal, Normal) and np.isneginf(log_q[:, proposal]).any():
            first = x[int(np.flatnonzero(np.isneginf(log_q[:, proposal]))[0])]
            message = f"sampled x = {first}, where its own density is 0: sample and density differ"
            raise ArmError(message, arm=name, value=first)
        log_p = density_at(self._log_target, x, size, "the log density of the target", name)
        log_size, sign = self._integrated(x, log_p, name)
        return Points(log_size, sign, log_p, log_q, self.statistic(x))

    def statistic(self, x: Any) -> Floats:
        """Return what a normal proposal is fitted to, (n, m): the points, or the statistic."""
        if self._space is not None:
            x = x[:, 1:]
        if x.dtype.kind != "f":
            return np.empty((len(x), 0))  # counts and labels have no normal proposals
        return np.asarray(x.reshape(len(x), -1), float)

    def _learned(self, normal: Normal, name: str) -> Proposal:
        if self._space is not None:
            return Moved(self._space, normal, name)
        like = np.asarray(self.proposals[0].sample(np.random.default_rng(0), 1))
        return Free(normal, like.shape[1:])

    def _integrated(self, x: Any, log_p: Floats, name: str) -> tuple[Floats, Floats]:
        """Return log |f p| and the sign of f; f may be anything where p is zero."""
        if self._integrand is None:
            return log_p, np.where(np.isneginf(log_p), 0.0, 1.0)
        f = numbers_of(self._integrand(copied(x)), len(log_p), name)
        f = np.where(np.isneginf(log_p), 0.0, f)
        if not np.isfinite(f).all():
            first = int(np.flatnonzero(~np.isfinite(f))[0])
            where = f"x = {x[first]}" if self._space is None else f"the statistic {x[first, 1:]}"
            message = f"the integrand is {f[first]} at {where}"
            raise ArmError(message, arm=name, value=float(f[first]))
        with np.errstate(divide="ignore"):
            return np.log(np.abs(f)) + np.where(f == 0, 0.0, log_p), np.sign(f)

    # -- what they are used for

    def arms(self, *, log: bool = False, side: bool = False) -> list[Arm]:
        """Return the proposals as ordinary arms: their draws are f p/q_j.

        With `log` they return the logarithms, for ``cr.estimate(..., log=True)``; an integrand
        that is negative somewhere is then an error. With `side` they show some of their points to
        the policy `SideThompson`, which learns the variance of every arm from all points.

        >>> from croupier.importance import SideThompson
        >>> family = Family.tilted(lambda x: np.exp(x[:, 0]), [0, 1, 2])
        >>> import croupier as cr
        >>> arms = family.arms(side=True)
        >>> cr.estimate(arms, draws=10_000, policy=SideThompson(), rng=7).arms[
        ...     "shift=1"
        ... ].share > 0.9
        True
        """
        costs = self.costs or (None,) * len(self)
        return [
            Arm(ProposalArm(self, j, log=log, side=side, cost=cost), name=name)
            for j, (name, cost) in enumerate(zip(self.names, costs, strict=True))
        ]

    def estimate(
        self,
        draws: float | None = None,
        *,
        proportions: str | Mapping[str, float] | Sequence[float] = "learned",
        tune: int = 0,
        **settings: Unpack[Options],
    ) -> Result:
        """Estimate the integral of f p from all proposals at once, far better than the best arm.

        All draws are weighted by the mixture of the proposals, with the densities of the proposals
        as control variates. New rounds of draws go where the remaining variance is largest.

        Args:
            draws: Budget in draws; or give `seconds`, or `cost` for a family with costs.
            proportions: "learned"; or "equal", the safe mode, if a proposal that looks useless
                may be the only one that reaches some part of f p; or the shares themselves, by
                name or in the order of the proposals, with the sum 1.
            tune: How many normal proposals are fitted during the run, at most; see `tune`.
            **settings: Tolerances, workers, a store and all other settings of `cr.estimate`,
                except `anytime`.

        Returns:
            A `Result` with one row per proposal: its own plain importance sampling; `weight` is
            its share of the mixture. The result depends on the seed alone, not on the width.

        >>> family = Family.tilted(lambda x: np.maximum(x[:, 0] - 1, 0), [0, 1, 2])
        >>> result = family.estimate(draws=10_000, rng=7)
        >>> abs(result.value - 0.0833155) < 4 * result.stderr, result.draws
        (True, 10000)
        """
        own = ("draws", "proportions", "tune")
        known_settings("Family.estimate", settings, (*own, *Options.__annotations__))
        options = MixtureOptions(proportions, tune)
        return run_mixture(self, options, settings_of(draws, **settings))

    def tune(
        self,
        draws: float | None = None,
        *,
        proposals: int = 4,
        spread: bool = True,
        proportions: str = "learned",
        **settings: Unpack[Options],
    ) -> Result:
        """Estimate with proposals that are fitted during the run and added to the mixture.

        After a round a normal distribution is fitted to the draws so far, weighted by |f p/q|. It
        is fitted to the points, or to the statistic of a `tilted` or `simulated` family. The first
        fit waits for 30 effective draws, for at most a quarter of the budget.

        Args:
            draws: Budget in draws; or `seconds`, or `cost`.
            proposals: How many are fitted, at most: one after each of the first rounds.
            spread: Fit the mean and the spread; if False, only the mean, with the spread 1.
            proportions: "learned" or "equal".
            **settings: As in `estimate`.

        >>> family = Family.tilted(lambda x: x[:, 0] > 4, [0, 6])
        >>> result = family.tune(draws=10_000, rng=7)
        >>> abs(result.value - 3.167e-5) < 4 * result.stderr, result.arms["tuned 1"].draws > 100
        (True, True)
        """
        own = ("draws", "proposals", "spread", "proportions")
        known_settings("Family.tune", settings, (*own, *Options.__annotations__))
        if not spread and self._space is None:
            raise PlanError(
                "spread=False is only for a tilted or simulated family, whose spread is 1: "
                "give spread=True"
            )
        options = MixtureOptions(proportions, proposals, spread)
        return run_mixture(self, options, settings_of(draws, **settings))


def _costs(names: tuple[str, ...], given: Any) -> tuple[float, ...] | None:
    if given is None:
        return None
    given = in_order("costs", names, given)
    try:
        costs = tuple(positive("costs", cost) for cost in given)
    except TypeError:
        raise PlanError(f"costs must be one number per proposal, got {given!r}") from None
    if len(costs) != len(names):
        raise PlanError(
            f"costs must be one number per proposal ({len(names)} in all), got {given!r}"
        )
    return costs
