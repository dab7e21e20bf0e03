"""No process of a run is left after its driver was killed, whenever it was killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytest.importorskip("loky")
pytestmark = pytest.mark.skipif(not hasattr(os, "getsid"), reason="no sessions here")

RUN = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import croupier as cr

def slow(rng, size):
    time.sleep(1e-3 * size)
    return rng.random(size)

def stubborn(rng, size):
    import os, re
    os.write(1, b"drawing\\n")  # one call: the lines of two workers do not mix
    re.match(r"(a+)+$", "a" * 60 + "b")  # never returns, and never lets go of the GIL

def pool():
    return ProcessPoolExecutor(2, mp_context=get_context(sys.argv[2]))

if __name__ == "__main__":
    print("starting", flush=True)
    who = {"workers": 2} if sys.argv[2] == "loky" else {"executor": pool}
    cr.estimate({"a": globals()[sys.argv[1]]}, draws=10**7, rng=7, **who)
"""


def started(folder: Path, arm: str, engine: str = "loky") -> subprocess.Popen[str]:
    """Return a driver in a session of its own: all that it starts is in this session, too.

    The engine is "loky", or how a pool of the user's own starts its processes.
    """
    script = folder / "run.py"
    script.write_text(RUN, "utf-8")
    with (folder / "stderr").open("w") as stderr:
        driver = subprocess.Popen(
            [sys.executable, str(script), arm, engine], text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=stderr,
        )  # fmt: skip
    assert driver.stdout is not None
    assert driver.stdout.readline() == "starting\n"
    return driver


def alive(session: int) -> list[int]:
    """Return the processes of a session, those of loky's books included."""
    found = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == session and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except (OSError, psutil.Error):
            continue
    return found


def seconds_until_alone(driver: subprocess.Popen[str]) -> float:
    """Kill a driver; return how long the others lived, or fail and end those that stay."""
    driver.kill()
    driver.wait()
    assert driver.stdout is not None
    driver.stdout.close()
    began = time.monotonic()
    while (left := alive(driver.pid)) and time.monotonic() < began + 60:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left
    return time.monotonic() - began


def wait_for_a_worker(driver: subprocess.Popen[str]) -> None:
    while driver.poll() is None:
        for child in psutil.Process(driver.pid).children():
            with contextlib.suppress(psutil.Error):
                if "resource_tracker" not in " ".join(child.cmdline()):
                    return


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_a_driver_that_is_killed_while_its_workers_start_leaves_no_process(
    kills: int, tmp_path: Path
) -> None:
    lived = []
    for kill in range(kills):
        driver = started(tmp_path, "slow")
        if kill % 2:
            time.sleep(2.0 * kill / kills)  # spread over the first two seconds of the run
        else:
            wait_for_a_worker(driver)  # it does not know yet that it is one
            time.sleep(0.3 * kill / kills)
        lived.append(seconds_until_alone(driver))
    print(f"{kills} kills, the others lived for at most {max(lived):.2f} s")


@pytest.mark.parametrize("engine", ["spawn", "fork", "forkserver"])
def test_the_processes_of_a_pool_that_the_run_made_end_with_the_driver(
    engine: str, tmp_path: Path
) -> None:
    for seconds in (0.0, 0.7):
        driver = started(tmp_path, "slow", engine)
        wait_for_a_worker(driver)
        time.sleep(seconds)
        seconds_until_alone(driver)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them with their parent")
def test_nothing_is_printed_after_a_driver_was_killed(tmp_path: Path) -> None:
    driver = started(tmp_path, "stubborn")
    assert driver.stdout is not None
    assert driver.stdout.readline() == "drawing\n"  # now there are semaphores to clean up
    seconds_until_alone(driver)
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them with their parent")
def test_a_worker_that_holds_the_gil_ends_with_its_driver(tmp_path: Path) -> None:
    driver = started(tmp_path, "stubborn")
    assert driver.stdout is not None
    assert driver.stdout.readline() == "drawing\n"
    seconds_until_alone(driver)
