"""make bench-evidence: CPU time to an error of 0.05 in log Z, compared with other libraries.

The models are those of the paper's Figure 3 (Bayesian logistic regression on T rows of the Pima
data, 8 standardised columns, prior N(0, 0.05 I)) and a normal model in 10 dimensions. croupier and
dynesty get the same numpy likelihood, blackjax the same in jax. The time to compile has its own
column.

croupier is asked for the precision, with an ``rtol`` for a standard error of 0.05. Its time is the
time of the whole call, including the search. The other libraries cannot be asked. They are run with
several settings, and the best setting counts, chosen in hindsight by the error of repeated runs:
cpu max(1, (rmse/0.05)^2), the time of as many runs as are needed. One run of blackjax has no error
bar. The mean of ten independent runs has one, and has its own row. All contestants take turns of 20
runs each, so that compiled code is used again and again.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from statistics import median
from typing import Any, NamedTuple

# One thread each: a CPU second is then a second.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
import scipy.stats as st
from scipy.special import logsumexp, ndtri

import croupier as cr
from benchmarks import pages, report
from benchmarks.rivals import load

WANTED = 0.05
KEY = ("model", "library", "setting")

#: The half-width for a standard error of 0.05, if the error is known well.
RTOL = 1.96 * WANTED

#: Particles and moves of blackjax; live points of dynesty.
PARTICLES = (300, 600, 1200, 3600)
MOVES = (1, 3)
LIVE = (100, 300)

#: Runs in a turn.
TURN = 20

#: One run of blackjax does not report its error; this many independent runs do.
TEN = 10
FEWER = (50, 150, 450)


class Model(NamedTuple):
    """A model with a normal prior, in numpy and in jax, and its log Z."""

    name: str
    log_likelihood: Callable[[Any], Any]
    in_jax: Callable[[Any, Any], Any]
    dimensions: int
    spread: float
    truth: float


class Logistic(NamedTuple):
    """-sum log(1 + exp(-y x theta)), for points (m, d); `signed` is (d, T), y x."""

    signed: np.ndarray

    def __call__(self, points: Any) -> Any:
        """Return one number for each of the points."""
        return -np.log1p(np.exp(-(points @ self.signed))).sum(axis=-1)

    def in_jax(self, jnp: Any, point: Any) -> Any:
        """Return it for one point."""
        return -jnp.log1p(jnp.exp(-(point @ jnp.asarray(self.signed)))).sum()


class Normal(NamedTuple):
    """Data ~ N(theta, 0.5^2), coordinate by coordinate."""

    data: np.ndarray

    def __call__(self, points: Any) -> Any:
        """Return one number for each of the points."""
        z = (points - self.data) / 0.5
        return -0.5 * (z * z).sum(axis=-1) - self._constant()

    def in_jax(self, jnp: Any, point: Any) -> Any:
        """Return it for one point."""
        z = (point - jnp.asarray(self.data)) / 0.5
        return -0.5 * (z * z).sum() - self._constant()

    def _constant(self) -> float:
        return float(self.data.size * np.log(0.5 * np.sqrt(2 * np.pi)))


def models() -> Iterator[Model]:
    from paper.logistic import pima

    features, labels = pima()
    features = (features - features.mean(axis=0)) / features.std(axis=0, ddof=1)
    for rows, truth in ((5, -3.2360), (10, -6.7600), (50, -32.8820)):
        signed = (features[:rows] * (2 * labels[:rows] - 1)[:, None]).T.copy()
        likelihood = Logistic(signed)
        yield Model(f"Pima, T = {rows}", likelihood, likelihood.in_jax, 8, 0.05**0.5, truth)
    data = np.linspace(-1, 1, 10)
    truth = float(st.norm.logpdf(data, 0, 1.25**0.5).sum())
    yield Model("normal, d = 10", Normal(data), Normal(data).in_jax, 10, 1.0, truth)


class Contestant(NamedTuple):
    """A library with one setting: `run` maps a seed to log Z; `compiling` is the time before it.

    `asked` means that it was asked for the precision. A slow one makes at most `most` runs.
    """

    library: str
    setting: str
    run: Callable[[int], float]
    compiling: float = 0.0
    asked: bool = False
    most: int = 10**6


class Runs(NamedTuple):
    """Repeated runs of one contestant: log Z and CPU seconds of each."""

    contestant: Contestant
    log_z: list[float]
    seconds: list[float]

    def rmse(self, truth: float) -> float:
        """Return the actual error of the runs."""
        return float(np.sqrt(np.mean(np.square(np.array(self.log_z) - truth))))

    def to_wanted(self, truth: float) -> float:
        """Return CPU seconds to the wanted error: as measured, or scaled by the actual error."""
        cpu = median(self.seconds)
        if self.contestant.asked:
            return cpu
        return cpu * max(1.0, (self.rmse(truth) / WANTED) ** 2)


def side_by_side(contestants: Sequence[Contestant], times: int) -> list[Runs]:
    """Let all contestants take turns, so that other work on the machine disturbs all equally."""
    runs = [Runs(contestant, [], []) for contestant in contestants]
    for start in range(0, times, TURN):
        for contestant, log_z, seconds in runs:
            for seed in range(start, min(start + TURN, times, contestant.most)):
                began = time.process_time()
                log_z.append(contestant.run(seed))
                seconds.append(time.process_time() - began)
    return runs


def of_croupier(model: Model) -> Iterator[Contestant]:
    prior = st.multivariate_normal(np.zeros(model.dimensions), model.spread**2)

    def run(seed: int) -> float:
        result = cr.evidence(model.log_likelihood, prior, seconds=60, rtol=RTOL, rng=seed)
        return float(result.log_value)

    run(0)
    yield Contestant("croupier", f"evidence(rtol={RTOL:.3g})", run, asked=True)


def of_blackjax(model: Model) -> Iterator[Contestant]:
    load("blackjax")
    load("jax").config.update("jax_enable_x64", True)
    for particles in PARTICLES:
        for moves in MOVES:
            run, compiling = compiled(model, particles, moves)
            setting = f"{particles} particles, {moves} move{'s' * (moves > 1)}"
            yield Contestant("blackjax", setting, run, compiling)


def of_blackjax_with_errors(model: Model) -> Iterator[Contestant]:
    load("jax").config.update("jax_enable_x64", True)
    for particles in FEWER:
        one, compiling = compiled(model, particles, 1)

        def run(seed: int, one: Callable[[int], float] = one) -> float:
            return float(logsumexp([one(TEN * seed + k) for k in range(TEN)]) - np.log(TEN))

        setting = f"{TEN} runs of {particles} particles, 1 move"
        yield Contestant("blackjax with an error", setting, run, compiling)


def compiled(model: Model, particles: int, moves: int) -> tuple[Callable[[int], float], float]:
    """Return a run of blackjax, and the CPU seconds that it took to compile."""
    began = time.process_time()
    run = tempered(model, particles, moves)
    run(0)
    return run, time.process_time() - began


def tempered(model: Model, particles: int, moves: int) -> Callable[[int], float]:
    """Return one run of blackjax's adaptive tempered SMC as one compiled function."""
    import blackjax
    import jax
    import jax.numpy as jnp
    from blackjax.smc import extend_params, resampling

    d, spread = model.dimensions, model.spread
    walk = blackjax.additive_step_random_walk

    def log_prior(point: Any) -> Any:
        return -0.5 * jnp.sum((point / spread) ** 2) - d * jnp.log(spread * jnp.sqrt(2 * jnp.pi))

    def step(key: Any, state: Any, log_density: Any, sigma: Any) -> Any:
        proposal = blackjax.mcmc.random_walk.normal(sigma)
        return walk.build_kernel()(key, state, log_density, proposal)

    smc = blackjax.adaptive_tempered_smc(
        log_prior,
        lambda point: model.in_jax(jnp, point),
        step,
        walk.init,
        extend_params({"sigma": jnp.eye(d) * spread * 2.38 / d**0.5}),
        resampling.systematic,
        0.5,
        num_mcmc_steps=moves,
    )

    @jax.jit
    def run(key: Any) -> Any:
        start, key = jax.random.split(key)
        state = smc.init(spread * jax.random.normal(start, (particles, d)))

        def once(carry: Any) -> Any:
            key, state, log_z = carry
            key, own = jax.random.split(key)
            state, info = smc.step(own, state)
            return key, state, log_z + info.log_likelihood_increment

        return jax.lax.while_loop(lambda c: c[1].tempering_param < 1, once, (key, state, 0.0))[2]

    return lambda seed: float(run(jax.random.key(seed)))


def of_dynesty(model: Model) -> Iterator[Contestant]:
    dynesty = load("dynesty")

    for live in LIVE:

        def run(seed: int, live: int = live) -> float:
            sampler = dynesty.NestedSampler(
                model.log_likelihood,
                lambda u: model.spread * ndtri(u),
                model.dimensions,
                nlive=live,
                rstate=np.random.default_rng(seed),
            )
            sampler.run_nested(print_progress=False)
            return float(sampler.results.logz[-1])

        yield Contestant("dynesty", f"{live} live points", run, most=6)


LIBRARIES: dict[str, Callable[[Model], Iterator[Contestant]]] = {
    "croupier": of_croupier,
    "blackjax": of_blackjax,
    "blackjax with an error": of_blackjax_with_errors,
    "dynesty": of_dynesty,
}

RIVALS = [library for library in LIBRARIES if library != "croupier"]


def best_of(runs: Iterable[Runs], truth: float) -> Runs:
    """Return the setting with the shortest time to the wanted error, known in hindsight.

    >>> slow = Runs(Contestant("a", "slow", float), [0.1, -0.1], [1.0, 1.0])
    >>> fast = Runs(Contestant("a", "fast", float), [0.2, -0.2], [0.1, 0.1])
    >>> best_of([slow, fast], 0.0).contestant.setting, round(fast.to_wanted(0.0), 2)
    ('fast', 1.6)
    """
    return min(runs, key=lambda each: each.to_wanted(truth))


def measure(model: Model, libraries: Sequence[str], times: int) -> list[dict[str, Any]]:
    """Return one row for each library, at its best setting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contestants = [each for library in libraries for each in LIBRARIES[library](model)]
        runs = side_by_side(contestants, times)
    best = {
        library: best_of((one for one in runs if one.contestant.library == library), model.truth)
        for library in libraries
    }
    ours = best["croupier"].to_wanted(model.truth)
    return [
        {
            "model": model.name,
            "library": library,
            "version": metadata.version(library.split()[0]),
            "setting": runs.contestant.setting,
            "runs": len(runs.log_z),
            "cpu ms a run": round(1e3 * median(runs.seconds), 3),
            "rmse of log Z": round(runs.rmse(model.truth), 4),
            "cpu ms to 0.05": round(1e3 * runs.to_wanted(model.truth), 3),
            "to croupier's": round(runs.to_wanted(model.truth) / ours, 2),
            "compiling s": round(runs.contestant.compiling, 2),
            "with compiling, to croupier's": round(
                (runs.to_wanted(model.truth) + runs.contestant.compiling) / ours, 2
            ),
        }
        for library, runs in best.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-evidence", description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="repeated runs of a setting")
    parser.add_argument("--model", help="one of them, by a part of its name")
    parser.add_argument("--library", action="append", help="compare with this one", choices=RIVALS)
    options = parser.parse_args()
    libraries = ["croupier", *(options.library or RIVALS)]
    for model in models():
        if options.model is None or options.model in model.name:
            rows = measure(model, libraries, options.runs)
            report.write("evidence", rows, KEY[:2])
            report.show("evidence", rows)
    pages.main()


if __name__ == "__main__":
    main()
