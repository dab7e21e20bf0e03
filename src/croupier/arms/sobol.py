"""Sobol sequences of scipy, whole also if Ctrl-C comes while the first one is made."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any, Final

import numpy as np

__all__ = ["BITS", "sobol"]

#: The binary digits of a coordinate.
BITS: Final = 30


def sobol(dimension: int, rng: np.random.Generator | None = None) -> Any:
    """Return a Sobol sequence, `scipy.stats.qmc.Sobol`, scrambled if there is an `rng`.

    >>> sobol(2).random(2).tolist()
    [[0.0, 0.0], [0.5, 0.5]]
    """
    from scipy.stats import qmc  # it takes half a second to load

    _load_tables()
    scramble = rng is not None
    try:
        return qmc.Sobol(dimension, scramble=scramble, bits=BITS, rng=rng)
    except TypeError:  # before scipy 1.15
        return qmc.Sobol(dimension, scramble=scramble, bits=BITS, seed=rng)


@lru_cache(maxsize=1)
def _load_tables() -> None:
    """Let scipy load its tables in a thread of its own.

    The first sequence of a process loads them, in code that ignores every exception. An interrupt
    there would be lost, and the points of the sequence would all be equal. Python handles signals
    in the main thread only: it waits here, and can be interrupted.
    """
    from scipy.stats import qmc

    loader = threading.Thread(target=qmc.Sobol, args=(1,), kwargs={"bits": BITS}, daemon=True)
    loader.start()
    loader.join()
