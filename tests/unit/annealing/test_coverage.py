"""Coverage: the share of a posterior that draws of a law do not show, from places of chains."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing.coverage import Coverage, Places, coverage_doubts
from croupier.annealing.mixtures import Mixture
from croupier.annealing.model_evidence import _leading
from croupier.annealing.models import Model, model_of
from croupier.annealing.polishing import Walkers
from croupier.annealing.slices import Chains


def normals(far: float) -> tuple[Model, Places]:
    """Return two normal modes in a wide box, the second with a share `far`, and exact places."""
    places = (0.0, 12.0)

    def log_likelihood(x: np.ndarray) -> np.ndarray:
        one, other = (st.norm.logpdf(x, place, 1).sum(axis=1) for place in places)
        return np.logaddexp(np.log1p(-far) + one, np.log(far) + other)

    model = model_of(log_likelihood, [st.norm(0, 100)] * 2)
    rng = np.random.default_rng(7)
    points = rng.standard_normal((5000, 2)) + 12 * (rng.random((5000, 1)) < far)
    chains = Chains(points, *model.evaluate(points))
    return model, Places(chains, np.full(5000, 1 / 5000), np.arange(5000))


def law_at(*places: float) -> Mixture:
    k = len(places)
    means = np.repeat(np.array(places)[:, None], 2, axis=1)
    return Mixture(np.full(k, 1 / k), means, np.repeat(1.1 * np.eye(2)[None], k, axis=0), 20.0)


def test_a_law_that_lacks_a_mode_lacks_its_share() -> None:
    model, places = normals(0.02)
    lacking = Coverage.of(model, law_at(0), places).lacking(10_000)
    assert lacking == pytest.approx(0.02, abs=0.006)
    assert Coverage.of(model, law_at(0, 12), places).lacking(10_000) < 0.002


def test_enough_draws_show_everything_since_some_are_from_the_prior() -> None:
    model, places = normals(0.02)
    assert Coverage.of(model, law_at(0), places).lacking(1e8) == 0


def test_two_chains_in_a_far_place_say_nothing() -> None:
    """A chain may stay long in a place that has next to no share of the posterior."""
    ratios, shares = np.array([1e9, 1e9, 1e9, 1.0]), np.array([0.02, 0.01, 0.01, 0.96])
    assert Coverage(ratios, shares, np.array([0, 1, 1, 2])).lacking(1e5) == 0
    assert Coverage(ratios, shares, np.array([0, 1, 3, 2])).lacking(1e5) == pytest.approx(0.04)


def test_the_cost_of_a_law_is_that_of_its_squared_error() -> None:
    """n u^2 for what is not shown, and the relative variance of the rest."""
    shown = Coverage(np.array([3.0, 1.0]), np.array([0.25, 0.75]), np.arange(2))
    assert shown.cost(1e5) == pytest.approx(0.5)
    hidden = Coverage(np.array([1e9, 3.0, 1.0]), np.array([0.01, 0.25, 0.74]), np.arange(3))
    assert hidden.cost(1e5) == pytest.approx(10 + 0.49)


def test_a_warning_states_what_is_missing_only_if_it_is_more_than_the_claimed_error() -> None:
    lacks = Coverage(np.full(3, 1e9), np.full(3, 0.01), np.arange(3))
    (text,) = coverage_doubts(lacks, 1e5, 0.01)
    assert "lacks about 3.00% of the posterior: 100,000 of its draws" in text
    assert coverage_doubts(lacks, 1e5, 0.02) == []
    assert coverage_doubts(None, 1e5, 0.001) == []


def test_what_the_law_lacks_counts_only_if_the_result_rests_on_it() -> None:
    def result(weight: float) -> Any:
        arm = SimpleNamespace(name="fitted", draws=1000, weight=weight)
        return SimpleNamespace(arms=[arm], log_stderr=0.01)

    assert _leading(result(0.9)) == (1000.0, 0.01)
    assert _leading(result(0.1)) == (1000.0, np.inf)
    assert _leading(SimpleNamespace(arms=[], log_stderr=0.01)) == (0.0, np.inf)  # type: ignore[arg-type]


def test_points_at_the_edge_of_a_law_are_split_and_keep_their_shares() -> None:
    model, places = normals(0.01)
    walkers = Walkers(places.chains, places.shares)
    split = walkers.split(model, np.random.default_rng(7), law_at(0))
    far = [each.chains.points[:, 0] > 6 for each in (walkers, split)]
    assert far[1].sum() > 8 * far[0].sum()
    shares = [each.shares[there].sum() for each, there in zip((walkers, split), far, strict=True)]
    assert shares[1] == pytest.approx(shares[0], rel=0.05)
    assert len(np.unique(split.owners[far[1]])) == far[0].sum()
