"""Figure 2, who competes: each contestant estimates the price of a caplet, many times over.

To add one, write a function from what is `Asked` to `Estimates`, and a line in `CONTESTANTS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import croupier as cr
from croupier.data.draws import Floats
from croupier.errors import CroupierWarning, PlanError
from paper.cir import Caplet, Exact
from paper.cir_bank import PathBank
from paper.population import Update, collected, weighed
from paper.study import DEFAULT

__all__ = [
    "ALL_PROPOSALS",
    "BEST",
    "CONTESTANTS",
    "Asked",
    "Contestant",
    "Estimates",
    "problem",
]

#: The mixture of croupier, and the best arm in hindsight.
ALL_PROPOSALS: Final = "mixture"
BEST: Final = "best arm"

#: The simulator walks this many paths at a time: enough for its vectors, and few are unused.
_BLOCK: Final = 128

#: Runs of population Monte Carlo that are played side by side.
_TOGETHER: Final = 50


@dataclass(frozen=True, eq=False)
class Asked:
    """What every contestant is asked: estimates after some numbers of draws, in each run.

    `exact` is known to those who set the ranges of the payoffs (0 to `width` times the price) and
    to the best arm in hindsight. No draw may be used in two runs, and all randomness comes from the
    seed. With a `bank`, draws are those of its paths, and `exact` is what is true of it.
    """

    caplet: Caplet
    exact: Exact
    draws: tuple[int, ...]
    runs: int
    seed: int
    width: float = 3.0
    threads: int | None = None
    bank: PathBank | None = None

    @property
    def arms(self) -> list[cr.Arm]:
        """The arms, as `estimate` takes them."""
        return self.caplet.arms(self.exact.thetas)


class Estimates(NamedTuple):
    """What a contestant returns: `values` of shape (runs, draws).

    `pulls`, of shape (runs, draws, arms), are the draws of each arm, where there are arms;
    `weighted` says that the estimate is not the plain mean of all draws.
    """

    values: Floats
    pulls: NDArray[np.int64] | None = None
    weighted: bool = False


Contestant: TypeAlias = Callable[[Asked], Estimates]


def problem(
    caplet: Caplet,
    exact: Exact,
    width: float = 3.0,
    arms: Sequence[int] | None = None,
    bank: PathBank | None = None,
) -> Any:
    """Return the arms, or some of them, as the simulator takes them; the range of the payoffs is
    0 to `width` times the price.
    """
    from paper import cir_bank_kernel, cir_kernel

    some = list(range(len(exact.thetas)) if arms is None else arms)
    if bank is None:
        rows = np.array([[*caplet.parameters, caplet.shift_of(exact.thetas[k])] for k in some])
    else:
        rows = bank.rows()[some]
    return cr.simulator.compiled_arms(
        cir_kernel.fill if bank is None else cir_bank_kernel.fill,
        exact.variances[some],
        exact.price,
        bounds=(0.0, width * exact.price),
        block=_BLOCK,
        parameters=rows,
    )


def simulated(policy: Any) -> Contestant:
    """Return a policy that the simulator plays, one draw per decision; its estimate is the mean."""

    def play(asked: Asked) -> Estimates:
        arms = problem(asked.caplet, asked.exact, asked.width, bank=asked.bank)
        return _simulate(asked, arms, policy)

    return play


def best_arm(asked: Asked) -> Estimates:
    """Draw from the arm of least variance alone."""
    best = asked.exact.best
    arms = problem(asked.caplet, asked.exact, asked.width, [best], asked.bank)
    alone = _simulate(asked, arms, "uniform")
    pulls = np.zeros((asked.runs, len(asked.draws), len(asked.exact.thetas)), np.int64)
    pulls[:, :, best] = asked.draws
    return Estimates(alone.values, pulls)


def _simulate(asked: Asked, arms: Any, policy: Any) -> Estimates:
    simulation = cr.simulate(
        arms,
        {"it": policy},
        runs=asked.runs,
        horizon=asked.draws[-1],
        record=list(asked.draws),
        rng=asked.seed,
        threads=asked.threads,
        progress=False,
        means=True,
    )
    own = simulation["it"]
    means: Any = own.means
    return Estimates(means, own.pulls)


def default(asked: Asked) -> Estimates:
    """Run `cr.estimate` as it is, anew for every number of draws."""
    arms = asked.arms
    return _anew(
        asked, lambda draws, seed: cr.estimate(arms, draws=draws, rng=seed, progress=False)
    )


def _anew(asked: Asked, estimate: Callable[[int, Any], cr.Result]) -> Estimates:
    """Return what an estimate gives with every number of draws, in as many runs."""
    if asked.bank is not None:
        raise PlanError(
            "croupier's default and its mixture walk paths of their own: leave out the bank, or "
            "name the other contestants"
        )
    shape = (asked.runs, len(asked.draws))
    values, pulls = np.empty(shape), np.empty((*shape, len(asked.exact.thetas)), np.int64)
    for i, draws in enumerate(asked.draws):
        seeds = np.random.SeedSequence(asked.seed, spawn_key=(i,)).spawn(asked.runs)
        for run, seed in enumerate(seeds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CroupierWarning)  # a hundred draws are too few
                result = estimate(draws, seed)
            values[run, i] = result.value
            pulls[run, i] = [row.draws for row in result.arms]
    return Estimates(values, pulls, weighted=True)


def population(update: Update, size: int) -> Contestant:
    """Return population Monte Carlo with populations of `size`; see `paper.population`."""

    def play(asked: Asked) -> Estimates:
        if asked.bank is not None:
            return _populations_of(asked.bank, asked, update, size)
        parts = []
        streams = np.random.SeedSequence(asked.seed).spawn(-(-asked.runs // _TOGETHER))
        for start, seed in zip(range(0, asked.runs, _TOGETHER), streams, strict=True):
            runs = min(_TOGETHER, asked.runs - start)
            parts.append(_populations(asked, runs, update, size, np.random.default_rng(seed)))
        return Estimates(np.concatenate(parts))

    return play


def _populations(
    asked: Asked, runs: int, update: Update, size: int, rng: np.random.Generator
) -> Floats:
    """Play some runs side by side: one call of the paths serves all of them."""
    shifts = np.array([asked.caplet.shift_of(theta) for theta in asked.exact.thetas])
    alpha = np.full((runs, len(shifts)), 1 / len(shifts))
    sums, values = np.zeros(runs), np.empty((runs, len(asked.draws)))
    for start in range(0, asked.draws[-1], size):
        shape = (runs, min(size, asked.draws[-1] - start))
        # The last edge is 1 except for rounding: no draw is beyond it.
        edges = np.cumsum(alpha, axis=1)[:, None, :-1]
        source = (rng.random(shape)[..., None] >= edges).sum(axis=-1)
        payoffs, totals = np.empty(shape), np.empty(shape)
        for k, shift in enumerate(shifts):
            if many := np.count_nonzero(own := source == k):
                payoffs[own], totals[own] = asked.caplet.simulate(rng, int(many), float(shift))
        log_p = -0.5 * totals**2
        log_q = totals[..., None] * shifts - 0.5 * shifts**2 + log_p[..., None]
        with np.errstate(divide="ignore"):
            log_size = np.log(payoffs) + log_p
        value, credit = weighed(update, log_size, np.sign(payoffs), log_p, log_q, source, alpha)
        alpha = collected(credit, source, alpha)
        running = sums[:, None] + np.cumsum(value, axis=1)
        for i, n in enumerate(asked.draws):
            if start < n <= start + shape[1]:
                values[:, i] = running[:, n - start - 1] / n
        sums = running[:, -1]
    return values


def _populations_of(bank: PathBank, asked: Asked, update: Update, size: int) -> Estimates:
    """Play on the paths of a bank, in compiled code."""
    from paper.cir_bank_kernel import UPDATES, play_populations

    keys = np.random.SeedSequence(asked.seed).generate_state(asked.runs, np.uint64)
    draws, values = np.array(asked.draws), np.empty((asked.runs, len(asked.draws)))
    paths = (bank.payoffs, bank.ratios, *bank.aliases)
    play_populations(UPDATES.index(update), size, *paths, draws, keys, values)
    return Estimates(values)


def mixture(asked: Asked) -> Estimates:
    """Run `Family.estimate` as it is, anew for every number of draws."""
    family = asked.caplet.family(asked.exact.thetas)
    done = _anew(asked, lambda n, seed: family.estimate(draws=n, rng=seed, progress=False))
    return Estimates(done.values)  # what its draws are worth, no single arm's variance says


#: Everybody who competes, in the order of the figure.
CONTESTANTS: Final[dict[str, Contestant]] = {
    "uniform": simulated("uniform"),
    "ucb1": simulated(cr.policies.UCB1(clip=True)),
    "ucb-v": simulated(cr.policies.UCBV(clip=True)),
    "kl-ucb": simulated(cr.policies.KLUCB(clip=True)),
    "thompson": simulated(cr.policies.Thompson(clip=True)),
    DEFAULT: default,
    "pmc-100": population("payoff", 100),
    "pmc-1000": population("payoff", 1000),
    "pmc-printed-100": population("printed", 100),
    "pmc-printed-1000": population("printed", 1000),
    ALL_PROPOSALS: mixture,
    BEST: best_arm,
}
