"""Figure 2: what is asked of a contestant, what is made of its estimates, files, command line."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import croupier as cr
from croupier.errors import PlanError, StoreError
from paper import Figure2, OptionPrice, figure2
from paper import fig2_contest as contest
from paper.__main__ import app
from paper.cir import Caplet, Exact
from paper.fig2_contest import Asked, Estimates
from paper.fig2_study import Part, rows_of
from paper.study import PAPER

EXACT = Exact(2.0, (0.0, 1.0), np.array([4.0, 1.0]))


class Everybody:
    """Stands in for the contestants: normal estimates; counts, and fails if it is told to."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.fail_after = 10**9

    def __call__(self, asked: Asked) -> Estimates:
        if len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked.append(asked)
        rng = np.random.default_rng(asked.seed)
        variance = asked.exact.variances.min()
        noise = rng.standard_normal((asked.runs, len(asked.draws)))
        return Estimates(asked.exact.price + noise * np.sqrt(variance / np.array(asked.draws)))


@pytest.fixture
def everybody(monkeypatch: pytest.MonkeyPatch) -> Everybody:
    stand_in = Everybody()
    for name in contest.CONTESTANTS:
        monkeypatch.setitem(contest.CONTESTANTS, name, stand_in)
    return stand_in


@pytest.fixture
def study() -> OptionPrice:
    return OptionPrice(strikes=(0.07, 0.08), draws=(100, 400), contestants=("ucb1", "best arm"),
                       runs=50)  # fmt: skip


# -- the study


def test_the_paper_has_three_strikes_and_1000_runs_and_quick_is_smaller() -> None:
    paper = OptionPrice()
    assert (paper.strikes, paper.runs, paper.width) == ((0.06, 0.07, 0.08), 1000, 3.0)
    assert (paper.draws[0], paper.draws[-1]) == (100, 100_000)
    assert len(paper.parts) == 3 * len(contest.CONTESTANTS)
    assert {"ucb1", "ucb-v", "kl-ucb", "thompson", "uniform", "best arm"} < set(paper.contestants)
    assert OptionPrice.quick(runs=7).draws[-1] == 10_000


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"contestants": ["nobody"]}, "there is no contestant 'nobody'; there are uniform, ucb1"),
        ({"contestants": []}, "needs a strike, a number of draws and a contestant"),
        ({"strikes": [-1.0]}, "strike must be"),
        ({"draws": [20]}, "draws must be at least 32"),
        ({"runs": 1}, "runs must be at least 2"),
        ({"width": 0}, "width must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_a_bad_study_is_named(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(PlanError, match=complaint):
        OptionPrice(**changes)


def test_a_part_has_a_seed_of_its_own_that_the_rest_of_the_study_does_not_change() -> None:
    one, other = OptionPrice(), OptionPrice(strikes=(0.08,), contestants=("ucb1",))
    part = Part(0.08, "ucb1")
    assert one.asked(part, EXACT).seed == other.asked(part, EXACT).seed
    assert one.asked(part, EXACT).seed != one.asked(Part(0.07, "ucb1"), EXACT).seed
    assert one.asked(part, EXACT).seed != one.asked(Part(0.08, "thompson"), EXACT).seed


def test_rows_are_n_times_the_squared_error_and_what_the_counts_imply() -> None:
    study = OptionPrice(draws=(100, 400), runs=2)
    values = np.array([[2.1, 2.0], [1.7, 2.2]])
    pulls = np.array([[[20, 80], [100, 300]], [[40, 60], [100, 300]]])
    part = Part(0.07, "ucb1")
    first, second = rows_of(study, part, EXACT, Estimates(values, pulls), 3.5)
    assert first.nmse == pytest.approx(100 * (0.01 + 0.09) / 2)
    assert first.stderr == pytest.approx(100 * 0.08 / math.sqrt(2) / math.sqrt(2))
    assert first.ratio == first.nmse  # V* is 1
    # Shares of 0.3 and 0.7 on the average: 0.3 * 4 + 0.7 * 1.
    assert first.allocation == pytest.approx(1.9)
    assert second.allocation == pytest.approx(0.25 * 4 + 0.75)
    assert (first.mean, first.draws, first.cpu_seconds) == (pytest.approx(1.9), 100, 3.5)
    weighted = rows_of(study, part, EXACT, Estimates(values, pulls, weighted=True), 0.0)
    assert weighted[1].allocation == pytest.approx(400 / (100 / 4 + 300))
    assert math.isnan(rows_of(study, part, EXACT, Estimates(values), 0.0)[0].allocation)


# -- contestants


def test_the_paper_s_policies_are_simulated_with_the_range_and_clipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[dict[str, Any]] = []

    class Runs:
        means = np.ones((5, 1))
        pulls = np.full((5, 1, 2), 50)

    def simulate(problem: Any, policies: Any, **settings: Any) -> dict[str, Any]:
        calls.append({"problem": problem, "policy": policies["it"], **settings})
        return {"it": Runs()}

    monkeypatch.setattr(cr, "simulate", simulate)
    asked = Asked(Caplet(), EXACT, (100,), 5, seed=3, width=2.5)
    for name in (*PAPER, "uniform"):
        assert contest.CONTESTANTS[name](asked).pulls is Runs.pulls
    for call in calls:
        assert call["problem"].bounds == (0.0, 5.0)
        assert call["problem"].parameters[:, 8].tolist() == [0.0, 1.0]
        assert (call["runs"], call["horizon"], call["rng"], call["means"]) == (5, 100, 3, True)
    assert all(call["policy"].clip for call in calls[:4])
    alone = contest.CONTESTANTS[contest.BEST](asked)
    assert len(calls[-1]["problem"]) == 1
    assert calls[-1]["problem"].parameters[0, 8] == 1.0
    assert alone.pulls is not None
    assert alone.pulls[:, 0].tolist() == [[0, 100]] * 5


def test_the_default_runs_anew_for_every_number_of_draws() -> None:
    caplet = Caplet(0.08, steps=2)
    asked = Asked(caplet, caplet.exact([0.5, 1.2]), (40, 90), 30, seed=3)
    done = contest.CONTESTANTS[contest.DEFAULT](asked)
    assert done.weighted
    assert done.pulls is not None
    assert (done.pulls.sum(axis=2) == [40, 90]).all()
    assert len(np.unique(done.values)) == 60
    price = asked.exact.price
    errors = done.values.std(axis=0) / math.sqrt(30)
    assert (np.abs(done.values.mean(axis=0) - price) <= 5 * errors).all()


@pytest.mark.parametrize("name", ["pmc-100", "pmc-printed-100"])
def test_population_monte_carlo_estimates_the_price_after_any_number_of_draws(name: str) -> None:
    caplet = Caplet(0.08, steps=2)
    asked = Asked(caplet, caplet.exact([0.0, 0.5, 1.2]), (40, 130, 300), 120, seed=3)
    values = contest.CONTESTANTS[name](asked).values
    assert values.shape == (120, 3)
    assert len(np.unique(values)) == values.size
    errors = values.std(axis=0) / math.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - asked.exact.price) <= 4 * errors).all()


# -- files


def test_a_figure_is_measured_once_and_read_back(
    everybody: Everybody, study: OptionPrice, tmp_path: Path
) -> None:
    figure = figure2(tmp_path, study, progress=False)
    assert len(everybody.asked) == 4
    assert len(figure.rows) == 8
    again = figure2(tmp_path, study, progress=False)
    assert repr(again) == repr(figure)  # a NaN is not equal to itself
    assert len(everybody.asked) == 4
    again = Figure2.read(tmp_path)
    assert [row.part for row in again.rows] == [row.part for row in figure.rows]
    assert again.study == study
    # n MSE/V* is 1 within 4 standard errors, sqrt(2/50) each.
    assert all(abs(row.ratio - 1) < 4 * math.sqrt(2 / 50) for row in figure.rows)
    assert figure.row(0.08, "ucb1", 400).draws == 400
    with pytest.raises(KeyError, match="'uniform' was not measured"):
        figure.row(0.08, "uniform", 400)


def test_a_figure_that_was_cut_goes_on_with_the_same_numbers(
    everybody: Everybody, study: OptionPrice, tmp_path: Path
) -> None:
    whole = figure2(tmp_path / "whole", study, progress=False)
    everybody.fail_after = len(everybody.asked) + 2
    with pytest.raises(KeyboardInterrupt, match="stopped after 2 of 4 parts"):
        figure2(tmp_path / "cut", study, progress=False)
    everybody.fail_after = 10**9
    path = tmp_path / "cut" / "fig2.csv"
    path.write_text(path.read_text()[:-20])  # and a kill within the last row
    said: list[str] = []
    again = figure2(tmp_path / "cut", study, progress=said.append)
    assert said[0] == "1 of 4 parts are there already"
    assert said[-1] == "4 of 4 parts: best arm, strike 0.08"
    for one, other in zip(again.rows, whole.rows, strict=True):
        assert (one.part, one.draws, one.nmse) == (other.part, other.draws, other.nmse)


def test_contestants_can_join_later(
    everybody: Everybody, study: OptionPrice, tmp_path: Path
) -> None:
    figure2(tmp_path, study, progress=False)
    more = OptionPrice(study.strikes, study.draws, 50, (*study.contestants, "thompson"))
    assert len(figure2(tmp_path, more, progress=False).rows) == 12
    assert len(everybody.asked) == 6


def test_a_file_of_other_settings_is_refused_and_fresh_removes_it(
    everybody: Everybody, study: OptionPrice, tmp_path: Path
) -> None:
    figure2(tmp_path, study, progress=False)
    other = OptionPrice(study.strikes, (100, 500), 60, study.contestants, width=2.0, seed=1)
    with pytest.raises(StoreError, match=r"runs 50 there, 60 here; range 3.0 there, 2.0 here"):
        figure2(tmp_path, other, progress=False)
    with pytest.raises(StoreError, match="draws 400 there, 100, 500 here"):
        figure2(tmp_path, OptionPrice(study.strikes, (100, 500), 50, study.contestants))
    assert figure2(tmp_path, other, fresh=True, progress=False).study == other


def test_a_bank_is_a_setting_and_contestants_of_other_runs_may_join(
    everybody: Everybody, study: OptionPrice, tmp_path: Path
) -> None:
    banked = replace(study, strikes=(0.08,), bank=64)
    figure2(tmp_path, banked, progress=False)
    assert [asked.bank is not None for asked in everybody.asked] == [True, True]
    with pytest.raises(StoreError, match="bank 64 there, 0 here"):
        figure2(tmp_path, replace(banked, bank=0), progress=False)
    figure2(tmp_path, replace(banked, runs=60, contestants=("thompson",)), progress=False)
    read = Figure2.read(tmp_path)
    assert read.study.bank == 64
    assert {row.contestant: row.runs for row in read.rows} == {
        "ucb1": 50, "best arm": 50, "thompson": 60,
    }  # fmt: skip
    assert {row.price for row in read.rows} == {everybody.asked[0].exact.price}
    assert "50 to 60 runs" in read.plot().get_suptitle()


# -- picture and command line


def test_the_picture_has_a_panel_per_strike_and_a_line_for_everybody(
    everybody: Everybody, study: OptionPrice, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    figure = figure2(tmp_path, study, progress=False).plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["strike 0.07", "strike 0.08"]
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["UCB1", "best arm in hindsight"]
    line = figure.axes[0].get_lines()[1]
    row = Figure2.read(tmp_path).row(0.07, "ucb1", 400)
    assert line.get_ydata()[1] == pytest.approx(row.ratio)


def fig2(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["figure2", *arguments])


def test_the_command_writes_data_and_picture_and_prints_the_losses(
    everybody: Everybody, tmp_path: Path
) -> None:
    small = ("--runs", "5", "--draws", "200", "--strike", "0.08", "--out", str(tmp_path))
    done = fig2(*small, "--seed", "0", "--range", "2")
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {"fig2.csv", "fig2.png"}
    assert "croupier's default" in done.stdout
    assert "n = 200" in done.stdout
    assert f"{len(contest.CONTESTANTS)} of {len(contest.CONTESTANTS)} parts" in done.stderr
    row = Figure2.read(tmp_path).rows[0]
    assert (row.seed, row.width, row.runs) == (0, 2.0, 5)
    (tmp_path / "fig2.png").unlink()
    everybody.fail_after = 0
    done = fig2("--plot-only", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "fig2.png").read_bytes().startswith(b"\x89PNG")


def test_an_interrupt_says_how_to_go_on(everybody: Everybody, tmp_path: Path) -> None:
    everybody.fail_after = 1
    done = fig2("--full", "--runs", "5", "--out", str(tmp_path))
    assert done.exit_code == 130
    assert f"stopped after 1 of {3 * len(contest.CONTESTANTS)} parts" in done.stderr
    assert everybody.asked[0].draws[-1] == 100_000


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--contestant", "nobody"], "there is no contestant 'nobody'"),
        (["--runs", "0"], "runs must be a whole number of at least 1"),
        (["--range", "0"], "width must be"),
        (["--draws", "20"], "draws must be at least 32"),
        (["--plot-only", "--out", "nowhere"], "there is no finished part in nowhere"),
    ],
)
def test_an_error_is_one_line(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = fig2(*arguments)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert complaint in done.stderr
    assert not list(tmp_path.iterdir())
