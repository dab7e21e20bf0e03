"""First calls of `cr.integrate`."""

import numpy as np
from scipy import stats

import croupier as cr
from tests.first_calls.row import EITHER, row


def gauss(x):
    return np.exp(-(x**2).sum(axis=1))


ONE = 0.7468241328124271  # the integral of exp(-x^2) over [0, 1]


@row(ONE, within=1e-6, stopped="tolerance")
def one_dimension(rng):
    return cr.integrate(lambda x: np.exp(-(x**2)), (0, 1), draws=100_000, rtol=1e-6, rng=rng)


@row(ONE**2, within=1e-3)
def two_dimensions(rng):
    return cr.integrate(gauss, [(0, 1)] * 2, draws=20_000, rng=rng)


@row(ONE**3, within=1e-3, stopped="tolerance")
def three_dimensions_and_a_tolerance(rng):
    return cr.integrate(gauss, [(0, 1)] * 3, draws=100_000, rtol=1e-3, rng=rng)


@row(ONE**5, within=1e-3)
def five_dimensions(rng):
    return cr.integrate(gauss, [(0, 1)] * 5, draws=50_000, rng=rng)


@row(ONE**10, within=0.01)
def ten_dimensions(rng):
    return cr.integrate(gauss, [(0, 1)] * 10, draws=50_000, rng=rng)


@row(10.0, within=0.01)
def twenty_dimensions(rng):
    return cr.integrate(lambda x: x.sum(axis=1), [(0, 1)] * 20, draws=20_000, rng=rng)


@row(1.0, within=0.02)
def a_product_in_thirty_dimensions(rng):
    return cr.integrate(
        lambda x: np.prod(1 + (x - 0.5) / 4, axis=1), [(0, 1)] * 30, draws=20_000, rng=rng
    )


@row(np.sqrt(np.pi), within=1e-3)
def the_whole_line(rng):
    return cr.integrate(lambda x: np.exp(-(x**2)), (-np.inf, np.inf), draws=20_000, rng=rng)


@row(2 * np.pi, within=2e-3)
def a_peak_far_away_in_the_plane(rng):
    return cr.integrate(
        lambda x: np.exp(-((x - 50) ** 2).sum(axis=1) / 2),
        [(-np.inf, np.inf)] * 2,
        draws=300_000,
        rtol=1e-3,
        rng=rng,
    )


@row(1.0, within=0.01)
def the_mean_of_an_exponential(rng):
    return cr.integrate(lambda x: x, stats.expon(), draws=10_000, rng=rng)


@row(np.exp(0.5), within=0.01)
def the_mean_of_a_lognormal(rng):
    return cr.integrate(lambda x: np.exp(x[:, 0]), [stats.norm()] * 3, draws=10_000, rng=rng)


@row((0.1 * np.sqrt(2 * np.pi)) ** 4, within=0.01)
def a_peak_in_four_dimensions(rng):
    return cr.integrate(
        lambda x: np.exp(-((x - 0.5) ** 2).sum(axis=1) / 0.02),
        [(0, 1)] * 4,
        draws=200_000,
        rtol=0.01,
        rng=rng,
    )


@row(2 * (0.03 * np.sqrt(2 * np.pi)) ** 5, within=0.1)
def two_peaks_in_five_dimensions(rng):
    def peaks(x):
        left, right = ((x - 0.3) ** 2).sum(axis=1), ((x - 0.7) ** 2).sum(axis=1)
        return np.exp(-left / 0.0018) + np.exp(-right / 0.0018)

    return cr.integrate(peaks, [(0, 1)] * 5, draws=300_000, rtol=0.05, rng=rng)


@row((1 - np.cos(20)) / 20, within=0.01)
def an_oscillation(rng):
    return cr.integrate(lambda x: np.sin(20 * x), (0, 1), draws=20_000, rng=rng)


@row(1.0, warns=EITHER)
def a_constant(rng):
    return cr.integrate(lambda x: np.ones(len(x)), [(0, 1)] * 2, draws=10_000, rng=rng)


@row(1.0 + 0.5e-9, warns=EITHER)
def nearly_a_constant(rng):
    return cr.integrate(lambda x: 1 + 1e-9 * x[:, 0], [(0, 1)] * 2, draws=10_000, rng=rng)


@row(0.25, within=0.01)
def a_second(rng):
    return cr.integrate(lambda x: x[:, 0] * x[:, 1], [(0, 1)] * 2, seconds=1, rng=rng)


@row([0.5, 1 / 3], within=0.01)
def two_integrals_at_once(rng):
    return cr.integrate(lambda x: np.column_stack([x, x**2]), [(0, 1)], draws=10_000, rng=rng)


@row(np.pi / 4, within=0.02)
def a_quarter_of_a_disc(rng):
    return cr.integrate(lambda x: (x**2).sum(axis=1) < 1, [(0, 1)] * 2, draws=20_000, rng=rng)


@row(0.25, within=0.2, warns=EITHER)
def two_hundred_points(rng):
    return cr.integrate(lambda x: x[:, 0] * x[:, 1], [(0, 1)] * 2, draws=200, rng=rng)


@row(0.25, warns=EITHER)
def a_program_as_integrand(rng):
    return cr.integrate(cr.Program(["awk", "{print $1 * $2}"]), [(0, 1)] * 2, draws=2_000, rng=rng)


@row(0.25, warns=EITHER)
def ten_points(rng):
    return cr.integrate(lambda x: x[:, 0] * x[:, 1], [(0, 1)] * 2, draws=10, rng=rng)


@row(0.25, warns=EITHER)
def fifty_points(rng):
    return cr.integrate(lambda x: x[:, 0] * x[:, 1], [(0, 1)] * 2, draws=50, rng=rng)


@row(np.sin(1.0) ** 2, within=1e-3)
def two_workers(rng):
    return cr.integrate(
        lambda x: np.cos(x).prod(axis=1), [(0, 1)] * 2, draws=10_000, workers=2, rng=rng
    )


@row(np.sin(1.0) ** 2, within=1e-3)
def four_batches_at_once(rng):
    return cr.integrate(
        lambda x: np.cos(x).prod(axis=1), [(0, 1)] * 2, draws=10_000, width=4, rng=rng
    )


@row(np.sin(1.0) ** 2, within=1e-3, holds=lambda result: result.draws == 20_000)
def a_store_that_is_used_twice(rng):
    for draws in (10_000, 20_000):
        result = cr.integrate(
            lambda x: np.cos(x).prod(axis=1), [(0, 1)] * 2, draws=draws, store="run.db", rng=rng
        )
    return result


@row(np.sin(1.0) ** 2, within=1e-4, stopped="tolerance")
def seconds_and_a_tolerance(rng):
    return cr.integrate(
        lambda x: np.cos(x).prod(axis=1), [(0, 1)] * 2, seconds=10, rtol=1e-4, rng=rng
    )


@row((np.e - 1) ** 2, within=1e-7, stopped="tolerance")
def eight_digits(rng):
    return cr.integrate(
        lambda x: np.exp(x.sum(axis=1)), [(0, 1)] * 2, draws=1_000_000, rtol=1e-7, rng=rng
    )


@row(1.0, warns=EITHER)
def a_product_of_heavy_tails(rng):
    return cr.integrate(lambda x: np.abs(x).prod(axis=1), [stats.t(4)] * 4, draws=20_000, rng=rng)


@row(1 / 120, within=0.03)  # plain draws have 0.096; 18 of 20 seeds are below 0.02
def the_volume_of_a_simplex(rng):
    return cr.integrate(lambda x: x.sum(axis=1) < 1, [(0, 1)] * 5, draws=50_000, rng=rng)


@row(np.exp(0.3 - 0.1 + 0.09 / 2), within=0.01)
def a_correlated_normal(rng):
    over = stats.multivariate_normal([1, 0.5], [[1, 0.5], [0.5, 1.5]])
    return cr.integrate(
        lambda x: np.exp(0.3 * x[:, 0] - 0.2 * x[:, 1]), over, draws=10_000, rng=rng
    )


@row(24.0, within=1e-3)
def a_moment_on_the_half_line(rng):
    return cr.integrate(lambda x: x**4 * np.exp(-x), (0, np.inf), draws=20_000, rng=rng)


@row(2.0, within=0.01)
def a_root_that_is_infinite_at_the_edge(rng):
    return cr.integrate(lambda x: 1 / np.sqrt(x), (0, 1), draws=20_000, rng=rng)


def precise_or_warned(result):
    low, high = result.interval
    return bool(result.warnings) or high - low < 0.04 * result.value


@row(2.0, warns=EITHER, holds=precise_or_warned)
def a_narrow_spike_on_a_floor(rng):
    """A thousandth of the line: a seed in ten comes near it too late for a second fit."""

    def f(x):
        return 1 + stats.norm.pdf(x, 0.3217, 0.001)

    return cr.integrate(f, (0, 1), draws=5_000, rng=rng)


@row(30.0, within=0.02)
def the_squared_length_of_thirty_normals(rng):
    return cr.integrate(lambda x: (x**2).sum(axis=1), [stats.norm()] * 30, draws=5_000, rng=rng)
