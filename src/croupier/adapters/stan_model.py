"""A Stan model, through BridgeStan: its joint density in unconstrained coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from croupier.adapters.joint_density import JointDensity
from croupier.data.draws import Floats
from croupier.errors import PlanError

__all__ = ["is_stan_model", "stan"]

_CALLS: Final = ("log_density", "log_density_gradient", "param_unc_names", "param_constrain")


def is_stan_model(thing: Any) -> bool:
    """Tell whether this has the functions of a BridgeStan model."""
    return all(callable(getattr(thing, name, None)) for name in _CALLS)


def stan(model: Any) -> JointDensity:
    """Return a BridgeStan model, made with its data, for `cr.evidence`.

    ``cr.evidence(bridgestan.StanModel("model.stan", data))`` does this by itself. The density has
    all its constants, also those of ``y ~ normal(mu, sigma)``.
    """
    if not is_stan_model(model):
        way = ""
        if type(model).__module__.split(".")[0] == "cmdstanpy":
            way = (
                "; cmdstanpy starts a process for each point: give bridgestan.StanModel(file, data)"
            )
        raise PlanError(f"a model of BridgeStan is needed, got {type(model).__name__}{way}")
    density = _Density(model)
    return JointDensity(density, model.param_unc_names(), density.gradient, density.parameters)


class _Density:
    """The functions of a BridgeStan model, one point after the other."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, points: Floats) -> Floats:
        """Return the log joint density at each point, with the Jacobian of the transforms."""
        return np.array([self._at(point) for point in np.ascontiguousarray(points, float)])

    def _at(self, point: Floats) -> float:
        try:
            return float(self.model.log_density(point, propto=False, jacobian=True))
        except RuntimeError:  # Stan rejects a point where the density is 0
            return -np.inf

    def gradient(self, points: Floats) -> Floats:
        """Return the gradient of the log joint density at each point."""
        rows = np.ascontiguousarray(points, float)
        return np.array([self.model.log_density_gradient(row, propto=False)[1] for row in rows])

    def parameters(self, points: Floats) -> Mapping[str, Floats]:
        """Return the constrained parameters at each point, by their names in Stan."""
        rows = np.array([self.model.param_constrain(row) for row in np.asarray(points, float)])
        return {name: rows[:, j] for j, name in enumerate(self.model.param_names())}
