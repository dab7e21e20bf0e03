"""The reports of benchmarks: a table that grows row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import report


def test_only_rows_that_are_missing_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    report.write("runs", [{"problem": "a", "seed": 0, "error": 0.5}], ("problem", "seed"))
    measured: list[tuple[str, int]] = []

    def measure(problem: str, seed: int) -> dict[str, Any]:
        measured.append((problem, seed))
        return {"problem": problem, "seed": seed, "error": 0.1}

    wanted = [("a", 0), ("a", 1), ("b", 0)]
    report.fill("runs", ("problem", "seed"), wanted, measure)
    assert measured == [("a", 1), ("b", 0)]
    assert [row["error"] for row in report.read("runs")] == ["0.5", "0.1", "0.1"]
    assert capsys.readouterr().out.splitlines() == ["a  1  0.1", "b  0  0.1"]
