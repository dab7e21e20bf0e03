"""`python -m paper figure1`: files, a table, a picture; errors in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from paper.__main__ import app

SMALL = ("--runs", "5", "--horizon", "1e3", "--grid", "0.05,0.1", "--cell", "0.08,0.1")


def fig1(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["figure1", *arguments])


def test_help_names_every_option() -> None:
    done = CliRunner().invoke(app, ["figure1", "-h"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    for option in ("--quick", "--full", "--shape", "--grid", "--cell", "--runs", "--default-runs"):
        assert option in done.output
    for option in ("--horizon", "--seed", "--out", "--threads", "--fresh", "--plot-only"):
        assert option in done.output
    assert "figure1" in CliRunner().invoke(app, ["-h"]).output


def test_a_run_writes_data_and_picture_and_prints_who_won(simulator: Any, tmp_path: Path) -> None:
    done = fig1(*SMALL, "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {
        "fig1-scaled-bernoulli.csv",
        "fig1-scaled-bernoulli-curves.csv",
        "fig1-scaled-bernoulli.png",
    }
    assert done.stderr.count("\n") == 5
    assert "5 of 5 cells: V1 0.1, extra 0.1" in done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert rows["thompson"][0] == "4"
    assert rows["ucb1"][0] == "0"
    assert rows["variance-thompson"][1] == "4"
    assert "4 cells" in done.stdout
    assert "of wall time" in done.stdout
    assert str(tmp_path / "fig1-scaled-bernoulli.png") in done.stdout.replace("\n", "")


def test_quick_and_full_have_folders_and_sizes_of_their_own(
    simulator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    simulator.fail_after = 1
    assert fig1().exit_code == fig1("--full").exit_code == 130
    simulator.fail_after = 2
    assert fig1("--full").exit_code == 130
    assert (tmp_path / "build/figure1-quick").exists()
    assert (tmp_path / "build/figure1-full").exists()
    assert [call["runs"] for call in simulator.calls] == [200, 2000]


def test_an_interrupt_says_how_to_go_on_and_exits_with_130(simulator: Any, tmp_path: Path) -> None:
    simulator.fail_after = 2
    done = fig1(*SMALL, "--out", str(tmp_path))
    assert done.exit_code == 130
    assert "stopped after 2 of 5 cells" in done.stderr
    assert "the same command goes on from there" in done.stderr
    simulator.fail_after = 10**9
    done = fig1(*SMALL, "--out", str(tmp_path))
    assert done.exit_code == 0
    assert "2 of 5 cells are there already" in done.stderr
    assert len(simulator.calls) == 5


def test_plot_only_draws_again_and_simulates_nothing(simulator: Any, tmp_path: Path) -> None:
    fig1(*SMALL, "--out", str(tmp_path))
    picture = tmp_path / "fig1-scaled-bernoulli.png"
    picture.unlink()
    simulator.fail_after = 0
    done = fig1("--plot-only", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_policies_may_have_runs_of_their_own_and_the_figure_no_curves(
    simulator: Any, tmp_path: Path
) -> None:
    own = ["--runs-of", "ucb1=3", "--runs-of", "kl-ucb=4", "--cell", "none"]
    done = fig1(*SMALL[: SMALL.index("--cell")], *own, "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "fig1-scaled-bernoulli-curves.csv").exists()
    assert {(*call["policies"], call["runs"]) for call in simulator.calls} >= {
        ("ucb1", 3), ("kl-ucb", 4),
    }  # fmt: skip


def test_what_is_left_out_is_said_at_once(simulator: Any, tmp_path: Path) -> None:
    simulator.fail_after = 0
    done = fig1("--shape", "uniform", "--grid", "0.02,0.05,0.08", "--out", str(tmp_path))
    assert done.exit_code == 130
    left_out = "6 of 9 cells are left out: with uniform arms V1 + extra must be below 1/12"
    assert left_out in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--grid", "a"], "grid must be like 0.0125:0.125:10"),
        (["--grid", "0.3"], "no cell of the grid is possible"),
        (["--cell", "0.1"], "cell must be V1,EXTRA"),
        (["--cell", "0.2,0.2"], "cell 0.2,0.2 is not possible"),
        (["--shape", "cube"], "shape must be one of"),
        (["--runs", "1"], "runs must be at least 2, got 1"),
        (["--runs-of", "ucb1"], "runs must be POLICY=RUNS, such as kl-ucb=200, got 'ucb1'"),
        (["--horizon", "1.5"], "horizon must be a whole number"),
        (["--plot-only", "--out", "nowhere"], "there is no finished cell in nowhere"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = fig1(*arguments)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert complaint in done.stderr
    assert not list(tmp_path.iterdir())


def test_other_settings_are_one_line_too_and_fresh_is_the_way_out(
    simulator: Any, tmp_path: Path
) -> None:
    simulator.fail_after = 1
    assert fig1(*SMALL, "--out", str(tmp_path)).exit_code == 130
    done = fig1(*SMALL, "--seed", "3", "--out", str(tmp_path))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "seed 2014 there, 3 here" in done.stderr
    simulator.fail_after = 2
    done = fig1(*SMALL, "--seed", "3", "--fresh", "--out", str(tmp_path))
    assert done.exit_code == 130
    assert "stopped after 1 of 5 cells" in done.stderr


def test_a_folder_that_is_a_file_is_one_line_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = fig1(*SMALL, "--out", str(tmp_path / "file"))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "cannot write into" in done.stderr
