"""Every door that takes a function of points takes all kinds of it, and names the bad point."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

SQUARE: Final = [(0, 1), (0, 1)]


def integrated(f: Any) -> Any:
    return cr.integrate(f, SQUARE, draws=64, rng=7).value


def failing(f: Any) -> Any:
    return cr.probability(f, SQUARE, below=0.7, draws=64, rng=7).value


def stratified(f: Any) -> Any:
    return cr.stratify(f, over=SQUARE, splits="adaptive", draws=600, rng=7).value


def weighted(f: Any) -> Any:
    arm = cr.arms.importance(f, SQUARE, SQUARE, defensive=0.5)
    return cr.estimate([arm], draws=64, rng=7).value


def evident(f: Any) -> Any:
    return cr.evidence(f, SQUARE, draws=300, rng=7).log_value


def annealed(f: Any) -> Any:
    arm = cr.annealing.ais(f, SQUARE, temperatures=3)
    return cr.estimate([arm], draws=16, rng=7, log=True).log_value


DOORS: Final[dict[str, Callable[..., Any]]] = {
    "integrate": integrated, "probability": failing, "stratify": stratified, "importance": weighted,
    "evidence": evident, "ais": annealed,
}  # fmt: skip
NAME: Final = {
    "probability": "g", "evidence": "log_likelihood", "ais": "log_likelihood"
}  # fmt: skip


def many(x: Any) -> Any:
    return x[:, 0] + x[:, 1] ** 2


def one(x: Any) -> Any:
    return x[0] + x[1] ** 2


def whole_numbers(x: Any) -> Any:
    return np.rint(3 * many(x)).astype(np.int32)


def single(x: Any) -> Any:
    return many(x).astype(np.float32)


def column(x: Any) -> Any:
    return many(x)[:, None]


def changing(x: Any) -> Any:
    y = many(x)
    x[:] = -1
    return y


def changing_one(x: Any) -> Any:
    y = float(one(x))
    x[:] = -1
    return y


BUFFER: Final = np.zeros(1)


def same_buffer(x: Any) -> Any:
    BUFFER[0] = one(x)
    return BUFFER


PROGRAM: Final = cr.Program(
    [sys.executable, "-S", "-c", "import sys\nfor line in sys.stdin:\n"
     "    x, y = map(float, line.split())\n    print(x + y * y, flush=True)"],
    stdin=True, timeout=60,
)  # fmt: skip
KINDS: Final = {
    "one point": one, "a column": column, "changes its points": changing,
    "changes its point": changing_one, "returns the same buffer": same_buffer,
    "a program": PROGRAM,
}  # fmt: skip


@cache
def of_all_points(door: str) -> float:
    return DOORS[door](many)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_function_gives_the_bits_of_a_function_of_all_points(
    kind: str, door: str
) -> None:
    assert DOORS[door](KINDS[kind]) == pytest.approx(of_all_points(door), rel=1e-14)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("f", [whole_numbers, single])
def test_numbers_of_every_type_are_numbers(f: Any, door: str) -> None:
    assert np.isfinite(DOORS[door](f))


def raises(x: Any) -> Any:
    if x.ndim > 1:
        raise TypeError("one point, please")
    if x[0] > 0.8:
        raise ValueError("no convergence")
    return one(x)


def raises_for_many(x: Any) -> Any:
    if (x[:, 0] > 0.8).any():
        raise ValueError("no convergence")
    return many(x)


def not_a_number(x: Any) -> Any:
    return np.where(x[:, 0] > 0.8, np.nan, many(x))


POINT: Final = r"at the point \((0\.[89]|1)"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("f", "said"),
    [
        (raises, rf"ValueError: no convergence, {POINT}"),
        (raises_for_many, rf"ValueError: no convergence, {POINT}"),
        (not_a_number, rf"is nan {POINT}"),
    ],
)
def test_a_failed_call_names_its_point_and_its_ticket(f: Any, said: str, door: str) -> None:
    with pytest.raises(cr.ArmError, match=said) as caught:
        DOORS[door](f)
    assert caught.value.ticket is not None or door == "stratify"  # its pilot has no tickets
    assert f" {NAME.get(door, 'f')} " in str(caught.value)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: None, "check whether a return is missing"),
        (lambda x: many(x) * 1j, "its two parts at once"),
        (lambda x: np.zeros((3, 3, 3)), r"returned an array of shape \(3, 3, 3\)"),
        (lambda x: "red", "return real numbers"),
        (lambda x: x[:, 7], "the points have 2 coordinates"),
        (lambda x, y: x + y, r"takes 2 arguments \(x, y\)"),
        (3.0, "must be a function of points|grows the strata of one function"),
        (cr.Program("cat {seed}"), "have no seed"),
        (cr.Program(["no-such-program"]), "there is no program"),
    ],
)
def test_what_cannot_be_called_is_refused_before_the_run(f: Any, said: str, door: str) -> None:
    with pytest.raises(cr.PlanError, match=said):
        DOORS[door](f)


def test_a_shape_that_changes_is_refused_with_what_to_return() -> None:
    for door in (integrated, stratified):  # the others have one point in a call, or a few
        with pytest.raises(cr.ArmError, match=r"returned an array of shape .*: return \("):
            door(lambda x: many(x) if len(x) < 4 else many(x)[:-1])
