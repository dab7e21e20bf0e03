"""Kill -9 a driver that asks and tells by hand: tickets are lost, and no bit changes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

RUN = """
import random

import croupier as cr
from croupier.engines.perform import perform

def rough(rng, size):
    return rng.normal(1.0, 1.0, size)

def fine(rng, size):
    return rng.normal(1.0, 0.1, size)

class Learner:
    def start(self):
        return 0.0

    def draw(self, rng, size, state):
        values = rng.normal(1.0, 0.5 / (1 + state), size)
        return cr.Draws(values, extra={"seen": values[:3], "calls": 1})

    def learn(self, state, extra):
        return state + 0.01 * extra["calls"] + 1e-3 * float(extra["seen"].sum())

ARMS = {"rough": rough, "fine": fine, "learner": Learner()}
DRAWS, WIDTH = 3000, 4

def table_of(store=None):
    return cr.Allocator(
        list(ARMS), rng=7, width=WIDTH, learners={"learner": ARMS["learner"]}, store=store
    )

def play(table, random=random.Random(3), loses=()):
    named = {name: cr.Arm(arm, name=name) for name, arm in ARMS.items()}
    batches = [table.ask_lost(batch.ticket) for batch in table.out]  # nobody draws them now
    while True:
        while len(table.out) < WIDTH:
            batch = table.ask(draws_left=DRAWS - table.progress().draws)
            if batch is None:
                break
            batches.append(batch)
        if not batches:
            return table.result()
        batch = batches.pop(random.randrange(len(batches)))  # answers come in any order
        if batch.ticket in loses:
            loses.discard(batch.ticket)
            batches.append(table.ask_lost(batch.ticket))
            continue
        table.tell(perform(table.plan, named[batch.arm], batch, table.digest))
"""

#: Ends itself by SIGKILL at the n-th time that it is in one of these places.
KILLED = """
import os, signal, sys
from croupier.running.table_log import TableLog
from croupier.store.log import Log

spot, left = sys.argv[2], int(sys.argv[3])

def deadly(function, *, after):
    def wrapped(*arguments, **more):
        global left
        left -= 1
        if not left and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        function(*arguments, **more)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    return wrapped

if spot == "asked":
    Log.note_out = deadly(Log.note_out, after=True)
elif spot == "not stored":
    Log.append = deadly(Log.append, after=False)
elif spot == "stored":
    Log.append = deadly(Log.append, after=True)

play(table_of(sys.argv[1]), random.Random(int(sys.argv[3])), {2, 9, 17})
"""


def run_of() -> Any:
    space: dict[str, Any] = {}
    exec(RUN, space)
    return SimpleNamespace(**space)


@pytest.mark.parametrize("spot", ["asked", "not stored", "stored"])
def test_a_killed_driver_continues_to_the_bits_of_a_run_that_was_not_killed(
    tmp_path: Path, spot: str, bits: Callable[[cr.Result], Any]
) -> None:
    run, store = run_of(), tmp_path / "run.db"
    whole = cr.estimate(run.ARMS, draws=run.DRAWS, rng=7, width=run.WIDTH)
    assert bits(run.play(run.table_of())) == bits(whole)
    for kills, after in enumerate((1, 7, 12, 30), start=1):
        driver = [sys.executable, "-c", RUN + KILLED, str(store), spot, str(after)]
        ended = subprocess.run(driver, capture_output=True, timeout=60)
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        status = cr.open_run(store).status
        assert (status.running, status.calls) == (False, kills)
    assert 0 < status.draws < run.DRAWS
    with run.table_of(store) as table:
        assert table.out  # what was out when the driver was killed
        assert bits(run.play(table, loses={table.tickets.asked + 1})) == bits(whole)
    assert bits(cr.open_run(store).result()) == bits(whole)
