"""Recognises a model of another library where a log-likelihood is expected."""

from __future__ import annotations

from typing import Any

from croupier.adapters.base import ModelObject
from croupier.adapters.pymc_model import PyMCModel, is_pymc_model
from croupier.adapters.stan_model import is_stan_model, stan
from croupier.errors import PlanError

__all__ = ["model_object"]


def model_object(thing: Any) -> ModelObject | None:
    """Return a model with its own prior, or None if this is a function."""
    if is_pymc_model(thing):
        return PyMCModel(thing)
    if is_stan_model(thing):
        return stan(thing)
    if isinstance(thing, ModelObject):
        return thing
    if type(thing).__module__.split(".")[0] == "cmdstanpy":
        raise PlanError(
            "cmdstanpy starts a process for each point: give bridgestan.StanModel(file, data)"
        )
    return None
