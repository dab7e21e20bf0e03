"""SIGINT and SIGTERM on the command line: what is known, its exit code, a store to go on with."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import croupier as cr

#: A run that may take its time to come to its end, however slow the machine is.
PATIENT = """
from croupier import cli
from croupier.cli import terminal
terminal._GRACE = 3600.0
cli.main()
"""

#: A run whose clock moves on by 10 milliseconds whenever it is looked at: about 20 looks are left.
TICKING = """
import importlib, itertools, types
ticks = itertools.count()
clock = types.SimpleNamespace(perf_counter=lambda: 1e-2 * next(ticks))
for module in ("croupier.running.loop", "croupier.engines.perform"):
    importlib.import_module(module).time = clock
from croupier import cli
cli.main()
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")


def wait_for(path: Path, outcomes: int) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            if cr.open_run(path).status.tickets >= outcomes:
                return
        except cr.StoreError:
            pass  # not there yet
        time.sleep(0.05)
    raise AssertionError(f"no {outcomes} outcomes in five minutes")


@pytest.mark.expects_misallocation  # 30 batches, each with the time that the machine gave it
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_what_is_known_and_a_store_to_go_on_with(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    options = ["demo", "--no-picture", "--store", str(path)]
    command = [sys.executable, "-c", PATIENT, *options, "--seconds", "3600", "--seed", "7"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(path, 30)
        assert cr.open_run(path).status.running
        run.send_signal(number)
        said, complained = run.communicate(timeout=300)
    finally:
        run.kill()  # it would go on for an hour
    assert run.returncode == code
    assert complained == ""
    assert "the run was interrupted" in " ".join(said.split())
    assert "95% interval" in said
    status = cr.open_run(path).status
    assert (status.stopped, status.running) == ("interrupted", False)
    assert [one.name for one in tmp_path.iterdir()] == ["run.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    # It goes on from there: two tenths of a second more than it has had.
    more = [sys.executable, "-c", TICKING, *options, "--seconds", str(status.seconds + 0.2)]
    done = subprocess.run(more, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    after = cr.open_run(path)
    assert after.status.tickets > status.tickets
    assert after.status.plan.seed == 7
    assert after.status.stopped == "seconds"


HANGING = """
import hashlib
from croupier import cli
from croupier.cli import terminal
from croupier.examples import asian_option as demo

def hangs(rng, size):
    print("drawing", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes in C, without looking up
    return rng.random(size)

terminal._GRACE = 1.0
demo.ARMS = {"hangs": hangs}
cli.main()
"""


def test_an_arm_that_does_not_look_up_is_left_after_the_grace_time(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    command = [sys.executable, "-c", HANGING, "demo", "--no-picture", "--store", str(path)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert run.stdout is not None
    while b"drawing" not in run.stdout.readline():
        pass
    run.terminate()
    code = run.wait(timeout=60)
    run.stdout.close()
    assert code == 143
    assert cr.open_run(path).status.tickets == 0


ALARMED = """
import signal, time
from croupier import cli
from croupier.cli import terminal
from croupier.examples import asian_option as demo

def alarmed(rng, size):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(0.05)
    return rng.random(size)

terminal._GRACE = 0.1
signal.signal(signal.SIGALRM, lambda *_: None)
demo.ARMS = {"alarmed": alarmed}
cli.main()
"""


def test_a_signal_that_belongs_to_an_arm_does_not_end_the_run() -> None:
    """Not even if the run goes on for longer than the grace time of those that end it."""
    command = [sys.executable, "-c", ALARMED, "demo", "--no-picture", "--seconds", "2"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run
    assert "stopped by seconds" in run.stdout
