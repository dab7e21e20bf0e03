"""Functions of one point that are written in JAX: all points at once, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from croupier.adapters.base import by_block
from croupier.data.draws import Floats
from croupier.errors import MissingExtraError, PlanError

__all__ = ["JaxFunction", "jax", "precise"]


def precise() -> Any:
    """Return JAX's context of double precision: single precision has 7 digits of a log."""
    try:
        from jax.experimental import enable_x64
    except ImportError:
        try:
            from jax import enable_x64
        except ImportError as error:
            raise MissingExtraError("a function of JAX needs", "jax", "jax") from error
    return enable_x64(True)


class JaxFunction:
    """A JAX function of one point, as a function of points (n, d); `gradient` is its gradient.

    It works in double precision. Calls have few different sizes, because JAX compiles each size.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        precise()  # the error of a package that is not there comes now
        self.function = function
        self.__name__ = getattr(function, "__name__", "jax function")
        self._compiled: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was compiled: another process compiles it again."""
        return {**vars(self), "_compiled": {}}

    def __call__(self, points: Floats) -> Floats:
        """Return the function at each point, (n,)."""
        return self._call("value", points)

    def gradient(self, points: Floats) -> Floats:
        """Return the gradient at each point, (n, d)."""
        return self._call("gradient", points)

    def _call(self, which: str, points: Floats) -> Floats:
        import jax

        with precise():
            if which not in self._compiled:
                one = self.function if which == "value" else jax.grad(self.function)
                self._compiled[which] = jax.jit(jax.vmap(one))
            return by_block(self._compiled[which], points)


def jax(log_likelihood: Callable[[Any], Any]) -> JaxFunction:
    """Return a log-likelihood that is written in JAX, for `cr.evidence`.

    `log_likelihood` takes one point (d,) and returns a number. Its gradient comes with it, so that
    ``cr.evidence(cr.adapters.jax(f), prior)`` climbs with gradients.
    """
    if not callable(log_likelihood):
        raise PlanError(f"a function of one point is needed, got {log_likelihood!r:.80}")
    return JaxFunction(log_likelihood)
