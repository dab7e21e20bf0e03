"""First calls of `cr.evidence`: one likelihood, one prior."""

import numpy as np
from scipy import stats
from scipy.special import gammaln

import croupier as cr
from tests.first_calls.row import EITHER, row

DATA = np.array([1.2, 0.4, 2.1, 1.7, 0.9, 1.4])


def conjugate(d):
    """Return log Z of one datum y_i = 1 in each of d dimensions: x ~ N(0, 1), y ~ N(x, .5^2)."""
    return d * stats.norm.logpdf(1.0, 0, np.sqrt(1.25))


def normal_likelihood(x):
    return stats.norm.logpdf(1.0, x, 0.5).sum(axis=1)


@row(
    stats.multivariate_normal(np.zeros(6), np.eye(6) + 4 * np.ones((6, 6))).logpdf(DATA),
    within=0.05,
)
def the_mean_of_six_data(rng):
    return cr.evidence(
        lambda x: stats.norm.logpdf(DATA, x[:, :1], 1).sum(axis=1), stats.norm(0, 2), draws=20_000,
        rng=rng,
    )  # fmt: skip


@row(-np.log(20) + np.log(0.1 * np.sqrt(2 * np.pi)), within=0.05, warns=EITHER)
def a_narrow_posterior_in_a_wide_box(rng):
    return cr.evidence(
        lambda x: -((x[:, 0] - 3) ** 2) / 0.02, stats.uniform(-10, 20), draws=20_000, rng=rng
    )


@row(conjugate(2), warns=EITHER)
def three_thousand_draws(rng):
    return cr.evidence(normal_likelihood, [stats.norm(0, 1)] * 2, draws=3000, rng=rng)


@row(conjugate(2))
def one_second(rng):
    return cr.evidence(normal_likelihood, [stats.norm(0, 1)] * 2, seconds=1, rng=rng)


@row(stats.norm.logpdf(1.0, 0, np.sqrt([4.25, 1.25])).sum())
def parameters_of_a_prior_in_arrays(rng):
    return cr.evidence(normal_likelihood, stats.norm([0, 0], [2, 1]), draws=20_000, rng=rng)


@row(0.0, off=True, warns="it seems to return the likelihood itself, not its log")
def a_likelihood_in_place_of_its_log(rng):
    return cr.evidence(
        lambda x: stats.binom.pmf(7, 10, x[:, 0]), stats.uniform(0, 1), draws=5000, rng=rng
    )


@row(conjugate(1), warns=EITHER)
def two_hundred_draws(rng):
    return cr.evidence(normal_likelihood, stats.norm(0, 1), draws=200, rng=rng)


@row(conjugate(2))
def two_workers(rng):
    return cr.evidence(normal_likelihood, [stats.norm(0, 1)] * 2, draws=5000, workers=2, rng=rng)


@row(conjugate(2), holds=lambda result: result.draws == 10_000)
def a_store_that_is_used_twice(rng):
    for draws in (5000, 10_000):
        result = cr.evidence(
            normal_likelihood, [stats.norm(0, 1)] * 2, draws=draws, store="run.db", rng=rng
        )
    return result


@row(conjugate(30), within=0.1)
def thirty_dimensions(rng):
    return cr.evidence(normal_likelihood, [stats.norm(0, 1)] * 30, draws=30_000, rng=rng)


@row(conjugate(2), within=0.05)
def one_point_at_a_time(rng):
    return cr.evidence(
        lambda x: stats.norm.logpdf(1.0, x, 0.5).sum(), [stats.norm(0, 1)] * 2, draws=3000, rng=rng
    )


@row(6 * np.log(0.02 * np.sqrt(2 * np.pi)), within=0.05)
def a_narrow_peak_in_a_cube(rng):
    return cr.evidence(
        lambda x: -((x - 0.3) ** 2).sum(axis=1) / 0.0008, [stats.uniform(0, 1)] * 6, draws=30_000,
        rng=rng,
    )  # fmt: skip


COUNTS = np.array([3, 5, 2, 4, 1, 3, 6, 2])


@row(
    gammaln(2 + COUNTS.sum()) - 2 * np.log(2) - (2 + COUNTS.sum()) * np.log(0.5 + len(COUNTS))
    - gammaln(COUNTS + 1).sum(),
    within=0.05,
)  # fmt: skip
def counts_with_a_gamma_prior(rng):
    def log_likelihood(rate):
        return stats.poisson.logpmf(COUNTS, rate).sum(axis=1)

    return cr.evidence(log_likelihood, stats.gamma(2, scale=2), draws=3000, rng=rng)


@row(-np.log(51), within=0.05)
def no_success_in_fifty_trials(rng):
    return cr.evidence(
        lambda p: stats.binom.logpmf(0, 50, p[:, 0]), stats.uniform(), draws=3000, rng=rng
    )
