"""Audit: a small share of the budget that lets another arm testify against the leader.

A biased arm that is cheap and precise leads, and the other arms then get so few draws that the test
of agreement cannot see the bias. The audit keeps one of them well enough known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Batching, Plan
from croupier.policies.base import Play, objective_weights, price_of

__all__ = ["audit_of", "audited"]

#: The share of the budget that an audit may spend, if nothing else is said.
_USUAL: Final = 0.01

#: The policies that leave an arm alone when it is worse: the audit is for them. A user who chooses
#: another policy wants the decisions of that policy.
_AUDITED: Final = ("variance-thompson", "variance-lcb")

#: Draws that an audit may buy ahead, as a share of what it may spend: they save small batches.
_AHEAD: Final = 0.25

#: An audited arm at most quadruples with one batch.
_GROWTH: Final = 3.0


def audit_of(policy: Mapping[str, Any], batch: Batching, *, shared_mean: bool) -> float:
    """Return the share of the budget that an audit may spend by default: 1 %, or nothing.

    It is nothing if the arms have means of their own, and in the draw-by-draw loop of the paper.

    >>> audit_of({"name": "variance-thompson"}, "growing", shared_mean=True)
    0.01
    """
    return _USUAL if shared_mean and batch != "one" and policy["name"] in _AUDITED else 0.0


def audited(plan: Plan, ledger: Ledger, pending: Floats) -> Play | None:
    """Return the batch of the arm that testifies best against the leader, or None.

    This is the arm with the smallest cost times variance, apart from the leader. It is drawn while
    all arms except the leader together have cost less than ``plan.audit`` of the budget spent so
    far, beyond their first draws, and while its mean is less precise than the mean of the leader.
    """
    if not plan.audit or len(ledger) < 2 or ledger.fewest < max(plan.first, 2):
        return None
    if not ledger.is_led:
        return None
    leader = ledger.leader
    price = price_of(plan, ledger)
    out = pending * price
    spent = ledger.spent + float(out.sum())
    others = ledger.preferred + out
    room = plan.audit * spent - float(others.sum() - others[leader])
    if room <= 0:
        return None
    s2 = ledger.variance
    variance = s2 @ objective_weights(plan, ledger, s2)
    loss = np.where(variance > 0, price * variance, np.inf)
    loss[leader] = np.inf
    arm = int(loss.argmin())
    known = variance / (ledger.count + pending)
    if not np.isfinite(loss[arm]) or known[arm] <= known[leader]:
        return None
    draws = (room + _AHEAD * plan.audit * spent) / float(price[arm])
    return Play(arm, int(draws) + 1, growth=_GROWTH)
