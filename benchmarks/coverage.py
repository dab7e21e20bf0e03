"""How often the intervals hold the true value: at a fixed size, at a tolerance, at every look.

Runs of a fixed size; runs that stop at a tolerance, also with anytime=True; and guaranteed
intervals. The first group of families has a promise (0.93 to 0.965 at 95 % and a budget of at least
10^4). The second group is only reported: no method can do much better there.

The tolerance of a stop is the half-width that an oracle has after n* draws: it plays only the best
arm and knows its variance. Each row also has the cost of the run, relative to the oracle's.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import croupier as cr
from benchmarks import runner
from benchmarks.families import HARD, PROMISED, Family, Runs, replicate
from benchmarks.pages import Table, with_error
from croupier.data.draws import Floats
from croupier.estimates.bets import Bets
from croupier.estimates.intervals import FixedSize, Guaranteed, half_width, normal_quantile

SIZE = 10_000
GROUPS = {family.name: "promised" for family in PROMISED} | {f.name: "hard" for f in HARD}
CASES = {family.name: family for family in (*PROMISED, *HARD)}
FIXED = "fixed"
STOPS = ("tolerance", "anytime")


# -- a fixed size


def promise(group: str, covered: float, error: float) -> str:
    """Return whether a promised family keeps its promise, within two standard errors."""
    if group != "promised":
        return "-"
    return "ok" if 0.93 - 2 * error <= covered <= 0.965 + 2 * error else "OVER"


def fixed(name: str, mode: str, runs: int) -> dict[str, Any]:
    began, family, group = time.perf_counter(), CASES[name], GROUPS[name]
    unit = "draws" if family.costs is None else "cost"
    done = replicate(family, "variance-thompson", runs, **{unit: SIZE})
    covered = done.covered(family.mean, 0)
    error = math.sqrt(covered * (1 - covered) / runs)
    return {
        "family": name,
        "group": group,
        "mode": mode,
        "runs": runs,
        "covered_95": covered,
        "error_95": error,
        "covered_99": done.covered(family.mean, 1),
        "verdict": promise(group, covered, error),
        "seconds": round(time.perf_counter() - began, 1),
    }


# -- stops at a tolerance

#: n*: this many draws of the best arm are enough for the oracle.
ORACLES = (1_000, 4_000)
#: At most so far from 95 % is promised for a tolerance, at the last n*.
WITHIN = 0.015
#: The cost to the oracle's that is promised at the last n*. In these families draws are so skewed
#: that it takes long to know their variance.
SKEWED = ("rare-event", "lognormal-1")
MOST_COST = {"tolerance": 1.15, "anytime": 2.6}
MOST_COST_SKEWED = {"tolerance": 1.35, "anytime": 2.6}


def oracle_cost(family: Family, draws: int) -> float:
    """Return what the oracle spends: this many draws of the best arm."""
    best = int(family.losses().argmin())
    return draws * (1.0 if family.costs is None else family.costs[best])


def tolerance(family: Family, draws: int) -> float:
    """Return the half-width of the oracle's 95 % interval after this many draws."""
    best = int(family.losses().argmin())
    return normal_quantile(0.975) * math.sqrt(family.variances[best] / draws)


def play(family: Family, mode: str, draws: int, runs: int) -> Runs:
    unit = "draws" if family.costs is None else "cost"
    settings: dict[str, Any] = {
        unit: 40 * oracle_cost(family, draws),
        "atol": tolerance(family, draws),
    }
    return replicate(family, "variance-thompson", runs, anytime=mode == "anytime", **settings)


class Measured(NamedTuple):
    """The coverage and the cost of many runs, each with its standard error."""

    covered: float
    error: float
    cost: float
    cost_error: float = 0.0


def kept(family: str, mode: str, found: Measured) -> str:
    """Return whether a promised family keeps its promise, within two standard errors."""
    most = (MOST_COST_SKEWED if family in SKEWED else MOST_COST)[mode]
    low, high = (0.95, 1.0) if mode == "anytime" else (0.95 - WITHIN, 0.95 + WITHIN)
    holds = low - 2 * found.error <= found.covered <= high + 2 * found.error
    return "ok" if holds and found.cost <= most + 2 * found.cost_error else "OVER"


def stop(name: str, mode: str, runs: int) -> dict[str, Any]:
    began, family, group = time.perf_counter(), CASES[name], GROUPS[name]
    row: dict[str, Any] = {"family": name, "group": group, "mode": mode, "runs": runs}
    for draws in ORACLES:
        done = play(family, mode, draws, runs)
        covered, cost = done.covered(family.mean, 0), done.cost / oracle_cost(family, draws)
        found = Measured(
            covered,
            math.sqrt(covered * (1 - covered) / runs),
            float(cost.mean()),
            float(cost.std() / math.sqrt(runs)),
        )
        row |= {
            f"covered_95_{draws}": found.covered,
            f"error_95_{draws}": found.error,
            f"covered_99_{draws}": done.covered(family.mean, 1),
            f"cost_to_oracle_{draws}": found.cost,
            f"by_tolerance_{draws}": float((done.stopped == "tolerance").mean()),
        }
    says = kept(name, mode, found) if group == "promised" else "-"
    return {**row, "verdict": says, "seconds": round(time.perf_counter() - began, 1)}


# -- guaranteed intervals

Draw = Callable[[np.random.Generator, int], Floats]

LEVEL = math.log(2 / 0.05)
SIZES = (1_000, 10_000)

#: The anytime interval is computed beside so many runs.
COMPARED = 20


@dataclass(frozen=True)
class Bounded:
    """Arms with one mean: how each is drawn, and its upper bound; the lower bound is 0."""

    mean: float
    arms: tuple[tuple[Draw, float], ...]


def two_values(p: float, mean: float) -> tuple[Draw, float]:
    """Return an arm that is mean/p with the probability p, otherwise 0."""
    return lambda rng, size: mean / p * (rng.random(size) < p), mean / p


def beta(total: float, mean: float) -> tuple[Draw, float]:
    """Return an arm of Beta draws; the larger the total, the closer to their mean."""
    return lambda rng, size: rng.beta(total * mean, total * (1 - mean), size), 1.0


BOUNDED = {
    "one coin": Bounded(0.5, (two_values(0.5, 0.5),)),
    "2 Bernoulli arms": Bounded(0.3, tuple(two_values(p, 0.3) for p in (0.3, 0.5))),
    "3 Beta arms": Bounded(0.3, tuple(beta(total, 0.3) for total in (2, 10, 50))),
    "16 Bernoulli arms": Bounded(0.2, tuple(two_values(p, 0.2) for p in np.linspace(0.2, 0.8, 16))),
    "16 Beta arms": Bounded(0.3, tuple(beta(total, 0.3) for total in np.geomspace(1, 30, 16))),
    "16 equal Beta arms": Bounded(0.4, tuple(beta(5, 0.4) for _ in range(16))),
    "an event of 0.001": Bounded(0.001, (two_values(0.001, 0.001),)),
}


def ask_and_tell(
    family: Bounded, draws: int, seed: int, interval: Any, look: Callable[[Any], None]
) -> Any:
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
    family, richest = BOUNDED[name], -math.inf
    true = np.array([family.mean])

    def look(table: cr.Allocator) -> None:
        nonlocal richest
        assert isinstance(table.interval, Guaranteed)
        assert isinstance(table.interval.bets, Bets)
        richest = max(richest, float(table.interval.bets.won(true).max()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ask_and_tell(family, draws, seed, Guaranteed.at(draws=draws), look)
        low, high = result.interval
        half = (high - low) / 2
        basis = result.basis
        fixed = float(basis.scale.spread_of(half_width(FixedSize(), basis.pooled, 0.95))[0])
        anytime = math.nan
        if seed < compared:
            other = ask_and_tell(family, draws, seed, "anytime", lambda table: None)
            basis = other.basis
            wide = half_width(basis.interval, basis.pooled, 0.95)
            anytime = half / float(basis.scale.spread_of(wide)[0])  # 0 if it is infinite
    ratio = half / fixed if 0 < fixed < math.inf else math.nan
    return low <= family.mean <= high, richest < LEVEL, ratio, anytime


def guaranteed(name: str, draws: int, runs: int) -> dict[str, Any]:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = partial(once, name, draws, COMPARED)
        found = np.array(list(pool.map(jobs, range(runs), chunksize=10)), float)
    end, always, ratio, anytime = found.T
    return {
        "family": name,
        "draws": draws,
        "runs": runs,
        "covered": end.mean(),
        "always": always.mean(),
        "over_fixed": np.nanmedian(ratio),
        "over_fixed_90": np.nanquantile(ratio, 0.9),
        "over_anytime": np.nanmedian(anytime),
    }


# -- what is measured


def _fixed_cells(full: bool) -> Iterator[tuple[str, str, int]]:
    yield from ((name, FIXED, 4000 if full else 40) for name in CASES)


def _stop_cells(full: bool) -> Iterator[tuple[str, str, int]]:
    for mode in STOPS if full else STOPS[:1]:
        for name, family in CASES.items():
            if min(family.variances) > 0:  # an oracle needs no draws of a constant
                yield name, mode, (1000 if mode == STOPS[0] else 100) if full else 4


def _guaranteed_cells(full: bool) -> Iterator[tuple[str, int, int]]:
    for name in BOUNDED:
        yield from ((name, draws, 400 if full else 10) for draws in (SIZES if full else SIZES[:1]))


def picture() -> None:
    """Draw the coverage of every family in every mode, with two standard errors."""
    from matplotlib.figure import Figure

    rows = runner.read("coverage")
    last = ORACLES[-1]
    for row in runner.read("stops"):
        rows.append({**row, **{name: row[f"{name}_{last}"] for name in ("covered_95", "error_95")}})
    families = [name for name in CASES if any(row["family"] == name for row in rows)]
    figure = Figure(figsize=(8, 0.34 * len(families) + 1.4), layout="constrained")
    axes = figure.subplots()
    for mode, colour, shift in zip(
        (FIXED, *STOPS), ("#0072B2", "#E69F00", "#009E73"), (-0.2, 0, 0.2), strict=True
    ):
        chosen = [row for row in rows if row["mode"] == mode]
        axes.errorbar(
            [float(row["covered_95"]) for row in chosen],
            [families.index(row["family"]) + shift for row in chosen],
            xerr=[2 * float(row["error_95"]) for row in chosen],
            fmt="o", markersize=4, color=colour, label=mode,
        )  # fmt: skip
    axes.axvline(0.95, color="#444444", linewidth=0.8)
    axes.axvspan(0.93, 0.965, color="#eeeeee", zorder=0)
    axes.set_yticks(range(len(families)), families)
    axes.invert_yaxis()
    axes.set_xlabel("share of the 95 % intervals that hold the true value")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(runner.FOLDER / "coverage.png", dpi=150)


BENCHMARKS = (
    runner.Benchmark("coverage", ("family", "mode"), _fixed_cells, fixed),
    runner.Benchmark("stops", ("family", "mode"), _stop_cells, stop, picture),
    runner.Benchmark("guaranteed", ("family", "draws"), _guaranteed_cells, guaranteed),
)


# -- tables


def _covers(row: dict[str, str], at: str = "") -> str:
    """Return the coverage at 95 % with its standard error."""
    return with_error(row[f"covered_95{at}"], row[f"error_95{at}"], 3)


def _fixed_table() -> Table:
    rows = [
        [row["family"], row["group"], row["runs"], _covers(row), f"{float(row['covered_99']):.3f}"]
        for row in runner.read("coverage")
    ]
    return ["family", "group", "runs", "95 %", "99 %"], rows


def _stop_table() -> Table:
    """Return the coverage and the cost of runs that stop at a tolerance, for every interval."""
    found = {(row["family"], row["mode"]): row for row in runner.read("stops")}
    shown = [("many looks", "tolerance", draws) for draws in ORACLES]
    shown.append(("anytime", "anytime", ORACLES[-1]))
    rows = []
    for family in dict.fromkeys(family for family, _ in found):
        cells = [family]
        for _, mode, draws in shown:
            row = found.get((family, mode))
            cells += ["-", "-"] if row is None else [
                _covers(row, f"_{draws}"), f"{float(row[f'cost_to_oracle_{draws}']):.2f}"
            ]  # fmt: skip
        rows.append(cells)
    header = [(f"{name}, n* = {draws}", "cost") for name, _, draws in shown]
    return ["family", *(cell for pair in header for cell in pair)], rows


def _guaranteed_table() -> Table:
    """Return how often guaranteed intervals held, and how long they are beside the others."""
    rows = []
    for row in (row for row in runner.read("guaranteed") if row["draws"] == str(SIZES[-1])):
        over = float(row["over_anytime"])
        rows.append(
            [
                row["family"],
                row["runs"],
                f"{float(row['covered']):.3f}",
                f"{float(row['always']):.3f}",
                f"{float(row['over_fixed']):.2f} ({float(row['over_fixed_90']):.2f})",
                f"{over:.2f}" if over else "the other is infinite",
            ]
        )
    header = ["arms", "runs", "held at the end", "held at every look",
              "half-width / fixed size", "half-width / anytime"]  # fmt: skip
    return header, rows


TABLES: dict[str, Callable[[], Table]] = {
    "coverage": _fixed_table,
    "stops": _stop_table,
    "guaranteed": _guaranteed_table,
}
