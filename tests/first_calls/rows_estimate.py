"""First calls of `cr.estimate` with a budget in draws or in cost."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import stats

import croupier as cr
from tests.first_calls.row import EITHER, row

TAIL = stats.norm.sf(1.5)


def naive(rng, size):
    return rng.standard_normal(size) > 1.5


def scaled(rng, size):
    x = rng.normal(0, 2, size)
    return np.where(x > 1.5, 2 * np.exp(-3 / 8 * x**2), 0)


def shifted(rng, size):
    x = rng.normal(1.5, 1, size)
    return np.where(x > 1.5, np.exp(1.125 - 1.5 * x), 0)


def plain(rng, size):
    return np.exp(rng.random(size))


def antithetic(rng, size):
    u = rng.random(size)
    return (np.exp(u) + np.exp(1 - u)) / 2


@row(TAIL, warns=EITHER)
def ten_draws(rng):
    return cr.estimate([naive, scaled, shifted], draws=10, rng=rng)


@row(TAIL, warns=EITHER)
def fifty_draws(rng):
    return cr.estimate([naive, scaled, shifted], draws=50, rng=rng)


@row(TAIL, within=0.5, warns=EITHER)
def two_hundred_draws(rng):
    return cr.estimate([naive, scaled, shifted], draws=200, rng=rng)


@row(TAIL, best="shifted", within=0.03)
def ten_thousand_draws(rng):
    return cr.estimate([naive, scaled, shifted], draws=10_000, rng=rng)


@row(TAIL, best="shifted", share=0.98, within=1e-3)
def ten_million_draws(rng):
    return cr.estimate([naive, scaled, shifted], draws=10_000_000, rng=rng)


@row(TAIL, best="shifted", stopped="tolerance", within=0.01)
def a_million_draws_and_a_tolerance(rng):
    return cr.estimate([naive, scaled, shifted], draws=1_000_000, rtol=0.01, rng=rng)


@row(TAIL, best="shifted")
def four_batches_at_once(rng):
    return cr.estimate([naive, scaled, shifted], draws=100_000, width=4, rng=rng)


@row(TAIL, best="shifted")
def two_workers(rng):
    return cr.estimate([naive, scaled, shifted], draws=300_000, workers=2, rng=rng)


@row(TAIL, best="shifted", holds=lambda result: result.draws == 100_000)
def a_store_that_is_used_twice(rng):
    cr.estimate([naive, scaled, shifted], draws=50_000, rng=rng, store="run.db")
    return cr.estimate([naive, scaled, shifted], draws=100_000, rng=rng, store="run.db")


@row(np.e - 1, best="antithetic")
def two_lambdas_in_a_dict(rng):
    return cr.estimate(
        {
            "plain": lambda rng, size: np.exp(rng.random(size)),
            "antithetic": lambda rng, size: (np.exp(u := rng.random(size)) + np.exp(1 - u)) / 2,
        },
        draws=20_000,
        rng=rng,
    )


@row(np.e - 1, within=0.02)
def one_arm_alone(rng):
    return cr.estimate([plain], draws=10_000, rng=rng)


@row(np.e - 1, stopped="tolerance")
def one_arm_and_a_tolerance(rng):
    return cr.estimate([plain], draws=1_000_000, atol=0.005, rng=rng)


@row(4.0, within=0.1)
def one_draw_at_a_time(rng):
    def rolls_until_a_six_or_a_five_or_three(rng):
        rolls = 1
        while rng.random() > 0.25:
            rolls += 1
        return rolls

    return cr.estimate([cr.scalar(rolls_until_a_six_or_a_five_or_three)], draws=5_000, rng=rng)


@row(np.e - 1, best="antithetic", within=0.05)
def bounded_arms_at_any_time(rng):
    arms = [
        cr.Arm(plain, name="plain", bounds=(1, np.e)),
        cr.Arm(antithetic, name="antithetic", bounds=(1, np.e)),
    ]
    return cr.estimate(arms, draws=20_000, anytime=True, rng=rng)


@row(np.e - 1, best="antithetic", within=0.05)
def bounded_arms_with_a_guarantee(rng):
    arms = [
        cr.Arm(plain, name="plain", bounds=(1, np.e)),
        cr.Arm(antithetic, name="antithetic", bounds=(1, np.e)),
    ]
    return cr.estimate(arms, draws=20_000, interval="guaranteed", rng=rng)


@row(1.0, best="cheap")
def costs_that_the_arms_report(rng):
    def cheap(rng, size):
        return cr.Draws(rng.normal(1.0, 2.0, size), costs=1)

    def expensive(rng, size):
        return cr.Draws(rng.normal(1.0, 1.0, size), costs=20)

    return cr.estimate([cheap, expensive], cost=20_000, rng=rng)


@row(1.0, best="expensive")
def an_expensive_arm_that_is_worth_it(rng):
    def cheap(rng, size):
        return cr.Draws(rng.normal(1.0, 3.0, size), costs=1)

    def expensive(rng, size):
        return cr.Draws(rng.normal(1.0, 0.2, size), costs=np.full(size, 20.0))

    return cr.estimate([cheap, expensive], cost=50_000, rng=rng)


@row(2.0, best="short", warns="was not reached")
def costs_that_vary_from_draw_to_draw(rng):
    def long(rng, size):
        return cr.Draws(rng.exponential(2.0, size), costs=rng.uniform(5, 15, size))

    def short(rng, size):
        return cr.Draws(rng.normal(2.0, 1.0, size), costs=rng.uniform(1, 3, size))

    return cr.estimate([long, short], cost=30_000, rtol=0.001, rng=rng)


@row([0.5, 1 / 3, 0.25], best="pairs", within=0.02)
def a_vector_of_three_moments(rng):
    def single(rng, size):
        u = rng.random(size)
        return np.column_stack([u, u**2, u**3])

    def pairs(rng, size):
        u, v = rng.random(size), rng.uniform(0.4, 0.6, size)
        w = np.column_stack([u, u**2, u**3]) + np.column_stack([1 - u, (1 - u) ** 2, (1 - u) ** 3])
        return w / 2 + (v - 0.5)[:, None]

    return cr.estimate([single, pairs], draws=50_000, rng=rng)


@row(-5000.0 - 0.5 * np.log(5) - 0.1, best="from_the_mode")
def logs_of_tiny_numbers(rng):
    def from_the_prior(rng, size):
        x = rng.normal(0.0, 1.0, size)
        return -5000.0 - 2.0 * (x - 0.5) ** 2

    def from_the_mode(rng, size):
        x = rng.normal(0.4, 0.5, size)
        weight = (x - 0.4) ** 2 / (2 * 0.25) - x**2 / 2 + np.log(0.5)
        return -5000.0 - 2.0 * (x - 0.5) ** 2 + weight

    return cr.estimate([from_the_prior, from_the_mode], draws=20_000, log=True, rng=rng)


@row(1.0, warns="disagree", off=True)
def a_biased_arm(rng):
    def right(rng, size):
        return rng.normal(1.0, 1.0, size)

    def biased(rng, size):
        return rng.normal(1.3, 0.5, size)

    return cr.estimate([right, biased], draws=50_000, rng=rng)


@row(0.0, warns="relative to a value that may be zero")
def a_relative_tolerance_of_zero(rng):
    def centred(rng, size):
        return rng.standard_normal(size)

    return cr.estimate([centred], draws=10_000, rtol=0.01, rng=rng)


@row(TAIL, warns="was not reached")
def a_tolerance_that_is_too_fine(rng):
    return cr.estimate([naive, scaled, shifted], draws=10_000, rtol=1e-4, rng=rng)


@row(1e15, warns="subtract a constant", off=True)
def draws_around_a_large_number(rng):
    def huge(rng, size):
        return 1e15 + rng.normal(0.0, 1.0, size)

    return cr.estimate([huge], draws=10_000, rng=rng)


@row(1.0, best="good")
def twenty_arms(rng):
    arms = {f"arm {k}": lambda rng, size: rng.normal(1.0, 2.0, size) for k in range(19)}
    arms["good"] = lambda rng, size: rng.normal(1.0, 0.3, size)
    return cr.estimate(arms, draws=200_000, rng=rng)


@row(stats.norm.sf(4), best="there")
def a_rare_event_that_one_arm_sees(rng):
    def crude(rng, size):
        return rng.standard_normal(size) > 4

    def there(rng, size):
        x = rng.normal(4, 1, size)
        return (x > 4) * np.exp(8 - 4 * x)

    return cr.estimate([crude, there], draws=20_000, rng=rng)


@row(0.5, best="controlled")
def gammas_by_finite_differences(rng):
    """The slope of E[max(s + Z, 0)] at s = 0, by differences, and an arm that is nearly exact."""

    def controlled(rng, size):
        u = rng.random(size)
        return 0.5 + 0.05 * (u - 0.5)

    def differences(rng, size):
        z = rng.standard_normal(size)
        return (np.maximum(z + 1e-4, 0) - np.maximum(z - 1e-4, 0)) / 2e-4

    return cr.estimate([differences, controlled], draws=20_000, rng=rng)


@row(2 * stats.norm.cdf(0.1) - 1, best="controlled", within=0.01)
def a_call_option_with_the_stock_as_control(rng):
    def call(rng, size):
        stock = np.exp(0.2 * rng.standard_normal(size) - 0.02)
        return np.maximum(stock - 1, 0), stock

    def plain(rng, size):
        return call(rng, size)[0]

    return cr.estimate([plain, cr.arms.controlled(call, 1.0)], draws=200_000, rng=rng)


@row(1.0, best="cheap", stopped="tolerance", within=0.02)
def a_cost_and_a_tolerance(rng):
    def cheap(rng, size):
        return cr.Draws(rng.normal(1.0, 0.5, size), costs=1)

    def expensive(rng, size):
        return cr.Draws(rng.normal(1.0, 0.4, size), costs=20)

    return cr.estimate([cheap, expensive], cost=100_000, rtol=0.02, rng=rng)


@row(1.0, warns=EITHER, holds=lambda result: result.arms["expensive"].draws <= 5)
def a_small_cost_and_an_expensive_arm(rng):
    def cheap(rng, size):
        return cr.Draws(rng.normal(1.0, 1.0, size), costs=1)

    def expensive(rng, size):
        return cr.Draws(rng.normal(1.0, 0.5, size), costs=20)

    return cr.estimate([cheap, expensive], cost=100, rng=rng)


@row(TAIL, best="shifted")
def threads(rng):
    with ThreadPoolExecutor(2) as pool:
        return cr.estimate([naive, scaled, shifted], draws=200_000, executor=pool, rng=rng)


@row(stats.norm.sf(np.arange(4)), best="spread", warns=EITHER)
def four_tails_at_once(rng):
    def nominal(rng, size):
        return rng.standard_normal(size)[:, None] > np.arange(4)

    def spread(rng, size):
        x = rng.normal(1.5, 1.3, size)
        weight = stats.norm.pdf(x) / stats.norm.pdf(x, 1.5, 1.3)
        return (x[:, None] > np.arange(4)) * weight[:, None]

    return cr.estimate([nominal, spread], draws=40_000, rng=rng)


@row(np.e - 1, warns=EITHER, holds=lambda result: result.arms["crude"].share < 0.2)
def ready_made_arms_with_names_of_ones_own(rng):
    arms = {
        "crude": cr.arms.plain(np.exp, (0, 1)),
        "pairs": cr.arms.antithetic(np.exp, (0, 1)),
        "cells": cr.arms.stratified(np.exp, (0, 1)),
    }
    return cr.estimate(arms, draws=100_000, rng=rng)


@row(137 / 60, best="spacings", within=0.05)
def the_largest_of_five_lifetimes(rng):
    def largest(rng, size):
        return rng.exponential(size=(size, 5)).max(axis=1)

    def spacings(rng, size):  # the k-th gap has the mean 1/k: the variance is four times as small
        u = rng.random((size, 5))
        return (-(np.log(u) + np.log1p(-u)) / 2 / np.arange(1, 6)).sum(axis=1)

    return cr.estimate([largest, spacings], draws=3_000, rng=rng)


@row(np.pi, warns=EITHER)
def pi_in_fifty_draws(rng):
    def hits(rng, size):
        return 4.0 * ((rng.random((size, 2)) ** 2).sum(axis=1) < 1)

    def heights(rng, size):
        return 4 * np.sqrt(1 - rng.random(size) ** 2)

    return cr.estimate([hits, heights], draws=50, rng=rng)


@row(3.0, within=0.01)
def fifty_arms_in_five_hundred_draws(rng):
    def arm(spread):
        return lambda rng, size: rng.normal(3.0, spread, size)

    arms = {f"{spread:.3g}": arm(spread) for spread in np.geomspace(0.1, 10, 50)}
    return cr.estimate(arms, draws=500, rng=rng)


@row(np.e - 1, holds=lambda result: result.arms["plain"].share < 0.2)
def a_continuum_beside_a_plain_arm(rng):
    def controlled(rng, size, b):
        u = rng.random(size)
        return np.exp(u) - b * (u - 0.5)

    return cr.estimate(
        {**cr.continuum(controlled, b=(-3, 5)), "plain": plain}, draws=3_000, rng=rng
    )
