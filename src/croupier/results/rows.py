"""The rows of a result: what a run learned about every arm, and what the numbers mean."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Sequence, ValuesView
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any, Final, TypeVar, overload

import numpy as np

from croupier.data.draws import Floats
from croupier.views.summary import ArmSummary, RowWords

__all__ = [
    "ARM_COLUMNS",
    "LOG_COLUMNS",
    "WIDE",
    "ArmRow",
    "ArmRows",
    "RowMeaning",
    "arm_summary",
    "freeze",
    "plain",
]

T = TypeVar("T")


@dataclass(frozen=True)
class RowMeaning:
    """What the rows of a kind of table show, in words.

    `arms` is what the rows are called. `untested` says why the means of the arms are not tested
    for agreement. It is None if the arms share one mean: then they are tested. `efficiency` says
    what the numbers in this column are. `one_estimator` says that the arms are settings of one
    estimator: an arm that is far nearer to 0 than the leader has not seen its tail.
    """

    arms: str = "arms"
    untested: str | None = None
    efficiency: str = "precision per cost, relative to the best arm"
    one_estimator: bool = False

    @property
    def words(self) -> RowWords:
        """What a summary says about the rows."""
        return {"arms": self.arms, "untested": self.untested, "efficiency": self.efficiency}


@dataclass(frozen=True)
class ArmRow:
    """What a run learned about one arm; `None` where it is not known.

    `share` is the share of the cost; `weight` is the weight in the estimate (the mean over
    components). `stderr` is the standard error of the arm's own `mean`; `variance` is the variance
    of one draw. `cost_per_draw` is in the unit of the budget. `efficiency` is precision per cost
    relative to the best arm (1 is the best). For strata it is what one more draw would add to the
    precision: all are 1 if the allocation is optimal. `values` are the draws, if the run kept them.

    In a run of logs, `log_mean` is the log of the mean, `log_stderr` is its standard error,
    `relative_deviation` is the standard deviation of one draw divided by the mean, and `values` are
    logs. `mean`, `stderr` and `variance` are those of the draws; they are 0 or inf if they do not
    fit into a double.
    """

    name: str
    draws: int
    share: float
    weight: float
    mean: Any
    stderr: Any
    variance: Any
    cost_per_draw: float | None
    efficiency: float | None
    values: Floats | None = field(default=None, repr=False, compare=False)
    log_mean: Any = None
    log_stderr: Any = None
    relative_deviation: Any = None


class ArmRows:
    """The rows of a result: ``rows["naive"]`` by name, or iterate over all of them.

    It is a mapping with one exception: ``for row in rows`` gives the rows, not their names. The
    names are ``rows.keys()``. ``in``, ``get`` and ``items`` use names, as in any mapping. The rows
    are made when they are first read.
    """

    def __init__(self, make: Callable[[], Sequence[ArmRow]]) -> None:
        self._make = make

    @cached_property
    def _rows(self) -> dict[str, ArmRow]:
        rows = {row.name: row for row in self._make()}
        for row in rows.values():
            freeze(getattr(row, name) for name in (*WIDE, "values"))
        return rows

    def __getstate__(self) -> list[ArmRow]:
        return list(self)

    def __setstate__(self, rows: list[ArmRow]) -> None:
        self._make = partial(list, rows)

    def __getitem__(self, name: str) -> ArmRow:
        try:
            return self._rows[name]
        except KeyError:
            known = ", ".join(self._rows)
            raise KeyError(f"no arm {name!r}; the arms are {known}") from None

    def __iter__(self) -> Iterator[ArmRow]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._rows.keys()

    def values(self) -> ValuesView[ArmRow]:
        """Return the rows."""
        return self._rows.values()

    def items(self) -> ItemsView[str, ArmRow]:
        """Return the pairs of name and row."""
        return self._rows.items()

    @overload
    def get(self, name: str) -> ArmRow | None: ...
    @overload
    def get(self, name: str, default: T) -> ArmRow | T: ...
    def get(self, name: str, default: Any = None) -> Any:
        """Return the row of a name, or the default if there is no such arm."""
        return self._rows.get(name, default)

    def __repr__(self) -> str:
        return f"ArmRows({list(self._rows.values())!r})"


def freeze(numbers: Iterable[Any]) -> None:
    """Make arrays read-only."""
    for each in numbers:
        if isinstance(each, np.ndarray):
            each.setflags(write=False)


#: The columns of a run of logs.
LOG_COLUMNS: Final = ("log_mean", "log_stderr", "relative_deviation")

ARM_COLUMNS: Final = tuple(f.name for f in fields(ArmRow) if f.name not in ("values", *LOG_COLUMNS))

#: The columns that have one number per component.
WIDE: Final = ("mean", "stderr", "variance", *LOG_COLUMNS)


def arm_summary(row: ArmRow, *, log: bool) -> ArmSummary:
    """Return a row as the plain data that the views show."""
    columns = (*ARM_COLUMNS, *LOG_COLUMNS) if log else ARM_COLUMNS
    return {name: plain(getattr(row, name)) for name in columns}


def plain(value: Any) -> Any:
    """Return arrays and numpy's numbers as lists and Python's numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
