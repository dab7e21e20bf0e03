"""Payoffs: the paper's reduction from draws to losses in [0, 1]; a bandit wants small losses.

Here, and nowhere else, draws and costs are scaled by their known ranges, and clipped if the user
asks for it. Neufeld et al. (ICML 2014) pay 1 - loss; a loss is kept instead, because the arms that
matter have payoffs within a hair of 1, where a double has no digits left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import Range, choice, range_of
from croupier.data.draws import Draws, Floats
from croupier.data.plan import Plan, Unit
from croupier.errors import ArmError, PlanError

__all__ = ["Kind", "Payoff", "Scaling", "Terms", "pair_payoff", "payoff_of", "triple_payoff"]

#: What is paid: the second moment of a draw, or its variance, or cost times variance.
Kind: TypeAlias = Literal[
    "auto", "second-moment", "variance", "cost-variance", "cost-variance-triples"
]

#: One range for all arms, or each arm by its own.
Scaling: TypeAlias = Literal["common", "per-arm"]

_GROUP: Final = {"second-moment": 1, "variance": 2, "cost-variance": 2, "cost-variance-triples": 3}


#: Ranges of logs that lie farther apart cannot be compared: squared, the smaller one would be 0.
_FARTHEST: Final = 300.0

#: What is smaller than this part of the largest draw has a loss of 0.
_NOTHING: Final = 1e-150


def pair_payoff(values: ArrayLike, costs: ArrayLike = 1.0) -> Floats:
    """Return -(D1 + D2)(X1 - X2)^2/4 of every two draws; its mean is -delta V.

    For costs that are independent of the values (Neufeld et al. 2014, section 5, with the signs
    put right). A draw that is left over is left out.

    >>> pair_payoff([1.0, 3.0, 5.0], [1.0, 3.0, 9.0])
    array([-4.])
    """
    x, d = _groups(values, costs, 2)
    return -_mean_pair_cost(d) * np.square(x[:, 0] - x[:, 1]) / 2


def triple_payoff(values: ArrayLike, costs: ArrayLike = 1.0) -> Floats:
    """Return -D3 (X1 - X2)^2/2 of every three draws: right also where cost and value depend.

    >>> triple_payoff([1.0, 3.0, 5.0], [1.0, 3.0, 9.0])
    array([-18.])
    """
    x, d = _groups(values, costs, 3)
    return -d[:, 2] * np.square(x[:, 0] - x[:, 1]) / 2


def _groups(values: ArrayLike, costs: ArrayLike, group: int) -> tuple[Floats, Floats]:
    x = np.asarray(values, float)
    d = np.broadcast_to(np.asarray(costs, float), x.shape[:1])
    whole = len(x) - len(x) % group
    return x[:whole].reshape(-1, group, *x.shape[1:]), d[:whole].reshape(-1, group)


def _mean_pair_cost(costs: Floats) -> Floats:
    return np.asarray((costs[:, 0] + costs[:, 1]) / 2)


class Terms(NamedTuple):
    """How a policy wants to be paid: what, and by which ranges."""

    kind: Kind = "auto"
    scaling: Scaling = "common"
    bounds: Range | None = None
    cost_bounds: Range | None = None
    clip: bool = False
    bounded: bool = True

    def checked(self) -> Terms:
        """Return the terms with their ranges as pairs of floats, or say what is wrong."""
        choice("payoff", self.kind, Kind)
        choice("scaling", self.scaling, Scaling)
        if self.clip not in (True, False):
            raise PlanError(f"clip must be True or False, got {self.clip!r}")
        return self._replace(
            bounds=range_of("bounds", self.bounds, logs=True),
            cost_bounds=range_of("cost_bounds", self.cost_bounds),
        )

    def kind_in(self, unit: Unit) -> Kind:
        """Return what is paid in a unit: where draws cost 1, their second moment will do."""
        if self.kind != "auto":
            return self.kind
        return "second-moment" if unit == "draws" else "cost-variance"

    def group_in(self, unit: Unit) -> int:
        """Return how many draws make one payoff."""
        return _GROUP[self.kind_in(unit)]


@dataclass(frozen=True)
class Payoff:
    """The losses of a plan's arms, scaled to [0, 1].

    `factor` turns an arm's loss into a unit that all arms share: per-arm scaling divides each
    arm's losses by the square of its own range, and a comparison has to multiply it back, unless
    the arms are all `alike`. Draws given as logs are divided by e^`top`, the largest that an arm
    may return: bounds (-inf, b) are those of draws in [0, e^b]. `limits` are the policy's own
    bounds, if a draw outside of them is an error; the bounds of an arm are checked with the arm.
    `priced` is the plan if costs are times of whole calls: these say little about a draw in a call
    of another size, so losses are those of variances, and decisions multiply them by fitted prices.

    >>> plan = Plan(names=("a", "b"), seed=7, bounds=((0.0, 1.0), (0.0, 2.0)))
    >>> payoff = Payoff.of(plan, Terms())
    >>> payoff.losses(0, Draws(np.array([0.0, 1.0])))  # (x/2)^2: the common range is [0, 2]
    array([0.  , 0.25])
    >>> Payoff.of(plan, Terms(scaling="per-arm")).factor
    array([0.25, 1.  ])
    """

    kind: Kind
    names: tuple[str, ...]
    low: Floats
    width: Floats
    highest_cost: Floats
    factor: Floats
    clip: bool
    bounded: bool
    weights: Floats | None
    alike: bool
    top: float | None = None
    limits: Range | None = None
    priced: Plan | None = None

    @classmethod
    def of(cls, plan: Plan, terms: Terms) -> Payoff:
        """Return the payoff of a plan; refuse one whose ranges are not known."""
        kind = terms.kind_in(plan.unit)
        arms = len(plan.names)
        low, width = np.zeros(arms), np.ones(arms)
        bounds = _ranges(plan, terms.bounds, plan.bounds)
        if bounds is None and (terms.bounded or plan.log):
            what = "logs" if plan.log else "values"
            raise PlanError(_missing(plan, plan.bounds, "bounds", what))
        top = None
        if plan.log and bounds is not None:
            top = max(high for _, high in bounds)
        elif bounds is not None and not np.isfinite(bounds).all():
            raise PlanError(f"bounds must be finite, got {bounds!r}: -inf is the log of zero")
        if bounds is not None:
            lows, highs = np.array(bounds).T if top is None else _in_units_of(top, bounds)
            if kind == "second-moment":
                low = np.full(arms, lows.min())
                width = highs - low
            else:
                width = highs - lows
        highest_cost = np.ones(arms)
        costs_count = kind.startswith("cost") and plan.unit != "draws"
        priced = None
        if costs_count and terms.bounded and plan.unit == "seconds" and plan.batch != "one":
            priced, costs_count = plan, False
        if costs_count:
            cost_bounds = _ranges(plan, terms.cost_bounds, plan.cost_bounds)
            if cost_bounds is None and terms.bounded:
                raise PlanError(_missing(plan, plan.cost_bounds, "cost_bounds", "costs"))
            if cost_bounds is not None:
                highest_cost = np.array(cost_bounds)[:, 1]
        if terms.scaling == "common":
            width, highest_cost = np.full(arms, width.max()), np.full(arms, highest_cost.max())
        # Ratios before squares: the square of a range need not fit a double.
        factor = np.square(width / width.max()) * (highest_cost / highest_cost.max())
        weights = None
        if plan.objective is not None:
            weights = np.array(plan.objective) / sum(plan.objective)
        bounded = terms.bounded and not terms.clip
        alike = bool((factor == 1).all())
        return cls(
            kind,
            plan.names,
            low,
            width,
            highest_cost,
            factor,
            terms.clip,
            bounded,
            weights,
            alike,
            top,
            terms.bounds if bounded else None,
            priced,
        )

    def losses(self, arm: int, draws: Draws) -> Floats:
        """Return 1 - payoff for every draw, pair or triple of an arm; a remainder is left out.

        Of vectors, the components' losses are averaged, by the weights of the plan's objective.
        """
        values = given = np.asarray(draws.values if self.top is None else draws.log_values)
        if self.limits is not None and len(given):
            low, high = self.limits
            if given.min() < low or given.max() > high:
                self._refuse_outside(arm, given, self.limits)
        if self.top is not None:
            with np.errstate(under="ignore", over="ignore"):
                values = np.exp(given - self.top)
                values = np.where(values < _NOTHING, 0.0, values)
        low, width = float(self.low[arm]), float(self.width[arm])
        if self.kind == "second-moment":
            part = (values - low) / width
            loss = part * part
            price: Floats | float = 1.0
        else:
            x, d = _groups(values, 1.0 if draws.costs is None else draws.costs, _GROUP[self.kind])
            part = (x[:, 0] - x[:, 1]) / width
            loss = part * part
            if self.kind == "variance" or self.priced is not None:
                price = 1.0
            elif self.kind == "cost-variance":
                price = _mean_pair_cost(d) / self.highest_cost[arm]
            else:
                price = d[:, 2] / self.highest_cost[arm]
        if loss.ndim == 2:
            loss = loss.mean(axis=1) if self.weights is None else loss @ self.weights
        loss = loss * price
        if self.clip:
            return np.minimum(loss, 1.0)
        if self.bounded and len(loss) and loss.max() > 1:
            self._refuse(arm, draws, int(loss.argmax()), float(loss.max()))
        return np.asarray(loss)

    def _refuse_outside(self, arm: int, values: Floats, limits: Range) -> None:
        value = float(values.min() if values.min() < limits[0] else values.max())
        raise ArmError(
            f"returned {value:.9g}, outside of the bounds {limits} that the policy scales by: "
            "correct the bounds, or clip payoffs (never draws) with clip=True",
            arm=self.names[arm],
            value=value,
        )

    def _refuse(self, arm: int, draws: Draws, worst: int, loss: float) -> None:
        group = _GROUP[self.kind]
        part = slice(worst * group, worst * group + group)
        value = np.asarray(draws.values if self.top is None else draws.log_values)[part]
        shown = value[0] if group == 1 else value.tolist()
        costs = "" if draws.costs is None else " and its costs"
        raise ArmError(
            f"returned {shown}, whose payoff {1 - loss:.6g} is below 0: it{costs} must lie within "
            "the bounds that the policy scales by; correct the bounds, or clip payoffs (never "
            "draws) with clip=True",
            arm=self.names[arm],
            value=value,
        )


def payoff_of(plan: Plan, terms: Terms) -> Payoff:
    """Return the payoff of a plan, made once: every batch of a run asks for it."""
    global _latest
    if _latest is None or _latest[0] is not plan or _latest[1] != terms:
        _latest = (plan, terms, Payoff.of(plan, terms))
    return _latest[2]


#: The payoff that was asked for last.
_latest: tuple[Plan, Terms, Payoff] | None = None


def _ranges(plan: Plan, own: Range | None, known: tuple[Range | None, ...]) -> list[Range] | None:
    """Return a range per arm, the policy's own or each arm's; None if some is not known."""
    if own is not None:
        return [own] * len(plan.names)
    found = [bounds for bounds in known if bounds is not None]
    return found if len(found) == len(plan.names) else None


def _in_units_of(top: float, bounds: list[Range]) -> Floats:
    """Return the ranges of draws, from those of their logs, divided by e^top."""
    if top - min(high for _, high in bounds) > _FARTHEST:
        raise PlanError(
            f"the upper bounds of the logs are more than {_FARTHEST:g} apart, {bounds!r}: in the "
            "range of one arm, a double cannot hold the draws of another; use policy='auto'"
        )
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(np.array(bounds).T - top))


def _missing(plan: Plan, known: tuple[Range | None, ...], which: str, what: str) -> str:
    without = [name for name, bounds in zip(plan.names, known, strict=True) if bounds is None]
    shown = ", ".join(map(repr, without[:3])) + (", ..." if len(without) > 3 else "")
    example = plan.policy["name"]
    return (
        f"policy {example!r} needs to know the range of the {what}, which is missing for {shown}: "
        f"give cr.Arm(f, {which}=(low, high)) for every arm, or give the policy "
        f"{which}=(low, high); policy='auto' needs no range"
    )
