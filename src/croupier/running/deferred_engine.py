"""Deferred: an engine that is made when the first batch is drawn; a finished run needs none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from croupier.data.draws import Batch, Outcome
from croupier.engines.perform import Engine

__all__ = ["Deferred"]


class Deferred:
    """Makes an engine for the first batch. To start workers takes seconds, which do not count.

    `timer` is a clock that stands still while the engine is made.
    """

    def __init__(self, make: Callable[[], Engine], clock: Callable[[], float]) -> None:
        self._make, self._clock = make, clock
        self._engine: Engine | None = None
        self._starting = 0.0
        self.keep: Callable[[Outcome], None] = lambda outcome: None

    def timer(self) -> float:
        """Return the time, without the time that it took to make the engine."""
        return self._clock() - self._starting

    def __len__(self) -> int:
        return 0 if self._engine is None else len(self._engine)

    def submit(self, batch: Batch) -> None:
        """Take a batch; the first one makes the engine."""
        if self._engine is None:
            began = self._clock()
            self._engine = self._make()
            self._engine.keep = self.keep
            self._starting = self._clock() - began
        self._engine.submit(batch)

    def next(self) -> Outcome:
        """Return the outcome of the oldest batch that is out."""
        assert self._engine is not None
        return self._engine.next()

    def rest(self, seconds: float) -> Iterator[Outcome]:
        """Return what is finished, or will be within `seconds`."""
        if self._engine is not None:
            yield from self._engine.rest(seconds)

    def close(self) -> None:
        """Release the engine, if there is one."""
        if self._engine is not None:
            self._engine.close()
