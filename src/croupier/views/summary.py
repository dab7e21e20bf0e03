"""Summary: a result as plain data, which is all that the views see of it."""

from __future__ import annotations

from typing import Any, NotRequired, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArmSummary", "Batches", "RowWords", "Summary", "components", "example", "shown_arms"]


#: One arm's part in a run: the columns of `ArmRow` in croupier.results as plain data, None where
#: nothing is known. Without `stderr`, that of the mean is sqrt(variance / draws).
ArmSummary: TypeAlias = dict[str, Any]


class LogSummary(TypedDict):
    """The answer of a run of logs, on the scale of logs."""

    value: float | list[float]
    stderr: float | list[float]
    low: float | list[float]
    high: float | list[float]


class RunsSummary(TypedDict):
    """The runs that were merged."""

    seeds: list[int]
    agreement: float | list[float] | None  # p-value; None, or NaN in a list: not testable


class RowWords(TypedDict):
    """What the rows of a run show, in words: see `RowMeaning` in croupier.results."""

    arms: str
    untested: str | None  # why the means of the arms are not compared; None: they are
    efficiency: str


class Slice(TypedDict):
    """A plane of normal space: what a surrogate says there, and the points of all calls."""

    axes: list[int]  # the two coordinates
    at: list[float]  # the places of the grid, for both
    chance: list[list[float]]  # of failure, by the surrogate
    limit: list[list[float]]  # the surrogate, which is 0 at the limit
    points: list[list[float]]  # of the calls
    fails: list[bool]
    fresh: list[bool]  # made for the estimate, not to learn
    through: bool  # whether other coordinates are fixed, at those of the nearest design point


class Summary(TypedDict):
    """A run and its answer: floats for scalar draws, lists of d floats for vectors.

    While no arm has varied, ``stderr`` is NaN and the interval reaches from -inf to inf.
    """

    value: float | list[float]
    stderr: float | list[float]
    low: float | list[float]
    high: float | list[float]
    confidence: float
    interval_kind: str  # "fixed-size", "guaranteed", "clopper-pearson" and others
    draws: int
    cost: float
    unit: str  # "draws" | "seconds" | "cost"
    seconds: float  # wall time of the run
    stopped: str | None  # None: it is still running
    agreement: float | list[float] | None  # p-value; None, or NaN in a list: not testable
    leader: str  # the arm that was preferred
    unnoticed: float | list[float] | None  # a bias of the leader that the test would not see
    policy: str
    combine: str
    seed: int
    warnings: list[str]
    arms: list[ArmSummary]
    table: str  # the kind of table that the run was played at
    rows: RowWords
    components: NotRequired[list[str]]  # the names of the components, if they have names
    runs: NotRequired[RunsSummary]
    log: NotRequired[LogSummary]
    facts: NotRequired[list[tuple[str, str]]]  # what a kind of table has to say besides its rows
    shown: NotRequired[list[str]]  # the rows that are shown; without it all
    slices: NotRequired[list[Slice]]  # of a surrogate


class Batches(TypedDict):
    """A run batch by batch: T rows in ticket order, and the estimate at P of them.

    The estimate of a run of logs is on the scale of logs.
    """

    names: list[str]  # of the arms, by index
    cost: NDArray[Any]  # (T,) spent after the batch
    draws: NDArray[Any]  # (T,) made after the batch
    arm: NDArray[Any]  # (T,) index into names
    batch_cost: NDArray[Any]  # (T,)
    at: NDArray[Any]  # (P,) rows at which the estimate was evaluated
    value: NDArray[Any]  # (P,) or (P, d)
    half_width: NDArray[Any]  # (P,) or (P, d), at the confidence of the run


def components(value: object) -> list[float]:
    """Return a scalar or a vector as a list of floats.

    >>> components(1.5), components([1, 2])
    ([1.5], [1.0, 2.0])
    """
    return [float(x) for x in np.atleast_1d(np.asarray(value, dtype=float))]


def shown_arms(summary: Summary) -> list[ArmSummary]:
    """Return the arms that say something about the answer: those that their kind of table shows.

    >>> [arm["name"] for arm in shown_arms(example())]
    ['naive', 'tilted']
    """
    only = summary.get("shown")
    return [arm for arm in summary["arms"] if only is None or arm["name"] in only]


def example() -> Summary:
    """Return a small run, for examples and tests.

    >>> [arm["name"] for arm in example()["arms"]]
    ['naive', 'tilted']
    """
    naive, tilted = (
        ArmSummary(name=name, draws=draws, share=draws / 1000, mean=mean, variance=variance,
                   cost_per_draw=1.0, efficiency=efficiency, weight=weight)
        for name, draws, mean, variance, efficiency, weight in (
            ("naive", 100, 0.48, 0.25, 0.04, 0.02), ("tilted", 900, 0.5031, 0.01, 1.0, 0.98),
        )
    )  # fmt: skip
    return Summary(
        value=0.5026, stderr=0.0033, low=0.4961, high=0.5091, confidence=0.95,
        interval_kind="fixed-size", draws=1000, cost=1000.0, unit="draws", seconds=0.0021,
        stopped="draws", agreement=0.64, leader="tilted", unnoticed=0.14,
        policy="variance-thompson", combine="guarded", seed=7, warnings=[], arms=[naive, tilted],
        table="independent", rows={"arms": "arms", "untested": None,
                                   "efficiency": "precision per cost, relative to the best arm"},
    )  # fmt: skip
