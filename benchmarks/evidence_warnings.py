"""make bench-warnings: which warnings of evidence come with right and with wrong answers?

Three kinds of problems. The rules of the warnings were chosen while looking at those that are
`seen`: problems of the other benchmarks, and some that were held out at first. Those `held out`
have random modes or other shapes, and nothing was chosen on them. Those that are `new` were made
after the last change of the rules. There is one row for each problem and seed in
docs/benchmarks/evidence-warnings.csv. A row that is there is not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.stats as st
from scipy.integrate import quad

from benchmarks import evidence_curves, evidence_problems, evidence_replications, pages, report
from benchmarks.evidence_modes import answered
from benchmarks.evidence_problems import Problem, mixture, rosenbrock

NAME = "evidence-warnings"
KEY = ("problem", "seed")

#: How the warnings begin, or a part of them, and what a table calls them.
RULES = {
    "few df": "effective degrees of freedom",
    "heavy tail": "the variance of",
    "arms disagree": "the arms disagree",
    "far above": "far from the leading arm",
    "modes by chance": "were found by chance",
    "searches disagree": "two searches for modes disagree",
    "law lacks": "the fitted distribution lacks",
}


def random_modes(d: int, modes: int, seed: int, narrowest: float, widest: float) -> Problem:
    """Return modes of random weights, places and widths in a box of width 20."""
    rng = np.random.default_rng([d, modes, seed])
    weights = rng.dirichlet(np.full(modes, 2.0))
    places = rng.uniform(-8, 8, (modes, d))
    widths = np.exp(rng.uniform(np.log(narrowest), np.log(widest), modes))
    return mixture(weights, places, widths)


def shell() -> Problem:
    """Return one shell of radius 3 and width 0.2 in 3 dimensions."""

    def fall(r: Any) -> Any:
        return -0.5 * ((r - 3) / 0.2) ** 2

    mass = quad(lambda r: 4 * np.pi * r * r * np.exp(fall(r)), 0, 5, points=[3])[0]
    return Problem(
        lambda x: fall(np.sqrt((x**2).sum(axis=1))), [st.uniform(-5, 10)] * 3, np.log(mass / 1000)
    )


def funnel() -> Problem:
    """Return two effects whose scale is a third parameter."""

    def log_likelihood(x: Any) -> Any:
        return st.norm.logpdf(x[:, 1:], 0, np.exp(x[:, :1])).sum(axis=1)

    def inside(v: float) -> float:
        return float(st.norm.pdf(v, 0, 1.5) * (2 * st.norm.cdf(10 / np.exp(v)) - 1) ** 2)

    prior = [st.norm(0, 1.5), st.uniform(-10, 20), st.uniform(-10, 20)]
    return Problem(log_likelihood, prior, np.log(quad(inside, -12, 12, limit=400)[0] / 400))


def gammas() -> Problem:
    """Return gamma densities at a bound, in 4 dimensions."""
    return Problem(
        lambda x: st.gamma.logpdf(x, 2, scale=0.1).sum(axis=1),
        [st.uniform(0, 10)] * 4,
        -4 * np.log(10),
    )


def students() -> Problem:
    """Return a correlated Student distribution with 3 degrees of freedom, in 4 dimensions."""
    law = st.multivariate_t(np.ones(4), 0.04 * (0.3 * np.eye(4) + 0.7), df=3)
    return Problem(law.logpdf, [st.uniform(-50, 100)] * 4, -4 * np.log(100))


def banana() -> Problem:
    """Return a curved mode in 3 dimensions."""

    def log_likelihood(x: Any) -> Any:
        bend = x[:, 1] - 0.8 * (x[:, 0] ** 2 - 1)
        curve = st.norm.logpdf(x[:, 0], 0, 1) + st.norm.logpdf(bend, 0, 0.3)
        return curve + st.norm.logpdf(x[:, 2], 0, 0.5)

    return Problem(log_likelihood, [st.uniform(-15, 60)] * 3, -3 * np.log(60))


def normals_and_students() -> Problem:
    """Return two normal modes and two of Student's (6 degrees of freedom), in 4 dimensions."""
    laws = [
        st.multivariate_normal(np.array([-7.0, 2, 5, -3]), 0.3**2 * (0.6 * np.eye(4) + 0.4)),
        st.multivariate_normal(np.array([6.0, -6, 0, 4]), 0.7**2 * np.eye(4)),
        st.multivariate_t(np.array([0.0, 7, -6, 1]), 0.4**2 * np.eye(4), df=6),
        st.multivariate_t(np.array([3.0, -1, 7, -7]), 0.8**2 * (0.5 * np.eye(4) + 0.5), df=6),
    ]
    logs = np.log([0.15, 0.35, 0.4, 0.1])

    def log_likelihood(x: Any) -> Any:
        parts = zip(logs, laws, strict=True)
        return np.logaddexp.reduce([log + law.logpdf(x) for log, law in parts])

    # Less than 3e-5 of Student's modes is outside the box.
    return Problem(log_likelihood, [st.uniform(-25, 50)] * 4, -4 * np.log(50))


def wide_shell() -> Problem:
    """Return one shell of radius 5 and width 0.3 in 4 dimensions."""

    def fall(r: Any) -> Any:
        return -0.5 * ((r - 5) / 0.3) ** 2

    mass = quad(lambda r: 2 * np.pi**2 * r**3 * np.exp(fall(r)), 0, 8, points=[5])[0]
    return Problem(
        lambda x: fall(np.sqrt((x**2).sum(axis=1))), [st.uniform(-8, 16)] * 4, np.log(mass / 16**4)
    )


def bananas() -> Problem:
    """Return two pairs of coordinates, each of them curved, in 4 dimensions."""

    def log_likelihood(x: Any) -> Any:
        total = 0.0
        for i, curve in ((0, 0.5), (2, 1.0)):
            bend = x[:, i + 1] - curve * (x[:, i] ** 2 - 1)
            total = total + st.norm.logpdf(x[:, i], 0, 1) + st.norm.logpdf(bend, 0, 0.4)
        return total

    return Problem(log_likelihood, [st.uniform(-15, 60)] * 4, -4 * np.log(60))


def corner() -> Problem:
    """Return beta densities near a corner of the cube, in 6 dimensions."""
    return Problem(lambda x: st.beta.logpdf(x, 1.3, 30).sum(axis=1), [st.uniform(0, 1)] * 6, 0.0)


def under_cauchy() -> Problem:
    """Return normal data under Cauchy priors, in 3 dimensions."""
    data = ((3.0, 0.1), (-8.0, 0.5), (0.4, 0.05))

    def log_likelihood(x: Any) -> Any:
        return sum(st.norm.logpdf(m, x[:, i], s) for i, (m, s) in enumerate(data))

    def one(m: float, s: float) -> float:
        f = lambda t: st.norm.pdf(m, t, s) * st.cauchy.pdf(t)  # noqa: E731
        return float(quad(f, m - 12 * s, m + 12 * s, epsabs=1e-14)[0])

    return Problem(log_likelihood, [st.cauchy()] * 3, float(sum(np.log(one(*d)) for d in data)))


def turned_modes(number: int) -> Problem:
    """Return six normal modes with their own correlations in 6 dimensions."""
    rng = np.random.default_rng(number)
    logs, laws = np.log(rng.dirichlet(np.full(6, 3.0))), []
    for _ in range(6):
        root = rng.uniform(0.15, 0.5) * (np.eye(6) + 0.5 * rng.standard_normal((6, 6)))
        laws.append(st.multivariate_normal(rng.uniform(-7, 7, 6), root @ root.T))

    def log_likelihood(x: Any) -> Any:
        parts = zip(logs, laws, strict=True)
        return np.logaddexp.reduce([log + law.logpdf(x) for log, law in parts])

    return Problem(log_likelihood, [st.uniform(-14, 28)] * 6, -6 * np.log(28))


SEEN = (
    "eight schools", "eggbox", "shells, d = 2", "shells, d = 5", "Rosenbrock, d = 2",
    "Rosenbrock, d = 3", "loggamma, d = 2", "two modes .5/.2, d = 4", "two modes .6/.4, d = 8",
    "two modes .8/.4, d = 8", "two modes 1/.3, d = 8", "narrow mode, d = 4", "5 modes, d = 2",
    "10 modes, d = 8", "Student's and a banana, d = 5",
)  # fmt: skip

#: Dimensions, modes, and the seed of the problem; the widths are from 0.2 to 0.6.
MIXED = (
    (4, 4, 8), (4, 6, 9), (6, 4, 9), (6, 12, 9), (8, 3, 9), (8, 4, 7), (8, 6, 8), (10, 3, 8),
    (10, 3, 9), (10, 6, 9), (12, 4, 8),
)  # fmt: skip

#: The same with widths from 0.08 to 0.8.
NARROW = ((3, 4, 8), (3, 6, 9), (4, 3, 9), (4, 4, 8), (6, 3, 8), (6, 4, 9), (8, 4, 9))

#: And others, that were made after what is done about edges and about modes that are hard to find.
LATER = ((5, 4, 24), (6, 5, 21), (8, 3, 22), (8, 5, 23))


def _mixtures(
    numbers: Sequence[tuple[int, int, int]], narrowest: float, widest: float, note: str = ""
) -> dict[str, Callable[[], Problem]]:
    """Return mixtures of random modes by name."""
    return {
        f"{k} random modes, d = {d}, number {s}{note}": partial(
            random_modes, d, k, s, narrowest, widest
        )
        for d, k, s in numbers
    }


NOTE = ", widths to .08"

#: The first held-out problems. They were looked at when the rule of modes by chance was changed.
#: The turned modes were new, and showed that climbs ended early on narrow ridges. The last mixture
#: showed that modes that are hard to find need more looks.
LOOKED_AT: dict[str, Callable[[], Problem]] = {
    "Student's, d = 4": students,
    "banana, d = 3": banana,
    "six turned modes, d = 6": partial(turned_modes, 619),
    **_mixtures([(10, 4, 7)], 0.2, 0.6),
    **_mixtures([(4, 6, 7), (8, 4, 8)], 0.08, 0.8, NOTE),
}

HELD_OUT: dict[str, Callable[[], Problem]] = {
    "one shell, d = 3": shell,
    "funnel, d = 3": funnel,
    "gammas, d = 4": gammas,
    **_mixtures(MIXED, 0.2, 0.6),
    **_mixtures(NARROW, 0.08, 0.8, NOTE),
}


#: Problems that were made when the rules of looks and rare modes were final; from the bent ones on,
#: when it was final what is done at the edges of a law and for modes that are hard to find.
NEW: dict[str, Callable[[], Problem]] = {
    "normals and Student's, d = 4": normals_and_students,
    "one shell of radius 5, d = 4": wide_shell,
    "two bananas, d = 4": bananas,
    "corner, d = 6": corner,
    "normal data, Cauchy priors, d = 3": under_cauchy,
    "six turned modes, d = 6, number 620": partial(turned_modes, 620),
    "bent, d = 4": partial(evidence_curves.bent, 4),
    "bent, d = 6": partial(evidence_curves.bent, 6),
    "ring and normals, d = 4": evidence_curves.ring,
    "horseshoe, d = 6": evidence_curves.horseshoe,
    "Rosenbrock, d = 4": partial(rosenbrock, 4),
    "Rosenbrock, d = 6": partial(rosenbrock, 6),
    **_mixtures(LATER, 0.08, 0.8, NOTE),
}


def problems() -> dict[str, tuple[str, Callable[[], Problem]]]:
    """Return every problem with its kind."""
    known = {name: each for name, (each, _) in evidence_replications.PROBLEMS.items()}
    known |= evidence_problems.PROBLEMS
    seen = {name: ("seen", known[name]) for name in SEEN}
    seen |= {name: ("seen", each) for name, each in LOOKED_AT.items()}
    seen |= {name: ("held out", each) for name, each in HELD_OUT.items()}
    return seen | {name: ("new", each) for name, each in NEW.items()}


def measured(name: str, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    kind, make = problems()[name]
    problem = make()
    result, cpu = answered(problem, seed)
    said = result.warnings
    rules = [rule for rule, text in RULES.items() if any(text in each for each in said)]
    return {
        "problem": name,
        "kind": kind,
        "seed": seed,
        "error": f"{result.log_value - problem.truth:.5f}",
        "claimed": f"{result.log_stderr:.5f}",
        "warned": int(bool(said)),
        "rules": "; ".join(rules),
        "cpu s": f"{cpu:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-warnings", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--problem", help="those with this in their name")
    parser.add_argument("--kind", choices=("seen", "held out", "new"))
    options = parser.parse_args()
    wanted = [
        (name, seed)
        for seed in range(options.seeds)
        for name, (kind, _) in problems().items()
        if options.kind in (None, kind) and (options.problem is None or options.problem in name)
    ]
    report.fill(NAME, KEY, wanted, measured)
    pages.main()


if __name__ == "__main__":
    main()
