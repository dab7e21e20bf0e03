"""One way to call a function: found out once, retried, and failed calls counted."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.functions.failures import Bounded, both_ends
from croupier.functions.function import INTEGRAND, LIMIT_STATE, LOG_LIKELIHOOD, Function
from croupier.functions.read_function import enough_points, read_function


def points(d: int, places: int = 1) -> list[Any]:
    n = enough_points(d)
    return [np.linspace(0.1, 0.9, n * d).reshape(n, d) + 0.01 * k for k in range(places)]


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("f", "takes", "shape"),
    [
        (lambda x: x.sum(axis=1), "all", ()),
        (lambda x: np.sum(x), "one", ()),
        (lambda x: np.array([x.sum(), x[0]]), "one", (2,)),
        (lambda x: np.column_stack((x[:, 0], x[:, -1])), "all", (2,)),
    ],
)
def test_the_way_is_found_out_in_every_dimension(f: Any, takes: str, shape: Any, d: int) -> None:
    if d == 1 and takes == "one" and shape == ():
        pytest.skip("the sum of a point (1,) of any kind is its number")
    found = read_function(f, points(d), INTEGRAND)
    assert (found.takes, found.shape) == (takes, shape)


def test_two_coordinates_of_a_point_are_not_two_values_of_many_points() -> None:
    found = read_function(lambda x: np.array([x[0], x[1]]), points(3), LIMIT_STATE)
    assert (found.takes, found.shape) == ("one", (2,))


def test_few_calls_find_out_how_a_function_is_called() -> None:
    called: list[int] = []

    def many(x: Any) -> Any:
        called.append(len(x))
        return x[:, 0]

    read_function(many, points(3), INTEGRAND)
    assert called == [2, 1]


def test_noise_is_allowed_where_the_role_allows_it() -> None:
    rng = np.random.default_rng(1)

    def noisy(x: Any) -> Any:
        return rng.normal(size=len(x))

    assert read_function(noisy, points(2), LIMIT_STATE).takes == "all"
    with pytest.raises(cr.ArmError, match="different values for the same points"):
        read_function(noisy, points(2), LOG_LIKELIHOOD)


def test_another_place_is_tried_where_a_solver_may_fail() -> None:
    def fails_first(x: Any) -> Any:
        if x[0, 0] < 0.105:
            raise RuntimeError("no convergence")
        return x[:, 0]

    assert read_function(fails_first, points(2, 3), LIMIT_STATE).takes == "all"
    with pytest.raises(cr.PlanError, match="no convergence"):
        read_function(fails_first, points(2), LIMIT_STATE)


def failing(rows: set[float], *, many: bool) -> Any:
    def f(x: Any) -> Any:
        if rows & set(np.ravel(x if many else x[:1]).tolist()):
            raise RuntimeError("no convergence")
        return x[:, 0] if many else x[0]

    return f


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("rows", [set(), {3.0}, {0.0, 6.0}, set(map(float, range(7)))])
def test_exactly_the_failed_calls_are_found(rows: set[float], many: bool) -> None:
    f = Function(failing(rows, many=many), "all" if many else "one", LIMIT_STATE)
    values, failed = f.evaluated(np.arange(7.0)[:, None])
    assert set(failed) == {int(row) for row in rows}
    assert np.isnan(values).tolist() == [row in rows for row in range(7)]
    assert all(isinstance(error, RuntimeError) for error in failed.values())


def test_what_a_role_does_not_allow_is_a_failed_call() -> None:
    x = np.zeros((4, 1))
    given = np.array([1.0, np.nan, np.inf, -np.inf])
    for role, bad in ((INTEGRAND, [1, 2, 3]), (LIMIT_STATE, [1]), (LOG_LIKELIHOOD, [1, 2])):
        assert sorted(Function(lambda x: given, "all", role).evaluated(x).failed) == bad
    assert given[2] == np.inf  # the user's own array is not changed


@pytest.mark.parametrize("many", [True, False])
def test_a_call_is_repeated_so_often_and_no_more(many: bool) -> None:
    calls: list[int] = []

    def flaky(x: Any) -> Any:
        calls.append(1)
        if len(calls) % 3:
            raise OSError("no licence")
        return x[:, 0] if many else x[0]

    x = np.array([[2.0]])
    assert Function(flaky, "all" if many else "one", INTEGRAND, retries=2)(x).tolist() == [2.0]
    assert len(calls) == 3
    with pytest.raises(cr.ArmError, match=r"OSError: no licence, at the point \(2\)"):
        Function(flaky, "all" if many else "one", INTEGRAND, retries=1)(x)


def test_without_points_nothing_is_called() -> None:
    assert Function(lambda x: 1 / 0, "all", INTEGRAND, (2,))(np.empty((0, 3))).shape == (0, 2)


def test_a_function_goes_to_another_process() -> None:
    found = pickle.loads(pickle.dumps(Function(np.sum, "one", INTEGRAND, retries=2)))
    assert found(np.ones((2, 3))).tolist() == [3.0, 3.0]


def test_a_compiled_function_of_one_point_is_called_in_a_compiled_loop() -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def f(x: Any) -> float:
        total = 0.0
        for j in range(len(x)):
            total += x[j] ** 2
        return total

    found = read_function(f, points(3), INTEGRAND)
    assert found.takes == "one"
    assert found(np.ones((5, 3))).tolist() == [3.0] * 5


def test_a_failed_call_counts_as_both_ends_of_the_range() -> None:
    f = Function(lambda x: np.where(x[:, 0] > 1, np.nan, x[:, 0]), "all", INTEGRAND)
    assert Bounded(f, (0.0, 9.0))(np.array([[0.5], [2.0]])).tolist() == [[0.5, 0.5], [0.0, 9.0]]
    assert both_ends(np.array([[1.0, np.nan]]), (0.0, 9.0)).tolist() == [[1.0, 0.0, 1.0, 9.0]]
