"""An arm whose draws may fail: they are repeated, or count as both ends of their known range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from croupier.arms.base import Arm, DrawFunction, OneAtATime
from croupier.data.draws import Draws
from croupier.errors import CroupierError, PlanError
from croupier.functions.failures import both_ends, known_range

__all__ = ["careful_arms"]


@dataclass(frozen=True)
class Careful:
    """Draws that are repeated with the same random numbers; with `bounds` they never fail.

    A call that fails loses all of its draws, that of `cr.scalar` one draw. A draw that is not
    finite has failed, too.
    """

    draw: Any
    retries: int
    bounds: tuple[float, float] | None

    @property
    def __name__(self) -> str:
        return str(getattr(self.draw, "__name__", "<lambda>"))

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return draws (size,), or (size, 2) if there are bounds."""
        if isinstance(self.draw, OneAtATime) and size > 1:
            return self._joined([self(rng, 1) for _ in range(size)])
        returned = self._tried(rng, size)
        if self.bounds is None:
            return returned
        costs = returned.costs if isinstance(returned, Draws) else None
        values = np.array(returned.values if isinstance(returned, Draws) else returned, float)
        if values.shape != (size,):
            raise PlanError(
                f"on_failure='bounds' is for arms of one number: it returned {values.shape}, not "
                f"{(size,)}"
            )
        values[~np.isfinite(values)] = np.nan
        failed = int(np.isnan(values).sum())
        extra = {"failed": failed} if failed else None
        return Draws(both_ends(values, self.bounds), costs, extra)

    def _tried(self, rng: np.random.Generator, size: int) -> Any:
        before = rng.bit_generator.state
        for left in reversed(range(self.retries + 1)):
            try:
                returned = self.draw(rng, size)
            except CroupierError:
                raise
            except Exception:
                if not left and self.bounds is None:
                    raise
            else:
                if not left or not _has_nan(returned):
                    return returned
            if left:
                rng.bit_generator.state = before
        return np.full(size, np.nan)

    def _joined(self, draws: Sequence[Any]) -> Any:
        """Return single draws as those of one call."""
        if not isinstance(draws[0], Draws):
            return [value for each in draws for value in each]
        paid = [each.costs for each in draws if each.costs is not None]
        failed = sum(each.extra["failed"] for each in draws if each.extra)
        return Draws(
            np.concatenate([np.asarray(each.values) for each in draws]),
            np.concatenate([np.ravel(each) for each in paid]) if len(paid) == len(draws) else None,
            {"failed": failed} if failed else None,
        )


def _has_nan(returned: Any) -> bool:
    """Tell whether a draw is NaN; what is no array of numbers is refused later, by name."""
    if isinstance(returned, Draws):
        returned = returned.values if returned.log_values is None else returned.log_values
    try:
        return bool(np.isnan(np.asarray(returned, float)).any())
    except (TypeError, ValueError):
        return False


def careful_arms(
    arms: Sequence[Arm], on_failure: str, retries: int, names: Sequence[str] | None, *, log: bool
) -> tuple[Arm, ...]:
    """Return arms whose draws may fail, in place of arms whose draws may not."""
    if on_failure == "raise" and not retries:
        return tuple(arms)
    if guided := [arm.name for arm in arms if arm.guided]:
        raise PlanError(f"arm {guided[0]!r} has a state: on_failure= and retries= need plain arms")
    if on_failure == "raise":
        return tuple([replace(arm, draw=Careful(arm.draw, retries, None)) for arm in arms])
    if log or names is not None:
        given = "log=True" if log else "names="
        raise PlanError(f"on_failure='bounds' is for arms of one number, so leave out {given}")
    if len(arms) > 1:
        raise PlanError(
            "on_failure='bounds' is for one arm: the bounds of failed draws are those of each arm, "
            "so several arms would no longer estimate one number; estimate each alone"
        )
    (arm,) = arms
    known = known_range(arm.bounds, "cr.Arm(draw, bounds=(low, high))")
    draw: DrawFunction = Careful(arm.draw, retries, known)
    return (replace(arm, draw=draw),)
