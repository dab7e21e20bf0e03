"""A joint density alone, prior times likelihood: split by a reference distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from croupier.data.draws import Floats

__all__ = ["JointDensity"]

#: Without draws, unconstrained coordinates are looked for at this scale, as Stan's starts are.
USUAL_SCALE: Final = 2.0


class JointDensity:
    """A log joint density of unconstrained points, as a reference prior and the rest.

    The evidence is the integral of the joint density, whatever the reference is: it only says
    where a search begins. It is N(mean, scale^2) in each coordinate.
    """

    def __init__(
        self,
        log_joint: Callable[[Floats], Floats],
        names: Sequence[str],
        gradient: Callable[[Floats], Floats],
        parameters: Callable[[Floats], Mapping[str, Floats]],
    ) -> None:
        self.log_joint, self._joint_gradient = log_joint, gradient
        self.names, self._parameters = tuple(names), parameters

    @property
    def dimension(self) -> int:
        """The number of unconstrained coordinates."""
        return len(self.names)

    def log_prior(self, points: Floats) -> Floats:
        """Return the log density of the reference."""
        z = np.asarray(points) / USUAL_SCALE
        constant = self.dimension * np.log(USUAL_SCALE * np.sqrt(2 * np.pi))
        return np.asarray(-0.5 * np.square(z).sum(axis=1) - constant)

    def prior_gradient(self, points: Floats) -> Floats:
        """Return the gradient of the log density of the reference."""
        return np.asarray(-np.asarray(points) / USUAL_SCALE**2)

    def log_likelihood(self, points: Floats) -> Floats:
        """Return the log joint density without that of the reference."""
        return self.log_joint(points) - self.log_prior(points)

    def gradient(self, points: Floats) -> Floats:
        """Return the gradient of `log_likelihood`."""
        return self._joint_gradient(points) - self.prior_gradient(points)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of the reference."""
        return np.asarray(USUAL_SCALE * rng.standard_normal((size, self.dimension)))

    def parameters(self, points: Floats) -> Mapping[str, Any]:
        """Return the parameters of the model at each point, by their names."""
        return self._parameters(points)
