"""Check, before a stored run continues, that its arms still draw what they drew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.log_scale import log_of
from croupier.data.plan import Plan
from croupier.engines.perform import perform
from croupier.errors import PlanError, StoreError
from croupier.estimates.combiners import mean
from croupier.estimates.intervals import FixedSize
from croupier.tables.base import Reading, kind_of

if TYPE_CHECKING:
    from croupier.policies.base import Digest
    from croupier.store.log import Log

__all__ = ["check_arms"]

#: The check costs at most this share of what the run has cost so far.
_SHARE: Final = 0.01

#: The first batch of every arm is looked for among this many tickets for each arm.
_TICKETS_PER_ARM: Final = 10

#: Numbers from another kind of processor differ in their last digits.
_ROUNDING: Final = 1e-7


def check_arms(log: Log, plan: Plan, arms: Sequence[Arm], digest: Digest | None) -> None:
    """Draw one stored batch of every arm again; refuse to continue if something else comes.

    A batch depends on the seed and its ticket alone, so an arm that was edited, or that does not
    draw from its `rng` alone, gives other values. Only batches that cost 1 % of the run so far
    are drawn again, all together.
    """
    named = {str(arm.name): arm for arm in arms}
    affordable = _SHARE * log.cost
    found = sorted(_first_batches(log, plan, named), key=lambda pair: pair[1].cost)
    for batch, stored in found:
        affordable -= stored.cost
        if affordable < 0:
            return
        now = perform(plan, named[batch.arm], batch, digest)
        if not _same(_numbers(plan, stored), _numbers(plan, now)):
            raise StoreError(_changed(log, plan, stored, now))


def _first_batches(
    log: Log, plan: Plan, arms: Mapping[str, Arm]
) -> Iterator[tuple[Batch, Outcome]]:
    """Return the first stored batch of every arm, with the state that it was drawn with."""
    learns = frozenset(name for name, arm in arms.items() if arm.learner is not None)
    try:
        # No combiner of the user's own is needed: nothing is estimated here.
        table = kind_of(plan.table).read_back(plan, Reading(FixedSize(), mean, learns))
    except PlanError:
        return  # a table whose kind is not registered cannot be asked again
    missing = set(plan.names)
    for ticket in range(_TICKETS_PER_ARM * len(plan.names)):
        if not missing or (known := log.stored(ticket)) is None:
            return
        outcome, _ = known
        if (batch := table.ask_again(outcome)) is None:
            return
        if outcome.arm in missing:
            missing.discard(outcome.arm)
            learner = arms[outcome.arm].learner
            state = batch.state if learner is None else learner.start()
            yield batch._replace(state=state), outcome
        table.tell(outcome)


def _numbers(plan: Plan, outcome: Outcome) -> Floats:
    """Return the numbers of an outcome that must be the same: the mean, and reported costs."""
    value = log_of(outcome.moments[0], outcome.exponent) if plan.log else outcome.mean
    return np.append(value, outcome.cost if plan.unit == "cost" else 0.0)


def _same(one: Floats, other: Floats) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=_ROUNDING, atol=0.0)


def _changed(log: Log, plan: Plan, stored: Outcome, now: Outcome) -> str:
    before, after = (_shown(plan, outcome) for outcome in (stored, now))
    return (
        f"{log.path}: arm {stored.arm!r} no longer draws what it drew: the mean of ticket "
        f"{stored.ticket} was {before:.6g}, and is {after:.6g} now. If the arm was edited, its old "
        "and new draws must not be mixed: give another store=, and a version= to tell the arms "
        "apart. If it does not draw from its rng alone, use cr.Store(path, check=False)"
    )


def _shown(plan: Plan, outcome: Outcome) -> Any:
    return float(_numbers(plan, outcome)[0])
