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


ARMS = {"rough": rough, "fine": fine}
SETTINGS: dict[str, Any] = {
    "batch": "one", "width": 3, "rng": 7, "progress": False, "keep_values": True
}  # fmt: skip


def run(store: Any = None, **settings: Any) -> cr.Result:
    """Run, or go on."""
    log._SNAPSHOT_EVERY = 10
    return cr.estimate(ARMS, **{"draws": 40, "store": store, **SETTINGS, **settings})


def drive(path: str, mode: str) -> None:
    """Run with a write-ahead log, or with sqlite's journal, as in some network folders."""
    warnings.simplefilter("ignore")
    if mode == "journal":
        uri = connecting.uri_of
        connecting.uri_of = lambda path, **options: uri(path, **options, vfs="unix-dotfile")
    run(path)


if __name__ == "__main__":
    try:
        drive(*sys.argv[1:])
    except Exception as error:
        sys.exit(print(f"{type(error).__name__}: {error}"))
    print("finished", flush=True)
