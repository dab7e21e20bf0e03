"""Repeat a run many times, on all cores, and keep what a benchmark needs."""

from __future__ import annotations

import multiprocessing
import os
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import croupier as cr
from benchmarks.families import FAMILIES, HARD, PROMISED, Family

CASES: dict[str, Family] = {
    **FAMILIES,
    **{family.name: family for family in (*PROMISED, *HARD)},
}
LEVELS = (0.95, 0.99)

#: The policies that need a range.
PAPER = ("ucb1", "ucb-v", "kl-ucb", "thompson", "moss", "tightest", "subgaussian-ucb", "robust-ucb")
_CHUNK = 20


@dataclass(frozen=True)
class Runs:
    """The results of many runs: draws per arm (R, K), cost, value, intervals at both levels."""

    draws: np.ndarray
    cost: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    stopped: np.ndarray

    def covered(self, mean: float, level: int = 0) -> float:
        """Return the share of the runs whose interval holds the true mean."""
        return float(((self.low[:, level] <= mean) & (mean <= self.high[:, level])).mean())


def _play(job: tuple[str, str, dict[str, Any], Sequence[int]]) -> list[tuple[Any, ...]]:
    name, policy, settings, seeds = job
    family = CASES[name]
    chosen: Any = policy
    if policy == "oracle":
        chosen = cr.policies.Fixed(f"arm {int(family.losses().argmin())}")
    elif policy in PAPER:
        chosen = family.bandit(policy)
    arms = family.named()
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            result = cr.estimate(arms, policy=chosen, rng=seed, progress=False, **settings)
            bounds = [result.confidence_interval(level) for level in LEVELS]
            rows.append(
                (
                    [row.draws for row in result.arms],
                    result.cost,
                    result.value,
                    [low for low, _ in bounds],
                    [high for _, high in bounds],
                    result.stopped,
                )
            )
    return rows


def replicate(family: Family, policy: str, runs: int, **settings: Any) -> Runs:
    """Run a family `runs` times with its own seeds; the same call gives the same numbers."""
    base = zlib.crc32(repr((family.name, policy, sorted(settings.items()))).encode()) * 1_000_000
    seeds = range(base, base + runs)
    jobs = [(family.name, policy, settings, seeds[i : i + _CHUNK]) for i in range(0, runs, _CHUNK)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        rows = [row for part in pool.imap(_play, jobs) for row in part]
    return Runs(*(np.array(column) for column in zip(*rows, strict=True)))
