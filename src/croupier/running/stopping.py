"""Stopping rules: functions from the progress to a reason to stop, or to None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from croupier.errors import PlanError
from croupier.tables.aim import Aim
from croupier.tables.base import Progress

__all__ = ["Rule", "Stop", "any_of", "asked_to", "out_of_cost", "out_of_draws", "out_of_time",
           "precise"]  # fmt: skip

Stop: TypeAlias = Literal["draws", "seconds", "cost", "tolerance", "callback", "interrupted"]
Rule: TypeAlias = Callable[[Progress], Stop | None]


def any_of(*rules: Rule) -> Rule:
    """Stop when the first of several rules says so.

    >>> rule = any_of(out_of_draws(100), out_of_time(5.0))
    >>> rule(
    ...     Progress(
    ...         draws=100,
    ...         cost=100.0,
    ...         reported=0.0,
    ...         tickets=9,
    ...         seconds=0.1,
    ...         leader="a",
    ...         scalar=True,
    ...         estimate_now=lambda: None,
    ...         ready_now=lambda seen: False,
    ...     )
    ... )
    'draws'
    """

    def rule(progress: Progress) -> Stop | None:
        for each in rules:
            if (stop := each(progress)) is not None:
                return stop
        return None

    return rule


def out_of_draws(draws: int) -> Rule:
    """Stop when `draws` draws have been told."""
    return lambda progress: "draws" if progress.draws >= draws else None


def out_of_cost(cost: float) -> Rule:
    """Stop when the arms have reported that `cost` was spent."""

    def rule(progress: Progress) -> Stop | None:
        if not progress.reported:
            raise PlanError(
                "cost= is a budget, but no arm reports costs: return cr.Draws(values, costs)"
            )
        return "cost" if progress.reported >= cost else None

    return rule


def out_of_time(seconds: float) -> Rule:
    """Stop when the run has lasted `seconds`."""
    return lambda progress: "seconds" if progress.seconds >= seconds else None


def precise(aim: Aim) -> Rule:
    """Stop when every half-width is at most max(atol, rtol |value|), of the components it binds.

    In a run of logs, stop when the half-width of the log is at most max(atol, rtol).
    """

    def rule(progress: Progress) -> Stop | None:
        if not progress.ready:
            return None
        if (half := progress.log_half_width) is None:
            enough = progress.half_width <= aim.wanted(progress.value)
        else:
            enough = half <= aim.wanted(progress.log_value, log=True)
        return "tolerance" if enough is True or np.all(aim.bound(enough)) else None

    return rule


def asked_to(callback: Callable[[Progress], object]) -> Rule:
    """Call the user's function after every told ticket; stop when it returns True."""

    def rule(progress: Progress) -> Stop | None:
        _ = progress.value  # make the estimate now, so that it can be read at any later time
        answer = callback(progress)
        return "callback" if isinstance(answer, bool | np.bool_) and answer else None

    return rule
