"""A stored run is not continued with arms that draw something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def normal(mean: float) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, 1.0, size)


def run(store: Any, mean: float = 1.0, draws: int = 10_000, **settings: Any) -> cr.Result:
    arms = {"kept": normal(1.0), "edited": normal(mean)}
    return cr.estimate(arms, draws=draws, rng=7, store=store, progress=False, **settings)


def test_an_edited_arm_is_refused_and_the_store_is_unchanged(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    first = run(store)
    with pytest.raises(cr.StoreError, match=r"arm 'edited' no longer draws what it drew.*check="):
        run(store, mean=2.0, draws=20_000)
    assert cr.open_run(store).result().value == first.value
    run(tmp_path / "other.db")
    assert run(store, draws=20_000).value == run(tmp_path / "other.db", draws=20_000).value


def test_the_check_can_be_left_out(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    run(store)
    mixed = run(cr.Store(store, check=False), mean=2.0, draws=20_000, policy="auto")
    assert mixed.draws == 20_000


def test_an_arm_that_does_not_draw_from_its_rng_is_refused(tmp_path: Path) -> None:
    own = np.random.default_rng(1)
    arms = {"own": lambda rng, size: own.normal(size=size)}
    cr.estimate(arms, draws=1000, rng=7, store=tmp_path / "run.db")
    with pytest.raises(cr.StoreError, match="does not draw from its rng alone"):
        cr.estimate(arms, draws=2000, store=tmp_path / "run.db")


def test_it_costs_at_most_one_percent_of_the_run(tmp_path: Path) -> None:
    calls: list[int] = []

    def counted(rng: np.random.Generator, size: int) -> Any:
        calls.append(size)
        return rng.normal(size=size)

    def go(draws: int) -> int:
        calls.clear()
        cr.estimate({"a": counted}, draws=draws, rng=7, batch=20, store=tmp_path / "run.db")
        return sum(calls)

    assert go(1000) == 1000
    assert go(2000) == 1000  # 20 draws would have been 2 % of the 1000 so far
    assert go(3000) == 1000 + 20


class Learning:
    """An arm whose draws depend on what it has learned."""

    def start(self) -> float:
        return 0.0

    def draw(self, rng: np.random.Generator, size: int, state: float) -> cr.Draws:
        return cr.Draws(rng.normal(1.0, 1.0 / (1 + state), size), extra={"calls": 1})

    def learn(self, state: float, extra: Any) -> float:
        return min(state + extra["calls"], 3.0)


@pytest.mark.parametrize("kind", ["learner", "logs", "costs", "strata", "mixture", "evidence"])
def test_every_kind_of_run_continues_if_nothing_was_edited(kind: str, tmp_path: Path) -> None:
    store = tmp_path / "run.db"

    def go(draws: int) -> cr.Result:
        common: dict[str, Any] = {"draws": draws, "rng": 7, "store": store, "progress": False}
        if kind == "learner":
            return cr.estimate([cr.Arm(Learning(), name="a")], **common)
        if kind == "logs":
            return cr.estimate({"a": normal(-2000.0)}, log=True, **common)
        if kind == "costs":
            priced = {"a": lambda rng, n: cr.Draws(rng.normal(size=n), rng.random(n))}
            return cr.estimate(priced, **{**common, "draws": None, "cost": draws / 2})
        if kind == "strata":
            return cr.stratify({"a": normal(1.0), "b": normal(2.0)}, [0.5, 0.5], **common)
        if kind == "mixture":
            family = cr.importance.Family.tilted(lambda x: x[:, 0] > 1, shifts=[0, 1])
            return family.estimate(tune=1, **common)
        prior = stats.norm(0, 1)
        return cr.evidence(lambda x: stats.norm.logpdf(1.0, x[:, 0], 0.5), prior, **common)

    go(3000)
    assert go(6000).stopped in ("draws", "cost")


def test_another_likelihood_under_the_same_version_is_refused(tmp_path: Path) -> None:
    def family(level: float) -> cr.importance.Family:
        return cr.importance.Family.tilted(lambda x: x[:, 0] > level, shifts=[0, 1])

    family(1.0).estimate(draws=20_000, rng=7, store=tmp_path / "run.db")
    with pytest.raises(cr.StoreError, match="no longer draws what it drew"):
        family(1.5).estimate(draws=40_000, rng=7, store=tmp_path / "run.db")
