"""Components: what a search and an estimate draw from, fitted normals and scouts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture

__all__ = ["SCOUTS", "Frozen", "dealt", "mixture_of", "plain", "scout_widths", "scouts"]

#: How far the scouts are from the nominal distribution, in nats, from the narrowest to the widest.
_NATS: Final = (0.0, 2.0, 6.0)
SCOUTS: Final = len(_NATS)


@cache
def scout_widths(d: int) -> tuple[float, ...]:
    """Return the widths s of the scouts: d ((s^2 - 1)/2 - ln s) is 0, 2 and 6 nats.

    >>> [round(s, 2) for s in scout_widths(2)], [round(s, 2) for s in scout_widths(100)]
    ([1.0, 2.12, 3.04], [1.0, 1.14, 1.25])
    """
    widths = []
    for nats in _NATS:
        low, high = 1.0, 1.0 + math.sqrt(2 * nats / d) + 1.0
        for _ in range(60):  # bisection: the function grows for s > 1
            middle = (low + high) / 2
            far = d * ((middle**2 - 1) / 2 - math.log(middle)) > nats
            low, high = (low, middle) if far else (middle, high)
        widths.append(1.0 if nats == 0 else low)
    return tuple(widths)


def scouts(d: int) -> Mixture:
    """Return the scouts N(0, s^2 I), the narrowest first: it is the nominal distribution."""
    return Mixture.around(np.zeros((SCOUTS, d)), scout_widths(d))


class Frozen(NamedTuple):
    """A mixture for draws. `modes` is the number of fitted components.

    The fitted components come first, then as many twins, then the scouts.
    """

    mixture: Mixture
    modes: int = 0

    @property
    def shares(self) -> Floats:
        """The shares of the components."""
        return self.mixture.shares

    @property
    def plain(self) -> bool:
        """Whether all draws are nominal ones: then they have no weights."""
        return bool(self.shares[-SCOUTS] == 1)

    def arrays(self) -> dict[str, Any]:
        """Return the mixture as arrays, for a store."""
        return {**self.mixture.as_plain(), "modes": self.modes}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Frozen:
        """Return the mixture that `arrays` has written."""
        return cls(Mixture.of(plain), int(plain["modes"]))


def dealt(shares: Floats, size: int, before: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the component of each of `size` draws, so that every piece has its due of each.

    `before` are the draws that each component has had: a component that is too rare for one round
    has its turn in a later one.

    >>> dealt(np.array([0.5, 0.25, 0.25]), 8).tolist()
    [0, 1, 2, 0, 0, 1, 2, 0]
    >>> dealt(np.array([0.9, 0.1]), 4, np.array([5, 0])).tolist()
    [0, 0, 1, 0]
    """
    had = np.zeros(len(shares)) if before is None else before
    due = np.maximum(shares * (had.sum() + size) - had, 0.0)
    due *= size / due.sum()
    counts = np.floor(due).astype(np.int64)
    rest = size - int(counts.sum())
    counts[np.argsort(counts - due, kind="stable")[:rest]] += 1
    places = [(np.arange(count) + 0.5) / max(count, 1) for count in counts]
    own = np.repeat(np.arange(len(shares)), counts)
    return own[np.argsort(np.concatenate(places), kind="stable")]


def plain(d: int) -> Frozen:
    """Return the nominal distribution as a mixture: the rival that needs no search."""
    return Frozen(replace(scouts(d), shares=np.array([1.0, 0.0, 0.0])))


def mixture_of(fits: Mixture | None, d: int, fitted: float) -> Frozen:
    """Return fitted components with the share `fitted` together, and scouts for the rest."""
    if fits is None:
        return Frozen(scouts(d))
    return Frozen(fits.joined(scouts(d), 1 - fitted), len(fits))
