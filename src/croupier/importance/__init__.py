"""Importance sampling families: many proposals for one integral, and a mixture of all of them."""

from croupier.importance.family import Family
from croupier.importance.points import Normal, Points
from croupier.importance.side_observations import SideThompson

__all__ = ["Family", "Normal", "Points", "SideThompson"]
