"""croupier merge, export, report, copy, compare and show --json."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from croupier.results.exporting import history_parquet, safe_cell
from tests.conftest import fine, rough


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    cr.estimate({"=HYPERLINK(1)": rough, "fine": fine}, draws=2000, rng=7, store=path)
    return path


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_arms_and_batches_as_csv(store: Path, tmp_path: Path) -> None:
    arms, batches = tmp_path / "arms.csv", tmp_path / "batches.csv"
    assert invoke("export", store, "--csv", arms, "--history", batches).exit_code == 0
    result = cr.open_run(store).result()
    rows = rows_of(arms.read_text())
    assert [row["name"] for row in rows] == ["'=HYPERLINK(1)", "fine"]
    assert [int(row["draws"]) for row in rows] == [row.draws for row in result.arms]
    assert float(rows[1]["mean"]) == result.arms["fine"].mean
    rows = rows_of(batches.read_text())
    assert len(rows) == len(result.history)
    assert float(rows[-1]["cost"]) == result.cost


def test_vectors_have_a_column_for_every_named_component(tmp_path: Path) -> None:
    def pair(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal([1.0, 2.0], 1.0, (size, 2))

    path = tmp_path / "run.db"
    cr.estimate({"a": pair}, draws=200, rng=7, names=["price", "-delta"], store=path)
    rows = rows_of(invoke("export", path, "--csv", "-").output)
    assert {"mean_price", "mean_-delta", "variance_price"} <= set(rows[0])


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", " =1", "\t=1"])
def test_a_text_that_looks_like_a_formula_gets_an_apostrophe(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"
    assert safe_cell(-1.0) == -1.0


def test_json_on_the_standard_output_is_the_whole_result(store: Path) -> None:
    said = json.loads(invoke("export", store, "--json", "-").output)
    assert said["schema"] == "croupier.result"
    assert json.loads(invoke("show", store, "--json").output)["value"] == said["value"]


def test_netcdf_is_read_by_xarray(store: Path, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "run.nc"
    done = invoke("export", store, "--netcdf", path)
    assert done.exit_code == 0, done.stderr
    with xarray.open_dataset(path) as data:
        assert float(data["value"]) == cr.open_run(store).result().value


def test_what_is_not_installed_is_said_in_one_line(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")

    def without_an_engine(*_: Any) -> None:
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pandas.DataFrame, "to_parquet", without_an_engine)
    done = invoke("export", store, "--parquet", tmp_path / "run.parquet")
    assert done.exit_code == 2
    assert done.stderr == 'error: Parquet needs pyarrow: pip install ".[parquet]"\n'


def test_parquet_is_read_by_pandas(store: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    result = cr.open_run(store).result()
    frame = pandas.read_parquet(io.BytesIO(history_parquet(result)))
    assert frame["cost"].iloc[-1] == result.cost


def test_export_needs_something_to_write(store: Path) -> None:
    done = invoke("export", store)
    assert done.exit_code == 2
    assert "nothing to write" in done.stderr


def test_a_copy_of_a_running_store_has_all_outcomes_of_its_moment_and_goes_on(
    tmp_path: Path, bits: Callable[[cr.Result], Any]
) -> None:
    path, copy, arms = tmp_path / "run.db", tmp_path / "copy.db", {"rough": rough, "fine": fine}
    settings: dict[str, Any] = {"draws": 300, "batch": "one", "rng": 7}

    def copied(progress: cr.Progress) -> None:
        if progress.tickets == 100:
            assert invoke("copy", path, copy).exit_code == 0
            assert cr.open_run(copy).status.tickets == 100
            assert not [*tmp_path.glob("copy.db-*"), *tmp_path.glob(".*")]

    whole = cr.estimate(arms, store=path, callback=copied, **settings)
    assert bits(cr.estimate(arms, store=copy, **settings)) == bits(whole)


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_copy_replaces_nothing(end: str, store: Path, tmp_path: Path) -> None:
    mine = tmp_path / f"copy.db{end}"
    mine.write_text("mine")
    done = invoke("copy", store, tmp_path / "copy.db")
    assert done.exit_code == 2
    assert mine.name in done.stderr
    assert mine.read_text() == "mine"
    assert set(tmp_path.iterdir()) == {store, mine}


def test_a_store_is_not_copied_onto_itself_or_from_nowhere(store: Path, tmp_path: Path) -> None:
    before = store.read_bytes()
    assert "run.db exists already" in invoke("copy", store, store).stderr
    assert store.read_bytes() == before
    assert "does not exist" in invoke("copy", tmp_path / "none.db", tmp_path / "copy.db").stderr


def test_runs_are_merged(tmp_path: Path) -> None:
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for seed, path in enumerate(paths):
        cr.estimate({"rough": rough, "fine": fine}, draws=1000, rng=seed, store=path)
    done = invoke("merge", *paths, "--json", "--report", tmp_path / "both.html")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["draws"] == 2000
    assert (tmp_path / "both.html").exists()
    assert "merged from 2 runs" in invoke("merge", *paths).output
    assert invoke("merge", paths[0], paths[0]).exit_code == 2


def test_a_report_of_a_stored_run(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert invoke("report", store, page).exit_code == 0
    assert "<html" in page.read_text()[:200]
    assert invoke("report", tmp_path / "none.db", page).exit_code == 2


ARMS = """
import numpy as np
def rough(rng, size):
    return rng.normal(1.0, 1.0, size)
def fine(rng, size):
    return rng.normal(1.0, 0.1, size)
def biased(rng, size):
    return rng.normal(2.0, 0.1, size)
arms = {"rough": rough, "fine": fine}
bad = {"rough": rough, "biased": biased}
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    name = "pilot_" + tmp_path.name.replace("-", "_")
    (tmp_path / f"{name}.py").write_text(ARMS)
    return name


def test_a_pilot_says_which_arm_is_best_and_what_a_tolerance_needs(module: str) -> None:
    done = invoke("compare", f"{module}:arms", "--draws", 4000, "--rng", 7, "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.output)
    best, other = said["arms"]
    assert (best["arm"], best["verdict"], other["verdict"]) == ("fine", "best", "drop")
    assert min(row["draws"] for row in said["arms"]) > 1900
    # z^2 c V / tol^2 with V = 0.01, tol = 1e-3 and z = 2.24 draws
    assert best["needed"] == pytest.approx(2.2414**2 * 0.01 / said["tolerance"] ** 2, rel=0.2)
    run = cr.estimate({"fine": fine}, draws=10**7, rtol=1e-3, rng=8)
    assert run.draws == pytest.approx(best["needed"], rel=0.25)
    text = invoke("compare", f"{module}:arms", "--draws", 400, "--rng", 7).output
    assert "the arms agree: p = " in text
    assert [len(line.split()) for line in text.splitlines()[1:3]] == [9, 9]  # nothing is wrapped


def test_a_pilot_warns_of_arms_that_disagree(module: str) -> None:
    done = invoke("compare", f"{module}:bad", "--draws", 4000, "--rng", 7)
    assert "the arms disagree" in done.output
