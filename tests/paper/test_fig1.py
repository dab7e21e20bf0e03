"""Figure 1 is measured cell by cell, survives being cut anywhere, and refuses to mix settings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from paper import Figure1, TwoArms, figure1
from paper.fig1_rows import Fig1CellRow, Tile
from paper.fig1_study import Cell
from paper.study import DEFAULT, PAPER

SMALL: dict[str, Any] = {
    "variances": (0.05, 0.1),
    "extras": (0.05, 0.1),
    "curves": [(0.08, 0.1)],
    "runs": 5,
    "horizon": 100,
}
CELLS, CURVES = "fig1-scaled-bernoulli.csv", "fig1-scaled-bernoulli-curves.csv"


@pytest.fixture
def study() -> TwoArms:
    return TwoArms(**SMALL)


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (CELLS, CURVES)}


def test_every_cell_is_simulated_once_with_its_own_seed(
    simulator: Any, study: TwoArms, tmp_path: Path
) -> None:
    figure = figure1(tmp_path, study, threads=3, progress=False)
    assert list(figure.tiles) == [(0.05, 0.05), (0.05, 0.1), (0.1, 0.05), (0.1, 0.1)]
    curve, *cells = simulator.calls
    assert curve["record"] == list(study.times)
    assert all(call["record"] == [100] for call in cells)
    assert [call["rng"] for call in cells] == [study.cell_seed(cell) for cell in study.cells]
    for call in simulator.calls:
        assert (call["runs"], call["horizon"], call["threads"]) == (5, 100, 3)
        assert call["policies"] == list(study.policies)
    assert np.allclose(curve["problem"].variances, [0.08, 0.18])


def test_a_row_has_what_the_simulator_found(simulator: Any, study: TwoArms, tmp_path: Path) -> None:
    figure = figure1(tmp_path, study, progress=False)
    call = simulator.calls[1]
    for row in figure.tiles[Cell(0.05, 0.05)].rows.values():
        settings = {name: call[name] for name in ("runs", "record", "rng")}
        again = simulator(call["problem"], call["policies"], **settings)[row.policy]
        assert row.regret == again.mean_regret[-1]
        assert row.stderr == again.stderr[-1]
        assert row.suboptimal == again.suboptimal.mean()
        assert [row.p1, row.p99] == np.percentile(again.suboptimal, [1, 99]).tolist()
    ends = [row for row in figure.curves if row.time == 100]
    assert [row.policy for row in ends] == list(study.policies)
    assert all(row.p1 <= row.p50 <= row.p99 for row in figure.curves)
    assert figure.cpu_seconds == dict.fromkeys(study.policies, 5 * 0.25)


def test_runs_of_the_default_may_be_fewer(simulator: Any, tmp_path: Path) -> None:
    figure = figure1(tmp_path, TwoArms(**SMALL, default_runs=3), progress=False)
    assert {(row.policy, row.runs) for row in figure.rows} == {
        *((policy, 5) for policy in PAPER),
        (DEFAULT, 3),
    }
    seeds = [call["rng"] for call in simulator.calls]
    assert len(set(seeds)) == len(seeds) == 10  # the default does not see the others' draws


def test_files_read_back_are_what_was_measured(
    simulator: Any, study: TwoArms, tmp_path: Path
) -> None:
    figure = figure1(tmp_path, study, progress=False)
    again = Figure1.read(tmp_path)
    assert (again.rows, again.curves) == (figure.rows, figure.curves)
    assert again.study.cells == study.cells
    assert again.study.policies == study.policies


@pytest.mark.parametrize("cells", range(5))
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), MemoryError("no room")])
def test_a_run_that_is_cut_goes_on_at_the_next_cell(
    simulator: Any, study: TwoArms, tmp_path: Path, cells: int, failure: BaseException
) -> None:
    whole = figure1(tmp_path / "whole", study, progress=False)
    simulator.calls.clear()
    simulator.fail_after, simulator.failure = cells, failure
    with pytest.raises(type(failure)) as caught:
        figure1(tmp_path / "cut", study, progress=False)
    if isinstance(failure, KeyboardInterrupt):
        assert f"stopped after {cells} of 5 cells" in str(caught.value)
    simulator.fail_after = 10**9
    resumed = figure1(tmp_path / "cut", study, progress=False)
    assert len(simulator.calls) == 5
    assert resumed == whole
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


@pytest.mark.parametrize("name", [CELLS, CURVES])
def test_a_file_cut_anywhere_is_completed_to_the_same_file(
    simulator: Any, study: TwoArms, tmp_path: Path, name: str
) -> None:
    figure1(tmp_path, study, progress=False)
    whole = files(tmp_path)
    size = len(whole[name])
    ends = [i for i, byte in enumerate(whole[name]) if byte == ord("\n")]
    rows = [end + off for end in ends[:: len(ends) // 20] for off in (-5, 0, 1, 2)]
    for cut in {0, 1, 20, size - 1, *(cut for cut in rows if cut < size)}:
        (tmp_path / name).write_bytes(whole[name][:cut])
        simulator.calls.clear()
        figure1(tmp_path, study, progress=False)
        assert simulator.calls
        assert files(tmp_path) == whole, cut


def test_to_draw_changes_no_file(simulator: Any, study: TwoArms, tmp_path: Path) -> None:
    figure1(tmp_path, study, progress=False)
    torn = (tmp_path / CELLS).read_bytes()[:-30]
    (tmp_path / CELLS).write_bytes(torn)
    assert len(Figure1.read(tmp_path).tiles) == 3
    assert (tmp_path / CELLS).read_bytes() == torn


def test_another_grid_adds_its_cells_and_keeps_the_others(
    simulator: Any, study: TwoArms, tmp_path: Path
) -> None:
    figure1(tmp_path, study, progress=False)
    simulator.calls.clear()
    wider = TwoArms(**{**SMALL, "variances": (0.1, 0.15), "curves": ()})
    figure = figure1(tmp_path, wider, progress=False)
    assert len(simulator.calls) == 2
    assert set(figure.tiles) == set(wider.cells)
    assert len(Figure1.read(tmp_path).tiles) == 6


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"runs": 6, "default_runs": 5}, r"\(runs 5 there, 6 here\)"),
        ({"horizon": 200}, r"\(horizon 100 there, 200 here\)"),
        ({"seed": 1}, r"\(seed 2014 there, 1 here\)"),
        ({"default_runs": 0}, r"\(default-runs 5 there, 0 here\)"),
        ({"default_runs": 4}, r"\(default-runs 5 there, 4 here\)"),
        ({"seed": 1, "horizon": 200}, "horizon 100 there, 200 here; seed 2014 there, 1 here"),
    ],
)
def test_files_of_other_settings_are_refused_with_the_way_out(
    simulator: Any, study: TwoArms, tmp_path: Path, changes: dict[str, Any], difference: str
) -> None:
    figure1(tmp_path, study, progress=False)
    before = files(tmp_path)
    other = TwoArms(**{**SMALL, **changes})
    with pytest.raises(cr.StoreError, match=difference) as caught:
        figure1(tmp_path, other, progress=False)
    assert str(caught.value).endswith("with --out, or start afresh with --fresh")
    assert files(tmp_path) == before
    assert figure1(tmp_path, other, fresh=True, progress=False).study == other
    assert files(tmp_path) != before


def test_a_policy_may_have_runs_of_its_own(simulator: Any, tmp_path: Path) -> None:
    few = TwoArms(**SMALL, own_runs=[("kl-ucb", 3), ("ucb1", 2)])
    figure = figure1(tmp_path, few, progress=False)
    assert few.own_runs == (("ucb1", 2), ("kl-ucb", 3))
    runs = {row.policy: row.runs for row in figure.rows}
    assert runs == {"ucb1": 2, "ucb-v": 5, "kl-ucb": 3, "thompson": 5, DEFAULT: 5}
    assert Figure1.read(tmp_path).study.own_runs == few.own_runs
    with pytest.raises(cr.StoreError, match=r"runs of kl-ucb 3 there, 4 here"):
        figure1(tmp_path, TwoArms(**SMALL, own_runs=[("kl-ucb", 4), ("ucb1", 2)]))


def test_cells_of_another_grid_may_have_other_runs(
    simulator: Any, study: TwoArms, tmp_path: Path
) -> None:
    figure1(tmp_path, study, progress=False)
    changes = {"variances": (0.02,), "curves": (), "runs": 9, "default_runs": 5}
    figure1(tmp_path, TwoArms(**{**SMALL, **changes}), progress=False)
    read = Figure1.read(tmp_path)
    assert {cell.v1: tile.rows["ucb1"].runs for cell, tile in read.tiles.items()} == {
        0.02: 9, 0.05: 5, 0.1: 5,
    }  # fmt: skip
    assert read.study.runs == 9
    assert "5 to 9 runs of 100 draws" in read.plot().get_suptitle()


def test_files_without_the_default_are_not_taken_for_files_with_it(
    simulator: Any, study: TwoArms, tmp_path: Path
) -> None:
    figure1(tmp_path, TwoArms(**SMALL, default_runs=0), progress=False)
    with pytest.raises(cr.StoreError, match="default-runs 0 there, 5 here"):
        figure1(tmp_path, study, progress=False)


def test_a_file_of_somebody_else_is_left_alone(
    simulator: Any, study: TwoArms, tmp_path: Path
) -> None:
    (tmp_path / CELLS).write_text("date,price\n2014-06-21,3.5\n")
    with pytest.raises(cr.StoreError, match="is not a file of this figure: its first line is"):
        figure1(tmp_path, study, progress=False)
    assert "price" in (tmp_path / CELLS).read_text()


def test_a_line_that_is_no_row_is_named(simulator: Any, study: TwoArms, tmp_path: Path) -> None:
    figure1(tmp_path, study, progress=False)
    lines = (tmp_path / CELLS).read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace("100", "a hundred")
    (tmp_path / CELLS).write_text("".join(lines))
    with pytest.raises(cr.StoreError, match="line 4 is not a row of this figure"):
        figure1(tmp_path, study, progress=False)


def test_what_was_never_run_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(cr.StoreError, match=r"there is no finished cell in .*run the figure first"):
        Figure1.read(tmp_path)


def test_progress_is_a_line_for_each_cell(
    simulator: Any, study: TwoArms, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    simulator.fail_after = 3
    with pytest.raises(KeyboardInterrupt):
        figure1(tmp_path, study, progress=False)
    simulator.fail_after = 10**9
    lines: list[str] = []
    figure1(tmp_path, study, progress=lines.append)
    assert lines == [
        "3 of 5 cells are there already",
        "4 of 5 cells: V1 0.1, extra 0.05",
        "5 of 5 cells: V1 0.1, extra 0.1",
    ]
    with caplog.at_level(logging.INFO, "croupier"):
        figure1(tmp_path / "log", study)
    assert len(caplog.messages) == 5


def test_progress_can_be_a_bar(
    simulator: Any, study: TwoArms, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(figure1(tmp_path, study, progress=True).tiles) == 4
    assert capsys.readouterr().out == ""


# -- who wins


def tile(**numbers: tuple[float, float]) -> Tile:
    """Return a tile from the regret and standard error of policies, in which - is spelt _."""
    rows = {}
    for name, (regret, stderr) in numbers.items():
        policy = name.replace("_", "-")
        rows[policy] = Fig1CellRow(
            shape="uniform", v1=0.1, extra=0.1, policy=policy, runs=9, horizon=99, seed=1,
            regret=regret, stderr=stderr, suboptimal=0.0, p1=0.0, p99=0.0, cpu_seconds=0.0,
        )  # fmt: skip
    return Tile(Cell(0.1, 0.1), rows)


def test_the_winner_has_the_least_regret_of_the_four() -> None:
    won = tile(
        ucb1=(9, 0.1), ucb_v=(4, 0.1), kl_ucb=(6, 0.1), thompson=(5, 0.1),
        variance_thompson=(1, 0.1),
    )  # fmt: skip
    assert won.winner == "ucb-v"
    assert won.lead == 1.25
    assert not won.within_noise
    assert won.default_ratio == 0.25
    assert not won.default_within_noise


@pytest.mark.parametrize(("second", "noise"), [(5.9, True), (6.1, False)])
def test_a_win_is_within_noise_below_two_standard_errors_of_the_difference(
    second: float, noise: bool
) -> None:
    # sqrt(0.3^2 + 0.4^2) = 0.5: two standard errors are 1.
    close = tile(ucb1=(5, 0.3), ucb_v=(second, 0.4), kl_ucb=(9, 9), thompson=(9, 9))
    assert close.within_noise is noise
    assert np.isnan(close.default_ratio)
    assert not close.default_within_noise


def test_the_default_is_compared_with_the_winner_by_the_same_rule() -> None:
    others = {"ucb1": (9, 0.1), "ucb_v": (8, 0.1), "kl_ucb": (7, 0.1), "thompson": (5, 0.3)}
    assert tile(**others, variance_thompson=(5.9, 0.4)).default_within_noise
    assert not tile(**others, variance_thompson=(6.1, 0.4)).default_within_noise
