"""Doubts about a prior of two functions: the same law, and of mass 1?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.models import model_of
from croupier.annealing.prior_checks import surprise

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def pair(*laws: Any) -> tuple[Any, Any]:
    return sampled(*laws), density(*laws)


def sampled(*laws: Any) -> Any:
    return lambda rng, size: np.column_stack([law.rvs(size, random_state=rng) for law in laws])


def density(*laws: Any) -> Any:
    return lambda x: sum(law.logpdf(column) for law, column in zip(laws, x.T, strict=True))


def log_likelihood(x: np.ndarray) -> Any:
    return -((x - 1) ** 2).sum(axis=1)


def comb() -> tuple[Any, Any]:
    def sample(rng: np.random.Generator, size: int) -> Any:
        return rng.integers(0, 5, (size, 1)) + 0.01 * rng.standard_normal((size, 1))

    def logpdf(x: np.ndarray) -> Any:
        return np.logaddexp.reduce([st.norm.logpdf(x[:, 0], k, 0.01) for k in range(5)]) - np.log(5)

    return sample, logpdf


@pytest.mark.parametrize(
    "prior",
    [
        pair(st.norm(3, 2)),
        pair(*[st.norm(0, 1)] * 20),
        pair(*[st.cauchy(0, 1)] * 3),
        pair(*[st.uniform(0, 1)] * 5),
        pair(st.gamma(0.3), st.lognorm(3)),
        comb(),
    ],
)
def test_right_priors_are_no_surprise(prior: Any) -> None:
    # The largest of at most 41 sign tests, 5 streams: 5 standard deviations are one in 8000.
    model = model_of(log_likelihood, prior, vectorised=True)
    assert max(surprise(model, np.random.default_rng(seed)) for seed in range(5)) < 5
    assert isinstance(cr.evidence(log_likelihood, prior, draws=100, rng=1), cr.Result)


@pytest.mark.parametrize(
    ("sample", "logpdf"),
    [
        (sampled(st.norm(0, 1)), density(st.norm(0, 2))),
        (sampled(st.norm(0, 1)), density(st.norm(0, 0.7))),
        (sampled(st.gamma(2, scale=2)), density(st.gamma(2, scale=0.5))),
        (sampled(*[st.norm(0, 1)] * 10), density(*[st.norm(0, 1)] * 9, st.norm(0, 2))),
        (sampled(st.norm(0, 1)), density(st.norm(0.5, 1))),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"temperatures": 5}])
def test_two_functions_of_different_laws_are_refused(
    sample: Any, logpdf: Any, settings: dict[str, Any]
) -> None:
    with pytest.raises(cr.PlanError, match="sample and its log-density are not the same distr"):
        cr.evidence(log_likelihood, (sample, logpdf), draws=100, **settings)


def test_a_missing_constant_is_not_taken_for_another_law() -> None:
    sample, logpdf = pair(*[st.norm(0, 1)] * 2)
    with pytest.raises(cr.PlanError, match=r"not normalised.* e\^-0\.3 .*or its sample"):
        cr.evidence(log_likelihood, (sample, lambda x: logpdf(x) - 0.3), draws=100)
