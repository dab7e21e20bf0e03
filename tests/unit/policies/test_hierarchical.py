"""The tree over a box: how it is divided, and where it draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import croupier as cr
from croupier.policies import HierarchicalOptimistic
from croupier.policies.hierarchical import _Cell

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def tree(points: list[tuple[float, ...]]) -> _Cell:
    names = tuple(map(str, range(len(points))))
    return HierarchicalOptimistic(points=points).start(cr.Plan(names, seed=1)).root


def leaves(cell: _Cell) -> list[int]:
    return [k for half in cell.halves for k in leaves(half)] or cell.points.tolist()


def test_the_leaves_are_the_points() -> None:
    points = [(x, y) for x in (0.0, 1.0, 2.0, 5.0) for y in (0.0, 3.0, 4.0)]
    assert sorted(leaves(tree(points))) == list(range(12))


def test_a_cell_is_drawn_at_its_middle_and_halved_across_its_longest_side() -> None:
    root = tree([(float(x), float(y)) for x in range(9) for y in range(5)])
    assert root.middle == 4 * 5 + 2
    left, right = root.halves
    assert [len(left.points), len(right.points)] == [25, 20]
    assert left.depth == right.depth == 1
    assert {len(half.points) for half in left.halves} == {15, 10}


def test_points_that_are_crowded_in_a_corner_are_told_apart() -> None:
    root = tree([(0.0,), (1e-9,), (2e-9,), (1.0,)])
    assert sorted(leaves(root)) == [0, 1, 2, 3]


def spread(rng: np.random.Generator, size: int, x: float, y: float) -> np.ndarray:
    return rng.normal(1.0, 0.2 + (x - 0.3) ** 2 + (y - 0.7) ** 2, size)


def test_most_draws_are_near_the_best_point() -> None:
    box = cr.continuum(spread, levels=17, x=(0.0, 1.0), y=(0.0, 1.0))
    for seed in range(2):
        result = cr.estimate(box, draws=3000, policy="hoo", rng=seed)
        x, y = np.array(box.points).T
        draws = np.array([result.arms[name].draws for name in box])
        near = np.hypot(x - 0.3, y - 0.7) < 0.3
        assert draws[near].sum() > 0.7 * draws.sum()
        assert np.count_nonzero(draws) < 60
        assert result.interval[0] < 1.0 < result.interval[1]


def test_a_wider_nu_opens_more_points() -> None:
    box = cr.continuum(spread, levels=17, x=(0.0, 1.0), y=(0.0, 1.0))
    opened = []
    for nu in (0.1, 3.0):
        policy = HierarchicalOptimistic(nu=nu)
        result = cr.estimate(box, draws=3000, policy=policy, rng=7)
        opened.append(sum(row.draws > 0 for row in result.arms))
    assert opened[0] < opened[1]


def test_points_that_never_vary_are_opened_from_the_middle() -> None:
    box = cr.continuum(lambda rng, size, x: np.full(size, 2.0), check=False, x=(0.0, 1.0))
    result = cr.estimate(box, draws=100, policy="hoo", rng=7)
    assert result.value == 2.0
    assert sum(row.draws > 0 for row in result.arms) >= 8


@pytest.mark.parametrize("wrong", [{"nu": 0.0}, {"nu": math.nan}, {"rho": 1.0}, {"rho": 0.0}])
def test_parameters_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(cr.PlanError, match=next(iter(wrong))):
        HierarchicalOptimistic(**wrong)
