"""The caplet: exact prices and variances, and paths that have their law."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import croupier as cr
from croupier.errors import PlanError
from croupier.simulator.randomness import streams
from paper.cir import THETAS, Caplet
from paper.cir_kernel import _bits, _normals, fill

#: Strike, price of the Euler chain, price in continuous time, and the best of the 16 arms.
PAPER = [
    (0.06, 18.45027, 18.45029, 3),
    (0.07, 9.25675, 9.25647, 5),
    (0.08, 1.88652, 1.88480, 12),
]

#: A rate that often falls below 0.
LOW = Caplet(strike=0.02, start=0.02, eta=0.004, sigma=0.2, steps=50)


def numpy_paths(
    caplet: Caplet, rng: np.random.Generator, size: int, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The discounted payoffs and totals of `Caplet.simulate` with a spread of 1, in plain numpy."""
    dt = caplet.maturity / caplet.steps
    rate = np.full(size, caplet.start)
    area, total = rate / 2, np.zeros(size)
    drift = shift / math.sqrt(caplet.steps)
    for _ in range(caplet.steps):
        noise = rng.standard_normal(size) + drift
        total += noise
        above = np.maximum(rate, 0)
        rate = rate + (caplet.eta - caplet.kappa * above) * dt
        rate += caplet.sigma * np.sqrt(above * dt) * noise
        area += np.maximum(rate, 0)
    area -= np.maximum(rate, 0) / 2
    payoffs = caplet.notional * np.exp(-dt * area) * np.maximum(rate - caplet.strike, 0)
    return payoffs, total / math.sqrt(caplet.steps)


# -- exact


def by_trapezoids(caplet: Caplet) -> float:
    """The price of the Euler chain from transition densities on an even grid of rates.

    Sums over an even grid integrate what is smooth to all digits; at the last step, which meets
    the kink of the payoff, the grid is 40 times finer.
    """
    dt = caplet.maturity / caplet.steps
    low, high = 0.035, 0.15
    rates = np.linspace(low, high, 501)
    # The kink lies on the fine grid, so that its error is of second order.
    fine = np.arange(caplet.strike, high, (rates[1] - rates[0]) / 40)
    payoffs = caplet.notional * np.exp(-dt * fine / 2) * (fine - caplet.strike)

    def step(at: np.ndarray) -> np.ndarray:
        mean = rates + (caplet.eta - caplet.kappa * rates) * dt
        deviation = caplet.sigma * np.sqrt(rates * dt)
        density = stats.norm.pdf(at, mean[:, None], deviation[:, None])
        return np.exp(-dt * rates)[:, None] * density * (at[1] - at[0])

    u = step(fine) @ payoffs
    back = step(rates)
    for _ in range(caplet.steps - 2):
        u = back @ u
    mean = caplet.start + (caplet.eta - caplet.kappa * caplet.start) * dt
    density = stats.norm.pdf(rates, mean, caplet.sigma * math.sqrt(caplet.start * dt))
    return float(math.exp(-dt * caplet.start / 2) * (density @ u) * (rates[1] - rates[0]))


def by_fourier(caplet: Caplet) -> float:
    """The price in continuous time from the transform of the rate and its integral.

    E exp(-integral r + w r(T)) = exp(a(T) + b(T) r) with b' = sigma^2 b^2/2 - kappa b - 1,
    b(0) = w, a' = eta b; and (r - K)^+ is the integral of exp((c + iv)(r - K))/(c + iv)^2/(2 pi).
    """
    variance, kappa, maturity = caplet.sigma**2, caplet.kappa, caplet.maturity
    h = math.sqrt(kappa**2 + 2 * variance)
    up, down = (kappa + h) / variance, (kappa - h) / variance

    def transform(w: complex) -> complex:
        ratio = (w - down) / (w - up) * math.exp(-h * maturity)
        b = (down - up * ratio) / (1 - ratio)
        # a = eta times the integral of b; log(1 - ratio) varies slowly, and has no jump here
        first = (w - down) / (w - up)
        log = np.log((1 - ratio) / (1 - first))
        a = caplet.eta * (down * maturity - 2 / variance * log)
        return complex(np.exp(a + b * caplet.start))

    c = 150.0

    def integrand(v: float) -> float:
        w = complex(c, v)
        return (np.exp(-w * caplet.strike) / w**2 * transform(w)).real

    value, _ = integrate.quad(integrand, 0, 20_000, limit=2000, epsabs=1e-14, epsrel=1e-12)
    return caplet.notional * value / math.pi


@pytest.mark.parametrize(("strike", "euler", "continuous", "best"), PAPER)
def test_prices_and_best_arms_are_those_of_the_paper(
    strike: float, euler: float, continuous: float, best: int
) -> None:
    caplet = Caplet(strike)
    exact = caplet.exact()
    assert exact.price == pytest.approx(euler, abs=6e-6)
    assert caplet.continuous_price() == pytest.approx(continuous, abs=6e-6)
    assert exact.best == best
    assert exact.thetas[best] == pytest.approx(best / 10)


@pytest.mark.parametrize("strike", [0.06, 0.07, 0.08])
def test_the_recursion_agrees_with_sums_of_densities_to_a_millionth(strike: float) -> None:
    caplet = Caplet(strike)
    assert caplet.exact([0.0]).price == pytest.approx(by_trapezoids(caplet), abs=1e-6)


@pytest.mark.parametrize(
    "caplet",
    [Caplet(0.06), Caplet(0.07), Caplet(0.08), Caplet(0.05, kappa=0.5, eta=0.03, maturity=2.5)],
)
def test_the_closed_form_agrees_with_a_fourier_integral_to_eight_digits(caplet: Caplet) -> None:
    assert caplet.continuous_price() == pytest.approx(by_fourier(caplet), abs=1e-8)


def test_more_steps_come_closer_to_continuous_time() -> None:
    away = [
        abs(Caplet(0.08, steps=steps).exact([0.0]).price - Caplet(0.08).continuous_price())
        for steps in (1, 10, 100)
    ]
    assert away[0] > 5 * away[1] > 25 * away[2]


def test_one_step_is_a_normal_rate_in_closed_form() -> None:
    caplet = Caplet(steps=1)
    mean = caplet.start + caplet.eta - caplet.kappa * caplet.start
    s = caplet.sigma * math.sqrt(caplet.start)
    value, _ = integrate.quad(
        lambda x: math.exp(-x / 2) * (x - caplet.strike) * stats.norm.pdf(x, mean, s),
        caplet.strike, mean + 12 * s, epsabs=1e-13,
    )  # fmt: skip
    price = caplet.notional * math.exp(-caplet.start / 2) * value
    assert caplet.exact([0.0]).price == pytest.approx(price, abs=1e-9)


# -- arms


@pytest.mark.parametrize("strike", [0.06, 0.07, 0.08])
def test_all_arms_are_unbiased_and_have_the_variances_of_the_recursion(strike: float) -> None:
    caplet = Caplet(strike)
    exact = caplet.exact()
    rng = np.random.default_rng(2014)
    for k, arm in enumerate(caplet.arms()):
        draws = np.asarray(arm.draw(rng, 200_000))  # type: ignore[operator, call-arg]
        error = math.sqrt(exact.variances[k] / len(draws))
        assert abs(draws.mean() - exact.price) <= 4 * error, arm.name
        if k <= 12:
            assert draws.var() == pytest.approx(exact.variances[k], rel=0.03), arm.name


def test_a_rate_below_zero_is_cut_in_the_paths_as_in_the_recursion() -> None:
    exact = LOW.exact([0.0, 0.5])
    for theta, variance in zip(exact.thetas, exact.variances, strict=True):
        [arm] = LOW.arms([theta])
        draws = np.asarray(arm.draw(np.random.default_rng(7), 200_000))  # type: ignore[operator, call-arg]
        assert abs(draws.mean() - exact.price) <= 4 * math.sqrt(variance / len(draws))
        assert draws.var() == pytest.approx(variance, rel=0.03)


def test_arms_are_named_pickle_and_run() -> None:
    arms = Caplet(0.08).arms()
    assert [arm.name for arm in arms][:3] == ["theta=0", "theta=0.1", "theta=0.2"]
    again = pickle.loads(pickle.dumps(arms[3].draw))
    first, second = (draw(np.random.default_rng(1), 10) for draw in (arms[3].draw, again))
    assert np.array_equal(first, second)
    result = cr.estimate(arms, draws=5000, rng=7, progress=False)
    assert abs(result.value - 1.88652) <= 4 * result.stderr


# -- paths


def test_payoffs_and_totals_have_the_law_of_plain_numpy() -> None:
    caplet, size = Caplet(), 100_000
    ours = caplet.simulate(np.random.default_rng(1), size, shift=0.5)
    plain = numpy_paths(caplet, np.random.default_rng(2), size, shift=0.5)
    for x, y in zip(ours, plain, strict=True):
        assert stats.ks_2samp(x, y).pvalue > 0.001
        for power in (1, 2, 3):
            a, b = x**power, y**power
            assert abs(a.mean() - b.mean()) <= 4 * math.sqrt((a.var() + b.var()) / size)
    assert np.corrcoef(*ours)[0, 1] == pytest.approx(np.corrcoef(*plain)[0, 1], abs=0.01)


def test_the_noise_is_normal_and_independent_from_path_to_path() -> None:
    lanes = np.random.default_rng(3).integers(0, 2**64, (4, 128), dtype=np.uint64)
    low, high = np.empty(128, np.int32), np.empty(128, np.int32)
    z = np.empty((8000, 256), np.float32)
    for row in z:
        _bits(lanes, low, high)
        _normals(low, high, row[:128], row[128:])
    x = z.ravel().astype(float)
    count = len(x)
    assert stats.kstest(x, "norm").pvalue > 0.001
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        assert abs(np.mean(x**power) - moment) <= 4 * np.std(x**power) / math.sqrt(count)
    for far in (3.0, 4.0, 4.5):
        expected = 2 * stats.norm.sf(far) * count
        assert abs((np.abs(x) > far).sum() - expected) <= 4 * math.sqrt(expected)
    # The two numbers of a lane, neighbours, one step and the next: also their squares.
    pairs = [(z[:, :128], z[:, 128:]), (z[:, :-1], z[:, 1:]), (z[:-1], z[1:])]
    for one, other in pairs:
        a, b = one.ravel().astype(float), other.ravel().astype(float)
        bound = 4 / math.sqrt(len(a))
        assert abs(np.mean(a * b)) <= bound
        assert abs(np.mean((a * a - 1) * (b * b - 1))) <= 2 * bound


def test_a_spread_changes_the_total_and_the_weight_puts_it_right() -> None:
    caplet = Caplet()
    payoffs, totals = caplet.simulate(np.random.default_rng(4), 200_000, shift=0.4, spread=1.3)
    assert stats.kstest((totals - 0.4) / 1.3, "norm").pvalue > 0.001
    draws = payoffs * caplet.weight(0.4, totals, 1.3)
    error = draws.std() / math.sqrt(len(draws))
    assert abs(draws.mean() - caplet.exact([0.0]).price) <= 4 * error
    narrow, _ = caplet.simulate(np.random.default_rng(4), 20_000, shift=0.4, spread=1e-9)
    # With the total all but fixed, little of the payoff is left to vary.
    assert narrow.std() < 0.1 * payoffs.std()


def test_weights_are_ratios_of_densities() -> None:
    total = np.linspace(-3, 3, 7)
    ratio = stats.norm.pdf(total) / stats.norm.pdf(total, 0.7, 1.4)
    assert Caplet.weight(0.7, total, 1.4) == pytest.approx(ratio)
    assert Caplet.log_weight(0.7, total) == pytest.approx(0.245 - 0.7 * total)
    assert Caplet(maturity=4.0).shift_of(0.3) == pytest.approx(0.6)


@pytest.mark.parametrize("size", [1, 31, 33, 257, 1000])
def test_paths_are_a_function_of_the_generator(size: int) -> None:
    caplet = Caplet(steps=7)
    first, second = (caplet.simulate(np.random.default_rng(5), size, 0.2) for _ in range(2))
    assert len(first[0]) == len(first[1]) == size
    for x, y in zip(first, second, strict=True):
        assert np.array_equal(x, y)
    other, _ = caplet.simulate(np.random.default_rng(6), size, 0.2)
    assert not np.array_equal(first[0], other)


def test_two_calls_of_one_generator_are_independent() -> None:
    rng = np.random.default_rng(8)
    calls = np.array([Caplet(steps=5).simulate(rng, 100)[1] for _ in range(400)])
    assert len(np.unique(calls)) > 39_990  # but for what single precision makes equal
    assert abs(np.mean(calls[:-1] * calls[1:])) <= 4 / math.sqrt(calls[1:].size)


def test_blocks_of_a_stream_are_the_draws_of_an_arm_and_independent() -> None:
    caplet = Caplet()
    exact = caplet.exact([0.5])
    stream, numbers = streams(np.uint64(7), 1)[0], np.array([*caplet.parameters, 0.5])
    blocks = np.empty((4000, 128))
    for block in blocks:
        fill(stream, numbers, block)
    x = (blocks - exact.price) / math.sqrt(exact.variances[0])
    sums = x.sum(axis=1) / math.sqrt(128)
    assert abs(x.mean()) <= 4 / math.sqrt(x.size)
    assert abs(sums.var() - 1) <= 4 * math.sqrt(2 / len(sums))
    for one, other in ((sums[:-1], sums[1:]), (x[:, :64], x[:, 64:]), (x[:-1], x[1:])):
        assert abs(np.mean(one * other)) <= 4 / math.sqrt(one.size)


# -- bad input


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"sigma": 0}, "sigma must be a finite number above 0"),
        ({"eta": -1.0}, "eta must be"),
        ({"start": math.nan}, "start must be"),
        ({"maturity": math.inf}, "maturity must be"),
        ({"notional": "many"}, "notional must be a number"),
        ({"strike": -0.01}, "strike must be"),
        ({"kappa": -0.1}, "kappa must be"),
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"steps": 10**6}, "steps must be at most"),
        ({"kappa": 30.0, "steps": 10}, "take more steps"),
    ],
)
def test_bad_parameters_are_named(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(PlanError, match=complaint):
        Caplet(**settings)


def test_bad_arguments_are_named() -> None:
    caplet, rng = Caplet(), np.random.default_rng(1)
    with pytest.raises(PlanError, match="thetas must name at least one"):
        caplet.arms([])
    with pytest.raises(PlanError, match="thetas must be a sequence"):
        caplet.exact(0.5)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="theta must be a number"):
        caplet.arms(["half"])  # type: ignore[list-item]
    with pytest.raises(PlanError, match="shift must be finite"):
        caplet.simulate(rng, 10, math.nan)
    with pytest.raises(PlanError, match="spread must be"):
        caplet.simulate(rng, 10, 0.0, 0.0)
    with pytest.raises(PlanError, match="size must be"):
        caplet.simulate(rng, 0)
    with pytest.raises(PlanError, match=r"2 arms are named 'theta=0\.1'"):
        cr.estimate(caplet.arms([0.1, 0.1]), draws=100)


def test_the_paper_has_sixteen_drifts() -> None:
    assert len(THETAS) == 16
    assert (THETAS[0], THETAS[3], THETAS[15]) == (0.0, 0.3, 1.5)
