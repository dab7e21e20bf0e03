"""Panels: polynomials on parts of the cube, halved where f is rough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from croupier.integration.panels import ORDER, Box, Panels, gauss_weights, nodes_of


def grown(f: Any, dimension: int, stages: int, least_volume: float = 0.0) -> Panels:
    """Return panels after some stages, each of all panels that are worth it."""
    panels = Panels(dimension)
    for _ in range(stages):
        boxes = panels.chosen(panels.worth(least_volume) // (2 * panels.each), least_volume)
        if boxes:
            panels.add(boxes, f(nodes_of(boxes))[:, None])
    return panels


@pytest.mark.parametrize("dimension", [1, 2])
def test_polynomials_are_exact_and_need_no_second_stage(dimension: int) -> None:
    most = ORDER[dimension] - 3  # the last two coefficients of an axis are 0

    def f(x: Any) -> Any:
        return np.prod(x**most, axis=1) + 1

    panels = grown(f, dimension, 1)
    u = np.random.default_rng(7).random((100, dimension))
    assert panels.at(u)[:, 0] == pytest.approx(f(u), rel=1e-12)
    assert panels.integral[0] == pytest.approx(1 + 1 / (most + 1) ** dimension, rel=1e-13)
    assert panels.worth() == 0


def test_waves_are_followed_by_halving_both_axes() -> None:
    def f(x: Any) -> Any:
        return np.cos(20 * x[:, 0] + 15 * x[:, 1] + 1)

    u = np.random.default_rng(7).random((500, 2))
    left = [np.abs(f(u) - grown(f, 2, stages).at(u)[:, 0]).max() for stages in (1, 3, 5)]
    assert left[0] > 1
    assert left[1] < 0.2
    assert left[2] < 0.002


def test_a_kink_is_halved_where_it_is_and_no_box_is_too_small() -> None:
    def f(x: Any) -> Any:
        return np.abs(x[:, 0] - 0.3)

    panels = grown(f, 1, 40, least_volume=1 / 64)
    assert panels.nodes == 16 + 6 * 32  # six halvings, one panel at a time
    assert panels.worth(1 / 64) == 0
    assert panels.integral[0] == pytest.approx(0.29, abs=1e-6)


def test_nodes_lie_inside_of_their_box_and_weights_have_its_volume() -> None:
    box = Box((2, 1), (3, 0))
    nodes, weights = nodes_of([box]), gauss_weights([box])
    assert (nodes > [0.75, 0]).all()
    assert (nodes < [1, 0.5]).all()
    assert weights.sum() == pytest.approx(1 / 8)
    assert weights @ nodes[:, 0] == pytest.approx(0.875 / 8)


def test_the_rest_of_the_integral_is_what_new_boxes_do_not_replace() -> None:
    def f(x: Any) -> Any:
        return np.exp(10 * x[:, 0])

    panels = grown(f, 1, 1)
    (first,) = panels.integral
    boxes = panels.chosen(1)
    assert panels.outside(boxes) == pytest.approx(0)
    panels.add(boxes, f(nodes_of(boxes))[:, None])
    boxes = panels.chosen(1)
    assert boxes[0].at[0] >= 2  # the right half is halved
    inside = gauss_weights(boxes) @ f(nodes_of(boxes))
    assert panels.outside(boxes)[0] + inside == pytest.approx(np.expm1(10) / 10, rel=1e-12)
    assert panels.integral[0] == pytest.approx(first, rel=1e-9)


def test_the_step_between_panels_is_that_of_a_jump_and_small_for_a_smooth_function() -> None:
    for d in (1, 2):
        for height in (0.0, 3.0):
            panels = Panels(d)
            for _ in range(3):
                boxes = panels.chosen(4)
                x = nodes_of(boxes)
                f = np.exp(x.sum(axis=1)) + height * (x[:, 0] > 0.5001)
                panels.add(boxes, f[:, None])
            found = panels.highest_step()[0]
            assert found == pytest.approx(height, abs=0.2 if height else 1e-4)
    assert Panels(1).highest_step().tolist() == [0.0]
