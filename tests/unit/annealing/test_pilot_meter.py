"""The pilot is inside every budget, is counted and shown, and uses the workers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.models import model_of
from croupier.annealing.pilot_meter import Crew
from croupier.engines.loky import processes
from croupier.engines.staff import Staff

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

PRIOR = [st.uniform(-10, 20)] * 2


def narrow(points: np.ndarray) -> Any:
    return -0.5 * ((points - 2) ** 2).sum(axis=1) / 0.01


def slow(point: np.ndarray) -> float:
    time.sleep(2e-3)
    return float(-0.5 * ((point - 2) ** 2).sum() / 0.04)


@pytest.mark.parametrize("draws", [300, 3_000, 30_000, 300_000])
def test_a_budget_of_draws_includes_the_pilot(draws: int) -> None:
    calls = 0

    def counted(points: np.ndarray) -> Any:
        nonlocal calls
        calls += len(points)
        return narrow(points)

    result = cr.evidence(counted, PRIOR, draws=draws, rng=7, vectorised=True)
    pilot = result.details["pilot"]["evaluations"]
    assert 0 < pilot <= 0.9 * draws
    assert result.draws + pilot == draws
    assert calls >= pilot


@pytest.mark.parametrize("cost", [20_000, 200_000])
def test_a_budget_of_cost_includes_the_pilot(cost: int) -> None:
    result = cr.evidence(narrow, PRIOR, cost=cost, rng=7)
    pilot = result.details["pilot"]["evaluations"]
    assert 0 < pilot < 0.6 * cost
    assert result.cost + pilot <= 1.1 * cost


def test_a_pilot_that_had_few_points_says_what_it_bought() -> None:
    wide = [st.norm(0, 1)] * 12
    result = cr.evidence(lambda x: -50 * (x**2).sum(axis=1), wide, draws=2000, rng=7)
    assert any("the pilot bought 20 points in" in text for text in result.warnings)
    assert result.details["pilot"]["points"] == 20


def process(point: np.ndarray) -> float:
    time.sleep(2e-3)
    return float(os.getpid())


def test_a_slow_likelihood_of_one_point_is_evaluated_by_all_workers() -> None:
    model = model_of(process, PRIOR, vectorised=False)
    crew = Crew(lambda: processes(2))
    points = np.zeros((200, 2))
    try:
        assert set(crew.values(model, points)) == {os.getpid()}  # it times the likelihood
        there = set(crew.values(model, points))
    finally:
        crew.close()
    assert len(there) == 2
    assert os.getpid() not in there


@pytest.mark.slow
def test_workers_evaluate_a_slow_likelihood_of_one_point_to_the_same_bits() -> None:
    settings: dict[str, Any] = {"draws": 1500, "rng": 7, "width": 2, "vectorised": False}
    alone = cr.evidence(slow, PRIOR, **settings)
    together = cr.evidence(slow, PRIOR, workers=2, **settings)
    assert together.log_value == alone.log_value
    assert together.details["pilot"]["evaluations"] == alone.details["pilot"]["evaluations"]


class Broken:
    """An executor whose workers are gone."""

    def submit(self, *args: Any) -> Any:
        raise RuntimeError("no workers")

    def shutdown(self) -> None: ...


def test_a_crew_that_cannot_work_leaves_the_work_here() -> None:
    model = model_of(slow, PRIOR, vectorised=False)
    gone: list[Any] = []
    staff = Staff(2, Broken, rehire=False, own=True, dismiss=gone.append)  # type: ignore[arg-type]
    crew = Crew(lambda: staff)
    points = np.arange(400.0).reshape(200, 2) / 100
    expected = model.values_at(points)
    assert (crew.values(model, points) == expected).all()  # it times the likelihood
    assert (crew.values(model, points) == expected).all()
    crew.close()
    assert len(gone) == 1


def test_the_pilot_is_shown_in_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("croupier.views.bar._LINES", 0.0)
    monkeypatch.setattr("croupier.views.bar.interactive", lambda: False)
    cr.evidence(narrow, PRIOR, draws=5000, rng=7, progress=True)
    assert "pilot: 50 evaluations of the likelihood" in capsys.readouterr().err
    cr.evidence(narrow, PRIOR, draws=5000, rng=7, progress=False)
    assert "pilot" not in capsys.readouterr().err


def test_the_table_and_the_report_say_what_the_pilot_took(tmp_path: Path) -> None:
    result = cr.evidence(narrow, PRIOR, draws=5000, rng=7)
    said = f"{result.details['pilot']['evaluations']:,} evaluations of the likelihood in"
    assert f"pilot: {said}" in str(result)
    assert said in result.report(tmp_path / "run.html").read_text()
