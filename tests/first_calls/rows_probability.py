"""First calls of `cr.probability` and `cr.splitting`."""

import numpy as np
from scipy import stats

import croupier as cr
from tests.first_calls.row import EITHER, row


def linear(beta):
    return lambda x: beta - x.sum(axis=1) / np.sqrt(x.shape[1])


@row(stats.norm.sf(2), within=0.1, stopped="tolerance")
def beta_two_in_two_dimensions(rng):
    return cr.probability(linear(2), 2, draws=20_000, rtol=0.1, rng=rng)


@row(stats.norm.sf(3), within=0.1, stopped="tolerance")
def beta_three_in_ten_dimensions(rng):
    return cr.probability(linear(3), 10, draws=20_000, rtol=0.1, rng=rng)


@row(stats.norm.sf(4), within=0.1, stopped="tolerance")
def beta_four_in_five_dimensions(rng):
    return cr.probability(linear(4), 5, draws=20_000, rtol=0.1, rng=rng)


@row(stats.norm.sf(3.5), warns=EITHER)
def beta_three_and_a_half_in_a_hundred_dimensions(rng):
    return cr.probability(linear(3.5), 100, draws=10_000, rng=rng)


@row(stats.norm.sf(3.5), warns=EITHER)
def a_short_budget_in_a_hundred_dimensions(rng):
    return cr.probability(linear(3.5), 100, draws=2_000, rng=rng)


@row(stats.norm.sf(3.5), warns=EITHER)
def seven_hundred_calls_in_ten_dimensions(rng):
    return cr.probability(linear(3.5), 10, draws=700, rng=rng)


@row(1 - np.prod(stats.norm.cdf([3.0, 3.1, 3.2, 3.45])), within=0.12, warns=EITHER)
def four_modes_in_eight_dimensions(rng):
    beta = np.array([3.0, 3.1, 3.2, 3.45])
    return cr.probability(lambda x: (beta - x[:, :4]).min(axis=1), 8, draws=20_000, rng=rng)


@row(2 * stats.norm.sf(4), within=0.12)
def two_modes(rng):
    return cr.probability(lambda x: 4 - np.abs(x[:, 0]), 2, draws=50_000, rtol=0.1, rng=rng)


@row(stats.norm.sf(2) ** 2, within=0.12)
def two_parts_in_parallel(rng):
    return cr.probability(lambda x: 2 - x.min(axis=1), 2, draws=50_000, rtol=0.1, rng=rng)


@row(stats.norm.sf(1.5), within=0.2)
def a_function_that_changes_its_points(rng):
    def g(x):
        x *= 2
        return 3 - x[:, 0]

    return cr.probability(g, 2, draws=20_000, rtol=0.1, rng=rng)


@row(
    stats.norm.sf(3 / np.hypot(1, 0.3)),
    within=0.12,
    warns=EITHER,
    holds=lambda result: result.draws < 20_000,
)
def a_noisy_function(rng):
    noise = np.random.default_rng(rng)

    def g(x):
        return 3 - x[:, 0] + 0.3 * noise.standard_normal(len(x))

    return cr.probability(g, 2, draws=50_000, rtol=0.1, rng=rng)


def no_wider_than_plain_draws(result):
    return result.interval[1] <= stats.beta.ppf(0.975, 3, result.draws)


@row(stats.norm.sf(3), warns=EITHER, holds=no_wider_than_plain_draws)
def sixty_calls(rng):
    return cr.probability(linear(3), 2, draws=60, rng=rng)


@row(stats.norm.sf(3), warns=EITHER, holds=no_wider_than_plain_draws)
def a_hundred_calls(rng):
    return cr.probability(linear(3), 2, draws=100, rng=rng)


@row(stats.norm.sf(3), warns=EITHER, holds=no_wider_than_plain_draws)
def three_hundred_calls(rng):
    return cr.probability(linear(3), 2, draws=300, rng=rng)


@row(stats.norm.sf(3), within=0.15)
def variables_of_scipy(rng):
    over = [stats.norm(10, 2), stats.norm(1, 1)]
    return cr.probability(
        lambda x: (x[:, 0] - x[:, 1] - 9) + 3 * np.sqrt(5), over, draws=20_000, rtol=0.1, rng=rng
    )


@row(stats.norm.sf(3.5), within=0.15, holds=lambda result: result.draws < 300)
def a_few_dozen_calls_of_a_smooth_function(rng):
    return cr.probability(linear(3.5), 5, draws=2_000, rtol=0.1, rng=rng)


@row(0.0006106, within=0.3, warns=EITHER, holds=lambda result: result.stderr < 0.1 * result.value)
def sixty_calls_of_a_bent_margin(rng):
    return cr.probability(
        lambda x: 3.2 - x[:, 0] - 0.2 * x[:, 1] * x[:, 2] + 0.1 * x[:, 1] ** 2,
        3,
        draws=60,
        rng=rng,
    )


@row(0.0006106, within=0.3, holds=lambda result: result.interval[1] < 0.0012)
def fifty_calls_of_a_bent_margin(rng):
    return cr.probability(
        lambda x: 3.2 - x[:, 0] - 0.2 * x[:, 1] * x[:, 2] + 0.1 * x[:, 1] ** 2,
        3,
        draws=50,
        rng=rng,
    )


@row(stats.norm.sf(3), within=0.1, holds=lambda result: result.stderr < 0.05 * result.value)
def a_hundred_calls_in_six_dimensions(rng):
    return cr.probability(linear(3), 6, draws=100, rng=rng)


@row(stats.norm.sf(3.5), within=0.2)
def one_point_at_a_time(rng):
    return cr.probability(lambda x: 3.5 - x[0], over=2, draws=4_000, rng=rng)


def queue(target):
    return cr.splitting(
        lambda rng, waiting: waiting + np.where(rng.random(len(waiting)) < 0.3, 1, -1),
        start=lambda rng, n: np.ones(n),
        level=lambda waiting: np.where(waiting == 0, -np.inf, waiting),
        target=target,
    )


@row((7 / 3 - 1) / ((7 / 3) ** 12 - 1), within=0.2, warns=EITHER)
def splitting_of_a_queue(rng):
    return cr.estimate([queue(12)], cost=1_000_000, rng=rng)


@row((7 / 3 - 1) / ((7 / 3) ** 6 - 1), best="split", within=0.2)
def splitting_beside_plain_paths(rng):
    def plain(rng, size):
        waiting, steps = np.ones(size), np.zeros(size)
        while (going := (waiting > 0) & (waiting < 6)).any():
            waiting[going] += np.where(rng.random(going.sum()) < 0.3, 1, -1)
            steps += going
        return cr.Draws(waiting == 6, costs=steps)

    return cr.estimate({"plain": plain, "split": queue(6)}, cost=300_000, rng=rng)


@row((7 / 3 - 1) / ((7 / 3) ** 12 - 1), within=0.25, stopped="tolerance")
def splitting_and_a_tolerance(rng):  # a stop needs 100 draws at least, here of 34 000 steps each
    return cr.estimate([queue(12)], cost=8_000_000, rtol=0.2, rng=rng)


@row((7 / 3 - 1) / ((7 / 3) ** 12 - 1), warns=EITHER)
def splitting_and_ten_draws(rng):
    return cr.estimate([queue(12)], draws=10, rng=rng)


@row(stats.norm.sf(2), warns=EITHER)
def a_program_as_limit_state(rng):
    program = cr.Program(["awk", "{print 2 - $1}"], timeout=60)
    return cr.probability(program, 2, draws=1_000, rng=rng)


@row(stats.norm.sf(3), warns=EITHER)
def ten_calls(rng):
    return cr.probability(linear(3), 2, draws=10, rng=rng)


@row(stats.norm.sf(3), within=0.3, stopped="tolerance")
def seconds_and_a_tolerance(rng):
    return cr.probability(linear(3), 2, seconds=20, rtol=0.3, rng=rng)


@row(stats.norm.sf(3), within=0.1)
def two_workers(rng):
    return cr.probability(linear(3), 2, draws=5_000, workers=2, rng=rng)


@row(stats.norm.sf(3), within=0.1, holds=lambda result: result.draws == 6_000)
def a_store_that_is_used_twice(rng):
    for draws in (4_000, 6_000):
        result = cr.probability(linear(3), 2, draws=draws, store="run.db", rng=rng)
    return result


@row(stats.norm.sf(4), within=0.2)
def beta_four_in_thirty_dimensions(rng):
    return cr.probability(linear(4), 30, draws=20_000, rng=rng)


@row(stats.norm.sf(6), within=0.15, stopped="tolerance")
def beta_six(rng):
    return cr.probability(linear(6), 2, draws=20_000, rtol=0.1, rng=rng)


@row(0.3, within=0.05)
def an_event_that_is_not_rare(rng):
    return cr.probability(lambda x: x[:, 0] - stats.norm.ppf(0.3), 2, draws=5_000, rng=rng)


@row(1.0, warns="is its sign right")
def the_wrong_sign(rng):
    return cr.probability(lambda x: x[:, 0] - 9, 2, draws=2_000, rng=rng)


PASSAGE = 0.009269  # of 2 000 000 plain draws, to 0.7 %
THREE = stats.norm.sf([2, 2.5, 3])
ANY, ALL = 1 - np.prod(1 - THREE), np.prod(THREE)


@row([*THREE, ANY, ALL], stopped="tolerance", holds=lambda result: result.draws < 10_000)
def three_limit_states_and_a_tolerance(rng):
    return cr.probability(lambda x: np.array([2, 2.5, 3]) - x, 3, draws=100_000, rtol=0.1, rng=rng)


def no_longer_than_that_of_plain_draws(result):
    low, high = result.interval
    return high - low <= 2 * 1.96 * (result.value / result.draws) ** 0.5


@row(PASSAGE, warns=EITHER, holds=no_longer_than_that_of_plain_draws)
def a_first_passage_in_a_hundred_dimensions(rng):
    return cr.probability(
        lambda x: 2.55 - np.cumsum(x, axis=1).max(axis=1) / 10, 100, draws=10_000, rng=rng
    )


@row(stats.norm.sf((5 - 4.2) / np.hypot(0.1, 0.2)), within=0.15, stopped="tolerance")
def a_lognormal_load_and_strength(rng):
    over = [stats.lognorm(0.1, scale=np.exp(5)), stats.lognorm(0.2, scale=np.exp(4.2))]
    return cr.probability(lambda x: x[:, 0] - x[:, 1], over, draws=20_000, rtol=0.1, rng=rng)
