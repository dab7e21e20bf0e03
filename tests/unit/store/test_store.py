"""The store: what a run finds again when it goes on, what it refuses, what can be seen of it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import croupier as cr
from croupier.policies.bounded import Bandit
from croupier.store import connecting, database, log
from croupier.store.codec import NotPlainError, decoded, encoded
from croupier.store.lock import Lock, owner_of
from croupier.tables.base import restore
from tests.conftest import Clock

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

Bits = Callable[[cr.Result], Any]


class Learning:
    """An arm whose draws depend on how many of its batches were told before."""

    def start(self) -> int:
        return 0

    def draw(self, rng: np.random.Generator, size: int, state: int) -> cr.Draws:
        values = rng.normal(1.0, 1.0 / (1 + state), size)
        return cr.Draws(values, costs=1.0, extra={"calls": 1, "seen": values[:2]})

    def learn(self, state: int, extra: Any) -> int:
        assert extra["seen"].dtype == np.float64
        return state + extra["calls"]


def priced(spread: float, cost: float, shape: tuple[int, ...] = ()) -> Callable[..., Any]:
    def draw(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, spread, (size, *shape)), costs=cost + rng.random(size))

    return draw


def interrupted(arms: dict[str, Any], after: int) -> dict[str, Any]:
    """Return arms that are interrupted at one call, together counted."""
    calls = 0

    def wrap(arm: Any) -> Any:
        def once(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > after:
                raise KeyboardInterrupt
            return (arm.draw if hasattr(arm, "learn") else arm)(*arguments)

        if hasattr(arm, "learn"):
            twin = Learning()
            twin.draw = once  # type: ignore[method-assign]
            return twin
        return once

    return {name: wrap(arm) for name, arm in arms.items()}


def quick(path: Path) -> cr.Store:
    """Return a store that does not wait for the disk: most tests end no power supply."""
    return cr.Store(path, durability="normal")


def plain(result: cr.Result) -> dict[str, Any]:
    """Return all that a result says, but for the time that it took."""
    return {**result.to_dict(), "seconds": None}


def same(one: cr.Result, other: cr.Result, bits: Bits) -> bool:
    return bits(one) == bits(other) and plain(one) == plain(other)


SCALARS = {"a": priced(1.0, 1.0), "b": priced(0.2, 3.0), "c": priced(0.5, 1.0)}
VECTORS = {name: priced(s, 1.0, (3,)) for name, s in (("a", 1.0), ("b", 0.2))}


def policy(name: str) -> Any:
    if name == "fixed":
        return cr.policies.Fixed("b")
    chosen = cr.policies.REGISTRY[name].example()
    if isinstance(chosen, Bandit):
        return replace(chosen, bounds=(-9.0, 11.0), cost_bounds=(1.0, 4.0))
    return chosen


CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{
        name: (SCALARS, {"cost": 2_000, "policy": policy(name)})
        for name in sorted(cr.policies.REGISTRY)
    },
    "draws": (SCALARS, {"draws": 3000}),
    "one at a time": (SCALARS, {"draws": 300, "batch": "one"}),
    "vectors": (VECTORS, {"draws": 3000}),
    "kept values": (VECTORS, {"draws": 800, "keep_values": True}),
    "one learns": ({**SCALARS, "learner": Learning()}, {"draws": 3000}),
    "tolerance": (SCALARS, {"draws": 10**6, "rtol": 0.01}),
    "anytime": (SCALARS, {"draws": 10**6, "anytime": True, "rtol": 0.01}),
}

#: Of these the quick tests see everything. Of the others they see one batch at a time, and a
#: snapshot of a run that was interrupted: it is what holds the state of a policy.
MAIN = ("variance-thompson", "one at a time", "vectors", "one learns", "anytime")


def cases(*widths: int, quick: Callable[[str, int], bool]) -> pytest.MarkDecorator:
    """Return all calls with all widths; what is not `quick` is slow."""
    return pytest.mark.parametrize(
        ("arms", "call", "width"),
        [
            pytest.param(
                *CALLS[name],
                width,
                marks=[] if quick(name, width) else [pytest.mark.slow],
                id=f"{name}, width {width}",
            )
            for name in CALLS
            for width in widths
        ],
    )


# -- resume


@cases(1, 5, quick=lambda name, _: name in MAIN)
def test_a_run_that_was_interrupted_ends_as_if_nothing_had_happened(
    arms: Any, call: dict[str, Any], width: int, tmp_path: Path, bits: Bits
) -> None:
    whole = cr.estimate(arms, rng=7, width=width, **call)
    path = tmp_path / "run.db"
    for calls in (3, 12, 9):  # three times, the first one in the opening
        part = cr.estimate(interrupted(arms, calls), rng=7, width=width, store=quick(path), **call)
        assert part.stopped == "interrupted"
        assert cr.open_run(path).status.tickets == len(part.history)
    resumed = cr.estimate(arms, store=quick(path), **call)
    assert same(resumed, whole, bits)
    assert (resumed.seed, resumed.plan.width) == (7, width)


@cases(1, 5, quick=lambda name, width: width == 1 or name in MAIN)
def test_a_snapshot_is_a_replay_to_the_last_bit(
    arms: Any,
    call: dict[str, Any],
    width: int,
    tmp_path: Path,
    bits: Bits,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "_SNAPSHOT_EVERY", 10)
    whole = cr.estimate(arms, rng=7, width=width, **call)
    path = tmp_path / "run.db"
    for calls in (22, 3):
        cr.estimate(interrupted(arms, calls), rng=7, width=width, store=quick(path), **call)
    skipped: list[int] = []
    go_on = log.restored
    monkeypatch.setattr(log, "restored", lambda *a: skipped.append(go_on(*a)) or skipped[-1])
    resumed = cr.estimate(arms, store=quick(path), **call)
    assert same(resumed, whole, bits)
    assert skipped[0] >= 10
    assert same(cr.open_run(path).result(), whole, bits)


def test_a_finished_run_is_not_drawn_again(
    arms: dict[str, Any], tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    first = cr.estimate(arms, draws=5000, rng=7, store=quick(path))
    assert same(cr.estimate(interrupted(arms, 0), draws=5000, store=quick(path)), first, bits)
    assert cr.open_run(path).status.calls == 2


@pytest.mark.parametrize("width", [1, 5])
def test_a_smaller_budget_takes_no_draw_away(
    width: int, arms: dict[str, Any], tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    first = cr.estimate(arms, draws=5000, rng=7, width=width, store=quick(path))
    again = cr.estimate(interrupted(arms, 0), draws=100, store=quick(path))
    assert bits(again) == bits(first)


def test_a_larger_budget_goes_on_with_every_draw(arms: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = cr.estimate(
        arms, draws=5, rng=7, store=quick(path)
    )  # so few that the opening is shorter
    assert first.plan.first == 2
    more = cr.estimate(arms, draws=5000, store=quick(path))
    most = cr.estimate(arms, draws=50_000, rtol=1e-9, store=quick(path))
    assert (more.draws, most.draws, most.plan) == (5000, 50_000, first.plan)
    for before, after in ((first, more), (more, most)):
        told = len(before.history)
        assert np.array_equal(after.history.size[:told], before.history.size)
        assert np.array_equal(after.history.cost[:told], before.history.cost)


def test_a_tighter_tolerance_goes_on(arms: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    rough = cr.estimate(arms, draws=10**6, rtol=1e-2, rng=7, store=quick(path))
    fine = cr.estimate(arms, draws=10**6, rtol=1e-3, store=quick(path))
    assert rough.stopped == fine.stopped == "tolerance"
    assert rough.draws < fine.draws < 10**6
    low, high = fine.interval
    assert high - low <= 2e-3 * fine.value


def test_another_kind_of_interval_looks_at_all_that_was_told(
    arms: dict[str, Any], tmp_path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_SNAPSHOT_EVERY", 10)
    path = tmp_path / "run.db"
    cr.estimate(arms, draws=500, rng=7, batch="one", store=quick(path))
    anytime = cr.estimate(arms, draws=500, batch="one", anytime=True, store=quick(path))
    assert bits(anytime) == bits(cr.estimate(arms, draws=500, rng=7, batch="one", anytime=True))
    fixed = cr.estimate(arms, draws=500, batch="one", store=quick(path))
    assert bits(fixed) == bits(cr.estimate(arms, draws=500, rng=7, batch="one"))


def test_a_callback_sees_every_ticket_of_the_run_again(
    arms: dict[str, Any], tmp_path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_SNAPSHOT_EVERY", 10)
    path, seen = tmp_path / "run.db", list[int]()

    def enough(progress: cr.Progress) -> bool:
        seen.append(progress.tickets)
        return progress.draws > 300

    first = cr.estimate(arms, draws=5000, rng=7, store=quick(path), callback=enough)
    once = seen.copy()
    again = cr.estimate(arms, draws=5000, store=quick(path), callback=enough)
    assert first.stopped == "callback"
    assert seen == once * 2
    assert same(first, again, bits)
    assert same(cr.open_run(path).result(), first, bits)


def test_a_replay_of_measured_seconds_is_identical(
    tmp_path: Path, bits: Bits, clock: Clock
) -> None:
    path = tmp_path / "run.db"
    arms = {"a": clock.arm(1.0, 1e-5, 1e-5), "b": clock.arm(0.3, 1e-5, 1e-5)}
    first = cr.estimate(arms, seconds=0.3, rng=7, width=3, store=quick(path))
    assert first.seconds == pytest.approx(0.3, rel=0.05)
    clock.tick = 1e-3
    again = cr.estimate(interrupted(arms, 0), seconds=0.3, store=quick(path))
    assert same(again, first, bits)
    assert len(first.history) > 20  # and none of them looks at the clock again
    assert first.seconds <= again.seconds < first.seconds + 0.01  # a replay takes no time


def test_seconds_are_summed_over_resumes(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "run.db"
    arms = {"a": clock.arm(1.0, 1e-5, 1e-5), "b": clock.arm(0.3, 1e-5, 1e-5)}
    first = cr.estimate(arms, seconds=0.2, rng=7, store=quick(path))
    second = cr.estimate(arms, seconds=0.5, store=quick(path))
    assert first.stopped == second.stopped == "seconds"
    assert first.seconds == pytest.approx(0.2, rel=0.05)
    assert second.seconds == pytest.approx(0.5, rel=0.05)
    assert cr.open_run(path).status.seconds == second.seconds


@pytest.mark.parametrize("ticket", [0, 7, 28])
def test_a_gap_in_the_tickets_is_drawn_again(
    ticket: int, arms: dict[str, Any], tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    whole = cr.estimate(arms, draws=5000, rng=7, width=4)
    cr.estimate(interrupted(arms, 30), draws=5000, rng=7, width=4, store=quick(path))
    edit(path, f"DELETE FROM outcomes WHERE ticket = {ticket}")
    edit(path, f"DELETE FROM details WHERE ticket = {ticket}")
    run = cr.open_run(path)
    assert run.status.missing == (ticket,)
    assert run.result().draws == sum(run.history.size) == run.status.draws
    assert same(cr.estimate(arms, draws=5000, store=quick(path)), whole, bits)


def test_an_arm_that_fails_leaves_all_that_was_finished(
    arms: dict[str, Any], tmp_path: Path, bits: Bits
) -> None:
    path, calls = tmp_path / "run.db", 0

    def failing(rng: np.random.Generator, size: int) -> np.ndarray:
        nonlocal calls
        calls += 1
        return rng.normal(1.0, 0.1, size) if calls < 20 else np.full(size, np.nan)

    with pytest.raises(cr.ArmError, match="'fine'"):
        cr.estimate({**arms, "fine": failing}, draws=5000, rng=7, store=quick(path))
    status = cr.open_run(path).status
    assert status.tickets >= 20
    assert (status.stopped, status.running) == (None, False)
    mended = cr.estimate(arms, draws=5000, store=quick(path))
    assert same(mended, cr.estimate(arms, draws=5000, rng=7), bits)


def test_strata_have_a_store_too(arms: dict[str, Any], tmp_path: Path, bits: Bits) -> None:
    path = tmp_path / "run.db"
    whole = cr.stratify(arms, [0.5, 0.5], draws=3000, rng=7)
    cr.stratify(interrupted(arms, 20), [0.5, 0.5], draws=3000, rng=7, store=quick(path))
    assert same(cr.stratify(arms, [0.5, 0.5], draws=3000, store=quick(path)), whole, bits)
    assert same(cr.open_run(path).result(), whole, bits)


# -- another run is refused


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"rng": 8}, "seed: 7 -> 8"),
        ({"width": 3}, "width: 1 -> 3"),
        ({"policy": "uniform"}, r"policy: variance-thompson\(floor=0.5\) -> uniform\(\)"),
        ({"policy": cr.policies.VarianceThompson(0.1)}, r"\(floor=0.5\) -> .*\(floor=0.1\)"),
        ({"combine": "mean"}, "combine: 'guarded' -> 'mean'"),
        ({"confidence": 0.9}, "confidence: 0.95 -> 0.9"),
        ({"seconds": 3}, "unit: 'draws' -> 'seconds'"),
        ({"batch": "one"}, "batch: 'growing' -> 'one'"),
        ({"keep_values": True}, "keep_values: False -> True"),
        ({"objective": (1.0,)}, r"objective: None -> \[1.0\]"),
        ({"arms": ["a", "c"]}, "arms: 'a', 'b' -> 'a', 'c'"),
        ({"arms": ["a"]}, "arms: 'a', 'b' -> 'a'"),
        ({"version": "2"}, "version of arm 'b': '1' -> '2'"),
        ({"bounds": (0, 2)}, r"bounds of arm 'b': \[0.0, 1.0\] -> \[0.0, 2.0\]"),
        ({"learns": True}, "learns of arm 'b': False -> True"),
    ],
)
def test_another_run_is_refused_with_what_differs(
    changed: dict[str, Any], line: str, tmp_path: Path
) -> None:
    def call(**settings: Any) -> cr.Result:
        names = settings.pop("arms", ["a", "b"])
        version, bounds = settings.pop("version", "1"), settings.pop("bounds", (0, 1))
        draw: Any = Learning() if settings.pop("learns", False) else _uniform
        arms = [cr.Arm(_uniform, name=name) for name in names[:1]]
        arms += [cr.Arm(draw, name=n, version=version, bounds=bounds) for n in names[1:]]
        return cr.estimate(arms, **{"draws": 100, "rng": 7, "store": quick(path), **settings})

    path = tmp_path / "run.db"
    call()
    before = path.read_bytes()
    with pytest.raises(cr.StoreError, match=rf"holds another run \(stored -> now\):\n  .*{line}"):
        call(**changed)
    assert path.read_bytes() == before
    assert call(draws=200).draws == 200  # the budget is no part of the plan


def _uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def test_every_difference_is_shown(arms: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    cr.estimate(arms, draws=100, rng=7, store=quick(path))
    with pytest.raises(cr.StoreError) as caught:
        cr.estimate(arms, draws=100, rng=8, store=quick(path), confidence=0.5, policy="greedy")
    lines = str(caught.value).splitlines()
    assert str(path) in lines[0]
    assert [line.split(":")[0].strip() for line in lines[1:-1]] == ["seed", "policy", "confidence"]
    assert "another store=" in lines[-1]


@pytest.mark.parametrize("store", [3, b"run.db", "", None, 1.5, True])
def test_what_is_no_path_is_refused(store: Any, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"store must be a path or a cr\.Store"):
        cr.Store(store)
    if store is not None:
        with pytest.raises(cr.PlanError, match=r"store must be a path or a cr\.Store"):
            cr.estimate(arms, draws=10, store=store)


def test_durability_is_full_or_normal(tmp_path: Path, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match="durability must be one of 'full', 'normal'"):
        cr.Store("run.db", durability="none")  # type: ignore[arg-type]
    for durability in ("full", "normal"):
        store = cr.Store(tmp_path / f"{durability}.db", durability)
        assert cr.estimate(arms, draws=1000, rng=7, store=store).draws == 1000


def test_no_file_is_made_when_an_argument_is_refused(tmp_path: Path, arms: dict[str, Any]) -> None:
    for bad in ({"confidence": 2}, {"rtol": -1}, {"policy": cr.policies.Fixed("nope")}):
        with pytest.raises(cr.PlanError):
            cr.estimate(arms, draws=10, store=tmp_path / "run.db", **bad)
    assert not list(tmp_path.iterdir())


def test_only_the_store_is_left_when_a_run_has_ended(arms: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ein Lauf?#%.db"
    cr.estimate(arms, draws=100, rng=7, store=quick(path))
    cr.open_run(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_plain_run_loads_no_sqlite() -> None:
    code = (
        "import sys, croupier as cr\n"
        "cr.estimate({'a': lambda r, n: r.random(n)}, draws=100, rng=7)\n"
        "sys.exit('sqlite3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- where there is no write-ahead log


def test_without_a_write_ahead_log_all_goes_on_as_before(
    arms: dict[str, Any], tmp_path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, modes, write = connecting.uri_of, list[str](), database.Database.write
    # This way to lock files, for folders of old, knows no shared memory and so no such log.
    monkeypatch.setattr(connecting, "uri_of", lambda p, **o: uri(p, **o, vfs="unix-dotfile"))

    def spied(*arguments: Any) -> Any:
        opened = write(*arguments)
        modes.append(opened.mode)
        return opened

    monkeypatch.setattr(database.Database, "write", spied)
    path = tmp_path / "run.db"
    cr.estimate(interrupted(arms, 20), draws=5000, rng=7, store=quick(path))
    resumed = cr.estimate(arms, draws=5000, store=quick(path))
    assert modes == ["delete", "delete"]
    assert same(resumed, cr.estimate(arms, draws=5000, rng=7), bits)
    assert same(cr.open_run(path).result(), resumed, bits)


def test_a_store_is_kept_in_a_write_ahead_log(arms: dict[str, Any], tmp_path: Path) -> None:
    path, seen = tmp_path / "run.db", set[str]()
    cr.estimate(
        arms,
        draws=100,
        rng=7,
        store=quick(path),
        callback=lambda _: seen.update(os.listdir(tmp_path)),
    )
    assert "run.db-wal" in seen


# -- one writer


def test_a_second_writer_is_refused_and_told_who_writes(
    arms: dict[str, Any], tmp_path: Path
) -> None:
    path, said = tmp_path / "run.db", list[str]()

    def second(_: cr.Progress) -> None:
        if not said:
            with pytest.raises(cr.StoreError) as caught:
                cr.estimate(arms, draws=100, store=quick(path))
            said.append(str(caught.value))

    cr.estimate(arms, draws=100, rng=7, store=quick(path), callback=second)
    assert f"in use by pid {os.getpid()} on " in said[0]
    assert " since 20" in said[0]
    assert owner_of(path) is None


def test_only_one_of_many_threads_gets_the_lock(tmp_path: Path) -> None:
    path, got = tmp_path / "run.db", list[Lock]()

    def take() -> None:
        try:
            got.append(Lock(path).take())
        except cr.StoreError:
            return

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
    got[0].release()
    got[0].release()  # twice does no harm
    Lock(path).take().release()
    assert not list(tmp_path.iterdir())


def test_a_lock_file_that_nobody_holds_locks_nobody_out(
    arms: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    (tmp_path / "run.db-writer").write_text(json.dumps({"pid": 1, "host": "?", "since": "?"}))
    assert owner_of(path) is None
    assert cr.estimate(arms, draws=100, rng=7, store=quick(path)).draws == 100


# -- what can be seen of it


@cases(2, quick=lambda name, _: name in {*MAIN, "kept values", "tolerance"})
def test_a_run_is_seen_without_its_arms(
    arms: Any, call: dict[str, Any], width: int, tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    result = cr.estimate(arms, rng=7, width=width, store=quick(path), **call)
    run = cr.open_run(path)
    seen = run.result()
    assert same(seen, result, bits)
    assert seen.seconds == result.seconds
    assert repr(seen.confidence_interval(0.5)) == repr(result.confidence_interval(0.5))
    assert run.plan == result.plan
    assert np.array_equal(run.history.at(100.0), result.history.at(100.0), equal_nan=True)
    for row, mine in zip(result.arms, seen.arms, strict=True):
        assert np.array_equal(row.values, mine.values) if call.get("keep_values") else True
    status = run.status
    assert (status.tickets, status.draws) == (len(result.history), result.draws)
    assert status.cost == pytest.approx(result.cost, rel=1e-12)
    assert (status.stopped, status.running, status.calls) == (result.stopped, False, 1)
    assert f"finished: {result.stopped}" in str(status)
    assert "finished" in repr(run)


def test_a_run_is_seen_while_it_goes_on(arms: dict[str, Any], tmp_path: Path) -> None:
    path, seen = tmp_path / "run.db", list[Any]()

    def look(progress: cr.Progress) -> None:
        if progress.tickets == 20:
            seen.append((cr.open_run(path), progress.draws, progress.value))

    cr.estimate(arms, draws=5000, rng=7, store=quick(path), callback=look)
    ((run, draws, value),) = seen
    assert (run.status.draws, run.result().value) == (draws, value)
    assert run.status.owner["pid"] == os.getpid()
    assert run.status.running
    assert run.status.stopped is None
    assert run.result().stopped is None
    assert f"running: pid {os.getpid()}" in str(run.status)


def test_a_run_without_outcomes_has_a_status_and_no_result(
    arms: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(KeyboardInterrupt):
        cr.estimate(interrupted(arms, 0), draws=100, rng=7, store=quick(path))
    run = cr.open_run(path)
    assert (run.status.tickets, run.status.draws, run.status.arms) == (0, 0, ("rough", "fine"))
    assert "not finished" in str(run.status)
    with pytest.raises(cr.PlanError, match="no outcome yet"):
        run.result()
    assert cr.estimate(arms, draws=100, store=quick(path)).seed == 7


def third(ledger: Any) -> np.ndarray:
    return np.full(len(ledger), 1 / len(ledger))


def test_a_combiner_of_ones_own_is_given_again(arms: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = cr.estimate(arms, draws=1000, rng=7, combine=third, store=quick(path))
    with pytest.raises(cr.StoreError, match=r"combined by the function '.*third'.*combine="):
        cr.open_run(path)
    assert cr.open_run(path, combine=third).result().value == result.value


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(cr.StoreError, match=r"nope\.db does not exist"):
        cr.open_run(tmp_path / "nope.db")
    assert not list(tmp_path.iterdir())


# -- the log by itself, for ask and tell


def test_outcomes_are_kept_in_any_order_and_only_once(tmp_path: Path, bits: Bits) -> None:
    def table() -> cr.Allocator:
        return cr.Allocator(["a", "b"], rng=7, width=3)

    def perform(batch: cr.Batch) -> cr.Outcome:
        arm = cr.Arm(_uniform, name=batch.arm)
        return workers.perform(first.plan, arm, batch)

    from croupier.engines import perform as workers

    first, store = table(), cr.Store(tmp_path / "run.db")
    with log.Log(store) as kept:
        kept.begin(first)
        batches = [first.ask() for _ in range(3)]
        for batch in reversed(batches):
            outcome = perform(batch)
            kept.append(outcome, seconds=1.0)
            first.tell(outcome)
        with pytest.raises(cr.StoreError, match="already has an outcome of ticket 0"):
            kept.append(outcome)
        kept.append(*(perform(first.ask()) for _ in range(2)), seconds=2.5)
    again = table()
    with log.Log(store) as kept:
        kept.begin(again)
        assert kept.seconds == 2.5
        for ticket in range(5):
            found = kept.stored(ticket)
            assert found is not None
            restore(again, found[0])
        assert kept.stored(5) is None
        assert 5 not in kept
        assert 4 in kept
    assert again.result().draws == 5


# -- the codec


class Point(NamedTuple):
    x: float
    where: Any


@dataclass(frozen=True)
class Frozen:
    values: Any


numbers = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    hnp.arrays(st.sampled_from(["f8", "f4", "i8", "u1", "?", "c16"]), hnp.array_shapes(max_side=3)),
    st.floats().map(np.float64), st.integers(-9, 9).map(np.int64),
)  # fmt: skip
nested = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    ),
    max_leaves=8,
)


def alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    return bool(one == other)


@given(nested)
def test_plain_data_comes_back_to_the_last_bit(value: Any) -> None:
    assert alike(decoded(encoded(value)), value)


def test_the_order_of_memory_comes_back_too() -> None:
    values = np.asfortranarray(np.random.default_rng(7).random((30, 40)))
    back = decoded(encoded(values))
    assert back.flags.f_contiguous
    assert back.sum() == values.sum()
    back[0] = 1.0  # and it may be written to


def test_of_other_objects_only_the_likeness_is_held() -> None:
    start = (Point(0.5, Frozen(np.zeros(2))), Frozen(1))
    later = (Point(1.5, Frozen(np.ones(2))), start[1])
    back = decoded(encoded(later, start), start)
    assert back[1] is start[1]
    assert alike(list(back[0]), [1.5, back[0].where])
    assert isinstance(back[0].where, Frozen)
    assert alike(back[0].where.values, np.ones(2))
    with pytest.raises(ValueError, match="not what croupier writes"):
        decoded(encoded(later, start))


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), lambda: 1, Point(1.0, 2.0), np.array(["a"]), np.array([None]),
     np.zeros(2, "M8[s]"), {1.5: 1}, {(1,): 1}, [[{"deep": {3}}]], range(3), Frozen(1),
     np.longdouble(1), np.ma.zeros(3), np.zeros(2, [("a", "f8")])],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_not_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(NotPlainError):
        encoded(value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "1.5", "NaN", '{"f": 1}', '{"f": "zz"}', '{"a": []}', '{"a": ["<f8", "C", [2], ""]}',
     '{"a": ["O", "C", [1], "AAAAAAAAAAA="]}', '{"a": ["<f8", "C", [-1], ""]}', '{"like": null}',
     '{"d": [[[], 1]]}', '{"d": 3}', '{"x": 1}', '{"f": "0x1p1", "a": 1}', '{"b": "*"}',
     '{"a": ["<f8,<f8", "C", [1], "AAAAAAAAAAA="]}', '{"t": 3}', "[" * 100_000],
)  # fmt: skip
def test_what_croupier_does_not_write_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        decoded(text)


def test_an_extra_that_cannot_be_stored_names_its_arm(tmp_path: Path) -> None:
    class Odd(Learning):
        def draw(self, rng: np.random.Generator, size: int, state: int) -> cr.Draws:
            return cr.Draws(rng.random(size), extra={"seen": {1, 2}})

        def learn(self, state: int, extra: Any) -> int:
            return state

    with pytest.raises(cr.StoreError, match=r"arm 'odd', ticket 0: extra cannot be stored"):
        cr.estimate({"odd": Odd()}, draws=100, rng=7, store=tmp_path / "run.db")
    assert cr.estimate({"odd": Odd()}, draws=100, rng=7).draws == 100


def test_a_policy_that_json_cannot_hold_is_named(arms: dict[str, Any], tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Odd:
        name = "odd"
        parameter: Any = frozenset((1, 2))
        start = lambda self, plan: None  # noqa: E731
        choose = lambda self, state, ledger, pending, rng: 0  # noqa: E731
        learn = lambda self, state, ledger, arm, extra: None  # noqa: E731

    with pytest.raises(cr.StoreError, match="cannot store the plan"):
        cr.estimate(arms, draws=10, policy=Odd(), store=tmp_path / "run.db")
    assert not list(tmp_path.iterdir())


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
