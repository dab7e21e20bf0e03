"""Stopping rules: progress in, a reason to stop or None out."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from croupier.running.stopping import (
    any_of,
    asked_to,
    out_of_cost,
    out_of_draws,
    out_of_time,
    precise,
)
from croupier.tables.aim import Aim
from croupier.tables.base import Progress


def seen(value: Any, half_width: Any) -> Any:
    value, half = np.atleast_1d(value), np.atleast_1d(half_width)
    return SimpleNamespace(
        value=value, stderr=np.full(half.shape, 0.05), half_width=half, logs=None
    )


def progress_of(
    estimate: Any,
    ready: bool,
    draws: int = 1,
    cost: float = 1.0,
    seconds: float = 0.0,
    scalar: bool = True,
) -> Progress:
    return Progress(
        draws, cost, reported=cost, tickets=3, seconds=seconds, leader="a", scalar=scalar,
        estimate_now=estimate, ready_now=lambda _: ready,
    )  # fmt: skip


def at(
    draws: int = 10,
    cost: float = 10.0,
    seconds: float = 1.0,
    value: Any = 2.0,
    half_width: Any = 0.1,
    ready: bool = True,
) -> Progress:
    scalar = np.ndim(half_width) == 0
    return progress_of(lambda: seen(value, half_width), ready, draws, cost, seconds, scalar)


@pytest.mark.parametrize(
    ("rule", "before", "after", "reason"),
    [
        (out_of_draws(10), at(draws=9), at(draws=10), "draws"),
        (out_of_cost(10.0), at(cost=9.99), at(cost=10.0), "cost"),
        (out_of_time(1.0), at(seconds=0.99), at(seconds=1.0), "seconds"),
        (precise(Aim(atol=0.1)), at(half_width=0.11), at(half_width=0.1), "tolerance"),
        (precise(Aim(rtol=0.05)), at(half_width=0.11), at(half_width=0.1), "tolerance"),
        (precise(Aim(rtol=0.05)), at(value=1.9), at(value=-2.0), "tolerance"),
        (precise(Aim(atol=0.01, rtol=0.05)), at(half_width=0.11), at(half_width=0.1), "tolerance"),
        (precise(Aim(atol=0.1, rtol=0.001)), at(half_width=0.11), at(half_width=0.1), "tolerance"),
        (asked_to(lambda progress: progress.draws > 9), at(draws=9), at(draws=10), "callback"),
    ],
)
def test_a_rule_stops_at_its_limit_and_not_before(
    rule: Callable[[Progress], str | None], before: Progress, after: Progress, reason: str
) -> None:
    assert rule(before) is None
    assert rule(after) == reason


def test_a_tolerance_stops_only_when_enough_is_known() -> None:
    assert precise(Aim(atol=1.0))(at(half_width=0.1, ready=False)) is None


def test_an_unknown_error_is_never_precise() -> None:
    assert precise(Aim(atol=1.0))(at(half_width=np.inf)) is None
    assert precise(Aim(atol=1.0))(at(half_width=np.nan)) is None


def test_every_component_must_be_precise() -> None:
    both = {"value": np.array([1.0, 100.0])}
    assert precise(Aim(atol=0.1))(at(half_width=np.array([0.1, 0.2]), **both)) is None
    assert precise(Aim(atol=0.2))(at(half_width=np.array([0.1, 0.2]), **both)) == "tolerance"
    assert precise(Aim(rtol=0.05))(at(half_width=np.array([0.05, 5.0]), **both)) == "tolerance"
    assert precise(Aim(rtol=0.05))(at(half_width=np.array([0.06, 5.0]), **both)) is None


def test_the_first_of_several_reasons_is_given() -> None:
    rule = any_of(out_of_cost(100.0), out_of_draws(10), precise(Aim(atol=1.0)))
    assert rule(at(draws=9, half_width=2.0)) is None
    assert rule(at(draws=10)) == "draws"
    assert rule(at(draws=10, cost=100.0)) == "cost"
    assert any_of()(at()) is None


def test_rules_that_need_no_estimate_do_not_compute_one() -> None:
    def look() -> Any:
        raise AssertionError

    progress = progress_of(look, ready=False)
    rule = any_of(out_of_draws(10), out_of_cost(10.0), out_of_time(1.0))
    assert rule(progress) is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (True, "callback"),
        (np.True_, "callback"),
        (False, None),
        (np.False_, None),
        (None, None),
        (1, None),
        ("stop", None),
        (np.ones(2), None),
    ],
)
def test_only_true_stops(answer: Any, reason: str | None) -> None:
    assert asked_to(lambda progress: answer)(at()) == reason


def test_progress_looks_once_and_only_when_asked() -> None:
    looks = []

    def look() -> Any:
        looks.append(1)
        return seen(1.0, 0.2)

    progress = progress_of(look, ready=False)
    assert not looks
    assert (progress.value, progress.stderr, progress.half_width) == (1.0, 0.05, 0.2)
    assert (progress.leader, progress.ready) == ("a", False)
    assert len(looks) == 1


def test_a_tolerance_binds_the_chosen_components_only() -> None:
    vague = at(value=np.array([2.0, 0.0]), half_width=np.array([0.1, 0.5]))
    assert precise(Aim(rtol=0.05, components=(0,)))(vague) == "tolerance"
    assert precise(Aim(rtol=0.05))(vague) is None
