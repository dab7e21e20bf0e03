"""`croupier run` with programs as arms, killed or interrupted: nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import croupier as cr
from tests.conftest import bits_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")

SERVER = """
import os, random, sys, time
open("pid", "w").write(str(os.getpid()))
for line in sys.stdin:
    size, seed = map(int, line.split())
    random.seed(seed)
    time.sleep(0.02)
    print("\\n".join(repr(random.gauss(1.0, SPREAD)) for _ in range(size)), flush=True)
"""

MAIN = "from croupier.cli import main; main()"


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    sections = []
    for name, spread in {"rough": "1.0", "fine": "0.1"}.items():
        (tmp_path / f"{name}.py").write_text(SERVER.replace("SPREAD", spread))
        command = json.dumps([sys.executable, f"{name}.py"])
        sections.append(f"[arms.{name}]\ncommand = {command}\nstdin = true\n")
    (tmp_path / "arms.toml").write_text("\n".join(sections))
    return tmp_path / "arms.toml"


def started(problem: Path, store: Path, draws: int) -> subprocess.Popen[str]:
    options = ["run", str(problem), "--draws", str(draws), "--rng", "7", "--store", str(store)]
    command = [sys.executable, "-c", MAIN, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


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


def resumed(problem: Path, store: Path, draws: int) -> cr.Result:
    options = ["resume", str(store), str(problem), "--draws", str(draws), "--json"]
    done = subprocess.run([sys.executable, "-c", MAIN, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return cr.Result.from_dict(json.loads(done.stdout))


@pytest.mark.slow
def test_a_killed_run_of_programs_is_resumed_without_loss(problem: Path, tmp_path: Path) -> None:
    store, draws = tmp_path / "run.db", 3000
    run = started(problem, store, draws)
    wait_for(store, 20)
    run.kill()
    run.communicate()
    again = resumed(problem, store, draws)
    whole = tmp_path / "whole.db"
    assert started(problem, whole, draws).wait(300) == 0
    assert bits_of(again) == bits_of(cr.open_run(whole).result())


def test_ctrl_c_leaves_a_result_on_the_screen_and_a_store_to_continue(
    problem: Path, tmp_path: Path
) -> None:
    store = tmp_path / "run.db"
    run = started(problem, store, 10**9)
    wait_for(store, 20)
    server = int((tmp_path / "pid").read_text())
    run.send_signal(signal.SIGINT)
    said, complained = run.communicate(timeout=300)
    assert run.returncode == 130
    assert "95% interval" in said
    assert f"croupier resume {store}" in complained
    status = cr.open_run(store).status
    assert (status.stopped, status.running) == ("interrupted", False)
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
    more = status.draws + 500
    assert resumed(problem, store, more).draws == more
