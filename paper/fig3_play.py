"""Figure 3, the runs: policies play on the banks, and what they find is combined in three ways."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

import croupier as cr
from croupier.data.central_moments import effective_df
from croupier.data.draws import Floats
from croupier.data.ledger import Ledger
from croupier.estimates.combiners import COMBINERS
from croupier.simulator.players import KernelCall, players_of
from paper.fig3_bank import Bank
from paper.fig3_study import CLOCKS, COMBINED, PAPER_RUNS, Annealing, Clock, fixed
from paper.study import DEFAULT

__all__ = ["RegretCurve", "combined", "curves_of", "policies_of", "problem_of"]

#: The paper's policies scale costs by the 99 % quantile of the banks.
_QUANTILE: Final = 0.99

Pulls = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """A policy with a combination, by one clock, at the times of the study.

    `loss` is the mean squared error L(t) of a run's estimate at a deadline, in units of Z^2;
    `regret` is t^2 (L(t) - L*(t)), where L* is the loss of the best arm alone on the same random
    streams, and `stderr` its standard error; `paper` is the regret from the first 20 runs.
    `ratio` is t L/(delta V)*: that of the best arm is 1. `best`: the share of the cost that was
    spent on the best arm.
    """

    clock: Clock
    policy: str
    combine: str
    times: Floats
    loss: Floats
    regret: Floats
    stderr: Floats
    paper: Floats
    ratio: Floats
    best: Floats


def problem_of(study: Annealing, banks: Sequence[Bank], clock: Clock) -> Any:
    """Return the arms as the simulator takes them: drawn from the banks, value and cost together.

    A bank is centred at 1, which makes the mean that a run is to find exact.
    """
    return cr.simulator.recorded(
        [bank.centred for bank in banks],
        costs=[bank.costs(clock) for bank in banks],
        bounds=(0.0, _width(study, banks)),
    )


def _width(study: Annealing, banks: Sequence[Bank]) -> float:
    """Return the upper end of the range that draws are scaled by, in units of Z."""
    if math.isfinite(study.width):
        return study.width
    return max(float(bank.centred.max()) for bank in banks)


def policies_of(study: Annealing, banks: Sequence[Bank], clock: Clock) -> list[Any]:
    """Return the policies; the paper's are told a range of costs, and clip what lies outside."""
    highest_cost = max(float(np.quantile(bank.costs(clock), _QUANTILE)) for bank in banks)
    width = _width(study, banks)
    kinds = {"ucb1": "UCB1", "ucb-v": "UCBV", "kl-ucb": "KLUCB", "thompson": "Thompson"}
    return [
        cr.policies.VarianceThompson()
        if name == DEFAULT
        else getattr(cr.policies, kinds[name])(
            payoff="cost-variance", bounds=(0.0, width), cost_bounds=(0.0, highest_cost), clip=True
        )
        for name in study.policies
    ]


def curves_of(
    study: Annealing, rows: int, banks: Sequence[Bank], threads: int | None = None
) -> list[RegretCurve]:
    """Play every policy and every arm alone on the banks of one model, by both clocks."""
    return [curve for clock in CLOCKS for curve in _curves(study, rows, banks, clock, threads)]


def _curves(
    study: Annealing, rows: int, banks: Sequence[Bank], clock: Clock, threads: int | None
) -> list[RegretCurve]:
    from croupier.simulator.sampling import Sampling
    from paper.fig3_kernel import alone

    problem = problem_of(study, banks, clock)
    charge, best = problem.charge, problem.best
    sampling = Sampling(
        problem.distribution,
        problem.parameters,
        charge.distribution,
        charge.parameters,
        problem.recorded,
    )
    times = study.shares * problem.costs[-1]
    seeds = np.random.SeedSequence(study.seed, spawn_key=(rows, int(study.standardised)))
    # One key for a run, for every policy.
    keys = seeds.generate_state(study.runs, np.uint64).astype(np.uint64)
    run = partial(_in_threads, keys, times, len(banks), threads)

    single = run(lambda part: alone(sampling, part.keys, times, part.pulls))
    apart = np.square(_moments(sampling, keys, single, threads)[..., 1] - 1)
    yardstick = apart[..., best]

    def curve(policy: str, combine: str, errors: Floats, pulls: Pulls) -> RegretCurve:
        squared = times * times * (errors - yardstick)
        spent = pulls * problem.costs
        least = problem.costs.min()
        return RegretCurve(
            clock,
            policy,
            combine,
            times,
            loss=errors.mean(axis=0),
            regret=squared.mean(axis=0),
            stderr=squared.std(axis=0, ddof=1) / np.sqrt(study.runs),
            paper=squared[:PAPER_RUNS].mean(axis=0),
            ratio=times * errors.mean(axis=0) / (problem.costs * problem.variances).min(),
            # A run may have ended no draw yet at the first times: its share is 0 then.
            best=(spent[..., best] / np.maximum(spent.sum(axis=-1), least)).mean(axis=0),
        )

    curves = []
    for player in players_of(policies_of(study, banks, clock)):
        pulls = run(player.build(problem, False))
        moments = _moments(sampling, keys, pulls, threads)
        for combine in COMBINED:
            errors = np.square(combined(combine, pulls, moments) - 1)
            curves.append(curve(player.name, combine, errors, pulls))
    for k, temperatures in enumerate(study.temperatures):
        only = np.where(np.arange(len(banks)) == k, single, 0)
        curves.append(curve(fixed(temperatures), "mean", apart[..., k], only))
    return curves


def _in_threads(
    keys: NDArray[np.uint64],
    times: Floats,
    arms: int,
    threads: int | None,
    kernel: Callable[[KernelCall], None],
) -> Pulls:
    """Play all runs, some in every thread; return the pulls (runs, times, arms)."""
    pulls = np.zeros((len(keys), len(times), arms), np.int64)
    trouble = np.zeros((len(keys), 4))
    kernel(KernelCall(keys[:1], times[:1], pulls[:1, :1], trouble[:1]))  # compiles, in one thread
    _split(len(keys), threads, lambda a: kernel(KernelCall(keys[a], times, pulls[a], trouble[a])))
    return pulls


def _moments(sampling: Any, keys: NDArray[np.uint64], pulls: Pulls, threads: int | None) -> Floats:
    """Return cost, mean, M2, M3 and M4 of what was pulled: (runs, times, arms, 5)."""
    from paper.fig3_kernel import moments_at

    out = np.empty((*pulls.shape, 5))
    _split(len(keys), threads, lambda a: moments_at(sampling, keys[a], pulls[a], out[a]))
    return out


def _split(runs: int, threads: int | None, work: Callable[[slice], None]) -> None:
    """Do the work on all runs, a part of them in every thread."""
    parts = np.linspace(0, runs, 1 + min(runs, threads or os.cpu_count() or 1)).astype(int)
    with ThreadPoolExecutor(len(parts) - 1) as pool:
        list(pool.map(work, map(slice, parts[:-1].tolist(), parts[1:].tolist())))


# -- combining many runs at once


@dataclass(frozen=True)
class _Ledgers:
    """Many runs with one leading arm, as a combiner looks at a ledger of one component.

    Arrays have the arms first and the runs last.
    """

    leader: int
    is_led: bool
    count: Floats
    price: Floats
    mean: Floats
    variance: Floats
    df: Floats


def combined(combine: str, pulls: Pulls, moments: Floats) -> Floats:
    """Return the estimate of every run at every time, by the combiner of that name.

    The formulas are those of `croupier.estimates.combiners`, for all runs together in which
    the same arm has the most cost spent.
    """
    flat_pulls = pulls.reshape(-1, pulls.shape[-1])
    flat = moments.reshape(-1, *moments.shape[-2:])
    value = np.full(len(flat), np.nan)
    leaders = flat[..., 0].argmax(axis=1)
    arms = flat_pulls.shape[1]
    led = flat_pulls[np.arange(len(flat)), leaders] >= arms / 2
    drawn = flat_pulls.sum(axis=1) > 0
    for leader, is_led in itertools.product(np.unique(leaders).tolist(), (True, False)):
        runs = np.flatnonzero((leaders == leader) & (led == is_led) & drawn)
        ledgers = _ledgers(flat_pulls[runs], flat[runs], leader, is_led=is_led)
        weights = COMBINERS[combine](cast(Ledger, ledgers))
        value[runs] = (weights * ledgers.mean).sum(axis=0)[0]
    return value.reshape(pulls.shape[:-1])


def _ledgers(pulls: Pulls, moments: Floats, leader: int, *, is_led: bool) -> _Ledgers:
    count = pulls.T.astype(float)
    cost, mean, m2, _, m4 = moments.T
    varies = m2 > 0
    df = effective_df(count, np.where(varies, m2, 1.0), np.where(varies, m4, 1.0))
    price = np.divide(cost, count, out=np.full_like(cost, np.nan), where=count > 0)
    variance = m2 / np.maximum(count - 1, 1)
    return _Ledgers(
        leader, is_led, count, price, mean[:, None], variance[:, None], np.maximum(df, 1.0)[:, None]
    )
