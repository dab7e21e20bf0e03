"""Density checks: mistakes in a family that its own densities give away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from croupier.importance import Family
from croupier.importance.density_checks import density_warnings


def look(
    laws: dict[str, tuple[object, object]], target: object, each: int = 2000, seed: int = 7
) -> list[str]:
    rng = np.random.default_rng(seed)
    x = np.concatenate([law.rvs(each, random_state=rng) for law, _ in laws.values()])  # type: ignore[attr-defined]
    log_q = np.column_stack([density.logpdf(x) for _, density in laws.values()])  # type: ignore[attr-defined]
    source = np.repeat(np.arange(len(laws)), each)
    return density_warnings(target.logpdf(x), log_q, source, list(laws), normalised=True)  # type: ignore[attr-defined]


def honest(*laws: object) -> dict[str, tuple[object, object]]:
    return {f"q{j}": (law, law) for j, law in enumerate(laws)}


def test_nothing_is_said_of_honest_families() -> None:
    family = honest(stats.norm(0, 1), stats.norm(2, 0.5), stats.t(3), stats.norm(-4, 1))
    for seed in range(100):
        assert look(family, stats.norm(0, 1), seed=seed) == []


def test_a_proposal_whose_points_do_not_follow_its_density_is_named() -> None:
    family = honest(stats.norm(0, 1), stats.norm(1, 1), stats.norm(2, 1))
    family["q1"] = (stats.norm(1.3, 1), stats.norm(1, 1))
    for seed in range(20):
        (found,) = look(family, stats.norm(0, 1), seed=seed)
        assert found.startswith("'q1': its points do not follow its density")


def test_a_density_that_is_not_normalised_is_named() -> None:
    class Twice:
        def logpdf(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(stats.norm.logpdf(x, 1) + np.log(2))

    family = honest(stats.norm(0, 1), stats.norm(1, 1), stats.norm(2, 1))
    family["q1"] = (stats.norm(1, 1), Twice())
    (found,) = look(family, stats.norm(0, 1))
    assert found.startswith("'q1': ")
    assert "not normalised" in found


def test_a_target_that_no_proposal_reaches_is_seen() -> None:
    (found,) = look(honest(stats.uniform(0, 1), stats.uniform(0.5, 1)), stats.uniform(0, 2))
    assert found.startswith("no proposal reaches all of the target: the mean of p/mixture is 0.7")


def test_densities_that_are_all_too_small_are_seen() -> None:
    # A single proposal is its own mixture: only the target, which is normalised, gives it away.
    (found,) = look({"q0": (stats.norm(0.3, 1), stats.norm(0, 2))}, stats.norm(0, 1))
    assert found.startswith("the points do not follow the densities, or a density is not normalis")
    assert "mean of p/mixture must be 1, and is 1.5" in found


def test_zeros_of_the_target_that_no_draw_has_shown_are_no_mistake() -> None:
    for seed in range(100):
        assert look(honest(stats.uniform(0, 1)), stats.uniform(0, 0.99), each=100, seed=seed) == []


def test_a_gap_in_one_proposal_that_another_fills_is_fine() -> None:
    assert look(honest(stats.uniform(0, 1), stats.uniform(0, 2)), stats.uniform(0, 2)) == []


def test_a_proposal_with_a_single_draw_says_nothing() -> None:
    log_q = np.zeros((3, 2))
    assert (
        density_warnings(np.zeros(3), log_q, np.array([0, 0, 1]), ["a", "b"], normalised=True) == []
    )


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_an_integrand_that_was_constant_at_all_points_warns() -> None:
    proposals = {"same": stats.norm(), "left": stats.norm(-1, 1)}

    def survives(x: Any) -> Any:  # the mean is 1 - 3.4e-6, and no draw shows a failure
        return x < 4.5

    result = Family(stats.norm(), proposals, survives).estimate(draws=2_000, rng=7)
    assert result.stderr < 1e-6
    assert [text[:21] for text in result.warnings] == ["f was constant, 1, at"]
    assert "add a proposal that draws it" in result.warnings[0]
    varied = Family(stats.norm(), proposals, lambda x: 2.0 + (x < 1)).estimate(draws=2_000, rng=7)
    assert varied.warnings == ()
