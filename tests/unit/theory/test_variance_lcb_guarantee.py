"""The guarantee of docs/theory.md for lower bounds on variances: its steps, and simulated runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import croupier as cr

PAGE = (Path(__file__).parents[3] / "docs" / "theory.md").read_text("utf-8")

Bound = Callable[..., float]


@pytest.fixture(scope="module")
def bound() -> Bound:
    """Return the function that the page defines."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (own,) = (block for block in blocks if "def draws_of_a_worse_arm" in block)
    namespace: dict[str, object] = {"np": np}
    exec(own.partition("\n\n\nfor ")[0], namespace)
    return namespace["draws_of_a_worse_arm"]  # type: ignore[return-value]


def test_the_tails_of_a_sample_variance_are_below_what_the_proof_takes_them_for() -> None:
    d = np.array([1, 2, 3, 5, 10, 30, 100, 1000])[:, None]
    x = np.linspace(0.01, 3, 60)
    assert (chi2.cdf(d * np.exp(-x), d) <= np.exp(-d * (np.expm1(-x) + x) / 2)).all()
    assert (chi2.sf(d * np.exp(x), d) <= np.exp(-d * x * x / 4)).all()


def test_a_worse_arm_has_fewer_draws_in_the_simulator_than_the_bound(bound: Bound) -> None:
    pytest.importorskip("numba")
    from croupier.simulator.randomness import normal

    # The mean is known to be 0, and |x| has the square of x: d_k is the number of draws.
    def arms(stream: object, arm: int) -> float:
        return abs(normal(stream)) * (4.0 if arm else 1.0)

    def lowest(loss: float, variance: float, count: float, time: float) -> float:
        return loss * math.exp(-math.sqrt(8 * math.log(time) / count))

    problem = cr.simulator.compiled_arms(
        arms, variances=[1.0, 16.0], mean=0.0, bounds=(0.0, 1000.0)
    )
    runs = cr.simulate(problem, lowest, runs=200, horizon=10_000, record=[10_000], rng=7)
    worse = runs["lowest"].pulls[:, 0, 1]
    allowed = bound(16, 10_000, 8)
    # Its standard error is 0.2: five of them are far from the bound.
    assert worse.mean() + 1.0 < allowed
    assert worse.max() < allowed
    said = (
        f"the bound is {allowed:.0f} with a = 8 and no floor. The simulator has {worse.mean():.1f} "
    )
    assert said in PAGE


def test_variance_lcb_with_one_draw_per_decision_keeps_the_bound_of_its_floor(bound: Bound) -> None:
    arms = {
        "best": lambda rng, size: rng.normal(0, 1, size),
        "worse": lambda rng, size: rng.normal(0, 4, size),
    }
    result = cr.estimate(arms, draws=2000, policy="variance-lcb", batch="one", rng=7)
    floor = 0.5 * math.sqrt(2000 / 2)
    assert floor <= result.arms["worse"].draws < floor + 5 < bound(16, 2000, 1, 0.5)
    assert f"the bound is {bound(16, 10_000, 1, 0.5):.0f}, and the policy itself" in PAGE
    ends = f"the bounds are {bound(4, 10_000, 8):.0f} and {bound(4, 10_000, 1, 0.5):.0f}"
    assert ends in PAGE


def test_without_a_floor_a_narrow_bound_has_no_guarantee(bound: Bound) -> None:
    grown = [bound(16, draws, 1) / bound(16, draws // 10, 1) for draws in (10_000, 100_000)]
    assert min(grown) > 4  # n^(3/4) makes it 5.6
    grown = [bound(16, draws, 8) / bound(16, draws // 10, 8) for draws in (10_000, 100_000)]
    assert max(grown) < 1.2
