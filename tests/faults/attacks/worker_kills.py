"""Workers that are killed, when they start and later: nothing is lost, and no run hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import psutil

import croupier as cr
from tests.conftest import bits_of
from tests.faults import test_workers as workers
from tests.faults.attacks import driver_kills
from tests.faults.forging import at_most

#: A run that takes longer than this hangs, in seconds.
PATIENCE = 180.0

#: The kills of one run.
EACH = 11

# The workers cannot import these files: what they define travels with the arms.
for module in (sys.modules[__name__], workers, driver_kills):
    cloudpickle.register_pickle_by_value(module)

RUN: dict[str, Any] = {"draws": 5000, "rng": 7, "width": 4, "policy": "uniform"}


def killed_while_they_start(folder: Path, tries: int, engine: str) -> Iterator[str]:
    """Kill workers in their first second, two for each run."""
    arms = {"a": workers.normal(1.0, 2e-4), "b": workers.normal(0.5, 2e-4)}
    whole = bits_of(cr.estimate({"a": workers.normal(1.0), "b": workers.normal(0.5)}, **RUN))
    rng, done = np.random.default_rng(7), 0
    while done < tries:
        kills = min(2, tries - done)
        with _newborn(engine, [float(s) for s in rng.random(kills)]) as (settings, killed):
            end = _ended(lambda: cr.estimate(arms, **RUN, **settings), whole)
        if not killed and end == "same":
            continue  # the run was over before its workers could be killed
        yield from [end] * min(len(killed) or 1, tries - done)
        done += len(killed) or 1


def killed_at_work(folder: Path, tries: int, engine: str) -> Iterator[str]:
    """Kill workers that draw, at random times, many in one run."""
    whole = bits_of(workers.undisturbed())
    done = 0
    while done < tries:
        kills = min(EACH, tries - done)
        place = folder / str(done)
        place.mkdir()
        with _cluster(engine) as (settings, victims):
            call = lambda: workers.killing(settings, kills, place, victims)  # noqa: B023, E731
            yield from [_ended(call, whole)] * kills
        done += kills


def _ended(call: Callable[[], cr.Result], whole: Any) -> str:
    try:
        with at_most(PATIENCE):
            return "same" if bits_of(call()) == whole else "other bits"
    except TimeoutError:
        return f"hung for {PATIENCE} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _cluster(engine: str) -> Iterator[tuple[dict[str, Any], Callable[[], list[int]]]]:
    """Return the settings of a run on an engine, and a function that finds its workers."""
    if engine == "loky":
        yield {"workers": 2}, lambda: workers.workers_by("popen_loky")
    elif engine == "pool":
        yield {"executor": workers.spawned}, lambda: workers.workers_by("spawn_main")
    else:
        with workers.cluster_of_dask() as (client, nodes):

            def victims() -> list[int]:
                nodes.fill()
                return [node.pid for node in nodes.running.values()]

            victims()
            yield {"executor": client.get_executor()}, victims


@contextlib.contextmanager
def _newborn(engine: str, seconds: list[float]) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Return the settings of a run whose new workers are killed after so many seconds each."""
    killed: list[int] = []
    over = threading.Event()
    with _unborn(engine) as (settings, born):

        def kill() -> None:
            seen: set[int] = set()
            for wait in seconds:
                while not (new := [pid for pid in born() if pid not in seen]):
                    if over.wait(0.002):
                        return
                seen.update(new)
                if over.wait(wait):
                    return
                with contextlib.suppress(ProcessLookupError):
                    os.kill(new[0], signal.SIGKILL)
                    killed.append(new[0])

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            yield settings, killed
        finally:
            over.set()
            killer.join()


@contextlib.contextmanager
def _unborn(engine: str) -> Iterator[tuple[dict[str, Any], Callable[[], list[int]]]]:
    """Return the settings of a run, and a function that finds the workers that it has so far."""
    if engine != "dask":
        settings: dict[str, Any] = {"workers": 2}
        if engine == "pool":
            settings = {"executor": workers.spawned, "workers": 2}
        yield settings, _children
        return
    with workers.cluster_of_dask() as (client, nodes):
        over = threading.Event()

        def replace() -> None:
            while not over.wait(0.05):
                nodes.start()

        keeper = threading.Thread(target=replace)
        keeper.start()
        try:
            settings = {"executor": client.get_executor(), "workers": 2}
            yield settings, lambda: [node.pid for node in list(nodes.running.values())]
        finally:
            over.set()
            keeper.join()


def _children() -> list[int]:
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            line = " ".join(child.cmdline())
            if "popen_loky" in line or "spawn_main" in line:
                found.append(child.pid)
    time.sleep(0.001)
    return found
