"""A name, a warning or a host with terminal escapes does nothing to the terminal that shows it."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from croupier.views.progress import Live, LogProgress

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

NAME = "a\x1b[31mb\nc"
SHOWN = r"a\x1b[31mb\nc"

#: All control characters except the end of a line.
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def result(tmp_path: Path) -> cr.Result:
    arms = {NAME: lambda r, n: r.normal(1, 1, n), "b": lambda r, n: r.normal(9, 1, n)}
    return cr.estimate(arms, draws=500, rng=7, policy="uniform", store=tmp_path / "run.db")


def in_a_terminal(shown: Any) -> str:
    file = io.StringIO()
    Console(file=file, force_terminal=True, color_system=None, width=100).print(shown)
    return file.getvalue()


def test_a_result_shows_no_escape(result: cr.Result) -> None:
    evil = replace(result, warnings=(*result.warnings, f"beware of {NAME}"), stopped=NAME)
    for text in (str(evil), repr(evil), in_a_terminal(evil), evil._repr_html_()):
        assert not CONTROL.search(text)
    for text in (str(evil), in_a_terminal(evil), evil._repr_html_()):
        assert text.count(SHOWN) >= 3  # the row, what stopped the run, the warnings
        assert "b\nc" not in text


def test_the_page_shows_no_escape(result: cr.Result, tmp_path: Path) -> None:
    evil = replace(result, warnings=(f"beware of {NAME}",), stopped=NAME)
    page = evil.report(tmp_path / "run.html").read_text("utf-8")
    assert not CONTROL.search(page)
    assert f"<li>beware of {SHOWN}</li>" in page
    assert "b\nc" not in page


def test_a_stored_run_is_shown_without_escapes(result: cr.Result, tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli.app, ["show", str(tmp_path / "run.db")])
    assert shown.exit_code == 0
    assert SHOWN in shown.output
    assert not CONTROL.search(shown.output)


def test_the_status_of_a_stored_run_shows_no_escape(result: cr.Result, tmp_path: Path) -> None:
    status = cr.open_run(tmp_path / "run.db").status
    owner = {"pid": NAME, "host": NAME, "since": NAME}
    for evil in (
        replace(status, path=NAME, began=NAME, owner=owner),
        replace(status, path=NAME, began=NAME, stopped=NAME),
    ):
        assert not CONTROL.search(str(evil))
        assert str(evil).count("\n") == 1
        assert str(evil).startswith(f"{SHOWN}: ")


def test_an_error_of_the_command_line_shows_no_escape(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.app, ["show", str(tmp_path / NAME)])
    assert done.exit_code == 2
    assert not CONTROL.search(done.stderr)


def test_the_progress_shows_no_escape(caplog: pytest.LogCaptureFixture) -> None:
    class Standing:
        value, stderr, half_width, draws, cost, leader = 1.0, 0.1, 0.2, 10, 10.0, NAME

    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, color_system=None)
    with Live("draws", console) as live:
        live.update(Standing(), 0.5)
        drawn = file.getvalue()
    assert SHOWN in drawn
    assert "\x1b[31m" not in drawn  # the bar itself hides and moves the cursor
    assert "b\nc" not in drawn
    caplog.set_level("INFO", logger="croupier")
    LogProgress("draws", every=0.0).update(Standing(), 0.5)
    assert caplog.messages == [f"50%: 1.00 ± 0.10 [0.80, 1.20], 10 draws, led by {SHOWN}"]
