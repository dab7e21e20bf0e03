"""Performing a batch: the same bits anywhere, and a clock around nothing but the arm's calls."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.engines import perform as workers
from croupier.engines.perform import Serial, perform

pytestmark = pytest.mark.filterwarnings("error")


def normal(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def batch_of(size: int, **changes: Any) -> cr.Batch:
    return cr.Batch(**{"ticket": 3, "arm": "a", "size": size, "seed": 7, **changes})


def plan_of(**changes: Any) -> cr.Plan:
    return cr.Plan(**{"names": ("a", "b"), "seed": 7, **changes})


def same(one: cr.Outcome, other: cr.Outcome) -> bool:
    arrays = ("origin", "exponent", "moments", "extremes")
    plain = ("ticket", "arm", "size", "scalar", "cost", "cost_m2", "inspected")
    return all(getattr(one, n).tobytes() == getattr(other, n).tobytes() for n in arrays) and all(
        getattr(one, n) == getattr(other, n) for n in plain
    )


@pytest.mark.parametrize("size", [1, 2, 1000, 25_000])
def test_a_ticket_gives_the_same_outcome_wherever_it_is_performed(size: int) -> None:
    first, second = (perform(plan_of(), cr.Arm(normal), batch_of(size)) for _ in range(2))
    assert same(first, second)
    other = perform(plan_of(), cr.Arm(normal), batch_of(size, ticket=4))
    assert not same(first, other)


def test_an_outcome_is_small_and_can_be_sent() -> None:
    outcome = perform(plan_of(), cr.Arm(normal), batch_of(200_000))
    text = pickle.dumps(outcome)
    assert len(text) < 4000
    assert same(pickle.loads(text), outcome)


def test_an_outcome_says_what_came_of_its_batch() -> None:
    outcome = perform(plan_of(), cr.Arm(normal), batch_of(25_000))
    rng, values = batch_of(1).rng(), []
    for size in (10_000, 10_000, 5000):
        values.append(rng.normal(1.0, 1.0, size))
    drawn = np.concatenate(values)
    unit = np.ldexp(1.0, outcome.exponent)
    assert (outcome.ticket, outcome.arm, outcome.size) == (3, "a", 25_000)
    assert outcome.origin[0] == drawn[0]
    assert outcome.origin + outcome.moments[0] * unit == pytest.approx(drawn.mean(), rel=1e-12)
    assert outcome.moments[1] * unit**2 == pytest.approx(drawn.var() * 25_000, rel=1e-12)
    assert outcome.values is None
    assert outcome.scalar
    assert outcome.cost == 25_000


def test_an_arm_is_called_chunk_by_chunk() -> None:
    sizes = []

    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        sizes.append(size)
        return rng.random((size, 4))

    perform(plan_of(), cr.Arm(arm), batch_of(1001, chunk=250))
    assert sizes == [250, 250, 250, 250, 1]


def test_values_are_kept_when_the_plan_says_so() -> None:
    outcome = perform(plan_of(keep_values=True), cr.Arm(normal), batch_of(30, chunk=7))
    assert outcome.values is not None
    assert outcome.values.shape == (30,)


def test_reported_costs_are_summed_with_their_spread() -> None:
    costs = np.arange(1.0, 11.0)
    arm = cr.Arm(lambda rng, size: cr.Draws(rng.random(size), costs[:size]))
    outcome = perform(plan_of(unit="cost"), arm, batch_of(10))
    assert outcome.cost == 55.0
    assert outcome.cost_m2 == pytest.approx(10 * costs.var())


class Clocks:
    """A wall clock that runs five times as fast as the processor's."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return 5 * self.now

    def process_time(self) -> float:
        return self.now


@pytest.mark.parametrize(("clock", "cost"), [("wall", 15.0), ("cpu", 3.0)])
def test_the_arms_calls_are_timed_by_the_clock_of_the_plan(
    clock: str, cost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks()
    monkeypatch.setattr(workers, "time", clocks)

    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        clocks.now += 1.0
        return rng.random(size)

    plan = plan_of(unit="seconds", clock=clock)
    outcome = perform(plan, cr.Arm(arm), batch_of(30, chunk=10))
    assert outcome.cost == pytest.approx(cost)
    assert outcome.seconds == pytest.approx(15.0)


def test_a_clock_that_stands_still_does_not_make_draws_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "time", Clocks())
    outcome = perform(plan_of(unit="seconds"), cr.Arm(normal), batch_of(30))
    assert outcome.cost > 0


def test_time_that_croupier_takes_itself_is_not_the_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks()
    monkeypatch.setattr(workers, "time", clocks)

    def digest(plan: cr.Plan, arm: int, draws: cr.Draws, rng: Any) -> Mapping[str, Any]:
        clocks.now += 1000.0
        return {}

    outcome = perform(plan_of(unit="seconds"), cr.Arm(normal), batch_of(30), digest)
    assert outcome.seconds < 1


def test_a_digest_sees_the_draws_and_its_own_randomness() -> None:
    def digest(
        plan: cr.Plan, arm: int, draws: cr.Draws, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        return {"arm": arm, "sum": float(np.sum(draws.values)), "toss": rng.random()}

    plan = plan_of(keep_values=True)
    first, second = (
        perform(plan, cr.Arm(normal), batch_of(50, arm="b", chunk=20), digest) for _ in range(2)
    )
    assert first.extra["policy"] == second.extra["policy"]
    assert first.extra["policy"]["arm"] == 1
    assert first.extra["policy"]["sum"] == pytest.approx(first.values.sum())
    assert first.extra["policy"]["toss"] != batch_of(1).rng().random()


def test_an_error_names_the_arm_and_the_ticket_and_keeps_the_cause() -> None:
    def broken(rng: np.random.Generator, size: int) -> np.ndarray:
        raise OSError("disk full")

    with pytest.raises(cr.ArmError, match=r"^arm 'a', ticket 3: raised OSError: disk full$") as e:
        perform(plan_of(), cr.Arm(broken), batch_of(5))
    assert isinstance(e.value.__cause__, OSError)


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    "error", [GeneratorExit(), asyncio.CancelledError(), SystemExit(3), SpeechlessError()]
)
def test_an_arm_may_raise_anything_and_is_named(error: BaseException) -> None:
    def broken(rng: np.random.Generator, size: int) -> np.ndarray:
        raise error

    with pytest.raises(cr.ArmError, match=f"^arm 'a', ticket 0: raised {type(error).__name__}"):
        cr.estimate({"a": broken}, draws=10)


def test_an_interrupt_in_an_arm_is_an_interrupt() -> None:
    def interrupted(rng: np.random.Generator, size: int) -> np.ndarray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(plan_of(), cr.Arm(interrupted), batch_of(5))


FORKS = """
import os, sys
import croupier as cr

def forks(rng, size):
    if not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        if os.fork() == 0 and sys.argv[2] == "raises":
            raise OSError("in the child")
    return rng.random(size)

print("played by", cr.estimate({"a": forks}, draws=100, rng=7).draws, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("child", ["returns", "raises"])
def test_a_fork_in_an_arm_does_not_play_the_run_twice(child: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKS, str(tmp_path / "forked"), child]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout == "played by 100\n"
    assert "arm 'a', ticket 0: it called os.fork" in run.stderr


def test_an_arm_that_plays_a_run_of_its_own_and_fails_is_named() -> None:
    def nested(rng: np.random.Generator, size: int) -> np.ndarray:
        inner = cr.estimate({"inner": lambda rng, size: None}, draws=10, rng=rng)
        return np.full(size, inner.value)

    with pytest.raises(cr.ArmError, match=r"^arm 'a', ticket 3: ") as caught:
        perform(plan_of(), cr.Arm(nested), batch_of(5))
    assert caught.value.arm == "a"


def test_a_serial_engine_performs_in_the_order_of_tickets_and_only_when_wanted() -> None:
    drawn = []

    def arm(name: str) -> cr.Arm:
        def draw(rng: np.random.Generator, size: int) -> np.ndarray:
            drawn.append(name)
            return rng.random(size)

        return cr.Arm(draw, name=name)

    engine = Serial(plan_of(), {"a": arm("a"), "b": arm("b")}, None)
    assert len(engine) == 0
    engine.submit(batch_of(1, ticket=0, arm="b"))
    engine.submit(batch_of(1, ticket=1, arm="a"))
    assert (len(engine), drawn) == (2, [])
    assert [engine.next().ticket for _ in range(2)] == [0, 1]
    assert drawn == ["b", "a"]
    assert len(engine) == 0
