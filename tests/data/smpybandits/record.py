"""Record what SMPyBandits decides: python -m tests.data.smpybandits.record, from the root.

It needs SMPyBandits (the group `peers` of pyproject.toml); nothing else does. See README.md.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import scipy

from benchmarks.simulator import smpybandits_policies
from tests.data.smpybandits import recipe

#: Our name: the class in SMPyBandits.Policies, and what it is built with besides the arms.
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "ucb1": ("UCB", {}),
    "ucbv": ("UCBV", {}),
    "klucb": ("klUCBloglog", {"c": 3}),
    "klucb_fine": ("klUCBloglog", {"c": 3, "tolerance": 1e-12}),
    "klucb_log": ("klUCB", {}),
    "moss_horizon": ("MOSSH", {"horizon": recipe.ROUNDS}),
    "moss": ("MOSS", {}),
    "moss_anytime": ("MOSSAnytime", {"alpha": 1.35}),
}

#: What `decade` holds where the largest index was shared, or was no number.
TIE = 255


def decade_of(index: np.ndarray) -> int:
    """Return d where the largest index leads by 10^-d to 10^-(d+1), 0 for more, 16 for less."""
    second, first = np.sort(index)[-2:]
    if not first > second:
        return TIE
    gap = first - second
    return int(np.clip(np.floor(-np.log10(gap)), 0, 16)) if np.isfinite(gap) else 0


def play(policy: Any, table: np.ndarray, seed: int) -> np.ndarray:
    """Return, for every round, the arm, how many arms shared the largest index, and its lead.

    No arm had the largest index where one of them was not a number: a random arm was played.
    """
    np.random.seed(seed)  # noqa: NPY002 - SMPyBandits breaks ties with the global generator
    policy.startGame()
    rounds = np.empty((3, table.shape[1]), dtype=np.uint8)
    for n in range(table.shape[1]):
        arm = policy.choice()
        best = np.count_nonzero(policy.index == np.max(policy.index))
        rounds[:, n] = arm, best, decade_of(policy.index)
        policy.getReward(arm, table[arm, policy.pulls[arm]])
    return rounds


def main() -> None:
    policies = smpybandits_policies()
    tables = [recipe.payoffs_of(sequence) for sequence in range(recipe.SEQUENCES)]
    recorded: dict[str, Any] = {"payoffs": recipe.checksum()}
    for name, (kind, settings) in POLICIES.items():
        # An index that is not a number is printed about, in every round.
        with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            rounds = [
                play(getattr(policies, kind)(len(table), **settings), table, seed)
                for seed, table in enumerate(tables)
            ]
        recorded[name], recorded[f"{name}_best"], recorded[f"{name}_decade"] = np.stack(rounds, 1)
        print(f"{name}: {kind}{settings or ''}")
    np.savez_compressed(recipe.RECORDING, **recorded)
    print(f"{recipe.RECORDING.stat().st_size / 1e3:.0f} kB, scipy {scipy.__version__}")


if __name__ == "__main__":
    main()
