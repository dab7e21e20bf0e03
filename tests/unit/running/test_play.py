"""play: a table of one's own, or a kind by its name, with everything that a run has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def test_an_allocator_that_is_played_is_the_run_of_estimate(arms: dict[str, Any]) -> None:
    ours = cr.estimate(arms, draws=5000, rng=7)
    table = cr.Allocator(list(arms), rng=7)
    theirs = cr.play(table, arms, draws=5000, progress=False)
    assert (theirs.value, theirs.stderr, theirs.draws) == (ours.value, ours.stderr, ours.draws)
    assert theirs.stopped == "draws"


def test_a_table_is_stored_and_its_tolerance_is_kept(arms: dict[str, Any], tmp_path: Path) -> None:
    table = cr.Allocator(list(arms), rng=7)
    result = cr.play(table, arms, draws=1e6, rtol=0.01, store=tmp_path / "run.db", progress=False)
    assert result.stopped == "tolerance"
    assert result.basis.interval.name == "many-looks"
    assert cr.open_run(tmp_path / "run.db").result().value == result.value
    again = cr.play(
        cr.Allocator(list(arms), rng=7), arms, draws=20_000, store=tmp_path / "run.db",
        progress=False,
    )  # fmt: skip
    assert again.draws == 20_000
    assert again.history.size[: len(result.history)].tolist() == result.history.size.tolist()


def test_an_allocator_that_is_played_to_a_tolerance_is_the_run_of_estimate(
    arms: dict[str, Any],
) -> None:
    ours = cr.estimate(arms, draws=1e6, rtol=0.01, rng=7)
    theirs = cr.play(cr.Allocator(list(arms), rng=7), arms, draws=1e6, rtol=0.01, progress=False)
    assert (theirs.value, theirs.stderr, theirs.draws) == (ours.value, ours.stderr, ours.draws)
    assert ours.stopped == theirs.stopped == "tolerance"


def test_a_table_with_its_own_store_takes_no_other_store(
    arms: dict[str, Any], tmp_path: Path
) -> None:
    path, other = tmp_path / "run.db", tmp_path / "other.db"
    with cr.Allocator(list(arms), rng=7, store=path) as table:
        assert table.store == path.resolve()
        for store in (other, path, cr.Store(other)):
            with pytest.raises(cr.PlanError, match="the table has its own store: leave this out"):
                cr.play(table, arms, draws=100, store=store, progress=False)
        result = cr.play(table, arms, draws=100, store=None, progress=False)
    assert not other.exists()
    assert cr.open_run(path).result().value == result.value
    assert cr.Allocator(list(arms), rng=7).store is None


def test_a_kind_is_played_by_its_name(arms: dict[str, Any]) -> None:
    family = cr.importance.Family.tilted(lambda x: x[:, 0] > 1.5, shifts=[0, 1, 2])
    settings = {
        "proportions": "learned", "tune": 0, "spread": True, "rounds": "pooled", "normalised": True,
    }  # fmt: skip
    from croupier.importance.proposal_arms import Proposed

    named = [cr.Arm(Proposed(family, k, n, None), name=n) for k, n in enumerate(family.names)]
    result = cr.play("mixture", named, draws=4000, settings=settings, rng=7, progress=False)
    assert result.value == family.estimate(draws=4000, rng=7).value
    assert result.plan.table == "mixture"
    assert result.plan.settings == settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rng": 8}, "the table has its own rng: leave this out, or give the name of a kind"),
        ({"width": 2, "confidence": 0.9}, "the table has its own confidence, width"),
        ({"settings": {}}, "the table has its own settings"),
        ({"seconds": 1.0}, "the unit of the table is draws, but the budget is in seconds"),
    ],
)
def test_what_the_table_has_already_is_refused(
    arms: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(cr.PlanError, match=message):
        cr.play(cr.Allocator(list(arms), rng=7), arms, draws=100, **options)


def test_the_arms_must_be_those_of_the_table(arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match="not in both: other"):
        cr.play(cr.Allocator([*arms, "other"], rng=7), arms, draws=100)


def test_what_is_no_table_is_refused_with_what_it_lacks(arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"has no plan, tickets, interval, ask, tell"):
        cr.play(object(), arms, draws=100)  # type: ignore[arg-type]


def test_a_misspelt_option_is_named(arms: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="'drawz': did you mean 'draws'"):
        cr.play(cr.Allocator(list(arms)), arms, drawz=100)  # type: ignore[call-arg]


def test_a_budget_is_needed(arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match="no budget"):
        cr.play(cr.Allocator(list(arms)), arms)


@pytest.mark.parametrize("kind", ["independent", "strata"])
def test_a_kind_that_has_a_door_of_its_own_names_the_door(kind: str, arms: dict[str, Any]) -> None:
    with pytest.raises(cr.PlanError, match=r"use cr\.estimate or cr\.stratify"):
        cr.play(kind, arms, draws=100)
