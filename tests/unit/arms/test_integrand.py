"""How f is called: at once or point by point, and what is said if it cannot be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.arms.integrand import integrand_of
from croupier.importance.family import Family
from croupier.spaces.base import Moved
from croupier.spaces.read_space import read_space

SQUARE = read_space([(0, 1)] * 2)
LINE = read_space((0, 1))


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: x.sum(axis=1), (4,)),
        (lambda x: x.sum(axis=-1), (4,)),
        (lambda x: x[:, 0] > 0.5, (4,)),
        (lambda x: np.column_stack((x[:, 0], x[:, 1], x[:, 0])), (4, 3)),
        (lambda x: list(x[:, 0]), (4,)),
    ],
)
def test_a_function_of_all_points_is_called_once(f: Any, shape: tuple[int, ...]) -> None:
    integrand = integrand_of(f, SQUARE)
    assert integrand.takes == "all"
    assert integrand(np.full((4, 2), 0.25)).shape == shape


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: x[0] * x[1], (4,)),
        (lambda x: math.exp(x[0]), (4,)),
        (lambda x: np.exp(-(x**2).sum()), (4,)),
        (lambda x: np.array([x[0], x[1], 1.0]), (4, 3)),
    ],
)
def test_a_function_of_one_point_is_wrapped_with_a_hint(f: Any, shape: tuple[int, ...]) -> None:
    with pytest.warns(cr.CroupierWarning, match="one point at a time.*much faster"):
        integrand = integrand_of(f, SQUARE)
    assert integrand.takes == "one"
    assert integrand(np.full((4, 2), 0.25)).shape == shape


def test_functions_of_one_number_are_found_out() -> None:
    assert integrand_of(lambda x: x**2, LINE)(np.array([[2.0], [3.0]])).tolist() == [4.0, 9.0]
    with pytest.warns(cr.CroupierWarning, match="one point at a time"):
        exp = integrand_of(math.exp, LINE)
    assert exp(np.zeros((3, 1))).tolist() == [1.0, 1.0, 1.0]


def test_a_function_that_cannot_be_evaluated_says_why() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("no such table")

    with pytest.raises(cr.PlanError, match=r"called neither .*no such table.*one point"):
        integrand_of(broken, SQUARE)
    with pytest.raises(cr.PlanError, match=r"complex numbers: return its two parts at once"):
        integrand_of(lambda x: x.sum(axis=1) * 1j, SQUARE)
    with pytest.raises(cr.PlanError, match="f must be a function of points"):
        integrand_of(3.0, SQUARE)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.where(x[:, 0] > 0.9, np.nan, 1.0), r"f is nan at the point \(0\.9"),
        (lambda x: 1 / np.maximum(x[:, 0] - 0.5, 0), r"f is inf at the point"),
    ],
)
def test_a_value_that_is_not_finite_names_the_point_and_the_way_out(f: Any, message: str) -> None:
    with pytest.raises(cr.ArmError, match=message) as caught:
        cr.integrate(f, [(0, 1)] * 2, draws=10_000, rng=7)
    assert "return 0 there" in str(caught.value)
    assert caught.value.ticket is not None


def test_an_integrand_that_raises_late_ends_the_run_with_its_message(tmp_path: Any) -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(len(x))
        if sum(calls) > 2000:
            raise RuntimeError("out of licences")
        return x.sum(axis=1) ** 8

    store = tmp_path / "run.db"
    with pytest.raises(cr.ArmError, match="out of licences"):
        cr.integrate(f, [(0, 1)] * 2, draws=10_000, rng=7, store=store)
    kept = cr.open_run(store).result()  # nothing is lost
    assert kept.draws > 1000
    assert kept.value == pytest.approx(1022 / 90, rel=0.01)


def test_a_shape_that_changes_during_the_run_is_refused() -> None:
    def f(x: Any) -> Any:
        return x[:, 0] if len(x) < 200 else x[:, 0][:-1]

    with pytest.raises(cr.ArmError, match=r"shape \(\d+,\) for \d+ points"):
        cr.integrate(f, [(0, 1)] * 2, draws=10_000, rng=7)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_function_that_changes_its_points_in_place_changes_nothing_else(d: int) -> None:
    def f(x: Any) -> Any:
        x *= 2
        return x.sum(axis=1)

    def transform(u: Any) -> Any:
        u += 1
        return u

    domain = read_space((transform, None), dimension=d)
    points = np.full((4, d), 0.25)
    integrand = integrand_of(f, domain)
    assert integrand(points).tolist() == [0.5 * d] * 4
    assert (points == 0.25).all()
    domain.place(Moved(points, None, None))
    assert (points == 0.25).all()


def test_a_family_gives_its_functions_copies_of_the_points() -> None:
    def target(x: Any) -> Any:
        x += 1
        return -((x - 1) ** 2) / 2 - np.log(2 * np.pi) / 2

    def square(x: Any) -> Any:
        x *= x
        return x

    family = Family(target, {"wide": st.norm(0, 1.5)}, square, normalised=True)
    result = cr.estimate(family.arms(), draws=20_000, rng=7, progress=False)
    assert abs(result.value - 1) < 5 * result.stderr < 0.1


def test_a_function_of_two_arguments_is_told_how_to_get_its_columns() -> None:
    with pytest.raises(
        cr.PlanError, match=r"takes 2 arguments \(x, y\).*f\(x\[:, 0\], x\[:, 1\]\)"
    ):
        cr.integrate(lambda x, y: x + y, [(0, 1)] * 2, draws=100)


def test_one_column_is_one_integral_in_every_dimension() -> None:
    result = cr.integrate(lambda x: x.sum(axis=1, keepdims=True), [(0, 1)] * 3, draws=100, rng=7)
    assert isinstance(result.value, float)


def test_a_function_that_raises_names_the_point() -> None:
    def f(x: Any) -> Any:
        if (x > 0.99).any():
            raise ValueError("too large")
        return x.sum(axis=1)

    with pytest.raises(cr.ArmError, match=r"ValueError: too large, at the point \(.*0\.99"):
        cr.integrate(f, [(0, 1)] * 2, draws=1000, rng=7)


def test_other_names_of_the_budget_are_known() -> None:
    with pytest.raises(TypeError, match="did you mean 'draws'"):
        cr.integrate(lambda x: x, (0, 1), neval=100)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("f", "over", "message"),
    [
        ([np.ones(3), np.exp], (0, 1), "for several, give one that returns np.column_stack"),
        ([np.sin, np.cos], (0, 1), "for several, give one that returns np.column_stack"),
        ((0, 1), np.sin, r"the function comes first, over= second"),
    ],
)
def test_a_list_of_functions_and_swapped_arguments_get_the_way_out(
    f: Any, over: Any, message: str
) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.integrate(f, over, draws=100)
