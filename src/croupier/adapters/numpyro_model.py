"""A NumPyro model with its arguments as a likelihood and a prior in unconstrained coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np

from croupier.adapters.base import CompiledModel, by_block, coordinate_names, split_points
from croupier.adapters.jax_function import precise
from croupier.data.draws import Floats
from croupier.errors import MissingExtraError, PlanError

__all__ = ["NumPyroModel", "numpyro"]

#: Draws of the prior are made in blocks of this size: JAX compiles one size.
DRAWS_AT_ONCE: Final = 256


def numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> NumPyroModel:
    """Return a NumPyro model, called with its arguments and data, for `cr.evidence`.

    ``cr.evidence(cr.adapters.numpyro(model, x, y=y), draws=20_000)``. Observed sites and factors
    make the likelihood, all other sites the prior.
    """
    if not callable(model):
        raise PlanError(f"a NumPyro model is a function, got {model!r:.80}")
    return NumPyroModel(model, args, kwargs)


class NumPyroModel(CompiledModel):
    """The functions of a NumPyro model, compiled when they are first called."""

    def __init__(self, model: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            import numpyro  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("a model of NumPyro needs", "numpyro", "jax") from error
        self.model, self.args, self.kwargs = model, args, kwargs
        with precise():
            first = self._unconstrained_draw(_key(0))
            free, observed = self._sites
        if not free:
            raise PlanError("the NumPyro model has no free sites: there is nothing to integrate")
        if not observed:
            raise PlanError(
                "the NumPyro model has no observed sites: its evidence is 1; give it the data "
                "that it has as obs=..."
            )
        self.shapes = {name: tuple(np.shape(first[name])) for name in free}
        self.names = coordinate_names(self.shapes)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was compiled: another process compiles it again."""
        return {key: vars(self)[key] for key in ("model", "args", "kwargs", "shapes", "names")}

    @cached_property
    def _sites(self) -> tuple[list[str], list[str]]:
        """Return the names of the free sites and of the observed ones."""
        from numpyro import handlers

        traced = handlers.trace(handlers.seed(self.model, _key(0)))
        free, observed = [], []
        for name, site in traced.get_trace(*self.args, **self.kwargs).items():
            if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
                raise PlanError(
                    f"plate {name!r} of the NumPyro model takes a part of the data: the evidence "
                    "needs all of it, leave out subsample_size="
                )
            if site["type"] != "sample":
                continue
            if site["is_observed"]:
                observed.append(name)
                continue
            if site["fn"].support.is_discrete:
                raise PlanError(
                    f"site {name!r} of the NumPyro model is discrete, and the evidence needs "
                    "continuous parameters: sum it out in the model"
                )
            free.append(name)
        return free, observed

    def _unconstrained_draw(self, key: Any) -> dict[str, Any]:
        """Return one draw of the prior, by site, in unconstrained coordinates."""
        from numpyro import handlers
        from numpyro.distributions import biject_to

        traced = handlers.trace(handlers.seed(self.model, key))
        sites = traced.get_trace(*self.args, **self.kwargs)
        return {
            name: biject_to(sites[name]["fn"].support).inv(sites[name]["value"])
            for name in self._sites[0]
        }

    def _trace_at(self, parts: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Any]]:
        """Return the sites at one point, and the logs of the Jacobians of its transforms."""
        from numpyro import handlers
        from numpyro.distributions import biject_to

        jacobians: list[Any] = []

        def place(site: Mapping[str, Any]) -> Any:
            if site["type"] != "sample" or site["name"] not in parts:
                return None
            transform = biject_to(site["fn"].support)
            free = parts[site["name"]]
            value = transform(free)
            jacobians.append(transform.log_abs_det_jacobian(free, value).sum())
            return value

        # A key for sites that draw but are not sampled: there are none in most models.
        model = handlers.seed(handlers.substitute(self.model, substitute_fn=place), _key(0))
        return handlers.trace(model).get_trace(*self.args, **self.kwargs), jacobians

    def _density(self, point: Any, *, of_prior: bool) -> Any:
        """Return one of the two log densities at one point."""
        import jax.numpy as jnp

        parts = {name: part[0] for name, part in split_points(point[None], self.shapes).items()}
        sites, jacobians = self._trace_at(parts)
        total = jnp.zeros(())
        for site in sites.values():
            if site["type"] != "sample" or bool(site["is_observed"]) == of_prior:
                continue
            log = site["fn"].log_prob(site["value"])
            if site.get("scale") is not None:
                log = site["scale"] * log
            total = total + jnp.sum(log)
        return total + sum(jacobians) if of_prior else total

    def _call(self, which: str, points: Floats) -> Floats:
        import jax

        with precise():
            if which not in self._functions:

                def one(point: Any) -> Any:
                    return self._density(point, of_prior=which.startswith("prior"))

                function = jax.grad(one) if which.endswith("gradient") else one
                self._functions[which] = jax.jit(jax.vmap(function))
            return by_block(self._functions[which], np.asarray(points, float))

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of the prior, as unconstrained points."""
        import jax
        import jax.numpy as jnp

        with precise():
            if "draw" not in self._functions:

                def flat(key: Any) -> Any:
                    drawn = self._unconstrained_draw(key)
                    return jnp.concatenate([jnp.ravel(drawn[name]) for name in self.shapes])

                self._functions["draw"] = jax.jit(jax.vmap(flat))
            key = _key(int(rng.integers(2**63)))
            blocks = []
            for block in range(-(-size // DRAWS_AT_ONCE)):
                keys = jax.random.split(jax.random.fold_in(key, block), DRAWS_AT_ONCE)
                blocks.append(np.asarray(self._functions["draw"](keys), float))
        return np.concatenate(blocks)[:size] if blocks else np.empty((0, self.dimension))

    def parameters(self, points: Floats) -> Mapping[str, Floats]:
        """Return the parameters and the deterministic sites of the model, by name."""
        import jax

        with precise():
            if "parameters" not in self._functions:

                def one(point: Any) -> Any:
                    whole = split_points(point[None], self.shapes)
                    sites, _ = self._trace_at({name: part[0] for name, part in whole.items()})
                    return {
                        name: site["value"]
                        for name, site in sites.items()
                        if name in self.shapes or site["type"] == "deterministic"
                    }

                self._functions["parameters"] = jax.jit(jax.vmap(one))
            found = self._functions["parameters"](np.asarray(points, float))
        return {name: np.asarray(value) for name, value in found.items()}


def _key(seed: int) -> Any:
    import jax

    return jax.random.PRNGKey(seed)
