"""First calls of `cr.estimate` with a budget in seconds: a draw costs the time that it takes."""

import time

import numpy as np

import croupier as cr
from tests.first_calls.row import EITHER, row
from tests.first_calls.rows_estimate import TAIL, naive, scaled, shifted


def spinning(seconds):
    """Compute for about this long; what else runs on the machine does not count."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def poor(rng, size):  # some nanoseconds a draw
    return 1.0 + 3.0 * (rng.random(size, dtype=np.float32) - 0.5)


def good_in_ten_microseconds(rng, size):
    spinning(1e-5 * size)
    return rng.normal(1.0, 1e-3, size)


def good_in_three_milliseconds(rng, size):  # few draws in a second, if the machine is busy
    spinning(3e-3 * size)
    return rng.normal(1.0, 1e-5, size)


@row(TAIL, best="shifted")
def one_second(rng):
    return cr.estimate([naive, scaled, shifted], seconds=1, rng=rng)


@row(TAIL, best="shifted")
def the_best_arm_first(rng):
    return cr.estimate([shifted, scaled, naive], seconds=1, rng=rng)


@row(TAIL, best="shifted", share=0.5)
def three_tenths_of_a_second(rng):
    return cr.estimate([naive, scaled, shifted], seconds=0.3, rng=rng)


@row(TAIL, stopped="tolerance", within=0.01)
def five_seconds_and_a_tolerance(rng):
    return cr.estimate([naive, scaled, shifted], seconds=5, rtol=0.01, rng=rng)


@row(TAIL, best="shifted")
def a_second_and_four_batches_at_once(rng):
    return cr.estimate([naive, scaled, shifted], seconds=1, width=4, rng=rng)


@row(TAIL, best="shifted")
def a_second_and_two_workers(rng):
    return cr.estimate([naive, scaled, shifted], seconds=1, workers=2, rng=rng)


@row(TAIL, best="shifted")
def a_second_and_a_store(rng):
    return cr.estimate([naive, scaled, shifted], seconds=1, store="run.db", rng=rng)


@row(1.0, best="good_in_ten_microseconds", inside=0.5)
def a_fast_poor_arm_beside_ten_microseconds(rng):
    return cr.estimate([poor, good_in_ten_microseconds], seconds=1, rng=rng)


@row(1.0, best="good_in_ten_microseconds", inside=0.5)
def ten_microseconds_beside_a_fast_poor_arm(rng):
    return cr.estimate([good_in_ten_microseconds, poor], seconds=1, rng=rng)


@row(1.0, best="good_in_three_milliseconds", inside=0.5, warns=EITHER)
def a_fast_poor_arm_beside_three_milliseconds(rng):
    return cr.estimate([poor, good_in_three_milliseconds], seconds=1, rng=rng)


@row(1.0, best="good_in_three_milliseconds", inside=0.5, warns=EITHER)
def three_milliseconds_beside_a_fast_poor_arm(rng):
    return cr.estimate([good_in_three_milliseconds, poor], seconds=1, rng=rng)


@row(1.0, best="narrow", inside=0.5)
def two_arms_that_sleep(rng):
    def wide(rng, size):
        time.sleep(0.002 * size)
        return rng.normal(1.0, 1.0, size)

    def narrow(rng, size):
        time.sleep(0.002 * size)
        return rng.normal(1.0, 0.1, size)

    return cr.estimate([wide, narrow], seconds=2, rng=rng)


@row(1.0, inside=0.5)
def one_arm_of_ten_milliseconds(rng):
    def slow(rng, size):
        time.sleep(0.01 * size)
        return rng.normal(1.0, 0.5, size)

    return cr.estimate([slow], seconds=1, rng=rng)


@row(1.0, best="vectorised")
def a_loop_beside_the_same_draws_at_once(rng):
    def looped(rng):
        return rng.random() + rng.random()

    def vectorised(rng, size):
        return rng.random(size) + rng.random(size)

    arms = {"looped": cr.scalar(looped), "vectorised": vectorised}
    return cr.estimate(arms, seconds=0.5, rng=rng)


@row(1.0, best="good")
def two_budgets(rng):
    def good(rng, size):
        return rng.normal(1.0, 0.1, size)

    def bad(rng, size):
        return rng.normal(1.0, 1.0, size)

    return cr.estimate([bad, good], draws=200_000, seconds=20, rng=rng)


@row(1.0, best="good")
def cpu_seconds(rng):
    def good(rng, size):
        return rng.normal(1.0, 0.1, size)

    def bad(rng, size):
        return rng.normal(1.0, 1.0, size)

    return cr.estimate([bad, good], seconds=0.5, clock="cpu", rng=rng)
