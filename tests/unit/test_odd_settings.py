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


def test_a_folder_as_a_store_names_a_file_in_it(tmp_path):
    with pytest.raises(cr.StoreError, match=r"is a folder: give a file in it, such as .*run\.db"):
        cr.estimate({"a": uniform}, draws=100, store=tmp_path)


def test_a_table_is_given_names_and_no_budget():
    with pytest.raises(cr.PlanError, match="the names of arms are enough"):
        cr.Allocator([uniform])
    with pytest.raises(cr.PlanError, match="draws= is no setting of a table: give ask what is"):
        cr.Allocator(["a"], draws=100)


def test_what_is_no_list_of_runs_is_not_merged():
    with pytest.raises(cr.PlanError, match="merge takes a list of two or more runs, got 5"):
        cr.merge(5)
