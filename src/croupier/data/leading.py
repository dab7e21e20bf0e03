"""Leading: which arm a policy has preferred so far.

The leader is the arm with the most cost spent beyond its first draws. An expensive arm does not
lead by its first draws alone. If no arm was drawn beyond them, the arm with the most cost leads.
"""

from __future__ import annotations

import numpy as np

from croupier.data.draws import Floats

__all__ = ["leader_after", "leader_of", "spent_beyond"]


def spent_beyond(cost: Floats, count: Floats, first: int) -> Floats:
    """Return the cost that was spent on each arm beyond its first draws.

    >>> spent_beyond(np.array([1200.0, 300.0]), np.array([4.0, 300.0]), first=4)
    array([  0., 296.])
    """
    draws = np.maximum(count, 1)
    return np.asarray(cost * np.maximum(draws - first, 0.0) / draws)


def leader_of(cost: Floats, count: Floats, first: int) -> int:
    """Return the leader, the first of equals.

    >>> leader_of(np.array([1200.0, 300.0]), np.array([4.0, 300.0]), first=4)
    1
    """
    beyond = spent_beyond(cost, count, first)
    return int((beyond if beyond.any() else cost).argmax())


def leader_after(leader: int, arm: int, cost: Floats, count: Floats, first: int) -> int:
    """Return the leader after a batch of one arm: no other arm can have come to the front."""
    if arm == leader:
        return arm
    pair = [min(arm, leader), max(arm, leader)]
    return pair[leader_of(cost[pair], count[pair], first)]
