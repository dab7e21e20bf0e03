"""Distributions in a problem file: a wrong parameter is named, with the right ones."""

import pytest

import croupier as cr
from croupier.cli.sections.over import _marginal


def test_an_unknown_parameter_names_the_known_ones_and_no_function_of_scipy():
    with pytest.raises(cr.PlanError, match="unknown parameter 'sigma'") as caught:
        _marginal({"name": "lognorm", "sigma": 0.5})
    assert "_parse_args" not in str(caught.value)


def test_a_missing_shape_is_named():
    with pytest.raises(cr.PlanError, match="'lognorm' in over has no s"):
        _marginal({"name": "lognorm", "scale": 2})


def test_the_right_parameters_are_taken():
    assert _marginal({"name": "lognorm", "s": 0.5, "scale": 2}).median() == pytest.approx(2)
    assert _marginal({"name": "norm", "loc": 1}).mean() == 1
    assert _marginal({"name": "poisson", "mu": 3}).mean() == 3
