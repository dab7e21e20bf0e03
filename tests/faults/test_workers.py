"""Workers: the same bits on all of them, whoever dies; arms that go wrong are named."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import croupier as cr
from croupier.engines import broken_executors, choose_engine
from croupier.engines import executor_engine as pools
from croupier.engines.choose_engine import executors_of

cloudpickle = pytest.importorskip("cloudpickle")
pytest.importorskip("loky")

# Workers cannot import this file: what it defines must travel with the arms.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.usefixtures("no_orphans"),
]

Bits = Callable[[cr.Result], Any]


def normal(spread: float, seconds: float = 0.0) -> Callable[..., Any]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        if seconds:
            time.sleep(seconds * size)
        return rng.normal(1.0, spread, size)

    return draw


def spawned(workers: int = 2, **settings: Any) -> Executor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), **settings)


def forked() -> Executor:
    return ProcessPoolExecutor(2, mp_context=get_context("fork"))


class Nodes:
    """Two workers of a Dask cluster, each a process that is replaced when it has been killed."""

    def __init__(self, address: str, client: Any) -> None:
        module = "distributed.cli.dask_worker"
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
        self._command = [sys.executable, "-m", module, address, *options, "--name"]
        self._client, self._started = client, 0
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def fill(self) -> None:
        """Return once two workers are there, and the scheduler knows of nobody else."""
        self.start()
        until = time.monotonic() + 300
        while self._known() != set(self.running):
            assert time.monotonic() < until
            time.sleep(0.02)

    def start(self) -> None:
        """Start workers until there are two, and wait for none of them."""
        self.running = {n: node for n, node in self.running.items() if node.poll() is None}
        while len(self.running) < 2:
            self._started += 1
            name, quiet = f"node{self._started}", subprocess.DEVNULL
            command = [*self._command, name]
            self.running[name] = subprocess.Popen(command, stdout=quiet, stderr=quiet)

    def _known(self) -> set[str]:
        return {one["name"] for one in self._client.scheduler_info()["workers"].values()}

    def end(self) -> None:
        for node in self.running.values():
            node.kill()
            node.wait()


@contextlib.contextmanager
def cluster_of_dask() -> Iterator[tuple[Any, Nodes]]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        nodes = Nodes(cluster.scheduler_address, client)
        try:
            yield client, nodes
        finally:
            nodes.end()


@pytest.fixture(scope="module")
def dask() -> Iterator[tuple[Any, Nodes]]:
    with cluster_of_dask() as (client, nodes):
        yield client, nodes


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    here = os.pathsep.join(path for path in sys.path if path)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )
    yield ray
    ray.shutdown()


def engine(name: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the settings of `estimate` for an engine of that name."""
    if name == "dask":
        client, nodes = request.getfixturevalue("dask")
        nodes.fill()  # a test may have ended one
        return {"executor": client.get_executor()}
    if name == "ray":
        request.getfixturevalue("ray")
        from croupier.engines.ray import RayExecutor

        return {"executor": RayExecutor()}
    engines: dict[str, dict[str, Any]] = {
        "2 workers": {"workers": 2},
        "4 workers": {"workers": 4},
        "threads": {"executor": lambda: ThreadPoolExecutor(3)},
        "forked processes": {"executor": forked},
        "spawned processes": {"executor": spawned},
    }
    return engines[name]


#: Ray takes half a minute to start.
RAY = pytest.param("ray", marks=pytest.mark.slow)

ENGINES = ["2 workers", "threads", "forked processes", "spawned processes", RAY,
           *(pytest.param(name, marks=pytest.mark.slow) for name in ("4 workers", "dask"))
           ]  # fmt: skip


# -- the same bits


class Grid:
    """An arm that learns where the mass is; its state travels with every batch."""

    def start(self) -> float:
        return 1.0

    def draw(self, rng: np.random.Generator, size: int, state: float) -> cr.Draws:
        x = rng.normal(1.0, state, size)
        return cr.Draws(x, rng.exponential(1.0, size), extra=float(np.abs(x).mean()))

    def learn(self, state: float, extra: float) -> float:
        return 0.9 * state + 0.05 * extra


def dear(rng: np.random.Generator, size: int) -> cr.Draws:
    return cr.Draws(rng.normal(1.0, 0.5, size), rng.exponential(2.0, size))


def vectors(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal([1.0, 2.0, 3.0], 0.3, (size, 3))


def rough_vectors(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal([1.0, 2.0, 3.0], 2.0, (size, 3))


def bounded(spread: float) -> cr.Arm:
    return cr.Arm(lambda rng, n: 0.5 + spread * (rng.random(n) - 0.5), bounds=(0, 1))


RUNS: dict[str, dict[str, Any]] = {
    "draws": {"arms": {"a": normal(1.0), "b": normal(0.1)}, "draws": 30_000},
    "reported costs": {"arms": {"grid": Grid(), "dear": dear}, "cost": 3000},
    "vectors": {"arms": {"a": vectors, "b": rough_vectors}, "draws": 3000, "keep_values": True},
    "a digest": {"arms": {"a": bounded(1.0), "b": bounded(0.1)}, "draws": 3000, "policy": "ucb-v"},
    "a tolerance": {"arms": {"a": normal(1.0), "b": normal(0.3)}, "draws": 10**6, "atol": 0.01},
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_the_bits_of_a_serial_run(
    name: str, bits: Bits, request: pytest.FixtureRequest
) -> None:
    settings = engine(name, request)
    # Each run starts its own processes: a few of them are enough for the slow starters.
    for run in list(RUNS.values())[: 2 if name in ("4 workers", "spawned processes") else None]:
        serial = cr.estimate(**run, rng=7, width=5)
        parallel = cr.estimate(**run, rng=7, width=5, **settings)
        assert bits(parallel) == bits(serial)
        assert parallel.stopped == serial.stopped
        if serial.arms["a" if "a" in run["arms"] else "grid"].values is not None:
            assert all(
                np.array_equal(one.values, other.values)
                for one, other in zip(serial.arms, parallel.arms, strict=True)
            )


def test_the_result_depends_on_the_width_and_it_is_twice_the_workers(bits: Bits) -> None:
    run = RUNS["draws"]
    threads = [
        cr.estimate(**run, rng=7, executor=lambda n=n: ThreadPoolExecutor(n)) for n in (2, 3)
    ]
    assert [result.plan.width for result in threads] == [4, 6]
    assert bits(threads[0]) == bits(cr.estimate(**run, rng=7, width=4))
    assert bits(threads[0]) != bits(threads[1])
    assert cr.estimate(**run, rng=7).plan.width == 1


def test_strata_are_drawn_by_workers_too(bits: Bits) -> None:
    run: dict[str, Any] = {"strata": {"a": normal(1.0), "b": normal(0.1)}, "weights": [0.5, 0.5],
                           "draws": 1000, "rng": 7, "width": 4}  # fmt: skip
    threads = cr.stratify(**run, executor=lambda: ThreadPoolExecutor(2))
    assert bits(threads) == bits(cr.stratify(**run))


def test_with_measured_seconds_every_batch_that_was_started_counts() -> None:
    arms = {"a": normal(1.0, seconds=1e-3), "b": normal(0.1, seconds=1e-3)}
    result = cr.estimate(arms, seconds=1.0, rng=7, workers=2)
    assert result.stopped == "seconds"
    assert result.draws == sum(row.draws for row in result.arms)
    assert not any("missing" in warning for warning in result.warnings)
    assert result.history.ticket[-1] + 1 == len(result.history.ticket)


class Shaky(Executor):
    """Performs calls in threads, loses some before and some after they were made, or twice."""

    def __init__(self, seed: int, losses: float, workers: int) -> None:
        self._random = random.Random(seed)
        self._losses, self._lost = losses, Counter[int]()
        self._pool = ThreadPoolExecutor(workers)
        self._max_workers = workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        chance, pause = self._random.random(), self._random.random() * 2e-3
        tickets = [] if fn.__name__ == "greet" else [batch.ticket for batch in args[1]]
        # A third loss of one ticket would be an error, as it should be.
        lose = chance < self._losses or not self._lost  # the first is always lost
        lose = lose and bool(tickets) and self._lost.total() < 30
        lose = lose and all(self._lost[ticket] < 2 for ticket in tickets)
        self._lost.update(tickets if lose else [])

        def call() -> Any:
            time.sleep(pause)
            result = fn(*args, **kwargs)
            if lose:
                raise ConnectionError("the node is gone")
            return fn(*args, **kwargs) if chance > 0.9 else result

        return self._pool.submit(call)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 6), width=st.sampled_from([1, 3, 8]))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_lost_repeated_and_late_tasks_change_nothing(seed: int, workers: int, width: int) -> None:
    from tests.conftest import bits_of

    arms = {"a": normal(1.0), "b": normal(0.3)}
    serial = cr.estimate(arms, draws=400, rng=seed, width=width)
    shaky = Shaky(seed, 0.3, workers)
    parallel = cr.estimate(arms, draws=400, rng=seed, width=width, executor=shaky)
    shaky.shutdown()
    assert shaky._lost.total() > 0
    assert bits_of(parallel) == bits_of(serial)


# -- workers that die


def traced(spread: float, folder: Path) -> Callable[..., Any]:
    """Return an arm that leaves the number of the process that drew it."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        (folder / str(os.getpid())).touch()
        time.sleep(2e-4 * size)
        return rng.normal(1.0, spread, size)

    return draw


def killing(
    settings: dict[str, Any], times: int, folder: Path, victims: Callable[[], list[int]]
) -> cr.Result:
    """Run with a random worker, one that has drawn, killed after every so many tickets."""
    chance, left = random.Random(7), times

    def kill(progress: cr.Progress) -> None:
        nonlocal left
        # Not the same ticket again and again: three deaths of one are an error.
        if not left or progress.tickets % 10:
            return
        # Nor one that is only just starting: workers that die unused are an error too.
        if used := [pid for pid in victims() if (folder / str(pid)).exists()]:
            left -= 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(used), signal.SIGKILL)

    arms = {"a": traced(1.0, folder), "b": traced(0.5, folder)}
    result = cr.estimate(
        arms, draws=20_000, rng=7, width=4, callback=kill, policy="uniform", **settings
    )
    assert left == 0
    return result


def undisturbed() -> cr.Result:
    arms = {"a": normal(1.0), "b": normal(0.5)}
    return cr.estimate(
        arms, draws=20_000, rng=7, width=4, callback=lambda _: None, policy="uniform"
    )


def workers_by(command: str) -> list[int]:
    """Return the workers that were started by such a command, and live."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if command in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_processes_change_nothing(times: int, tmp_path: Path, bits: Bits) -> None:
    result = killing({"workers": 2}, times, tmp_path, lambda: workers_by("popen_loky"))
    assert bits(result) == bits(undisturbed())


@pytest.mark.slow
@pytest.mark.parametrize("times", [2, 20])
def test_killed_workers_of_dask_change_nothing(times: int, tmp_path: Path, bits: Bits) -> None:
    with cluster_of_dask() as (client, nodes):

        def victims() -> list[int]:
            nodes.fill()
            return [node.pid for node in nodes.running.values()]

        victims()
        result = killing({"executor": client.get_executor()}, times, tmp_path, victims)
    assert bits(result) == bits(undisturbed())


@pytest.mark.slow
def test_killed_processes_of_a_shared_pool_change_nothing(tmp_path: Path, bits: Bits) -> None:
    result = killing({"executor": spawned}, 2, tmp_path, lambda: workers_by("spawn_main"))
    assert bits(result) == bits(undisturbed())


def deadly(log: Path, ticket: int) -> Callable[..., Any]:
    """Return an arm that kills its worker at one ticket, and leaves a line each time."""
    first = cr.Batch(ticket, "a", 1, 7).rng().random()

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        drawn = rng.random(size)
        if drawn[0] == first:
            with log.open("a") as file:
                file.write("x\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return drawn

    return draw


@pytest.mark.parametrize("name", ["2 workers", "spawned processes", RAY])
def test_a_batch_that_always_kills_its_worker_is_named_after_three_tries(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    log, told = tmp_path / "log", []
    arms = {"a": deadly(log, 12), "b": lambda rng, size: rng.random(size)}
    with pytest.raises(cr.ArmError, match=r"^arm 'a', ticket 12: its worker died 3 times") as e:
        cr.estimate(
            arms, draws=10**5, rng=7, width=4, policy="uniform",
            callback=lambda progress: told.append(progress.tickets), **engine(name, request),
        )  # fmt: skip
    assert (e.value.arm, e.value.ticket) == ("a", 12)
    assert log.read_text() == "x\n" * 3
    assert told[-1] >= 9  # what was finished before it counts


@pytest.mark.slow
def test_a_batch_that_kills_the_workers_of_dask_is_named(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    log = tmp_path / "log"
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        with pytest.raises(cr.ArmError, match=r"^arm 'a', ticket 4: its worker died 3 times"):
            cr.estimate({"a": deadly(log, 4)}, draws=1000, rng=7, executor=client.get_executor())
        assert log.read_text() == "x\n" * 3


def test_an_executor_that_cannot_be_made_again_says_how(tmp_path: Path) -> None:
    arms = {"a": deadly(tmp_path / "log", 4)}
    with spawned() as pool, pytest.raises(cr.PlanError, match=r"broke .* executor=lambda: Process"):
        cr.estimate(arms, draws=1000, rng=7, executor=pool)


def test_workers_that_die_before_they_begin_are_no_arms_fault() -> None:
    stillborn = partial(spawned, 1, initializer=os._exit, initargs=(1,))
    with pytest.raises(cr.PlanError, match=r"the workers cannot work.*BrokenProcessPool"):
        cr.estimate({"a": normal(1.0)}, draws=100, executor=stillborn)


@contextlib.contextmanager
def killing_the_newborn(deaths: int, seconds: float) -> Iterator[list[int]]:
    """Kill so many workers, each so many seconds after it was first seen."""
    old, over = {child.pid for child in psutil.Process().children()}, threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < deaths and not over.is_set():
            for child in psutil.Process().children():
                with contextlib.suppress(psutil.Error):
                    if child.pid in old or "resource_tracker" in " ".join(child.cmdline()):
                        continue
                    old.add(child.pid)
                    time.sleep(seconds)
                    child.kill()
                    killed.append(child.pid)
                    break

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


@pytest.mark.parametrize(
    "seconds", [0.1, *(pytest.param(when, marks=pytest.mark.slow) for when in (0.0, 0.3))]
)
@pytest.mark.parametrize("name", ["2 workers", "forked processes", "spawned processes"])
def test_a_worker_that_is_killed_while_it_starts_changes_nothing(
    name: str, seconds: float, bits: Bits, request: pytest.FixtureRequest
) -> None:
    arms = {"a": normal(1.0, 2e-4), "b": normal(0.5, 2e-4)}
    run: dict[str, Any] = {"draws": 5000, "rng": 7, "width": 4, "policy": "uniform"}
    serial = cr.estimate({"a": normal(1.0), "b": normal(0.5)}, **run)
    with killing_the_newborn(2, seconds) as killed:
        result = cr.estimate(arms, **run, **engine(name, request))
    assert killed
    assert bits(result) == bits(serial)


def test_an_executor_that_loses_its_first_calls_is_asked_again(bits: Bits) -> None:
    class Forgetful(ThreadPoolExecutor):
        def __init__(self, losses: int) -> None:
            super().__init__(2)
            self.losses = losses

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.losses -= 1
            if self.losses < 0:
                return super().submit(fn, *args, **kwargs)
            lost: Future[Any] = Future()
            if self.losses == 1:
                lost.cancel()
            else:
                lost.set_exception(ConnectionError("the node is gone"))
            return lost

    run: dict[str, Any] = {"arms": {"a": normal(1.0)}, "draws": 500, "rng": 7, "width": 4}
    with Forgetful(3) as once:
        assert bits(cr.estimate(**run, executor=once)) == bits(cr.estimate(**run))
    with (
        Forgetful(10**6) as always,
        pytest.raises(cr.PlanError, match=r"4 times they were lost .*the node is gone"),
    ):
        cr.estimate(**run, executor=always)


@contextlib.contextmanager
def cluster_with_nannies() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_client_of_dask_that_is_restarted_during_a_run_changes_nothing(bits: Bits) -> None:
    arms = {"a": normal(1.0, 1e-3)}
    run: dict[str, Any] = {"draws": 2000, "rng": 7, "width": 4}
    restarts: list[threading.Thread] = []
    with cluster_with_nannies() as client:

        def restart(progress: cr.Progress) -> None:
            if progress.tickets == 20:
                restarts.append(threading.Thread(target=client.restart))
                restarts[0].start()

        result = cr.estimate(arms, **run, callback=restart, executor=client.get_executor())
        restarts[0].join()
    assert bits(result) == bits(
        cr.estimate({"a": normal(1.0)}, **run, callback=lambda progress: None)
    )


@pytest.mark.slow
def test_a_client_of_dask_that_is_closed_during_a_run_is_named() -> None:
    with cluster_with_nannies() as client:

        def close(progress: cr.Progress) -> None:
            if progress.tickets == 20:
                client.close()

        with pytest.raises(cr.PlanError, match=r"broke while tickets 2.*Dask.*: Client\("):
            cr.estimate(
                {"a": normal(1.0, 1e-3)}, draws=10**5, rng=7, width=4, callback=close,
                executor=client.get_executor(),
            )  # fmt: skip


@pytest.mark.slow
def test_workers_that_are_recycled_get_the_arms_again(bits: Bits) -> None:
    run = RUNS["draws"]
    often = partial(spawned, 1, max_tasks_per_child=5)
    parallel = cr.estimate(**run, rng=7, width=2, executor=often)
    assert bits(parallel) == bits(cr.estimate(**run, rng=7, width=2))


class Counted:
    """An arm that leaves a line wherever it is unpickled."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(1.0, 1.0, size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with self.log.open("a") as file:
            file.write("x\n")


@pytest.mark.parametrize("name", ["2 workers", "spawned processes", "dask"])
def test_arms_are_shipped_once_to_every_worker(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    log = tmp_path / "log"
    settings = engine(name, request)
    result = cr.estimate({"a": Counted(log), "b": normal(1.0)}, draws=10_000, rng=7, **settings)
    assert len(result.history.ticket) > 100
    assert 1 <= len(log.read_text().split()) <= 2


def test_short_batches_travel_together_and_long_ones_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    send = pools.Pool._send

    def spy(self: Any, connection: Any, batches: Any, *more: Any) -> None:
        sent.append(len(batches))
        send(self, connection, batches, *more)

    monkeypatch.setattr(pools.Pool, "_send", spy)
    arms = {"a": normal(1.0), "b": normal(0.5)}
    cr.estimate(arms, draws=2000, rng=7, width=16, workers=2)
    assert max(sent) > 4
    sent.clear()
    seconds = 1.2 * pools._WORTH * pools._LONGEST_TRIP  # long enough, whatever a trip took
    slow = {"a": normal(1.0, seconds), "b": normal(0.5, seconds)}
    cr.estimate(slow, draws=60, rng=7, width=8, batch="one", executor=lambda: ThreadPoolExecutor(8))
    assert set(sent) == {1}


def test_batches_that_travel_together_leave_no_worker_without_work() -> None:
    arms = {"a": cr.Arm(normal(1.0), name="a")}
    with ThreadPoolExecutor(2) as threads:
        pool = pools.Pool(cr.Plan(names=("a",), seed=7), arms, None, executors_of(None, threads))
        pool._trip, pool._worth = 5e-3, 50e-3
        sent: dict[float, list[int]] = {}
        for seconds in (1e-4, 10e-3, 40e-3, 1.0):
            pool._pace["a"] = seconds
            pool._waiting.extend(cr.Batch(ticket, "a", 1, 7) for ticket in range(4))
            sent[seconds] = []
            while pool._waiting:
                sent[seconds].append(len(pool._for_one_task()))
        pool.close()
    assert sent == {1e-4: [4], 10e-3: [2, 1, 1], 40e-3: [2, 1, 1], 1.0: [1, 1, 1, 1]}


# -- arms that go wrong


class UnpicklableError(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not me")


class ExplosiveError(Exception):
    """An exception that breaks whoever unpickles it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)


class Secretive(Grid):
    """An arm that learns from what cannot be sent."""

    def draw(self, rng: np.random.Generator, size: int, state: float) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, 1.0, size), extra=threading.Lock())


class CarelessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def raising(error: Callable[[], BaseException]) -> Callable[..., Any]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        raise error()

    return draw


def returning(value: Callable[[int], Any]) -> Callable[..., Any]:
    return lambda rng, size: value(size)


BAD: dict[str, tuple[Any, str]] = {
    "sys.exit": (lambda rng, size: sys.exit(3), "raised SystemExit: 3"),
    "raises": (raising(lambda: OSError("disk full")), "raised OSError: disk full"),
    "cannot be pickled": (raising(lambda: UnpicklableError("oh")), "raised UnpicklableError: oh"),
    "cannot be unpickled": (raising(lambda: ExplosiveError("oh", 3)), "raised ExplosiveError: oh"),
    "has no words": (
        raising(CarelessError),
        "raised CarelessError: <CarelessError without a text>",
    ),
    "NaN": (returning(lambda size: np.full(size, np.nan)), "nan"),
    "None": (returning(lambda size: None), "returned None"),
    "a lock": (returning(lambda size: [threading.Lock()] * size), "values of type object"),
    "learns from a lock": (Secretive(), "cannot be sent back to the run"),
    "1 GB": (returning(lambda size: np.zeros(2**27)), "returned too many, 134217728"),
    "too few": (returning(lambda size: np.ones(size - 1)), "returned too few"),
}


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[(name, bad) for name in ("2 workers", "dask") for bad in BAD],
        *[
            pytest.param("ray", bad, marks=pytest.mark.slow)
            for bad in ("sys.exit", "cannot be unpickled", "1 GB")
        ],
    ],
)
def test_an_arm_that_goes_wrong_is_named(
    name: str, bad: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ticket 3 goes wrong too, and may do so first.
    monkeypatch.setattr(pools, "_LAST_WAIT", 300.0)
    arm, message = BAD[bad]
    settings = engine(name, request)
    with pytest.raises(cr.ArmError, match=re.escape(message)) as caught:
        cr.estimate({"good": normal(1.0), "bad": arm}, draws=1000, rng=7, **settings)
    assert caught.value.arm == "bad"
    assert caught.value.ticket == 1
    assert len(repr(caught.value.value)) < 2000
    if bad == "raises":
        assert "on its worker" in caught.value.__notes__[0]
        assert "disk full" in caught.value.__notes__[0]


def test_what_an_arm_learned_comes_back_or_is_refused_in_threads_too() -> None:
    with pytest.raises(cr.ArmError, match="raised SystemExit"):
        cr.estimate({"bad": BAD["sys.exit"][0]}, draws=10, executor=lambda: ThreadPoolExecutor(2))


def test_an_executor_of_ones_own_is_as_good_as_before_after_an_error() -> None:
    with ThreadPoolExecutor(2) as threads, spawned() as processes:
        for pool in (threads, processes):
            with pytest.raises(cr.ArmError, match="disk full"):
                cr.estimate({"bad": BAD["raises"][0]}, draws=10, executor=pool)
            good = cr.estimate({"good": normal(1.0)}, draws=100, rng=7, executor=pool)
            assert good.draws == 100


@pytest.mark.parametrize("name", ["2 workers", "spawned processes", "dask"])
def test_an_arm_that_cannot_be_shipped_is_refused_before_anything_is_drawn(
    name: str, request: pytest.FixtureRequest
) -> None:
    lock, drawn = threading.Lock(), []

    def guarded(rng: np.random.Generator, size: int) -> np.ndarray:
        with lock:
            return rng.random(size)

    def watched(progress: cr.Progress) -> None:
        drawn.append(progress.draws)

    arms = {"a": normal(1.0), "guarded": guarded}
    settings = engine(name, request)
    with pytest.raises(cr.PlanError, match="arm 'guarded' cannot be sent to another process"):
        cr.estimate(arms, draws=100, callback=watched, **settings)
    assert drawn == []
    assert cr.estimate(arms, draws=100, executor=lambda: ThreadPoolExecutor(2)).draws == 100


class Homesick:
    """An arm that can be loaded in the process that made it only."""

    def __init__(self) -> None:
        self.home = os.getpid()

    def __call__(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random(size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if os.getpid() != state["home"]:
            raise ModuleNotFoundError("No module named 'home'")
        self.__dict__.update(state)


@pytest.mark.parametrize("name", ["2 workers", "spawned processes", "dask"])
def test_an_arm_that_cannot_be_loaded_is_refused_before_anything_is_drawn(
    name: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(
        cr.PlanError, match=r"cannot be loaded on a worker .*No module named 'home'"
    ):
        cr.estimate({"a": Homesick()}, draws=100, **engine(name, request))


# -- arms that leave something behind


@pytest.mark.parametrize(
    "name",
    [
        "serial",
        "threads",
        "2 workers",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("forked processes", "spawned processes")
        ),
    ],
)
def test_a_run_returns_although_an_arm_has_started_a_thread_that_stays(
    name: str, bits: Bits, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    over = tmp_path / "over"

    def stay() -> None:
        while not over.exists():
            time.sleep(0.05)

    def threaded(rng: np.random.Generator, size: int) -> np.ndarray:
        if not any(thread.name == "stays" for thread in threading.enumerate()):
            threading.Thread(target=stay, name="stays", daemon=False).start()
        return rng.random(size)

    run: dict[str, Any] = {"draws": 200, "rng": 7, "width": 4}
    where = {} if name == "serial" else engine(name, request)
    result = cr.estimate({"a": threaded}, **run, **where)
    over.touch()
    assert bits(result) == bits(cr.estimate({"a": lambda rng, size: rng.random(size)}, **run))


def test_the_processes_of_a_pool_that_the_run_made_end_with_an_interrupted_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = cr.Batch(5, "a", 1, 7).rng().random()

    def endless(rng: np.random.Generator, size: int) -> np.ndarray:
        drawn = rng.random(size)
        time.sleep(3600 if drawn[0] == first else 0)
        return drawn

    def tired(progress: cr.Progress) -> None:
        if progress.tickets == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("croupier.running.loop.GRACE", 0.5)
    run: dict[str, Any] = {"draws": 10**5, "rng": 7, "width": 4, "batch": 1, "callback": tired}
    result = cr.estimate({"a": endless}, **run, executor=spawned)
    assert result.stopped == "interrupted"  # and the fixture finds no process


# -- arms that hang


def hanging(rng: np.random.Generator, size: int) -> np.ndarray:
    if rng.random() < 0.2:
        while True:
            time.sleep(10)
    return rng.random(size)


def stubborn(rng: np.random.Generator, size: int) -> np.ndarray:
    """Never return, and never let go of the interpreter either."""
    re.match(r"(a+)+$", "a" * 60 + "b")
    return rng.random(size)


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        ("2 workers", hanging), ("2 workers", stubborn), ("spawned processes", hanging),
        ("dask", hanging),
        pytest.param("ray", hanging, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_an_arm_that_hangs_is_named_in_time(
    name: str, arm: Any, request: pytest.FixtureRequest
) -> None:
    settings = engine(name, request)
    bad = cr.Arm(arm, timeout=1)
    began = time.monotonic()
    with pytest.raises(cr.ArmError, match=r"^arm 'bad', ticket \d+: .* its timeout of 1 s"):
        cr.estimate({"good": normal(1.0), "bad": bad}, draws=1000, rng=7, **settings)
    assert time.monotonic() - began < 120  # on any machine, and the arm never ends
    if name == "dask":
        request.getfixturevalue("dask")[1].end()  # some are about to end themselves


def stopped(rng: np.random.Generator, size: int) -> np.ndarray:
    """Be stopped by somebody, as by Ctrl-Z or a debugger."""
    os.kill(os.getpid(), signal.SIGSTOP)
    return rng.random(size)


@pytest.mark.parametrize("arm", [stubborn, stopped])
@pytest.mark.parametrize("instance", [False, True])
def test_a_shared_pool_that_cannot_watch_the_time_is_ended(
    instance: bool, arm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "SILENCE", 0.5)
    bad = cr.Arm(arm, name="bad", timeout=0.3)
    with (
        forked() if instance else contextlib.nullcontext(forked) as pool,
        pytest.raises(cr.ArmError, match=r"^arm 'bad', ticket 0: .* timeout of 0.3 s.*stopped, or"),
    ):
        cr.estimate([bad], draws=1000, rng=7, executor=pool)  # and the fixture finds no process


def test_an_arm_in_time_is_left_alone(bits: Bits) -> None:
    run: dict[str, Any] = {"draws": 2000, "rng": 7, "width": 4}
    patient = {"a": cr.Arm(normal(1.0), timeout=60), "b": cr.Arm(normal(0.1), timeout=60)}
    plain = {"a": normal(1.0), "b": normal(0.1)}
    assert bits(cr.estimate(patient, workers=2, **run)) == bits(cr.estimate(plain, **run))
    assert bits(cr.estimate(patient, executor=spawned, **run)) == bits(cr.estimate(plain, **run))


def test_a_timeout_needs_processes() -> None:
    arm = cr.Arm(normal(1.0), name="a", timeout=1)
    with pytest.raises(cr.PlanError, match=r"arm 'a' has a timeout.*give workers=1 or more"):
        cr.estimate([arm], draws=10)
    with pytest.raises(cr.PlanError, match="arm 'a' has a timeout, but a thread cannot be ended"):
        cr.estimate([arm], draws=10, executor=lambda: ThreadPoolExecutor(1))
    with pytest.raises(cr.PlanError, match="timeout must be a finite number above 0, got 0"):
        cr.Arm(normal(1.0), timeout=0)


# -- interrupts


def sleepy(ticket: int) -> Callable[..., Any]:
    """Return an arm that takes minutes at one ticket, else just too long to travel together."""
    first = cr.Batch(ticket, "a", 1, 7).rng().random()

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        drawn = rng.random(size)
        time.sleep(300 if drawn[0] == first else 0.1)
        return drawn

    return draw


class Patience:
    """A clock for the driver that stands still until it has these tickets, then runs away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *wanted: int) -> None:
        self._now, self._wanted, settle = 0.0, set(wanted), pools.Pool._settle

        def settled(pool: pools.Pool, future: Future[Any]) -> None:
            settle(pool, future)
            self._wanted -= set(pool._done)

        monkeypatch.setattr(pools.Pool, "_settle", settled)
        monkeypatch.setattr(pools, "time", self)

    def perf_counter(self) -> float:
        self._now += 0.0 if self._wanted else 1000.0
        return self._now


# Four workers for a width of four: whatever was asked for is being drawn.
def test_an_interrupt_waits_a_little_and_returns_what_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tired(progress: cr.Progress) -> None:
        if progress.tickets == 15:
            raise KeyboardInterrupt

    Patience(monkeypatch, 15, 17)
    with pytest.warns(cr.CroupierWarning, match="the draws of ticket 16 are missing"):
        result = cr.estimate(
            {"a": sleepy(16)}, draws=1000, rng=7, width=4, callback=tired, workers=4
        )
    assert result.stopped == "interrupted"
    assert "interrupted" in result.warnings[0]
    assert result.history.ticket.tolist() == [*range(16), 17]  # what was out, and finished


def test_a_second_interrupt_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    rest, rested = pools.Pool.rest, []

    def tired(progress: cr.Progress) -> None:
        if progress.tickets == 10:
            raise KeyboardInterrupt

    def resting(pool: pools.Pool, seconds: float) -> Iterator[cr.Outcome]:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        yield from rest(pool, seconds)
        rested.append(seconds)

    monkeypatch.setattr("croupier.running.loop.GRACE", 3600.0)
    monkeypatch.setattr(pools.Pool, "rest", resting)
    with pytest.raises(KeyboardInterrupt):
        cr.estimate({"a": sleepy(11)}, draws=1000, rng=7, width=4, callback=tired, workers=4)
    assert not rested


SCRIPT = """
import time, croupier as cr
def slow(rng, size):
    time.sleep(1e-3 * size)
    return rng.random(size)
if __name__ == "__main__":
    tell = lambda progress: print("told", progress.tickets, flush=True)
    result = cr.estimate({"a": slow}, draws=10**6, rng=7, workers=2, callback=tell)
    print("stopped:", result.stopped, result.draws, flush=True)
"""


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_interrupted_or_killed_leaves_no_workers(blow: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script)], stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None
    while run.stdout.readline() != "told 50\n":
        assert run.poll() is None
    workers = [one.pid for one in psutil.Process(run.pid).children(recursive=True)]
    assert len(workers) >= 2
    if blow == signal.SIGINT:  # as at a terminal: to the whole group
        os.killpg(run.pid, blow)
        out, _ = run.communicate(timeout=120)
        assert "stopped: interrupted" in out
    else:
        run.kill()
        run.communicate(timeout=120)
    until = time.monotonic() + 60
    while any(map(psutil.pid_exists, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [pid for pid in workers if psutil.pid_exists(pid)]


# -- what is refused


class Client:
    """What a client of Dask looks like: it has submit, but its futures are its own."""

    submit = get_executor = None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"executor": 3}, "executor must be an executor, or a function that makes one, got 3"),
        ({"executor": lambda: 3}, "which returns 3"),
        (
            {"executor": Client()},
            "is not an executor, but it has one: give executor=client.get_executor",
        ),
        ({"executor": lambda n: 3}, "executor must be an executor, or a function"),
    ],
)
def test_what_cannot_perform_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.estimate({"a": normal(1.0)}, draws=10, **settings)


def test_an_executor_that_hides_its_size_needs_one() -> None:
    class Plain(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    arms = {"a": normal(1.0)}
    with pytest.raises(cr.PlanError, match=r"the number of workers of .* is not known"):
        cr.estimate(arms, draws=100, executor=Plain())
    assert cr.estimate(arms, draws=100, rng=7, executor=Plain(), workers=3).plan.width == 6
    assert cr.estimate(arms, draws=100, rng=7, executor=Plain, width=3).plan.width == 3


class Job:
    """What submitit returns: it can be asked and waited for, but it calls nobody."""

    def __repr__(self) -> str:
        return "SlurmJob<job_id=3>"


def test_an_executor_with_futures_of_its_own_is_refused() -> None:
    class AutoExecutor:
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Job:
            return Job()

    executor: Any = AutoExecutor()
    for one in (executor, AutoExecutor):
        with pytest.raises(cr.PlanError, match=r"SlurmJob<job_id=3>, which is not a future.*Dask"):
            cr.estimate({"a": normal(1.0)}, draws=100, executor=one, workers=2)


class Away:
    """The executor of a Dask client that has been closed."""

    __module__ = "distributed.cfexecutor"
    _client = SimpleNamespace(status="closed", nthreads=lambda: {"node": 2})
    _kwargs: dict[str, Any] = {}  # noqa: RUF012
    _shutdown, submit = False, None


def test_a_dask_client_that_is_gone_says_how_to_make_another() -> None:
    away: Any = Away()
    with pytest.raises(cr.PlanError, match=r"executor=lambda: Client\(address\)\.get_executor\(\)"):
        cr.estimate({"a": normal(1.0)}, draws=100, executor=away)


def test_more_batches_are_out_where_a_trip_takes_longer() -> None:
    away: Any = Away()
    assert [executors_of(None, one).ahead for one in (away, Away, ThreadPoolExecutor)] == [4, 4, 2]


def test_an_engine_that_has_lost_its_workers_is_named_and_waited_for(
    bits: Bits, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Cluster(Executor):
        """Loses its workers at the twentieth call, and gets them back when they were missed."""

        def __init__(self) -> None:
            self.calls, self.missed, self.kept = 0, False, deque[Any]()

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.calls += 1
            self.kept.append((future := Future[Any](), partial(fn, *args, **kwargs)))
            if self.calls < 20 or self.missed:
                self.work()
            return future

        def work(self) -> None:
            while self.kept:
                future, call = self.kept.popleft()
                future.set_result(call())

        def count(self) -> int:
            if not self.kept:
                return 2
            self.missed = True
            self.work()
            return 0

    monkeypatch.setattr(choose_engine, "COUNTS", (Cluster.count,))
    monkeypatch.setattr(pools, "PATIENCE", 0.01)
    monkeypatch.setattr(broken_executors, "SILENCE", 0.0)
    run: dict[str, Any] = {"draws": 500, "rng": 7, "width": 4}
    with pytest.warns(cr.CroupierWarning, match=r"Cluster has no workers: .* Ctrl-C") as said:
        result = cr.estimate({"a": normal(1.0)}, executor=Cluster(), **run)
    assert len([one for one in said if "no workers" in str(one.message)]) == 1
    assert "Cluster has no workers" in caplog.text
    assert bits(result) == bits(cr.estimate({"a": normal(1.0)}, **run))


def test_an_executor_that_was_shut_down_is_refused() -> None:
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    with pytest.raises(cr.PlanError, match="the executor is still open"):
        cr.estimate({"a": normal(1.0)}, draws=100, executor=pool)


def test_the_engines_say_how_many_workers_they_have() -> None:
    assert executors_of(3, None).workers == 3
    assert executors_of(None, ThreadPoolExecutor).restarts
    assert not executors_of(None, ThreadPoolExecutor(2)).own
