"""From the draws of a batch to its Outcome: the same bits on every worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from croupier.checks import Range
from croupier.data.batch_moments import Tally
from croupier.data.cross_sums import CrossTally
from croupier.data.draws import Batch, Draws, Floats, Outcome, as_costs, as_values
from croupier.data.extremes import KEPT_OF_VECTORS, extremes_of
from croupier.data.log_scale import LogTally
from croupier.data.plan import Plan
from croupier.errors import ArmError
from croupier.seeds import DIGEST, stream

if TYPE_CHECKING:
    from croupier.policies.base import Digest

__all__ = ["Chunk", "chunks_of", "outcome_of"]

#: This many draws of a batch are searched for extreme draws: a sample, at negligible cost.
_INSPECTED = 1_000

#: A clock may stand still during a short call; a cost may not be zero.
_LEAST_SECONDS = 1e-9


class Chunk(NamedTuple):
    """What one call of an arm returned, how long it took, and what the plan's clock says."""

    size: int
    returned: Any
    seconds: float
    cost: float


def chunks_of(batch: Batch, draws: Draws, *, log: bool = False) -> Iterator[Chunk]:
    """Cut draws that were made elsewhere into the chunks that `perform` would have made."""
    raw = _given(draws, log, batch.arm, batch.ticket)
    values = as_values(raw, batch.size, arm=batch.arm, ticket=batch.ticket)
    costs = None
    if draws.costs is not None:
        costs = as_costs(draws.costs, batch.size, arm=batch.arm, ticket=batch.ticket)
    for start in range(0, batch.size, batch.chunk):
        part = slice(start, start + batch.chunk)
        cost = None if costs is None else costs[part]
        extra = draws.extra if start == 0 else None
        spent = 0.0 if cost is None else float(cost.sum())
        own = values[part]
        made = Draws(None, cost, extra, own) if log else Draws(own, cost, extra)
        yield Chunk(len(own), made, 0.0, spent)


def outcome_of(
    plan: Plan,
    batch: Batch,
    chunks: Iterable[Chunk],
    *,
    digest: Digest | None = None,
) -> Outcome:
    """Reduce a batch to its outcome: moments, costs, extremes, and what a policy digests.

    Draws are read before the next call of the arm, so an arm may return the same buffer every
    time.
    """
    arm, ticket = batch.arm, batch.ticket
    log = plan.log
    tally = LogTally() if log else Tally()
    cross: CrossTally | None = None
    seconds = clock = reported = squares = 0.0
    scalar = True
    extremes: Floats | None = None
    inspected = 0
    learned: list[Any] = []
    # If a policy clips its payoffs, draws outside the bounds are allowed.
    known = plan.bounded and not plan.policy.get("clip", False)
    bounds = plan.bounds[plan.index[arm]] if known else None
    keep: list[Floats] | None = [] if plan.keep_values or digest else None
    prices: list[Floats] = []
    for chunk in chunks:
        raw, costs = chunk.returned, None
        if isinstance(raw, Draws):
            if raw.extra is not None:
                learned.append(raw.extra)
            costs, raw = raw.costs, _given(raw, log, arm, ticket)
        values = as_values(raw, chunk.size, arm=arm, ticket=ticket)
        tally.add(values, arm=arm, ticket=ticket)
        if bounds is not None:
            _within(values, bounds, arm, ticket)
        seconds += chunk.seconds
        clock += chunk.cost
        if costs is not None or plan.unit == "cost":
            paid = _reported(costs, chunk.size, arm, ticket)
            reported += float(paid.sum())
            if keep is not None:
                prices.append(paid.copy())
            squares += float(np.square(paid).sum())
        if extremes is None:
            inspected = min(len(values), _INSPECTED)
            scalar, extremes = values.ndim == 1, extremes_of(values[:inspected])
            # For longer vectors, the products would be more numbers than the extreme draws are.
            if not log and not scalar and 1 < values.shape[1] <= 2 * KEPT_OF_VECTORS:
                cross = CrossTally()
            if plan.components is not None:
                _as_named(values, plan.components, arm, ticket)
        if cross is not None:
            cross.add(values)
        if keep is not None:
            keep.append(values.copy())
    cost = reported
    if plan.unit == "draws":
        cost = float(batch.size)
    elif plan.unit == "seconds":
        cost = max(clock, _LEAST_SECONDS * batch.size)
    whole = None if keep is None else np.concatenate(keep)
    extra: dict[str, Any] = {}
    if digest is not None and whole is not None:
        random = stream(batch.seed, DIGEST, ticket)
        each = None
        if plan.unit != "draws":
            each = np.concatenate(prices) if plan.unit == "cost" else cost / batch.size
        try:
            made = Draws(whole, each, learned)
            if log:
                made = Draws(None, each, learned, log_values=whole)
            extra["policy"] = digest(plan, plan.index[arm], made, random)
        except ArmError as error:
            raise error.at(ticket) from None
    if learned:
        extra["arm"] = learned
    if cross is not None:
        extra["cross"] = cross.central()
    assert extremes is not None
    return Outcome(
        ticket=ticket,
        arm=arm,
        size=batch.size,
        origin=np.array(tally.origin, ndmin=1),
        exponent=np.array(tally.exponent, ndmin=1),
        moments=tally.moments(),
        scalar=scalar,
        cost=cost,
        cost_m2=max(squares - cost * cost / batch.size, 0.0) if plan.unit == "cost" else 0.0,
        reported=reported,
        seconds=max(seconds, 0.0),  # a clock may be set back
        extremes=extremes,
        inspected=inspected,
        extra=extra,
        values=whole if plan.keep_values else None,
    )


def _given(draws: Draws, log: bool, arm: str, ticket: int) -> ArrayLike | None:
    """Return the values of draws, or their logs in a run of logs."""
    wanted, other = (draws.log_values, draws.values) if log else (draws.values, draws.log_values)
    if other is None:
        return wanted
    if log:
        message = "returned Draws(values=...) in a run with log=True: return Draws(log_values=...)"
    else:
        message = "returned Draws(log_values=...) in a run without log=True: give log=True"
    raise ArmError(message, arm=arm, ticket=ticket)


def _as_named(values: Floats, names: tuple[str, ...], arm: str, ticket: int) -> None:
    d = 0 if values.ndim == 1 else values.shape[1]
    if d != len(names):
        returned = f"returned {d} components" if d else "returned a number for every draw"
        message = f"{returned}, but names= has {len(names)} names: {', '.join(names)}"
        raise ArmError(message, arm=arm, ticket=ticket)


def _within(values: Floats, bounds: Range, arm: str, ticket: int) -> None:
    low, high = bounds
    if values.min() < low or values.max() > high:
        value = values.min() if values.min() < low else values.max()
        message = f"returned {value:.9g}, outside of its bounds {bounds}: fix the arm or the bounds"
        raise ArmError(message, arm=arm, ticket=ticket, value=float(value))


def _reported(costs: ArrayLike | None, size: int, arm: str, ticket: int) -> Floats:
    if costs is None:
        raise ArmError(
            "reports no cost, but the budget is a cost: return cr.Draws(values, costs), "
            "or give draws= or seconds= instead of cost=",
            arm=arm,
            ticket=ticket,
        )
    return as_costs(costs, size, arm=arm, ticket=ticket)
