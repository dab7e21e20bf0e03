"""Screening: one look at many points of the prior finds modes that few of them lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st

from croupier.annealing.climbs import Known
from croupier.annealing.mixtures import Mixture
from croupier.annealing.models import Model, model_of
from croupier.annealing.screening import screen
from croupier.annealing.slices import Chains


def narrow_and_wide(d: int, narrow: float, wide: float) -> Model:
    """Return a narrow mode at 4 and a wide one at -4, with equal weights, in a box."""

    def log_likelihood(x: np.ndarray) -> Any:
        parts = [st.norm.logpdf(x, m, s).sum(axis=1) for m, s in ((-4, wide), (4, narrow))]
        return np.logaddexp(*parts) - np.log(2)

    return model_of(log_likelihood, [st.uniform(-10, 20)] * d).charted()


def knows_the_wide_one(model: Model, wide: float) -> Known:
    assert model.chart is not None
    d = model.dimensions
    place = model.chart.to(np.full((1, d), -4.0))
    root = np.diag(wide / (20 * st.norm.pdf(place[0])))[None]
    law = Mixture(np.ones(1), place, root, 8.0)
    return Known(law, Chains(place, *model.evaluate(place)), -d * np.log(20.0) - np.log(2))


def test_a_mode_that_1_of_20_000_points_lead_to_is_found_by_looks() -> None:
    """Widths .125 and .6 in 8 dimensions; 500 starts would find it in 1 of 40 runs."""
    model = narrow_and_wide(8, 0.125, 0.6)
    known = knows_the_wide_one(model, 0.6)
    found = screen(model, np.random.default_rng(7), known, 150_000, 1e6)
    assert len(known.peaks) == 1
    assert model.seen(known.peaks[0].mean[None]).min() > 3.8
    assert found.looks > 0.99 * 150_000
    assert 2 <= found.shown[1] <= 20
    assert known.count < 200_000


def test_a_model_whose_modes_are_all_known_has_no_new_ones() -> None:
    model = model_of(lambda x: st.norm.logpdf(x, -4, 0.6).sum(axis=1), [st.uniform(-10, 20)] * 6)
    model = model.charted()
    known = knows_the_wide_one(model, 0.6)
    known.log_z += np.log(2)
    found = screen(model, np.random.default_rng(7), known, 40_000, 1e6)
    assert known.peaks == []
    assert found.shown[0] > 0.9 * 40_000


def test_a_narrow_ridge_is_found_where_climbs_with_equal_steps_end_early() -> None:
    """The unknown mode is 350 times as wide in one direction as in another: climbs miss it."""
    d = 6
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    widths = np.array([0.002, 0.2, 0.35, 0.4, 0.6, 0.7])
    ridge = st.multivariate_normal(np.full(d, 4.0), (turn * widths**2) @ turn.T)

    def log_likelihood(x: np.ndarray) -> Any:
        return np.logaddexp(st.norm.logpdf(x, -4, 0.6).sum(axis=1), ridge.logpdf(x)) - np.log(2)

    model = model_of(log_likelihood, [st.uniform(-10, 20)] * d).charted()
    known = knows_the_wide_one(model, 0.6)
    screen(model, np.random.default_rng(7), known, 30_000, 1e6)
    at = model.seen(np.array([peak.top.points[0] for peak in known.peaks]))
    assert (np.abs(at - 4).max(axis=1) < 1.5).any()


def test_looks_count_only_where_known_modes_explain_them() -> None:
    """A cosine in 2 dimensions has 16 peaks, and one parabola explains few points."""
    model = model_of(lambda x: 50 * np.cos(x).sum(axis=1), [st.uniform(-12.5, 25)] * 2).charted()
    assert model.chart is not None
    place = model.chart.to(np.zeros((1, 2)))
    law = Mixture(np.ones(1), place, (0.01 * np.eye(2))[None], 8.0)
    known = Known(law, Chains(place, *model.evaluate(place)), 100.0)
    found = screen(model, np.random.default_rng(7), known, 10_000, 0.0)
    assert found.looks < 0.5 * 10_000


def test_looks_that_the_data_forbid_show_nothing() -> None:
    def log_likelihood(x: np.ndarray) -> Any:
        inside = np.abs(x + 4).max(axis=1) < 3
        return np.where(inside, st.norm.logpdf(x, -4, 0.6).sum(axis=1), -np.inf)

    model = model_of(log_likelihood, [st.uniform(-10, 20)] * 2).charted()
    known = knows_the_wide_one(model, 0.6)
    found = screen(model, np.random.default_rng(7), known, 20_000, 1e6)
    assert found.looks < 0.2 * 20_000
    assert known.peaks == []


def test_a_mode_that_is_hard_to_find_asks_for_further_looks() -> None:
    """The narrow mode is known, and 40 000 looks show it less than 100 times."""
    model = narrow_and_wide(8, 0.125, 0.6)
    known = knows_the_wide_one(model, 0.6)
    assert model.chart is not None
    place = model.chart.to(np.full((1, 8), 4.0))
    root = np.diag(0.125 / (20 * st.norm.pdf(place[0])))[None]
    both = Mixture(
        np.full(2, 0.5),
        np.concatenate([known.law.means, place]),
        np.concatenate([known.law.roots, root]),
        8.0,
    )
    tops = Chains.joined([known.tops, Chains(place, *model.evaluate(place))])
    known = Known(both, tops, -8 * np.log(20.0))
    found = screen(model, np.random.default_rng(7), known, 40_000, 1e6, further=30_000)
    assert found.looks > 0.99 * 70_000
    assert known.count >= 70_000


def test_modes_that_are_easy_to_find_ask_for_no_further_looks() -> None:
    model = narrow_and_wide(2, 0.4, 0.6)
    known = knows_the_wide_one(model, 0.6)
    found = screen(model, np.random.default_rng(7), known, 40_000, 1e6, further=30_000)
    assert len(known.peaks) == 1
    assert found.looks <= 40_000
