"""Figure 2 in small: the order of the policies, and the default beside the best arm."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import OptionPrice, figure2

POLICIES = ("uniform", "ucb1", "kl-ucb", "thompson")


@pytest.mark.slow
def test_thompson_beats_kl_ucb_and_that_beats_ucb1_at_every_strike(tmp_path: Path) -> None:
    study = OptionPrice(draws=(10_000,), runs=50, contestants=POLICIES)
    figure = figure2(tmp_path, study, progress=False)
    for strike in study.strikes:
        rows = {name: figure.row(strike, name, 10_000) for name in POLICIES}
        loss = {name: row.allocation for name, row in rows.items()}
        assert loss["thompson"] < loss["kl-ucb"] < loss["ucb1"] < loss["uniform"]
        assert loss["thompson"] <= 0.55 * loss["uniform"]
        for row in rows.values():
            # Squared errors agree with what the draws of the arms imply. Those of normal errors
            # have a standard deviation of sqrt(2) times their mean; 50 runs may show less of it.
            error = max(row.ratio_stderr, row.allocation * (2 / study.runs) ** 0.5)
            assert abs(row.ratio - row.allocation) <= 4 * error


@pytest.mark.slow
def test_the_default_is_close_to_the_best_arm_at_every_strike(tmp_path: Path) -> None:
    study = OptionPrice(draws=(10_000,), runs=300, contestants=("variance-thompson",))
    for row in figure2(tmp_path, study, progress=False).rows:
        assert row.allocation <= 1.10
        assert row.ratio <= 1.20 + 3 * row.ratio_stderr
        assert abs(row.mean - row.price) <= 4 * (row.nmse / row.draws / row.runs) ** 0.5
