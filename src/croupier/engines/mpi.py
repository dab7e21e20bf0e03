"""MPI: executor=mpi4py.futures.MPIPoolExecutor()."""

from __future__ import annotations

from typing import Any

__all__ = ["count"]


def count(executor: Any) -> int | None:
    """Return how many processes an MPI pool has, after they have started."""
    if not type(executor).__module__.startswith("mpi4py.futures"):
        return None
    executor.bootup()
    return int(executor.num_workers) or None
