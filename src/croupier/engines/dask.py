"""Dask, the engine for a cluster: executor=client.get_executor()."""

from __future__ import annotations

from typing import Any

__all__ = ["count"]


def count(executor: Any) -> int | None:
    """Return how many tasks a Dask cluster works on at once."""
    if type(executor).__module__ != "distributed.cfexecutor":
        return None
    client = getattr(executor, "_client", None)  # it has no public name
    return None if client is None else sum(client.nthreads().values())
