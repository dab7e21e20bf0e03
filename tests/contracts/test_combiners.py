"""What every combiner must do: weights that sum to 1, for whatever has been drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import croupier as cr
from croupier.data.ledger import Ledger
from croupier.data.reduce_batch import chunks_of, outcome_of
from croupier.estimates.combiners import COMBINERS, Combiner, as_combiner, name_of, pool

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

every = pytest.mark.parametrize("name", sorted(COMBINERS))


def ledger_of(draws: list[np.ndarray], costs: list[float] | None = None) -> Ledger:
    """Return the ledger of arms with these draws, (n, d) each; n may be 0."""
    table = cr.Allocator([f"arm{k}" for k in range(len(draws))], rng=7, unit="cost")
    ledger, ticket = Ledger(len(draws)), 0
    for arm, values in enumerate(draws):
        cost = 1.0 if costs is None else costs[arm]
        for part in np.array_split(values, 3):
            if len(part):
                batch = cr.Batch(ticket, f"arm{arm}", len(part), seed=7)
                chunks = chunks_of(batch, cr.Draws(part, np.full(len(part), cost)))
                ledger.add(arm, outcome_of(table.plan, batch, chunks))
                ticket += 1
    return ledger


def whole_numbers(d: int) -> Any:
    """Draws on a grid of quarters, so that shifts and scalings of them are exact."""
    row = st.lists(st.integers(-40, 40), min_size=d, max_size=d)
    return st.lists(row, max_size=12).map(lambda rows: np.array(rows, float).reshape(-1, d) / 4)


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[np.ndarray], list[float]]:
    d, arms = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    draws = draw(
        st.lists(whole_numbers(d), min_size=arms, max_size=arms).filter(
            lambda each: any(len(values) for values in each)
        )
    )
    costs = draw(st.lists(st.sampled_from([0.25, 1.0, 3.0, 100.0]), min_size=arms, max_size=arms))
    return draws, costs


def check(weights: np.ndarray, ledger: Ledger) -> None:
    assert weights.shape in (ledger.mean.shape, ledger.count.shape)
    weights = np.broadcast_to(weights.reshape(len(ledger), -1), ledger.mean.shape)
    assert not np.isnan(weights).any()
    assert (weights >= 0).all()
    assert weights.sum(axis=0) == pytest.approx(1, abs=1e-12)
    assert (weights[ledger.count == 0] == 0).all()


@every
@given(run=runs())
def test_weights_are_a_mixture_of_the_arms_that_were_drawn(name: str, run: Any) -> None:
    ledger = ledger_of(*run)
    before = {key: np.copy(value) for key, value in vars(ledger).items() if value is not None}
    weights = COMBINERS[name](ledger)
    check(weights, ledger)
    assert np.array_equal(weights, COMBINERS[name](ledger))
    for key, value in before.items():  # a combiner reads the ledger and no more
        np.testing.assert_array_equal(value, getattr(ledger, key), err_msg=key)


@every
@given(run=runs(), power=st.sampled_from([-600, -7, 3, 600]))
def test_weights_do_not_depend_on_the_unit(name: str, run: Any, power: int) -> None:
    draws, costs = run
    plain = COMBINERS[name](ledger_of(draws, costs))
    scaled = COMBINERS[name](ledger_of([np.ldexp(values, power) for values in draws], costs))
    assert np.array_equal(scaled, plain)


@every
@given(run=runs(), shift=st.sampled_from([-1e6, -3.5, 1.0, 2.0**40]))
def test_weights_do_not_depend_on_the_origin(name: str, run: Any, shift: float) -> None:
    draws, costs = run
    plain = COMBINERS[name](ledger_of(draws, costs))
    shifted = COMBINERS[name](ledger_of([values + shift for values in draws], costs))
    assert np.array_equal(shifted, plain)


@every
@given(run=runs(), power=st.sampled_from([-30, 5]))
def test_weights_do_not_depend_on_the_unit_of_cost(name: str, run: Any, power: int) -> None:
    draws, costs = run
    plain = COMBINERS[name](ledger_of(draws, costs))
    scaled = COMBINERS[name](ledger_of(draws, [cost * 2.0**power for cost in costs]))
    assert np.array_equal(scaled, plain)


@every
@given(run=runs())
def test_components_are_weighed_one_by_one(name: str, run: Any) -> None:
    draws, costs = run
    weights = np.broadcast_to(
        COMBINERS[name](ledger_of(draws, costs)).reshape(len(draws), -1),
        (len(draws), draws[0].shape[1]),
    )
    for j in range(draws[0].shape[1]):
        alone = COMBINERS[name](ledger_of([values[:, [j]] for values in draws], costs))
        assert weights[:, j] == pytest.approx(alone.reshape(len(draws), -1)[:, 0], rel=1e-9)


@every
@given(run=runs())
def test_the_estimate_lies_between_the_means_of_the_arms(name: str, run: Any) -> None:
    ledger = ledger_of(*run)
    pooled = pool(ledger, COMBINERS[name])
    means = ledger.mean[ledger.count > 0]
    assert (pooled.mean >= means.min(axis=0) - 1e-12).all()
    assert (pooled.mean <= means.max(axis=0) + 1e-12).all()
    assert (pooled.variance >= 0).all()
    assert (pooled.df >= 1 - 1e-9).all()


@every
@pytest.mark.parametrize("far", [1e-30, 1e-12, 1e12, 1e30])
def test_variances_of_very_different_sizes_are_no_trouble(name: str, far: float) -> None:
    rng = np.random.default_rng(7)
    draws = [rng.normal(0, spread, (40, 1)) for spread in (1.0, far)]
    ledger = ledger_of([*draws, np.zeros((40, 1))])
    check(COMBINERS[name](ledger), ledger)


@every
def test_a_combiner_says_what_it_is_for_and_knows_its_name(name: str) -> None:
    combiner = COMBINERS[name]
    assert combiner.__doc__
    assert as_combiner(name) is combiner
    assert as_combiner(combiner) is combiner
    assert name_of(combiner) == name


@every
def test_a_run_is_combined(name: str) -> None:
    arms = {
        "a": lambda rng, size: rng.normal(1.0, 1.0, size),
        "b": lambda rng, size: rng.normal(1.0, 0.2, size),
    }
    result = cr.estimate(arms, draws=3000, rng=7, combine=name)
    assert result.plan.combine == name
    assert abs(result.value - 1) < 5 * result.stderr


def equal(ledger: Ledger) -> np.ndarray:
    """Weigh every arm that was drawn alike."""
    drawn = (ledger.count > 0).astype(float)
    return drawn / drawn.sum()


def test_a_function_of_the_ledger_is_a_combiner() -> None:
    arms = {
        "a": lambda rng, size: rng.normal(1.0, 1.0, (size, 2)),
        "b": lambda rng, size: rng.normal(1.0, 0.2, (size, 2)),
    }
    result = cr.estimate(arms, draws=1000, rng=7, combine=equal)
    assert result.arms["a"].weight == result.arms["b"].weight == 0.5
    middle = (result.arms["a"].mean + result.arms["b"].mean) / 2
    assert result.value == pytest.approx(middle, rel=1e-12)
    assert result.plan.combine.endswith("equal")


@pytest.mark.parametrize(
    "broken",
    [
        lambda ledger: np.ones(len(ledger)),
        lambda ledger: np.zeros(len(ledger)),
        lambda ledger: np.full(len(ledger), np.nan),
    ],
)
def test_weights_that_do_not_sum_to_one_are_refused(broken: Combiner) -> None:
    arms = {"a": lambda rng, size: rng.random(size), "b": lambda rng, size: rng.random(size)}
    with pytest.raises(cr.PlanError, match="the combiner's weights must sum to 1, got"):
        cr.estimate(arms, draws=100, rng=7, combine=broken)
