"""Arm: one unbiased estimator of the target quantity, converted once to its batch form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from croupier.checks import Range, positive, range_of, unique_names
from croupier.data.draws import Draws
from croupier.errors import PlanError

__all__ = ["Arm", "ArmLike", "DrawFunction", "Guided", "Learner", "OneAtATime", "as_arms", "copied",
           "scalar"]  # fmt: skip

#: The flags of functions whose body does not run when they are called.
_NOT_AT_ONCE: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Guided(Protocol):
    """An arm whose draws depend on a state that comes with every batch, from its table."""

    def draw(self, rng: np.random.Generator, size: int, state: Any) -> Any:
        """Return `size` values, unbiased for every state, or `Draws(values, extra=...)`."""


class Learner(Guided, Protocol):
    """An arm that learns from its own draws: VEGAS-like grids, adaptive proposals.

    A batch is drawn with the state that its arm had when the batch was decided, so each batch
    stays unbiased. States advance in ticket order, so a replay is exact.
    """

    def start(self) -> Any:
        """Return the state before any draw."""

    def learn(self, state: Any, extra: Any) -> Any:
        """Return the next state from the `extra` of one call; must not change the old state."""


DrawFunction: TypeAlias = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class Arm:
    """A callable ``(rng, size)`` that returns `size` values, with what is known about it.

    `draw` returns an array of `size` values, an array (size, d) for d quantities at once, or
    `Draws(values, costs)`; or it is a `Learner`. `bounds` and `cost_bounds` are the known ranges
    of values and costs, for the policies that need them. In a run of logs, `bounds` is the range
    of the logs, and its low end may be -inf. `timeout` is the number of seconds that a batch may
    take. A batch that takes longer ends the run with an error; this needs workers. Batches grow to
    about 3 % of all that was drawn before, so choose a generous timeout. Change `version` when
    the arm changes but keeps its name, so that a stored run notices; a callable object may have
    `version` as an attribute.

    >>> import croupier as cr
    >>> coin = cr.Arm(lambda rng, size: rng.random(size) < 0.5, name="coin", bounds=(0, 1))
    >>> cr.estimate([coin], draws=1000, rng=7).arms["coin"].draws
    1000
    """

    draw: DrawFunction | Guided
    name: str | None = None
    bounds: Range | None = None
    cost_bounds: Range | None = None
    version: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None:
            object.__setattr__(self, "timeout", positive("timeout", self.timeout))
        object.__setattr__(self, "bounds", range_of("bounds", self.bounds, logs=True))
        object.__setattr__(self, "cost_bounds", range_of("cost_bounds", self.cost_bounds))
        if self.name is not None and not isinstance(self.name, str):
            raise PlanError(f"the name of an arm must be a string, got {self.name!r}")
        draw = getattr(self.draw, "draw", None) if self.guided else self.draw
        _check_callable(self.name, draw, self.guided)
        if (check := getattr(draw, "check_as_arm", None)) is not None:
            check()  # a program that is not told how many draws to make

    @property
    def guided(self) -> bool:
        """Whether a call has a state as its third argument."""
        draw = self.draw
        plain = callable(draw) or isinstance(draw, Mapping)  # a continuum has a draw, too
        return hasattr(draw, "learn") or (hasattr(draw, "draw") and not plain)

    def call(self, state: Any) -> DrawFunction:
        """Return the arm as a function of (rng, size), at a state if it is guided by one."""
        if not self.guided:
            return self.draw  # type: ignore[return-value]
        draw = self.draw.draw  # type: ignore[union-attr]
        return lambda rng, size: draw(rng, size, state)

    @property
    def learner(self) -> Learner | None:
        """The arm as a learner, or None if it is a pure function of (rng, size)."""
        return self.draw if hasattr(self.draw, "learn") else None  # type: ignore[return-value]


ArmLike: TypeAlias = Arm | DrawFunction | Guided


def scalar(function: Callable[[np.random.Generator], Any]) -> DrawFunction:
    """Wrap a function ``f(rng)`` that makes one draw (a number, or a vector) into an arm.

    >>> import croupier as cr
    >>> one = cr.scalar(lambda rng: rng.normal(1.0, 0.1))
    >>> cr.estimate({"one": one}, draws=100, rng=7).draws
    100
    """
    if not callable(function):
        raise PlanError(f"cr.scalar wraps a function of (rng), got {function!r}")
    return OneAtATime(function)


@dataclass(frozen=True)
class OneAtATime:
    """An arm of a function that makes one draw."""

    # A class and not a closure, so that the arm can be pickled.
    function: Callable[[np.random.Generator], Any]

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", "<lambda>")

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` draws, one after the other."""
        draws = [copied(self.function(rng)) for _ in range(size)]
        if isinstance(draws[0], Draws):
            values, costs, logs = (
                None if getattr(draws[0], part) is None else [getattr(d, part) for d in draws]
                for part in ("values", "costs", "log_values")
            )
            return Draws(values, costs, log_values=logs)
        return draws


def copied(draw: Any) -> Any:
    """Return a draw that does not change when its function writes to the same buffer again."""
    if isinstance(draw, Draws):
        return Draws(copied(draw.values), copied(draw.costs), log_values=copied(draw.log_values))
    return draw.copy() if isinstance(draw, np.ndarray) else draw


def as_arms(arms: Mapping[str, ArmLike] | Iterable[ArmLike]) -> tuple[Arm, ...]:
    """Return named arms from what `estimate` accepts: a mapping, or a sequence of arms.

    >>> def naive(rng, size):
    ...     return rng.random(size)
    >>> [arm.name for arm in as_arms([naive, lambda rng, size: rng.random(size)])]
    ['naive', 'arm 2']
    """
    if isinstance(arms, Mapping):
        pairs: Sequence[tuple[Any, Any]] = list(arms.items())
    elif isinstance(arms, Arm | Set | str) or not isinstance(arms, Iterable):
        raise PlanError(
            f"arms must be a mapping name -> arm or a list of arms, got {arms!r:.100}"
            f"{_way_out(arms) or '; for one arm give a list of one: [arm]' * callable(arms)}"
        )
    else:
        pairs = [(_name_of(arm, number), arm) for number, arm in enumerate(arms, 1)]
    if not pairs:
        raise PlanError("there are no arms: give at least one, such as {'naive': naive}")
    unique_names([name for name, _ in pairs])
    return tuple(_named(name, arm) for name, arm in pairs)


def _way_out(thing: Any) -> str:
    """Say how something is given that is no arm, but has arms or is one already."""
    if isinstance(thing, Arm):
        return "; for one arm give a list of one: [arm]"
    if isinstance(thing, Mapping):
        return "; it is a mapping of arms: give it alone, or join it: {**mapping, 'other': other}"
    if callable(getattr(thing, "arms", None)):
        return "; give what its arms() returns"
    return "; cr.play plays a table" if hasattr(thing, "ask") else ""


def _named(name: Any, arm: Any) -> Arm:
    if not isinstance(name, str):
        raise PlanError(f"the name of an arm must be a string, got {name!r}")
    if isinstance(arm, Arm):
        return replace(arm, name=name)  # a key goes before the arm's own name, as in a file
    version = getattr(arm, "version", None)
    return Arm(arm, name=name, version=version if isinstance(version, str) else None)


def _name_of(arm: Any, number: int) -> str:
    """Return the name of an arm in a list: its own, its function's, or "arm 3" for a lambda."""
    draw = arm.draw if isinstance(arm, Arm) else arm
    name = getattr(arm, "name", None) or getattr(draw, "__name__", "<lambda>")
    return f"arm {number}" if name == "<lambda>" else str(name)


def _check_callable(name: str | None, draw: Any, guided: bool) -> None:
    """Refuse, before anything is drawn, what cannot be called as draw(rng, size)."""
    arm = "an arm" if name is None else f"arm {name!r}"
    if not callable(draw):
        way = _way_out(draw) or "; an arm is a function (rng, size)"
        raise PlanError(f"{arm} is not callable: {draw!r:.100}{way}")
    expected = 3 if guided else 2
    if _first_names(draw) == ("size", "rng"):
        raise PlanError(f"{arm} takes (size, rng); an arm takes (rng, size), in this order")
    if _plainly_takes(draw, expected):
        return
    if inspect.iscoroutinefunction(draw) or inspect.isasyncgenfunction(draw):
        raise PlanError(f"{arm} is a coroutine; an arm is a plain function that returns its values")
    if inspect.isgeneratorfunction(draw):
        raise PlanError(f"{arm} is a generator; an arm returns an array of `size` values at once")
    try:
        signature = inspect.signature(draw)
    except (TypeError, ValueError):
        return  # a builtin without a signature: the first call will show
    if not _takes(signature, expected):
        one = _takes(signature, 1) and "size" not in signature.parameters
        hint = "; wrap a function of one draw in cr.scalar" if one else ""
        called = "(rng, size, state)" if guided else "(rng, size)"
        raise PlanError(f"{arm} must take {called}, but its signature is {signature}{hint}")


def _first_names(draw: Any) -> tuple[str, ...]:
    """Return the names of the first two arguments of a function."""
    if not isinstance(draw, FunctionType):
        return ()
    code = draw.__code__
    return code.co_varnames[: min(code.co_argcount, 2)]


def _plainly_takes(draw: Any, arguments: int) -> bool:
    """Return whether the arguments clearly fit; this is faster than making a signature."""
    call = draw if isinstance(draw, FunctionType | MethodType) else type(draw).__call__
    function = call.__func__ if isinstance(call, MethodType) else call
    if not isinstance(function, FunctionType) or hasattr(draw, "__wrapped__"):
        return False
    code, given = function.__code__, arguments + (function is not draw)
    needed = code.co_argcount - len(function.__defaults__ or ())
    fits = needed <= given <= code.co_argcount and not code.co_kwonlyargcount
    return fits and not code.co_flags & _NOT_AT_ONCE and not hasattr(draw, "__signature__")


def _takes(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*range(arguments))
    except TypeError:
        return False
    return True
