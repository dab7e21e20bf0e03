"""The plainest calls give right answers, from the best arm, with a warning only where one is due.

Each `rows_*.py` has the calls of one door. To add a row, write a function of the seed there.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats

from tests.fair_clock import fair_clock
from tests.first_calls import (
    rows_estimate,
    rows_evidence,
    rows_integrate,
    rows_others,
    rows_probability,
    rows_seconds,
)
from tests.first_calls.row import Row, distance, play

DOORS: list[ModuleType] = [
    rows_estimate,
    rows_evidence,
    rows_seconds,
    rows_integrate,
    rows_probability,
    rows_others,
]
ROWS = [each for door in DOORS for each in vars(door).values() if isinstance(each, Row)]

every_row = pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])


@pytest.fixture(autouse=True)
def _an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with fair_clock():  # a budget in seconds must not go to what else runs on the machine
        yield


@every_row
def test_a_first_call_is_right(row: Row) -> None:
    if row.timed_by_workers:
        # The clock of a worker counts what runs beside it; only the slow test judges the share.
        row = replace(row, best=None)
    _, wrong = play(row, seed=1)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@every_row
def test_a_first_call_is_right_with_any_seed(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[int, list[str]] = {}
    squares = 0.0
    for seed in range(20):
        (folder := tmp_path / str(seed)).mkdir()
        monkeypatch.chdir(folder)
        result, found[seed] = play(row, seed)
        squares += 0.0 if row.off or result.warnings else distance(row, result) ** 2
    kinds = Counter(text.partition(":")[0] for texts in found.values() for text in set(texts))
    assert not kinds["z"], found
    # Ten draws, six of them zero, may tell nothing: then there must be a warning.
    assert kinds.pop("far", 0) <= 4, found
    assert max(kinds.values(), default=0) <= 1, found  # 95 % of the runs
    assert squares < stats.chi2.ppf(1 - 1e-5, 20), "the errors are larger than they say"


def test_there_is_a_row_for_every_kind_of_first_call() -> None:
    names = [row.name for row in ROWS]
    assert len(names) >= 80
    assert len(set(names)) == len(names)
