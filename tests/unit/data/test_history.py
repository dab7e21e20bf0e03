"""The history of a run: its rows, and every earlier estimate."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.engines.perform import perform

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]


def test_there_is_one_row_per_batch_in_ticket_order(arms: dict[str, Any]) -> None:
    history = cr.estimate(arms, draws=2000, rng=7, width=4).history
    columns = (history.ticket, history.arm, history.size, history.batch_cost, history.cost)
    assert {len(column) for column in (*columns, history.draws)} == {len(history)}
    assert history.ticket.tolist() == list(range(len(history)))
    assert history.names == ("rough", "fine")
    assert set(history.arm.tolist()) == {0, 1}
    assert np.array_equal(history.draws, np.cumsum(history.size))
    assert np.array_equal(history.cost, np.cumsum(history.batch_cost))
    assert history.draws[-1] == 2000
    assert repr(history) == f"<History of {len(history)} batches from 2 arms>"


def test_the_rows_of_an_arm_add_up_to_its_draws(arms: dict[str, Any]) -> None:
    result = cr.estimate(arms, draws=5000, rng=7)
    for index, row in enumerate(result.arms):
        mine = result.history.arm == index
        assert result.history.size[mine].sum() == row.draws
        assert result.history.batch_cost[mine].sum() / result.cost == pytest.approx(row.share)


@pytest.mark.parametrize("combine", ["guarded", "mean", "inverse-variance"])
@pytest.mark.parametrize("components", [None, 3])
def test_the_estimate_at_the_end_is_the_result(combine: str, components: int | None) -> None:
    shape = () if components is None else (components,)
    arms = {
        "a": lambda rng, size: rng.normal(1.0, 1.0, (size, *shape)),
        "b": lambda rng, size: rng.normal(1.0, 0.2, (size, *shape)),
    }
    result = cr.estimate(arms, draws=3000, rng=7, combine=combine)
    for cost in (result.cost, result.cost + 1, 1e9, np.inf):
        assert np.array_equal(result.history.at(cost), result.value)
    assert type(result.history.at(result.cost)) is type(result.value)


def test_there_is_no_estimate_before_any_draw(arms: dict[str, Any]) -> None:
    history = cr.estimate(arms, draws=100, rng=7).history
    assert np.isnan(history.at(0))
    assert np.isnan(history.at(0.5))
    assert np.isfinite(history.at(1))
    vector = cr.estimate({"a": lambda rng, size: rng.random((size, 3))}, draws=9, rng=7).history
    assert np.isnan(vector.at(0.5)).tolist() == [True, True, True]


@pytest.mark.parametrize("draws", [1, 7, 100, 999, 1500])
def test_the_estimate_in_the_middle_is_the_one_that_was_available_then(
    draws: int, arms: dict[str, Any]
) -> None:
    seen: list[cr.Progress] = []
    result = cr.estimate(arms, draws=2000, rng=7, callback=seen.append)
    then = [progress for progress in seen if progress.cost <= draws][-1]
    assert result.history.at(draws) == then.value


def test_the_estimate_at_every_cost_of_the_papers_loop_is_the_running_mean() -> None:
    arms = {"a": lambda rng, size: rng.normal(1.0, 1.0, size)}
    result = cr.estimate(arms, draws=50, rng=7, batch="one", keep_values=True)
    values = result.arms["a"].values
    for t in range(1, 51):
        assert result.history.at(t) == pytest.approx(values[:t].mean(), rel=1e-12)


@pytest.mark.parametrize("unit", ["cost", "seconds"])
def test_history_counts_in_the_unit_of_the_run(unit: str) -> None:
    arms = {
        "cheap": lambda rng, size: cr.Draws(rng.normal(1.0, 1.0, size), 0.1),
        "dear": lambda rng, size: cr.Draws(rng.normal(1.0, 0.1, size), 0.7),
    }
    result = cr.estimate(arms, rng=7, **{unit: 0.2 if unit == "seconds" else 300})
    assert result.history.cost[-1] == pytest.approx(result.cost, rel=1e-12)
    assert result.history.at(result.cost) == result.value
    middle = float(np.median(result.history.cost))
    assert np.isfinite(result.history.at(middle))


@pytest.mark.parametrize("components", [None, 2])
def test_the_curve_ends_at_the_result_with_its_interval(
    components: int | None, arms: dict[str, Any]
) -> None:
    shape = () if components is None else (components,)
    arms = {"a": lambda rng, size: rng.normal(1.0, 1.0, (size, *shape))}
    result = cr.estimate(arms, draws=5000, rng=7)
    curve = result.history.curve(20)
    assert len(curve.row) <= 20
    assert (np.diff(curve.row) > 0).all()
    assert curve.row[-1] == len(result.history) - 1
    assert np.array_equal(curve.value[-1], result.value)
    assert np.array_equal(curve.value[-1] + curve.half_width[-1], result.interval[1])
    assert curve.value.shape == curve.half_width.shape == (len(curve.row), *shape)


def test_a_short_curve_has_every_batch(arms: dict[str, Any]) -> None:
    history = cr.estimate(arms, draws=12, rng=7).history
    assert history.curve().row.tolist() == list(range(len(history)))
    assert history.curve().value[3] == history.at(history.cost[3])


def test_values_are_there_if_they_were_kept(arms: dict[str, Any]) -> None:
    kept = cr.estimate(arms, draws=500, rng=7, keep_values=True)
    assert kept.history.values("fine") is not None
    assert np.array_equal(kept.history.values("fine"), kept.arms["fine"].values)
    assert cr.estimate(arms, draws=500, rng=7).history.values("fine") is None


@pytest.mark.parametrize("shape", [(), (3,)])
def test_the_values_of_all_arms_are_those_of_each(shape: tuple[int, ...]) -> None:
    arms = {
        "a": lambda rng, size: rng.normal(1.0, 1.0, (size, *shape)),
        "b": lambda rng, size: rng.normal(1.0, 0.2, (size, *shape)),
        "never": lambda rng, size: rng.normal(1.0, 0.2, (size, *shape)),
    }
    table = cr.Allocator(tuple(arms), rng=7, policy=Alternating(), keep_values=True)
    told: dict[str, list[Any]] = {name: [] for name in arms}
    for _ in range(30):
        batch = table.ask()
        assert batch is not None
        told[batch.arm].append(arms[batch.arm](batch.rng(), batch.size))
        table.tell(batch, told[batch.arm][-1])
    history = table.result().history
    everything = history.all_values()
    assert everything is not None
    assert list(everything) == ["a", "b", "never"]
    for name in ("a", "b"):
        assert np.array_equal(everything[name], np.concatenate(told[name]))
        assert np.array_equal(everything[name], history.values(name))
    for values in (everything["never"], history.values("never")):
        assert values is not None
        assert values.shape == (0, *shape)


class Alternating:
    name = "alternating"

    def start(self, plan: cr.Plan) -> int:
        return 0

    def choose(self, state: int, ledger: Any, pending: Any, rng: Any) -> int:
        return state

    def learn(self, state: int, ledger: Any, arm: int, extra: Any) -> int:
        return 1 - arm


def test_there_are_no_values_where_none_were_kept(arms: dict[str, Any]) -> None:
    assert cr.estimate(arms, draws=500, rng=7).history.all_values() is None


@pytest.mark.parametrize("unit", ["draws", "cost", "seconds"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_the_batches_make_the_ledger_again(unit: str, shape: tuple[int, ...]) -> None:
    table = cr.Allocator(["a", "b"], rng=7, unit=unit)
    for _ in range(50):
        batch = table.ask()
        assert batch is not None
        values = batch.rng().normal(1.0, 1.0 if batch.arm == "a" else 0.1, (batch.size, *shape))
        table.tell(batch, values, None if unit == "draws" else 0.5 + batch.rng().random(batch.size))
    again = table.result().history.ledger()
    assert pickle.dumps(vars(again)) == pickle.dumps(vars(table.ledger.copy()))
    before = table.ledger.draws
    again.add(0, outcome_of_one_draw(table))
    assert table.ledger.draws == before


def outcome_of_one_draw(table: cr.Allocator) -> Any:
    batch = cr.Batch(0, "a", 1, 7)
    shape = () if table.result().history.scalar else (3,)
    plan = cr.Plan(names=("a", "b"), seed=7)
    return perform(plan, cr.Arm(lambda rng, size: rng.random((size, *shape)), name="a"), batch)


def test_columns_are_copies_that_may_be_written_to(
    arms: dict[str, Any], bits: Callable[..., Any]
) -> None:
    result = cr.estimate(arms, draws=500, rng=7)
    then = bits(result)
    for name in ("ticket", "arm", "size", "batch_cost", "cost", "draws"):
        getattr(result.history, name)[:] = 0
    assert bits(result) == then
