"""make bench-rare, part 4: coverage of splitting, and of probabilities with few or no hits.

Splitting: runs of a fixed number of replications on three models whose answers come from linear
equations. Few hits: plain draws of 0 and 1, and limit states with a small budget.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

import croupier as cr
from benchmarks import pages, report

EXPECTED = (0.5, 2.0, 5.0, 10.0, 50.0)


class Model(NamedTuple):
    """A simulation in steps with a known probability, and the options of its runs."""

    step: Callable[[np.random.Generator, Any], Any]
    start: Callable[[np.random.Generator, int], Any]
    level: Callable[[Any], Any]
    target: float
    value: float
    particles: int


def _walk(rng: np.random.Generator, x: Any) -> Any:
    return x + np.where(rng.random(len(x)) < 0.3, 1.0, -1.0)


def _tandem(rng: np.random.Generator, x: Any) -> Any:
    """Move one customer: an arrival (0.1), or a service at queue 1 or 2 (0.45 each, if any)."""
    u = rng.random(len(x))
    first = (u >= 0.1) & (u < 0.55) & (x[:, 0] > 0)
    second = (u >= 0.55) & (x[:, 1] > 0)
    moved = x.copy()
    moved[:, 0] += (u < 0.1) - 1.0 * first
    moved[:, 1] += 1.0 * first - 1.0 * second
    return moved


def _births(rng: np.random.Generator, x: Any) -> Any:
    """Wait for the next birth (rate 1) or death (rate 0.025 x); the state is (x, time)."""
    death = 0.025 * x[:, 0]
    later = x[:, 1] + rng.exponential(size=len(x)) / (1 + death)
    born = rng.random(len(x)) * (1 + death) < 1
    return np.column_stack((x[:, 0] + np.where(born, 1.0, -1.0), later))


MODELS = {
    "M/M/1 queue": Model(
        _walk,
        lambda rng, n: np.ones(n),
        lambda x: np.where(x == 0, -np.inf, x),
        25,
        8.424014477e-10,
        100,
    ),
    "tandem queue": Model(
        _tandem,
        lambda rng, n: np.tile([1.0, 0.0], (n, 1)),
        lambda x: np.where(x.sum(axis=1) == 0, -np.inf, x.sum(axis=1)),
        20,
        5.951121475e-12,
        200,
    ),
    "births and deaths": Model(
        _births,
        lambda rng, n: np.tile([40.0, 0.0], (n, 1)),
        lambda x: np.where(x[:, 1] > 100, -np.inf, x[:, 0]),
        80,
        2.985960812e-7,
        100,
    ),
}


def splitting_run(name: str, seed: int) -> cr.Result:
    """Run 20 replications of a model, in one call of the arm: they are simulated together."""
    m = MODELS[name]
    arm = cr.splitting(m.step, m.start, m.level, m.target, particles=m.particles)
    return cr.estimate([arm], draws=20, batch=20, rng=seed, progress=False)


def bernoulli_run(expected: float, seed: int) -> tuple[cr.Result, float]:
    """Draw 2000 times 0 or 1, with so many hits expected."""
    p = expected / 2000

    def event(rng: np.random.Generator, size: int) -> Any:
        return (rng.random(size) < p).astype(float)

    arm = cr.Arm(event, name="event", bounds=(0, 1))
    return cr.estimate([arm], draws=2000, rng=seed, progress=False), p


def probability_run(expected: float, seed: int) -> tuple[cr.Result, float]:
    """Estimate P(x > b) in two dimensions from 450 calls, of which the search has about half.

    The function says only yes or no, so that hits stay few: `expected` counts those that a
    budget of plain draws would have.
    """
    p = expected / 450

    def step(x: Any) -> Any:
        return np.where(x[:, 0] > norm.isf(p), -1.0, 1.0)

    return cr.probability(step, 2, draws=450, rng=seed, progress=False), p


def covered(results: list[tuple[cr.Result, float]]) -> dict[str, Any]:
    """Return how many intervals cover, and how far the mean is from the value."""
    inside = sum(r.interval[0] <= value <= r.interval[1] for r, value in results)
    values = np.array([r.value for r, _ in results])
    spread = values.std(ddof=1) / np.sqrt(len(values))
    z = (values.mean() - results[0][1]) / spread if spread > 0 else 0.0
    share = inside / len(results)
    return {
        "runs": len(results),
        "coverage": f"{share:.3f}",
        "error": f"{np.sqrt(share * (1 - share) / len(results)):.3f}",
        "z": f"{z:.2f}",
        "warned": sum(bool(r.warnings) for r, _ in results),
    }


def rows_of(what: str, runs: int) -> Iterator[dict[str, Any]]:
    """Return the rows of one kind of replications."""
    if what == "splitting":
        for name, model in MODELS.items():
            results = [(splitting_run(name, seed), model.value) for seed in range(runs)]
            yield {"what": what, "case": name, **covered(results)}
        return
    run = bernoulli_run if what == "0 or 1" else probability_run
    for k, expected in enumerate(EXPECTED):
        results = [run(expected, 1000 * k + seed) for seed in range(runs)]
        yield {"what": what, "case": f"{expected:g} hits", **covered(results)}


RUNS = {"splitting": 400, "0 or 1": 500, "cr.probability": 500}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, help="replications; 400 or 500 by default")
    parser.add_argument("--case", nargs="*", choices=list(RUNS))
    args = parser.parse_args()
    for what in args.case or RUNS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.CroupierWarning)
            for row in rows_of(what, args.runs or RUNS[what]):
                report.write("rare-replications", [row], ("what", "case"))
                report.show(what, [row])
    pages.main()


if __name__ == "__main__":
    main()
