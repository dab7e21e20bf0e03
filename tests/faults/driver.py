"""The run that the fault harness kills: short, with snapshots. It loads nothing but croupier."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import croupier as cr
from croupier.store import connecting, log


def rough(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def fine(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 0.1, size)


def run(store: Any = None) -> cr.Result:
    """Run, or go on."""
    log._SNAPSHOT_EVERY = 10
    arms = {"rough": rough, "fine": fine}
    return cr.estimate(
        arms, draws=40, batch="one", width=3, rng=7, store=store, progress=False, keep_values=True
    )


def drive(path: str, mode: str) -> None:
    """Run with a write-ahead log, or with sqlite's journal, as in some network folders."""
    warnings.simplefilter("ignore")
    if mode == "journal":
        uri = connecting.uri_of
        connecting.uri_of = lambda path, **options: uri(path, **options, vfs="unix-dotfile")
    run(path)


if __name__ == "__main__":
    drive(*sys.argv[1:])
    print("finished", flush=True)
