"""What every adapter makes of a model: a likelihood, a prior, their gradients, and names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from croupier.data.draws import Floats

__all__ = ["CompiledModel", "ModelObject", "by_block", "coordinate_names", "split_points"]

#: Compiled functions see blocks of 16, 32, ... 1024 points, so that at most 7 sizes are compiled.
SMALLEST_BLOCK: Final = 16
LARGEST_BLOCK: Final = 1024


@runtime_checkable
class ModelObject(Protocol):
    """A model as `cr.evidence` needs it. Points are unconstrained coordinates, (n, dimension).

    The log prior includes the Jacobian of the transforms, so it is the density of these points.
    """

    names: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """The number of unconstrained coordinates."""

    def log_likelihood(self, points: Floats) -> Floats:
        """Return the log-likelihood at each point, (n,)."""

    def log_prior(self, points: Floats) -> Floats:
        """Return the log density of the prior at each point, (n,)."""

    def gradient(self, points: Floats) -> Floats:
        """Return the gradient of the log-likelihood at each point, (n, dimension)."""

    def prior_gradient(self, points: Floats) -> Floats:
        """Return the gradient of the log density of the prior at each point, (n, dimension)."""

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of the prior, (size, dimension)."""

    def parameters(self, points: Floats) -> Mapping[str, Floats]:
        """Return the parameters of the model at each point, by their names, each (n, ...)."""


class CompiledModel(ABC):
    """What models share whose four functions are compiled when they are first called."""

    names: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """The number of unconstrained coordinates."""
        return len(self.names)

    @cached_property
    def _functions(self) -> dict[str, Any]:
        return {}

    @abstractmethod
    def _call(self, which: str, points: Floats) -> Floats:
        """Return the "likelihood" or the "prior" at each point, or its "... gradient"."""

    def log_likelihood(self, points: Floats) -> Floats:
        """Return the log-likelihood at each point, with the model's factors or potentials."""
        return self._call("likelihood", points)

    def log_prior(self, points: Floats) -> Floats:
        """Return the log density of the prior, with the Jacobian of the transforms."""
        return self._call("prior", points)

    def gradient(self, points: Floats) -> Floats:
        """Return the gradient of the log-likelihood at each point."""
        return self._call("likelihood gradient", points)

    def prior_gradient(self, points: Floats) -> Floats:
        """Return the gradient of the log density of the prior at each point."""
        return self._call("prior gradient", points)


def coordinate_names(shapes: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """Return a name for each coordinate of parameters with these shapes.

    >>> coordinate_names({"mu": (), "theta": (2,)})
    ('mu', 'theta[0]', 'theta[1]')
    """
    found = []
    for name, shape in shapes.items():
        for index in np.ndindex(*shape):
            found.append(f"{name}[{','.join(map(str, index))}]" if index else name)
    return tuple(found)


def split_points(points: Any, shapes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Return the parts of points (n, d) that belong to each parameter, each (n, *shape)."""
    parts, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape, dtype=int))
        parts[name] = points[:, start : start + size].reshape((points.shape[0], *shape))
        start += size
    return parts


def by_block(function: Callable[[Floats], Any], points: Floats) -> Floats:
    """Call a compiled function with blocks of few different sizes, the last one padded.

    >>> by_block(lambda x: x[:, 0] * 2, np.arange(3.0)[:, None])
    array([0., 2., 4.])
    """
    found = []
    for start in range(0, len(points), LARGEST_BLOCK):
        block = points[start : start + LARGEST_BLOCK]
        n = len(block)
        size = max(SMALLEST_BLOCK, 1 << (n - 1).bit_length())
        padded = np.concatenate((block, np.repeat(block[-1:], size - n, axis=0)))
        found.append(np.asarray(function(padded), float)[:n])
    return np.concatenate(found) if found else np.asarray(function(points), float)
