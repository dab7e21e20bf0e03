"""Challengers: the families that are fitted to the evaluations, and the pool they are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.data.extremes import HEAVY
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.integration.changes import Change, Identity, NormalMixture, Rotated
from croupier.integration.directions import fit_turned
from croupier.integration.fits import fit_normal_mixture, fit_separable, tempered
from croupier.integration.pool import Pool, point_variances
from croupier.integration.runner import Runner
from croupier.integration.standing import TRUSTED, Standing

__all__ = ["FITTED", "PLAIN", "Challengers"]

#: The families without anything to fit, and those that are fitted.
PLAIN: Final = ("identity", "principal")
_TURN: Final = "turned"
FITTED: Final = ("separable", "normal", _TURN)

#: A fit rests on so many effective points, or f is tempered. With 30, fits lose one of two unequal
#: peaks more often (peaks in 2 to 8 dimensions); 60 to 240 are alike.
_FIT_POINTS: Final = 100


class Challengers:
    """The pool of evaluations with their points, and when each family is due."""

    def __init__(self, plan: Plan) -> None:
        settings = plan.settings
        if not isinstance(settings.get("dimension"), int):
            raise PlanError("a race needs settings={'dimension': d}: use cr.integrate")
        self._dimension: int = settings["dimension"]
        rotation = settings.get("rotation")
        self._rotation = None if rotation is None else np.array(rotation, float)
        self.pool = Pool(self._dimension)
        self._fitted: dict[str, int] = {}
        self.families: tuple[str, ...] = tuple(family for family in FITTED if family in plan.names)
        self._refused: dict[str, tuple[int, int]] = {}  # the pool and the leader, then

    def plain(self, family: str) -> Change:
        """Return the change of a family that is not fitted."""
        if family == "principal":
            assert self._rotation is not None
            return Rotated(self._rotation)
        return Identity()

    def due(self) -> list[str]:
        """Return the families that may challenge now, the one that waited longest first.

        A family is fitted again when the pool has doubled: fits to the same points are the same.
        """
        ready = [
            family
            for family in self.families
            if self.pool.size >= 2 * self._fitted.get(family, 0)
            and (family != _TURN or self.pool.size >= TRUSTED * self._dimension)
        ]
        return sorted(ready, key=lambda family: self._fitted.get(family, 0))

    def allows(self, size: int, leader: int, runners: Sequence[Runner]) -> bool:
        """Tell whether the first stages of all challengers cost at most half of the leader's n."""
        spent = sum(runner.first for runner in runners if runner.family in self.families)
        return 2 * (spent + size) <= leader

    def challenge(
        self, family: str, standing: Standing, runners: Sequence[Runner]
    ) -> Change | None:
        """Fit a family to the pool; None if too little is known, or nothing is gained."""
        asked = self.pool.size, standing.leader.number
        if self._refused.get(family) == asked:
            return None
        change = self.fit(family, standing, runners)
        if change is None or not self._promises(change, standing, runners):
            self._refused[family] = asked
            return None
        return change

    def fit(self, family: str, standing: Standing, runners: Sequence[Runner]) -> Change | None:
        """Fit a family to the pool; None if too little is known."""
        if not self.pool.size:
            return None
        at = self.pool.everything(runners)
        if family == _TURN:
            return fit_turned(at.normal, at.f * at.weight[:, None], at.weight)
        size = tempered(_size_of(at.f), at.weight, _FIT_POINTS)
        if family == "normal":
            return fit_normal_mixture(at.normal, size, at.weight)
        return fit_separable(at.cube, size, at.weight)

    def opened(self, family: str) -> None:
        """Note that a fit of a family is played."""
        self._fitted[family] = self.pool.size

    def _promises(self, change: Change, standing: Standing, runners: Sequence[Runner]) -> bool:
        """Tell whether a normal mixture makes the variance of single points smaller.

        Its parts are picked by a coordinate, so it is not smooth: nets gain less from it than from
        the leader, and it wins only if single points do. The other fits may win without that.
        """
        if not standing.trusted or not isinstance(change, NormalMixture):
            return True
        if any((runner.shape > HEAVY).any() for runner in standing.runners):
            return True  # the largest values were not seen, so their variance is not known
        at = self.pool.everything(runners)
        values = at.f * at.weight[:, None]
        mine, theirs = (
            point_variances(one, at.moved, values, at.points)
            for one in (change, standing.leader.change)
        )
        return bool((mine < theirs).any())


def _size_of(values: Floats) -> Floats:
    """Return one size for every row: the root of the sum of squares, each component scaled."""
    largest = np.abs(values).max(axis=0)
    scaled = values / np.where(largest > 0, largest, 1.0)
    power = np.square(scaled).mean(axis=0)
    return np.asarray(np.sqrt((np.square(scaled) / np.where(power > 0, power, 1.0)).sum(axis=1)))
