"""controlled: your own draws, minus what controls with known means explain of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.ready_made import Known
from croupier.data.draws import Draws, Floats
from croupier.errors import ArmError, PlanError

__all__ = ["controlled"]

#: A singular set of controls must not stop the fit.
_RIDGE: Final = 1e-10


@dataclass(frozen=True)
class ControlledDraws:
    """An arm that learns the coefficients of its controls from its earlier batches.

    Its state has the sums of (1, h, y)'(1, h, y): h are the controls minus their means, y the
    values, and the first entry is the number of draws. A batch is drawn with coefficients that do
    not depend on it, so every draw is exactly unbiased.
    """

    function: Callable[[np.random.Generator, int], Any]
    means: tuple[float, ...]
    name: str

    def start(self) -> Any:
        """Return the state before any draw: nothing is known."""
        return None

    def draw(self, rng: np.random.Generator, size: int, state: Any) -> Draws:
        """Return y - b'h: the mean of h is 0, so the mean of y is unchanged.

        Without coefficients yet, the first draws of the call are only for them: one draw without
        control beside many that hardly vary would make the arm look worse than it is.
        """
        first = self._few if state is None or state[0, 0] < self._few else 0
        values, costs, h = self._parts(self.function(rng, first + size), first + size)
        y = values.reshape(first + size, -1)
        table = np.column_stack((np.ones(first + size), h, y))
        b = self._coefficients(table[:first].T @ table[:first] if first else state)
        left = y[first:] - h[first:] @ b
        paid = np.broadcast_to(costs, first + size)
        each = paid[first:] + paid[:first].sum() / size
        return Draws(left.reshape((size, *values.shape[1:])), each, extra=table.T @ table)

    def learn(self, state: Any, extra: Any) -> Any:
        """Return the sums with those of one more call."""
        return extra if state is None else state + extra

    @property
    def _few(self) -> int:
        """With fewer draws, coefficients are noise."""
        return 2 * (len(self.means) + 2)

    def _coefficients(self, state: Any) -> Any:
        """Return the coefficients (k, d) of a regression on other draws."""
        k, n, sums = len(self.means), state[0, 0], state[0, 1:]
        central = state[1:, 1:] - np.outer(sums, sums) / n
        ridge = _RIDGE * np.trace(central[:k, :k]) + 1e-300
        return np.linalg.solve(central[:k, :k] + ridge * np.eye(k), central[:k, k:])

    def _parts(self, returned: Any, size: int) -> tuple[Floats, Any, Floats]:
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise ArmError(
                f"returned {type(returned).__name__}; a function for cr.arms.controlled returns "
                "(values, controls)",
                arm=self.name,
                value=returned,
            )
        drawn, controls = returned
        costs: Any = 1.0
        if isinstance(drawn, Draws):
            costs = 1.0 if drawn.costs is None else drawn.costs
            drawn = drawn.values
        values, h = np.asarray(drawn, float), np.asarray(controls, float)
        h = h[:, None] if h.ndim == 1 else h
        if values.shape[:1] != (size,) or h.shape != (size, len(self.means)):
            raise ArmError(
                f"returned values of shape {values.shape} and controls of shape {h.shape} for "
                f"{size} draws and {len(self.means)} means: return one value and one row of "
                "controls for each draw, with one column for each mean",
                arm=self.name,
            )
        return values, costs, h - np.array(self.means)


def controlled(
    draw: Callable[[np.random.Generator, int], Any],
    means: Sequence[float] | float,
    *,
    name: str = "controlled",
) -> Arm:
    """Return your own arm with control variates: other numbers of a draw whose means are known.

    The coefficients are learned from the earlier batches of the arm, so a draw is exactly unbiased.
    It costs what your function reports, or 1; a first call makes 2 (k + 2) draws more, which only
    give coefficients, and its draws cost as much more.

    Args:
        draw: A function (rng, size) that returns (values, controls): `size` values, or (size, d),
            or ``cr.Draws(values, costs)``; and the controls of each draw, (size,) or (size, k).
        means: The k known means of the controls.
        name: The name of the arm.

    >>> import croupier as cr
    >>> def call(rng, size):  # a call option, with the stock as control: its mean is 1
    ...     stock = np.exp(0.2 * rng.standard_normal(size) - 0.02)
    ...     return np.maximum(stock - 1, 0), stock
    >>> plain = cr.estimate([lambda rng, size: call(rng, size)[0]], draws=10_000, rng=7)
    >>> result = cr.estimate([cr.arms.controlled(call, 1.0)], draws=10_000, rng=7)
    >>> plain.stderr / result.stderr > 2
    True
    """
    if not callable(draw):
        raise PlanError(f"draw must be a function (rng, size), got {draw!r:.80}")
    try:
        known = tuple(float(mean) for mean in np.atleast_1d(np.asarray(means, dtype=float)))
    except (TypeError, ValueError):
        known = (np.nan,)
    if not np.isfinite(known).all() or not known:
        raise PlanError(f"means must be the known means of the controls, numbers, got {means!r}")
    return Arm(ControlledDraws(draw, known, name), name)


def _half_known(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    h = rng.standard_normal(size)
    return 3.0 + 2.0 * h + 0.5 * rng.standard_normal(size), h


def example() -> Known:
    """Return 3 + 2 h + e/2 with the control h: the variance 4.25 becomes 0.25."""
    return Known(controlled(_half_known, 0.0), 3.0, 0.25, 1.0)
