"""The evidence: CPU time to an error of 0.05 in log Z, hard posteriors, and other libraries.

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

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from benchmarks import runner
from benchmarks.evidence_problems import (
    PROBLEMS,
    Problem,
    student_and_banana,
    two,
    two_explanations,
    two_under_a_normal_prior,
)
from benchmarks.pages import Table, columns
from benchmarks.runner import load

WANTED = 0.05

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
    load("blackjax", "evidence")
    load("jax", "evidence").config.update("jax_enable_x64", True)
    for particles in PARTICLES:
        for moves in MOVES:
            run, compiling = compiled(model, particles, moves)
            setting = f"{particles} particles, {moves} move{'s' * (moves > 1)}"
            yield Contestant("blackjax", setting, run, compiling)


def of_blackjax_with_errors(model: Model) -> Iterator[Contestant]:
    load("jax", "evidence").config.update("jax_enable_x64", True)
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
    dynesty = load("dynesty", "evidence")

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


def measure(name: str, times: int) -> list[dict[str, Any]]:
    """Return one row for each library, at its best setting."""
    (model,) = [model for model in models() if model.name == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contestants = [each for library in LIBRARIES.values() for each in library(model)]
        runs = side_by_side(contestants, times)
    best = {
        library: best_of((one for one in runs if one.contestant.library == library), model.truth)
        for library in LIBRARIES
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


# -- hard posteriors

#: Seconds of CPU time that a run may take.
LIMIT = 60

#: The half-width of croupier's interval, two standard errors of 0.025, and its evaluations.
RTOL = 0.05
EVALUATIONS = 4_000_000


class Answer(NamedTuple):
    """log Z with its claimed error, and whether the library warned."""

    log_z: float
    error: float
    warned: bool = False


class TooLongError(Exception):
    """Ends a run that takes longer than its limit."""


def answered(
    problem: Problem, seed: int, cost: float = EVALUATIONS, rtol: float = RTOL
) -> tuple[Any, float]:
    """Return what croupier says of a problem, quietly, and the CPU seconds that it took."""
    cpu = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = cr.evidence(
            problem.log_likelihood, problem.prior, cost=cost, rtol=rtol, rng=seed,
            vectorised=True, progress=False,
        )  # fmt: skip
    return result, time.process_time() - cpu


def by_croupier(problem: Problem, likelihood: Any, seed: int) -> Answer:
    result, _ = answered(problem._replace(log_likelihood=likelihood), seed)
    return Answer(result.log_value, result.log_stderr, bool(result.warnings))


def _line(law: Any) -> tuple[float, float]:
    """Return a and b of the parameter a + b v: v is uniform, or standard normal."""
    if law.dist.name == "uniform":
        return law.ppf(0.0), law.ppf(1.0) - law.ppf(0.0)
    return (law.mean(), law.std()) if law.dist.name == "norm" else (0.0, 1.0)


def transform(problem: Problem) -> Callable[[Any], Any]:
    """Return the function from the unit cube to the parameters; points may be (d,) or (m, d)."""
    kinds = [law.dist.name for law in problem.prior]
    normal = np.array([kind == "norm" for kind in kinds])
    others = [i for i, kind in enumerate(kinds) if kind not in ("uniform", "norm")]
    low, scale = np.array([_line(law) for law in problem.prior]).T

    def to(u: Any) -> Any:  # without the overhead of scipy, which would be most of the time
        x = low + scale * np.where(normal, ndtri(u), u)
        for i in others:
            x[..., i] = problem.prior[i].ppf(u[..., i])
        return x

    return to


def by_dynesty(problem: Problem, likelihood: Any, seed: int) -> Answer:
    dynesty: Any = load("dynesty", "evidence")
    sampler = dynesty.NestedSampler(
        lambda x: float(likelihood(x[None])[0]), transform(problem), len(problem.prior),
        nlive=500, rstate=np.random.default_rng(seed),
    )  # fmt: skip
    sampler.run_nested(print_progress=False)
    return Answer(float(sampler.results.logz[-1]), float(sampler.results.logzerr[-1]))


def by_nautilus(problem: Problem, likelihood: Any, seed: int) -> Answer:
    nautilus: Any = load("nautilus", "evidence")
    sampler = nautilus.Sampler(
        transform(problem), likelihood, len(problem.prior), n_live=2000, vectorized=True, seed=seed,
        pass_dict=False,
    )  # fmt: skip
    sampler.run(verbose=False)
    return Answer(float(sampler.log_z), float(1 / np.sqrt(sampler.n_eff)))


SAMPLERS: dict[str, Callable[[Problem, Any, int], Answer]] = {
    "croupier": by_croupier,
    "nautilus": by_nautilus,
    "dynesty": by_dynesty,
}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise an error if the block takes more CPU time."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def played(name: str, library: str, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    problem, evaluations = PROBLEMS[name](), 0

    def counted(points: Any) -> Any:
        nonlocal evaluations
        evaluations += len(points)
        return problem.log_likelihood(points)

    began, cpu = time.perf_counter(), time.process_time()
    answer = Answer(np.nan, np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with within(LIMIT):
                answer = SAMPLERS[library](problem, counted, seed)
        except TooLongError:
            pass
        except cr.ArmError as error:  # the limit was reached within an arm
            if TooLongError.__name__ not in str(error):
                raise
    return {
        "problem": name,
        "library": library,
        "seed": seed,
        "done": int(np.isfinite(answer.log_z)),
        "error": f"{answer.log_z - problem.truth:.5f}",
        "claimed": f"{answer.error:.5f}",
        "warned": int(answer.warned),
        "evaluations": evaluations,
        "cpu s": f"{time.process_time() - cpu:.2f}",
        "s": f"{time.perf_counter() - began:.2f}",
    }


# -- many seeds

#: Each problem with its number of seeds.
REPLICATED: dict[str, tuple[Callable[[], Problem], int]] = {
    "two modes .6/.4, d = 8": (lambda: two(8, 0.6, 0.4), 50),
    "two modes .5/.2, d = 4": (lambda: two(4, 0.5, 0.2), 50),
    "two modes .8/.4, d = 8": (lambda: two(8, 0.8, 0.4), 50),
    "two modes 1/.3, d = 8": (lambda: two(8, 1.0, 0.3), 50),
    "two modes .6/.4, d = 8, normal prior": (lambda: two_under_a_normal_prior(8, 0.6, 0.4), 50),
    "Student's and a banana, d = 5": (student_and_banana, 20),
    "two explanations, d = 6": (two_explanations, 20),
}


def repeated(name: str, seed: int) -> dict[str, Any]:
    """Return the row of one run."""
    problem = REPLICATED[name][0]()
    result, cpu = answered(problem, seed)
    low, high = result.log_interval
    return {
        "problem": name,
        "seed": seed,
        "error": f"{result.log_value - problem.truth:.5f}",
        "claimed": f"{result.log_stderr:.5f}",
        "covered": int(low <= problem.truth <= high),
        "warned": int(bool(result.warnings)),
        "components": result.details["search"]["components"],
        "evaluations": result.draws,
        "cpu s": f"{cpu:.2f}",
    }


#: What the quick form plays.
QUICK = ("two modes .5/.2, d = 4", "shells, d = 2", "eight schools")


def _runs(full: bool) -> Iterator[tuple[str, str, int]]:
    for seed in range(10 if full else 1):
        for library in SAMPLERS:
            yield from ((name, library, seed) for name in (PROBLEMS if full else QUICK))


def _replications(full: bool) -> Iterator[tuple[str, int]]:
    for name, (_, seeds) in REPLICATED.items():
        if full or name in QUICK:
            yield from ((name, seed) for seed in range(seeds if full else 5))


BENCHMARKS = (
    runner.Benchmark(
        "evidence",
        ("model",),
        lambda full: (
            (model.name, 300 if full else 5) for model in models() if full or "T = 10" in model.name
        ),
        measure,
    ),
    runner.Benchmark("evidence-runs", ("problem", "library", "seed"), _runs, played),
    runner.Benchmark("evidence-replications", ("problem", "seed"), _replications, repeated),
)


# -- tables


def _missed(row: dict[str, str]) -> bool:
    """Say whether log Z was off by more than four claimed errors."""
    return not abs(float(row["error"])) <= 4 * float(row["claimed"])


def _rms(rows: list[dict[str, str]], column: str) -> str:
    return f"{(sum(float(row[column]) ** 2 for row in rows) / len(rows)) ** 0.5:.3g}"


def modes() -> Table:
    """Return the errors of log Z on the hard posteriors that croupier has played.

    A library without a run that ended has no row.
    """
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    measured = runner.read("evidence-runs")
    ended = {(row["problem"], row["library"]) for row in measured if row["done"] == "1"}
    for row in measured:
        key = row["problem"], row["library"]
        if key in ended and (row["problem"], "croupier") in ended:
            groups.setdefault(key, []).append(row)
    problems = list(dict.fromkeys(problem for problem, _ in groups))
    rows = []
    for problem, library in sorted(groups, key=lambda group: problems.index(group[0])):
        runs = groups[problem, library]
        done = [row for row in runs if row["done"] == "1"]
        cells = ["-"] * 2
        if done:
            cells = [_rms(done, "error"), _rms(done, "claimed")]
        evaluations = sum(float(row["evaluations"]) for row in runs) / len(runs)
        rows.append([problem, library, *cells, f"{evaluations:,.0f}"])
    return ["problem", "library", "rmse", "claimed", "evaluations"], rows


def replications() -> Table:
    """Return how often the intervals of log Z cover, for each problem with many seeds."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in runner.read("evidence-replications"):
        groups.setdefault(row["problem"], []).append(row)
    rows = []
    for problem, runs in groups.items():
        missed = [row["warned"] for row in runs if _missed(row)]
        false = sum(row["warned"] == "1" for row in runs if not _missed(row))
        counts = [sum(int(row["covered"]) for row in runs), len(missed), missed.count("0"), false]
        taken = [sum(float(row[c]) for row in runs) / len(runs) for c in ("evaluations", "cpu s")]
        cells = [_rms(runs, "error"), _rms(runs, "claimed"), f"{taken[0]:,.0f}", f"{taken[1]:.1f}"]
        rows.append([problem, str(len(runs)), *map(str, counts), *cells])
    header = ["problem", "runs", "covered", "missed", "of them silent", "right with a warning"]
    return [*header, "rmse", "claimed", "evaluations", "cpu s"], rows


_SPEED = ("model", "library", "setting", "rmse of log Z", "cpu ms to 0.05", "to croupier's")
_SPEED += ("with compiling, to croupier's",)
TABLES: dict[str, Callable[[], Table]] = {
    "evidence": columns("evidence", *_SPEED),
    "evidence-modes": modes,
    "evidence-replications": replications,
}
