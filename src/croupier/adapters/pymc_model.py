"""A PyMC model as a likelihood and a prior in unconstrained coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from croupier.adapters.base import CompiledModel, coordinate_names, split_points
from croupier.data.draws import Floats
from croupier.errors import MissingExtraError, PlanError

__all__ = ["PyMCModel", "is_pymc_model", "pymc"]


def is_pymc_model(thing: Any) -> bool:
    """Tell whether this is a model of PyMC, without loading PyMC."""
    return any(
        kind.__name__ == "Model" and kind.__module__.split(".")[0] == "pymc"
        for kind in type(thing).__mro__
    )


def pymc(model: Any) -> PyMCModel:
    """Return a PyMC model for `cr.evidence`; ``cr.evidence(model)`` does this by itself.

    Observed variables and potentials make the likelihood, all other variables the prior. Points
    are PyMC's unconstrained values, so a positive parameter is sampled by its log.
    """
    if not is_pymc_model(model):
        raise PlanError(f"a pymc.Model is needed, got {type(model).__name__}")
    return PyMCModel(model)


class PyMCModel(CompiledModel):
    """The functions of a PyMC model, compiled when they are first called."""

    def __init__(self, model: Any) -> None:
        try:
            import pymc  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("a model of PyMC needs", "pymc", "pymc") from error
        whole = [rv.name for rv in model.free_RVs if rv.dtype.startswith(("int", "uint", "bool"))]
        if whole:
            raise PlanError(
                f"{', '.join(whole)} of the PyMC model is discrete, and the evidence needs "
                "continuous parameters: sum it out, for example by pymc_extras.marginalize"
            )
        if not model.free_RVs:
            raise PlanError("the PyMC model has no free variables: there is nothing to integrate")
        if not model.observed_RVs and not model.potentials:
            raise PlanError(
                "the PyMC model has no observed variables: its evidence is 1; give observed=..."
            )
        self.model = model
        start = model.initial_point()
        self.shapes = {value.name: start[value.name].shape for value in self._values}
        self.names = coordinate_names(
            {rv.name: self.shapes[model.rvs_to_values[rv].name] for rv in model.free_RVs}
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was compiled: another process compiles it again."""
        return {key: vars(self)[key] for key in ("model", "shapes", "names")}

    @property
    def _values(self) -> list[Any]:
        return [self.model.rvs_to_values[rv] for rv in self.model.free_RVs]

    def _compiled(self, graphs: list[Any], *, gradient: bool = False) -> Any:
        """Compile functions of one point as functions of points (n, d)."""
        import pymc
        import pytensor.tensor as pt
        from pytensor.graph.replace import vectorize_graph

        points = pt.matrix("points", dtype="float64")
        parts = split_points(points, self.shapes)
        swap = {value: parts[value.name].astype(value.dtype) for value in self._values}
        rows = vectorize_graph(graphs, replace=swap)
        if gradient:
            rows = [pt.grad(rows[0].sum(), points, disconnected_inputs="ignore")]
        else:  # a graph that does not depend on the point has no row for each
            rows = [
                row if row.ndim > graph.ndim else pt.zeros_like(points[:, 0]) + row
                for row, graph in zip(rows, graphs, strict=True)
            ]
        with self.model:
            compiled = pymc.pytensorf.compile(
                [points], rows if len(graphs) > 1 else rows[0], on_unused_input="ignore"
            )
        compiled.trust_input = True
        return compiled

    @cached_property
    def _log_likelihood(self) -> Any:
        return self.model.logp(vars=[*self.model.observed_RVs, *self.model.potentials])

    @cached_property
    def _log_prior(self) -> Any:
        return self.model.logp(vars=self.model.free_RVs, jacobian=True)

    def _call(self, which: str, points: Floats) -> Floats:
        if which not in self._functions:
            of_prior = which.startswith("prior")
            graph = self._log_prior if of_prior else self._log_likelihood
            self._functions[which] = self._compiled([graph], gradient=which.endswith("gradient"))
        return np.asarray(self._functions[which](np.ascontiguousarray(points, float)))

    @cached_property
    def _draw(self) -> tuple[Any, list[Any]]:
        import pymc
        from pymc.pytensorf import find_rng_nodes

        drawn = []
        for rv in self.model.free_RVs:
            transform = self.model.rvs_to_transforms[rv]
            drawn.append(rv if transform is None else transform.forward(rv, *rv.owner.inputs))
        generators = find_rng_nodes(drawn)
        with self.model:
            return pymc.pytensorf.compile([], drawn), generators

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of the prior, as unconstrained points."""
        from pymc.pytensorf import reseed_rngs

        draw, generators = self._draw
        reseed_rngs(generators, int(rng.integers(2**63)))
        points = np.empty((size, self.dimension))
        for row in points:
            row[:] = np.concatenate([np.ravel(part) for part in draw()])
        return points

    @cached_property
    def _constrained(self) -> Any:
        wanted = [*self.model.free_RVs, *self.model.deterministics]
        names = [each.name for each in wanted]
        return names, self._compiled(self.model.replace_rvs_by_values(wanted))

    def parameters(self, points: Floats) -> Mapping[str, Floats]:
        """Return the parameters and the deterministic quantities of the model, by name."""
        names, function = self._constrained
        found = function(np.ascontiguousarray(points, float))
        rows = found if isinstance(found, list | tuple) else [found]
        return {name: np.asarray(row) for name, row in zip(names, rows, strict=True)}
