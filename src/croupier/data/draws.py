"""Draws from an arm, the Batch that asks for them, and the Outcome that is told.

Values and costs are checked here, once; all other code trusts them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from croupier.errors import ArmError
from croupier.seeds import DRAWS, stream

__all__ = ["Batch", "Draws", "Floats", "Outcome", "as_costs", "as_values"]

Floats: TypeAlias = NDArray[np.float64]

#: Costs are squared and summed: if one or its inverse were larger, a sum could overflow.
_MOST_COST: Final = 1e150


@dataclass(frozen=True, slots=True)
class Draws:
    """What an arm returns when it reports its own costs: values, and the cost of each.

    `costs` is one number per draw, or one number that is the cost of each draw. `extra` is small
    data of any kind from which an arm that learns will learn. In a run with ``log=True`` the draws
    are given as `log_values` instead of `values`.

    >>> import numpy as np
    >>> def arm(rng, size):
    ...     steps = rng.geometric(0.1, size)
    ...     return Draws(rng.normal(1.0, 1.0, size), costs=steps)
    >>> arm(np.random.default_rng(0), 3).costs.shape
    (3,)
    """

    values: ArrayLike | None = None
    costs: ArrayLike | None = None
    extra: Any = None
    log_values: ArrayLike | None = None


class Batch(NamedTuple):  # made at every decision, and four times as fast as a frozen dataclass
    """`size` draws that are asked for at once, from one arm.

    Their randomness comes from `rng()`, which depends only on (seed, ticket). An arm is called
    with at most `chunk` draws at a time, so that its arrays stay in the cache.
    """

    ticket: int
    arm: str
    size: int
    seed: int
    chunk: int = 10_000
    state: Any = None

    def rng(self) -> np.random.Generator:
        """Return the batch's own random generator, always from its start."""
        return stream(self.seed, DRAWS, self.ticket)


@dataclass(slots=True, eq=False)  # not frozen: it is made for every batch, and freezing takes time
class Outcome:
    """The result of a batch; it is small for batches of every size.

    `moments` has the rows mean, M2, M3, M4 (central sums), one column per component, about
    `origin` (the batch's first draw) and in units of ``2**exponent``. `extremes` are the draws
    farthest from the mean among the first `inspected`, for the warnings about tails. `extra` is
    what a policy or an arm computes from the draws. `scalar` means that the arm returns numbers,
    not vectors of length 1. `cost` is in the unit of the plan, `reported` is what the arm reports.

    In a run of logs, the moments are those of the draws themselves, about an origin of 0;
    `extremes` and `values` are logs.
    """

    ticket: int
    arm: str
    size: int
    origin: Floats
    exponent: NDArray[np.int64]
    moments: Floats
    scalar: bool
    cost: float
    cost_m2: float
    reported: float
    seconds: float
    extremes: Floats
    inspected: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    values: Floats | None = None

    @property
    def mean(self) -> Floats:
        """The mean of the draws, one number per component, in the user's units."""
        return np.asarray(self.origin + np.ldexp(self.moments[0], self.exponent))


def as_values(raw: Any, size: int, *, arm: str, ticket: int) -> Floats:
    """Return what an arm returned as float64 of shape (size,) or (size, d), or raise an error.

    NaN and infinity are found where the moments are summed (`batch_moments.Tally`), at no extra
    cost.

    >>> as_values([True, False], 2, arm="coin", ticket=0)
    array([1., 0.])
    """
    plain = type(raw) is np.ndarray and raw.dtype == np.float64 and raw.shape[:1] == (size,)
    if plain and (raw.ndim == 1 or (raw.ndim == 2 and raw.size > 0 and raw.flags.c_contiguous)):
        values: Floats = raw  # what most arms return, most of the time
        return values

    def refuse(message: str, value: Any = raw) -> ArmError:
        return ArmError(message, arm=arm, ticket=ticket, value=value)

    if raw is None:
        raise refuse(f"returned None; return an array of {size} values")
    if isinstance(raw, tuple) and len(raw) > 1 and all(np.shape(x) == (size,) for x in raw):
        raise refuse(
            f"returned a tuple of {len(raw)} arrays; for {len(raw)} quantities from the same draws "
            f"return one array (size, {len(raw)}): np.column_stack((a, b)); for values and their "
            "costs return cr.Draws(values, costs)"
        )
    if _masked(raw):
        raise refuse(
            "returned a masked array; without the masked draws the answer would be biased: "
            "return every draw in a plain array (a draw that counts as nothing is a 0)"
        )
    if hasattr(raw, "__await__") or hasattr(raw, "__aiter__") or hasattr(raw, "__next__"):
        close = getattr(raw, "close", None)
        if callable(close):
            close()
        raise refuse(
            f"returned a {type(raw).__name__}, not values; "
            "return an array, such as np.fromiter(values, float) of a generator, or what a "
            "coroutine returns when it was run"
        )
    try:
        values = np.asarray(raw)
    except (ValueError, TypeError) as error:
        raise refuse(f"returned something that is not an array ({error})") from error
    if values.dtype.kind == "c":
        raise refuse(
            f"returned complex values (the first is {values.flat[0] if values.size else '?'}); "
            "return the real and the imaginary part as two components, an array (size, 2)"
        )
    if values.dtype.kind not in "fiub":
        shown = values.flat[0] if values.size else raw
        raise refuse(
            f"returned values of type {values.dtype} (such as {shown!r}); return numbers", shown
        )
    if values.ndim not in (1, 2) or values.shape[0] != size:
        raise refuse(_wrong_shape(values, size))
    if values.ndim == 2 and values.shape[1] == 0:
        raise refuse(f"returned an array of shape {values.shape}: no component to estimate")
    if (ends := _wrapped(values)) is not None:
        raise refuse(
            f"returned {values.dtype} numbers from {ends[0]} to {ends[1]}, close to both ends of "
            "this type: integers that are too large for it come back at the other end. Compute "
            "with floats; if the numbers are right, return them as .astype(float)",
            ends[0],
        )
    # In C order: the order in memory is the order of summation, and so it changes the last bits.
    return values.astype(np.float64, order="C", copy=False)


def _wrapped(values: NDArray[Any]) -> tuple[int, int] | None:
    """Return the smallest and the largest of integers that seem to have overflowed.

    They lie in the lowest and in the highest quarter of the range of their type. Smaller types
    than 32 bits, such as those of pictures and sounds, are often used up to their ends.
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 4 or not values.size:
        return None
    limits = np.iinfo(values.dtype)
    low, high = int(values.min()), int(values.max())
    quarter = (int(limits.max) - int(limits.min)) // 4
    if low < limits.min + quarter and high > limits.max - quarter:
        return low, high
    return None


def _masked(raw: Any) -> bool:
    # If there is a masked array, numpy.ma is loaded; loading it only to find out takes 50 ms.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(raw, masked.MaskedArray)


def _wrong_shape(values: NDArray[Any], size: int) -> str:
    asked = f"was asked for {size} draw{'s' * (size != 1)} and"
    if values.ndim == 0:
        return (
            f"{asked} returned a single number ({values:.6g}); return an array of {size}, "
            "or wrap a function of one draw in cr.scalar"
        )
    if values.ndim > 2:
        return (
            f"{asked} returned an array of shape {values.shape}; "
            "return (size,) for a number or (size, d) for a vector"
        )
    few = "too few" if values.shape[0] < size else "too many"
    hint = "; for a vector of quantities return an array (size, d)" if values.ndim == 1 else ""
    if values.ndim == 2 and values.shape[1] == size:
        hint = "; return an array (size, d), with a row for each draw: transpose it"
    return f"{asked} returned {few}, {values.shape[0]} (shape {values.shape}){hint}"


def as_costs(raw: ArrayLike, size: int, *, arm: str, ticket: int) -> Floats:
    """Return reported costs as float64 of shape (size,), each finite and above zero.

    >>> as_costs(2, 3, arm="slow", ticket=0)
    array([2., 2., 2.])
    """
    if _masked(raw):
        message = "reported costs in a masked array; report every cost in a plain array"
        raise ArmError(message, arm=arm, ticket=ticket, value=raw)
    try:
        costs = np.asarray(raw)
        if costs.dtype.kind not in "fiub":
            raise TypeError(costs.dtype)
        costs = costs.astype(np.float64, copy=False)
    except (ValueError, TypeError) as error:
        raise ArmError(
            f"costs are not numbers: {raw!r}; report one number per draw",
            arm=arm,
            ticket=ticket,
            value=raw,
        ) from error
    if costs.ndim == 0:
        costs = np.full(size, costs)
    if costs.shape != (size,):
        message = f"reported costs of shape {costs.shape} for {size} draws; report one per draw"
        raise ArmError(message, arm=arm, ticket=ticket, value=raw)
    good = (costs >= 1 / _MOST_COST) & (costs <= _MOST_COST)
    if not good.all():
        bad = costs[~good][0]
        message = (
            f"reported a cost of {bad:.6g}; a cost must be a positive number, because a run of "
            "draws without a cost would never end"
        )
        if bad > 0:
            message = (
                f"reported a cost of {bad:.6g}; costs must lie between {1 / _MOST_COST:g} and "
                f"{_MOST_COST:g}: use another unit"
            )
        raise ArmError(message, arm=arm, ticket=ticket, value=float(bad))
    return costs
