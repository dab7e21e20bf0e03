"""cr.probability with few calls: it learns g, corrects with fresh calls, and survives a cut."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.rare.components import mixture_of
from croupier.rare.corrected import Called, Correction, _at_most_once, stage_of
from croupier.rare.learning import Known, Learning
from croupier.searching.surrogate import surrogate_of

quiet = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def beyond(x: Any) -> Any:
    return 3.5 - x.sum(axis=1) / np.sqrt(x.shape[1])


def begun(learning: Learning, g: Any) -> None:
    """Make the first calls: plain draws, then wider points."""
    x = learning.draws(learning.plain_calls)
    learning.add(x, g(x), "plain")
    while learning.missing:
        x = learning.first(learning.missing)
        learning.add(x, g(x))


def zero_one(x: Any) -> Any:
    return np.where(beyond(x) < 0, -1.0, 1.0)


@quiet
def test_sixty_calls_of_a_smooth_limit_state_are_off_by_less_than_a_tenth() -> None:
    result = cr.probability(beyond, 3, draws=60, rng=7)
    known = stats.norm.sf(3.5)
    assert result.draws == 60
    assert result.value == pytest.approx(known, rel=0.1)
    assert result.interval[0] < known < result.interval[1]
    assert result.stderr < 0.15 * result.value
    assert result.search["calls"] + result.arms["estimate"].draws == 60
    text = str(result)
    for said in ("for learning", "importance factors", "FORM", "reliability index"):
        assert said in text
    assert sum(result.search["importance"]) == pytest.approx(1)


def test_every_call_is_a_batch_of_its_own() -> None:
    seen: list[int] = []

    def counted(x: Any) -> Any:
        seen.append(len(x))
        return beyond(x)

    with_probing = cr.probability(counted, 2, draws=50, rng=7)
    assert seen[2:] == [1] * with_probing.draws


@quiet
@pytest.mark.parametrize("draws", [10, 20, 29])
def test_a_tiny_budget_is_plain_draws_with_the_exact_interval(draws: int) -> None:
    result = cr.probability(lambda x: 0.5 - x[:, 0], 2, draws=draws, rng=7)
    exact = stats.binomtest(round(result.value * draws), draws).proportion_ci()
    assert result.interval == pytest.approx((exact.low, exact.high))


@quiet
def test_a_function_of_two_values_is_not_learned_and_its_first_draws_count() -> None:
    result = cr.probability(zero_one, 2, draws=60, rng=7)
    exact = stats.binomtest(round(result.value * 60), 60).proportion_ci()
    assert result.interval == pytest.approx((exact.low, exact.high))


@quiet
@pytest.mark.parametrize("tickets", [3, 20, 45])
def test_learning_and_fresh_calls_survive_a_cut(tickets: int, tmp_path: Path) -> None:
    def stop(progress: cr.Progress) -> bool:
        return progress.tickets >= tickets

    whole = cr.probability(beyond, 2, draws=60, rng=7)
    store = tmp_path / "run.db"
    cr.probability(beyond, 2, draws=60, rng=7, store=store, callback=stop)
    again = cr.probability(beyond, 2, draws=60, rng=7, store=store)
    assert again.value == whole.value
    assert again.interval == whole.interval
    assert again.to_dict()["details"] == whole.to_dict()["details"]
    assert cr.open_run(store).result().value == whole.value


@quiet
def test_points_are_chosen_together_for_workers_and_their_number_changes_nothing() -> None:
    here = cr.probability(beyond, 2, draws=60, rng=7, width=4)
    with ThreadPoolExecutor(3) as threads:
        there = cr.probability(beyond, 2, draws=60, rng=7, executor=threads, width=4)
    assert (here.value, here.interval) == (there.value, there.interval)
    assert here.value == pytest.approx(stats.norm.sf(3.5), rel=0.2)


def test_known_points_are_no_calls_and_save_calls_of_learning() -> None:
    x = 2.0 * np.random.default_rng(1).standard_normal((60, 2))
    right = cr.probability(beyond, 2, draws=50, known=(x, beyond(x)), rng=7)
    assert right.draws == 50
    assert right.value == pytest.approx(stats.norm.sf(3.5), rel=0.1)
    assert right.search["calls"] <= 20
    assert not right.warnings


def saturated(x: Any) -> Any:
    return np.maximum(beyond(x), 0.3)


@pytest.mark.parametrize("shift", [0.02, 1.5, -1.5, None])
def test_known_points_of_another_model_are_noticed_and_not_used(shift: float | None) -> None:
    """A model that is slightly off, far off, or right in the safe region only."""
    x = 2.0 * np.random.default_rng(1).standard_normal((60, 2))
    g = saturated(x) if shift is None else beyond(x) + shift
    with pytest.warns(cr.CroupierWarning, match="contradict the known= points"):
        result = cr.probability(beyond, 2, draws=60, known=(x, g), rng=7)
    assert result.value == pytest.approx(stats.norm.sf(3.5), rel=0.1)
    assert result.interval[0] < stats.norm.sf(3.5) < result.interval[1]


def test_known_points_of_a_noisy_function_are_used() -> None:
    """Calls differ from known values by the noise, which the process has learned."""
    x = 2.0 * np.random.default_rng(1).standard_normal((60, 2))

    def noisy(x: Any) -> Any:
        return beyond(x) + 0.1 * np.modf(np.abs(np.sin(x @ [12.9898, 78.233]) * 43758.5))[0]

    again = np.random.default_rng(2).random(60)
    learning = Learning(2, 7, known=Known(x, beyond(x) + 0.1 * again))
    begun(learning, noisy)
    assert not learning.contradicted


@pytest.mark.parametrize(
    "known", [3, ([[1, 2, 3]], [1]), ([[1, 2]], [1, 2]), ([[1, 2]], [np.nan]), ([[1, 2]], "x")]
)
def test_known_points_that_cannot_be_are_refused(known: Any) -> None:
    with pytest.raises(cr.PlanError, match=r"known must be points \(k, 2\)"):
        cr.probability(beyond, 2, draws=100, known=known)


def test_progress_says_how_far_learning_is() -> None:
    seen: list[str] = []

    def look(progress: cr.Progress) -> bool:
        seen.append(progress.leader)
        return progress.tickets >= 11

    with pytest.warns(cr.CroupierWarning):
        cr.probability(beyond, 2, draws=60, rng=7, callback=look)
    assert seen[-1] == "learning 6 of 12"


def test_a_surprise_that_chance_explains_is_none() -> None:
    def surprises(*chances: float) -> int:
        """Each of these calls fails; 96 others have the chance 0.0005 and do not."""
        m = np.append(chances, np.full(96, 5e-4))
        fails = np.arange(len(m)) < len(chances)
        return Correction((Called(None, np.ones(len(m)), m, fails),)).surprises  # type: ignore[arg-type]

    assert surprises(0.5, 0.9) == 0
    assert surprises(0.009) == 0  # one of a hundred calls
    assert surprises(1e-6) == 1
    assert surprises(0.004, 0.005, 0.006) == 3


def test_no_point_is_called_twice_in_a_stage() -> None:
    q = np.array([0.7, 0.1, 0.1, 0.05, 0.05])
    capped = _at_most_once(q, 3)
    assert capped.sum() == pytest.approx(1)
    assert capped.max() <= 1 / 3 + 1e-12
    assert _at_most_once(q, 9).tolist() == [0.2] * 5


def test_fresh_calls_correct_a_surrogate_that_is_wrong_without_bias() -> None:
    """The surrogate thinks that the limit is at 2.5, and it is at 3."""
    x = 2.0 * np.random.default_rng(1).standard_normal((60, 1))
    surrogate = surrogate_of(x, 2.5 - x[:, 0])
    z = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        stage = stage_of(surrogate, mixture_of(None, 1, 0.0), 200, 1.0, rng)
        answer = Correction().added(stage, np.arange(200), stage.points[:, 0] > 3).answer()
        z.append(answer.mean / stats.norm.sf(3) - 1)
    assert abs(np.mean(z)) < 4 * np.std(z) / np.sqrt(len(z))


def test_learning_depends_on_its_points_and_seed_only() -> None:
    made = []
    for _ in range(2):
        learning = Learning(2, 7)
        begun(learning, beyond)
        x = learning.next(3)
        made.append(x.tolist())
        assert len(np.unique(x, axis=0)) == 3
    assert made[0] == made[1]


def test_a_surrogate_that_is_wrong_is_learned_further_after_the_first_fresh_calls() -> None:
    """A thin strip: it looks like a half space until fresh calls fall behind it."""
    phases: list[str] = []

    def strip(x: Any) -> Any:
        return np.abs(x[:, 1] - 3 - 0.2 * x[:, 0] ** 2) - 0.15

    def look(progress: cr.Progress) -> bool:
        phases.append("learning" if progress.leader.startswith("learning") else "fresh")
        return False

    with pytest.warns(cr.CroupierWarning):
        result = cr.probability(strip, 2, draws=100, rng=1, callback=look)
    changes = sum(a != b for a, b in itertools.pairwise(phases))
    assert changes > 1  # learning, fresh calls, learning again
    assert result.interval[0] < 0.0009145 < result.interval[1]


def test_nothing_is_learned_from_one_number() -> None:
    learning = Learning(2, 7, known=Known(np.zeros((1, 2)), np.ones(1)))
    learning.add(learning.first(4), np.ones(4))
    assert len(learning) == 4
    assert not learning.learnable


@quiet
def test_thousands_of_fresh_calls_leave_a_process_of_three_hundred_points() -> None:
    result = cr.probability(beyond, 2, draws=3000, rng=1)
    assert result.search["learned"]
    assert result.value == pytest.approx(stats.norm.sf(3.5), rel=0.03)
    assert result.stderr < 0.02 * result.value


def test_the_picture_of_a_surrogate_shows_every_call_and_the_limit(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    store = tmp_path / "run.db"
    result = cr.probability(beyond, 4, draws=60, rng=7, store=store, progress=False)
    figure = result.plot()
    assert len(figure.axes) == 6
    found = result.details["slices"]
    assert len(found) == 3
    for each in found:
        assert len(each["points"]) == len(each["fails"]) == result.draws
        assert sum(each["fresh"]) == result.arms["estimate"].draws
        at = np.array(each["at"])
        x = np.tile(result.search["components"][0]["design_point_normal"], (len(at) ** 2, 1))
        x[:, each["axes"]] = np.column_stack([k.ravel() for k in np.meshgrid(at, at)])
        near = np.abs(x).max(axis=1) < 4
        agree = (beyond(x) < 0) == (np.array(each["limit"]).ravel() < 0)
        assert agree[near].mean() > 0.97
    assert cr.open_run(store).result().as_summary() == result.as_summary()


@quiet
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_500_calls_of_a_function_that_is_0_or_1_pay_for_a_search(seed: int) -> None:
    def fails(x: Any) -> Any:
        return np.where(x.sum(axis=1) > 3 * np.sqrt(2), 0.0, 1.0)

    result = cr.probability(lambda x: fails(x) - 0.5, 2, draws=500, rng=seed)
    value = stats.norm.sf(3)
    assert result.interval[0] < value < result.interval[1]
    assert result.stderr < 0.4 * value  # plain draws: 1.2; a call of the first ones has failed


@quiet
def test_while_nothing_promises_that_learning_pays_every_call_counts_as_a_plain_draw() -> None:
    """Rastrigin's function: 4 of 6 runs or more have the interval of 50 plain draws."""

    def rastrigin(x: Any) -> Any:
        return 10 - (x * x - 5 * np.cos(2 * np.pi * x)).sum(axis=1)

    plain = 0
    for seed in range(6):
        result = cr.probability(rastrigin, 2, draws=50, rng=seed)
        hits = round(result.value * 50)
        upper = stats.beta.ppf(0.975, hits + 1, 50 - hits)
        plain += result.interval[1] == pytest.approx(upper, rel=1e-9)
    assert plain >= 4
