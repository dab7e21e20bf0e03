"""The runner of benchmarks: a full run continues, a quick one leaves the pages alone."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import pages, runner
from benchmarks.runner import Benchmark, read, run, write

MODULES = [name for names in runner.SUITES.values() for name in names]


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Folders in the place of docs/benchmarks and build/benchmarks."""
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "docs")
    monkeypatch.setattr(runner, "BUILD", tmp_path / "build")
    return tmp_path


def squares(fails_at: int = -1) -> tuple[Benchmark, list[int]]:
    """A benchmark of numbers and their squares, and the numbers that were measured."""
    measured: list[int] = []

    def measure(number: int) -> dict[str, Any]:
        if number == fails_at:
            raise KeyboardInterrupt
        measured.append(number)
        return {"number": number, "square": number**2}

    cells: Callable[[bool], Any] = lambda full: ((k,) for k in range(4 if full else 2))  # noqa: E731
    return Benchmark("squares", ("number",), cells, measure), measured


def test_a_full_run_that_was_interrupted_continues(folders: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(squares(fails_at=2)[0], full=True)
    again, measured = squares()
    run(again, full=True)
    assert measured == [2, 3]
    assert [row["square"] for row in read("squares")] == ["0", "1", "4", "9"]
    again, measured = squares()
    run(again, full=True)
    assert measured == []
    run(again, full=True, again=True)
    assert measured == [0, 1, 2, 3]


def test_a_quick_run_is_made_anew_and_leaves_the_pages_alone(folders: Path) -> None:
    benchmark, measured = squares()
    for _ in range(2):
        rows = run(benchmark, full=False)
    assert measured == [0, 1, 0, 1]
    assert [row["square"] for row in rows] == ["0", "1"]
    assert read("squares") == []


def test_a_part_of_a_name_chooses_rows(folders: Path) -> None:
    benchmark, measured = squares()
    run(benchmark, full=True, only="3")
    assert measured == [3]
    run(benchmark, full=True, only="squares")
    assert measured == [3, 0, 1, 2]


def test_new_rows_take_the_place_of_those_with_their_key(folders: Path) -> None:
    write("some", [{"a": k, "b": 0} for k in range(3)], ("a",))
    write("some", [{"a": 1, "b": 5}, {"a": 1, "b": 6}], ("a",))
    assert [(row["a"], row["b"]) for row in read("some")] == [
        ("0", "0"), ("1", "5"), ("1", "6"), ("2", "0")
    ]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_every_cell_is_a_call_of_its_measure_with_the_key_first(module: str) -> None:
    for benchmark in import_module(f"benchmarks.{module}").BENCHMARKS:
        signature = inspect.signature(benchmark.measure)
        quick, full = (list(benchmark.cells(full)) for full in (False, True))
        assert 0 < len(quick) <= len(full)
        for cell in (*quick, *full):
            signature.bind(*cell)
        keys = [tuple(map(str, cell[: len(benchmark.key)])) for cell in full]
        assert len(set(keys)) == len(keys)
        rows = runner.read(benchmark.name)
        assert not rows or set(benchmark.key) <= set(rows[0])


@pytest.mark.parametrize("module", ["runner", "pages", *MODULES])
def test_the_examples_of_the_benchmarks_hold(module: str) -> None:
    assert not doctest.testmod(import_module(f"benchmarks.{module}")).failed


def test_every_table_is_empty_before_anything_was_measured(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import paper_figures

    monkeypatch.setattr(paper_figures, "FOLDER", folders)
    assert {pages.markdown(*table()) for table in pages.tables().values()} == {""}
