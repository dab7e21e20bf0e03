"""What every kind of table must do: be played, stored, resumed, read back, merged and shown."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import croupier as cr
from croupier.engines.perform import perform
from croupier.running.loop import conduct
from croupier.running.settings import settings_of
from croupier.tables.base import KINDS, Example, Kind, kind_of, register, restore

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

Bits = Callable[[cr.Result], Any]

every = pytest.mark.parametrize("name", sorted(KINDS))


def example(name: str, **fields: Any) -> Example:
    made = kind_of(name).example
    assert made is not None, f"{name} is registered, and has no example"
    plan, arms = made()
    return Example(replace(plan, **fields), arms)


def run(name: str, seed: int = 7, width: int = 1, draws: int = 4000, **options: Any) -> cr.Result:
    """Play the example of a kind, as its own door would."""
    plan, arms = example(name, seed=seed, width=width)
    settings = settings_of(draws, rng=seed, width=width, progress=False, **options)
    return conduct(kind_of(name).make, plan, arms, settings, settings.executors(arms))


@cache
def plain(name: str, seed: int = 7) -> cr.Result:
    """Return the run that nothing disturbs: made once, compared with in many tests."""
    return run(name, seed)


class Cut:
    """A callback that stops a run after its tenth ticket."""

    def __init__(self) -> None:
        self.tickets = 0

    def __call__(self, _: cr.Progress) -> bool:
        self.tickets += 1
        return self.tickets == 10


@every
def test_a_kind_says_what_it_is(name: str) -> None:
    kind = kind_of(name)
    assert kind.name == name
    assert example(name).plan.table == name
    assert cr.Plan.from_json(example(name).plan.to_json()) == example(name).plan
    assert kind.shared_mean or kind.rows.untested  # if means are not compared, it says why


@every
def test_workers_change_no_bit(name: str, bits: Bits) -> None:
    here = run(name, width=4)
    with ThreadPoolExecutor(2) as threads:
        there = run(name, width=4, executor=threads)
    assert bits(here) == bits(there)
    assert here.draws == 4000


@every
def test_a_run_that_was_cut_is_resumed_to_the_bits_of_one_that_was_not(
    name: str, bits: Bits, tmp_path: Path
) -> None:
    store = tmp_path / "run.db"
    cut = run(name, store=store, callback=Cut())
    assert cut.stopped == "callback"
    assert cut.draws < 4000
    assert bits(run(name, store=store)) == bits(plain(name))


@every
def test_a_store_is_read_back_without_the_arms(name: str, bits: Bits, tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    result = run(name, store=store)
    opened = cr.open_run(store)
    assert opened.plan == result.plan
    assert bits(opened.result()) == bits(result)


@every
def test_a_store_with_a_gap_is_read_back_with_what_came_early(name: str, tmp_path: Path) -> None:
    plan, arms = example(name, width=4)
    table, named = kind_of(name).make(plan, settings_of(4000).interval), {a.name: a for a in arms}
    digest = getattr(table, "digest", None)
    batches = [table.ask(), table.ask(), table.ask()]
    outcomes = [perform(plan, named[batch.arm], batch, digest) for batch in batches]
    restored = kind_of(name).make(plan, settings_of(4000).interval)
    restore(restored, outcomes[0])
    restored.tickets.hold(outcomes[2])  # ticket 1 was out when the run was killed
    assert restored.result().draws == outcomes[0].size + outcomes[2].size


@every
def test_two_runs_are_merged(name: str) -> None:
    first, second = plain(name), plain(name, seed=2)
    both = cr.merge([first, second])
    assert both.draws == first.draws + second.draws
    assert both.stderr < 0.9 * max(first.stderr, second.stderr)
    assert both.runs is not None
    low, high = sorted((first.value, second.value))
    assert low - 3 * first.stderr <= both.value <= high + 3 * first.stderr


@every
def test_a_result_is_shown_as_text_as_data_and_as_a_page(name: str, tmp_path: Path) -> None:
    result, kind = plain(name), kind_of(name)
    page = result.report(tmp_path / "run.html").read_text("utf-8")
    assert all(row.name in page for row in result.arms)
    assert f"<dt>table</dt><dd>{name}" in page
    assert kind.rows.efficiency in page
    assert ("agreement of the arms:" in str(result)) == (kind.rows.untested is None)
    assert result.to_dict()["table"] == name
    assert len(result.plot().axes) >= 3


@every
def test_an_interval_at_all_times_is_possible_or_refused(name: str) -> None:
    if kind_of(name).anytime:
        assert run(name, anytime=True).basis.interval.name == "anytime"
    else:
        with pytest.raises(cr.PlanError, match="anytime=True is not possible"):
            cr.play(name, example(name).arms, draws=4000, anytime=True)


def test_a_kind_that_is_not_known_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(cr.PlanError, match=r"unknown kind of table 'roulette'; .* register"):
        cr.play("roulette", example("independent").arms, draws=100)


@pytest.fixture
def roulette() -> Any:
    known = kind_of("independent")
    yield register(replace(known, name="roulette"))
    KINDS.pop("roulette")


def test_a_registered_kind_is_stored_by_its_name_alone(roulette: Kind, tmp_path: Path) -> None:
    plan, arms = example("independent", table="roulette")
    settings = settings_of(1000, rng=7, store=tmp_path / "run.db", progress=False)
    result = conduct(roulette.make, plan, arms, settings, None)
    assert cr.open_run(tmp_path / "run.db").result().value == result.value
    KINDS.pop("roulette")
    with pytest.raises(cr.StoreError, match=r"played at a table that is not registered.*roulette"):
        cr.open_run(tmp_path / "run.db")
    register(roulette)


def test_a_kind_of_croupiers_own_is_not_replaced() -> None:
    with pytest.raises(cr.PlanError, match="already has a kind of table 'strata'"):
        register(replace(kind_of("independent"), name="strata"))
