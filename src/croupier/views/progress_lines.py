"""The lines about a run that goes on: its estimate and what it has spent so far.

± is the standard error, and the interval is in brackets, as in the table of a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from croupier.views import formats
from croupier.views.summary import components

__all__ = ["estimate_line", "spent_line", "standing_line"]


class Standing(Protocol):
    """The progress of a run, which a display reads only when it is due.

    Value, standard error and half-width are floats, or sequences of d floats.
    """

    @property
    def draws(self) -> int: ...
    @property
    def cost(self) -> float: ...
    @property
    def value(self) -> Any: ...
    @property
    def stderr(self) -> Any: ...
    @property
    def half_width(self) -> Any: ...
    @property
    def leader(self) -> str: ...


def estimate_line(
    value: object,
    stderr: object,
    half_width: object,
    rounding: Callable[..., formats.Rounding] = formats.rounding,
) -> str:
    """Return the estimate so far, its standard error and interval; for a vector, the first of them.

    >>> estimate_line(1.2345678, 0.000123, 0.000246)
    '1.23457 ± 0.00012 [1.23432, 1.23481]'
    >>> estimate_line([1.0, 2.0], [0.125, 0.5], [0.25, 1.0])
    'first of 2: 1.00 ± 0.12 [0.75, 1.25]'
    """
    values, errors = components(value), components(stderr)
    x, error, half = values[0], errors[0], components(half_width)[0]
    ends = formats.bracket(x - half, x + half, x, error, rounding)
    text = f"{formats.number(x, error, rounding)} {ends}"
    return text if len(values) == 1 else f"first of {len(values)}: {text}"


def standing_line(progress: Standing) -> str:
    """Return the estimate so far; for a run of logs, on the scale of logs."""
    if (log := getattr(progress, "log_value", None)) is None:
        return estimate_line(progress.value, progress.stderr, progress.half_width)
    error, half = progress.log_stderr, progress.log_half_width  # type: ignore[attr-defined]
    return f"log: {estimate_line(log, error, half, formats.log_rounding)}"


def spent_line(draws: int, cost: float, unit: str) -> str:
    """Return what was spent so far.

    >>> spent_line(410_000, 1234.5, "cost"), spent_line(20, 20.0, "draws")
    ('410,000 draws, cost 1,234', '20 draws')
    """
    text = formats.count(draws, "draw")
    return f"{text}, cost {formats.compact(cost)}" if unit == "cost" else text
