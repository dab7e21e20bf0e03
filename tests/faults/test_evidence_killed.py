"""A run of evidence that is killed with SIGKILL, in every phase, goes on to the same bits."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked"),
]

PRIOR = [st.uniform(-10, 20)] * 2

_ROW = struct.Struct("<q")


class Logged:
    """A ring, far from its prior. It writes the size of every call into a file."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, points: np.ndarray) -> Any:
        values = -0.5 * ((np.linalg.norm(points - 2, axis=1) - 1) / 0.05) ** 2
        os.write(self.handle, _ROW.pack(len(points)))
        time.sleep(1e-3)
        return values


def evaluated(path: Path) -> int:
    """Return how many points were evaluated so far."""
    content = path.read_bytes() if path.exists() else b""
    return sum(size for (size,) in _ROW.iter_unpack(content[: len(content) // 8 * 8]))


def run(store: Path, log: Path) -> Any:
    return cr.evidence(
        Logged(log), PRIOR, draws=12_000, rng=7, store=store, vectorised=True, progress=False
    )


def killed(store: Path, log: Path, after: int) -> bool:
    """Run in another process, and kill it when it has evaluated so many points."""
    before = evaluated(log)
    process = multiprocessing.get_context("fork").Process(target=run, args=(store, log))
    process.start()
    try:
        while process.is_alive() and evaluated(log) - before < after:
            time.sleep(1e-3)
    finally:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_run_that_is_killed_in_every_phase_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole.db", tmp_path / "whole.log")
    found = whole.details["search"]
    assert found["climbs"] > 0
    assert found["steps"] > 0
    assert found["epochs"] > 0
    store, log = tmp_path / "run.db", tmp_path / "run.log"
    # Prior points are the first 1800; climbs, steps and epochs follow.
    moments = (900, 1000, 200, 200, 400, 800, 1500)
    kills = sum(killed(store, log, moment) for moment in moments)
    assert kills == len(moments)
    result = run(store, log)
    assert result.log_value == whole.log_value
    assert result.log_stderr == whole.log_stderr
    assert result.draws == whole.draws == 12_000
