"""Warnings about a model: a likelihood in place of its log, or a log with the wrong sign."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.model_warnings import likelihood_warnings

NORMAL = [st.norm(0, 1)] * 2


def squares(x: Any) -> Any:
    return (((x - 1) / 0.5) ** 2).sum(axis=1)


def warnings_of(log_likelihood: Any, prior: Any = NORMAL, **settings: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", cr.CroupierWarning)
        result = cr.evidence(log_likelihood, prior, rng=7, **settings)
    return " ".join(result.warnings)


def test_a_log_likelihood_with_the_wrong_sign_has_no_evidence_and_a_warning_says_why() -> None:
    said = warnings_of(lambda x: 0.5 * squares(x), draws=2000)
    assert "the log-likelihood has the wrong sign" in said


def test_the_right_sign_does_not_warn() -> None:
    assert "sign" not in warnings_of(lambda x: -0.5 * squares(x), draws=1500)


def test_a_prior_that_contradicts_the_data_warns() -> None:
    """The data are 20 standard deviations of the prior away, and 5 in the second run."""
    said = warnings_of(lambda x: -50 * ((x - 20) ** 2).sum(axis=1), draws=4000)
    assert "either prior and data contradict each other" in said
    assert "contradict" not in warnings_of(lambda x: -50 * ((x - 5) ** 2).sum(axis=1), draws=1500)


def test_a_heavy_tailed_prior_allows_more() -> None:
    far = [st.cauchy(0, 1)] * 2
    assert "contradict" not in warnings_of(lambda x: -0.5 * ((x - 50) ** 2).sum(axis=1), far,
                                           draws=5000)  # fmt: skip


def test_a_likelihood_in_place_of_its_log_warns() -> None:
    said = warnings_of(lambda x: np.exp(-50 * ((x - 1) ** 2).sum(axis=1)), draws=1500)
    assert "it seems to return the likelihood itself, not its log" in said


@pytest.mark.parametrize(
    "likelihood",
    [
        lambda x: st.binom.pmf(7, 10, st.norm.cdf(x[:, 0])),
        lambda x: st.norm.pdf(1.0, x[:, 0], 0.5),
        lambda x: np.exp(-0.5 * squares(x)),
    ],
)
def test_a_likelihood_of_few_data_in_place_of_its_log_warns(likelihood: Any) -> None:
    said = warnings_of(likelihood, draws=1500)
    assert "points of the prior: it seems to return the likelihood itself" in said
    assert "not its log" not in warnings_of(lambda x: np.log(likelihood(x)), draws=1500)


def test_an_infinite_log_likelihood_asks_about_its_sign() -> None:
    with pytest.raises(cr.ArmError, match=r"is inf at .*is its sign right\?"):
        warnings_of(lambda x: np.where(x[:, 0] > 1, np.inf, -(x[:, 0] ** 2)), draws=1500)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(100),
        np.where(np.arange(100) < 5, 3.0, 0.0),  # a box in a flat likelihood
        np.linspace(0, 2, 100),
        np.linspace(-0.1, 0.9, 100),
        np.full(100, -np.inf),
        np.append(np.geomspace(1e-200, 1, 99), -1e-9),
        np.geomspace(1, 1e8, 100),
    ],
)
def test_logs_that_only_look_a_little_like_likelihoods_do_not_warn(values: np.ndarray) -> None:
    assert likelihood_warnings(values) == ()
