"""make bench-policies: decisions per second of bandit libraries, side by side in one process.

One decision is the choice among 16 arms and learning one payoff. Every library gets its payoffs
from the same list, so that only its own work is timed. croupier updates its ledger when it is
first read, so there is a second figure: the same loop with one result at its end.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import croupier as cr
from benchmarks import pages, report

#: The policy of croupier that plays against the UCB1 of the others.
POLICY = cr.policies.UCB1(bounds=(0, 1))
ARMS = 16
KEY = ("library",)
MISSING = """{name} is not installed. `make bench-policies` and `make bench-simulator` install it
with croupier into a separate virtual environment. To do it by hand:
    pip install -c constraints.txt -e '.[compiled]' -r benchmarks/rivals.txt"""


class Player(NamedTuple):
    """Makes a number of decisions, and returns the result of all of them."""

    play: Callable[[int], None]
    result: Callable[[], object]


class Times(NamedTuple):
    """Seconds per decision: for the loop alone, and with the result at its end."""

    decision: float
    with_result: float


def load(name: str) -> Any:
    """Import a rival, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise SystemExit(MISSING.format(name=error.name)) from None


def smpybandits_policies() -> Any:
    """Return SMPyBandits.Policies, which needs an older scipy and prints a lot."""
    if not hasattr(scipy.special, "btdtri"):  # the same function has a newer name
        scipy.special.btdtri = scipy.special.betaincinv
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load("SMPyBandits.Policies")


def endless() -> Iterator[float]:
    """Return payoffs in [0, 1], without end."""
    return itertools.cycle(np.random.default_rng(0).random(10_000).tolist())


def croupier_player() -> Player:
    payoffs = endless()
    table = cr.Allocator([f"arm {k}" for k in range(ARMS)], policy=POLICY, batch="one", rng=1)

    def play(decisions: int) -> None:
        for _ in range(decisions):
            batch = table.ask()
            assert batch is not None
            table.tell(batch, [next(payoffs)])

    return Player(play, table.result)


def smpybandits_player() -> Player:
    payoffs = endless()
    policy = smpybandits_policies().UCB(ARMS)
    policy.startGame()

    def play(decisions: int) -> None:
        for _ in range(decisions):
            policy.getReward(policy.choice(), next(payoffs))

    return Player(play, lambda: policy.rewards / policy.pulls)


def mabwiser_player() -> Player:
    payoffs = endless()
    mab = load("mabwiser.mab")
    arms = list(range(ARMS))
    policy = mab.MAB(arms, mab.LearningPolicy.UCB1(alpha=1.0))
    policy.fit(arms, [next(payoffs) for _ in arms])  # it does not play each arm once by itself

    def play(decisions: int) -> None:
        for _ in range(decisions):
            policy.partial_fit([policy.predict()], [next(payoffs)])

    return Player(play, policy.predict_expectations)


#: The library, what it plays, and how.
PLAYERS: dict[str, tuple[str, Callable[[], Player]]] = {
    "croupier": (POLICY.name, croupier_player),
    "SMPyBandits": ("UCB", smpybandits_player),
    "mabwiser": ("UCB1", mabwiser_player),
}


def seconds_per_decision(
    players: dict[str, Player], decisions: int, rounds: int
) -> dict[str, Times]:
    """Return the shortest times of each, after a warm-up, measured in turns."""
    least = dict.fromkeys(players, Times(float("inf"), float("inf")))
    with np.errstate(all="ignore"):  # SMPyBandits divides by the zero pulls of its first rounds
        for player in players.values():
            player.play(decisions)
            player.result()
        for _ in range(rounds):
            for library, (play, result) in players.items():
                began = time.perf_counter()
                play(decisions)
                played = time.perf_counter()
                result()
                took = Times(played - began, time.perf_counter() - began)
                least[library] = Times(*map(min, least[library], took))
    return {library: Times(*(s / decisions for s in took)) for library, took in least.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-policies", description=__doc__)
    parser.add_argument("--decisions", type=int, default=10_000, help="in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    players = {library: build() for library, (_, build) in PLAYERS.items()}
    least = seconds_per_decision(players, options.decisions, options.rounds)
    ours = least["croupier"]
    rows = [
        {
            "library": library,
            "version": metadata.version(library),
            "policy": PLAYERS[library][0],
            "arms": ARMS,
            "µs a decision": round(1e6 * took.decision, 1),
            "decisions per second": round(1 / took.decision),
            "time to croupier's": round(took.decision / ours.decision, 2),
            "µs with the result": round(1e6 * took.with_result, 1),
            "with the result, to croupier's": round(took.with_result / ours.with_result, 2),
        }
        for library, took in least.items()
    ]
    report.write("policies-speed", rows, KEY)
    report.show("policies-speed", rows)
    pages.main()


if __name__ == "__main__":
    main()
