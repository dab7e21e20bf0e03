"""Figure 1 with the simulator itself, in small: the files hold what was simulated."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import croupier as cr
from paper import Figure1, TwoArms, figure1
from paper.fig1_study import Cell


@pytest.mark.parametrize("shape", ["scaled-bernoulli", "truncated-normal", "uniform"])
def test_every_shape_is_simulated_to_the_horizon(shape: Any, tmp_path: Path) -> None:
    study = TwoArms(
        shape=shape, variances=(0.02,), extras=(0.04,), curves=[(0.02, 0.04)], runs=4, horizon=500
    )
    figure = figure1(tmp_path, study, progress=False)
    (tile,) = figure.tiles.values()
    assert set(tile.rows) == set(study.policies)
    for row in tile.rows.values():
        assert 1 <= row.p1 <= row.suboptimal <= row.p99 < 500
        assert row.regret == pytest.approx(0.04 * row.suboptimal)
        assert row.stderr > 0
        assert row.cpu_seconds >= 0
    assert {row.time for row in figure.curves} == set(study.times)
    assert Figure1.read(tmp_path, shape).rows == figure.rows


def test_the_curve_of_a_cell_ends_where_its_tile_is(tmp_path: Path) -> None:
    study = TwoArms(variances=(0.05,), extras=(0.1,), curves=[(0.05, 0.1)], runs=30, horizon=3000)
    figure = figure1(tmp_path, study, progress=False)
    ends = {row.policy: row for row in figure.curves if row.time == 3000}
    for policy, row in figure.tiles[Cell(0.05, 0.1)].rows.items():
        # Recording more often may draw other numbers, of the same law: 6 standard errors.
        error = (ends[policy].stderr ** 2 + (row.stderr / 0.1) ** 2) ** 0.5
        assert abs(ends[policy].suboptimal - row.suboptimal) <= 6 * error


def test_threads_change_no_number(tmp_path: Path) -> None:
    study = TwoArms(variances=(0.05,), extras=(0.1,), curves=(), runs=8, horizon=1000)
    one, two = (
        figure1(tmp_path / str(threads), study, threads=threads, progress=False).rows
        for threads in (1, 2)
    )
    assert [(row.policy, row.regret, row.stderr) for row in one] == [
        (row.policy, row.regret, row.stderr) for row in two
    ]


def test_the_paper_is_right_about_a_cell_of_high_variance(tmp_path: Path) -> None:
    """Each of the four is ahead of the next by more than 4 standard errors at this seed."""
    study = TwoArms(variances=(0.08,), extras=(0.1,), curves=(), runs=200, horizon=100_000)
    rows = figure1(tmp_path, study, progress=False).tiles[Cell(0.08, 0.1)].rows
    order = [rows[policy] for policy in ("thompson", "kl-ucb", "ucb-v", "ucb1")]
    for better, worse in pairwise(order):
        error = (better.stderr**2 + worse.stderr**2) ** 0.5
        assert worse.regret - better.regret > 4 * error


def test_a_variance_that_no_arm_can_have_is_refused_by_the_simulator_too() -> None:
    with pytest.raises(cr.PlanError):
        cr.simulator.scaled_bernoulli([0.1, 0.3])
