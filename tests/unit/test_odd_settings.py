"""Settings far beyond what anybody needs: one clear error each."""

import pytest

import croupier as cr


def uniform(rng, size):
    return rng.random(size)


def test_a_seed_with_more_digits_than_python_writes_is_refused_by_name():
    with pytest.raises(cr.PlanError, match="rng has too many digits"):
        cr.estimate({"a": uniform}, draws=10, rng=10**5000)


def test_a_negative_seed_with_as_many_digits_is_refused_too():
    with pytest.raises(cr.PlanError, match="rng"):
        cr.estimate({"a": uniform}, draws=10, rng=-(10**5000))


def test_a_width_that_would_only_ask_and_never_learn_is_refused():
    with pytest.raises(cr.PlanError, match="width must be at most"):
        cr.estimate({"a": uniform}, seconds=1, width=10**9)


def test_theory_is_an_attribute():
    assert cr.theory.__name__ == "croupier.theory"
