"""Scale: the origin and the unit of scaled numbers, to turn them into the user's units."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats

__all__ = ["Ints", "Scale"]

Ints: TypeAlias = NDArray[np.int64]


class Scale(NamedTuple):
    """What relative, scaled numbers are relative to, and their unit ``2**exponent``, (d,) each."""

    origin: Floats
    exponent: Ints

    def value_of(self, mean: Floats) -> Floats:
        """Return relative, scaled means in the user's units."""
        return np.asarray(self.origin + np.ldexp(mean, self.exponent))

    def spread_of(self, deviation: Floats) -> Floats:
        """Return scaled standard deviations or half-widths in the user's units."""
        return np.asarray(np.ldexp(deviation, self.exponent))
