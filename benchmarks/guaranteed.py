"""make bench-guaranteed: does a guaranteed interval hold at every look, and what does it cost?

Every run is dealt by the default policy. After every batch it is checked whether the interval holds
the true mean. At the end, its half-width is divided by that of the other two intervals, from the
same draws.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report
from croupier.data.draws import Floats
from croupier.estimates.bets import Bets
from croupier.estimates.intervals import FixedSize, Guaranteed, half_width

Draw = Callable[[np.random.Generator, int], Floats]

LEVEL = math.log(2 / 0.05)
SIZES = (1_000, 10_000)


@dataclass(frozen=True)
class Family:
    """Arms with one mean: how each is drawn, and its upper bound; the lower bound is 0."""

    mean: float
    arms: tuple[tuple[Draw, float], ...]


def two_values(p: float, mean: float) -> tuple[Draw, float]:
    """Return an arm that is mean/p with the probability p, otherwise 0."""
    return lambda rng, size: mean / p * (rng.random(size) < p), mean / p


def beta(total: float, mean: float) -> tuple[Draw, float]:
    """Return an arm of Beta draws; the larger the total, the closer to their mean."""
    return lambda rng, size: rng.beta(total * mean, total * (1 - mean), size), 1.0


FAMILIES = {
    "one coin": Family(0.5, (two_values(0.5, 0.5),)),
    "2 Bernoulli arms": Family(0.3, tuple(two_values(p, 0.3) for p in (0.3, 0.5))),
    "3 Beta arms": Family(0.3, tuple(beta(total, 0.3) for total in (2, 10, 50))),
    "16 Bernoulli arms": Family(0.2, tuple(two_values(p, 0.2) for p in np.linspace(0.2, 0.8, 16))),
    "16 Beta arms": Family(0.3, tuple(beta(total, 0.3) for total in np.geomspace(1, 30, 16))),
    "16 equal Beta arms": Family(0.4, tuple(beta(5, 0.4) for _ in range(16))),
    "an event of 0.001": Family(0.001, (two_values(0.001, 0.001),)),
}


def play(family: Family, draws: int, seed: int, interval: Any, look: Callable[[Any], None]) -> Any:
    """Play one run by ask and tell, and look after every batch."""
    names = [f"arm {k}" for k in range(len(family.arms))]
    bounds = [(0.0, high) for _, high in family.arms]
    table = cr.Allocator(names, bounds=bounds, rng=seed, interval=interval)
    drawn = dict(zip(names, (draw for draw, _ in family.arms), strict=True))
    left = draws
    while (batch := table.ask(draws_left=left)) is not None:
        table.tell(batch, drawn[batch.arm](batch.rng(), batch.size))
        left -= batch.size
        look(table)
    return table.result()


def once(name: str, draws: int, compared: int, seed: int) -> tuple[bool, bool, float, float]:
    """Return whether the interval held at the end and always, and both ratios of half-widths."""
    family, richest = FAMILIES[name], -math.inf
    true = np.array([family.mean])

    def look(table: cr.Allocator) -> None:
        nonlocal richest
        assert isinstance(table.interval, Guaranteed)
        assert isinstance(table.interval.bets, Bets)
        richest = max(richest, float(table.interval.bets.won(true).max()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = play(family, draws, seed, Guaranteed.at(draws=draws), look)
        low, high = result.interval
        half = (high - low) / 2
        basis = result.basis
        fixed = float(basis.scale.spread_of(half_width(FixedSize(), basis.pooled, 0.95))[0])
        anytime = math.nan
        if seed < compared:
            other = play(family, draws, seed, "anytime", lambda table: None)
            basis = other.basis
            wide = half_width(basis.interval, basis.pooled, 0.95)
            anytime = half / float(basis.scale.spread_of(wide)[0])  # 0 if it is infinite
    ratio = half / fixed if 0 < fixed < math.inf else math.nan
    return low <= family.mean <= high, richest < LEVEL, ratio, anytime


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-guaranteed", description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--compared", type=int, default=20, help="runs with an anytime interval")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers) as pool:
        for name in FAMILIES:
            for draws in SIZES:
                run = partial(once, name, draws, options.compared)
                found = np.array(list(pool.map(run, range(options.runs), chunksize=10)), float)
                end, always, ratio, anytime = found.T
                rows.append(
                    {
                        "family": name,
                        "draws": draws,
                        "runs": options.runs,
                        "covered": end.mean(),
                        "always": always.mean(),
                        "over_fixed": np.nanmedian(ratio),
                        "over_fixed_90": np.nanquantile(ratio, 0.9),
                        "over_anytime": np.nanmedian(anytime),
                    }
                )
    report.write("guaranteed", rows, ("family", "draws"))
    report.show("guaranteed intervals at 95 %", rows)
    pages.main()


if __name__ == "__main__":
    main()
