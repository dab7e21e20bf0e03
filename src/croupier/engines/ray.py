"""Ray: executor=croupier.engines.ray.RayExecutor()."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from croupier.errors import PlanError

__all__ = ["RayExecutor", "count"]


class RayExecutor(Executor):
    """Sends calls to Ray as tasks; `options` are options of a Ray task, such as ``num_cpus=4``.

    Ray is started on this machine unless it runs already (``ray.init("auto")`` for a cluster). If
    a worker dies, croupier sends the task again; Ray does not repeat it.

    >>> from croupier.engines.ray import RayExecutor
    >>> executor = RayExecutor(num_cpus=1)  # doctest: +SKIP
    >>> cr.estimate(arms, draws=10**6, executor=executor)  # doctest: +SKIP
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError:
            raise PlanError("RayExecutor needs Ray: pip install '.[ray]'") from None
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        self._ray: Any = ray
        self._cpus = float(options.get("num_cpus", 1))
        self._call = ray.remote(_call).options(**{"max_retries": 0, **options})
        self._refs: dict[Future[Any], Any] = {}

    @property
    def workers(self) -> int:
        """The number of tasks that the cluster works on at once, from its processors."""
        cpus = self._ray.cluster_resources().get("CPU", 1.0)
        return max(1, int(cpus / self._cpus)) if self._cpus else int(cpus)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call somewhere in the cluster."""
        ref = self._call.remote(fn, args, kwargs)
        future: Future[Any] = ref.future()
        self._refs[future] = ref
        future.add_done_callback(lambda done: self._refs.pop(done, None))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the calls that are out, or end them; Ray itself keeps running."""
        for ref in list(self._refs.values()):
            if wait:
                self._ray.wait([ref])
            else:
                self._ray.cancel(ref, force=True)


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


def count(executor: Any) -> int | None:
    """Return how many tasks a Ray cluster works on at once."""
    return executor.workers if isinstance(executor, RayExecutor) else None
