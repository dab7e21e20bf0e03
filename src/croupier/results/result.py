"""Result: one estimate, its error bar, and a row for every arm; frozen data with a face."""

from __future__ import annotations

import os
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Sequence, ValuesView
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from croupier.checks import fraction_of
from croupier.data.draws import Floats
from croupier.data.history import History
from croupier.data.ledger import Ledger
from croupier.data.log_scale import log_of, quiet, relative
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.intervals import Interval, half_width
from croupier.views.data import ArmSummary, Summary
from croupier.views.data import History as Columns

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["ArmRow", "ArmRows", "Result", "Runs", "log_ends"]

T = TypeVar("T")


@dataclass(frozen=True)
class ArmRow:
    """What a run learned about one arm; `None` where it is not known.

    `share` is that of the cost, `weight` that in the estimate (the mean over components);
    `stderr` is the standard error of the arm's own `mean`, `variance` that of one draw;
    `cost_per_draw` is in the unit of the budget; `efficiency` is precision per cost relative to
    the best arm (1 is the best): of strata, what one more draw would add, so that all are 1 where
    the allocation is optimal. `values` are the draws, if the run kept them.

    In a run of logs `log_mean` is the log of the mean, `log_stderr` its standard error,
    `relative_deviation` the standard deviation of one draw over the mean, and `values` are logs;
    `mean`, `stderr` and `variance` are those of the draws, 0 or inf where no double holds them.
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


@dataclass(frozen=True)
class Runs:
    """The runs that a merged result was made of, in their order.

    `agreement` is the p-value of the hypothesis that all of them estimate the same quantity; None,
    or NaN in an array, if that cannot be tested. `log_values` and `log_stderrs` are there for runs
    of logs.
    """

    seeds: tuple[int, ...]
    values: tuple[Any, ...]
    stderrs: tuple[Any, ...]
    agreement: Any
    log_values: tuple[Any, ...] | None = None
    log_stderrs: tuple[Any, ...] | None = None


class ArmRows:
    """The rows of a result: ``rows["naive"]`` by name, or iterate over all of them.

    A mapping but for one thing: ``for row in rows`` goes over the rows, not over their names,
    which are ``rows.keys()``. ``in``, ``get`` and ``items`` go by name, as in any mapping.
    They are made when they are first read.
    """

    def __init__(self, make: Callable[[], Sequence[ArmRow]]) -> None:
        self._make = make

    @cached_property
    def _rows(self) -> dict[str, ArmRow]:
        rows = {row.name: row for row in self._make()}
        for row in rows.values():
            _freeze(getattr(row, name) for name in (*_WIDE, "values"))
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


def _freeze(numbers: Iterable[Any]) -> None:
    for each in numbers:
        if isinstance(each, np.ndarray):
            each.setflags(write=False)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a run returns: numbers for scalar draws, read-only arrays of length d for vectors.

    `interval` is (low, high) at `confidence`; `stopped` the reason why the run ended; `agreement`
    the p-value of the hypothesis that all arms share one mean (None, or NaN in an array, if that
    cannot be tested, as between strata); `cost` is in the unit of the budget, `seconds` the wall
    time of the run. `runs` is there if several runs were merged.

    A run with ``log=True`` has the answer on the scale of logs too, and None without: `log_value`
    is log(value), `log_stderr` the relative standard error stderr/value (the delta method), and
    `log_interval` is log_value ± half-width/value. There `interval` are the exponentials of its
    ends; `value`, `stderr` and `interval` are 0 or inf where no double holds them.
    """

    value: Any
    stderr: Any
    interval: tuple[Any, Any]
    confidence: float
    draws: int
    cost: float
    seconds: float
    stopped: str | None
    arms: ArmRows
    agreement: Any
    warnings: tuple[str, ...]
    history: History
    plan: Plan
    seed: int
    _ledger: Ledger
    _pooled: Pooled
    _interval: Interval
    runs: Runs | None = None
    log_value: Any = None
    log_stderr: Any = None
    log_interval: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        logs = (self.log_value, self.log_stderr, *(self.log_interval or ()))
        _freeze((self.value, self.stderr, *self.interval, self.agreement, *logs))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # an array does not remember that it was read-only

    @property
    def unit(self) -> str:
        """The unit of the cost: draws, seconds, or what the arms report."""
        return self.plan.unit

    def confidence_interval(self, level: float) -> tuple[Any, Any]:
        """Return (low, high) at another confidence level, of the kind that the run reports."""
        if self.plan.log:
            with quiet():
                low, high = (np.exp(end) for end in self._log_ends(level))
        else:
            half = half_width(self._interval, self._pooled, fraction_of("level", level))
            half = self._ledger.spread_of(half)
            value = self._ledger.value_of(self._pooled.mean)
            low, high = value - half, value + half
        return (low[0].item(), high[0].item()) if self.history.scalar else (low, high)

    def log_confidence_interval(self, level: float) -> tuple[Any, Any]:
        """Return (low, high) on the scale of logs at another level; of a run with log=True."""
        if not self.plan.log:
            raise PlanError("this run was not one of logs: take the logs of confidence_interval")
        low, high = self._log_ends(level)
        return (low[0].item(), high[0].item()) if self.history.scalar else (low, high)

    def _log_ends(self, level: float) -> tuple[Floats, Floats]:
        half = half_width(self._interval, self._pooled, fraction_of("level", level))
        mean = self._pooled.mean
        return log_ends(log_of(mean, self._ledger.exponent), relative(half, mean))

    def __repr__(self) -> str:
        from croupier.views import content

        return f"<Result {content.line(self.to_dict())}>"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the result as a plain text table."""
        from croupier.views import result_table as table

        return table.text(self.to_dict())

    def show(self) -> None:
        """Print the table: in colours in a terminal, in plain text elsewhere."""
        from rich.console import Console

        Console().print(self)

    def __rich__(self) -> Any:
        from croupier.views import result_table as table

        return table.rich_table(self.to_dict())

    def _repr_html_(self) -> str:
        from croupier.views import result_table as table

        return table.html(self.to_dict())

    def plot(self, *, figure: Figure | None = None, component: int = 0) -> Figure:
        """Draw the estimate with its band, the share of each arm, and how good each arm is.

        Returns a matplotlib figure: ``result.plot().savefig("run.png")``.
        """
        from croupier.views import plots

        return plots.plot(self.to_dict(), self._batches(), figure=figure, component=component)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML page that needs nothing else, and return its path.

        The answer, the warnings, the table of arms, the picture (if matplotlib is installed), what
        it took, the plan, and how to run it again: ``result.report("run.html")``. The same result
        gives the same bytes.
        """
        from croupier.views import report

        runs = None if self.runs is None else asdict(self.runs)
        page = report.page(self.to_dict(), self._batches(), asdict(self.plan), runs)
        return report.write(path, page)

    def _batches(self) -> Columns:
        """Return the history as plain columns."""
        curve = self.history.curve()
        return Columns(
            names=list(self.history.names),
            arm=self.history.arm,
            batch_cost=self.history.batch_cost,
            cost=self.history.cost,
            draws=self.history.draws,
            at=curve.row,
            value=curve.value,
            half_width=curve.half_width,
        )

    def to_dict(self) -> Summary:
        """Return the result as plain data, ready for JSON but for NaN and infinity."""
        low, high = self.interval
        summary: Summary = {
            "value": _plain(self.value),
            "stderr": _plain(self.stderr),
            "low": _plain(low),
            "high": _plain(high),
            "confidence": self.confidence,
            "interval_kind": self._interval.name,
            "draws": self.draws,
            "cost": self.cost,
            "unit": self.plan.unit,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "agreement": _plain(self.agreement),
            "policy": self.plan.policy["name"],
            "combine": self.plan.combine,
            "seed": self.seed,
            "warnings": list(self.warnings),
            "arms": [_summary(row) for row in self.arms],
        }
        if self.log_interval is not None:
            log_low, log_high = self.log_interval
            summary["log"] = {
                "value": _plain(self.log_value),
                "stderr": _plain(self.log_stderr),
                "low": _plain(log_low),
                "high": _plain(log_high),
            }
            for row, arm in zip(self.arms, summary["arms"], strict=True):
                arm["log_mean"] = _plain(row.log_mean)
                arm["log_stderr"] = _plain(row.log_stderr)
                arm["relative_deviation"] = _plain(row.relative_deviation)
        if self.runs is not None:
            agreement = _plain(self.runs.agreement)
            summary["runs"] = {"seeds": list(self.runs.seeds), "agreement": agreement}
        return summary

    def to_pandas(self) -> pd.DataFrame:
        """Return the arms as a DataFrame, one row each, indexed by name; NaN: not known."""
        pandas = _needed("pandas", "pandas")
        frame = pandas.DataFrame({column: self._cells(column) for column in self._columns()})
        return frame.set_index("name")  # type: ignore[no-any-return]

    def to_xarray(self) -> xr.Dataset:
        """Return estimate and arms as a Dataset over `arm` (and `component` for vectors)."""
        xarray = _needed("xarray", "xarray")
        component = () if self.history.scalar else ("component",)
        low, high = self.interval
        data = {
            "value": (component, np.array(self.value)),
            "stderr": (component, np.array(self.stderr)),
            "low": (component, np.array(low)),
            "high": (component, np.array(high)),
        }
        if self.log_interval is not None:
            log_low, log_high = self.log_interval
            data["log_value"] = (component, np.array(self.log_value))
            data["log_stderr"] = (component, np.array(self.log_stderr))
            data["log_low"] = (component, np.array(log_low))
            data["log_high"] = (component, np.array(log_high))
        for column in self._columns()[1:]:
            wide = component if column in _WIDE else ()
            name = f"arm_{column}" if column in data else column  # "stderr" is the estimate's
            data[name] = (("arm", *wide), np.array(self._cells(column)))
        attributes = {"confidence": self.confidence, "unit": self.unit, "seed": str(self.seed)}
        names = [row.name for row in self.arms]
        return xarray.Dataset(data, coords={"arm": names}, attrs=attributes)  # type: ignore[no-any-return]

    def _columns(self) -> tuple[str, ...]:
        if self.log_interval is None:
            return _ARM_COLUMNS
        first = _ARM_COLUMNS.index("weight") + 1  # `mean` may be one that no double holds
        return (*_ARM_COLUMNS[:first], *_LOG_COLUMNS, *_ARM_COLUMNS[first:])

    def _cells(self, column: str) -> list[Any]:
        """Return one column of the arms, with NaN for what is not known."""
        wide = column in _WIDE and not self.history.scalar
        missing = np.full(np.shape(self.value), np.nan) if wide else np.nan
        cells = (getattr(row, column) for row in self.arms)
        return [missing if cell is None else cell for cell in cells]


#: The columns of a run of logs.
_LOG_COLUMNS = ("log_mean", "log_stderr", "relative_deviation")

_ARM_COLUMNS = tuple(f.name for f in fields(ArmRow) if f.name not in ("values", *_LOG_COLUMNS))

#: The columns that have one number per component.
_WIDE = ("mean", "stderr", "variance", *_LOG_COLUMNS)


def log_ends(log: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Return both ends of the interval of log(mean), log(mean) ± half/mean.

    Better for skewed draws than the logs of mean ± half: see docs/honesty.md.
    """
    if not (infinite := np.isinf(width)).any():
        return log - width, log + width
    known = np.where(infinite, 0.0, width)
    return (
        np.where(infinite, -np.inf, log - known),
        np.where(infinite, np.inf, log + known),
    )


def _summary(row: ArmRow) -> ArmSummary:
    return ArmSummary(
        name=row.name,
        draws=row.draws,
        share=row.share,
        weight=row.weight,
        mean=_plain(row.mean),
        stderr=_plain(row.stderr),
        variance=_plain(row.variance),
        cost_per_draw=row.cost_per_draw,
        efficiency=row.efficiency,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _needed(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f'{module} is not installed: pip install "croupier[{extra}]"') from None
