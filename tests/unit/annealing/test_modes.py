"""Modes: groups of points, climbs to narrow peaks, and what the searches say of themselves."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.basins import sort_starts
from croupier.annealing.climbs import climb
from croupier.annealing.clusters import fit_groups, fit_mixture
from croupier.annealing.fitted import FittedModes
from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import model_of
from croupier.annealing.modes import LEAST, Modes, Seen, doubts, searched, seen_by
from croupier.annealing.peak_search import Climbed, with_peaks
from croupier.annealing.pilots import explore
from croupier.annealing.polishing import Walkers, polished
from croupier.annealing.search import search
from croupier.annealing.slices import Chains


def modes_at(*modes: tuple[float, float, float]) -> Any:
    """Return a log-likelihood: normal modes (weight, place, width), equal in all coordinates."""

    def log_likelihood(points: np.ndarray) -> Any:
        parts = [
            np.log(weight) + st.norm.logpdf(points, place, width).sum(axis=1)
            for weight, place, width in modes
        ]
        return np.logaddexp.reduce(parts)

    return log_likelihood


def box(d: int) -> list[Any]:
    return [st.uniform(-10, 20)] * d


def test_a_small_group_far_away_is_a_component_of_its_own() -> None:
    rng = np.random.default_rng(7)
    points = np.concatenate([rng.normal(0, 1, (985, 4)), rng.normal(9, 0.2, (15, 4))])
    law = fit_mixture(points, np.full(1000, 1e-3), np.ones(4), 5.0)
    near = np.abs(law.means - 9).max(axis=1) < 0.3
    assert near.sum() == 1
    assert law.shares[near] == pytest.approx(0.015, abs=1e-3)


def test_one_normal_cloud_is_one_component() -> None:
    points = np.random.default_rng(7).normal(0, 1, (1000, 4))
    assert len(fit_mixture(points, np.full(1000, 1e-3), np.ones(4), 5.0).shares) == 1


def test_a_gap_in_one_of_many_coordinates_parts_two_modes() -> None:
    """In 30 dimensions a criterion of information joined them: a covariance has 465 numbers."""
    rng = np.random.default_rng(7)
    points = rng.normal(0, 1, (900, 30))
    points[:, 4] += np.where(rng.random(900) < 0.3, 12.0, 0.0)
    law = fit_mixture(points, np.full(900, 1 / 900), np.ones(30), 5.0)
    assert len(law.shares) == 2
    assert law.shares.min() == pytest.approx(0.3, abs=0.06)


def test_few_points_show_gaps_that_their_covariances_cannot() -> None:
    """Four modes in 30 dimensions, 90 points each: half of them are too few for a covariance."""
    rng = np.random.default_rng(7)
    points = rng.normal(0, 1, (360, 30))
    points[:, :2] += 6.0 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])[np.arange(360) % 4]
    law = fit_mixture(points, np.full(360, 1 / 360), np.ones(30), 5.0)
    assert law.shares == pytest.approx(np.full(4, 0.25))
    one = fit_mixture(points[::4], np.full(90, 1 / 90), np.ones(30), 5.0)
    assert len(one.shares) == 1


def test_a_skewed_cloud_in_many_dimensions_is_one_component() -> None:
    points = np.log(np.random.default_rng(7).standard_exponential((2000, 20)))
    assert len(fit_mixture(points, np.full(2000, 5e-4), np.ones(20), 5.0).shares) == 1


def test_a_polished_law_has_the_tails_of_each_coordinate() -> None:
    """Logs of exponential draws in 12 dimensions, from points that are too narrow by half."""
    model = model_of(lambda x: (x - np.exp(x)).sum(axis=1), [st.uniform(-20, 30)] * 12).charted()
    rng = np.random.default_rng(7)
    chart = model.chart
    assert chart is not None
    start = chart.to(-0.6 + 0.6 * rng.standard_normal((600, 12)))
    walkers = Walkers(Chains(start, *model.evaluate(start)), np.full(600, 1 / 600))
    law = fit_mixture(start, walkers.shares, model.spread, 8.0)
    excess, law = polished(model, rng, law, walkers)[:2]
    assert law.separate
    assert excess < 5
    logs = FittedModes(model, law).weighted(rng, 20_000)[1]
    exact = -12 * np.log(30)
    assert np.log(np.exp(logs - exact).mean()) == pytest.approx(0, abs=4 * (5 / 20_000) ** 0.5)


def test_a_likelihood_that_falls_to_minus_1e17_has_many_levels() -> None:
    model = model_of(lambda x: -1e17 * (x**2).sum(axis=1), [st.uniform(-1, 2)])
    pilot = explore(model.charted(), np.random.default_rng(7))
    assert pilot is not None
    assert pilot.levels[0].beta < 1e-14  # it stopped at 1e-12, with one point that was left
    assert len(pilot.levels) > 10


def test_a_curved_cloud_is_several_components() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(0, 1, 2000)
    points = np.column_stack([x, x**2 + rng.normal(0, 0.1, 2000)])
    assert len(fit_mixture(points, np.full(2000, 5e-4), np.ones(2), 5.0).shares) > 2


def test_a_polished_law_has_few_components_if_they_fit() -> None:
    """A mode in a corner: a criterion of information splits it, but one component fits as well."""
    model = model_of(lambda x: -50 * x.sum(axis=1), [st.uniform(0, 1)] * 3).charted()
    rng = np.random.default_rng(7)
    assert model.chart is not None
    start = model.chart.to(rng.exponential(0.02, (4000, 3)))
    walkers = Walkers(Chains(start, *model.evaluate(start)), np.full(4000, 1 / 4000))
    many = fit_mixture(start, walkers.shares, model.spread, 8.0)
    assert len(many.shares) > 1
    excess, law = polished(model, rng, many, walkers)[:2]
    assert len(law.shares) == 1
    assert excess < 0.3


def test_a_polished_law_has_many_components_if_one_does_not_fit() -> None:
    """A ring: the law with one component has a relative variance of 2."""
    model = model_of(
        lambda x: -0.5 * ((np.hypot(x[:, 0], x[:, 1]) - 3) / 0.2) ** 2, [st.uniform(-5, 10)] * 2
    ).charted()
    rng = np.random.default_rng(7)
    assert model.chart is not None
    angle, radius = rng.uniform(0, 2 * np.pi, 1000), rng.normal(3, 0.2, 1000)
    start = model.chart.to(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    walkers = Walkers(Chains(start, *model.evaluate(start)), np.full(1000, 1e-3))
    one = fit_groups(start, walkers.shares, model.spread, 8.0)
    excess, law = polished(model, rng, one, walkers)[:2]
    assert len(law.shares) > 5
    assert excess < 1


def test_a_search_keeps_a_mode_that_has_little_mass_at_first() -> None:
    """Widths .6 and .4 in 8 dimensions: at beta = .1 the narrow one holds 6 %."""
    model = model_of(modes_at((0.3, -5, 0.6), (0.7, 5, 0.4)), box(8)).charted()
    found = search(model, np.random.default_rng(7))
    assert found is not None
    assert len(found.levels[-1].law.shares) == 2
    assert found.log_z == pytest.approx(-8 * np.log(20), abs=0.5)


@pytest.mark.parametrize("most", [np.inf, 150_000])
def test_climbs_find_a_peak_that_the_law_does_not_know(most: float) -> None:
    """Widths 1 and .3 in 8 dimensions: tempering never sees the narrow one.

    Where evaluations are few, the starts must leave some for the climbs.
    """
    model = model_of(modes_at((0.3, -5, 1.0), (0.7, 5, 0.3)), box(8)).charted()
    rng = np.random.default_rng(7)
    wide = model.chart
    assert wide is not None
    place = wide.to(np.full((1, 8), -5.0))
    blind = Mixture(np.ones(1), place, np.diag(np.full(8, 0.16))[None], 8.0)
    tops = Chains(place, *model.evaluate(place))
    found = with_peaks(model, rng, blind, tops, -8 * np.log(20) + np.log(0.3), most)
    assert found.evaluations <= most
    at = wide.back(np.array([peak.mean for peak in found.peaks]))
    assert (np.abs(at - 5).max(axis=1) < 0.5).any()
    assert len(found.law.shares) == 1 + len(found.peaks)
    assert len(found.arrivals) == len(found.shown) == len(found.law.shares)
    assert found.arrivals.sum() <= found.starts
    assert 10 < found.shown[1:].sum() < found.looks / 10  # the narrow mode has a small basin


def test_starts_are_sorted_by_the_peak_that_they_lead_to() -> None:
    """Of two equal modes one is known: half of the starts are strays, and near the other."""
    model = model_of(modes_at((0.5, -5, 0.4), (0.5, 5, 0.4)), box(6)).charted()
    assert model.chart is not None
    place = model.chart.to(np.full((1, 6), -5.0))
    tops = Chains(place, *model.evaluate(place))
    found = sort_starts(model, np.random.default_rng(7), tops, 2000)
    strays = model.chart.back(found.strays.points)
    total = found.arrivals[0] + len(strays)
    assert len(strays) == pytest.approx(total / 2, abs=4 * np.sqrt(total) / 2)
    assert (strays.mean(axis=1) > 0).mean() > 0.95


def test_climbs_go_up() -> None:
    model = model_of(lambda x: -50 * (x**2).sum(axis=1), [st.norm(0, 1)] * 5)
    rng = np.random.default_rng(7)
    points = model.start(rng, 300)
    ends = Chains(points, *model.evaluate(points))
    assert climb(model, rng, ends) > len(points)
    assert np.quantile(np.abs(ends.points), 0.9) < 0.2  # two standard deviations


def test_a_budget_that_is_too_small_for_a_search_says_so() -> None:
    model = model_of(modes_at((1.0, 0, 0.1)), box(4)).charted()
    modes = searched(model, 7, 60 * (LEAST - 1))
    assert modes is not None
    assert not modes.levels
    assert "too small to search for modes" in doubts(modes)[0]
    assert modes.report() == {"searches": 0}


def test_searches_that_disagree_warn_with_both_numbers() -> None:
    law = Mixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)), 8.0)
    level: Any = object()
    apart = Modes((level,), law, 5.0, 9.0, (-25.16, -23.97), 100, 1000)
    assert "-25.16 by the first and -23.97 by the second" in doubts(apart)[0]
    assert doubts(Modes((level,), law, 0.3, 9.0, (-25.16, -23.97), 100, 1000)) == []
    assert doubts(Modes((level,), law, 5.0, 9.0, (-24.1, -23.97), 100, 1000)) == []
    assert doubts(apart, high_end=-28.0) != []
    assert doubts(apart, high_end=-25.0) == []  # a search may say so much by chance


def test_modes_that_were_found_by_chance_warn_if_they_hold_much() -> None:
    law = Mixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)), 8.0)
    level: Any = object()
    found = Modes((level,), law, 0.3, 9.0, (-24.0, -24.0), 100, 1000)
    much, little = (Seen(3, 0, 1, 3.0, 500, share, 20_000, 20.4) for share in (0.13, 0.005))
    said = doubts(replace(found, seen=much))[0]
    assert "13% of the posterior were found by chance: fewer than 20 of 20,000 points" in said
    assert doubts(replace(found, seen=little)) == []


def test_modes_of_two_searches_say_how_many_there_are() -> None:
    """Chapman: 4 and 4 modes, 3 of them the same, are 5 of about 5.25."""
    d, places = 2, np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0], [18.0, 0.0]])
    law = Mixture(np.full(5, 0.2), places, np.array([np.eye(d)] * 5), 8.0)
    halves: Any = [SimpleNamespace(chains=SimpleNamespace(points=places[rows]))
                   for rows in ([0, 1, 2, 3], [0, 1, 2, 4])]  # fmt: skip
    tops: Any = SimpleNamespace(points=places)
    arrivals, shown = np.array([900, 50, 40, 3, 6]), np.array([9000, 0, 0, 3, 60])
    climbed = Climbed(law, [], arrivals, 999, shown, 9063, 0)
    seen = seen_by(law, halves, tops, climbed)
    assert (seen.by_all, seen.by_some) == (3, 2)
    assert seen.expected == pytest.approx(5.25)
    # Three starts, three looks, and one of the searches; the last has 60 looks.
    assert seen.rare == pytest.approx(0.2)
    assert seen.report()["unexplored_looks"] == pytest.approx(3 / 9063)
    near = replace(law, means=np.concatenate([places[:3], [[9.0, 2.5]], places[4:]]))
    assert seen_by(near, halves, tops, climbed).rare == 0  # a part of a mode, and not a mode


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_the_result_says_what_was_searched_and_comes_back_from_json() -> None:
    likelihood = modes_at((0.4, -5, 0.5), (0.6, 5, 0.3))
    result = cr.evidence(likelihood, box(3), draws=150_000, rng=7)
    pilot = result.details["pilot"]
    assert pilot["searches"] == 2
    assert pilot["modes"] >= 2
    assert 0 < pilot["unexplored"] < 3e-3
    back = cr.Result.from_dict(json.loads(result.to_json()))
    assert back.details["pilot"]["modes"] == pilot["modes"]
    same = cr.evidence(likelihood, box(3), draws=150_000, rng=7)
    assert same.log_value == result.log_value
    other = cr.evidence(likelihood, box(3), draws=150_000, rng=8)
    assert other.details["pilot"]["log_z"] != pilot["log_z"]


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_a_budget_of_seconds_includes_the_pilot() -> None:
    """It took 76 s where 20 were given; here 2, with a likelihood of a millisecond a point."""

    def slow(point: np.ndarray) -> float:
        time.sleep(1e-3)
        return float(-0.5 * ((point - 2) ** 2).sum() / 0.01)

    began = time.perf_counter()
    result = cr.evidence(slow, box(3), seconds=2, rng=7, vectorised=False)
    # Generous: a busy machine sleeps longer. Without a limit, the pilot alone took 30 s.
    assert time.perf_counter() - began < 8
    assert result.details["pilot"]["seconds"] < result.seconds
