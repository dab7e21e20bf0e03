"""Engines: what crosses to a worker and back, and what is said where an engine is missing."""

from __future__ import annotations

import pickle
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import croupier as cr
from croupier.engines import choose_engine as executors
from croupier.engines import concurrent_futures as standard
from croupier.engines import dask, mpi, ray, remote
from croupier.engines.choose_engine import executors_of
from croupier.engines.packing import unpacked
from croupier.engines.perform import perform
from croupier.engines.remote import Failure, RunParts


def normal(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def broken(rng: np.random.Generator, size: int) -> np.ndarray:
    raise OSError("disk full")


KIT = RunParts(cr.Plan(names=("a", "b"), seed=7), {"a": cr.Arm(normal), "b": cr.Arm(broken)}, None)


@pytest.fixture(autouse=True)
def _no_kits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_PARTS", {})


def batch(ticket: int = 0, arm: str = "a") -> cr.Batch:
    return cr.Batch(ticket, arm, 5, 7)


def test_a_worker_asks_for_arms_that_it_does_not_know_and_keeps_them() -> None:
    asked, blob = pickle.dumps([batch()]), remote.dumps(KIT)
    assert remote.work("key", None, asked) is None
    first, again = (remote.work("key", one, asked) for one in (blob, None))
    one, other = (pickle.loads(packed) for (packed,) in (first, again))
    assert one.size == 5
    assert one.moments.tobytes() == other.moments.tobytes()


def test_a_worker_forgets_the_arms_of_long_ago() -> None:
    for run in range(20):
        remote.keep(f"run {run}", KIT)
    assert list(remote._PARTS) == [f"run {run}" for run in range(12, 20)]
    remote.forget("run 19")
    assert "run 19" not in remote._PARTS


def test_what_cannot_be_loaded_is_reported_and_not_raised() -> None:
    where, wrong = remote.greet("key", b"nonsense")
    assert where == remote.here()
    assert wrong is not None
    assert "UnpicklingError" in wrong
    assert "UnpicklingError" in str(remote.work("key", b"nonsense", b""))
    assert remote.greet("key", remote.dumps(KIT)) == (where, None)
    assert isinstance(remote.work("key", None, b"nonsense"), str)


def test_a_failure_is_plain_data_and_the_other_batches_of_a_task_are_kept() -> None:
    remote.keep("key", KIT)
    asked = [batch(0, "a"), batch(1, "b"), batch(2, "a")]
    came = [pickle.loads(packed) for packed in remote.work("key", None, pickle.dumps(asked))]
    assert [type(one) for one in came] == [cr.Outcome, Failure, cr.Outcome]
    error = came[1].error()
    assert str(error) == "arm 'b', ticket 1: raised OSError: disk full"
    assert (error.arm, error.ticket) == ("b", 1)
    assert "Traceback" in error.__notes__[0]


def wordy(rng: np.random.Generator, size: int) -> np.ndarray:
    raise ValueError("a line\n" * 10**6)


def test_a_long_text_of_an_error_is_cut_before_it_travels_or_is_shown() -> None:
    parts = RunParts(cr.Plan(names=("a",), seed=7), {"a": cr.Arm(wordy)}, None)
    remote.keep("key", parts)
    (packed,) = remote.work("key", None, pickle.dumps([batch()]))
    assert len(packed) < 20_000
    error = pickle.loads(packed).error()
    with pytest.raises(cr.ArmError) as serial:
        cr.estimate({"a": wordy}, draws=10, rng=7)
    assert str(serial.value) == str(error)
    assert str(error).startswith("arm 'a', ticket 0: raised ValueError: a line\na line")
    assert str(error).endswith("... (7,000,000 characters)")
    assert len(str(error)) < 1100


class Bomb:
    """An object that runs code in the process that loads it."""

    def __reduce__(self) -> Any:
        return sys.exit, (3,)


class Sums(NamedTuple):
    total: float


def outcome_with(extra: Any) -> bytes:
    arm = cr.Arm(lambda rng, size: cr.Draws(rng.random(size), extra=extra))
    outcome = perform(KIT.plan, arm, batch())
    outcome.extra = {"arm": [extra]}
    return remote.dumps(outcome)


@pytest.mark.parametrize("extra", [Bomb(), Sums(1.0), print, lambda: None, np.random.default_rng])
def test_what_an_arm_learned_runs_no_code_in_the_driver(extra: Any) -> None:
    came = unpacked(batch(), outcome_with(extra))
    assert isinstance(came, Failure)
    assert "is not plain data: return numbers, strings, lists" in came.message


@pytest.mark.parametrize(
    "extra",
    [
        {"a": [1, 2.5, None, "text", b"bytes", (True, 1j)], 3: {"b": {1, 2}}},
        np.arange(6.0).reshape(2, 3), np.float64(2.5), np.asfortranarray(np.ones((2, 3))),
        np.arange(5)[::2], np.array([1, 2], dtype=">i4"),
    ],
)  # fmt: skip
def test_plain_data_that_an_arm_learned_crosses_as_it_is(extra: Any) -> None:
    came = unpacked(batch(), outcome_with(extra))
    assert isinstance(came, cr.Outcome)
    (crossed,) = came.extra["arm"]
    assert type(crossed) is type(extra)
    assert np.array_equal(crossed, extra) if isinstance(extra, np.ndarray) else crossed == extra


@pytest.mark.parametrize(
    ("value", "crosses"),
    [(None, None), (2.5, 2.5), ("short", "short"), (True, True)],
)
def test_small_values_of_an_error_cross_as_they_are(value: Any, crosses: Any) -> None:
    assert remote._plain(value) is crosses or remote._plain(value) == crosses


def test_large_or_foreign_values_of_an_error_cross_as_a_description() -> None:
    assert len(remote._plain(np.zeros(10**6))) < 1000
    assert len(remote._plain("x" * 10**6)) < 1000
    assert "OSError" in remote._plain(OSError("disk full"))

    class Silent:
        def __repr__(self) -> str:
            raise ValueError("no words")

    assert isinstance(remote._plain(Silent()), str)


def test_an_interrupted_worker_is_no_fault_of_the_arm() -> None:
    def interrupted(rng: np.random.Generator, size: int) -> np.ndarray:
        raise KeyboardInterrupt

    remote.keep("key", RunParts(KIT.plan, {"a": cr.Arm(interrupted)}, None))
    (came,) = remote.perform_here("key", [batch()])
    assert isinstance(came, Failure)
    assert not came.fatal


def test_without_loky_or_ray_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "loky", None)
    with pytest.raises(cr.PlanError, match=r"workers=2 needs loky: pip install '\.\[par"):
        cr.estimate({"a": normal}, draws=10, workers=2)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(cr.PlanError, match=r"needs Ray: pip install '\.\[ray\]'"):
        ray.RayExecutor()


def test_without_cloudpickle_plain_functions_still_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert pickle.loads(remote.dumps(KIT)).plan == KIT.plan
    with pytest.raises((pickle.PicklingError, AttributeError)):
        remote.dumps(lambda: None)


def named(module: str, **attributes: Any) -> Any:
    return type("Executor", (), {"__module__": module, "submit": None, **attributes})()


def test_each_engine_knows_its_own_executors() -> None:
    client = type("Client", (), {"nthreads": lambda self: {"one": 2, "two": 3}})()
    cluster = named("distributed.cfexecutor", _client=client)
    message_passing = named("mpi4py.futures.pool", bootup=lambda self: None, num_workers=3)
    threads = named("concurrent.futures.thread", _max_workers=4)
    counts = {
        one.__module__: [count(one) for count in executors.COUNTS]
        for one in (cluster, message_passing, threads)
    }
    assert counts == {
        "distributed.cfexecutor": [5, None, None, None],
        "mpi4py.futures.pool": [None, None, 3, None],
        "concurrent.futures.thread": [None, None, None, 4],
    }
    assert set(executors.COUNTS) == {dask.count, ray.count, mpi.count, standard.count}
    assert executors_of(None, cluster).workers == 5
    assert executors_of(7, cluster).workers == 7
