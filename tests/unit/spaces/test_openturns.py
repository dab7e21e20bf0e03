"""Distributions of OpenTURNS as marginals, where it is installed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.spaces.openturns import FromOpenTURNS
from croupier.spaces.read_space import read_space

ot = pytest.importorskip("openturns")


def test_a_distribution_of_openturns_is_that_of_scipy() -> None:
    ours, scipys = FromOpenTURNS(ot.Normal(1.0, 2.0)), stats.norm(1.0, 2.0)
    p, x = np.array([1e-12, 0.3, 0.9]), np.array([[-3.0, 0.5], [1.0, 9.0]])
    for name, at in (("ppf", p), ("isf", p), ("cdf", x), ("sf", x), ("logpdf", x)):
        assert np.allclose(getattr(ours, name)(at), getattr(scipys, name)(at), rtol=1e-10), name


def test_marginals_of_openturns_and_scipy_are_joined() -> None:
    over = cr.rare.Nataf([ot.Normal(1.0, 1.0), stats.norm(1, 1)], [[1, 0.5], [0.5, 1]])
    space = pickle.loads(pickle.dumps(read_space([ot.Uniform(0, 2), stats.norm()])))
    assert space.dimension == 2
    result = cr.probability(lambda x: 5 - x.sum(axis=1), over, draws=4000, rtol=0.2, rng=7)
    assert abs(result.value - stats.norm.sf(3**0.5)) < 4 * result.stderr


@pytest.mark.parametrize("given", [ot.Poisson(3.0), ot.Normal(3)])
def test_what_is_no_continuous_variable_is_refused(given: object) -> None:
    with pytest.raises(cr.PlanError, match="continuous distributions of one variable"):
        read_space([given, (0, 1)])
