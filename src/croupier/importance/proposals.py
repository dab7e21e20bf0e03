"""Makes proposals and targets from scipy's distributions, functions and normals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from croupier.arms.base import copied
from croupier.checks import unique_names
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.spaces.axes import Marginal
from croupier.spaces.given import Draws

__all__ = [
    "Proposal",
    "as_log_density",
    "as_proposals",
    "density_at",
    "in_order",
    "is_normalised",
    "numbers_of",
]


class Proposal(Protocol):
    """A distribution that can be sampled, and whose log density can be evaluated, in batches."""

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` points: an array whose first axis has that length."""

    def logpdf(self, x: Any) -> Any:
        """Return the log density at n points: an array (n,)."""


@dataclass(frozen=True)
class _Pair:
    """The user's two functions."""

    sample: Callable[[np.random.Generator, int], Any]
    logpdf: Callable[[Any], Any]


@dataclass(frozen=True)
class _Frozen:
    """A frozen distribution of scipy.stats, of the older or the newer kind, discrete or not."""

    distribution: Any

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        x = Draws(self.distribution)(rng, size)
        many = getattr(self.distribution, "dim", None)  # scipy drops axes of length 1
        return x if many is None else x.reshape(size, many)

    def logpdf(self, x: Any) -> Any:
        log_density = _log_density_of(self.distribution)
        assert log_density is not None
        return np.reshape(log_density(x), -1)  # scipy drops axes here too


def as_proposals(
    given: Mapping[str, Any] | Iterable[Any],
) -> tuple[tuple[str, ...], tuple[Proposal, ...]]:
    """Return the names and the proposals of what `Family` accepts."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Iterable) and not isinstance(given, str):
        pairs = [(f"q{j}", one) for j, one in enumerate(given)]
    else:
        raise PlanError(f"proposals must be a mapping name -> proposal or a sequence: {given!r}")
    if not pairs:
        raise PlanError("there are no proposals: give at least one, such as {'wide': norm(0, 3)}")
    for name, _ in pairs:
        if not isinstance(name, str):
            raise PlanError(f"the name of a proposal must be a string, got {name!r}")
    names = tuple(name for name, _ in pairs)
    unique_names(names)
    return names, tuple(_as_proposal(name, one) for name, one in pairs)


def _as_proposal(name: str, one: Any) -> Proposal:
    if isinstance(one, tuple) and len(one) == 2 and all(map(callable, one)):
        return _Pair(*one)
    if _log_density_of(one) is not None and (hasattr(one, "rvs") or hasattr(one, "icdf")):
        return _Frozen(one)
    if callable(getattr(one, "sample", None)) and callable(getattr(one, "logpdf", None)):
        return one  # type: ignore[no-any-return]
    raise PlanError(
        f"proposal {name!r} must be a frozen distribution of scipy.stats, a pair of functions "
        f"(sample(rng, size), logpdf(x)), or a Normal, got {one!r}"
    )


def in_order(what: str, names: tuple[str, ...], given: Any) -> Any:
    """Return what was given for each proposal, in their order; names must be those of proposals."""
    if not isinstance(given, Mapping):
        return given
    if differing := set(names) ^ set(given):
        raise PlanError(
            f"{what} must have the names of the proposals, {', '.join(names)}; "
            f"only in one of them: {', '.join(sorted(map(str, differing)))}"
        )
    return [given[name] for name in names]


def as_log_density(target: Any) -> Callable[[Any], Any]:
    """Return the log density of a target: a function, or the method of a distribution."""
    if _log_density_of(target) is not None:
        return _Frozen(target).logpdf
    if callable(target):
        return target  # type: ignore[no-any-return]
    raise PlanError(
        "the target must be a function log p(x), or a frozen distribution of scipy.stats, "
        f"got {target!r}"
    )


def is_normalised(target: Any) -> bool:
    """Return whether a target is known to be a probability density."""
    return _log_density_of(target) is not None


def density_at(
    log_density: Callable[[Any], Any], x: Any, size: int, whose: str, arm: str
) -> Floats:
    """Return a log density at `size` points, or raise an error that says what is wrong."""

    def refuse(message: str, value: Any) -> ArmError:
        return ArmError(f"{whose} {message}", arm=arm, value=value)

    try:
        raw = np.atleast_1d(np.asarray(log_density(copied(x)), float))  # scipy drops an axis of 1
    except (TypeError, ValueError) as error:
        raise refuse(f"could not be evaluated: {error}", x[:1]) from error
    if raw.shape != (size,):
        message = f"has shape {raw.shape} at {size} points; return one number for each, ({size},)"
        raise refuse(message, raw)
    bad = np.isnan(raw) | (raw == np.inf)
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        message = f"is {raw[first]} at x = {x[first]} ({bad.sum()} of {size} points)"
        raise refuse(message + "; return -inf where the density is 0", float(raw[first]))
    return raw


def numbers_of(f: Any, size: int, arm: str) -> Any:
    """Return the integrand at `size` points, or raise an error that says what is wrong."""
    if isinstance(f, np.ma.MaskedArray):
        message = "the integrand returned a masked array: put a number where the mask is"
        raise ArmError(message, arm=arm, value=f)
    values = np.atleast_1d(f) if size == 1 else np.asarray(f)  # scipy drops an axis of 1
    if values.shape != (size,) or values.dtype.kind not in "fiub":
        message = (
            f"the integrand returned {values.dtype} of shape {values.shape} at {size} points; "
            f"return one number for each, ({size},)"
        )
        raise ArmError(message, arm=arm, value=f)
    return values


def _log_density_of(distribution: Any) -> Callable[[Any], Any] | None:
    # A frozen discrete distribution of scipy has a method named logpdf, but no density.
    method = getattr(distribution, "logpmf" if Marginal(distribution).discrete else "logpdf", None)
    return method if callable(method) else None
