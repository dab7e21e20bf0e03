"""What a user wrote, compiled in place of ours: an index, or the draws of the arms."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from croupier.errors import PlanError
from croupier.simulator.compiling import NumbaError, inlined, rebound
from croupier.simulator.problems import Problem
from croupier.simulator.randomness import WORDS, streams

__all__ = ["block_sampler", "sampler", "scorer", "time_itself"]


@inlined
def time_itself(kind: int, policy: Any, total: float) -> float:
    """Return the time: an index of the user's is told it as it is."""
    return total


def scorer(name: str, score: Callable[..., Any]) -> Any:
    """Return a user's index as a kernel calls it; refuse what numba cannot compile."""
    index = _compiled(score)
    try:
        value = index(0.25, 0.1, 3.0, 7.0)
    except (NumbaError, TypeError) as error:
        raise PlanError(
            f"index {name!r} cannot be compiled: it must be a function (loss, variance, count, "
            f"time) of numbers that returns a number; {_reason(error)}"
        ) from error
    if not isinstance(value, int | float):
        raise PlanError(f"index {name!r} returned {value!r}, not a number")

    @inlined
    def score_of(
        kind: int, policy: Any, loss: float, variance: float, count: float, level: float
    ) -> float:
        return float(index(loss, variance, count, level))

    return score_of


def sampler(problem: Problem) -> Any:
    """Return a user's arms as a kernel draws from them; refuse what numba cannot compile."""
    sample: Any = problem.sample
    own = _compiled(sample)

    @inlined
    def draw(s: Any, arm: int, sampling: Any) -> tuple[float, float]:
        return float(own(s, arm)), sampling.cost_parameters[arm, 0]

    @inlined
    def draw_with_cost(s: Any, arm: int, sampling: Any) -> tuple[float, float]:
        value, cost = own(s, arm)
        return float(value), float(cost)

    return draw_with_cost if _has_costs(own, len(problem)) else draw


def block_sampler(kernel: Any, problem: Problem) -> Any:
    """Return a kernel that draws from a user's arms, a block of values at a time."""
    sample: Any = problem.sample
    own = _compiled_once(sample)
    name = getattr(sample, "__name__", "sample")
    try:
        for row in problem.parameters:
            own(streams(np.uint64(7), 1)[0], row, np.empty(problem.block))
    except (NumbaError, TypeError) as error:
        raise PlanError(
            f"arms {name!r} cannot be compiled: in blocks they must be a function (stream, "
            f"numbers, values) that fills the values; {_reason(error)}"
        ) from error
    return _with_blocks(kernel, own, problem.block)


def _compiled(function: Any) -> Any:
    return function if hasattr(function, "py_func") else inlined(function)


_compiled_once = lru_cache(maxsize=32)(_compiled)


@lru_cache(maxsize=64)
def _with_blocks(kernel: Any, own: Any, block: int) -> Any:
    """Return the kernel with streams that are longer: how many values were used, and the values.

    Kept, since problems that differ in their parameters only share the compiled code.
    """
    used, first = WORDS, WORDS + 1

    @inlined
    def long_streams(key: np.uint64, count: int) -> Any:
        s = np.empty((count, first + block), np.uint64)
        s[:, :WORDS] = streams(key, count)
        s[:, used] = np.uint64(block)
        return s

    @inlined
    def draw(s: Any, arm: int, sampling: Any) -> tuple[float, float]:
        at = np.int64(s[used])
        if at == block:
            own(s, sampling.parameters[arm], s[first:].view(np.float64))
            at = np.int64(0)
        s[used] = np.uint64(at + 1)
        # The bits of one word: a view of all of them for each draw would take ten times as long.
        return np.uint64(s[first + at]).view(np.float64), sampling.cost_parameters[arm, 0]

    return rebound(kernel, draw=draw, streams=long_streams)


def _has_costs(own: Any, arms: int) -> bool:
    """Draw once from every arm; return whether a draw comes with a cost."""
    name = getattr(own, "__name__", "sample")
    try:
        drawn = [own(streams(np.uint64(7), 1)[0], arm) for arm in range(arms)]
    except (NumbaError, TypeError) as error:
        raise PlanError(
            f"arms {name!r} cannot be compiled: they must be a function (stream, arm) that "
            f"returns a number, or a number and its cost; {_reason(error)}"
        ) from error
    return isinstance(drawn[0], tuple)


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"numba says: {lines[-1] if lines else type(error).__name__}"
