"""The study of Figure 1: its grid, what of it is possible, its seeds."""

from __future__ import annotations

from typing import Any

import pytest

import croupier as cr
from croupier.policies import as_policy
from paper import TwoArms
from paper.fig1_study import Cell, cell_from, grid_from
from paper.study import DEFAULT, PAPER


def test_the_full_study_is_that_of_the_paper() -> None:
    study = TwoArms()
    assert (study.runs, study.horizon, len(study.cells)) == (2000, 10**6, 100)
    assert study.variances == study.extras
    assert study.variances[:2] == (0.0125, 0.025)
    assert study.variances[-1] == 0.125
    assert not study.impossible
    assert study.policies == ("ucb1", "ucb-v", "kl-ucb", "thompson", "variance-thompson")


def test_the_quick_study_takes_some_cells_of_the_full_one() -> None:
    quick = TwoArms.quick()
    assert set(quick.cells) < set(TwoArms().cells)
    assert (quick.runs, quick.horizon) == (200, 10**5)


def test_the_fifth_policy_is_the_default() -> None:
    assert as_policy("auto").name == DEFAULT
    assert DEFAULT not in PAPER


@pytest.mark.parametrize(
    ("text", "variances", "extras"),
    [
        ("0.0125:0.125:10", TwoArms().variances, TwoArms().variances),
        ("0.1,0.05, 0.2", (0.05, 0.1, 0.2), (0.05, 0.1, 0.2)),
        ("0.01:0.02:2x0.1", (0.01, 0.02), (0.1,)),
        ("1e-3", (0.001,), (0.001,)),
        ("0.1,0.1", (0.1,), (0.1,)),
    ],
)
def test_a_grid_is_a_range_or_a_list_for_one_axis_or_both(
    text: str, variances: tuple[float, ...], extras: tuple[float, ...]
) -> None:
    assert grid_from(text) == (variances, extras)


@pytest.mark.parametrize(
    "text",
    ["", "a", "0.1:0.2", "0.1:0.2:2.5", "0.1:0.2:-1", "0.1x0.2x0.3", "0.1,", "0.1:0.2:2:3"],
)
def test_what_is_no_grid_is_shown_one(text: str) -> None:
    with pytest.raises(cr.PlanError, match=r"grid must be like 0.0125:0.125:10"):
        grid_from(text)


@pytest.mark.parametrize("text", ["0", "-0.1", "nan", "inf", "0.1:0.2:0", "0:0.1:3"])
def test_a_grid_without_variances_above_zero_is_refused(text: str) -> None:
    with pytest.raises(cr.PlanError, match="grid must be"):
        grid_from(text)


@pytest.mark.parametrize("text", ["0.1", "0.1,0.2,0.3", "a,b", ""])
def test_what_is_no_cell_is_shown_one(text: str) -> None:
    with pytest.raises(cr.PlanError, match=r"cell must be V1,EXTRA, such as 0.08,0.1"):
        cell_from(text)


@pytest.mark.parametrize(
    ("shape", "possible"), [("scaled-bernoulli", 100), ("uniform", 15), ("truncated-normal", 15)]
)
def test_cells_that_no_draws_have_are_left_out_and_said_so(shape: Any, possible: int) -> None:
    study = TwoArms(shape=shape)
    assert (len(study.cells), len(study.impossible)) == (possible, 100 - possible)
    limit = 1 / 4 if shape == "scaled-bernoulli" else 1 / 12
    assert all(sum(cell) <= limit for cell in study.cells)
    assert all(sum(cell) > limit for cell in study.impossible)
    said = study.explain_impossible()
    assert said == "" if possible == 100 else said.startswith("85 of 100 cells are left out")


def test_a_coin_may_have_the_largest_variance_of_all() -> None:
    study = TwoArms(variances=(0.125, 0.13), extras=(0.125,))
    assert study.cells == ((0.125, 0.125),)
    assert study.explain_impossible().startswith("1 of 2 cells is left out")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"shape": "cube"}, "shape must be one of 'scaled-bernoulli'"),
        ({"runs": 1}, "runs must be at least 2, got 1"),
        ({"runs": 2.5}, "runs must be a whole number"),
        ({"horizon": 5}, "horizon must be at least 10, got 5"),
        ({"default_runs": 1}, "default_runs must be 0 or at least 2"),
        ({"default_runs": -3}, "default_runs must be a whole number"),
        ({"own_runs": [("moss", 5)]}, "a policy of the paper is one of ucb1, .*got 'moss'"),
        ({"own_runs": [("ucb1", 1)]}, "the runs of ucb1 must be at least 2, got 1"),
        ({"seed": -1}, "seed must be a non-negative integer"),
        ({"curves": [(0.2, 0.2)]}, "cell 0.2,0.2 is not possible with scaled-bernoulli arms"),
        ({"curves": [(0.2,)]}, "a cell must be a pair"),
        ({"variances": ()}, "variances must be one or more"),
        ({"extras": (-0.1,)}, "extras must be a finite number above 0"),
        ({"shape": "uniform", "variances": (0.1,)}, "no cell of the grid is possible"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(cr.PlanError, match=complaint):
        TwoArms(**changes)


def test_the_default_may_have_fewer_runs_or_none() -> None:
    assert TwoArms(runs=50).runs_of(DEFAULT) == 50
    fewer = TwoArms(runs=50, default_runs=20)
    assert [fewer.runs_of(policy) for policy in fewer.policies] == [50, 50, 50, 50, 20]
    assert TwoArms(default_runs=0).policies == PAPER


def test_the_seed_of_a_cell_depends_on_the_cell_and_the_seed_alone() -> None:
    full, other = TwoArms(seed=7), TwoArms(seed=7, variances=(0.1,), extras=(0.05, 0.1), runs=9)
    assert full.cell_seed(Cell(0.1, 0.05)) == other.cell_seed(Cell(0.1, 0.05))
    seeds = [full.cell_seed(cell, group) for cell in full.cells for group in (0, 1)]
    assert len(set(seeds)) == 200
    assert not set(seeds) & {TwoArms(seed=8).cell_seed(cell) for cell in full.cells}


def test_times_are_logarithmic_and_end_at_the_horizon() -> None:
    times = TwoArms(horizon=12345).times
    assert times[-1] == 12345
    assert list(times) == sorted(set(times))
    assert TwoArms(horizon=10).times == (2, 3, 4, 5, 6, 7, 8, 9, 10)
