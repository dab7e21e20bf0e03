"""Workers and a store together: the same bits, and nothing that came back is lost."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.usefixtures("no_orphans"),
]

Bits = Callable[[cr.Result], Any]


def rough(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def uneven(rng: np.random.Generator, size: int) -> np.ndarray:
    values = rng.normal(1.0, 0.3, size)
    time.sleep(0.02 * rng.random())  # after the draws: outcomes arrive in another order
    return values


ARMS = {"rough": rough, "uneven": uneven}


@pytest.mark.slow
def test_a_stored_run_on_workers_is_the_serial_run(tmp_path: Path, bits: Bits) -> None:
    path = tmp_path / "run.db"
    serial = cr.estimate(ARMS, draws=20_000, rng=7, width=4)
    first = cr.estimate(ARMS, draws=3_000, rng=7, workers=2, store=path)
    assert first.draws == 3_000
    on = cr.estimate(ARMS, draws=20_000, workers=2, store=path)
    uncut = cr.estimate(ARMS, draws=3_000, rng=7, width=4)
    assert bits(first) == bits(uncut)
    again = cr.estimate(ARMS, draws=20_000, store=path)  # nobody works: it is all there
    assert bits(on) == bits(again)
    assert bits(cr.open_run(path).result()) == bits(again)
    assert on.seed == serial.seed


def tickets(path: Path) -> list[int]:
    """Return the tickets in a file, also those that wait for an older one."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as file:
        return [ticket for (ticket,) in file.execute("SELECT ticket FROM outcomes")]


def test_what_arrives_before_its_turn_is_stored_at_once(tmp_path: Path) -> None:
    path, gate = tmp_path / "run.db", tmp_path / "gate"

    def slow(rng: np.random.Generator, size: int) -> np.ndarray:
        while not gate.exists():
            time.sleep(0.01)
        return rng.random(size)

    stored: list[int] = []

    def open_the_gate() -> None:
        # Ticket 0 is of the slow arm: ticket 1 must be in the file while it is still out.
        until = time.monotonic() + 300
        while time.monotonic() < until and 1 not in stored:
            time.sleep(0.02)
            stored[:] = tickets(path) if path.exists() else []
        gate.touch()

    keeper = threading.Thread(target=open_the_gate)
    keeper.start()
    cr.estimate({"slow": slow, "rough": rough}, draws=40, rng=7, workers=2, store=path)
    keeper.join()
    assert 1 in stored
    assert 0 not in stored


def test_an_arm_that_fails_leaves_all_that_was_finished(tmp_path: Path, bits: Bits) -> None:
    path, mended = tmp_path / "run.db", tmp_path / "mended"

    def brittle(rng: np.random.Generator, size: int) -> np.ndarray:
        values = rng.normal(1.0, 0.5, size)
        if size > 20 and not mended.exists():
            raise ValueError("not today")
        return values

    arms = {"rough": rough, "brittle": brittle}
    with pytest.raises(cr.ArmError, match="not today") as failed:
        cr.estimate(arms, draws=5_000, rng=7, workers=2, store=path)
    assert failed.value.arm == "brittle"
    before = len(cr.open_run(path).history)
    assert before >= 8
    mended.touch()
    on = cr.estimate(arms, draws=5_000, workers=2, store=path)
    assert bits(on) == bits(cr.estimate(arms, draws=5_000, rng=7, width=4))


DRIVER = """
import sys, time
import croupier as cr

def rough(rng, size):
    return rng.normal(1.0, 1.0, size)

def uneven(rng, size):
    values = rng.normal(1.0, 0.3, size)
    time.sleep(0.02 * rng.random())
    return values

if __name__ == "__main__":
    arms = {"rough": rough, "uneven": uneven}
    cr.estimate(arms, draws=200_000, rng=7, workers=2, store=sys.argv[1])
"""


def stored_in(path: Path) -> int:
    try:
        return cr.open_run(path).status.tickets
    except cr.StoreError:
        return 0  # not there yet


def killed_again_and_again(folder: Path, kills: int, seed: int) -> cr.Result:
    script, path = folder / "driver.py", folder / "run.db"
    script.write_text(DRIVER, "utf-8")
    chance = random.Random(seed)
    for _ in range(kills):
        enough = stored_in(path) + chance.randrange(150 // kills)
        driver = subprocess.Popen([sys.executable, str(script), str(path)])
        while driver.poll() is None and stored_in(path) <= enough:
            time.sleep(0.02 * chance.random())
        driver.kill()
        driver.wait()
    return cr.estimate(ARMS, draws=200_000, store=path, rng=7, width=4)


@pytest.mark.slow
def test_a_driver_with_workers_is_killed_and_goes_on(tmp_path: Path, bits: Bits) -> None:
    result = killed_again_and_again(tmp_path, 2, seed=1)
    assert bits(result) == bits(cr.estimate(ARMS, draws=200_000, rng=7, width=4))


@pytest.mark.slow
def test_a_driver_with_workers_is_killed_twenty_times(tmp_path: Path, bits: Bits) -> None:
    result = killed_again_and_again(tmp_path, 20, seed=2)
    assert bits(result) == bits(cr.estimate(ARMS, draws=200_000, rng=7, width=4))
