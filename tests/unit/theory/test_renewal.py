"""Bounds on runs with costs: bad input. Their truth is tested on simulated renewal processes."""

from __future__ import annotations

import pytest

from croupier import PlanError
from croupier.theory import (
    Concentration,
    allocation_bound,
    cost_regret_bound,
    ratio_bounds,
    single_arm_bound,
)

SURE = Concentration(100.0, 10_000.0)


def bound(**changes):
    known = {"c": 1.0, "ours": SURE, "best": SURE, "cap": 1.0}
    return cost_regret_bound(100, [1, 1], [1, 2], 5, 1, **{**known, **changes})


def test_chances_add_to_the_bounds():
    low, high = ratio_bounds(1.0, SURE, 1.0, 2.0)
    rare = SURE._replace(too_few=0.1, too_many=0.01)
    assert ratio_bounds(1.0, rare, 1.0, 2.0)[1] == pytest.approx(high + 0.4)
    assert ratio_bounds(100.0, rare, 1.0, 0.1)[0] == pytest.approx(0.008 - 1e-4)
    assert low == pytest.approx(0.8e-4)
    assert ratio_bounds(1.0, SURE, 6.0, 2.0)[1] > 4  # c is too large for so few draws
    assert bound(ours=SURE._replace(too_few=0.1)) == pytest.approx(bound() + 1000)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Concentration.of([0, 0], 1.0), "a draw in some run"),
        (lambda: ratio_bounds(-1.0, SURE, 1.0, 1.0), "squares must be"),
        (lambda: single_arm_bound(10, 0, 1, 1, 1), "cost_per_draw must be"),
        (lambda: allocation_bound(3, [1, 2], [1, 1], 1, 1), "twice the largest cost, 4"),
        (lambda: allocation_bound(9, [1, 2], [1], 1, 1), "as many variances"),
        (lambda: bound(c=9.0), r"c must be below .* = 3\.536, got 9\.0"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, words):
    with pytest.raises(PlanError, match=words):
        call()
