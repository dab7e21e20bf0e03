"""make bench-strata: how often the interval of `stratify` covers, and what its epochs cost.

Every family is played by the default policy (MC-UCB in epochs), by the same policy without epochs
(every draw decides about the next one) and in proportion to the weights. `ratio` is n times the
mean squared error, and `claimed` n times the mean squared standard error, both divided by the best
value (sum w_k sigma_k)^2.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import croupier as cr
from benchmarks import pages, report
from croupier.running.loop import conduct
from croupier.running.settings import settings_of
from croupier.tables.base import kind_of
from croupier.tables.strata import strata_of

Draw = Callable[[np.random.Generator, int], Any]


def exponential(scale: float) -> Draw:
    return lambda rng, size: rng.exponential(scale, size)


def lognormal(scale: float) -> Draw:
    return lambda rng, size: scale * rng.lognormal(-0.5, 1.0, size)


def normal(scale: float) -> Draw:
    return lambda rng, size: rng.normal(0.0, scale, size)


class Family(NamedTuple):
    """Strata of equal weight: `sigma` are their standard deviations, `mu` is the answer."""

    draws: tuple[Draw, ...]
    sigma: np.ndarray
    mu: float


def family(draw: Callable[[float], Draw], scales: Sequence[float], spread: float = 1.0) -> Family:
    mu = 0.0 if draw is normal else float(np.mean(scales))
    return Family(tuple([draw(scale) for scale in scales]), spread * np.array(scales), mu)


_SCALES = np.random.default_rng(5).uniform(0.5, 2.0, 100).tolist()
_NORMAL = [0.1, 0.3, 1.0, 2.0, 3.0]
_E = float(np.sqrt(np.e - 1))

FAMILIES: dict[str, tuple[Family, tuple[int, ...]]] = {
    "20 exponential": (family(exponential, [1.0] * 20), (400,)),
    "100 exponential": (family(exponential, [1.0] * 100), (1000, 2000, 10_000)),
    "100 exponential, scales 0.5 to 2": (family(exponential, _SCALES), (1000, 10_000)),
    "100 lognormal": (family(lognormal, [1.0] * 100, _E), (1000,)),
    "5 normal, deviations 0.1 to 3": (family(normal, _NORMAL), (100, 1000, 10_000)),
    "50 normal, deviations 0.1 to 3": (family(normal, _NORMAL * 10), (1000,)),
}
POLICIES = ("epochs", "no epochs", "proportional")


def played(some: Family, draws: int, policy: str, seed: int) -> cr.Result:
    """Return one run. Without epochs, the plan does not mention them."""
    arms = [cr.Arm(draw, name=f"s{k}") for k, draw in enumerate(some.draws)]
    weights = [1 / len(arms)] * len(arms)
    if policy != "no epochs":
        named = "mc-ucb" if policy == "epochs" else policy
        return cr.stratify(arms, weights, draws=draws, policy=named, rng=seed, progress=False)
    settings = settings_of(draws, rng=seed, progress=False)
    table = strata_of(weights, cr.policies.MCUCB())
    del table["settings"]["epochs"]
    names = tuple([str(arm.name) for arm in arms])
    plan = cr.Plan(names, seed, policy={"name": "mc-ucb"}, combine="strata", **table)
    if draws < 10 * len(arms):
        plan = replace(plan, first=2)
    return conduct(kind_of("strata").make, plan, arms, settings, None)


def measured(name: str, draws: int, policy: str, runs: int) -> dict[str, Any]:
    some = FAMILIES[name][0]
    first = crc32(f"{name}, {draws}".encode())  # the rows of a table are independent
    results = [played(some, draws, policy, first + run) for run in range(runs)]
    off = np.array([result.value for result in results]) - some.mu
    error = np.array([result.stderr for result in results])
    low, high = np.array([result.interval for result in results]).T
    best = float(some.sigma.mean()) ** 2 / draws
    covered = float(np.mean((low <= some.mu) & (some.mu <= high)))
    return {
        "family": name,
        "draws": draws,
        "policy": policy,
        "runs": runs,
        "covered": covered,
        "covered_se": float(np.sqrt(max(covered * (1 - covered), 0.01) / runs)),
        "bias": float(np.mean(off / error)),
        "ratio": float(np.mean(off**2) / best),
        "ratio_se": float(np.std(off**2) / best / np.sqrt(runs)),
        "claimed": float(np.mean(error**2) / best),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-strata", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--family", choices=FAMILIES, help="one family only")
    parser.add_argument("--policy", choices=POLICIES, help="one policy only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cr.CroupierWarning)
    for name in [options.family] if options.family else FAMILIES:
        for draws in FAMILIES[name][1]:
            for policy in [options.policy] if options.policy else POLICIES:
                rows = [measured(name, draws, policy, options.runs)]
                report.write("strata", rows, ("family", "draws", "policy"))
                report.show(f"{name}, {draws} draws", rows)
    pages.main()


if __name__ == "__main__":
    main()
