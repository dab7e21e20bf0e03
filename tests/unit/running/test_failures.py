"""on_failure= and retries= at every door: two estimates, a count, and the same in a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

SQUARE = [(0, 1), (0, 1)]


def decay(x: Any) -> Any:
    return np.where(x[:, 0] > 0.9, np.nan, np.exp(-x.sum(axis=1)))


def margin(x: Any) -> Any:
    if ((x[:, 0] > 0.3) & (x[:, 0] < 0.5)).any():
        raise RuntimeError("no convergence")
    return 1 - x[:, 0]


def one(rng: np.random.Generator) -> float:
    x = rng.normal()
    if x > 2:
        raise RuntimeError("no convergence")
    return float(1 / (1 + x * x))


def integrated(**how: Any) -> cr.Result:
    how = {"on_failure": "bounds", "bounds": (0, 1), "draws": 256, "rng": 7, **how}
    return cr.integrate(decay, SQUARE, **how)


def failing(**how: Any) -> cr.Result:
    return cr.probability(margin, 2, **{"on_failure": "bounds", "draws": 64, "rng": 7, **how})


def estimated(**how: Any) -> cr.Result:
    arm = cr.Arm(cr.scalar(one), "solver", bounds=(0, 1))
    return cr.estimate([arm], **{"on_failure": "bounds", "draws": 300, "rng": 7, **how})


@pytest.mark.parametrize("door", [integrated, failing, estimated])
def test_two_estimates_a_count_and_a_line_that_says_both(door: Any) -> None:
    result = door()
    assert result.components[:2] == ("at least", "at most")
    (low, high), (least, most) = result.between, result.interval
    assert (low, high) == (least[0], most[1])
    failed = result.details["failed"]
    assert 0 < failed < result.draws
    assert f"failed calls: {failed} of {result.draws}; whatever they are" in str(result)
    again = cr.Result.from_dict(json.loads(result.to_json()))
    assert again.between == result.between
    assert again.details["failed"] == failed


@pytest.mark.parametrize("door", [integrated, failing, estimated])
def test_a_stored_run_goes_on_and_counts_all_failures(door: Any, tmp_path: Path) -> None:
    whole = door()
    door(store=tmp_path / "run.db", callback=lambda progress: progress.tickets >= 3)
    stored = door(store=tmp_path / "run.db")
    assert stored.draws == whole.draws
    assert stored.details["failed"] == whole.details["failed"]
    assert np.array_equal(stored.value, whole.value)
    shown = cr.open_run(tmp_path / "run.db").result()
    assert shown.between == pytest.approx(stored.between)


def test_failures_and_safe_calls_are_what_the_user_says() -> None:
    plain = 24  # too few calls for learning: the draws are the same
    fails, safe = (failing(on_failure=said, draws=plain) for said in ("fails", "safe"))
    assert fails.details["failed"] == safe.details["failed"] > 0
    assert safe.value + safe.details["failed"] / plain == pytest.approx(fails.value)
    assert f"failed calls: {safe.details['failed']} of {plain}" in str(safe)
    assert "calls of g: 24 plain draws, all for the estimate" in str(safe)


def test_failed_calls_of_a_limit_state_that_is_learned_are_counted() -> None:
    def rough(x: Any) -> Any:
        if (x[:, 1] < -1.5).any():
            raise RuntimeError("no convergence")
        return 3 - x[:, 0]

    result = cr.probability(rough, 2, draws=100, on_failure="safe", rng=7)
    assert result.search["learned"]
    assert 0 < result.details["failed"] < result.draws
    assert f"failed calls: {result.details['failed']} of 100" in str(result)


def test_without_failures_between_is_the_interval() -> None:
    result = cr.integrate(lambda x: x[:, 0], SQUARE, draws=64, rng=7)
    assert result.between == result.interval
    assert "failed" not in result.details


def test_calls_are_repeated_at_every_door() -> None:
    calls = {"n": 0}

    def flaky(value: Any) -> Any:
        calls["n"] += 1
        if calls["n"] % 5 == 0:
            raise OSError("no licence")
        return value

    result = cr.probability(lambda x: flaky(1 - x[0]), 2, draws=64, rng=7, retries=1)
    assert result.value == cr.probability(lambda x: 1 - x[:, 0], 2, draws=64, rng=7).value
    cr.integrate(lambda x: flaky(x[:, 0]), SQUARE, draws=256, rng=7, retries=3)
    arm = {"a": lambda rng, size: flaky(rng.random(size))}
    repeated = cr.estimate(arm, draws=300, rng=7, retries=1)
    plain = cr.estimate({"a": lambda rng, size: rng.random(size)}, draws=300, rng=7)
    assert repeated.value == plain.value


def test_a_draw_that_is_nan_is_repeated_with_its_random_numbers() -> None:
    calls = {"n": 0}

    def sometimes(rng: np.random.Generator, size: int) -> Any:
        calls["n"] += 1
        values = rng.random(size)
        values[0] = np.nan if calls["n"] % 3 == 0 else values[0]
        return cr.Draws(values, costs=2.0)

    plain = cr.estimate({"a": lambda rng, n: cr.Draws(rng.random(n), costs=2.0)}, draws=300, rng=7)
    repeated = cr.estimate({"a": sometimes}, draws=300, rng=7, retries=1)
    assert repeated.value == plain.value
    calls["n"] = 0
    with pytest.raises(cr.ArmError, match="returned nan"):
        cr.estimate({"a": sometimes}, draws=300, rng=7)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: integrated(bounds=None), r"needs the range of the values: give bounds="),
        (lambda: integrated(on_failure="raise"), "bounds= is for on_failure='bounds'"),
        (lambda: integrated(on_failure="safe"), "on_failure must be one of"),
        (lambda: integrated(retries=-1), "retries must be"),
        (lambda: failing(names=["a"]), "names= is for several limit states"),
        (lambda: failing(gradient=margin), "gradient= needs on_failure='raise'"),
        (lambda: cr.probability(lambda x: x, 2, draws=64, on_failure="bounds"),
         "is for one limit state"),
        (lambda: cr.estimate([one], draws=9, on_failure="bounds"), "must take"),
        (lambda: cr.estimate([cr.scalar(one)], draws=9, on_failure="bounds"), r"give cr\.Arm\("),
        (lambda: estimated(log=True), "leave out log=True"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call: Any, said: str) -> None:
    with pytest.raises(cr.PlanError, match=said):
        call()


def test_several_arms_have_several_bounds() -> None:
    arms = {name: cr.Arm(cr.scalar(one), bounds=(0, 1)) for name in ("a", "b")}
    with pytest.raises(cr.PlanError, match="is for one arm"):
        cr.estimate(arms, draws=99, on_failure="bounds")
