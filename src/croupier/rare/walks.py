"""Walk: steps inside the failing region, to find parts of it that no component covers."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats

__all__ = ["Walk"]

_WALKERS: Final = 12
_STEPS: Final = 10

#: Walkers start at draws whose directions differ: the cosine of their angle is below this.
_APART: Final = 0.95

#: The size of a step of a Crank-Nicolson walk (Cotter, Roberts, Stuart and White 2013, eq. 4.2).
_STEP: Final = 0.5


class Walk:
    """Up to 12 walkers at failing points. A step is taken if its end fails too.

    The preconditioned Crank-Nicolson step x' = sqrt(1 - b^2) x + b z leaves the normal
    distribution unchanged. So the walk leaves the distribution of the failing draws unchanged.
    """

    def __init__(self, places: Floats) -> None:
        self.places = places
        self.steps = 0

    @classmethod
    def among(cls, x: Floats, log_weight: Floats) -> Walk:
        """Return walkers at draws far apart in angle, the most likely first."""
        unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
        chosen: list[int] = []
        for i in np.argsort(-log_weight, kind="stable"):
            if all(float(unit[i] @ unit[j]) < _APART for j in chosen):
                chosen.append(int(i))
            if len(chosen) == _WALKERS:
                break
        return cls(x[chosen].copy())

    @property
    def ended(self) -> bool:
        """Whether all steps were taken."""
        return self.steps >= _STEPS

    def proposed(self, rng: np.random.Generator) -> Floats:
        """Return where the walkers would go next."""
        fresh = rng.standard_normal(self.places.shape)
        return np.asarray(np.sqrt(1 - _STEP**2) * self.places + _STEP * fresh)

    def step(self, points: Floats, fails: NDArray[np.bool_]) -> None:
        """Go to the points that fail. A budget may have cut some points: those walkers stay."""
        self.steps += 1
        went = np.flatnonzero(fails)
        self.places[went] = points[went]
