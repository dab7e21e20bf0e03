"""np.errstate belongs to the caller and to the arms, not to croupier's own arithmetic."""

import numpy as np
import pytest

import croupier as cr


def tiny(rng, size):
    with np.errstate(all="ignore"):
        return np.exp(-700 * rng.random(size))


def divides(rng, size):
    return rng.random(size) / np.zeros(size)


def limit(x):
    return 3 - x[:, 0]


RUNS = {
    "estimate": lambda: cr.estimate({"a": tiny, "b": tiny}, draws=2000, rng=1),
    "stratify": lambda: cr.stratify({"a": tiny, "b": tiny}, weights=[0.5, 0.5], draws=999, rng=1),
    "probability": lambda: cr.probability(limit, 2, draws=2000, rng=1),
}


@pytest.mark.parametrize("door", RUNS)
def test_a_run_under_errstate_raise_has_the_value_of_a_plain_run(door):
    with np.errstate(all="raise"):
        strict = RUNS[door]()
    assert strict.value == RUNS[door]().value


def test_the_arms_run_under_the_errstate_of_the_caller_and_are_named():
    with np.errstate(all="raise"), pytest.raises(cr.ArmError, match=r"'a'.*FloatingPointError"):
        cr.estimate({"a": divides}, draws=100)


def test_the_errstate_of_the_caller_is_as_before_after_a_run():
    with np.errstate(all="raise"):
        before = np.geterr()
        cr.estimate({"a": tiny}, draws=100, rng=1)
        assert np.geterr() == before
