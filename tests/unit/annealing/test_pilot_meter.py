"""The pilot is inside every budget, is counted and shown, and uses the workers."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.models import model_of
from croupier.annealing.opening import Opening
from croupier.annealing.pilot_limits import Limits
from croupier.annealing.pilot_meter import Crew
from croupier.annealing.pilots import explore
from croupier.annealing.preparing import Wish, prepared
from croupier.engines.loky import processes
from croupier.engines.staff import Staff
from croupier.running.settings import settings_of
from croupier.views.table_content import pilot_line

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


@pytest.mark.parametrize("cost", [100, 300, 1000, 20_000, 200_000])
def test_a_budget_of_cost_includes_the_pilot(cost: int) -> None:
    result = cr.evidence(lambda x: -50 * (x**2).sum(axis=1), [st.norm(0, 1)] * 13, cost=cost, rng=7)
    pilot = result.details["pilot"]["evaluations"]
    assert 0 < pilot < 0.6 * cost
    assert 0.9 * cost <= result.cost + pilot <= 1.1 * cost


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
    crew = Crew(processes(2))
    points = np.zeros((200, 2))
    try:
        assert set(crew.values(model, points)) == {os.getpid()}  # nobody else is there yet
        crew.start()
        for future in crew._starting:
            future.result()
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
    crew = Crew(staff)
    crew.start()
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


class Starting:
    """An executor whose only worker never starts."""

    def submit(self, *args: Any) -> Future[Any]:
        return Future()

    def shutdown(self) -> None: ...


def test_a_run_does_not_wait_for_workers_beyond_its_share() -> None:
    model = model_of(slow, PRIOR, vectorised=False)
    staff = Staff(3, Starting, rehire=False, own=True, dismiss=lambda executor: None, solo=True)  # type: ignore[arg-type]
    crew, around = Crew(staff), settings_of(seconds=5, workers=3)
    crew.start()
    points = np.arange(400.0).reshape(200, 2) / 100
    assert (crew.values(model, points) == model.values_at(points)).all()
    alone, waited = crew.taken_over(around, 0.05)
    assert 0.05 <= waited < 5
    assert (alone.workers, alone.width, alone.staff([])) == (None, 6, None)


def test_the_run_takes_over_the_workers_of_the_pilot() -> None:
    staff = Staff(1, ThreadPoolExecutor, rehire=True, own=True, dismiss=lambda executor: None)
    crew = Crew(staff)
    crew.start()
    mine = crew._executors[0]
    settings, _ = crew.taken_over(settings_of(draws=5, workers=1), 60.0)
    taken = settings.staff([])
    assert taken is not None
    assert taken.hire() is mine
    assert taken.hire() is not mine  # if that one breaks, there is another
    mine.shutdown()


@pytest.mark.parametrize("each", [0.01, 0.05])
def test_a_budget_that_is_too_small_for_a_pilot_is_kept_and_says_so(each: float) -> None:
    def sleeping(point: np.ndarray) -> float:
        time.sleep(each)
        return float(-0.5 * ((point - 2) ** 2).sum() / 0.04)

    evidence = cr.evidence
    began = time.perf_counter()
    result = evidence(sleeping, PRIOR, seconds=1, vectorised=False, rng=1)
    assert time.perf_counter() - began < 1.1 + each + 1.0  # and what a busy machine takes
    assert any("too few for a pilot" in text for text in result.warnings)
    assert [row.name for row in result.arms] == ["prior"]


@pytest.mark.slow
def test_the_first_calls_of_long_chains_do_not_take_the_budget_of_seconds() -> None:
    def sleeping(points: np.ndarray) -> Any:
        time.sleep(40e-6 * len(points))
        return -0.5 * ((points - 0.5) ** 2).sum(axis=1) / 0.01

    result = cr.evidence(sleeping, [st.norm(0, 1)] * 13, seconds=3, vectorised=True, rng=1)
    assert result.arms["fitted"].share > 0.2


def test_a_pilot_is_late_after_its_share_of_evaluations() -> None:
    meter = Limits(None, 1000).meter()
    model = replace(model_of(narrow, PRIOR, vectorised=True), meter=meter)
    assert not model.late()
    explore(model, np.random.default_rng(1), most=np.inf)
    assert 450 <= meter.evaluations < 450 + 300  # at most one more call
    assert model.late()


@pytest.mark.parametrize(("seconds", "timed"), [(60.0, False), (0.2, True)])
def test_moves_are_timed_only_if_that_matters(seconds: float, timed: bool) -> None:
    """In a minute, the first calls have all their chains, whatever a move takes."""
    wish = Wish(lambda x: -8 * (x**2).sum(axis=1), [st.norm(0, 1)] * 3, limits=Limits(seconds))
    meter = wish.limits.meter()
    ready = prepared(wish, meter)._replace(each=1e-5)
    before = meter.evaluations
    opening = Opening.of(ready, wish.limits, None, meter)
    assert (meter.evaluations > before) == timed
    if not timed:
        assert opening.chains(ready.arms) == 300


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_a_call_that_takes_as_long_for_few_points_as_for_many_leaves_time_for_a_search() -> None:
    """A call takes a millisecond: by its first calls, a point would take 60 microseconds."""

    def two(x: Any) -> Any:
        time.sleep(1e-3)
        return np.logaddexp(-50 * ((x - 0.8) ** 2).sum(axis=1), -90 * ((x + 0.8) ** 2).sum(axis=1))

    result = cr.evidence(two, [st.uniform(-4, 8)] * 2, seconds=3, rtol=0.1, rng=7, progress=False)
    assert result.details["pilot"]["searches"] > 0
    both = np.logaddexp(np.log(np.pi / 50), np.log(np.pi / 90)) - np.log(64)
    assert abs(result.log_value - both) < 4 * result.log_stderr


def test_the_time_that_workers_take_to_start_is_shown() -> None:
    line = pilot_line({"evaluations": 1200, "seconds": 3.5, "waited": 3.0})
    assert line.endswith("in 0.5 s, and 3 s until the workers had started")
    assert "workers" not in pilot_line({"evaluations": 1200, "seconds": 3.5, "waited": 0.1})
