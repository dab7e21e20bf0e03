"""What all tests share: hypothesis that repeats itself, arms to draw from, results bit by bit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import croupier as cr


def _kernels() -> str:
    """Return where compiled kernels are kept: numba does not see that a formula has changed."""
    home = Path(cr.__file__).parent
    sources = sorted(
        [*home.glob("simulator/*.py"), *home.glob("policies/*.py"), home / "ledger.py"]
    )
    digest = blake2b(b"".join(source.read_bytes() for source in sorted(sources)), digest_size=8)
    return str(Path(tempfile.gettempdir()) / f"croupier-kernels-{digest.hexdigest()}")


os.environ.setdefault("NUMBA_CACHE_DIR", _kernels())
settings.register_profile("croupier", deadline=None, derandomize=True)
settings.load_profile("croupier")


def rough(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def fine(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 0.1, size)


@pytest.fixture
def arms() -> dict[str, Any]:
    """Two arms with mean 1, one of them a hundred times better than the other."""
    return {"rough": rough, "fine": fine}


def bits_of(result: cr.Result) -> tuple[Any, ...]:
    """Return everything that a run computed, to the last bit; not how long it took."""
    history = result.history
    numbers = (result.value, result.stderr, *result.interval, result.cost)
    columns = (history.ticket, history.arm, history.size, history.batch_cost)
    rows = [
        (row.name, row.draws, *(_bits(x) for x in (row.mean, row.variance, row.share, row.weight)))
        for row in result.arms
    ]
    exact = [_bits(x) for x in (*numbers, *columns)]
    return (*exact, rows, result.draws, repr(result.agreement), result.warnings)


def _bits(numbers: Any) -> bytes | None:
    return None if numbers is None else np.asarray(numbers).tobytes()


@pytest.fixture
def bits() -> Callable[[cr.Result], tuple[Any, ...]]:
    return bits_of
