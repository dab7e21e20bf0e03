"""The evidence of plain models, unseen, new and hard ones, with known answers, at several budgets.

A budget counts every evaluation of the likelihood. An answer is missed if it is off by more than
four claimed errors, and not usable if it says that nothing is known about its error.

The evidence is also taken from 4000 draws of a posterior, exact ones where it is known and else
those of 40 random walks of Metropolis; some of these draws have missed a mode.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import scipy.stats as st

import croupier as cr
from benchmarks import evidence_problems as given
from benchmarks import runner
from benchmarks.evidence_problems import MODELS, NEW, PROBLEMS, UNSEEN, Problem
from benchmarks.pages import Table

SETS: Final = {"models": MODELS, "unseen": UNSEEN, "new": NEW, "hard": PROBLEMS}

#: An answer is near if it is off by less than this.
NEAR: Final = 0.1

#: What the quick form plays.
QUICK: Final = ("regression, d = 10", "two modes 1/.3, d = 6", "changepoint")


def measured(name: str, budget: int, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    kind = next(kind for kind, problems in SETS.items() if name in problems)
    log_likelihood, prior, truth = SETS[kind][name]()
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cr.evidence(
            log_likelihood, prior, draws=budget, rng=seed, vectorised=True, progress=False
        )
    low, high = result.log_interval or (math.nan, math.nan)
    return {
        "set": kind,
        "problem": name,
        "budget": budget,
        "seed": seed,
        "error": f"{result.log_value - truth:.4f}",
        "claimed": f"{result.log_stderr:.4f}",
        "covered": int(low <= truth <= high),
        "warned": int(bool(result.warnings)),
        "effective": f"{result.details['search'].get('effective', 0):.0f}",
        "shape": f"{result.details['search'].get('pareto_shape', math.nan):.2f}",
        "prior points": result.details["search"]["prior_points"],
        "climbs": result.details["search"]["climbs"],
        "cpu s": f"{time.process_time() - began:.2f}",
    }


def _wanted(full: bool) -> Iterator[tuple[str, int, int]]:
    for seed, budget in itertools.product(
        range(5 if full else 1), (3000, 10_000, 100_000) if full else (3000,)
    ):
        for problems in SETS.values():
            yield from ((name, budget, seed) for name in problems if full or name in QUICK)


# -- from draws

DRAWS: Final = 4000
BUDGET: Final = 20_000
WALKERS: Final = 40

#: What the quick form plays.
QUICK_DRAWS: Final = ("regression, d = 10", "two modes 1/.3, d = 6, one of them")

Drawn = Callable[[np.random.Generator], Any]


def log_joint_of(problem: Problem) -> Callable[[Any], Any]:
    """Return the log of prior x likelihood; -inf outside of the prior."""
    laws = [law if hasattr(law, "logpdf") else st.uniform(*law) for law in problem.prior]

    def log_joint(x: Any) -> Any:
        total = np.sum([law.logpdf(x[:, k]) for k, law in enumerate(laws)], axis=0)
        inside = total > -np.inf
        total[inside] += problem.log_likelihood(x[inside])
        return total

    return log_joint


def walked(problem: Problem) -> Drawn:
    """Return draws of random walks of Metropolis, whose steps are fitted while they warm up."""
    log_joint = log_joint_of(problem)

    def draw(rng: np.random.Generator) -> Any:
        d = len(problem.prior)
        x = np.column_stack([law.rvs(2000, random_state=rng) for law in problem.prior])
        with np.errstate(all="ignore"):
            heights = log_joint(x)
        rows = np.argsort(-np.nan_to_num(heights, nan=-np.inf))[:WALKERS]
        x, here, steps, kept = x[rows], heights[rows], 60 * d + 600, []
        root = np.cov(x.T).reshape(d, d) + 1e-6 * np.eye(d)
        past: list[Any] = []
        for step in range(2 * steps):
            if step and step <= steps and step % (steps // 5) == 0:
                root = np.cov(np.concatenate(past[-steps // 5 :]).T).reshape(d, d)
            if step % 50 == 0:
                chol = np.linalg.cholesky(root + 1e-12 * np.eye(d))
            new = x + 2.4 / math.sqrt(d) * rng.standard_normal(x.shape) @ chol.T
            with np.errstate(all="ignore"):
                there = log_joint(new)
            moved = np.log(rng.random(WALKERS)) < there - here
            x, here = np.where(moved[:, None], new, x), np.where(moved, there, here)
            past.append(x)
        kept = past[steps :: max(1, steps // (DRAWS // WALKERS))]
        return np.stack(kept[: DRAWS // WALKERS], axis=1)

    return draw


def of_regression(d: int) -> Drawn:
    """Return exact draws of the posterior of `regression(d)`."""

    def draw(rng: np.random.Generator) -> Any:
        own = np.random.default_rng([d, 3])
        design = own.standard_normal((3 * d + 10, d))
        y = design @ own.normal(0, 1, d) + 0.5 * own.standard_normal(3 * d + 10)
        precision = design.T @ design / 0.25 + np.eye(d) / 4
        mean = np.linalg.solve(precision, design.T @ y / 0.25)
        return rng.multivariate_normal(mean, np.linalg.inv(precision), DRAWS)

    return draw


def of_normal(d: int) -> Drawn:
    """Return exact draws of the posterior of `correlated(d)`."""
    covariance = np.full((d, d), 0.999) + 0.001 * np.eye(d)
    precision = np.linalg.inv(covariance) + np.eye(d) / 4
    mean = np.linalg.solve(precision, np.linalg.solve(covariance, np.full(d, 0.5)))
    return lambda rng: rng.multivariate_normal(mean, np.linalg.inv(precision), DRAWS)


def of_modes(places: Any, widths: Any, weights: Any) -> Drawn:
    """Return exact draws of normal modes."""
    places, widths = np.asarray(places, float), np.asarray(widths, float)

    def draw(rng: np.random.Generator) -> Any:
        own = rng.choice(len(widths), DRAWS, p=np.array(weights) / np.sum(weights))
        return places[own] + widths[own, None] * rng.standard_normal((DRAWS, places.shape[1]))

    return draw


def of_two(d: int, wide: float, narrow: float, weights: Any = (0.3, 0.7)) -> Drawn:
    return of_modes([[-5.0] * d, [5.0] * d], [wide, narrow], weights)


def of_banana(d: int, bend: float) -> Drawn:
    def draw(rng: np.random.Generator) -> Any:
        x = rng.standard_normal((DRAWS, d))
        x[:, 0] *= 5
        x[:, 1] -= bend * (x[:, 0] ** 2 - 25)
        return x

    return draw


def of_gammas(shape: Any, rate: Any) -> Drawn:
    return lambda rng: rng.gamma(shape, 1 / np.asarray(rate), (DRAWS, len(np.atleast_1d(shape))))


def of_rates(rng: np.random.Generator) -> Any:
    n = np.arange(5, 41, 3)
    k = np.random.default_rng(32).binomial(n, 0.3)
    return rng.beta(2 + k, 3 + n - k, (DRAWS, 12))


def one_label(rng: np.random.Generator) -> Any:
    points = walked(given.labels(2))(rng).reshape(-1, 4)
    swapped = points[:, [1, 0, 3, 2]]
    return np.where((points[:, 0] < points[:, 1])[:, None], points, swapped)


POSITIVE: Final = (0.0, np.inf)

#: Problems, their draws, bounds, and whether the draws have missed a part of the posterior.
CASES: dict[str, tuple[Callable[[], Problem], Drawn, Any, bool]] = {
    **{
        f"regression, d = {d}": ((lambda d=d: given.regression(d)), of_regression(d), None, False)
        for d in (2, 5, 10, 20, 50)
    },
    **{
        f"correlation .999, d = {d}": (
            (lambda d=d: given.correlated(d)), of_normal(d), None, False,
        )
        for d in (5, 10)
    },
    "12 rates": (given.many_rates, of_rates, [(0, 1)] * 12, False),
    "survival": (given.survival, of_gammas([6, 13], [150, 110]), [POSITIVE] * 2, False),
    "two modes 1/.3, d = 6": (lambda: given.two(6, 1, 0.3), of_two(6, 1, 0.3), None, False),
    "two modes .5/.2, d = 4": (lambda: given.two(4, 0.5, 0.2), of_two(4, 0.5, 0.2), None, False),
    "banana .03, d = 2": (lambda: given.banana(2, 0.03), of_banana(2, 0.03), None, False),
    "banana .03, d = 5": (lambda: given.banana(5, 0.03), of_banana(5, 0.03), None, False),
    "banana .1, d = 10": (lambda: given.banana(10), of_banana(10, 0.1), None, False),
    "logistic, d = 5": (
        lambda: given.binary(5, 50, "logit"), walked(given.binary(5, 50, "logit")), None, False,
    ),
    "logistic, d = 6": (
        lambda: given.binary(6, 80, "logit"), walked(given.binary(6, 80, "logit")), None, False,
    ),
    "scaled effects, d = 12": (
        given.scaled_effects, walked(given.scaled_effects()), None, False,
    ),
    "eight schools": (
        given.eight_schools, walked(given.eight_schools()),
        [(-np.inf, np.inf), POSITIVE, *[(-np.inf, np.inf)] * 8], False,
    ),
    "autoregression": (given.autoregression, walked(given.autoregression()), None, False),
    "unknown spread": (
        given.unknown_spread, walked(given.unknown_spread()), [(-np.inf, np.inf), POSITIVE],
        False,
    ),
    "two modes 1/.3, d = 6, one of them": (
        lambda: given.two(6, 1, 0.3), of_two(6, 1, 0.3, (1, 0)), None, True,
    ),
    "two modes 1/.3, d = 6, the narrow one": (
        lambda: given.two(6, 1, 0.3), of_two(6, 1, 0.3, (0, 1)), None, True,
    ),
    "two modes .5/.2, d = 4, one of them": (
        lambda: given.two(4, 0.5, 0.2), of_two(4, 0.5, 0.2, (1, 0)), None, True,
    ),
    "two labels, one of them": (lambda: given.labels(2), one_label, None, True),
    "two means, one of them": (
        given.two_means,
        lambda rng: np.sort(walked(given.two_means())(rng).reshape(-1, 2), axis=1),
        None, True,
    ),
}  # fmt: skip


def measured_draws(name: str, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    make, drawn, bounds, partial = CASES[name]
    problem = make()
    draws = drawn(np.random.default_rng([seed, 77]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = cr.evidence_from_draws(
            log_joint_of(problem), draws, bounds=bounds, draws=BUDGET, rng=seed, vectorised=True,
            progress=False,
        )  # fmt: skip
    return {
        "posterior": name,
        "seed": seed,
        "partial": int(partial),
        "error": f"{result.log_value - problem.truth:.4f}",
        "claimed": f"{result.log_stderr:.4f}",
        "warned": int(bool(result.warnings)),
        "evaluations": result.draws,
    }


def _wanted_draws(full: bool) -> Iterator[tuple[str, int]]:
    for seed in range(3 if full else 1):
        yield from ((name, seed) for name in CASES if full or name in QUICK_DRAWS)


# -- benchmarks and tables

BENCHMARKS = (
    runner.Benchmark("evidence-models", ("problem", "budget", "seed"), _wanted, measured),
    runner.Benchmark("evidence-draws", ("posterior", "seed"), _wanted_draws, measured_draws),
)


def models() -> Table:
    """Return how many answers are right at each budget, for each set of problems."""
    groups: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in runner.read("evidence-models"):
        groups.setdefault((row["set"], int(row["budget"])), []).append(row)
    rows = []
    for (kind, budget), runs in sorted(groups.items()):
        known = [row for row in runs if row["claimed"] not in ("nan", "inf")]
        missed = [row for row in known if abs(float(row["error"])) > 4 * float(row["claimed"])]
        near = sum(abs(float(row["error"])) < NEAR for row in known)
        silent = sum(row["warned"] == "0" for row in missed)
        false = sum(row["warned"] == "1" for row in known if row not in missed)
        counts = (len(runs), near, len(runs) - len(known), len(missed), silent, false)
        rows.append([kind, f"{budget:,}", *map(str, counts)])
    header = ["problems", "evaluations", "runs", "within 0.1", "not usable", "missed"]
    return [*header, "of them silent", "right with a warning"], rows


def misses() -> Table:
    """Return the problems that were missed or not usable with the largest budget."""
    rows = runner.read("evidence-models")
    most = max((int(row["budget"]) for row in rows), default=0)
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if int(row["budget"]) == most:
            found.setdefault(row["problem"], []).append(row)
    body = []
    for problem, runs in found.items():
        known = [row for row in runs if row["claimed"] not in ("nan", "inf")]
        missed = [row for row in known if abs(float(row["error"])) > 4 * float(row["claimed"])]
        silent = sum(row["warned"] == "0" for row in missed)
        errors = ", ".join(f"{float(row['error']):.2g}" for row in missed) or "-"
        numbers = (len(runs), len(runs) - len(known), len(missed), silent)
        if missed or len(known) < len(runs):
            body.append([problem, *map(str, numbers), errors])
    return ["problem", "runs", "not usable", "missed", "of them silent", "errors"], body


def from_draws() -> Table:
    """Return the errors of all posteriors, and of each whose draws have missed a mode."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in runner.read("evidence-draws"):
        name = row["posterior"] if row["partial"] == "1" else "20 posteriors"
        groups.setdefault(name, []).append(row)
    rows = []
    for name, runs in groups.items():
        errors = np.array([float(row["error"]) for row in runs])
        claimed = np.array([float(row["claimed"]) for row in runs])
        known = np.isfinite(claimed)
        missed = known & (np.abs(errors) > 4 * claimed)
        cells = [math.sqrt(np.square(each[known]).mean()) for each in (errors, claimed)]
        warned = sum(row["warned"] == "1" for row in runs)
        rows.append(
            [
                name,
                str(len(runs)),
                *(f"{cell:.2g}" for cell in cells),
                str(missed.sum()),
                str(warned),
            ]
        )
    return ["posterior", "runs", "rmse", "claimed", "missed", "with a warning"], rows


TABLES: dict[str, Callable[[], Table]] = {
    "evidence-models": models,
    "evidence-misses": misses,
    "evidence-draws": from_draws,
}
