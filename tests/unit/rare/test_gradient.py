"""cr.probability with gradient=: fewer calls, all modes, bad gradients, stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from tests.marks import slow

quiet = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

#: These tests are of the search; those of learning are in test_learning.py.
pytestmark = pytest.mark.usefixtures("searching")


def beyond(x: Any) -> Any:
    return 4.0 - x[:, 0]


def slope(x: Any) -> Any:
    return np.tile([-1.0] + [0.0] * (x.shape[1] - 1), (len(x), 1))


def branches(x: Any) -> Any:
    return np.minimum.reduce([3.5 - x[:, 0], 3.5 + x[:, 0], 3.5 - x[:, 1], 3.5 + x[:, 1]])


def slope_of_branches(x: Any) -> Any:
    which = np.argmin([3.5 - x[:, 0], 3.5 + x[:, 0], 3.5 - x[:, 1], 3.5 + x[:, 1]], axis=0)
    rows = np.zeros((4, x.shape[1]))
    rows[[0, 1, 2, 3], [0, 0, 1, 1]] = [-1, 1, -1, 1]
    return rows[which]


def near(result: cr.Result, value: float) -> bool:
    return bool(abs(result.value - value) < 4 * result.stderr)


def test_a_gradient_saves_calls_and_is_counted() -> None:
    called = []

    def counted(x: Any) -> Any:
        called.append(len(x))
        return slope(x)

    without = cr.probability(beyond, 30, draws=50_000, rtol=0.1, rng=7)
    result = cr.probability(beyond, 30, gradient=counted, draws=50_000, rtol=0.1, rng=7)
    assert near(result, stats.norm.sf(4))
    assert result.draws < 0.7 * without.draws
    assert result.search["gradients"] == sum(called) - 2  # two points show how it is called
    assert "gradients" not in without.search


@quiet
def test_four_modes_in_twenty_dimensions_are_found() -> None:
    result = cr.probability(branches, 20, gradient=slope_of_branches, draws=50_000, rtol=0.1, rng=7)
    assert near(result, 1 - (1 - 2 * stats.norm.sf(3.5)) ** 2)
    sides = {(int(np.argmax(np.abs(p))), bool(p[np.argmax(np.abs(p))] > 0)) for p in
             result.design_points}  # fmt: skip
    assert len(sides) == 4


@quiet
def test_a_gradient_is_in_the_coordinates_of_the_user() -> None:
    result = cr.probability(
        lambda x: 15 - x.sum(axis=1),
        [stats.expon(), stats.expon()],
        gradient=lambda x: -np.ones_like(x),
        draws=50_000,
        rtol=0.1,
        rng=7,
    )
    assert near(result, stats.gamma(2).sf(15))
    assert not any("gradient" in text for text in result.warnings)


def test_one_point_and_several_limit_states_have_gradients() -> None:
    one = cr.probability(
        lambda x: float(4 - x[0]), 2, gradient=lambda x: [-1.0, 0.0], draws=4000, rng=7
    )
    assert near(one, stats.norm.sf(4))
    two = cr.probability(
        lambda x: np.column_stack((2.5 - x[:, 0], 3 - x[:, 1])),
        2,
        gradient=lambda x: np.tile(-np.eye(2), (len(x), 1, 1)),
        draws=20_000,
        rng=7,
    )
    a, b = stats.norm.sf([2.5, 3])
    assert (np.abs(two.value - [a, b, a + b - a * b, a * b]) < 4 * two.stderr).all()


@pytest.mark.parametrize(
    ("gradient", "said"),
    [
        (3, "gradient must be a function"),
        (lambda x: np.zeros(len(x)), r"gradient returned .* \(3,\) .*: return \(3, 2\)"),
        (lambda x: np.zeros((len(x), 3)), r"gradient returned an array of shape \(3, 3\)"),
        (lambda x: np.full(x.shape, "a"), "of type <U1"),
        (lambda x: np.full(x.shape, np.nan), r"gradient is nan at the point .*finite numbers"),
        (lambda x: x[:, 7], "gradient raised IndexError"),
    ],
)
def test_a_bad_gradient_is_refused_before_the_run(gradient: Any, said: str) -> None:
    with pytest.raises(cr.PlanError, match=said):
        cr.probability(beyond, 2, gradient=gradient, draws=1000)


def test_a_discrete_variable_has_no_gradient() -> None:
    with pytest.raises(cr.PlanError, match="axis 1 is discrete"):
        cr.probability(
            lambda x: 9 - x.sum(axis=1),
            [stats.norm(), stats.poisson(2)],
            gradient=lambda x: -np.ones_like(x),
            draws=1000,
        )


def test_nan_in_the_run_names_the_point_and_keeps_what_was_stored(tmp_path: Path) -> None:
    def bad(x: Any) -> Any:
        return np.where(x[:, :1] > 2, np.nan, slope(x))

    with pytest.raises(cr.ArmError, match=r"ticket .*gradient is nan at the point \("):
        cr.probability(beyond, 2, gradient=bad, draws=10_000, rng=7, store=tmp_path / "run.db")
    assert cr.open_run(tmp_path / "run.db").result().draws > 0


def test_a_wrong_gradient_warns_and_the_estimate_is_still_right() -> None:
    with pytest.warns(cr.CroupierWarning, match="the gradient is wrong"):
        result = cr.probability(
            beyond, 2, gradient=lambda x: -slope(x), draws=50_000, rtol=0.1, rng=7
        )
    assert near(result, stats.norm.sf(4))


def test_a_yes_or_no_function_with_a_gradient_of_zero_is_found_all_the_same() -> None:
    def step(x: Any) -> Any:
        return np.where(x[:, 0] + x[:, 1] > 4.2, -1.0, 1.0)

    result = cr.probability(step, 2, gradient=np.zeros_like, draws=50_000, rtol=0.1, rng=7)
    assert near(result, stats.norm.sf(4.2 / np.sqrt(2)))


class Stop:
    """Stops a run after some tickets, as a kill would, between two batches."""

    def __init__(self, tickets: int) -> None:
        self.tickets = tickets

    def __call__(self, progress: cr.Progress) -> bool:
        return progress.tickets >= self.tickets


@quiet
@pytest.mark.parametrize("tickets", [33, *slow(5, 20, 45, 80)])
def test_a_descent_survives_a_cut(tickets: int, tmp_path: Path) -> None:
    def run(**settings: Any) -> cr.ProbabilityResult:
        return cr.probability(
            branches, 2, gradient=slope_of_branches, draws=2500, rng=7, **settings
        )

    whole, store = run(), tmp_path / "run.db"
    run(store=store, callback=Stop(tickets))
    again = run(store=store)
    assert again.value == whole.value
    assert again.to_dict()["details"] == whole.to_dict()["details"]
