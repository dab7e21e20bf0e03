"""The tables of the page on Figure 1 are made from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import figure1 as tables
from benchmarks import pages, report
from paper import TwoArms, figure1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    return tmp_path


NAMES = [name for name in pages.TABLES if name.startswith("fig1-")]


@pytest.mark.parametrize("name", NAMES)
def test_before_anything_was_measured_a_table_is_empty(folder: Path, name: str) -> None:
    assert pages.TABLES[name]() == ""


def test_the_tables_show_every_cell_shape_and_curve(simulator: Any, folder: Path) -> None:
    study: dict[str, Any] = {"variances": (0.01, 0.05), "runs": 20, "horizon": 1000}
    coin = TwoArms(**study, extras=(0.02, 0.2))
    figure = figure1(folder, coin, progress=False)
    figure1(folder / tables.LOG, coin, progress=False)
    figure1(folder, TwoArms(**study, extras=(0.02, 0.2), shape="uniform"), progress=False)

    _, (coins, uniform) = tables.wins()
    assert coins[:3] == ["scaled-bernoulli", "20 x 1,000", "4"]
    assert coins[3:8] == ["0 (0)", "0 (0)", "0 (0)", "4 (0)", "4"]
    assert uniform[2] == "2"

    header, rows = tables.winners()
    assert header == ["extra \\ V1", "0.01", "0.05"]
    assert rows == [["**0.2**", "Thompson", "Thompson"], ["**0.02**", "Thompson", "Thompson"]]

    _, rows = tables.kl_ucb_over_ucb_v()
    policies = figure.tiles[0.05, 0.02].rows  # type: ignore[index]
    assert rows[1][2] == f"{policies['kl-ucb'].regret / policies['ucb-v'].regret:.2f}"

    _, rows = tables.curves()
    assert [row[:2] for row in rows[:2]] == [["0.08, 0.1", "UCB1"], ["0.08, 0.1", "UCB-V"]]
    assert len(rows) == 10
    _, rows = tables.log_runs()
    assert rows[0][:4] == ["UCB1", "0.02 to 0.2", "4", "20"]
    for name in NAMES:
        assert pages.TABLES[name]().startswith("| ")
