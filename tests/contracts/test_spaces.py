"""What one door takes as the space of its randomness, all doors take, or refuse with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import stats

import croupier as cr

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def in_the_cube(x: Any) -> Any:
    return np.where(((x >= 0) & (x <= 1)).all(axis=1), 0.0, -np.inf)


#: The mean of x0 + x1 under every form is 1.
CUBE: Final = stats.uniform(0, 1)
FORMS: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "bounds": ([(0, 1), (0, 1)], {}),
    "distributions": ([stats.gamma(2, scale=0.25), stats.beta(2, 2)], {}),
    "normals": ([stats.norm(0.5, 0.2)] * 2, {}),
    "newer distributions": ([stats.Normal(mu=0.5, sigma=0.2)] * 2, {}),
    "bounds and distributions": ([(0, 1), stats.norm(0.5, 0.2)], {}),
    "multivariate normal": (
        stats.multivariate_normal([0.4, 0.6], [[0.04, 0.01], [0.01, 0.04]]),
        {},
    ),
    "copula": (cr.rare.Nataf([CUBE, stats.expon(scale=0.5)], [[1, 0.5], [0.5, 1]]), {}),
    "transform of normal numbers": ((2, lambda z: 0.5 + 0.1 * z), {}),
    "transform of the cube": ((lambda u: 1 - u, None), {"dimension": 2}),
    "parameters in arrays": (stats.norm([0.5, 0.5], [0.2, 0.1]), {}),
    "a vector without an inverse": (stats.multivariate_t([0.5, 0.5], 0.01 * np.eye(2), df=9), {}),
    "sample and density": (
        (lambda rng, n: rng.random((n, 2)), in_the_cube),
        {},
    ),
}


def total(x: Any) -> Any:
    return x.sum(axis=1)


def integrated(over: Any, more: dict[str, Any]) -> Any:
    return cr.integrate(total, over, draws=4096, rng=7, **more)


def failing(over: Any, more: dict[str, Any]) -> Any:
    """Return 2 P(x0 + x1 < its median, 1, but for skewed ones): only that it runs counts."""
    return cr.probability(lambda x: total(x) - 1, over, draws=400, rng=7, **more)


def stratified(over: Any, more: dict[str, Any]) -> Any:
    if more:
        raise cr.PlanError("stratify has no dimension=: give distributions")
    return cr.stratify(total, over=over, splits="adaptive", draws=4000, rng=7)


def weighted(over: Any, more: dict[str, Any]) -> Any:
    if more:
        raise cr.PlanError("an arm of importance sampling has no dimension=: give distributions")
    arm = cr.arms.importance(total, over, [(0, 1), (0, 1)], defensive=0.5)
    return cr.estimate([arm], draws=4000, rng=7)


def tilted(x: Any) -> Any:
    """Return log f for the f of the other doors; its mean under every form is that of x0 + x1."""
    return np.log(np.maximum(total(x), 1e-300))


def known(over: Any, more: dict[str, Any]) -> Any:
    """Return E[max(x0 + x1, 0)] as an evidence."""
    if "dimension" in more:
        form = {"prior_transform": over[0], "dimensions": more["dimension"]}
        return cr.evidence(tilted, draws=4000, rng=7, **form)
    return cr.evidence(tilted, over, draws=4000, rng=7)


def annealed(over: Any, more: dict[str, Any]) -> Any:
    if more:
        raise cr.PlanError("an arm of annealing has no dimension=: give distributions")
    arm = cr.annealing.ais(tilted, over, temperatures=5)
    return cr.estimate([arm], draws=1000, rng=7, log=True)


DOORS: Final[dict[str, Callable[..., Any]]] = {
    "integrate": integrated, "probability": failing, "stratify": stratified, "importance": weighted,
    "evidence": known, "ais": annealed,
}  # fmt: skip

#: What a door refuses, with a part of the reason.
REFUSED: Final = {
    ("a vector without an inverse", "integrate"): "no map from the cube",
    ("a vector without an inverse", "probability"): "no map from the cube",
    ("a vector without an inverse", "stratify"): "no map from the cube",
    ("sample and density", "integrate"): "no map from the cube",
    ("sample and density", "probability"): "no map from the cube",
    ("sample and density", "stratify"): "no map from the cube",
    ("transform of the cube", "stratify"): "dimension",
    ("transform of the cube", "importance"): "dimension",
    ("transform of the cube", "ais"): "dimension",
    ("transform of normal numbers", "importance"): "no density",
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", FORMS)
def test_every_door_takes_every_form_or_says_why_not(form: str, door: str) -> None:
    over, more = FORMS[form]
    if reason := REFUSED.get((form, door)):
        with pytest.raises(cr.PlanError, match=reason):
            DOORS[door](over, more)
        return
    result = DOORS[door](over, more)
    if door == "probability":
        assert 0.05 < result.value < 0.95
    else:
        assert abs(result.value - 1) < 5 * max(result.stderr, 1e-9)
