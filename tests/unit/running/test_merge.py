"""merge: independent runs of one quantity, one estimate, and whether they agree."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.running.merge import run_agreement

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def normal(spread: float, mean: float = 1.0, shape: tuple[int, ...] = ()) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, spread, (size, *shape))


ARMS = {"rough": normal(1.0), "fine": normal(0.1)}


def runs(count: int, arms: Any = ARMS, first: int = 1, **settings: Any) -> list[cr.Result]:
    settings = {"draws": 2000, **settings}
    return [cr.estimate(arms, rng=first + k, **settings) for k in range(count)]


# -- of the same arms


def test_runs_of_the_same_arms_are_put_together_arm_by_arm() -> None:
    several = runs(3)
    merged = cr.merge(several)
    assert merged.draws == 6000
    assert merged.runs is not None
    assert merged.runs.seeds == (1, 2, 3)
    assert merged.seconds == sum(one.seconds for one in several)
    for name in ARMS:
        draws = [one.arms[name].draws for one in several]
        means = [one.arms[name].mean for one in several]
        assert merged.arms[name].draws == sum(draws)
        assert merged.arms[name].mean == pytest.approx(np.average(means, weights=draws), rel=1e-12)
    assert merged.stderr == pytest.approx(several[0].stderr / math.sqrt(3), rel=0.1)
    assert min(merged.runs.values) < merged.value < max(merged.runs.values)
    assert merged.interval[0] < merged.value < merged.interval[1]


def test_two_halves_make_the_moments_of_the_whole() -> None:
    kept = runs(2, keep_values=True)
    merged = cr.merge(kept)
    for name in ARMS:
        values = np.concatenate([one.arms[name].values for one in kept])
        assert np.array_equal(merged.arms[name].values, values)
        assert merged.arms[name].mean == pytest.approx(values.mean(), rel=1e-12)
        assert merged.arms[name].variance == pytest.approx(values.var(ddof=1), rel=1e-10)


def test_the_order_of_the_runs_does_not_matter() -> None:
    several = runs(4)
    one, other = cr.merge(several), cr.merge(several[::-1])
    assert one.value == pytest.approx(other.value, rel=1e-13)
    assert one.stderr == pytest.approx(other.stderr, rel=1e-12)
    assert one.runs.agreement == pytest.approx(other.runs.agreement, rel=1e-9)


def test_a_merged_result_prints_and_plots_as_any_other(tmp_path: Path) -> None:
    merged = cr.merge(runs(3))
    text = merged.summary()
    assert "6,000 draws in " in text
    assert "merged from 3 runs" in text
    assert "agreement of the runs: p = " in text
    assert "seeds 1, 2, 3" in text
    assert "95% interval" in repr(merged)
    assert "merged from 3 runs" in merged._repr_html_()
    merged.plot().savefig(tmp_path / "merged.png")
    low, high = merged.confidence_interval(0.99)
    assert low < merged.interval[0] < merged.interval[1] < high
    assert merged.history.draws[-1] == 6000
    assert merged.history.at(6000) == pytest.approx(merged.value, rel=1e-9)


def test_stores_paths_and_results_can_be_merged_alike(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.db" for seed in (1, 2, 3)]
    several = [
        cr.estimate(ARMS, draws=2000, rng=seed, store=path)
        for seed, path in enumerate(paths, 1)
    ]  # fmt: skip
    expected = cr.merge(several)
    mixed = cr.merge([several[0], cr.open_run(paths[1]), cr.Store(paths[2])])
    for merged in (cr.merge(paths), cr.merge(map(str, paths)), mixed):
        assert (merged.value, merged.interval) == (expected.value, expected.interval)


def test_vectors_and_strata_are_merged() -> None:
    arms = {"a": normal(1.0, shape=(3,)), "b": normal(0.5, shape=(3,))}
    vectors = cr.merge(runs(2, arms))
    assert vectors.value.shape == vectors.runs.agreement.shape == (3,)
    assert "agreement of the runs: smallest p = " in str(vectors)
    parts = {"low": normal(0.1, 0.0), "high": normal(0.5, 2.0)}
    strata = cr.merge([cr.stratify(parts, [0.5, 0.5], draws=2000, rng=seed) for seed in (1, 2)])
    assert strata.value == pytest.approx(1.0, abs=5 * strata.stderr)
    assert strata.plan.settings == {"weights": [0.5, 0.5], "epochs": 2.0}
    # Each run keeps its own epochs, also where the history is looked back at.
    assert strata.history.at(strata.draws) == pytest.approx(strata.value, rel=1e-12)
    assert strata.history.at(2000) == pytest.approx(strata.runs.values[0], rel=1e-12)
    assert strata.value == pytest.approx(np.mean(strata.runs.values), rel=1e-9)


def test_a_combiner_of_ones_own_is_given_again() -> None:
    def even(ledger: Any) -> np.ndarray:
        return np.full(len(ledger), 1 / len(ledger))

    several = runs(2, combine=even)
    with pytest.raises(cr.PlanError, match="unknown combiner"):
        cr.merge(several)
    merged = cr.merge(several, combine=even)
    assert [row.weight for row in merged.arms] == [0.5, 0.5]


# -- of different arms


def test_runs_of_different_arms_are_weighted_by_their_precision() -> None:
    rough = cr.estimate({"rough": normal(1.0)}, draws=4000, rng=1)
    fine = cr.estimate({"fine": normal(0.1)}, draws=1000, rng=2)
    merged = cr.merge([rough, fine])
    assert [row.name for row in merged.arms] == ["run 1 (seed 1)", "run 2 (seed 2)"]
    precision = 1 / rough.stderr**2 + 1 / fine.stderr**2
    assert merged.stderr == pytest.approx(1 / math.sqrt(precision), rel=0.02)
    assert merged.arms["run 2 (seed 2)"].weight > 0.9
    assert merged.arms["run 1 (seed 1)"].mean == rough.value
    assert merged.arms["run 1 (seed 1)"].stderr == pytest.approx(rough.stderr, rel=1e-12)
    assert merged.draws == 5000
    assert "merged from 2 runs" in str(merged)


def test_a_run_of_which_little_is_known_does_not_take_over() -> None:
    long = cr.estimate({"a": normal(1.0)}, draws=5000, rng=1)
    lucky = min(
        (cr.estimate({"b": normal(1.0)}, draws=4, rng=seed) for seed in range(2, 200)),
        key=lambda one: one.stderr,
    )
    assert lucky.stderr < long.stderr * 4
    merged = cr.merge([long, lucky])
    assert merged.arms["run 2 (seed " + str(lucky.seed) + ")"].weight < 0.02
    assert merged.value == pytest.approx(long.value, abs=0.5 * long.stderr)


def test_the_degrees_of_freedom_of_a_run_are_kept() -> None:
    first = cr.estimate({"a": normal(1.0)}, draws=30, rng=1)
    second = cr.estimate({"b": normal(1.0)}, draws=50, rng=2)
    merged = cr.merge([first, second])
    assert merged.basis.ledger.df[:, 0] == pytest.approx(
        [first.basis.pooled.df[0], second.basis.pooled.df[0]], rel=1e-9
    )


@pytest.mark.parametrize("power", [600, -600])
def test_the_scale_of_the_draws_changes_nothing(power: int) -> None:
    def scaled(arm: Any) -> Any:
        return lambda rng, size: np.ldexp(arm(rng, size), power)

    for arms in ([ARMS, ARMS], [{"a": normal(1.0)}, {"b": normal(0.5)}]):
        plain = cr.merge([runs(1, one, first=k)[0] for k, one in enumerate(arms)])
        large = cr.merge(
            [
                runs(1, {name: scaled(arm) for name, arm in one.items()}, first=k)[0]
                for k, one in enumerate(arms)
            ]
        )
        assert large.value == np.ldexp(plain.value, power)
        assert large.stderr == np.ldexp(plain.stderr, power)
        assert large.runs.agreement == plain.runs.agreement


@pytest.mark.parametrize(
    "other",
    [
        {"arms": {"rough": normal(1.0), "other": normal(0.1)}},
        {"arms": [cr.Arm(normal(1.0), "rough", version="2"), cr.Arm(normal(0.1), "fine")]},
        {"combine": "mean"},
        {"seconds": 0.05, "draws": None},
    ],
)
def test_only_the_same_arms_are_put_together(other: dict[str, Any]) -> None:
    settings = {"arms": ARMS, "draws": 2000, **other}
    second = cr.estimate(settings.pop("arms"), rng=2, **settings)
    merged = cr.merge([runs(1)[0], second])
    assert [row.name for row in merged.arms] == ["run 1 (seed 1)", "run 2 (seed 2)"]
    assert merged.draws == 2000 + second.draws


# -- intervals


def test_the_interval_is_of_the_widest_kind() -> None:
    fixed, tolerant, anytime = (
        cr.estimate(ARMS, draws=2000, rng=seed, **kind)
        for seed, kind in enumerate([{}, {"rtol": 1e-9}, {"anytime": True}])
    )
    kinds = [
        ([fixed, runs(1, first=9)[0]], "fixed-size"),
        ([fixed, tolerant], "many-looks"),
        ([fixed, anytime], "anytime"),
        ([anytime, tolerant], "anytime"),
    ]
    for several, kind in kinds:
        assert cr.merge(several).to_dict()["interval_kind"] == kind


def test_levels_must_be_the_same_or_given() -> None:
    several = [*runs(1, confidence=0.9), *runs(1, first=2)]
    with pytest.raises(
        cr.PlanError, match=r"different confidence levels, \[0.9, 0.95\]: give confidence="
    ):
        cr.merge(several)
    merged = cr.merge(several, confidence=0.99)
    assert merged.confidence == merged.plan.confidence == 0.99
    assert merged.interval == merged.confidence_interval(0.99)


# -- agreement


def test_runs_that_disagree_are_called_so() -> None:
    biased = {"rough": normal(1.0, 1.1), "fine": normal(0.1, 1.1)}
    several = [*runs(2), *runs(1, biased, first=3)]
    with pytest.warns(cr.CroupierWarning, match=r"the runs disagree \(p [=<] "):
        merged = cr.merge(several)
    assert merged.runs.agreement < 1e-10
    assert "the runs disagree" in merged.warnings[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cr.merge(runs(3)).runs.agreement > 1e-3


def test_of_runs_that_never_varied_nothing_can_be_tested() -> None:
    several = runs(2, {"flat": lambda rng, size: np.ones(size)})
    merged = cr.merge(several)
    assert merged.runs.agreement is None
    assert merged.value == 1.0
    assert "agreement of the runs: not testable" in str(merged)
    assert any("no arm has varied" in text for text in merged.warnings)


def test_the_agreement_of_two_runs_is_welchs_t_test() -> None:
    from scipy.stats import ttest_ind

    first, second = (
        cr.estimate({"a": normal(s)}, draws=n, rng=n, keep_values=True, combine="mean")
        for s, n in ((1.0, 4000), (3.0, 9000))
    )
    p = ttest_ind(first.arms["a"].values, second.arms["a"].values, equal_var=False).pvalue
    assert run_agreement([first, second])[0] == pytest.approx(p, rel=0.01)


def test_what_the_runs_warn_of_is_said_once_with_their_numbers() -> None:
    heavy = {"heavy": lambda rng, size: rng.pareto(1.2, size)}
    merged = cr.merge([*runs(1, heavy, draws=20_000), *runs(1, heavy, first=2, draws=20_000)])
    assert any(d.startswith("run") and "infinite" in d for d in merged.warnings)


def test_many_short_runs_give_a_warning() -> None:
    merged = cr.merge(runs(20, draws=50))
    assert any("20 runs, the shortest of 50 draws" in text for text in merged.warnings)
    assert not any("the shortest of" in text for text in cr.merge(runs(3)).warnings)


# -- what is refused


def test_runs_with_the_same_seed_are_not_independent() -> None:
    several = [*runs(2), *runs(1, first=1, draws=500)]
    with pytest.raises(cr.PlanError, match=r"runs 1 and 3 have the same seed 1: .*independent"):
        cr.merge(several)
    assert cr.merge(several, same_seed=True).draws == 4500


def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    (one,) = runs(1)
    two = runs(1, {"a": normal(1.0, shape=(2,))}, first=2)
    with pytest.raises(cr.PlanError, match="at least two runs, got 1"):
        cr.merge([one])
    with pytest.raises(cr.PlanError, match="at least two runs, got 0"):
        cr.merge([])
    with pytest.raises(cr.PlanError, match="a list of two or more runs, got"):
        cr.merge(one)  # type: ignore[arg-type]
    with pytest.raises(cr.PlanError, match="quantities of one shape"):
        cr.merge([one, *two])
    with pytest.raises(cr.PlanError, match="results, stored runs and paths of stores, got 3"):
        cr.merge([one, 3])  # type: ignore[list-item]
    with pytest.raises(cr.PlanError, match="merge all single runs at once"):
        cr.merge([cr.merge(runs(2)), one])
    with pytest.raises(cr.StoreError, match="does not exist"):
        cr.merge([one, tmp_path / "nope.db"])


def test_draws_that_not_every_run_has_kept_are_gone() -> None:
    def arm(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(1.0, 1.0, size)

    kept, other = (
        cr.estimate({"a": arm}, draws=100, rng=seed, keep_values=seed == 1) for seed in (1, 2)
    )
    assert cr.merge([kept, other]).arms["a"].values is None
    again = cr.estimate({"a": arm}, draws=100, rng=3, keep_values=True)
    assert cr.merge([kept, again]).arms["a"].values.shape == (200,)
