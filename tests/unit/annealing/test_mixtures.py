"""Mixtures over modes: densities, draws, and moves that leave a distribution unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from croupier.annealing.mixtures import Mixture, MixtureLevel, MixtureMoves, move
from croupier.annealing.slices import Chains

LAW = Mixture(
    np.array([0.3, 0.7]),
    np.array([[-3.0, 0.0], [3.0, 1.0]]),
    np.array([[[0.5, 0.0], [0.2, 0.4]], [[1.0, 0.0], [0.0, 0.3]]]),
    5.0,
)


def test_the_density_is_that_of_scipys_students() -> None:
    points = np.random.default_rng(7).normal(0, 3, (50, 2))
    parts = [
        share * st.multivariate_t.pdf(points, mean, root @ root.T, df=5)
        for share, mean, root in zip(LAW.shares, LAW.means, LAW.roots, strict=True)
    ]
    assert LAW.log_density(points) == pytest.approx(np.log(sum(parts)), abs=1e-9)


def test_separate_tails_are_a_students_distribution_for_each_coordinate() -> None:
    law = replace(LAW, shares=np.ones(1), means=LAW.means[:1], roots=LAW.roots[:1], separate=True)
    points = np.random.default_rng(7).normal(0, 3, (50, 2))
    z = np.linalg.solve(LAW.roots[0], (points - LAW.means[0]).T)
    exact = st.t.logpdf(z, 5).sum(axis=0) - np.log(0.5 * 0.4)
    assert law.log_density(points) == pytest.approx(exact, abs=1e-9)
    drawn = np.linalg.solve(LAW.roots[0], (law.sample(np.random.default_rng(7), 4000) - [-3, 0]).T)
    for each in drawn:
        assert st.kstest(each, st.t(5).cdf).pvalue > 1e-3
    assert abs(st.spearmanr(*np.abs(drawn)).statistic) < 4 / 4000**0.5  # not far out together


def test_draws_have_the_shares_and_means_of_the_mixture() -> None:
    points = LAW.sample(np.random.default_rng(7), 40_000)
    centre = 0.3 * LAW.means[0] + 0.7 * LAW.means[1]
    assert points.mean(axis=0) == pytest.approx(centre, abs=4 * 3.1 / 200)
    # Student's tails cross the middle a little, by the same share as scipy's.
    crossing = 0.3 * st.t.sf(3 / 0.5, 5) + 0.7 * st.t.sf(-3 / 1.0, 5)
    assert (points[:, 0] > 0).mean() == pytest.approx(crossing, abs=4 * 0.46 / 200)


@pytest.mark.parametrize(("jump", "separate"), [(False, False), (True, False), (False, True)])
def test_moves_leave_the_distribution_as_it_is(jump: bool, separate: bool) -> None:
    """The target is not the mixture: two normals of other widths, 30 and 70 %, far apart."""
    rng = np.random.default_rng(7)
    m = 20_000
    right = rng.random(m) < 0.7
    points = np.where(right[:, None], [3.0, 1.0], [-3.0, 0.0]) + 0.6 * rng.standard_normal((m, 2))

    def evaluate(x: np.ndarray, owner: Any) -> tuple[np.ndarray, np.ndarray]:
        parts = [
            np.log(w) - 0.5 * (((x - c) / 0.6) ** 2).sum(axis=1)
            for w, c in ((0.3, [-3.0, 0.0]), (0.7, [3.0, 1.0]))
        ]
        return np.logaddexp(*parts), np.zeros(len(x))

    chains = Chains(points.copy(), *evaluate(points, None))
    level = MixtureLevel(1.0, replace(LAW, separate=separate), np.array([0.5, 0.8]))
    moved = np.zeros(m, bool)
    for _ in range(5):
        moved |= move(rng, chains, 1.0, evaluate, level, jump=jump)[1]
    assert moved.mean() > 0.5
    now = chains.points[:, 0] > 0
    assert now.mean() == pytest.approx(0.7, abs=4 * (0.21 / m) ** 0.5)
    for side, centre in ((now, [3.0, 1.0]), (~now, [-3.0, 0.0])):
        away = chains.points[side] - centre
        assert away.mean(axis=0) == pytest.approx([0, 0], abs=4 * 0.6 / side.sum() ** 0.5)
        assert away.std(axis=0) == pytest.approx([0.6, 0.6], abs=4 * 0.6 / (2 * side.sum()) ** 0.5)
    if not jump:
        assert (now != right).mean() < 0.01  # moves within a mode nearly always stay there
    else:
        assert (now != right).mean() > 0.05


def test_a_sweep_evaluates_twice_where_there_are_several_modes() -> None:
    one = MixtureLevel(0.5, Mixture(np.ones(1), LAW.means[:1], LAW.roots[:1], 5.0), np.array([1.0]))
    assert MixtureMoves((one,)).evaluations == 1
    assert MixtureMoves((one, MixtureLevel(1.0, LAW, np.ones(2)))).evaluations == 1.5
