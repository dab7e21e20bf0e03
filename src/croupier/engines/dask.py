"""Dask, the engine for a cluster: executor=client.get_executor()."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any

__all__ = ["DaskExecutor", "count", "steadied", "watch"]


def count(executor: Any) -> int | None:
    """Return how many tasks a Dask cluster works on at once."""
    if isinstance(executor, DaskExecutor):
        return executor.workers()
    if type(executor).__module__ != "distributed.cfexecutor":
        return None
    client = getattr(executor, "_client", None)  # it has no public name
    return None if client is None else sum(client.nthreads().values())


def steadied(executor: Any) -> Any:
    """Return an executor of Dask as one whose futures always end, and any other as it is."""
    if type(executor).__module__ == "distributed.cfexecutor" and hasattr(executor, "_kwargs"):
        return DaskExecutor(executor)
    return executor


def watch(executor: Executor) -> None:
    """End the futures whose tasks Dask has lost without a word."""
    if isinstance(executor, DaskExecutor):
        executor.end_lost()


class DaskExecutor(Executor):
    """The executor of a client, whose futures end even if the client is restarted or closed.

    The futures of Dask's own executor never end if the result of a task is lost on its way back,
    or if the client is closed.
    """

    #: How a user makes one.
    made_by = "Client(address).get_executor()"

    #: A trip to a worker of Dask takes as long as a batch of 10 ms. With two batches for each
    #: worker, a run of such batches was slower than a serial one.
    ahead = 4

    def __init__(self, given: Any) -> None:
        self._given, self._client = given, given._client
        self._out: dict[Future[Any], Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call somewhere in the cluster."""
        if self._given._shutdown or self._closed():
            raise BrokenExecutor("the Dask client, or its executor, is closed")
        task = self._client.submit(fn, *args, **{**self._given._kwargs, **kwargs})
        future: Future[Any] = Future()
        self._out[future] = task
        future.add_done_callback(self._forget)
        self._client.loop.add_callback(_pass_on, task, future)
        return future

    def end_lost(self) -> None:
        """End the futures of a closed client, and of tasks that were cancelled."""
        for future, task in list(self._out.items()):
            if self._closed():
                _fail(future, BrokenExecutor("the Dask client was closed"))
            elif task.status == "cancelled":
                _fail(future, ConnectionError("Dask has cancelled the task"))

    def workers(self) -> int | None:
        """Return how many tasks the cluster works on at once, None if the scheduler is away."""
        if self._client.status != "running":
            return None
        with suppress(Exception):  # the scheduler went away a moment ago
            threads: dict[str, int] = self._client.nthreads()
            return sum(threads.values())
        return None

    def _closed(self) -> bool:
        return self._client.status in ("closing", "closed")

    def _forget(self, future: Future[Any]) -> None:
        task = self._out.pop(future, None)
        if task is not None and future.cancelled() and not self._closed():
            with suppress(Exception):
                task.cancel()


async def _pass_on(task: Any, future: Future[Any]) -> None:
    """Wait for a task in the loop of the client, and give its result to a future."""
    try:
        result = await task._result()
    except Exception as error:
        _fail(future, error)
    except BaseException as error:  # the loop was stopped
        _fail(future, ConnectionError(f"Dask has lost the task, {type(error).__name__}"))
    else:
        with suppress(InvalidStateError):  # it was cancelled, or given up, a moment ago
            future.set_result(result)


def _fail(future: Future[Any], error: BaseException) -> None:
    with suppress(InvalidStateError):
        future.set_exception(error)
