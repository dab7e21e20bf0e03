"""Kill -9 the driver, again and again: nothing is lost, nothing counts twice, no bit changes."""

from __future__ import annotations

import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.store import lock

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

Bits = Callable[[cr.Result], Any]

#: What is killed: it says B before it commits an outcome, and E with the ticket when it is stored.
DRIVER = """
import os, sqlite3, sys, time
from croupier.store import log

class Slow(sqlite3.Connection):
    def execute(self, statement, *rest):
        if statement != "COMMIT":
            return super().execute(statement, *rest)
        os.write(1, b"B\\n")
        time.sleep(0.001)
        done = super().execute(statement, *rest)
        time.sleep(0.001)
        return done

connect, append = sqlite3.connect, log.Log.append
sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Slow)

def acknowledged(self, *outcomes, **rest):
    append(self, *outcomes, **rest)
    for outcome in outcomes:
        os.write(1, b"E %d\\n" % outcome.ticket)

log.Log.append = acknowledged
log._SNAPSHOT_EVERY = 25
"""

RUN = """
import croupier as cr

def rough(rng, size):
    return cr.Draws(rng.normal(1.0, 1.0, size), costs=1 + rng.random(size))

def fine(rng, size):
    return cr.Draws(rng.normal(1.0, 0.1, size), costs=2 + rng.random(size))

class Learner:
    def start(self):
        return 0.0

    def draw(self, rng, size, state):
        values = rng.normal(1.0, 0.5 / (1 + state), size)
        return cr.Draws(values, 1.5, {"seen": values[:3], "calls": 1})

    def learn(self, state, extra):
        return state + 0.01 * extra["calls"] + 1e-3 * float(extra["seen"].sum())

def run(seed, store=None):
    arms = {"rough": rough, "fine": fine, "learner": Learner()}
    settings = dict(cost=400, batch="one", width=3, rng=seed, progress=False)
    return cr.estimate(arms, **settings, store=store)
"""

FINISH = """
import sys, warnings
warnings.simplefilter("ignore")
run(int(sys.argv[1]), sys.argv[2])
print("finished", flush=True)
"""


def run(seed: int, store: Any = None) -> cr.Result:
    space: dict[str, Any] = {}
    exec(RUN, space)
    result = space["run"](seed, store)
    assert isinstance(result, cr.Result)
    return result


class Kill:
    """One start of the driver, and its end by force after so many outcomes and moments."""

    def __init__(self, seed: int, path: Path, rng: np.random.Generator) -> None:
        command = [sys.executable, "-c", DRIVER + RUN + FINISH, str(seed), str(path)]
        driver = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert driver.stdout is not None
        outcomes, said = int(rng.integers(1, 12)), b""
        early = rng.random() < 0.1  # while Python still starts, or the file is being made
        deadline = time.monotonic() + (0.6 * rng.random() if early else 60)
        while said.count(b"E") < outcomes and b"finished" not in said:
            wait = max(0.0, deadline - time.monotonic())
            if not select.select([driver.stdout], [], [], wait)[0]:
                break
            if not (more := os.read(driver.stdout.fileno(), 65536)):
                break
            said += more
        time.sleep(0.003 * rng.random())
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        said += driver.stdout.read()
        driver.stdout.close()
        lines = said.split(b"\n")[:-1]  # of a torn last line nothing is known
        self.finished = b"finished" in lines
        self.stored = {int(line[2:]) for line in lines if line.startswith(b"E ")}
        self.writing = said.endswith(b"B\n")


def tickets_in(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    tickets = [row[0] for row in connection.execute("SELECT ticket FROM outcomes ORDER BY 1")]
    assert tickets == [
        row[0] for row in connection.execute("SELECT ticket FROM details ORDER BY 1")
    ]
    connection.close()
    return tickets


@pytest.mark.parametrize(
    ("kills", "writing"),
    [(5, 1), pytest.param(100, 50, marks=pytest.mark.slow)],
)
def test_a_driver_that_is_killed_at_any_moment_loses_nothing(
    kills: int, writing: int, tmp_path: Path, bits: Bits
) -> None:
    rng = np.random.default_rng(7)
    killed = while_writing = seed = 0
    while killed < kills or while_writing < writing:
        seed += 1
        path, known = tmp_path / f"{seed}.db", set[int]()
        while killed < kills or while_writing < writing:
            kill = Kill(seed, path, rng)
            if kill.finished:
                break
            killed += 1
            while_writing += kill.writing
            known |= kill.stored
            if path.exists():
                tickets = tickets_in(path)
                assert tickets == list(range(len(tickets)))
                assert known <= set(tickets)  # whatever was acknowledged is there
        resumed, whole = run(seed, path), run(seed)
        assert tickets_in(path) == list(range(len(whole.history)))
        assert bits(resumed) == bits(whole)
        assert {**resumed.to_dict(), "seconds": 0} == {**whole.to_dict(), "seconds": 0}
        assert bits(cr.open_run(path).result()) == bits(whole)
    assert killed >= kills
    assert while_writing >= writing
    print(f"{killed} kills, {while_writing} of them while it wrote, {seed} runs")


HOLD = """
import sys, time
import numpy as np
import croupier as cr

def slow(rng, size):
    print("drawing", flush=True)
    time.sleep(3600)
    return rng.random(size)

cr.estimate({"slow": slow}, draws=10, rng=7, store=sys.argv[1])
"""


def test_a_second_writer_is_refused_within_two_seconds_and_told_the_pid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.db"
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert first.stdout is not None
    try:
        assert first.stdout.readline() == b"drawing\n"
        arms = {"slow": lambda rng, size: rng.random(size)}
        waits: list[float] = []
        monkeypatch.setattr(lock, "time", SimpleNamespace(sleep=waits.append))
        with pytest.raises(cr.StoreError, match=f"in use by pid {first.pid} on .* since 20"):
            cr.estimate(arms, draws=10, store=path)
        assert 0 < sum(waits) < 2
        status = cr.open_run(path).status  # to look is allowed
        assert status.owner is not None
        assert status.owner["pid"] == first.pid
    finally:
        first.kill()
        first.wait()
        first.stdout.close()
    assert cr.open_run(path).status.owner is None
    assert cr.estimate(arms, draws=10, store=path).draws == 10  # the dead hold no lock


FORKED = """
import os, sys, time
import croupier as cr

def forks(rng, size):
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep(3600)
        os._exit(0)
    time.sleep(3600)

cr.estimate({"forks": forks}, draws=10, rng=7, store=sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_outlives_the_driver_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    driver = subprocess.Popen([sys.executable, "-c", FORKED, str(path)], stdout=subprocess.PIPE)
    assert driver.stdout is not None
    child = int(driver.stdout.readline())
    try:
        driver.kill()
        driver.wait()
        arms = {"forks": lambda rng, size: rng.random(size)}
        assert cr.estimate(arms, draws=10, store=path).draws == 10
    finally:
        os.kill(child, signal.SIGKILL)
        driver.stdout.close()
