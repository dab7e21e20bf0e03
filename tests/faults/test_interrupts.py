"""Ctrl-C at any moment: the result has every batch that is stored, and each of them once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.engines.hold_interrupts import held, interrupts_held, released
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


def interrupting(ticket: int) -> Callable[[cr.Progress], None]:
    """Return a callback that sends Ctrl-C once, after so many tickets."""

    def interrupt(progress: cr.Progress) -> None:
        if progress.tickets == ticket:
            signal.raise_signal(signal.SIGINT)

    return interrupt


@pytest.mark.parametrize("where", WHERE)
def test_an_interrupt_while_stored_outcomes_are_told_again_is_raised_and_costs_nothing(
    where: str, tmp_path: Path, bits: Bits
) -> None:
    pytest.importorskip("loky")
    path = tmp_path / "run.db"
    run: dict[str, Any] = {"draws": 200, "rng": 7, "width": 4, "batch": "one", "store": path}
    first = cr.estimate(ARMS, callback=interrupting(60), **run, **WHERE[where])
    assert first.stopped == "interrupted"
    stored = cr.open_run(path).result()
    for ticket in (1, 30):  # a table that knows less than the store has no result to return
        with pytest.raises(KeyboardInterrupt):
            cr.estimate(ARMS, callback=interrupting(ticket), **run, **WHERE[where])
        seen = cr.open_run(path)
        assert not seen.status.running
        assert bits(seen.result())[:-1] == bits(stored)[:-1]
    assert [one.name for one in tmp_path.iterdir()] == ["run.db"]
    whole = cr.estimate(ARMS, callback=lambda _: None, **{**run, "store": None})
    went_on = cr.estimate(ARMS, callback=lambda _: None, **run, **WHERE[where])
    assert bits(went_on) == bits(whole)


# -- the handler


def test_the_handler_of_ctrl_c_is_as_before_after_a_run() -> None:
    before = signal.getsignal(signal.SIGINT)
    cr.estimate(ARMS, draws=100, rng=7)
    assert signal.getsignal(signal.SIGINT) is before


def ours() -> bool:
    return signal.getsignal(signal.SIGINT) is not signal.default_int_handler


@pytest.fixture
def handler() -> Iterator[Callable[..., None]]:
    """A handler of Ctrl-C that is the user's own; Python's is back afterwards."""
    yield lambda *_: None
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_handler_of_the_users_own_is_never_replaced(handler: Callable[..., None]) -> None:
    signal.signal(signal.SIGINT, handler)
    seen: list[Any] = []
    cr.estimate(
        ARMS, draws=50, rng=7, callback=lambda _: seen.append(signal.getsignal(signal.SIGINT))
    )
    assert set(seen) == {handler}
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_that_is_installed_during_a_run_stays(handler: Callable[..., None]) -> None:
    def install(progress: cr.Progress) -> None:
        if progress.tickets == 5:
            assert ours()
            signal.signal(signal.SIGINT, handler)

    cr.estimate(ARMS, draws=50, rng=7, callback=install)
    assert signal.getsignal(signal.SIGINT) is handler


def test_after_an_interrupt_the_handler_is_pythons_and_the_next_run_can_be_interrupted() -> None:
    for _ in range(2):
        result = cr.estimate(ARMS, draws=10**6, rng=7, callback=interrupting(5))
        assert result.stopped == "interrupted"
        assert not ours()


def test_in_another_thread_the_handler_is_left_alone() -> None:
    seen: list[bool] = []
    thread = threading.Thread(
        target=lambda: cr.estimate(ARMS, draws=50, rng=7, callback=lambda _: seen.append(ours()))
    )
    thread.start()
    thread.join()
    assert seen
    assert not any(seen)


def test_ctrl_c_comes_through_at_the_end_of_the_block_that_holds_it() -> None:
    done: list[str] = []

    def run() -> None:
        with interrupts_held():
            with held:
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")
            with released:
                done.append("never")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == ["inner", "outer"]
    assert not ours()


def test_a_second_ctrl_c_is_not_held() -> None:
    done: list[int] = []

    def run() -> None:
        with interrupts_held():
            for number in range(3):
                done.append(number)
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == [0, 1]
    with interrupts_held(), released:
        pass  # nothing is left of them
