"""Simulated steps of croupier, beside other bandit libraries and without skipping.

A simulated step is measured in CPU time of one process, without compilation: the smallest of
several rounds in turns. The other libraries get a plain loop: choose an arm, take a payoff from a
list drawn beforehand, learn. croupier is timed as users call it, the whole of `simulate(...)`.
Another table compares skipping ahead with the plain kernels, over five cells of the paper's
Figure 1.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from statistics import geometric_mean
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import scipy.special

import croupier as cr
from benchmarks import runner
from benchmarks.pages import Table
from benchmarks.runner import load

# -- simulated steps

POLICIES = ("ucb1", "ucb-v", "kl-ucb", "thompson")
ARMS = (2, 16)
VARIANCES = {2: (0.08, 0.18), 16: tuple(np.linspace(0.08, 0.2, 16).round(3).tolist())}

#: Other libraries are compared with croupier at the horizon of Figure 1.
HORIZON = 1_000_000
SHORT = 100_000

#: A game of another library has this many steps: its cost per step hardly depends on the number.
STEPS = 10_000

#: The corners and the middle of Figure 1's grid: V1, and V2 - V1.
CELLS = ((0.0125, 0.0125), (0.0125, 0.125), (0.125, 0.0125), (0.125, 0.125), (0.0625, 0.0625))

#: The wanted ratios of times with 2 arms: others to croupier, and plain kernels to skipping.
WANTED = {"ucb1": 1000, "kl-ucb": 200, "thompson": 100}
WANTED_AHEAD = {"ucb1": 5, "ucb-v": 10, "kl-ucb": 20, "thompson": 30}

#: Runs of a policy in one timing, by whether they skip, the arms and the horizon.
RUNS = {
    (True, 2, HORIZON): 20, (True, 2, SHORT): 100, (True, 16, HORIZON): 2, (True, 16, SHORT): 5,
    (False, 2, HORIZON): 1, (False, 2, SHORT): 4, (False, 16, HORIZON): 1, (False, 16, SHORT): 1,
}  # fmt: skip

#: The same for the second table. Plain runs all take the same time; runs that skip do not.
RUNS_AHEAD = {True: 40, False: 4}

#: Plays a number of steps of a game.
Game = Callable[[int], object]
Key = TypeVar("Key")


class Case(NamedTuple):
    """A library and a policy, with the number of arms and of steps."""

    arms: int
    policy: str
    library: str
    plays: str
    steps: int


class Timed(NamedTuple):
    """Prepares a timing: the function that is timed, and its number of steps."""

    prepare: Callable[[], Callable[[], object]]
    steps: int


# -- other libraries


def payoffs(arms: int) -> list[list[float]]:
    """Return 1 - X^2 of scaled-Bernoulli draws, a list per arm."""
    tosses = np.random.default_rng(0).random((arms, 10_000)) < 0.5
    spread = np.sqrt(np.array(VARIANCES[arms]))[:, None]
    table: list[list[float]] = (1 - np.square(0.5 + np.where(tosses, spread, -spread))).tolist()
    return table


def wins(arms: int) -> list[list[int]]:
    """Return payoffs of 0 or 1 by coin tosses, for libraries that take nothing else."""
    table = np.array(payoffs(arms))
    tosses = np.random.default_rng(1).random(table.shape)
    tossed: list[list[int]] = (tosses < table).astype(int).tolist()
    return tossed


def endless(table: Sequence[Iterable[Any]]) -> list[Any]:
    return [itertools.cycle(row) for row in table]


def smpybandits_policies() -> Any:
    """Return SMPyBandits.Policies, which needs an older scipy and prints a lot."""
    if not hasattr(scipy.special, "btdtri"):  # the same function has a newer name
        scipy.special.btdtri = scipy.special.betaincinv
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load("SMPyBandits.Policies", "speed")


def smpybandits_game(name: str, arms: int) -> Game:
    # It compiles the bound of KL-UCB with a numba module that has a new name; this halves the time.
    sys.modules.setdefault("numba.decorators", numba)
    policy = getattr(smpybandits_policies(), name)(arms)
    policy.startGame()
    paid = endless(payoffs(arms))

    def play(steps: int) -> None:
        for _ in range(steps):
            arm = policy.choice()
            policy.getReward(arm, next(paid[arm]))

    return play


def mabwiser_game(name: str, arms: int) -> Game:
    mab = load("mabwiser.mab", "speed")
    thompson = name == "ThompsonSampling"
    rule = mab.LearningPolicy.ThompsonSampling() if thompson else mab.LearningPolicy.UCB1(alpha=1.0)
    policy = mab.MAB(list(range(arms)), rule)
    paid = endless(wins(arms) if thompson else payoffs(arms))
    policy.fit(list(range(arms)), [next(row) for row in paid])  # it does not start by itself

    def play(steps: int) -> None:
        for _ in range(steps):
            arm = policy.predict()
            policy.partial_fit([arm], [next(paid[arm])])

    return play


def rovingbandit_game(name: str, arms: int) -> Game:
    policy = getattr(load("rovingbandit", "speed"), name)(arms, seed=0)
    paid = endless(payoffs(arms))

    def play(steps: int) -> None:
        for _ in range(steps):
            arm = policy.select_arm()
            policy.update(arm, next(paid[arm]))

    return play


#: The library, its names for our policies, and how it plays them.
RIVALS: dict[str, tuple[dict[str, str], Callable[[str, int], Game]]] = {
    "SMPyBandits": (
        {"ucb1": "UCB", "ucb-v": "UCBV", "kl-ucb": "klUCB", "thompson": "Thompson"},
        smpybandits_game,
    ),
    "mabwiser": ({"ucb1": "UCB1", "thompson": "ThompsonSampling"}, mabwiser_game),
    "rovingbandit": ({"ucb1": "UCB1", "thompson": "ThompsonSampling"}, rovingbandit_game),
}


def rival(library: str, policy: str, arms: int, steps: int = STEPS) -> Timed:
    """Return a new game at every round."""
    names, build = RIVALS[library]

    def prepare() -> Callable[[], object]:
        return partial(build(names[policy], arms), steps)

    with quiet():
        prepare()()  # compiles what SMPyBandits compiles
    return Timed(prepare, steps)


def simulation(
    policy: str, variances: Sequence[float], runs: int, horizon: int, skip: bool
) -> Timed:
    """Return a call of the simulator on one thread, the same at every round."""
    problem = cr.simulator.scaled_bernoulli(variances)
    call = partial(cr.simulate, problem, policy, rng=7, threads=1, progress=False, skip=skip)
    call(1, 1000)  # compiles
    return Timed(lambda: partial(call, runs, horizon), runs * horizon)


# -- timing


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """SMPyBandits divides by the zero pulls of its first rounds, and prints the warnings."""
    with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        yield


def least_seconds(
    timed: Mapping[Key, Timed], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[Key, float]:
    """Return the shortest CPU time per step of each, measured in turns."""
    least = dict.fromkeys(timed, math.inf)
    with quiet():
        for _ in range(rounds):
            for key, (prepare, steps) in timed.items():
                play = prepare()
                began = clock()
                play()
                least[key] = min(least[key], (clock() - began) / steps)
    return least


def everybody(arms: int, policy: str) -> dict[Case, Timed]:
    """Return croupier and the others with this policy."""
    timed: dict[Case, Timed] = {}
    for (skip, among, horizon), runs in RUNS.items():
        if among == arms:
            case = Case(arms, policy, "croupier", "ahead" if skip else "plain", horizon)
            timed[case] = simulation(policy, VARIANCES[arms], runs, horizon, skip)
    for library, (names, _) in RIVALS.items():
        if policy in names:
            case = Case(arms, policy, library, names[policy], STEPS)
            timed[case] = rival(library, policy, arms)
    return timed


# -- tables


def rival_rows(seconds: Mapping[Case, float], versions: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return time per step, also divided by croupier's time with skipping at Figure 1's horizon.

    >>> ours, theirs = Case(2, "ucb1", "croupier", "ahead", HORIZON), Case(2, "ucb1", "x", "U", 9)
    >>> rows = rival_rows({ours: 2e-9, theirs: 5e-6}, {"croupier": "1", "x": "2"})
    >>> [row["to croupier's"] for row in rows], [row["wanted"] for row in rows]
    ([1.0, 2500.0], ['', 1000])
    """
    rows = []
    for case, took in seconds.items():
        ours = seconds[Case(case.arms, case.policy, "croupier", "ahead", HORIZON)]
        wanted = case.arms == 2 and case.library != "croupier" and WANTED.get(case.policy)
        rows.append(
            {
                "arms": case.arms,
                "policy": case.policy,
                "library": case.library,
                "version": versions[case.library],
                "plays": case.plays,
                "steps": case.steps,
                "ns a step": _digits(1e9 * took),
                "to croupier's": _digits(took / ours),
                "wanted": wanted or "",
            }
        )
    return rows


def ahead_rows(seconds: Mapping[tuple[str, float, float, bool], float]) -> list[dict[str, Any]]:
    """Return the time of a run with both kernels, and their ratio, for every policy and cell.

    >>> cell = ("ucb1", 0.0125, 0.125)
    >>> [row] = ahead_rows({(*cell, False): 6e-8, (*cell, True): 2e-9})
    >>> row["plain, ms a run"], row["ahead, ms a run"], row["ratio"]
    (60.0, 2.0, 30.0)
    """
    rows = []
    for (policy, first, extra, skip), plain in seconds.items():
        if not skip:
            ahead = seconds[policy, first, extra, True]
            rows.append(
                {
                    "policy": policy,
                    "V1": first,
                    "extra": extra,
                    "plain, ms a run": _digits(1e3 * HORIZON * plain),
                    "ahead, ms a run": _digits(1e3 * HORIZON * ahead),
                    "ratio": _digits(plain / ahead),
                    "wanted": WANTED_AHEAD[policy],
                }
            )
    return rows


def _digits(number: float) -> float:
    """Return four digits of a number."""
    return float(f"{number:.4g}")


def mean_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the geometric mean of every policy's ratios.

    >>> mean_rows([{"policy": "ucb1", "ratio": 2.0}, {"policy": "ucb1", "ratio": 8.0}])
    [{'policy': 'ucb1', 'geometric mean': 4.0, 'wanted': 5}]
    """
    return [
        {
            "policy": policy,
            "geometric mean": geometric_mean(r["ratio"] for r in rows if r["policy"] == policy),
            "wanted": WANTED_AHEAD[policy],
        }
        for policy in dict.fromkeys(row["policy"] for row in rows)
    ]


def beside_others(arms: int, policy: str, rounds: int) -> list[dict[str, Any]]:
    """Return the rows of one policy and one number of arms."""
    versions = {library: metadata.version(library) for library in ("croupier", *RIVALS)}
    return rival_rows(least_seconds(everybody(arms, policy), rounds), versions)


def beside_plain(policy: str, first: float, extra: float, rounds: int) -> list[dict[str, Any]]:
    """Return the row of one policy in one cell."""
    timed = {
        (policy, first, extra, skip): simulation(
            policy, (first, first + extra), RUNS_AHEAD[skip], HORIZON, skip
        )
        for skip in (False, True)
    }
    return ahead_rows(least_seconds(timed, rounds))


def _rival_cells(full: bool) -> Iterator[tuple[int, str, int]]:
    yield from ((a, p, 5 if full else 1) for a in (ARMS if full else ARMS[:1]) for p in POLICIES)


def _ahead_cells(full: bool) -> Iterator[tuple[str, float, float, int]]:
    cells = CELLS if full else CELLS[-1:]
    yield from ((p, first, extra, 5 if full else 1) for p in POLICIES for first, extra in cells)


BENCHMARKS = (
    runner.Benchmark("simulator-rivals", ("arms", "policy"), _rival_cells, beside_others),
    runner.Benchmark("simulator-ahead", ("policy", "V1", "extra"), _ahead_cells, beside_plain),
)


# -- tables


def _simulator_ahead() -> Table:
    """Return how many times as fast skipping ahead is: the least, the geometric mean, the most."""
    rows = runner.read("simulator-ahead")
    body = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        ratios = [float(row["ratio"]) for row in rows if row["policy"] == policy]
        shown = (min(ratios), geometric_mean(ratios), max(ratios))
        body.append([policy, *(f"{ratio:.3g}" for ratio in shown)])
    return ["policy", "least", "geometric mean", "most"], body


TABLES: dict[str, Callable[[], Table]] = {"simulator-ahead": _simulator_ahead}
