"""Covariances and functions of several estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import croupier as cr
from tests.marks import slow

MIX = np.array([[1.0, 0.0], [0.8, 0.6]])  # the covariance of the draws is MIX MIX'


def pairs(spread: float) -> Any:
    def draw(rng: np.random.Generator, size: int) -> Any:
        return np.array([1.0, 2.0]) + spread * rng.normal(size=(size, 2)) @ MIX.T

    return draw


ARMS = {"rough": pairs(1.0), "fine": pairs(0.2)}


def run(**options: Any) -> cr.Result:
    given = {"draws": 10_000, "rng": 7, "progress": False}
    return cr.estimate(ARMS, **{**given, **options})


def test_the_covariance_has_the_errors_on_its_diagonal_and_the_draws_correlation() -> None:
    result = run()
    assert np.sqrt(np.diag(result.covariance)) == pytest.approx(result.stderr)
    correlation = result.covariance[0, 1] / result.stderr.prod()
    assert correlation == pytest.approx(0.8, abs=0.03)


def test_strata_have_a_covariance_of_their_own_distances() -> None:
    result = cr.stratify(ARMS, [0.5, 0.5], draws=10_000, rng=7, progress=False)
    assert np.sqrt(np.diag(result.covariance)) == pytest.approx(result.stderr)
    assert result.covariance[0, 1] / result.stderr.prod() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("settings", "offset"),
    [
        ({}, 0.0), ({"width": 3}, 1e9), ({"batch": "one", "draws": 100}, 1e9),
        *slow(({}, 1e9), ({"width": 3}, 0.0), ({"batch": "one", "draws": 300}, 0.0)),
    ],
)  # fmt: skip
def test_the_covariance_without_kept_draws_is_that_of_the_draws(
    settings: dict[str, Any], offset: float, tmp_path: Any
) -> None:
    arms = {name: lambda rng, size, arm=arm: arm(rng, size) + offset for name, arm in ARMS.items()}
    given = {"draws": 20_000, "rng": 7, "progress": False, **settings}
    store = tmp_path / "run.db"
    result = cr.estimate(arms, **given, store=store)
    kept = cr.estimate(arms, **given, keep_values=True)
    mean, total = np.asarray(kept.value), np.zeros((2, 2))
    for row, weights in zip(kept.arms, kept.basis.pooled.weights, strict=True):
        away = (row.values - mean) * weights / row.draws
        total += away.T @ away
    correlation = total[0, 1] / np.sqrt(total[0, 0] * total[1, 1])
    C = result.covariance
    assert np.sqrt(np.diag(C)) == pytest.approx(result.stderr)
    assert C[0, 1] / result.stderr.prod() == pytest.approx(correlation, rel=1e-6)
    assert cr.open_run(store).result().covariance.tolist() == C.tolist()
    assert cr.Result.from_dict(result.to_dict()).covariance.tolist() == C.tolist()


def test_batches_that_come_early_count_in_the_covariance_too() -> None:
    table = cr.Allocator(["one"], rng=7, width=3)
    rng = np.random.default_rng(1)
    batches = [table.ask() for _ in range(3)]
    drawn = [ARMS["rough"](rng, 50 + batch.size)[: batch.size] for batch in batches]
    for batch, values in [*zip(batches, drawn, strict=True)][::-1][:2]:
        table.tell(batch, values)
    told = np.concatenate(drawn[1:])
    known = np.corrcoef(told.T)[0, 1]
    C = table.result().covariance
    assert C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]) == pytest.approx(known)


def test_a_linear_function_has_its_exact_error() -> None:
    result = run()
    found = result.of(lambda a, b: 3 * a - b)
    g = np.array([3.0, -1.0])
    assert found.value == pytest.approx(3 * result.value[0] - result.value[1])
    assert found.stderr == pytest.approx(np.sqrt(g @ result.covariance @ g), rel=1e-6)
    low, high = found.interval
    assert low < found.value < high
    assert found.confidence == 0.95


def test_the_function_of_one_component_is_the_component() -> None:
    result = run()
    first = result.of(lambda a, b: a)
    assert first.stderr == pytest.approx(result.stderr[0])
    assert first.interval == pytest.approx((result.interval[0][0], result.interval[1][0]))
    wider = result.of(lambda a, b: a, confidence=0.99)
    assert wider.interval[1] > first.interval[1]
    scalar = cr.estimate({"one": lambda rng, n: rng.normal(2.0, 1.0, n)}, draws=1000, rng=7)
    assert scalar.covariance.tolist() == [[pytest.approx(scalar.stderr**2)]]
    assert scalar.of(lambda a: a**2).stderr == pytest.approx(2 * scalar.value * scalar.stderr)


def test_a_function_may_return_several_numbers() -> None:
    found = run().of(lambda a, b: np.array([a / b, a + b]))
    assert found.value == pytest.approx([0.5, 3.0], abs=0.05)
    assert found.stderr.shape == found.interval[0].shape == (2,)


def test_what_is_not_known_is_refused_with_the_way_out() -> None:
    long = cr.estimate({"one": lambda rng, n: rng.normal(size=(n, 65))}, draws=200, rng=7)
    with pytest.raises(cr.PlanError, match=r"more than 64 components .*give keep_values=True"):
        _ = long.covariance
    with pytest.raises(cr.PlanError, match="not finite near the estimate"):
        run().of(lambda a, b: np.inf)
    with pytest.raises(cr.PlanError, match="confidence"):
        run().of(lambda a, b: a, confidence=1.5)


def near(*means: float) -> cr.Result:
    """Estimates of these means, each with a standard error of about 0.022."""

    def draw(rng: np.random.Generator, size: int) -> Any:
        return rng.normal(means, 1.0, (size, len(means)))

    return cr.estimate({"one": draw}, draws=2_000, rng=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: b / a,  # a is 0.01 ± 0.022: there is a pole within the error bar
        lambda a, b: float(a > 0),  # a jump has no slope
        lambda a, b: a * a,  # the slope is about 0
        lambda a, b: np.log(a + 0.06),
    ],
)
def test_a_function_that_is_not_linear_within_the_error_bars_warns(function: Any) -> None:
    with pytest.warns(cr.CroupierWarning, match="not nearly linear .* draw more"):
        found = near(0.01, 1.0).of(function)
    assert "may be wrong" in found.warnings[0]


@pytest.mark.filterwarnings("error::croupier.CroupierWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a / b,
        lambda a, b: np.exp(a) + b**3,
        lambda a, b: [a, 3.0],
        lambda a, b: 7.0,
        lambda a, b: max(a, b),
    ],
)
def test_a_function_that_is_nearly_linear_does_not_warn(function: Any) -> None:
    assert near(5.0, 1.0).of(function).warnings == ()


def test_two_components_that_move_together_may_have_a_small_difference() -> None:
    def draw(rng: np.random.Generator, size: int) -> Any:
        x = rng.normal(size=size)
        return np.column_stack((x, x + rng.normal(0.05, 0.01, size)))

    result = cr.estimate({"one": draw}, draws=2_000, rng=1)
    found = result.of(lambda a, b: 1 / (b - a))  # b - a is known to 0.5 %, a and b are not
    assert found.warnings == ()
    assert abs(found.value - 20) < 4 * found.stderr


def test_a_function_takes_one_number_for_each_component() -> None:
    result = near(5.0, 1.0)
    with pytest.raises(cr.PlanError, match=r"with 2 numbers, .*lambda a, b: a / b"):
        result.of(lambda m: m[0] / m[1])
    with pytest.raises(cr.PlanError, match=r"a function of 2 numbers.*got 'a / b'"):
        result.of("a / b")  # type: ignore[arg-type]
    with pytest.raises(cr.PlanError, match=r"raised IndexError.*takes 2 numbers, one for each"):
        result.of(lambda a, b: a[0])


def test_a_race_knows_the_covariance_of_its_nets(tmp_path: Any) -> None:
    def f(x: Any) -> Any:
        s = np.exp(x.sum(axis=1))
        return np.column_stack((s, 2 * s, x[:, 0]))

    result = cr.integrate(f, [(0, 1)] * 3, draws=5000, rng=7, store=tmp_path / "run.db")
    C = result.covariance
    assert np.sqrt(np.diag(C)) == pytest.approx(result.stderr)
    assert C[0, 1] == pytest.approx(2 * C[0, 0])
    ratio = result.of(lambda a, b, c: b / a)
    assert ratio.value == pytest.approx(2.0)
    assert ratio.stderr < 1e-6 * result.stderr[0]
    assert cr.open_run(tmp_path / "run.db").result().covariance.tolist() == C.tolist()


def test_many_components_have_the_covariance_of_the_draws_that_were_kept() -> None:
    """Above 64 components, no sums of products are kept: here are 35 pairs."""

    def many(spread: float) -> Any:
        def draw(rng: np.random.Generator, size: int) -> Any:
            return (1.0 + spread * rng.normal(size=(size, 35, 2)) @ MIX.T).reshape(size, 70)

        return draw

    arms = {"rough": many(1.0), "fine": many(0.2)}
    result = cr.estimate(arms, draws=4000, rng=7, keep_values=True)
    assert np.sqrt(np.diag(result.covariance)) == pytest.approx(result.stderr)
    correlation = result.covariance / np.outer(result.stderr, result.stderr)
    assert correlation[::2, 1::2].diagonal() == pytest.approx(np.full(35, 0.8), abs=0.05)
    assert correlation[0, 2:] == pytest.approx(np.zeros(68), abs=0.1)  # six standard errors


def test_a_function_without_a_signature_is_called() -> None:
    result = run()
    assert result.of(max).value == max(result.value)


def test_the_covariance_of_logs_is_refused() -> None:
    logs = cr.estimate([lambda rng, size: rng.normal(size=(size, 2))], draws=500, log=True, rng=7)
    with pytest.raises(cr.PlanError, match="run without log=True"):
        _ = logs.covariance
