"""A limit state that is learned: a run that is killed with SIGKILL goes on to the same bits."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked"),
]


class Dies:
    """A limit state that kills its own process at a call; 0 never does."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def __call__(self, x: np.ndarray) -> Any:
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 3.5 - x[:, 0] - 0.1 * x[:, 1] ** 2


def play(at: int, store: Path | None = None) -> cr.Result:
    return cr.probability(Dies(at), 2, draws=50, rng=7, store=store, progress=False)


@pytest.mark.parametrize("at", [9, 22, 40])
def test_a_run_that_is_killed_while_it_learns_or_corrects_ends_with_the_same_bits(
    at: int, tmp_path: Path
) -> None:
    whole, store = play(0), tmp_path / "run.db"
    process = multiprocessing.get_context("fork").Process(target=play, args=(at, store))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    assert 0 < cr.open_run(store).result().draws < 50
    again = play(0, store)
    assert (again.value, again.interval) == (whole.value, whole.interval)
    assert again.to_dict()["details"] == whole.to_dict()["details"]
    assert again.history.size.tolist() == whole.history.size.tolist()
