"""Infinitely many arms: their points, their names, and what is refused."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("error")


def shifted(rng: np.random.Generator, size: int, drift: float) -> Any:
    return rng.normal(drift, 1 + abs(drift), size) - drift


def both(rng: np.random.Generator, size: int, drift: float, steps: int) -> Any:
    return rng.normal(drift, 1.0, size) / steps


def test_points_are_named_by_their_parameters() -> None:
    arms = cr.continuum(shifted, drift=(0.0, 2.0))
    assert len(arms) == 65
    assert list(arms)[:3] == ["drift=0", "drift=0.0312", "drift=0.0625"]
    assert arms.at("drift=0.5") == {"drift": 0.5}
    assert arms["drift=2"].name == "drift=2"
    with pytest.raises(KeyError, match="'drift=9' is not a point; the first is 'drift=0'"):
        arms.at("drift=9")
    with pytest.raises(KeyError, match="'drift=9' is not a point"):  # outside of its box
        arms["drift=9"]


def test_whole_numbers_stay_whole_and_every_one_is_a_point() -> None:
    arms = cr.continuum(both, drift=(0.0, 1.0), steps=range(1, 5))
    assert sorted({point[1] for point in arms.points}) == [1, 2, 3, 4]
    assert all(type(point[1]) is int for point in arms.points)
    assert len(arms) == 21 * 4
    assert len(cr.continuum(both, levels=3, drift=(0.0, 1.0), steps=range(1, 10))) == 9


def test_arms_cross_processes() -> None:
    arm = cr.continuum(shifted, drift=(0.0, 2.0))["drift=0.5"]
    again = pickle.loads(pickle.dumps(arm))
    draw: Any = again.draw
    assert draw(np.random.default_rng(7), 3).tolist() == pytest.approx(
        shifted(np.random.default_rng(7), 3, 0.5).tolist()
    )


def test_a_run_records_its_box_and_finds_the_best_point() -> None:
    result = cr.estimate(cr.continuum(shifted, drift=(-2.0, 2.0)), draws=5_000, rng=7)
    assert result.plan.table == "continuum"
    assert result.plan.settings["box"] == {"drift": [-2.0, 2.0]}
    assert result.plan.policy == {"name": "smooth-thompson", "points": None}
    arms = cr.continuum(shifted, drift=(-2.0, 2.0))
    assert abs(arms.at(result.leader)["drift"]) < 0.4  # type: ignore[arg-type]
    opened = [row for row in result.arms if row.draws]
    assert len(opened) < 5 + math.sqrt(5_000)
    assert abs(result.value) < 4 * result.stderr


def test_another_policy_can_deal_to_the_points() -> None:
    arms = cr.continuum(shifted, levels=4, drift=(0.0, 2.0))
    result = cr.estimate(arms, draws=100, policy="uniform", rng=7)
    assert min(row.draws for row in result.arms) > 20


def test_costs_are_economised() -> None:
    def block(rng: np.random.Generator, size: int, width: int) -> cr.Draws:
        values = rng.normal(1.0, 1 / math.sqrt(width), size)
        return cr.Draws(values, np.full(size, 20.0 + width**2))

    arms = cr.continuum(block, width=range(1, 31))
    result = cr.estimate(arms, cost=1_000_000, rng=7)
    spent = {arms.at(row.name)["width"]: row.share for row in result.arms}
    assert sum(share for width, share in spent.items() if 3 <= width <= 8) > 0.6  # best: sqrt(20)


def ignores(rng: np.random.Generator, size: int, drift: float, colour: float) -> Any:
    return rng.normal(drift, 1.0, size) - drift + 1e-9 * drift


def broken(rng: np.random.Generator, size: int, drift: float) -> Any:
    return rng.random(size) if drift < 2 else np.full(size, np.nan)


def test_a_parameter_without_effect_warns_and_nan_at_a_corner_names_the_point() -> None:
    with pytest.warns(cr.CroupierWarning, match="depend on colour: 4 draws at drift=0, colour=0"):
        cr.continuum(ignores, drift=(0.0, 1.0), colour=(0.0, 1.0))
    cr.continuum(ignores, check=False, drift=(0.0, 1.0), colour=(0.0, 1.0))
    with pytest.raises(cr.ArmError, match=r"arm 'drift=2': returned NaN at a corner of the box"):
        cr.continuum(broken, drift=(0.0, 2.0))
    arms = cr.continuum(broken, check=False, drift=(0.0, 2.0))
    with pytest.raises(cr.ArmError, match="arm 'drift=2'"):
        cr.estimate(arms, draws=1_000, policy="uniform", rng=7)


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ({}, "one to 4 parameters with their ranges, such as drift=\\(0, 2\\), got 0"),
        (dict.fromkeys("abcde", (0.0, 1.0)), "got 5"),
        ({"drift": (2.0, 0.0)}, r"finite and low < high, got \(2.0, 0.0\)"),
        ({"drift": (0.0, math.inf)}, "drift must be a range .*finite"),
        ({"drift": (1.0, 1.0)}, "low < high"),
        ({"drift": 3}, "drift must be a range"),
        ({"drift": range(3, 4)}, "two or more whole numbers"),
        ({"drift": ("a", "b")}, "drift must be a range"),
        ({"drift": (0.0, 1.0), "levels": 1}, "levels must be at least 2"),
    ],
)  # fmt: skip
def test_bad_boxes_are_refused(box: dict[str, Any], words: str) -> None:
    with pytest.raises(cr.PlanError, match=words):
        cr.continuum(shifted, **box)


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(cr.PlanError, match="draw must be a function"):
        cr.continuum(3, drift=(0.0, 1.0))  # type: ignore[arg-type]


def test_points_must_be_those_of_the_arms() -> None:
    arms: Any = {name: lambda rng, n: rng.random(n) for name in "ab"}
    with pytest.raises(cr.PlanError, match="one row for each of 2 arms, got 3"):
        cr.estimate(arms, draws=10, policy=cr.policies.SmoothThompson(points=[[0], [1], [2]]))


def test_arms_in_an_order_lie_on_a_line() -> None:
    arms = {str(k): lambda rng, n, k=k: rng.normal(1.0, 1 + abs(k - 11), n) for k in range(16)}
    result = cr.estimate(arms, draws=5_000, policy="smooth-thompson", rng=7)
    assert result.leader in ("10", "11", "12")


def test_what_does_not_fit_the_function_is_named_with_the_way_out() -> None:
    def tilted(rng: np.random.Generator, size: int, tilt: float) -> Any:
        return rng.exponential(1 / (1 - tilt), size) / (1.0 - tilt) ** 2

    with pytest.raises(cr.PlanError, match=r"\(rng, size, theta\): missing .*'tilt'$"):
        cr.continuum(tilted, theta=(0, 0.5))
    with pytest.raises(cr.PlanError, match=r"draws goes to cr\.estimate"):
        cr.continuum(tilted, tilt=(0, 0.5), draws=1000)  # type: ignore[arg-type]
    with pytest.raises(cr.ArmError, match=r"arm 'tilt=1': raised ZeroDivisionError.*corner"):
        cr.continuum(tilted, tilt=(0, 1))


def test_a_draw_that_is_alike_at_both_ends_of_a_parameter_depends_on_it() -> None:
    def away(rng: np.random.Generator, size: int, drift: float) -> Any:
        return rng.normal(1.0, 1.0 + drift**2, size)

    cr.continuum(away, drift=(-1.0, 1.0))  # any warning is an error here


def test_rare_payoffs_at_the_corners_do_not_say_that_a_parameter_has_no_effect() -> None:
    def rare(rng, size, scale):
        z = rng.standard_normal(size) * scale
        weight = scale * np.exp(-z * z / 2 * (1 - 1 / scale**2))
        return (z > 5) * weight

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(cr.continuum(rare, scale=(0.9, 1.5))) == 65


def test_a_range_without_a_name_is_told_how_to_name_it() -> None:
    with pytest.raises(cr.PlanError, match=r"continuum\(draw, drift=\(0, 2\)\), got \[\(0, 1\)\]"):
        cr.continuum(lambda rng, size, x: rng.random(size), [(0, 1)])
