"""Ctrl-C at any moment: the result has every batch that is stored, and each of them once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.store.log import Log
from croupier.tables.arm_books import ArmBooks

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.usefixtures("no_orphans"),
]

Bits = Callable[[cr.Result], Any]


def rough(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def fine(rng: np.random.Generator, size: int) -> np.ndarray:
    time.sleep(1e-4)
    return rng.normal(1.0, 0.3, size)


ARMS = {"rough": rough, "fine": fine}
WHERE: dict[str, dict[str, Any]] = {"serial": {}, "2 workers": {"workers": 2}}


def after(function: Callable[..., Any], calls: int) -> Callable[..., Any]:
    """Return a function that is interrupted at its end, at the call with this number."""
    left = [calls]

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        done = function(*args, **kwargs)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGINT)
        return done

    return interrupted


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("owner", "name"), [(Log, "append"), (ArmBooks, "add")])
def test_an_interrupt_while_an_outcome_is_stored_or_told_loses_nothing(
    owner: Any, name: str, where: str, tmp_path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("loky")
    path = tmp_path / "run.db"
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, after(getattr(owner, name), 12))
        result = cr.estimate(ARMS, draws=10**6, rng=7, width=4, store=path, **WHERE[where])
    assert result.stopped == "interrupted"
    assert result.draws == sum(row.draws for row in result.arms)
    assert bits(result) == bits(cr.open_run(path).result())


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_an_interrupt_at_any_moment_returns_all_that_is_stored(
    times: int, tmp_path: Path, bits: Bits
) -> None:
    chance = random.Random(7)
    for time_ in range(times):
        path, enough = tmp_path / f"{time_}.db", chance.randrange(5, 60)

        def interrupt(progress: cr.Progress, enough: int = enough) -> None:
            if progress.tickets == enough:
                wait = 0.02 * chance.random()
                threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT)).start()

        result = cr.estimate(
            ARMS, draws=10**9, rng=7, width=4, batch="one", store=path, callback=interrupt
        )
        assert result.stopped == "interrupted"
        stored = cr.open_run(path).result()
        assert result.history.ticket.tolist() == stored.history.ticket.tolist()
        assert bits(result) == bits(stored)


def test_without_a_store_what_was_drawn_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from croupier.store.recorded_engine import Recorded

    monkeypatch.setattr(Recorded, "next", after(Recorded.next, 12))
    result = cr.estimate(ARMS, draws=10**6, rng=7, width=4)
    assert result.stopped == "interrupted"
    assert len(result.history.ticket) == 12


def test_the_handler_of_ctrl_c_is_as_before_after_a_run() -> None:
    before = signal.getsignal(signal.SIGINT)
    cr.estimate(ARMS, draws=100, rng=7)
    assert signal.getsignal(signal.SIGINT) is before
