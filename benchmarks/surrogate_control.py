"""A Gaussian process as a control variate of an integral, and of an evidence: is it worth building?

    python -m benchmarks.surrogate_control

Half of the calls, at most 300, are learned. The others are fresh: they correct the mean of the
process, which needs no call, without bias. Errors are roots of mean squares relative to the value,
over 8 seeds; for an evidence they are those of its log. Nothing in croupier was chosen on these
problems. The process wins if its error is half of that of `cr.integrate` or `cr.evidence`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, norm
from scipy.stats.qmc import Sobol

import croupier as cr
from croupier.searching.surrogate import Surrogate, surrogate_of

SEEDS, CALLS, FREE, LEARNED = 8, (50, 100, 300, 1000), 2**14, 300


class Case(NamedTuple):
    """A function of points (n, d): of the unit cube, or a log-likelihood of standard normals."""

    name: str
    f: Callable[[Any], Any]
    d: int
    value: float


def _net(d: int, n: int, rng: Any) -> Any:
    """Return n points of a scrambled net."""
    return np.clip(Sobol(d, rng=rng).random(n), 1e-12, 1 - 1e-12)


def predicted(process: Surrogate, z: Any) -> Any:
    """Return what the process says of f, on the scale of f."""
    h, _ = process.predict(z)
    warp = process.warp
    t = (h + float(warp(np.zeros(1))[0])) * warp.spread + warp.mean
    return warp.c * np.sinh(t) if np.isfinite(warp.c) else t


def integral_of(case: Case, n: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    k = min(n // 2, LEARNED)
    u, fresh = _net(case.d, k, rng), _net(case.d, n - k, rng)
    process = surrogate_of(ndtri(u), case.f(u))
    free = predicted(process, ndtri(_net(case.d, FREE, rng))).mean()
    return float(free + (case.f(fresh) - predicted(process, ndtri(fresh))).mean())


def log_evidence_of(case: Case, n: int, seed: int) -> float:
    """Learn where the process says that the posterior is, then draw fresh points there."""
    rng = np.random.default_rng(seed)
    x = 1.5 * rng.standard_normal((max(10, n // 8), case.d))
    y = case.f(x)
    free = rng.standard_normal((FREE, case.d))
    while len(x) < min(n // 2, LEARNED):
        process = surrogate_of(x, y)
        log_w = predicted(process, free)
        w = np.exp(0.5 * (log_w - log_w.max()))  # tempered: the process may be wrong
        new = free[rng.choice(FREE, max(5, len(x) // 4), p=w / w.sum())]
        x, y = np.concatenate((x, new)), np.concatenate((y, case.f(new)))
    log_w = predicted(surrogate_of(x, y), free)
    w = np.exp(log_w - log_w.max())
    chosen = free[rng.choice(FREE, n - len(x), p=w / w.sum())]
    ratio = case.f(chosen) - predicted(surrogate_of(x, y), chosen)
    top = ratio.max()
    return float(log_w.max() + np.log(w.mean()) + top + np.log(np.exp(ratio - top).mean()))


def _integrands() -> list[Case]:
    a = np.array([0.7, 0.4, 1.1])
    ishigami = lambda x: (  # noqa: E731
        np.sin(np.pi * (2 * x[:, 0] - 1))
        + 7 * np.sin(np.pi * (2 * x[:, 1] - 1)) ** 2
        + 0.1 * (np.pi * (2 * x[:, 2] - 1)) ** 4 * np.sin(np.pi * (2 * x[:, 0] - 1))
    )
    gauss = np.prod(np.sqrt(np.pi) / 2 * (ndtr(0.6 * np.sqrt(2)) - ndtr(-0.4 * np.sqrt(2))) * 2)
    e = np.exp(0.3) - 1
    return [
        Case("exponential", lambda x: np.exp(x @ a), 3, float(np.prod(np.expm1(a) / a))),
        Case(
            "oscillating",
            lambda x: np.cos(1 + x.sum(axis=1)),
            4,
            float((np.exp(1j) * ((np.exp(1j) - 1) / 1j) ** 4).real),
        ),
        Case("Gaussian", lambda x: np.exp(-np.square(x - 0.4).sum(axis=1)), 5, float(gauss**5)),
        Case("corner", lambda x: (1 + x.sum(axis=1)) ** -3.0, 2, 1 / 6),
        Case("Ishigami", ishigami, 3, 3.5),
        Case("product", lambda x: np.exp(0.3 * x).prod(axis=1), 6, float((e / 0.3) ** 6)),
    ]


def _posteriors() -> list[Case]:
    def regression(d: int, s: float) -> Case:
        m = np.linspace(-1, 1, d)
        value = multivariate_normal(m, (1 + s * s) * np.eye(d)).logpdf(np.zeros(d))
        return Case(f"normal {d}", lambda x: norm.logpdf(x, m, s).sum(axis=1), d, float(value))

    def banana(x: Any) -> Any:
        return norm.logpdf(x[:, 1] - x[:, 0] ** 2, 0, 0.3) + norm.logpdf(x[:, 0], 0.5, 0.5)

    design = np.random.default_rng(3).standard_normal((40, 4))
    sign = np.where(np.random.default_rng(4).random(40) < ndtr(design @ [1, -1, 0.5, 0]), 1.0, -1.0)

    def logistic(x: Any) -> Any:
        return -np.logaddexp(0, -(x @ design.T) * sign).sum(axis=1)

    found = [regression(2, 0.2), regression(5, 0.5)]
    for name, f, d in (("banana", banana, 2), ("logistic", logistic, 4)):
        values = [f(ndtri(_net(d, 2**20, np.random.default_rng(s)))) for s in range(2)]
        value = np.mean([np.log(np.mean(np.exp(v - v.max()))) + v.max() for v in values])
        found.append(Case(name, f, d, float(value)))
    return found


def main() -> None:
    warnings.simplefilter("ignore")  # few draws, and numbers of points that are no powers of 2
    for case in _integrands():
        for n in CALLS:
            runs = [
                (
                    integral_of(case, n, seed) / case.value - 1,
                    cr.integrate(case.f, [(0, 1)] * case.d, draws=n, rng=seed, progress=False).value
                    / case.value
                    - 1,
                )
                for seed in range(SEEDS)
            ]
            _show(case, n, runs)
    for case in _posteriors():
        for n in CALLS[1:]:
            runs = [
                (
                    log_evidence_of(case, n, seed) - case.value,
                    cr.evidence(case.f, case.d, cost=n, rng=seed, progress=False).log_value
                    - case.value,
                )
                for seed in range(SEEDS)
            ]
            _show(case, n, runs)


def _show(case: Case, n: int, runs: Any) -> None:
    process, croupier = np.sqrt(np.mean(np.square(runs), axis=0))
    print(f"{case.name:12} d={case.d} {n:5} calls: {process:.2g} {croupier:.2g}", flush=True)


if __name__ == "__main__":
    main()
