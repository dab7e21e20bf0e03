"""LimitState: the user's function g, called with many points or with one, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Draws, Floats
from croupier.errors import ArmError, CroupierError, PlanError, text_of
from croupier.rare.components import Frozen, log_normal
from croupier.rare.rounds import events_of
from croupier.spaces.base import Space

__all__ = ["Evaluated", "LimitState", "limit_state"]


@dataclass(frozen=True)
class LimitState:
    """g minus the limit, as a function of standard normal points: (n, d) to (n, m)."""

    g: Callable[[Any], Any]
    space: Space
    below: float
    vectorised: bool
    states: int
    gradient: Callable[[Any], Any] | None = None

    def at(self, x: Floats) -> Floats:
        """Return g minus the limit at the user's points (n, k), as (n, m)."""
        raw: NDArray[Any] = self._called(x)
        if raw.dtype.kind not in "fiub":
            raise ArmError(f"g returned values of type {raw.dtype}: return numbers", arm="g")
        shapes = [(len(x), self.states)] + ([(len(x),)] if self.states == 1 else [])
        if raw.shape not in shapes:
            raise ArmError(
                f"g was called with {len(x)} points and returned the shape {raw.shape}, not "
                f"{shapes[-1]}",
                arm="g",
                value=raw,
            )
        g = raw.reshape(len(x), self.states).astype(float) - self.below
        if np.isnan(g).any():
            row = int(np.flatnonzero(np.isnan(g).any(axis=1))[0])
            raise ArmError(
                f"g is NaN at x = {_text(x[row])}: return a "
                "number; if the model cannot be evaluated there, decide whether this is a failure",
                arm="g",
                value=float("nan"),
            )
        return g

    def _called(self, x: Floats) -> Any:
        """Return what g makes of a copy of the points; if it raises, the error names a point."""
        own = np.array(x)
        row = 0
        try:
            if self.vectorised:
                return np.asarray(self.g(own))
            rows: list[Any] = []
            for point in own:
                row = len(rows)
                rows.append(np.asarray(self.g(point)).reshape(-1))
            return np.array(rows)
        except CroupierError:
            raise
        except Exception as error:
            which = f"x = {_text(x[row])}"
            if self.vectorised:
                which = f"{len(x)} points, the first one {which}"
            raise ArmError(
                f"g raised {type(error).__name__}: {text_of(error)}, called with {which}",
                arm="g",
                value=x[row],
            ) from error

    def slope_at(self, z: Floats) -> Floats:
        """Return the gradient of g for standard normal points z (n, d), as (n, m, d)."""
        assert self.gradient is not None
        x = np.asarray(self.space.from_normal(z), float)
        n, k = len(x), x[0].size
        if self.vectorised:
            raw = np.asarray(self.gradient(x.copy()))
        else:
            raw = np.array([np.asarray(self.gradient(point)) for point in x.copy()])
        shapes = [(n, self.states, k)] + ([(n, k)] if self.states == 1 else [])
        if raw.dtype.kind not in "fiub" or raw.shape not in shapes:
            called = f"{n} points" if self.vectorised else "one point, as g"
            wanted = shapes[-1] if self.vectorised else shapes[-1][1:]
            raise ArmError(
                f"gradient was called with {called} and returned the shape "
                f"{raw.shape if self.vectorised else raw.shape[1:]} of type {raw.dtype}; it must "
                f"return {wanted}: the derivatives of g for each variable",
                arm="gradient",
                value=raw,
            )
        raw = raw.reshape(n, self.states, k).astype(float)
        slope = self.space.pulled_back(z, raw)
        bad = ~np.isfinite(slope).all(axis=(1, 2))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ArmError(
                f"gradient is {np.array2string(raw[row], threshold=8)} at x = "
                f"{_text(x[row])}: return finite numbers, zeros where g "
                "has no derivative",
                arm="gradient",
                value=float("nan"),
            )
        return slope


@dataclass(frozen=True)
class Evaluated:
    """The arm of a phase: evaluates a limit state at points that its table asks for."""

    limit: LimitState

    def draw(self, rng: np.random.Generator, size: int, state: Mapping[str, Any]) -> Draws:
        """Return the weighted failures of an estimate, or the failures of a search."""
        points, own = state.get("points"), np.array(state["own"], np.int64)
        mixture = Frozen.of(state["mixture"]) if state["mixture"] is not None else None
        if points is not None:
            z = np.array(points, float)
        else:
            assert mixture is not None
            z = np.empty((size, self.limit.space.dimension))
            for k in np.unique(own):
                z[own == k] = mixture.components[k].sample(rng, int((own == k).sum()))
        x = self.limit.space.from_normal(z)
        g = self.limit.at(x)
        fails = events_of(g) < 0
        values = fails.astype(float)
        if state["phase"] == "estimate":
            assert mixture is not None
            values *= np.exp(log_normal(z) - mixture.logpdf(z))[:, None]
        elif state["phase"] == "fresh":
            base, weight = np.array(state["terms"], float)
            values = base[:, None] + weight[:, None] * fails
        kept = {name: state[name] for name in ("round", "phase", "planned", "epoch", "stopped")}
        there = np.asarray(x[fails.any(axis=1)], float)
        extra = {**kept, "x": z, "g": g, "own": own, "there": there}
        if state["phase"] == "descent":
            extra["slope"] = self.limit.slope_at(z)
        if state["first"] and mixture is not None:
            extra["mixture"] = mixture.arrays()
        return Draws(values[:, 0] if self.limit.states == 1 else values, None, extra)


def _text(x: Any) -> str:
    return np.array2string(np.asarray(x), threshold=8)


def limit_state(g: Any, space: Space, below: float, gradient: Any = None) -> LimitState:
    """Find out how g is called and how many limit states it has, at points near the centre."""
    if not callable(g):
        raise PlanError(f"g must be a function of points (n, d) or of one point, got {g!r:.100}")
    if gradient is not None and not callable(gradient):
        raise PlanError(f"gradient must be a function of the points of g, got {gradient!r:.100}")
    d = space.dimension
    n = 2 if d != 2 else 3  # an array (d, d) could not tell rows from columns
    z = 0.1 * np.linspace(-1, 1, n)[:, None] * np.ones(d)
    x = space.from_normal(z)
    if x.shape[1:] == (n,):
        n += 1
        x = space.from_normal(0.1 * np.linspace(-1, 1, n)[:, None] * np.ones(d))
    try:
        many: Any = np.asarray(g(x.copy()))
        failed: Exception | None = None
    except Exception as error:
        many, failed = None, error
    if failed is None and many.shape[:1] == (n,) and many.ndim <= 2:
        states, vectorised = (1 if many.ndim == 1 else many.shape[1]), True
    else:
        many, vectorised = _pointwise(g, x, many, failed), False
        states = int(many.size)
    if many.dtype == bool and not 0 < below <= 1:
        raise PlanError(
            "g returned True or False, and neither is below "
            f"{below:g}: return a number that is below it where g fails. A margin that falls "
            "towards the failure is best; np.where(fails, -1.0, 1.0) will do"
        )
    if states < 1:
        raise PlanError("g returned an array without a limit state: return (n,) or (n, m)")
    made = LimitState(g, space, float(below), vectorised, states, gradient)
    try:
        made.at(x)
    except ArmError as error:
        raise PlanError(f"g near the centre of its distribution: {error}") from None
    if gradient is not None:
        _check_gradient(made, z)
    return made


def _check_gradient(made: LimitState, z: Floats) -> None:
    try:
        made.slope_at(z)
    except ArmError as error:
        raise PlanError(f"near the centre of the distribution: {error}") from None
    except PlanError:
        raise
    except Exception as error:
        raise PlanError(
            f"gradient raised {type(error).__name__}: {text_of(error)} for "
            f"{'many points' if made.vectorised else 'one point'}: it is called as g is"
        ) from error


def _pointwise(g: Callable[[Any], Any], x: Floats, many: Any, failed: Exception | None) -> Any:
    """Return the limit states of a g that takes one point, at the first point."""
    if failed is None:
        first = f"it returned the shape {many.shape} for the points {x.shape}"
    else:
        first = f"it raised {type(failed).__name__}: {text_of(failed)} for the points {x.shape}"
    try:
        one = np.asarray(g(np.array(x[0])))
    except Exception as error:
        raise PlanError(
            f"g can be called neither with many points nor with one: {first}, and "
            f"{type(error).__name__}: {text_of(error)} for one point of shape {x[0].shape}; does "
            "its dimension match `over`?"
        ) from error
    if one.ndim > 1 or one.dtype.kind not in "fiub":
        raise PlanError(
            f"g must return a number for each point, or m numbers: {first}, and {one!r:.80} for "
            "one point"
        )
    return one
