"""Choose who performs the batches, from workers= and executor=: processes, Dask, Ray, MPI, ...

Any executor of ``concurrent.futures`` works. An engine is one file and one line in `COUNTS`. The
line is a function that returns how many workers an executor of this engine has.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final, TypeAlias

from croupier.checks import count_of
from croupier.engines import concurrent_futures, dask, mpi, ray
from croupier.engines.executor_engine import Pool
from croupier.engines.executors import Executors
from croupier.engines.loky import processes
from croupier.errors import PlanError

__all__ = ["COUNTS", "ExecutorLike", "Executors", "Pool", "executors_of"]

ExecutorLike: TypeAlias = Executor | Callable[[], Executor]

#: Each returns how many workers an executor has, or None if it belongs to another engine.
COUNTS: Final[tuple[Callable[[Any], int | None], ...]] = (
    dask.count,
    ray.count,
    mpi.count,
    concurrent_futures.count,
)


def executors_of(
    workers: int | None, executor: ExecutorLike | None, width: int | None = None
) -> Executors:
    """Return the executors that performs the batches: processes, or the workers of an executor.

    If an executor does not report its number of workers, give `workers` or `width`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> executors_of(None, lambda: ThreadPoolExecutor(3)).workers
    3
    """
    workers = None if workers is None else count_of("workers", workers)
    if executor is None:
        return processes(1 if workers is None else workers)
    if workers is None and width is not None:
        workers = max(1, width // 2)  # the number is used only to choose the width
    if isinstance(executor, type) or not hasattr(executor, "submit"):
        return _made_by(executor, workers)
    given: Any = executor
    if hasattr(given, "get_executor"):
        raise PlanError(
            f"{given!r} is not an executor, but it has one: give executor=client.get_executor()"
        )
    steady = dask.steadied(given)
    return Executors(
        _workers(given, workers), lambda: steady, restarts=False, own=False,
        end_at_once=concurrent_futures.end_at_once, watch=dask.watch, count=_count,
        ahead=getattr(steady, "ahead", Executors.ahead),
    )  # fmt: skip


def _made_by(factory: Any, workers: int | None) -> Executors:
    wanted = f"executor must be an executor, or a function that makes one, got {factory!r}"
    if not callable(factory):
        raise PlanError(wanted)
    try:
        first = factory()
    except TypeError as error:
        raise PlanError(f"{wanted} ({error})") from error
    if not hasattr(first, "submit"):
        raise PlanError(f"{wanted}, which returns {first!r}")
    spare = [_steady(first)]

    def start() -> Executor:
        return spare.pop() if spare else _steady(factory())

    return Executors(
        _workers(first, workers), start, restarts=True, own=True,
        end_at_once=concurrent_futures.end_at_once, watch=dask.watch, count=_count,
        ahead=getattr(spare[0], "ahead", Executors.ahead),
    )  # fmt: skip


def _steady(made: Executor) -> Executor:
    steady: Executor = dask.steadied(concurrent_futures.ending_with_driver(made))
    return steady


def _count(executor: Executor) -> int | None:
    counts = (count(executor) for count in COUNTS)
    return next((one for one in counts if one is not None), None)


def _workers(executor: Any, workers: int | None) -> int:
    known = workers or _count(executor)
    if not known:
        raise PlanError(
            f"the number of workers of {executor!r} is not known: give workers=, or width="
        )
    return known
