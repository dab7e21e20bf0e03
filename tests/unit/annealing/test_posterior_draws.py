"""Draws from a posterior: their names, what they are worth, and what is refused."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr


@cache
def result() -> Any:
    """One observation 1 with the deviation 0.5, and two parameters: the second does nothing."""

    def log_likelihood(x: Any) -> Any:
        return stats.norm.logpdf(1.0, x[:, 0], 0.5)

    return cr.evidence(log_likelihood, [stats.norm(0, 1)] * 2, draws=3000, rng=7)


def test_a_coordinate_has_its_default_name_or_that_of_the_user() -> None:
    draws, named = result().posterior(500), result().posterior(500, names=["mu", "idle"])
    assert draws.names == ("x0", "x1")
    assert np.array_equal(draws["x1"], named["idle"])
    assert len(draws) == 500
    assert np.array_equal(np.asarray(draws), draws.points)
    assert {name: drawn.shape for name, drawn in named.to_dict().items()} == {
        "mu": (1, 500), "idle": (1, 500)
    }  # fmt: skip


def test_an_unknown_coordinate_says_which_there_are() -> None:
    with pytest.raises(KeyError, match="'sigma' is not a coordinate: there are x0, x1"):
        result().posterior(100)["sigma"]


@pytest.mark.parametrize("names", [["mu"], ["mu", "mu"]])
def test_every_coordinate_needs_a_name_of_its_own(names: list[str]) -> None:
    with pytest.raises(cr.PlanError, match="names must be 2 different names"):
        result().posterior(100, names=names)


def test_means_of_draws_are_those_of_the_posterior() -> None:
    """mu has the mean 0.8 and the deviation sqrt(0.2); four errors fail with 1e-4."""
    draws = result().posterior(2000)
    assert (np.abs(draws.mean - [0.8, 0.0]) < 4 * draws.stderr).all()
    assert draws.effective < 2000


def test_a_warning_says_if_many_draws_are_worth_few() -> None:
    with pytest.warns(cr.CroupierWarning, match="100000 draws from the posterior are worth only"):
        result().posterior(100_000)


def test_a_result_from_a_file_has_no_draws_and_says_what_to_do() -> None:
    again = type(result()).from_dict(result().to_dict())
    with pytest.raises(cr.PlanError, match=r"was read from a file.*call evidence again"):
        again.posterior(10)


def test_without_arviz_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(cr.MissingExtraError, match=r"InferenceData needs arviz: pip install"):
        result().posterior(100).to_inferencedata()
