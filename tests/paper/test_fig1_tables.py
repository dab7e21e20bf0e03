"""The tables of the page on Figure 1 are made from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import paper_figures as tables
from paper import TwoArms, figure1


def test_the_tables_show_every_shape(
    simulator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    study: dict[str, Any] = {"variances": (0.01, 0.05), "runs": 20, "horizon": 1000}
    coin = TwoArms(**study, extras=(0.02, 0.2))
    figure1(tmp_path, coin, progress=False)
    figure1(tmp_path, TwoArms(**study, extras=(0.02, 0.2), shape="uniform"), progress=False)

    _, (coins, uniform) = tables.wins()
    assert coins[:3] == ["scaled-bernoulli", "20 x 1,000", "4"]
    assert coins[3:8] == ["0 (0)", "0 (0)", "0 (0)", "4 (0)", "4"]
    assert uniform[2] == "2"
