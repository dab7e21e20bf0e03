"""Langevin moves along a gradient: exact, better than random walks, wrong gradients refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import croupier as cr
from croupier.annealing.annealed import ais
from croupier.annealing.gradients import Langevin
from croupier.annealing.model_evidence import evidence
from croupier.annealing.models import model_of

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

DATA = np.linspace(-1, 1, 8)


def log_likelihood(x: np.ndarray) -> Any:
    return -0.5 * (((x - DATA) / 0.3) ** 2).sum(axis=-1)


def gradient(x: np.ndarray) -> Any:
    return (DATA - x) / 0.09


PRIOR = [st.norm(0, 1)] * 8
TRUTH = float((st.norm.logpdf(DATA, 0, np.hypot(1, 0.3)) + np.log(0.3 * np.sqrt(2 * np.pi))).sum())


@pytest.mark.parametrize(
    "prior",
    [PRIOR, st.multivariate_normal(np.zeros(8), np.eye(8) + 0.3), [st.uniform(-2, 4)] * 8,
     [st.logistic(0, 1)] * 8],
)  # fmt: skip
def test_chains_along_a_gradient_are_unbiased(prior: Any) -> None:
    arms = [
        ais(log_likelihood, prior, kernel="langevin", gradient=gradient, temperatures=n)
        for n in (8, 25)
    ]
    other = cr.evidence(log_likelihood, prior, draws=100_000, rtol=0.02, rng=7)
    for arm in arms:
        assert isinstance(arm.kernel, Langevin)  # type: ignore[union-attr]
        w = np.exp(arm(np.random.default_rng(7), 4000) - other.log_value)
        error = np.hypot(w.std() / np.sqrt(4000), other.log_stderr)
        assert abs(w.mean() - 1) < 4 * error


def test_the_moves_leave_the_density_unchanged() -> None:
    """Chains that start in the posterior stay in it: mean and spread after 30 moves."""
    from croupier.annealing.slices import Chains

    arm = ais(log_likelihood, PRIOR, temperatures=5, kernel="langevin", gradient=gradient)
    model, rng = model_of(log_likelihood, PRIOR), np.random.default_rng(7)
    mean, spread = DATA / 1.09, np.sqrt(0.09 / 1.09)
    start = rng.normal(mean, spread, (20_000, 8))
    chains = Chains(start.copy(), *model.evaluate(start))
    for _ in range(30):
        arm.kernel.sweep(rng, chains, 1.0, lambda points, owner: model.evaluate(points))
    assert np.abs(chains.points.mean(axis=0) - mean).max() < 4.5 * spread / np.sqrt(20_000)
    assert np.abs(chains.points.std(axis=0) / spread - 1).max() < 4.5 / np.sqrt(40_000)
    assert (chains.points != start).any(axis=1).mean() > 0.99


def test_they_are_better_than_random_walks() -> None:
    spread = {}
    for kernel in ("langevin", "random-walk"):
        given = {"gradient": gradient} if kernel == "langevin" else {}
        arm = ais(log_likelihood, PRIOR, kernel=kernel, temperatures=20, **given)  # type: ignore[arg-type]
        spread[kernel] = arm(np.random.default_rng(7), 3000).std()
    assert spread["langevin"] < 0.7 * spread["random-walk"]


def test_evidence_takes_a_gradient_of_one_point() -> None:
    result = evidence(
        lambda x: float(log_likelihood(x)), PRIOR, draws=3000, rng=7,
        gradient=lambda x: [(DATA[i] - x[i]) / 0.09 for i in range(8)], vectorised=False,
    )  # fmt: skip
    assert abs(result.log_value - TRUTH) < 4 * result.log_stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gradient": None}, "needs gradient="),
        ({"gradient": 3}, "must be a function of points, got 3"),
        (
            {"gradient": lambda x: -gradient(x)},
            r"contradicts log_likelihood: (.|\n)* in coordinate",
        ),
        ({"gradient": lambda x: x.sum(axis=-1)}, r"must return \(chains, 8\)"),
        ({"gradient": lambda x: 1 / 0}, "raised ZeroDivisionError"),
        ({"kernel": "slice"}, "gradient is for kernel='langevin'"),
    ],
)
def test_wrong_gradients_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"kernel": "langevin", "gradient": gradient, "draws": 500, **change}
    with pytest.raises(cr.PlanError, match=message):
        cr.evidence(log_likelihood, PRIOR, temperatures=8, **given)
    given.pop("draws")
    with pytest.raises(cr.PlanError, match=message):
        ais(log_likelihood, PRIOR, **given)
