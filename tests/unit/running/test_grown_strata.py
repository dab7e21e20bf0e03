"""Strata that grow: known weights, boxes where the function changes, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.running.growing_boxes import Box, is_gain, parts_of
from croupier.running.grown_strata import Cell, grow

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

SQUARE = [(0, 1), (0, 1)]


def step(x: Any) -> Any:
    return np.where(x[:, 0] < 0.3, 5.0, np.sin(8 * x[:, 1]))


def test_boxes_fill_the_space_and_their_weights_are_their_probabilities() -> None:
    grown = grow(step, SQUARE, 800, np.random.default_rng(7))
    assert 4 < len(grown.strata) <= 64
    assert math.fsum(grown.weights) == pytest.approx(1)
    u = np.random.default_rng(1).random((20_000, 2))
    cells = [arm.draw for arm in grown.strata]
    inside = np.zeros(len(u), int)
    for cell, weight in zip(cells, grown.weights, strict=True):
        assert isinstance(cell, Cell)
        own = ((u >= cell.low) & (u < cell.high)).all(axis=1)
        inside += own
        assert own.mean() == pytest.approx(weight, abs=4 * math.sqrt(weight / len(u)) + 1e-3)
    assert (inside == 1).all()  # each point lies in one box


def nothing(x: Any) -> Any:
    return np.sin(40 * x.sum(axis=1))


def test_without_a_clear_gain_there_is_one_stratum_and_a_small_pilot() -> None:
    grown = grow(nothing, [(0, 1)] * 20, 1600, np.random.default_rng(7))
    assert len(grown.strata) == 1
    assert grown.weights == grown.shares == (1.0,)
    assert grown.pilot < 0.4 * 1600
    result = cr.stratify(nothing, over=[(0, 1)] * 20, splits="adaptive", draws=2_000, rng=7)
    assert [row.name for row in result.arms] == ["0: everything"]
    assert abs(result.value) < 4 * result.stderr


def boxes_of(left: list[float], right: list[float]) -> list[Box]:
    low, middle, high = np.zeros(1), np.full(1, 0.5), np.ones(1)
    return [
        Box(low, middle, np.full((len(left), 1), 0.2), np.array(left), len(left)),
        Box(middle, high, np.full((len(right), 1), 0.7), np.array(right), len(right)),
    ]


def test_a_gain_must_be_clear_on_fresh_draws() -> None:
    even = np.ones(2)
    rng = np.random.default_rng(7)
    left, right = rng.normal(0, 1, 50).tolist(), rng.normal(0, 1, 50).tolist()
    assert not is_gain(boxes_of(left, right), even)  # the halves are alike
    assert is_gain(boxes_of(left, [y + 5 for y in right]), even)
    assert not is_gain(boxes_of([0.0] * 50, [*[0.0] * 49, 1000.0]), np.array([0.1, 1.0]))  # one


def test_a_gain_in_proportion_is_seen_where_the_planned_deviations_are_too_noisy() -> None:
    """A few hits outside the boxes that look busy hide the gain of the planned counts."""
    rng = np.random.default_rng(7)
    busy, quiet = (rng.random(100) < 0.4).astype(float), np.zeros(100)
    quiet[:3] = 1.0
    boxes = boxes_of(quiet.tolist(), busy.tolist())
    assert not is_gain(boxes, np.array([0.01, 1.0]))
    assert is_gain(boxes, np.ones(2), 2.5)


def test_an_indicator_of_a_few_percent_gets_strata() -> None:
    """The planned counts alone showed a gain in about half of these pilots."""
    grown = [
        grow(lambda x: (np.square(x).sum(axis=1) < 0.45) * 1.0, [(0, 1)] * 4, 1600,
             np.random.default_rng(seed))
        for seed in range(8)
    ]  # fmt: skip
    assert sum(len(one.strata) > 1 for one in grown) >= 7


def test_the_shares_allow_for_what_the_pilot_has_not_seen() -> None:
    left, right = boxes_of([0.0] * 98, [0.0, 2.0] * 10)
    parts = parts_of([left, right])
    size = math.sqrt(parts[1] ** 2 * 4 / 2 + 0.25)  # half of s^2, and the means 0 and 1
    assert parts == pytest.approx([0.5 * size / 10, 0.5 * np.std([0, 2] * 10, ddof=1)])


def test_no_box_is_lost_if_the_halves_take_all_of_the_error() -> None:
    """The gain of halves is an estimate, and may be more than there was to gain."""
    grown = grow(lambda x: (x[:, 0] < 0.5) * 1.0, SQUARE, 1600, np.random.default_rng(7))
    cells: Any = [arm.draw for arm in grown.strata]
    assert math.fsum(cell.weight for cell in cells) == pytest.approx(1)
    assert len(cells) == 2


def test_another_policy_can_deal_to_grown_strata() -> None:
    result = cr.stratify(step, over=SQUARE, splits="adaptive", draws=2_000, policy="mc-ucb", rng=7)
    assert result.plan.policy["name"] == "mc-ucb"


def test_a_jump_is_found() -> None:
    grown = grow(step, SQUARE, 1600, np.random.default_rng(7))
    edges = {round(edge, 2) for arm in grown.strata for edge in (arm.draw.low[0], arm.draw.high[0])}  # type: ignore[union-attr]
    assert any(abs(edge - 0.3) <= 0.02 for edge in edges)


def test_coordinates_have_distributions() -> None:
    over = [stats.norm(), stats.expon(scale=2), (1, 3)]
    result = cr.stratify(
        lambda x: x[:, 0] + x[:, 1] * x[:, 2], over=over, splits="adaptive", draws=5_000, rng=7
    )
    assert abs(result.value - 4) < 4 * result.stderr
    assert 0.8 * 5_000 < result.draws < 0.98 * 5_000  # the rest was the pilot
    assert result.plan.policy["name"] == "proportional"
    names = " ".join(row.name for row in result.arms)
    assert "x1 < " in names
    assert result.plan.table == "strata"


def test_the_same_seed_grows_the_same_strata_and_a_store_continues(tmp_path: Any) -> None:
    def run(draws: int, **options: Any) -> cr.Result:
        return cr.stratify(
            step, over=SQUARE, splits="adaptive", pilot=400, draws=draws, rng=7, **options
        )

    assert run(2_000).value == run(2_000).value
    first = run(1_000, store=tmp_path / "run.db")
    again = run(3_000, store=tmp_path / "run.db")
    pilot = 1_000 - first.draws
    assert again.draws == 3_000 - pilot
    with pytest.raises(cr.PlanError, match="needs rng="):
        cr.stratify(step, over=SQUARE, splits="adaptive", draws=1_000, store=tmp_path / "other.db")


def test_strata_grow_where_over_is_given() -> None:
    usual: dict[str, Any] = {"over": SQUARE, "draws": 1_000, "rng": 7}
    result = cr.stratify(step, **usual)
    assert result.value == cr.stratify(step, splits="adaptive", **usual).value


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"splits": "halves"}, "splits must be one of 'adaptive'"),
        ({"over": None}, "give cr.stratify.f, over="),
        ({"weights": [1.0]}, "without weights"),
        ({"over": [(1, 0)]}, r"axis 0 of over= has reversed bounds"),
        ({"over": [(0, math.inf)]}, "axis 0 has an infinite bound"),
        ({"over": []}, "over= has no axes"),
        ({"draws": 100}, "at least 500"),
        ({"pilot": 6_000}, "leaves too few"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], words: str) -> None:
    usual: dict[str, Any] = {"over": SQUARE, "splits": "adaptive", "draws": 1_000, "rng": 7}
    with pytest.raises(cr.PlanError, match=words):
        cr.stratify(step, **{**usual, **changes})


def test_a_pilot_is_for_strata_that_grow() -> None:
    with pytest.raises(cr.PlanError, match="pilot=5 is for splits"):
        cr.stratify({"a": lambda rng, n: rng.random(n)}, [1.0], pilot=5, draws=1_000)


def test_a_function_that_returns_too_much_or_nan_is_named() -> None:
    with pytest.raises(cr.PlanError, match="returns 2 numbers for each point"):
        cr.stratify(lambda x: x, over=SQUARE, splits="adaptive", draws=1_000, rng=7)
    with pytest.raises(cr.ArmError, match="f is nan at the point"):
        cr.stratify(
            lambda x: np.where(x[:, 0] < 0.1, np.nan, 1.0),
            over=SQUARE,
            splits="adaptive",
            draws=1_000,
        )


def test_a_function_that_raises_in_the_pilot_is_named_with_a_point() -> None:
    def raises_far_out(x: Any) -> Any:
        if (x[:, 0] > 0.9).any():
            raise ZeroDivisionError
        return x[:, 0]

    with pytest.raises(
        cr.ArmError, match=r"raised ZeroDivisionError: .*, at the point \(0\.9\d*, "
    ):
        cr.stratify(raises_far_out, over=SQUARE, splits="adaptive", draws=1_000, rng=7)
    with np.errstate(all="raise"), pytest.raises(cr.ArmError, match="FloatingPointError"):
        cr.stratify(lambda x: x[:, 0] / 0.0, over=SQUARE, splits="adaptive", draws=1_000, rng=7)
