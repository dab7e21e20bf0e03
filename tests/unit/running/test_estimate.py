"""estimate: budgets, tolerances, callbacks, interrupts, deadlines, and what it refuses."""

from __future__ import annotations

import inspect
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.call_prices import STEP
from croupier.running.loop import loop
from tests.conftest import Clock

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

Bits = Callable[[cr.Result], Any]


def normal(spread: float, mean: float = 1.0) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, spread, size)


def priced(spread: float, cost: float) -> Callable[..., Any]:
    return lambda rng, size: cr.Draws(rng.normal(1.0, spread, size), costs=cost)


# -- the loop


def test_the_loop_fits_on_one_screen() -> None:
    assert len(inspect.getsource(loop).splitlines()) <= 40


# -- budgets


def test_no_budget_is_refused_and_a_tolerance_is_none(arms: dict[str, Any]) -> None:
    for tolerance in ({}, {"rtol": 0.01}, {"atol": 0.01}):
        with pytest.raises(cr.PlanError, match=r"no budget: give draws=, seconds= or cost="):
            cr.estimate(arms, **tolerance)


@pytest.mark.parametrize("budget", ["draws", "seconds", "cost"])
@pytest.mark.parametrize(
    "value",
    [0, -1, 0.0, -0.5, math.nan, math.inf, -math.inf, True, False, np.True_, "10", [10], 1j],
    ids=repr,
)
def test_a_budget_that_cannot_be_spent_is_refused(
    budget: str, value: Any, arms: dict[str, Any]
) -> None:
    with pytest.raises(cr.PlanError) as caught:
        cr.estimate(arms, **{budget: value})
    assert str(caught.value).startswith(f"{budget} must be a ")
    assert str(caught.value).endswith(f"got {value!r}")


@pytest.mark.parametrize("draws", [1.5, 10**400])
def test_draws_are_counted_in_whole_numbers_that_fit(draws: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"^draws (must be a |is too large)"):
        cr.estimate(arms, draws=draws)


@pytest.mark.parametrize("draws", [1e3, 1000, np.int64(1000), np.float32(1000)])
def test_a_budget_may_be_any_kind_of_whole_number(
    draws: Any, arms: dict[str, Any], bits: Bits
) -> None:
    result = cr.estimate(arms, draws=draws, rng=7)
    assert bits(result) == bits(cr.estimate(arms, draws=1000, rng=7))


def test_a_million_draws_in_scientific_notation_is_fine(arms: dict[str, Any]) -> None:
    assert cr.estimate(arms, draws=1e6, rng=7).draws == 1_000_000


@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("draws", [1, 2, 3, 7, 100, 12_345])
def test_draws_are_met_exactly(draws: int, width: int, arms: dict[str, Any]) -> None:
    result = cr.estimate(arms, draws=draws, width=width, rng=7)
    assert result.draws == draws == result.cost == sum(row.draws for row in result.arms)
    assert result.stopped == "draws"
    assert result.unit == "draws"


@pytest.mark.parametrize("width", [1, 8])
def test_a_cost_is_overshot_by_at_most_the_batches_that_are_out(width: int) -> None:
    arms = {"cheap": priced(1.0, 1.0), "dear": priced(0.1, 9.0)}
    result = cr.estimate(arms, cost=5000, width=width, rng=7)
    assert result.stopped == "cost"
    assert result.unit == "cost"
    assert 5000 - 9 <= result.cost <= 5000 + 9 * width
    assert result.cost == result.arms["cheap"].draws + 9 * result.arms["dear"].draws


def test_what_is_budgeted_is_what_is_economised() -> None:
    # dear draws are worth 4 of the cheap ones but cost 16: which arm is better depends on the unit
    arms = {"cheap": priced(1.0, 1.0), "dear": priced(0.5, 16.0)}
    by_draws = cr.estimate(arms, draws=4000, rng=7)
    by_cost = cr.estimate(arms, cost=4000, rng=7)
    assert by_draws.arms["dear"].efficiency == by_cost.arms["cheap"].efficiency == 1.0
    assert by_draws.arms["dear"].share > 0.8
    assert by_cost.arms["cheap"].share > 0.8


@pytest.mark.parametrize(
    ("budgets", "unit", "stopped"),
    [
        ({"draws": 100, "seconds": 60}, "seconds", "draws"),
        ({"draws": 10**9, "cost": 100}, "cost", "cost"),
        ({"draws": 50, "cost": 10**9}, "cost", "draws"),
        ({"seconds": 60, "cost": 0.05}, "seconds", "cost"),
    ],
)
def test_of_two_budgets_the_first_that_runs_out_stops_the_run(
    budgets: dict[str, Any], unit: str, stopped: str
) -> None:
    result = cr.estimate({"a": priced(1.0, 1.0), "b": priced(0.1, 1.0)}, rng=7, **budgets)
    assert (result.unit, result.stopped) == (unit, stopped)
    if "draws" in budgets and stopped == "draws":
        assert result.draws == budgets["draws"]


# -- other arguments


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, math.nan, "0.95", True])
def test_confidence_lies_between_0_and_1(confidence: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"^confidence must ") as caught:
        cr.estimate(arms, draws=10, confidence=confidence)
    assert str(caught.value).endswith(f"got {confidence!r}")


@pytest.mark.parametrize("which", ["atol", "rtol"])
@pytest.mark.parametrize("value", [-1e-9, -1, math.nan, True, "0.1"])
def test_a_tolerance_is_not_negative(which: str, value: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=f"^{which} must be a ") as caught:
        cr.estimate(arms, draws=10, **{which: value})
    assert str(caught.value).endswith(f"got {value!r}")


@pytest.mark.parametrize("which", ["width", "workers"])
@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, True, "2"])
def test_width_and_workers_are_counts(which: str, value: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=f"^{which} must be a ") as caught:
        cr.estimate(arms, draws=10, **{which: value})
    assert str(caught.value).endswith(f"got {value!r}")


@pytest.mark.parametrize("rng", [-1, 1.5, np.float64(3), True, "seed", [1, 2]])
def test_what_is_no_seed_is_refused(rng: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"^rng .*use None, a non-negative integer") as caught:
        cr.estimate(arms, draws=10, rng=rng)
    assert repr(rng) in str(caught.value)


@pytest.mark.parametrize("policy", ["best", 42, {"name": "best"}, None])
def test_an_unknown_policy_is_refused_with_those_that_are_known(
    policy: Any, arms: dict[str, Any]
) -> None:
    with pytest.raises(cr.PlanError) as caught:
        cr.estimate(arms, draws=10, policy=policy)
    assert repr(policy) in str(caught.value)
    assert "; the policies are auto, " in str(caught.value)
    assert all(name in str(caught.value) for name in cr.policies.REGISTRY)


@pytest.mark.parametrize("combine", ["best", 42, None])
def test_an_unknown_combiner_is_refused_with_those_that_are_known(
    combine: Any, arms: dict[str, Any]
) -> None:
    with pytest.raises(cr.PlanError) as caught:
        cr.estimate(arms, draws=10, combine=combine)
    assert str(caught.value).startswith(f"unknown combiner {combine!r}; the combiners are guarded,")


def test_fixed_needs_its_arm(arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"'fixed' needs its arm: .*Fixed\('rough'\)"):
        cr.estimate(arms, draws=10, policy="fixed")
    with pytest.raises(cr.PlanError, match="'fixed' has no arm 'nope'; the arms are rough, fine"):
        cr.estimate(arms, draws=10, policy=cr.policies.Fixed("nope"))


@pytest.mark.parametrize(("which", "value"), [("batch", "two"), ("clock", "moon"), ("clock", 1)])
def test_a_choice_is_refused_with_its_options(which: str, value: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=f"^{which} must be one of .*, got {value!r}$"):
        cr.estimate(arms, draws=10, **{which: value})


@pytest.mark.parametrize("objective", [(-1.0, 1.0), (0.0, 0.0), (math.nan, 1.0), 3, "ab", (True,)])
def test_an_objective_is_one_weight_per_component(objective: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"^objective must "):
        cr.estimate(arms, draws=10, objective=objective)


@pytest.mark.parametrize("policy", ["auto", "uniform"])
def test_an_objective_of_the_wrong_length_is_refused_before_the_budget_is_spent(
    policy: str,
) -> None:
    drawn = 0

    def counted(rng: np.random.Generator, size: int) -> np.ndarray:
        nonlocal drawn
        drawn += size
        return rng.random((size, 2))

    with pytest.raises(cr.PlanError, match="objective has 3 weights, but the draws have 2"):
        cr.estimate({"a": counted, "b": counted}, draws=10_000, objective=(1, 2, 3), policy=policy)
    assert drawn <= 8


def test_nothing_is_drawn_when_an_argument_is_refused() -> None:
    def never(rng: np.random.Generator, size: int) -> np.ndarray:
        raise AssertionError

    for bad in ({"confidence": 2}, {"rtol": -1}, {"width": 0}, {"rng": -1}, {"policy": "fixed"}):
        with pytest.raises(cr.PlanError):
            cr.estimate({"a": never}, draws=10, **bad)


# -- determinism


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("rng", [0, 7, 2**200])
def test_the_same_seed_gives_the_same_bits(
    rng: int, width: int, arms: dict[str, Any], bits: Bits
) -> None:
    first, second = (cr.estimate(arms, draws=3000, rng=rng, width=width) for _ in range(2))
    assert bits(first) == bits(second)
    assert first.seed == rng


def test_another_seed_gives_other_draws(arms: dict[str, Any]) -> None:
    values = {cr.estimate(arms, draws=1000, rng=seed).value for seed in range(5)}
    assert len(values) == 5


def test_the_recorded_seed_repeats_a_run_without_one(arms: dict[str, Any], bits: Bits) -> None:
    first = cr.estimate(arms, draws=1000)
    assert bits(cr.estimate(arms, draws=1000, rng=first.seed)) == bits(first)
    assert cr.estimate(arms, draws=1000).seed != first.seed


def test_a_generator_is_advanced_so_that_two_runs_differ(arms: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    first, second = (cr.estimate(arms, draws=1000, rng=rng) for _ in range(2))
    assert first.value != second.value
    again = cr.estimate(arms, draws=1000, rng=np.random.default_rng(7))
    assert again.value == first.value


SCRIPT = """
import numpy as np
import croupier as cr
arms = {
    "rough": lambda rng, size: rng.normal([1, 2], 1.0, (size, 2)),
    "fine": lambda rng, size: rng.normal([1, 2], 0.1, (size, 2)),
    "heavy": lambda rng, size: np.exp(rng.normal(-0.5, [1, 1], (size, 2))) * [1, 2],
}
result = cr.estimate(arms, draws=20_000, rng=7, width=8)
history = result.history
parts = result.value, result.stderr, *result.interval, history.arm, history.size
print(b"".join(np.asarray(part).tobytes() for part in parts).hex())
"""


def test_two_processes_give_the_same_bits() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert len(said[0]) > 1000


@pytest.mark.parametrize("power", [600, -600])
@pytest.mark.parametrize("policy", ["variance-thompson", "variance-lcb", "greedy"])
def test_draws_scaled_by_a_power_of_two_give_the_same_decisions_and_a_scaled_result(
    power: int, policy: str
) -> None:
    def scaled(spread: float, by: int) -> Callable[..., Any]:
        return lambda rng, size: np.ldexp(rng.normal(1.0, spread, size), by)

    plain, far = (
        cr.estimate(
            {"a": scaled(1.0, by), "b": scaled(0.3, by), "c": scaled(0.1, by)},
            draws=5000,
            rng=7,
            policy=policy,
        )
        for by in (0, power)
    )
    assert np.array_equal(far.history.arm, plain.history.arm)
    assert np.array_equal(far.history.size, plain.history.size)
    assert far.value == math.ldexp(plain.value, power)
    assert far.stderr == math.ldexp(plain.stderr, power)
    assert far.interval == tuple(math.ldexp(end, power) for end in plain.interval)


# -- tolerances


def test_a_tolerance_stops_the_run_once_the_interval_is_short_enough(arms: dict[str, Any]) -> None:
    for tolerance in ({"atol": 0.01}, {"rtol": 0.01}):
        result = cr.estimate(arms, draws=10**6, rng=7, **tolerance)
        low, high = result.interval
        assert result.stopped == "tolerance"
        assert (high - low) / 2 <= 0.0102
        assert result.draws < 20_000
        assert result.to_dict()["interval_kind"] == "many-looks"


def test_the_larger_of_two_tolerances_counts(arms: dict[str, Any]) -> None:
    loose = cr.estimate(arms, draws=10**6, rng=7, atol=0.02, rtol=1e-9)
    strict = cr.estimate(arms, draws=10**6, rng=7, atol=0.02)
    assert loose.draws == strict.draws


def test_a_tolerance_that_is_not_reached_still_widens_the_interval(arms: dict[str, Any]) -> None:
    plain = cr.estimate(arms, draws=2000, rng=7)
    judged = cr.estimate(arms, draws=2000, rng=7, atol=1e-9)
    assert judged.stopped == "draws"
    assert judged.value == plain.value
    assert judged.interval[0] < plain.interval[0] < plain.interval[1] < judged.interval[1]


def test_a_zero_tolerance_never_stops(arms: dict[str, Any]) -> None:
    assert cr.estimate(arms, draws=2000, rng=7, atol=0, rtol=0).stopped == "draws"


def test_every_component_must_meet_the_tolerance() -> None:
    def both(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal([1.0, 1.0], [0.01, 1.0], (size, 2))

    result = cr.estimate({"both": both}, draws=10**6, rng=7, atol=0.02)
    assert result.stopped == "tolerance"
    # The second component alone needs (1.96/0.02)^2 = 9604 draws, if its deviation is known.
    assert 9_200 < result.draws < 10_500


def test_batches_that_are_out_when_the_run_stops_still_count(arms: dict[str, Any]) -> None:
    seen = []

    def fifth(progress: cr.Progress) -> bool:
        seen.append(progress)
        return progress.tickets == 5

    result = cr.estimate(arms, draws=10**6, width=8, rng=7, callback=fifth)
    # Stopped after ticket 4; tickets 5 to 11 were out by then, ticket 12 was not.
    assert result.stopped == "callback"
    assert result.history.ticket.tolist() == list(range(12))
    assert len(seen) == 12


# -- callbacks


@pytest.mark.parametrize("width", [1, 8])
def test_the_callback_sees_progress_after_every_ticket(width: int, arms: dict[str, Any]) -> None:
    seen: list[cr.Progress] = []
    result = cr.estimate(arms, draws=2000, rng=7, width=width, callback=seen.append)
    history = result.history
    assert [progress.tickets for progress in seen] == list(range(1, len(history) + 1))
    assert [progress.draws for progress in seen] == history.draws.tolist()
    assert [progress.cost for progress in seen] == history.cost.tolist()
    assert all(isinstance(progress, cr.Progress) for progress in seen)
    seconds = [progress.seconds for progress in seen]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] <= result.seconds
    last = seen[-1]
    assert (last.value, last.stderr) == (result.value, result.stderr)
    assert last.value + last.half_width == result.interval[1]
    assert last.leader == "fine"
    # What was not looked at then is still what it was then.
    middle = len(seen) // 2
    assert seen[middle].value == history.at(history.cost[middle])


def test_before_the_first_outcome_there_is_what_was_known_before() -> None:
    result = cr.estimate({"a": lambda rng, n: rng.random(n)}, draws=10, rng=7)
    assert math.isnan(result.history.at(0.5))
    assert result.history.at(0.5, default=2) == 2.0
    assert result.history.at(10, default=2) == result.value
    pairs = cr.estimate({"a": lambda rng, n: rng.random((n, 2))}, draws=10, rng=7)
    assert pairs.history.at(0.5, default=[1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(cr.PlanError, match="default must be a number, or 2 of them, got"):
        pairs.history.at(0.5, default=[1, 2, 3])
    logs = cr.estimate({"a": lambda rng, n: rng.normal(size=n)}, draws=10, log=True, rng=7)
    assert (logs.history.at(0.5, 3), logs.history.log_at(0.5, 3)) == (3.0, 3.0)


@pytest.mark.parametrize("true", [True, np.True_, np.bool_(1)])
def test_a_callback_that_returns_true_stops_the_run(true: Any, arms: dict[str, Any]) -> None:
    result = cr.estimate(arms, draws=10**6, rng=7, callback=lambda progress: true)
    assert result.stopped == "callback"
    assert len(result.history) == 1


@pytest.mark.parametrize("other", [1, 1.0, "yes", [1], object(), np.ones(2), False, None])
def test_a_callback_that_returns_anything_else_does_not(other: Any, arms: dict[str, Any]) -> None:
    result = cr.estimate(arms, draws=500, rng=7, callback=lambda progress: other)
    assert result.stopped == "draws"


def test_an_error_in_the_callback_is_the_users_own(arms: dict[str, Any]) -> None:
    def broken(progress: cr.Progress) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        cr.estimate(arms, draws=500, callback=broken)


# -- interrupts


def interrupting(after: int) -> Callable[..., Any]:
    left = after

    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        nonlocal left
        if left < size:
            raise KeyboardInterrupt
        left -= size
        return rng.normal(1.0, 0.1, size)

    return arm


@pytest.mark.parametrize("width", [1, 8])
def test_an_interrupt_returns_what_is_known(width: int) -> None:
    arms = {"a": interrupting(200), "b": normal(1.0)}
    with pytest.warns(cr.CroupierWarning, match="interrupted"):
        result = cr.estimate(arms, draws=10**6, rng=7, width=width)
    assert result.stopped == "interrupted"
    assert "interrupted" in result.warnings[0]
    assert any("missing" in warning for warning in result.warnings)
    assert 100 < result.arms["a"].draws <= 200
    assert result.draws == sum(row.draws for row in result.arms) == result.history.draws[-1]
    assert abs(result.value - 1) < 5 * result.stderr
    assert "interrupted" in str(result)


def test_an_interrupt_before_any_draw_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        cr.estimate({"a": interrupting(0)}, draws=100, rng=7)


def test_an_interrupt_in_the_callback_counts_as_one(arms: dict[str, Any]) -> None:
    def tired(progress: cr.Progress) -> None:
        if progress.draws >= 100:
            raise KeyboardInterrupt

    with pytest.warns(cr.CroupierWarning, match="interrupted"):
        result = cr.estimate(arms, draws=10**6, rng=7, callback=tired)
    assert result.stopped == "interrupted"
    assert result.draws >= 100


def test_what_was_finished_before_an_interrupt_is_the_run_so_far(arms: dict[str, Any]) -> None:
    whole = cr.estimate({"a": normal(0.1), "b": normal(1.0)}, draws=1000, rng=7)
    part = cr.estimate({"a": interrupting(200), "b": normal(1.0)}, draws=1000, rng=7)
    assert part.value == whole.history.at(part.cost)


# -- warns, and runs


def test_rtol_of_a_value_that_may_be_zero_warns() -> None:
    with pytest.warns(cr.CroupierWarning, match=r"rtol=0\.001 is relative.*give atol= too"):
        result = cr.estimate({"a": normal(1.0, mean=0.0)}, draws=5000, rng=7, rtol=1e-3)
    assert result.stopped == "draws"
    assert any("may be zero" in warning for warning in result.warnings)


def test_rtol_with_atol_or_far_from_zero_does_not_warn(arms: dict[str, Any]) -> None:
    near = cr.estimate({"a": normal(1.0, mean=0.0)}, draws=5000, rng=7, rtol=1e-3, atol=1e-3)
    far = cr.estimate(arms, draws=5000, rng=7, rtol=1e-3)
    assert not [w for w in (*near.warnings, *far.warnings) if "may be zero" in w]


@pytest.mark.parametrize("budget", [{"draws": 1000}, {"cost": 1000}])
def test_a_tolerance_that_was_not_reached_is_said_with_the_budget_that_would_do(
    budget: dict[str, Any],
) -> None:
    def draw(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, 1.0, size), np.ones(size))

    with pytest.warns(cr.CroupierWarning, match="rtol=0.001 was not reached"):
        result = cr.estimate({"a": draw}, rtol=1e-3, rng=7, **budget)
    (said,) = result.warnings
    assert "half-width is 0.0" in said
    needed = float(said.rsplit("=", 1)[1])
    again = cr.estimate({"a": draw}, rtol=1e-3, rng=7, **dict.fromkeys(budget, 1.2 * needed))
    assert again.stopped == "tolerance"
    assert not again.warnings


def test_a_tolerance_that_was_reached_says_nothing() -> None:
    assert not cr.estimate({"a": normal(0.1)}, draws=10_000, rtol=0.01, rng=7).warnings


@pytest.mark.parametrize(
    ("draws", "match"),
    [(1, "1 draw for 3 arms: no arm was drawn twice"), (3, "3 draws for 3 arms"), (5, "5 draws")],
)
def test_a_budget_too_small_to_draw_each_arm_twice_warns(draws: int, match: str) -> None:
    arms = {"a": normal(1.0), "b": normal(0.5), "c": normal(0.1)}
    with pytest.warns(cr.CroupierWarning, match=match) as caught:
        result = cr.estimate(arms, draws=draws, rng=7)
    assert result.draws == draws
    said = " ".join(str(warning.message) for warning in caught)
    assert "nothing is known about the error" in said or "the error bar is not reliable" in said
    assert "budget" in said
    assert math.isfinite(result.value)


def test_a_single_draw_is_its_own_estimate_and_its_error_is_not_known() -> None:
    with pytest.warns(cr.CroupierWarning, match="1 draw for 1 arm"):
        result = cr.estimate({"a": lambda rng, size: np.full(size, 2.5)}, draws=1)
    assert result.value == 2.5
    assert math.isnan(result.stderr)
    assert result.interval == (-math.inf, math.inf)


@pytest.mark.parametrize("arms", [1, 3])
def test_when_no_arm_varies_the_error_is_not_known_and_no_tolerance_stops(arms: int) -> None:
    constant = {f"arm{k}": lambda rng, size: np.full(size, 2.5) for k in range(arms)}
    with pytest.warns(cr.CroupierWarning, match="no arm has varied, so nothing is known"):
        result = cr.estimate(constant, draws=1000, rng=7, atol=1.0)
    assert result.stopped == "draws"
    assert result.value == 2.5
    assert math.isnan(result.stderr)
    assert result.interval == (-math.inf, math.inf)
    assert "nan" not in str(result).splitlines()[0].lower() or "2.5" in str(result)


def test_an_arm_that_never_varied_beside_one_that_does_warns() -> None:
    arms = {"still": lambda rng, size: np.ones(size), "moving": normal(1.0)}
    with pytest.warns(cr.CroupierWarning, match="never varied: 'still'"):
        result = cr.estimate(arms, draws=1000, rng=7)
    assert math.isfinite(result.stderr)


def test_arms_that_disagree_warn() -> None:
    with pytest.warns(cr.CroupierWarning, match="the arms disagree .*biased"):
        result = cr.estimate(
            {"a": normal(1.0), "b": normal(1.0, mean=3.0)}, draws=5000, policy="uniform", rng=7
        )
    assert result.agreement < 1e-6


def test_an_arm_that_is_far_off_after_few_draws_is_mentioned() -> None:
    with pytest.warns(
        cr.CroupierWarning, match="far from the leading arm: 'bug'; there are too few draws"
    ):
        result = cr.estimate(
            {"ok": normal(1.0, mean=0.0), "bug": normal(0.1, mean=50.0)}, draws=1000, rng=7
        )
    assert result.agreement is None
    assert abs(result.value) < 4 * result.stderr


def test_a_healthy_run_warns_of_nothing(arms: dict[str, Any]) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cr.estimate(arms, draws=20_000, rng=7)
    assert result.warnings == ()


def test_a_warning_points_at_the_users_line() -> None:
    with pytest.warns(cr.CroupierWarning) as caught:
        cr.estimate({"a": normal(1.0)}, draws=1)
    assert all(warning.filename == __file__ for warning in caught)


# -- shapes of runs


@pytest.mark.parametrize("policy", ["auto", "variance-lcb", "uniform", "greedy"])
def test_a_run_of_one_arm_is_its_plain_mean(policy: str) -> None:
    result = cr.estimate({"only": normal(0.5)}, draws=3000, rng=7, policy=policy, keep_values=True)
    values = result.arms["only"].values
    assert result.value == pytest.approx(values.mean(), rel=1e-13)
    assert result.stderr == pytest.approx(values.std(ddof=1) / np.sqrt(3000), rel=1e-10)
    assert result.arms["only"].share == result.arms["only"].weight == 1.0
    assert result.agreement is None


@pytest.mark.parametrize("combine", ["guarded", "mean", "inverse-variance"])
def test_a_run_of_fifty_components(combine: str) -> None:
    means = np.linspace(-1.0, 5.0, 50) * 10.0 ** np.arange(-25, 25)
    spread = np.abs(means) + 1e-30

    def arm(factor: float) -> Callable[..., Any]:
        return lambda rng, size: rng.normal(means, factor * spread, (size, 50))

    result = cr.estimate({"a": arm(1.0), "b": arm(0.1)}, draws=5000, rng=7, combine=combine)
    assert result.value.shape == result.stderr.shape == result.interval[0].shape == (50,)
    assert result.arms["b"].draws > 4000
    assert (np.abs(result.value - means) < 5 * result.stderr).all()
    assert len(result.agreement) == 50
    for part in (result.arms["a"].mean, result.arms["a"].variance):
        assert part.shape == (50,)


@pytest.mark.parametrize("policy", sorted(set(cr.policies.REGISTRY) - {"fixed"}))
def test_a_component_that_never_varies_does_not_disturb_the_others(policy: str) -> None:
    def arm(spread: float) -> cr.Arm:
        draw = lambda rng, size: np.stack([rng.normal(1, spread, size), np.full(size, 3.0)], 1)  # noqa: E731
        return cr.Arm(draw, bounds=(-9, 11))

    example = cr.policies.REGISTRY[policy].example()
    with pytest.warns(cr.CroupierWarning, match="no arm has varied in component 1"):
        result = cr.estimate({"a": arm(1.0), "b": arm(0.1)}, draws=2000, rng=7, policy=example)
    assert result.value[1] == 3.0
    assert abs(result.value[0] - 1) < 5 * result.stderr[0]
    assert np.isnan(result.stderr[1])


def test_an_objective_says_which_component_the_allocation_is_for() -> None:
    arms = {
        "first": lambda rng, size: rng.normal(1.0, [0.1, 1.0], (size, 2)),
        "second": lambda rng, size: rng.normal(1.0, [1.0, 0.1], (size, 2)),
    }
    for objective, best in (((1, 0), "first"), ((0, 1), "second")):
        result = cr.estimate(arms, draws=4000, rng=7, objective=objective)
        assert result.arms[best].share > 0.9


def test_one_draw_at_a_time_is_the_papers_loop() -> None:
    arms = {"a": normal(1.0), "b": normal(0.5), "c": normal(0.1)}
    result = cr.estimate(arms, draws=900, rng=7, batch="one")
    assert (result.history.size == 1).all()
    assert len(result.history) == 900
    result = cr.estimate(arms, draws=900, rng=7, batch="one", policy="uniform")
    assert result.history.arm.tolist() == [0, 1, 2] * 300


@pytest.mark.parametrize("width", [2, 8])
def test_one_draw_at_a_time_is_round_robin_at_any_width(width: int) -> None:
    arms = {"a": normal(1.0), "b": normal(0.5), "c": normal(0.1)}
    result = cr.estimate(arms, draws=300, rng=7, batch="one", policy="uniform", width=width)
    assert result.history.arm.tolist() == [0, 1, 2] * 100


def test_batches_grow_by_a_quarter_a_round(arms: dict[str, Any]) -> None:
    history = cr.estimate(arms, draws=100_000, rng=7).history
    before = np.concatenate(([0.0], history.cost[:-1]))
    # One decision buys 1/32 of what was spent, and a batch stands for eight of them at most.
    assert (history.size <= np.maximum(1, 8 * before / 32)).all()
    assert history.size.max() > 1000


def test_no_decision_more_than_doubles_an_arm(arms: dict[str, Any]) -> None:
    history = cr.estimate(arms, draws=100_000, rng=7).history
    draws = np.concatenate(([0], history.draws[:-1]))
    for arm in range(2):
        mine = history.arm == arm
        sizes = history.size[mine]
        had = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        # The floor, half the root of what each arm would have, may be bought four times over.
        floor = 0.5 * np.sqrt(draws[mine] / 2)
        assert (sizes <= np.maximum(1, np.where(had < floor, 4 * floor, had))).all()


def test_the_first_draws_come_one_at_a_time_in_turn(arms: dict[str, Any]) -> None:
    history = cr.estimate(arms, draws=1000, rng=7).history
    assert history.size[:8].tolist() == [1] * 8
    assert history.arm[:8].tolist() == [0, 1] * 4
    scarce = cr.estimate(arms, draws=19, rng=7)
    assert scarce.plan.first == 2
    assert scarce.history.arm[:4].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("components", [None, 3])
def test_kept_values_are_the_draws_in_ticket_order(components: int | None) -> None:
    def arm(spread: float) -> Callable[..., Any]:
        shape = () if components is None else (components,)
        return lambda rng, size: rng.normal(1.0, spread, (size, *shape))

    arms = {"a": arm(1.0), "b": arm(0.1)}
    result = cr.estimate(arms, draws=3000, rng=7, keep_values=True)
    for index, row in enumerate(result.arms):
        assert len(row.values) == row.draws
        assert row.mean == pytest.approx(row.values.mean(axis=0), rel=1e-12)
        batches = zip(result.history.ticket, result.history.arm, result.history.size, strict=True)
        drawn = [
            arms[row.name](cr.Batch(int(ticket), row.name, int(size), seed=7).rng(), size)
            for ticket, k, size in batches
            if k == index
        ]
        assert np.array_equal(row.values, np.concatenate(drawn))


def test_values_are_kept_only_when_asked_for(arms: dict[str, Any]) -> None:
    assert cr.estimate(arms, draws=100, rng=7).arms["fine"].values is None


def test_kept_values_of_an_arm_that_was_never_drawn_are_empty() -> None:
    pair = {name: lambda rng, size: rng.random((size, 2)) for name in "ab"}
    fixed = cr.policies.Fixed("a")
    result = cr.estimate(pair, draws=50, rng=7, policy=fixed, keep_values=True)
    assert result.arms["b"].values.shape == (0, 2)


# -- time


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize(
    "arms",
    [
        {"a": (1.0, 1e-5, 5e-7)},
        {"a": (1.0, 1e-5, 5e-7), "b": (0.1, 1e-5, 1e-6)},
        {"a": (1.0, 1e-5, 3e-7), "b": (0.9, 1e-4, 1e-5), "c": (0.5, 0.0, 1e-3)},
        {"a": (1.0, 1e-3, 1e-5), "b": (0.1, 0.0, 0.01)},
        {"only": (1.0, 0.0, 2e-3)},
    ],
)
def test_the_deadline_is_met_within_five_per_cent(
    arms: dict[str, tuple[float, float, float]], width: int, clock: Clock
) -> None:
    timed = {name: clock.arm(*numbers) for name, numbers in arms.items()}
    result = cr.estimate(timed, seconds=2, rng=7, width=width)
    assert result.stopped == "seconds"
    assert result.unit == "seconds"
    assert result.seconds == pytest.approx(2, rel=0.05)
    assert result.cost <= result.seconds


@pytest.mark.parametrize("draw", [0.2, 0.7, 1.9])
def test_a_deadline_is_missed_by_at_most_one_long_draw(draw: float, clock: Clock) -> None:
    arms = {"a": clock.arm(1.0, 0.0, draw), "b": clock.arm(0.5, 0.0, draw)}
    result = cr.estimate(arms, seconds=3, rng=7)
    assert 3 - draw <= result.seconds <= 3 + draw


def test_a_draw_longer_than_the_budget_is_made_once_and_counts(clock: Clock) -> None:
    arms = {"a": clock.arm(1.0, 0.0, 50.0), "b": clock.arm(0.5, 0.0, 50.0)}
    result = cr.estimate(arms, seconds=3, rng=7)
    assert (result.draws, result.stopped) == (1, "seconds")


def test_time_goes_to_the_arm_that_is_most_precise_per_second(clock: Clock) -> None:
    arms = {"quick": clock.arm(1.0, 1e-5, 1e-6), "slow": clock.arm(0.5, 1e-5, 1e-4)}
    result = cr.estimate(arms, seconds=2, rng=7)
    assert result.arms["quick"].share > 0.8
    assert result.arms["quick"].efficiency == 1.0
    assert result.arms["slow"].cost_per_draw == pytest.approx(1e-4, rel=0.2)


def test_a_compiler_that_runs_in_the_first_call_does_not_put_an_arm_off(clock: Clock) -> None:
    compiled = False
    fast = clock.arm(0.1, 1e-5, 1e-6)

    def compiling(rng: np.random.Generator, size: int) -> np.ndarray:
        nonlocal compiled
        if not compiled:
            compiled, clock.now = True, clock.now + 0.3
        return fast(rng, size)

    arms = {"compiling": compiling, "other": clock.arm(1.0, 1e-5, 1e-6)}
    result = cr.estimate(arms, seconds=2, rng=7)
    assert result.arms["compiling"].draws > 10 * result.arms["other"].draws


@pytest.mark.parametrize(("seconds", "width"), [(3, 1), (1, 4)])
def test_a_run_of_slow_draws_ends_in_time(seconds: float, width: int, clock: Clock) -> None:
    arms = {"a": clock.arm(0.1, 0.0, 0.2), "b": clock.arm(0.1, 0.0, 0.2)}
    result = cr.estimate(arms, seconds=seconds, rng=7, width=width)
    assert seconds - 0.2 <= result.seconds <= seconds + 0.2
    assert result.stopped == "seconds"
    assert result.draws >= 2
    assert (result.history.size <= STEP).all()


@pytest.mark.parametrize("kind", ["wall", "cpu"])
def test_a_run_of_fast_draws_ends_in_time(kind: Any, clock: Clock) -> None:
    arms = {"a": clock.arm(1.0, 1e-5, 1e-5), "b": clock.arm(0.1, 1e-5, 1e-5)}
    result = cr.estimate(arms, seconds=0.3, rng=7, clock=kind)
    assert result.seconds == pytest.approx(0.3, rel=0.05)
    assert result.stopped == "seconds"
    assert result.draws > 100


def test_a_deadline_is_wall_time_also_when_costs_are_cpu_time(clock: Clock) -> None:
    arms = {"a": clock.sleepy(0.05), "b": clock.sleepy(0.05)}
    result = cr.estimate(arms, seconds=0.6, rng=7, clock="cpu")
    assert 0.55 <= result.seconds <= 0.65
    assert result.cost < 1e-3  # sleeping costs nothing


@pytest.mark.parametrize("kind", ["wall", "cpu"])
def test_a_deadline_is_one_of_the_machines_clock(kind: Any) -> None:
    def sleepy(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(0.01 * size)
        return rng.normal(1.0, 0.1, size)

    began = time.perf_counter()
    result = cr.estimate({"a": sleepy, "b": sleepy}, seconds=0.3, rng=7, clock=kind)
    # Whatever else the machine did: all that was slept is within the run, and the run within this.
    assert 0.01 * result.draws <= result.seconds <= time.perf_counter() - began
    assert result.cost > 0
    assert result.stopped == "seconds"


def test_a_callback_that_stops_makes_the_interval_allow_for_its_looks() -> None:
    arms = {"a": normal(1.0), "b": normal(2.0)}
    with pytest.warns(cr.CroupierWarning, match="a callback stopped the run"):
        stopped = cr.estimate(arms, draws=5000, callback=lambda p: p.draws > 2000, rng=7)
    assert stopped.to_dict()["interval_kind"] == "many-looks"
    watched = cr.estimate(arms, draws=5000, callback=lambda p: None, rng=7)
    assert watched.to_dict()["interval_kind"] == "fixed-size"


def test_an_arm_that_is_exact_in_one_component_does_not_lose_the_budget() -> None:
    """Antithetic draws of (x, e^x) are exact in the first component and best in the second."""

    def naive(rng: np.random.Generator, size: int) -> np.ndarray:
        x = rng.random(size)
        return np.stack([x, np.exp(x)], axis=1)

    def antithetic(rng: np.random.Generator, size: int) -> np.ndarray:
        x = rng.random(size)
        return np.stack([np.full(size, 0.5), (np.exp(x) + np.exp(1 - x)) / 2], axis=1)

    arms = {"naive": naive, "antithetic": antithetic}
    with pytest.warns(cr.CroupierWarning, match="never varied in component 0: 'antithetic'"):
        result = cr.estimate(arms, draws=20_000, rng=7)
    assert result.arms["antithetic"].share > 0.8


def test_a_budget_of_seconds_and_one_of_reported_cost_go_together(clock: Clock) -> None:
    def arm(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, 1.0, size), costs=2.0)

    arms = {name: clock.timed(arm, 1e-5, 1e-5) for name in ("a", "b")}
    result = cr.estimate(arms, seconds=3600, cost=5000, rng=7)
    assert (result.stopped, result.unit) == ("cost", "seconds")
    assert result.history.draws[-2] < 2500 <= result.draws  # over by the last batch at most


def test_a_budget_of_cost_beside_seconds_wants_arms_that_report_it() -> None:
    with pytest.raises(cr.PlanError, match="cost= is a budget, but no arm reports costs"):
        cr.estimate({"a": normal(1.0)}, seconds=3600, cost=100, rng=7)
