"""The settings of a run: checked once, at the door, and one frozen object from there on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from types import SimpleNamespace
from typing import Any

import pytest

import croupier as cr
from croupier.running import settings as rooms
from croupier.running.settings import settings_of, split_options

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def test_they_are_frozen_and_have_the_defaults_of_estimate() -> None:
    settings = settings_of(1000)
    assert (settings.budget.draws, settings.budget.unit) == (1000, "draws")
    assert (settings.width, settings.workers, settings.seeded) == (None, None, False)
    assert settings.interval.name == "fixed-size"
    with pytest.raises(FrozenInstanceError):
        settings.width = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "interval", "unit"),
    [
        ({}, "fixed-size", "draws"),
        ({"rtol": 0.1}, "many-looks", "draws"),
        ({"atol": 0.0}, "many-looks", "draws"),
        ({"rtol": 0.1, "anytime": True}, "anytime", "draws"),
        ({"cost": 3.0}, "fixed-size", "cost"),
        ({"cost": 3.0, "seconds": 1.0}, "fixed-size", "seconds"),
    ],
)
def test_the_options_decide_the_interval_and_the_unit(
    options: dict[str, Any], interval: str, unit: str
) -> None:
    settings = settings_of(1000, **options)
    assert (settings.interval.name, settings.budget.unit) == (interval, unit)


def test_what_belongs_to_the_arms_is_split_off() -> None:
    around, own = split_options("evidence", {"draws": 100, "rng": 7, "batch": 50, "log": True})
    assert around.seed == 7
    assert own == {"batch": 50, "log": True}
    with pytest.raises(TypeError, match=r"evidence\(\) got an unexpected .* did you mean 'draws'"):
        split_options("evidence", {"drawz": 100})  # type: ignore[typeddict-unknown-key]


DOORS = {
    "estimate": lambda **k: cr.estimate({"a": lambda rng, n: rng.random(n)}, **k),
    "stratify": lambda **k: cr.stratify({"a": lambda rng, n: rng.random(n)}, [1.0], **k),
    "family": lambda **k: cr.importance.Family.tilted(lambda x: x[:, 0], [0, 1]).estimate(**k),
    "tune": lambda **k: cr.importance.Family.tilted(lambda x: x[:, 0], [0, 1]).tune(**k),
    "evidence": lambda **k: cr.evidence(
        lambda x: -(x**2).sum(axis=1), (lambda rng, n: rng.normal(size=(n, 1)), _standard), **k
    ),
}


def _standard(x: Any) -> Any:
    import numpy as np

    return -0.5 * (x**2).sum(axis=1) - 0.5 * np.log(2 * np.pi)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_makes_them_once(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    count_of, positive = rooms.count_of, rooms.positive

    def counted(name: str, value: Any, **rest: Any) -> Any:
        checked.append(name)
        return count_of(name, value, **rest)

    def weighed(name: str, value: Any, **rest: Any) -> Any:
        checked.append(name)
        return positive(name, value, **rest)

    monkeypatch.setattr(rooms, "count_of", counted)
    monkeypatch.setattr(rooms, "positive", weighed)
    DOORS[door](draws=400, rtol=0.5, atol=1e-9, width=2, seconds=60.0, rng=7, progress=False)
    assert sorted(checked) == ["atol", "draws", "rtol", "seconds", "width"]


def test_a_clock_that_stands_still_is_no_division_by_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("croupier.running.loop.time", SimpleNamespace(perf_counter=lambda: 5.0))
    result = cr.estimate(
        {"a": lambda rng, size: rng.random(size)}, seconds=1, rng=7,
        callback=lambda progress: progress.tickets >= 20,
    )  # fmt: skip
    assert result.stopped == "callback"
