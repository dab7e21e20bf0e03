"""Progress is shown to whoever watches, seldom, and costs next to nothing."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import time
import types
from typing import Any, NamedTuple

import pytest
from rich.console import Console

import croupier as cr
from croupier.views import progress as module
from croupier.views.progress import Live, LogProgress, interactive
from croupier.views.progress_lines import standing_line


class State(NamedTuple):
    """Where a run is."""

    value: Any = 1.2345678
    stderr: Any = 0.000123
    half_width: Any = 0.000246
    leader: str = "tilted"
    draws: int = 410_000
    cost: float = 410_000.0


class Unread:
    """Progress that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


STATE = State()


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "perf_counter", clock)
    return clock


def terminal(width: int = 80) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, color_system=None)
    return console, file


def test_the_bar_shows_percent_times_estimate_leader_and_draws(clock: Clock) -> None:
    console, file = terminal()
    with Live("draws", console) as live:
        live.update(STATE, 0.0)
        clock.now += 42
        live.update(STATE, 0.42)
    shown = file.getvalue()
    for part in (
        "42%",
        "42 s",
        "58 s left",
        "1.23457 ± 0.00012 [1.23432, 1.23481]",
        "led by tilted",
        "410,000 draws",
    ):
        assert part in shown


def test_a_resumed_run_reckons_its_remaining_time_from_where_it_began(clock: Clock) -> None:
    console, file = terminal()
    with Live("draws", console) as live:
        live.update(STATE, 0.5)
        clock.now += 10
        live.update(STATE, 0.75)
    assert "10 s, 10 s left" in file.getvalue()


def test_the_bar_is_drawn_no_more_often_than_asked(clock: Clock) -> None:
    console, file = terminal()
    with Live("draws", console, refresh=10) as live:
        assert live.due()
        live.update(STATE, 0.42)
        assert not live.due()
        before = len(file.getvalue())
        clock.now += 0.05
        live.update(STATE, 0.42)
        assert len(file.getvalue()) == before
        clock.now += 0.06
        assert live.due()
        live.update(STATE, 0.42)
        assert len(file.getvalue()) > before


def test_an_update_that_is_not_due_looks_at_nothing(clock: Clock) -> None:
    unread: Any = Unread()
    with Live("draws", terminal()[0]) as live:
        live.update(STATE, 0.42)
        live.update(unread, 0.5)


def test_the_bar_is_gone_when_the_run_is_over_even_after_an_error(clock: Clock) -> None:
    console, file = terminal()
    live = Live("draws", console)
    with contextlib.suppress(ZeroDivisionError), live:
        live.update(STATE, 0.42)
        raise ZeroDivisionError
    assert file.getvalue().endswith("\x1b[2K")  # the lines were erased
    assert "\x1b[?25h" in file.getvalue()  # and the cursor is back
    size = len(file.getvalue())
    clock.now += 10
    live.update(STATE, 0.42)
    assert len(file.getvalue()) == size


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_bar_takes_two_lines_at_any_width(clock: Clock, width: int) -> None:
    console, file = terminal(width)
    with Live("cost", console) as live:
        live.update(State(1.2345678e-9, 1.23e-13, 2.46e-13, "a long name " * 9, 10**9, 1e9), 0.42)
        assert file.getvalue().count("\n") <= (2 if width < 40 else 1)


@pytest.mark.parametrize("fraction", [-1.0, 0.0, 1.0, 7.0, float("nan"), float("inf")])
def test_a_fraction_outside_its_range_does_no_harm(clock: Clock, fraction: float) -> None:
    console, file = terminal()
    with Live("draws", console) as live:
        live.update(State(float("nan"), float("nan"), float("inf"), "", 0, 0.0), fraction)
    assert "unknown ± unknown [unknown, unknown]" in file.getvalue()


def test_of_a_vector_the_first_component_is_shown(clock: Clock) -> None:
    console, file = terminal()
    with Live("draws", console) as live:
        live.update(State([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [0.2, 0.4, 0.6]), 0.5)
    assert "first of 3: 1.00 ± 0.10 [0.80, 1.20]" in file.getvalue()


def test_a_name_is_no_markup(clock: Clock) -> None:
    console, file = terminal()
    with Live("draws", console) as live:
        live.update(State(leader="a[/b]"), 0.5)
    assert "a[/b]" in file.getvalue()


def test_what_is_printed_for_a_pipe_reaches_the_pipe(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    console, file = terminal()
    with Live("draws", console) as live:
        live.update(STATE, 0.42)
        print("an answer")
    assert capsys.readouterr().out == "an answer\n"
    assert "an answer" not in file.getvalue()


def test_in_a_notebook_one_output_is_replaced_and_emptied(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    handle = types.SimpleNamespace(update=shown.append)
    display: Any = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: handle
    ipython: Any = types.ModuleType("IPython")
    shell = type("ZMQInteractiveShell", (), {})()
    ipython.get_ipython = lambda: shell
    ipython.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert interactive()
    with Live("draws") as live:
        live.update(State(1.0, 0.1, 0.2, "<b>"), 0.42)
    assert "<b>1.00 ± 0.10 [0.80, 1.20]</b>" in shown[0]
    assert "led by &lt;b&gt;" in shown[0]
    assert shown[-1] == ""


@pytest.mark.parametrize(("tty", "term", "expected"), [
    (True, "xterm", True), (False, "xterm", False), (True, "dumb", False),
])  # fmt: skip
def test_a_terminal_is_interactive_unless_it_is_dumb(
    monkeypatch: pytest.MonkeyPatch, tty: bool, term: str, expected: bool
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: tty))
    monkeypatch.setenv("TERM", term)
    assert interactive() is expected


def test_a_process_without_stderr_is_not_interactive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert not interactive()


def test_the_log_gets_a_line_every_ten_seconds(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "croupier"), LogProgress("draws") as progress:
        for _ in range(250):
            clock.now += 0.1
            progress.update(STATE, 0.42)
    line = "42%: 1.23457 ± 0.00012 [1.23432, 1.23481], 410,000 draws, led by tilted"
    assert caplog.messages == [line, line]
    assert {record.name for record in caplog.records} == {"croupier"}


def test_a_log_that_nobody_reads_is_never_due(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "croupier"), LogProgress("draws") as progress:
        clock.now += 60
        assert not progress.due()
        progress.update(STATE, 0.42)
    assert not caplog.messages


def test_a_large_log_is_written_out() -> None:
    logs = {"log_value": -1000007.8824, "log_stderr": 0.0123, "log_half_width": 0.0246}
    said = standing_line(types.SimpleNamespace(**logs))  # type: ignore[arg-type]
    assert said == "log: -1000007.882 ± 0.012 [-1000007.907, -1000007.858]"


# -- what agrees, and what moves


def test_the_progress_line_and_the_result_say_the_same() -> None:
    lines: list[str] = []

    def note(progress: Any) -> None:
        lines.append(standing_line(progress))

    arms = {"a": lambda rng, n: rng.normal(1.0, 1.0, n), "b": lambda rng, n: rng.normal(1, 0.1, n)}
    for more in ({}, {"anytime": True}, {"rtol": 1e-9}):
        result = cr.estimate(arms, draws=3000, rng=7, callback=note, **more)  # type: ignore[arg-type]
        first = str(result).splitlines()[0]
        estimate, _, ends = lines[-1].partition(" [")
        assert first.startswith(f"{estimate}   95% interval [{ends}")


def test_progress_in_a_pipe_is_a_line_every_few_seconds(clock: Clock) -> None:
    lines: list[str] = []
    progress = LogProgress("draws", 5.0, lines.append)
    for _ in range(120):
        clock.now += 0.1
        progress.update(STATE, 0.42)
    assert lines == ["42%: 1.23457 ± 0.00012 [1.23432, 1.23481], 410,000 draws, led by tilted"] * 2


def test_progress_true_without_a_terminal_writes_to_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_LINES", 0.0)
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    arms = {"a": lambda rng, n: rng.normal(1.0, 1.0, n)}
    cr.estimate(arms, draws=500, rng=7, progress=True)
    captured = capsys.readouterr()
    assert "%: " in captured.err
    assert " ± " in captured.err
    assert captured.out == ""
    cr.estimate(arms, draws=500, rng=7, progress=False)
    assert capsys.readouterr().err == ""


def test_the_clock_of_the_bar_moves_during_a_long_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    console, file = terminal()
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    monkeypatch.setattr(module, "_SECOND", 0.05)
    with module.Watch(Live("draws", console)):
        time.sleep(0.8)  # no batch comes back
    shown = file.getvalue()
    assert "waiting for the first batch" in shown
    assert len(set(re.findall(r"0\.\d+ s|\d+ ms", shown))) >= 3


def test_the_clock_of_the_bar_starts_with_the_call(clock: Clock) -> None:
    console, file = terminal()
    live = Live("draws", console)
    clock.now += 30  # a store is opened, and the first batch is slow
    with live:
        live.update(STATE, 0.42)
    assert "30 s" in file.getvalue()
