"""A pilot that is killed with SIGKILL, at several moments, goes on to the same bits."""

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
    """A narrow posterior, far from its prior. It writes the size of every call into a file."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, points: np.ndarray) -> Any:
        values = -0.5 * ((points - 2) ** 2).sum(axis=1) / 0.01
        os.write(self.handle, _ROW.pack(len(points)))
        return values


def sizes(path: Path) -> list[int]:
    """Return the sizes of all calls so far."""
    if not path.exists():
        return []
    content = path.read_bytes()
    return [size for (size,) in _ROW.iter_unpack(content[: len(content) // 8 * 8])]


def run(store: Path, log: Path) -> Any:
    return cr.evidence(
        Logged(log), PRIOR, draws=60_000, rng=7, store=store, vectorised=True, progress=False
    )


def killed(store: Path, log: Path, after: int) -> bool:
    """Run in another process, and kill it when it has evaluated so many points."""
    before = sum(sizes(log))
    process = multiprocessing.get_context("fork").Process(target=run, args=(store, log))
    process.start()
    try:
        while process.is_alive() and sum(sizes(log)) - before < after:
            time.sleep(1e-3)
    finally:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_pilot_that_is_killed_loses_at_most_one_call_and_goes_on_to_the_same_bits(
    tmp_path: Path,
) -> None:
    whole = run(tmp_path / "whole.db", tmp_path / "whole.log")
    pilot = whole.details["pilot"]["evaluations"]
    store, log = tmp_path / "run.db", tmp_path / "run.log"
    moments = 0.85 * np.random.default_rng(1).dirichlet(np.full(8, 3.0))  # all in the pilot
    kills = sum(killed(store, log, int(moment * pilot)) for moment in moments)
    assert kills == len(moments)
    assert (tmp_path / "run.db.pilot").exists()
    result = run(store, log)
    assert result.log_value == whole.log_value
    assert result.log_stderr == whole.log_stderr
    assert result.details["pilot"]["evaluations"] == pilot
    # Each kill repeats the call that it cut off, and each start looks at three points again.
    lost = sum(sizes(log)) - sum(sizes(tmp_path / "whole.log"))
    assert lost <= kills * (max(sizes(log)) + 10)
