"""The Asian option: its price by integration, and arms that all have it for their mean."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.special import ndtr
from scipy.stats import norm

import croupier as cr
from croupier.examples import asian_option as demo
from tests.conftest import Clock


def integrated_price(step: float = 0.005, nodes: int = 48) -> float:
    """The option's price, one fixing at a time.

    With R_i = S_i/S_(i-1), the sum of the fixings is SPOT exp(Y_n), where Y_1 = log R_n and
    Y_(k+1) = log R_(n-k) + log(1 + exp(Y_k)). The expectation over the last normal has the closed
    form of Black and Scholes, those over the others are integrals of a smooth function.
    """
    dt = demo.MATURITY / demo.FIXINGS
    mu, sigma = (demo.RATE - demo.VOLATILITY**2 / 2) * dt, demo.VOLATILITY * np.sqrt(dt)
    z, weight = np.polynomial.hermite_e.hermegauss(nodes)
    weight /= weight.sum()
    y = np.arange(-1.0, np.log(demo.FIXINGS) + 2.5, step)
    median = demo.SPOT / demo.FIXINGS * np.exp(np.logaddexp(0, y) + mu)
    d = np.log(median / demo.STRIKE) / sigma
    value = median * np.exp(sigma**2 / 2) * ndtr(d + sigma) - demo.STRIKE * ndtr(d)
    for _ in range(demo.FIXINGS - 2):
        value = CubicSpline(y, value)(np.logaddexp(0, y)[:, None] + mu + sigma * z) @ weight
    expected = CubicSpline(y, value)(mu + sigma * z) @ weight
    return float(np.exp(-demo.RATE * demo.MATURITY) * expected)


def test_the_stated_price_is_that_of_numerical_integration() -> None:
    assert integrated_price() == pytest.approx(demo.PRICE, abs=1e-6)


@pytest.mark.parametrize("name", demo.ARMS)
def test_every_arm_has_the_price_for_its_mean(name: str) -> None:
    # Fixed seed; a right arm fails this with probability 6e-5 at another one.
    draws = 20_000 if name == "stratified" else 200_000
    rng = np.random.default_rng(20_240_601)
    values = np.concatenate([demo.ARMS[name](rng, 10_000) for _ in range(draws // 10_000)])
    z = (values.mean() - demo.PRICE) / (values.std(ddof=1) / np.sqrt(draws))
    assert abs(z) < 4


def test_the_closed_form_of_the_geometric_option_is_its_integral() -> None:
    times = demo.MATURITY * np.arange(1, demo.FIXINGS + 1) / demo.FIXINGS
    drift = demo.RATE - demo.VOLATILITY**2 / 2
    mean = np.log(demo.SPOT) + drift * times.mean()
    spread = demo.VOLATILITY * np.sqrt(np.minimum.outer(times, times).mean())

    def payoff(z: float) -> float:
        return (np.exp(mean + spread * z) - demo.STRIKE) * norm.pdf(z)

    kink = (np.log(demo.STRIKE) - mean) / spread
    integral, _ = quad(payoff, kink, 12, epsabs=1e-12)
    discount = np.exp(-demo.RATE * demo.MATURITY)
    assert demo.geometric_price() == pytest.approx(discount * integral, rel=1e-10)


def test_the_likelihood_ratio_has_mean_one() -> None:
    rng = np.random.default_rng(7)
    shift = demo.DRIFT * np.sqrt(demo.MATURITY / demo.FIXINGS)
    ratio = demo.likelihood_ratio(demo.increments(rng, 100_000) + shift)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(100_000)


def test_the_stratified_arm_has_the_smallest_variance_and_the_dearest_draws() -> None:
    result = cr.estimate(demo.ARMS, draws=6_000, policy="uniform", rng=7)
    variance = {row.name: row.variance for row in result.arms}
    assert min(variance, key=variance.__getitem__) == "stratified"
    assert demo.SLICES > 10  # paths a draw, where the others have one or two


def test_a_run_prices_the_option_and_prefers_no_plain_arm(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = dict.fromkeys(demo.ARMS, 1e-5) | {"stratified": 1e-5 * demo.SLICES}
    timed = {name: clock.timed(arm, 1e-5, seconds[name]) for name, arm in demo.ARMS.items()}
    monkeypatch.setattr(demo, "ARMS", timed)
    result = demo.price(0.5, seed=7, progress=False)
    assert result.stopped == "seconds"
    assert abs(result.value - demo.PRICE) < 5 * result.stderr
    assert result.arms["naive"].share < 0.5


def two_arms(**costs: float) -> cr.Result:
    def arm(spread: float, cost: float) -> object:
        return lambda rng, size: cr.Draws(rng.normal(1.0, spread, size), cost)

    arms = {"cheap": arm(2.0, costs["cheap"]), "dear": arm(1.0, costs["dear"])}
    return cr.estimate(arms, cost=2000.0, policy="uniform", combine="mean", rng=7)


def test_alternatives_are_cost_times_variance_over_the_squared_error() -> None:
    result = two_arms(cheap=1.0, dear=3.0)
    ways = {way.name: way for way in demo.alternatives(result)}
    cheap, dear = result.arms["cheap"], result.arms["dear"]
    squared = result.stderr**2
    assert ways["cheap alone"].cost == pytest.approx(1.0 * cheap.variance / squared)
    assert ways["dear alone"].cost == pytest.approx(3.0 * dear.variance / squared)
    assert ways["dear alone"].times == pytest.approx(ways["dear alone"].cost / result.cost)
    costs = [way.cost for way in demo.alternatives(result)]
    assert costs == sorted(costs)


def test_an_even_split_needs_what_a_run_that_splits_evenly_has_spent() -> None:
    result = two_arms(cheap=1.0, dear=3.0)
    ways = {way.name: way for way in demo.alternatives(result)}
    assert ways["even split, plain mean"].times == pytest.approx(1, rel=0.01)
    # With V = 4 and 1 a round has the variance 5/4 in the plain mean, 4/5 at the best weights.
    gain = ways["even split, plain mean"].cost / ways["even split, inverse variance"].cost
    assert gain == pytest.approx(25 / 16, rel=0.1)


def test_an_arm_that_has_not_varied_is_no_alternative() -> None:
    arms = {
        "flat": lambda rng, size: np.ones(size),
        "noisy": lambda rng, size: rng.normal(1.0, 1.0, size),
    }
    with pytest.warns(cr.CroupierWarning, match="never varied"):
        result = cr.estimate(arms, draws=100, rng=7)
    assert [way.name for way in demo.alternatives(result)] == ["noisy alone"]
