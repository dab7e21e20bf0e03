"""The arm of a phase: evaluates a model at the points that its table asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.annealing.coordinates import Coordinates
from croupier.annealing.gradients import Slope
from croupier.annealing.models import Model
from croupier.data.draws import Draws, Floats
from croupier.searching.population import Defensive

__all__ = ["Evaluating"]


@dataclass(frozen=True, eq=False)
class Evaluating:
    """Draws points or takes given ones, and returns the logs of their weights.

    Draws of the prior have the likelihood as a weight, those of a mixture prior x likelihood over
    its density; given points have none.
    """

    model: Model
    coordinates: Coordinates
    slope: Slope | None = None

    @property
    def version(self) -> str:
        """A text that differs between models."""
        return self.model.mark

    def draw(self, rng: np.random.Generator, size: int, state: Mapping[str, Any]) -> Draws:
        """Return the log weights of `size` points; `extra` has the points."""
        z, source = self._points(rng, size, state)
        log_prior = self.coordinates.log_prior(z)
        log_likelihood = np.full(size, -np.inf)
        possible = log_prior > -np.inf
        if possible.any():  # a model need not be defined where the prior forbids it
            x = self.coordinates.place(z[possible])
            log_likelihood[possible] = self.model.function(x)
        weights = np.full(size, -np.inf)
        if source is not None:
            weights = log_prior + log_likelihood - source.log_density(z, log_prior)
        names = ("round", "phase", "planned", "left", "used", "needed")
        kept = {name: state[name] for name in names}
        extra = {**kept, "z": z, "prior": log_prior, "likelihood": log_likelihood}
        if state["slope"]:
            assert self.slope is not None
            gradient = self.slope.of_likelihood(self.coordinates.place(z))
            pulled = self.coordinates.pulled_back(z, gradient)
            assert pulled is not None
            extra["slopes"] = np.nan_to_num(pulled, nan=0.0, posinf=0.0, neginf=0.0)
        return Draws(log_values=weights, extra=extra)

    def _points(
        self, rng: np.random.Generator, size: int, state: Mapping[str, Any]
    ) -> tuple[Floats, Defensive | None]:
        if state["points"] is not None:
            return state["points"], None
        source: Defensive = state["source"]
        if (mixture := source.mixture) is None:
            return self.coordinates.sample(rng, size), source
        plain = rng.random(size) < source.share
        z = np.empty((size, mixture.dimension))
        z[~plain] = mixture.draw(rng, int((~plain).sum()))[0]
        z[plain] = self.coordinates.sample(rng, int(plain.sum()))
        return z, source
