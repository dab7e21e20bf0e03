"""The file of a pilot beside a store: a killed pilot loses nothing, and another model is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.pilot_journal import Journal, journal_path

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

POINTS = np.arange(6.0).reshape(3, 2)


class Killed(BaseException):
    """What ends a process at once."""


def total(points: np.ndarray) -> np.ndarray:
    return np.asarray(points.sum(axis=1))


def never(points: np.ndarray) -> np.ndarray:
    raise AssertionError("evaluated again")


def written(path: Path, number: int = 3) -> None:
    journal = Journal(path, 7, begun=False)
    assert journal.decided(lambda: 0.25) == 0.25
    for k in range(number):
        journal.evaluated(POINTS + k, total)
    journal.close()


def test_what_was_evaluated_and_decided_is_read_back_in_order(tmp_path: Path) -> None:
    written(tmp_path / "run.db.pilot")
    journal = Journal(tmp_path / "run.db.pilot", 7, begun=True)
    assert journal.decided(lambda: 9.0) == 0.25
    assert (journal.evaluated(POINTS, total) == total(POINTS)).all()  # some points, to compare
    for k in (1, 2):
        assert (journal.evaluated(POINTS + k, never) == total(POINTS + k)).all()
    assert not journal.replaying


@pytest.mark.parametrize("cut", [1, 5, 20, 43])
def test_a_record_that_was_cut_off_is_evaluated_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "run.db.pilot"
    written(path)
    path.write_bytes(path.read_bytes()[:-cut])
    journal = Journal(path, 7, begun=False)
    journal.decided(lambda: 9.0)
    values = [journal.evaluated(POINTS + k, total) for k in range(4)]
    journal.close()
    assert all((each == total(POINTS + k)).all() for k, each in enumerate(values))
    again = Journal(path, 7, begun=True)
    again.decided(lambda: 9.0)
    again.evaluated(POINTS, total)
    for k in (1, 2, 3):
        again.evaluated(POINTS + k, never)


def test_a_damaged_byte_ends_the_file_there(tmp_path: Path) -> None:
    path = tmp_path / "run.db.pilot"
    written(path)
    content = bytearray(path.read_bytes())
    content[-30] ^= 1
    path.write_bytes(bytes(content))
    journal = Journal(path, 7, begun=False)
    journal.decided(lambda: 9.0)
    seen = [journal.evaluated(POINTS + k, total) for k in range(3)]
    assert all((each == total(POINTS + k)).all() for k, each in enumerate(seen))


def test_values_of_another_model_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "run.db.pilot"
    written(path)
    journal = Journal(path, 7, begun=False)
    journal.decided(lambda: 9.0)
    assert (journal.evaluated(POINTS, lambda x: -total(x)) == -total(POINTS)).all()
    journal.close()
    again = Journal(path, 7, begun=True)
    assert again.decided(lambda: 9.0) == 0.25  # decisions of the clock are not of a model
    assert (again.evaluated(POINTS, lambda x: -total(x)) == -total(POINTS)).all()


def test_other_points_in_the_middle_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "run.db.pilot")
    journal = Journal(tmp_path / "run.db.pilot", 7, begun=False)
    journal.decided(lambda: 9.0)
    journal.evaluated(POINTS, total)
    with pytest.raises(cr.StoreError, match="asked for other points"):
        journal.evaluated(POINTS + 0.5, total)


def test_a_file_that_is_not_ours_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.db.pilot"
    path.write_text("my thesis")
    with pytest.raises(cr.StoreError, match="is not the pilot of a run"):
        Journal(path, 7, begun=False)
    assert path.read_text() == "my thesis"


class Model:
    """A narrow posterior, far from its prior: two searches take some 100 000 evaluations."""

    def __init__(self, until: float = np.inf) -> None:
        self.evaluations, self.until = 0, until

    def __call__(self, points: np.ndarray) -> Any:
        if self.evaluations > self.until:
            raise Killed
        self.evaluations += len(points)
        return -0.5 * ((points - 2) ** 2).sum(axis=1) / 0.01


PRIOR = [st.uniform(-10, 20)] * 2


def run(model: Model, **settings: Any) -> cr.Result:
    settings = {"draws": 200_000, "rtol": 0.01, "rng": 7, "progress": False, **settings}
    return cr.evidence(model, PRIOR, vectorised=True, **settings)


def test_a_pilot_that_was_killed_continues_where_it_was(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    whole = Model()
    expected = run(whole, store=tmp_path / "other.db")
    pilot = expected.details["pilot"]["evaluations"]
    for _ in range(3):
        with pytest.raises(Killed):
            run(Model(0.2 * pilot), store=store)
    last = Model()
    result = run(last, store=store)
    assert result.log_value == expected.log_value
    assert result.details["pilot"]["evaluations"] == pilot
    # Three parts of at least a fifth each were made before; a killed level is made again.
    assert last.evaluations < whole.evaluations - 0.5 * pilot


def test_a_stored_run_that_goes_on_with_another_budget_has_the_same_arms(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    first = run(Model(), draws=60_000, rtol=None, store=store)
    more = run(Model(), draws=90_000, rtol=None, store=store)
    assert more.details["pilot"]["evaluations"] == first.details["pilot"]["evaluations"]
    assert more.draws > first.draws
    assert more.draws + more.details["pilot"]["evaluations"] <= 90_000


def test_the_file_is_beside_the_store(tmp_path: Path) -> None:
    run(Model(), store=tmp_path / "run.db")
    assert journal_path(tmp_path / "run.db").exists()
    assert journal_path(tmp_path / "run.db").name == "run.db.pilot"


def test_a_run_of_seconds_goes_on_with_more_seconds(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    first = run(Model(), draws=None, seconds=0.5, rtol=0.05, store=store)
    more = run(Model(), draws=None, seconds=60, rtol=0.002, store=store)
    assert [row.name for row in more.arms] == [row.name for row in first.arms]
    assert more.draws > first.draws
    assert more.details["pilot"] == first.details["pilot"]
