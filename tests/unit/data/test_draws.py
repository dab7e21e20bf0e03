"""What comes through the door: every kind of value that an arm may return, and what it may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.draws import as_costs, as_values
from croupier.seeds import DRAWS, stream

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

Arm = Callable[[np.random.Generator, int], Any]


def refused(arm: Any, **budget: Any) -> cr.ArmError:
    """Play an arm beside a good one and return the error that it ends in."""

    def good(rng: np.random.Generator, size: int) -> Any:
        return cr.Draws(rng.normal(1.0, 1.0, size), costs=1.0)

    with pytest.raises(cr.ArmError) as caught:
        cr.estimate({"good": good, "bad": arm}, rng=7, **(budget or {"draws": 1000}))
    error = caught.value
    assert error.arm == "bad"
    assert str(error).startswith(f"arm 'bad', ticket {error.ticket}: ")
    return error


class Thing:
    def __repr__(self) -> str:
        return "<a thing>"


async def later(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.random(size)


def yielding(size: int) -> Any:
    yield from range(size)


class AsyncCall:
    async def __call__(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random(size)


NOT_VALUES: dict[str, tuple[Arm, str, str]] = {
    # what an arm returns, how the message shows it, the way out
    "nan": (lambda rng, size: np.full(size, np.nan), "nan", "fix the arm"),
    "inf": (lambda rng, size: np.full(size, np.inf), "returned inf", "fix the arm"),
    "minus inf": (lambda rng, size: np.full(size, -np.inf), "-inf", "fix the arm"),
    "float32 inf": (lambda rng, size: np.full(size, np.inf, np.float32), "inf", "fix the arm"),
    "too large": (lambda rng, size: np.full(size, 1e308), "1e+308", "rescale the draws"),
    "None": (lambda rng, size: None, "None", "return an array of 1 values"),
    "complex": (lambda rng, size: np.full(size, 1 + 2j), "(1+2j)", "two components"),
    "strings": (lambda rng, size: ["heads"] * size, "heads", "return numbers"),
    "objects": (lambda rng, size: [Thing()] * size, "<a thing>", "return numbers"),
    "a dict": (lambda rng, size: {"value": 1.0}, "{'value': 1.0}", "return numbers"),
    "dates": (lambda rng, size: np.full(size, "2020", "M8[Y]"), "2020", "return numbers"),
    "too few": (lambda rng, size: rng.random(size - 1), "too few, 0", r"array \(size, d\)"),
    "too many": (lambda rng, size: rng.random(size + 1), "too many, 2", r"array \(size, d\)"),
    "too many rows": (lambda rng, size: rng.random((2, 5)), "shape (2, 5)", "asked for 1 draw"),
    "a number": (lambda rng, size: 3.5, "3.5", r"cr\.scalar"),
    "a masked array": (
        lambda rng, size: np.ma.masked_greater(rng.random(size), 0.5),
        "masked array",
        "return every draw in a plain array",
    ),
    "a masked array without a mask": (
        lambda rng, size: np.ma.array(rng.random(size)),
        "masked array",
        "return every draw in a plain array",
    ),
    "a 3-d array": (lambda rng, size: rng.random((size, 2, 2)), "(1, 2, 2)", r"\(size, d\)"),
    "no component": (lambda rng, size: np.empty((size, 0)), "(1, 0)", "no component"),
    "ragged": (lambda rng, size: [[1.0], [1.0, 2.0]], "not an array", "inhomogeneous"),
    "a coroutine": (AsyncCall(), "coroutine", "returns when it was run"),
    "a generator": (lambda rng, size: yielding(size), "generator", "return an array"),
    "an iterator": (lambda rng, size: iter([1.0] * size), "list_iterator", "return an array"),
}


@pytest.mark.parametrize("what", NOT_VALUES)
def test_what_is_no_value_ends_the_run_with_the_arm_the_ticket_the_value_and_the_way_out(
    what: str,
) -> None:
    arm, shown, way_out = NOT_VALUES[what]
    error = refused(arm)
    assert shown in str(error)
    assert re.search(way_out, str(error))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("components", [None, 3])
def test_one_bad_value_among_good_ones_is_found(bad: float, components: int | None) -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        values = rng.random(size if components is None else (size, components))
        if size >= 3:
            values.flat[-1] = bad
        return values

    with pytest.raises(cr.ArmError, match=rf"arm 'bad', ticket \d+: returned {bad}") as caught:
        cr.estimate({"bad": arm}, draws=1000, rng=7)
    assert repr(caught.value.value) == repr(float(bad))


def test_a_bad_value_in_a_later_call_of_the_same_batch_is_found() -> None:
    calls = []

    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        calls.append(size)
        values = rng.random(size)
        if calls[-2:-1] == [10_000]:
            values[7] = np.nan
        return values

    with pytest.raises(cr.ArmError, match=r"arm 'bad', ticket \d+: returned nan"):
        cr.estimate({"bad": arm}, draws=10**6, rng=7)
    assert calls[-2] == 10_000


def test_an_arm_that_raises_is_named_and_its_error_is_the_cause() -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        raise ZeroDivisionError("seven of nine")

    error = refused(arm)
    assert "raised ZeroDivisionError: seven of nine" in str(error)
    assert isinstance(error.value, ZeroDivisionError)
    assert error.__cause__ is error.value


@pytest.mark.parametrize("kind", [StopIteration, SystemError, RuntimeError, AssertionError])
def test_whatever_an_arm_raises_ends_the_run(kind: type[Exception]) -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        raise kind("here")

    assert f"raised {kind.__name__}" in str(refused(arm))


def test_an_arm_that_fails_late_is_named_with_its_own_ticket() -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        if size > 10:
            raise ValueError(f"{size} at once")
        return rng.normal(1.0, 0.1, size)

    error = refused(arm, draws=100_000)
    assert error.ticket is not None
    assert error.ticket > 8  # not one of the first draws
    assert "at once" in str(error)


# -- components


def test_an_arm_whose_number_of_components_changes_is_refused() -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random((size, 2 if size == 1 else 3))

    with pytest.raises(cr.ArmError, match=r"arm 'bad', ticket \d+: .*3 components.*2 components"):
        cr.estimate({"bad": arm}, draws=1000, rng=7)


def test_components_that_change_within_a_batch_are_refused() -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random((size, 3 if size == 5000 else 2))  # a chunk has 5000 draws for d = 2

    with pytest.raises(cr.ArmError, match=r"arm 'bad', ticket \d+: returned .*, then .* batch"):
        cr.estimate({"bad": arm}, draws=10**6, rng=7)


@pytest.mark.parametrize("shape", [(1,), (3,)])
def test_arms_that_estimate_different_quantities_are_refused(shape: tuple[int, ...]) -> None:
    arms = {
        "number": lambda rng, size: rng.random(size),
        "vector": lambda rng, size: rng.random((size, *shape)),
    }
    with pytest.raises(cr.ArmError, match=r"arm 'vector', ticket 1: .*a number") as caught:
        cr.estimate(arms, draws=100, rng=7)
    assert "every arm must estimate the same quantities" in str(caught.value)


# -- costs


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(0, "0;"), (-2.5, "-2.5"), (np.nan, "nan"), (np.inf, "inf"), (1e200, "1e+200")],
)
@pytest.mark.parametrize("each", [True, False])
def test_costs_that_cannot_be_spent_are_refused(cost: float, shown: str, each: bool) -> None:
    def arm(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.random(size), costs=np.full(size, cost) if each else cost)

    error = refused(arm, cost=100)
    assert f"reported a cost of {shown}" in str(error)
    assert repr(error.value) == repr(float(cost))
    assert "must be a positive number" in str(error) or "costs must lie between" in str(error)


def test_a_single_bad_cost_among_good_ones_is_found() -> None:
    with pytest.raises(cr.ArmError, match=r"arm 'a', ticket 3: reported a cost of -1;"):
        as_costs([1.0, 2.0, -1.0], 3, arm="a", ticket=3)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (np.ones(4), r"costs of shape \(4,\) for 1 draws; report one per draw"),
        (np.ones((1, 1)), r"costs of shape \(1, 1\) for 1 draws; report one per draw"),
        (["dear"], r"costs.*dear"),
        (np.array([2j]), r"costs.*2\.?j"),
        (np.ma.masked_less([0.5], 1.0), "costs.*masked"),
    ],
)
def test_costs_that_are_not_one_number_per_draw_are_refused(costs: Any, message: str) -> None:
    with pytest.raises(cr.ArmError, match=rf"^arm 'bad', ticket 0: .*{message}"):
        cr.estimate({"bad": lambda rng, size: cr.Draws(rng.random(size), costs)}, cost=1.5)


def test_an_arm_that_reports_no_cost_under_a_budget_of_cost_is_told_what_to_do() -> None:
    for arm in (lambda rng, size: rng.random(size), lambda rng, size: cr.Draws(rng.random(size))):
        error = refused(arm, cost=100)
        assert "return cr.Draws(values, costs), or give draws= or seconds=" in str(error)


def test_costs_are_one_per_draw_or_one_for_all() -> None:
    assert as_costs([1, 2, 3], 3, arm="a", ticket=0).tolist() == [1.0, 2.0, 3.0]
    assert as_costs(np.float32(2), 3, arm="a", ticket=0).tolist() == [2.0, 2.0, 2.0]


# -- what an arm may return


ACCEPTED: dict[str, Arm] = {
    "list": lambda rng, size: rng.integers(2, size=size).tolist(),
    "tuple": lambda rng, size: tuple(rng.integers(2, size=size).tolist()),
    "list of bools": lambda rng, size: [bool(x) for x in rng.integers(2, size=size)],
    "bool": lambda rng, size: rng.integers(2, size=size).astype(bool),
    "int": lambda rng, size: rng.integers(2, size=size),
    "uint8": lambda rng, size: rng.integers(2, size=size).astype(np.uint8),
    "float32": lambda rng, size: rng.integers(2, size=size).astype(np.float32),
    "float16": lambda rng, size: rng.integers(2, size=size).astype(np.float16),
    "big endian": lambda rng, size: rng.integers(2, size=size).astype(">f8"),
    "Draws": lambda rng, size: cr.Draws(rng.integers(2, size=size)),
    "Draws of a list": lambda rng, size: cr.Draws(rng.integers(2, size=size).tolist()),
    "Draws with costs": lambda rng, size: cr.Draws(rng.integers(2, size=size), np.ones(size)),
    "Draws with one cost": lambda rng, size: cr.Draws(rng.integers(2, size=size), 3),
    "not contiguous": lambda rng, size: np.repeat(rng.integers(2, size=size), 3)[::3],
    "backwards": lambda rng, size: rng.integers(2, size=size)[::-1][::-1],
}


@pytest.mark.parametrize("kind", ACCEPTED)
def test_every_kind_of_number_gives_the_same_result(kind: str, bits: Callable[..., Any]) -> None:
    plain = cr.estimate(
        {"coin": lambda rng, size: rng.integers(2, size=size).astype(float)}, draws=2000, rng=7
    )
    result = cr.estimate({"coin": ACCEPTED[kind]}, draws=2000, rng=7)
    assert bits(result) == bits(plain)
    assert isinstance(result.value, float)
    assert 0.4 < result.value < 0.6


def vectors(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal([1.0, 2.0, 3.0], 1.0, (size, 3))


VECTORS: dict[str, Arm] = {
    "Fortran order": lambda rng, size: np.asfortranarray(vectors(rng, size)),
    "columns of a larger array": lambda rng, size: np.repeat(vectors(rng, size), 2, axis=1)[:, ::2],
    "list of rows": lambda rng, size: vectors(rng, size).tolist(),
    "list of arrays": lambda rng, size: list(vectors(rng, size)),
    "Draws": lambda rng, size: cr.Draws(vectors(rng, size), 2.0),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_every_kind_of_vector_gives_the_same_result(kind: str, bits: Callable[..., Any]) -> None:
    plain = cr.estimate({"vectors": vectors}, draws=2000, rng=7)
    result = cr.estimate({"vectors": VECTORS[kind]}, draws=2000, rng=7)
    assert bits(result) == bits(plain)
    assert result.value.shape == (3,)


def test_a_column_of_values_is_a_vector_of_length_one() -> None:
    column = cr.estimate({"a": lambda rng, size: rng.random((size, 1))}, draws=1000, rng=7)
    plain = cr.estimate({"a": lambda rng, size: rng.random(size)}, draws=1000, rng=7)
    assert column.value.shape == column.stderr.shape == column.interval[0].shape == (1,)
    assert column.value[0] == pytest.approx(plain.value, rel=1e-14)
    assert column.stderr[0] == plain.stderr


@pytest.mark.parametrize("components", [None, 2])
@pytest.mark.parametrize("keep_values", [False, True])
def test_the_same_buffer_returned_again_and_again_corrupts_nothing(
    components: int | None, keep_values: bool, bits: Callable[..., Any]
) -> None:
    def shape(size: int) -> Any:
        return size if components is None else (size, components)

    buffer = np.empty(shape(10_000))

    def fresh(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.random(shape(size))

    def same(rng: np.random.Generator, size: int) -> np.ndarray:
        buffer[:size] = rng.random(shape(size))
        return buffer[:size]

    expected, result = (
        cr.estimate({"a": arm}, draws=200_000, rng=7, keep_values=keep_values)
        for arm in (fresh, same)
    )
    assert bits(result) == bits(expected)
    if keep_values:
        assert np.array_equal(result.arms["a"].values, expected.arms["a"].values)


def test_an_array_that_may_not_be_written_to_is_fine_and_left_alone() -> None:
    fixed = np.linspace(0.0, 1.0, 10_000)
    fixed.flags.writeable = False
    before = fixed.copy()
    result = cr.estimate({"a": lambda rng, size: fixed[:size]}, draws=10_000, rng=7)
    assert result.draws == 10_000
    assert np.array_equal(fixed, before)


def test_what_an_arm_returned_is_never_written_to() -> None:
    returned = []

    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        values = rng.normal(1.0, 1.0, size)
        returned.append((values, values.copy()))
        return values

    cr.estimate({"a": arm}, draws=50_000, rng=7, keep_values=True)
    assert all(np.array_equal(values, copy) for values, copy in returned)


def test_values_and_shapes_are_checked_at_the_door() -> None:
    assert as_values([1, 2], 2, arm="a", ticket=0).dtype == np.float64
    assert as_values([[1], [2]], 2, arm="a", ticket=0).shape == (2, 1)
    values = np.arange(3.0)
    assert as_values(values, 3, arm="a", ticket=0) is values  # no copy of what is fine already


# -- batches


def test_the_randomness_of_a_batch_belongs_to_its_ticket() -> None:
    batch = cr.Batch(ticket=3, arm="a", size=5, seed=7)
    assert np.array_equal(batch.rng().random(5), batch.rng().random(5))
    assert np.array_equal(batch.rng().random(5), stream(7, DRAWS, 3).random(5))
    other = cr.Batch(ticket=4, arm="a", size=5, seed=7)
    assert not np.array_equal(batch.rng().random(5), other.rng().random(5))


@pytest.mark.parametrize(("components", "most"), [(None, 10_000), (2, 5000), (64, 156)])
def test_an_arm_is_called_for_at_most_ten_thousand_numbers_at_a_time(
    components: int | None, most: int
) -> None:
    sizes = []

    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        sizes.append(size)
        return rng.random(size if components is None else (size, components))

    result = cr.estimate({"a": arm}, draws=50 * most, rng=7)
    assert max(sizes) == most
    assert sum(sizes) == result.draws == 50 * most
    assert result.history.size.max() > most


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: (x * x).astype(np.int32),  # products beyond 2**31 come back below zero
        lambda x: (x % 3).astype(np.uint32) - np.uint32(1),  # 0 - 1 is 2**32 - 1
        lambda x: np.column_stack((x, x)).astype(np.int64) * 2**47,
    ],
)
def test_integers_that_have_overflowed_are_refused(draw: Callable[..., Any]) -> None:
    def arm(rng: np.random.Generator, size: int) -> Any:
        return draw(rng.integers(0, 100_000, size))

    with pytest.raises(cr.ArmError, match=r"arm 'a', ticket \d+: .*int.* both ends of .*astype"):
        cr.estimate({"a": arm}, draws=5_000, rng=7)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(0, 256, "u1"), (-(2**15), 2**15, "i2"), (0, 2**31, "i4"), (-(2**61), 2**61, "i8")],
)
def test_integers_of_any_type_are_fine_within_their_range(low: int, high: int, kind: str) -> None:
    def arm(rng: np.random.Generator, size: int) -> Any:
        return rng.integers(low, high, size).astype(kind)

    result = cr.estimate({"a": arm}, draws=5_000, rng=7)
    assert abs(result.value - (low + high) / 2) < 4 * result.stderr
