"""Result: one estimate, its error bar, and a row for every arm, as frozen data."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import croupier
from croupier.checks import fraction_of
from croupier.data.draws import Floats
from croupier.data.history import History
from croupier.data.ledger import Ledger
from croupier.data.log_scale import arithmetic, exp, log_of, relative
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.diagnostics import unnoticed
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import Interval, half_width
from croupier.functions.failures import AT_LEAST, AT_MOST
from croupier.results import frames
from croupier.results.as_json import plain_result, result_fields, runs_fields
from croupier.results.functions_of import FunctionOf, covariance_of, function_of
from croupier.results.rows import ArmRows, RowMeaning, freeze
from croupier.results.summary_of import summary_of
from croupier.views.formats import for_terminal
from croupier.views.summary import Batches, Summary

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["Basis", "Result", "Runs", "log_ends"]


@dataclass(frozen=True)
class Runs:
    """The runs that a merged result was made from, in their order.

    `agreement` is the p-value of the hypothesis that all runs estimate the same quantity. It is
    None, or NaN in an array, if this cannot be tested. `log_values` and `log_stderrs` are None
    except for runs of logs.
    """

    seeds: tuple[int, ...]
    values: tuple[Any, ...]
    stderrs: tuple[Any, ...]
    agreement: Any
    log_values: tuple[Any, ...] | None = None
    log_stderrs: tuple[Any, ...] | None = None


class Basis(NamedTuple):
    """What a result is made from. croupier needs it for intervals at other levels and to merge.

    `kind` is the name of the interval that was used.
    """

    ledger: Ledger
    estimate: Estimate
    kind: str
    meaning: RowMeaning
    run_id: str = ""

    @property
    def scale(self) -> Scale:
        """The scale of `pooled`: that of the ledger, or of a table that has no ledger."""
        return self.estimate.scale

    @property
    def pooled(self) -> Pooled:
        """The pooled numbers."""
        return self.estimate.pooled

    @property
    def interval(self) -> Interval:
        """How the error bar is made."""
        return self.estimate.interval


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a run returns: numbers for scalar draws, read-only arrays of length d for vectors.

    `interval` is (low, high) at `confidence`. `stopped` is the reason why the run ended.
    `agreement` is the p-value of the hypothesis that all arms share one mean. It is None, or NaN in
    an array, if this cannot be tested (strata, for example). `cost` is in the unit of the budget;
    `seconds` is the wall time of the run. `runs` is None unless several runs were merged.

    A run with ``log=True`` also has the answer on the scale of logs: `log_value` is log(value),
    `log_stderr` is the relative standard error stderr/value (the delta method), and `log_interval`
    is log_value ± half-width/value. In other runs these are None. With ``log=True`` the ends of
    `interval` are the exponentials of the ends of `log_interval`, and `value`, `stderr` and
    `interval` are 0 or inf if they do not fit into a double.

    `details` is what some tables add, as plain data. It is empty for most runs.
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
    basis: Basis
    runs: Runs | None = None
    log_value: Any = None
    log_stderr: Any = None
    log_interval: tuple[Any, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        logs = (self.log_value, self.log_stderr, *(self.log_interval or ()))
        freeze((self.value, self.stderr, *self.interval, self.agreement, *logs))

    @property
    def run_id(self) -> str:
        """The random number of a stored run, in hexadecimal digits; empty without a store."""
        return self.basis.run_id

    def of_run(self, run_id: str) -> Result:
        """Return the result of the stored run with this number."""
        return replace(self, basis=self.basis._replace(run_id=run_id))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # an array does not remember that it was read-only

    @property
    def proposals(self) -> tuple[dict[str, Any], ...]:
        """The normals that `Family.tune` fitted: `Normal(**each)` makes one for a next run."""
        return tuple(self.details.get("proposals", ()))

    @property
    def leader(self) -> str:
        """The arm that the policy preferred: most of the cost beyond the first draws is its."""
        return self.plan.names[self.basis.ledger.leader]

    @property
    def unnoticed(self) -> Any:
        """The bias of the leading arm that the test of agreement would not have noticed.

        A larger bias, that no other arm shares, makes the arms disagree in 84 % of runs. It is in
        the unit of the draws; for a run of logs it is relative to the value. None, or NaN in an
        array, means that no arm could be compared with the leading arm.
        """
        basis = self.basis
        if basis.meaning.untested is not None:
            bias = np.full(basis.ledger.mean.shape[1], np.nan)
        else:
            bias = unnoticed(basis.ledger)
        bias = bias / basis.pooled.mean if self.plan.log else basis.ledger.scale.spread_of(bias)
        if not self.history.scalar:
            return bias
        return None if np.isnan(bias[0]) else float(bias[0])

    @property
    def unit(self) -> str:
        """The unit of the cost: draws, seconds, or what the arms report."""
        return self.plan.unit

    def confidence_interval(self, level: float) -> tuple[Any, Any]:
        """Return (low, high) at another confidence level, of the kind that the run reports."""
        with arithmetic(self.plan.log):
            if self.plan.log:
                low, high = (exp(end) for end in self._log_ends(level))
            else:
                low, high, *_ = self.basis.estimate.ends_at(fraction_of("level", level))
        return (low[0].item(), high[0].item()) if self.history.scalar else (low, high)

    def log_confidence_interval(self, level: float) -> tuple[Any, Any]:
        """Return (low, high) on the scale of logs at another level, in a run with log=True."""
        if not self.plan.log:
            raise PlanError(
                "this run was made without log=True: take the logs of confidence_interval"
            )
        with arithmetic(log=True):
            low, high = self._log_ends(level)
        return (low[0].item(), high[0].item()) if self.history.scalar else (low, high)

    def _log_ends(self, level: float) -> tuple[Floats, Floats]:
        basis = self.basis
        half = half_width(basis.interval, basis.pooled, fraction_of("level", level))
        mean = basis.pooled.mean
        return log_ends(log_of(mean, basis.scale.exponent), relative(half, mean))

    @property
    def covariance(self) -> Floats:
        """The covariance (d, d) of the estimates."""
        with arithmetic(self.plan.log):
            return covariance_of(self)

    def of(self, function: Callable[..., Any], confidence: float | None = None) -> FunctionOf:
        """Return a function of the components, such as a ratio, by the delta method.

        >>> import croupier as cr
        >>> result = cr.integrate(lambda x: x ** [1, 2], (0, 1), draws=5000, rng=7)
        >>> round(result.of(lambda a, b: a / b).value, 3)
        1.5
        """
        return function_of(self, function, confidence)

    def __repr__(self) -> str:
        from croupier.views import table_content

        return f"<Result {table_content.line(self.as_summary())}>"

    def __str__(self) -> str:
        return for_terminal(self.summary())

    def summary(self) -> str:
        """Return the result as a plain text table."""
        from croupier.views import result_table

        return result_table.text(self.as_summary())

    def show(self) -> None:
        """Print the table: in colours in a terminal, in plain text elsewhere."""
        from rich.console import Console

        Console().print(self)

    def __rich__(self) -> Any:
        from croupier.views import result_table

        return result_table.rich_table(self.as_summary())

    def _repr_html_(self) -> str:
        from croupier.views import result_table

        return result_table.html(self.as_summary())

    def plot(self, *, figure: Figure | None = None, component: int = 0) -> Figure:
        """Draw the estimate with its band, the share of each arm, and how good each arm is.

        Returns a matplotlib figure: ``result.plot().savefig("run.png")``.
        """
        from croupier.views import plots

        return plots.plot(self.as_summary(), self._batches(), figure=figure, component=component)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML page that needs nothing else, and return its path.

        It has the answer, warnings, the table of arms, the picture (if matplotlib is installed),
        cost and time, the plan, and how to run it again. The same result gives the same bytes.
        """
        from croupier.views import report

        runs = None if self.runs is None else asdict(self.runs)
        page = report.page(self.as_summary(), self._batches(), asdict(self.plan), runs)
        return report.write(path, page)

    def _batches(self) -> Batches:
        """Return the history as plain columns."""
        curve = self.history.curve()
        return Batches(
            names=list(self.history.names),
            arm=self.history.arm,
            batch_cost=self.history.batch_cost,
            cost=self.history.cost,
            draws=self.history.draws,
            at=curve.row,
            value=curve.value,
            half_width=curve.half_width,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as strict JSON: the answer, the arms, the plan and the history.

        NaN is None, and infinity is the text "inf" or "-inf". `from_dict` makes a result of it
        again. Draws that the run kept are not in it. docs/json.md describes the fields.
        """
        return plain_result(self, croupier.__version__)

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """Return the result that `to_dict` has written.

        Its history knows the estimates at up to 200 batches; `history.at` returns the last of them.

        >>> import croupier as cr
        >>> result = cr.estimate({"coin": lambda rng, n: rng.random(n) < 0.5}, draws=1000, rng=7)
        >>> again = cr.Result.from_dict(result.to_dict())
        >>> again.value == result.value, again.interval == result.interval
        (True, True)
        """
        made = result_fields(data)
        runs = made.pop("runs")
        return cls(
            **{**made, "basis": Basis(**made["basis"])},
            runs=None if runs is None else Runs(**runs_fields(runs, made["history"].scalar)),
        )

    def as_summary(self) -> Summary:
        """Return the result as the plain data that the views show."""
        return summary_of(self)

    @property
    def between(self) -> tuple[Any, Any]:
        """Both ends of an interval that holds whatever failed calls would have returned.

        This is for on_failure="bounds": from the low end of "at least" to the high end of "at
        most". For other results it is `interval`.
        """
        names = self.plan.components or ()
        least, most = (
            [k for k, name in enumerate(names) if name.endswith(end)] for end in (AT_LEAST, AT_MOST)
        )
        if not least or len(least) != len(most):
            return self.interval
        low, high = self.interval[0][least], self.interval[1][most]
        return (float(low[0]), float(high[0])) if len(least) == 1 else (low, high)

    @property
    def components(self) -> tuple[str, ...]:
        """The names of the components of a vector: those of `names=`, or 0, 1, 2, ..."""
        names = self.plan.components
        return names or tuple(map(str, range(np.size(self.value))))

    def to_pandas(self) -> pd.DataFrame:
        """Return the arms as a DataFrame, one row each, indexed by name; NaN means not known."""
        return frames.arm_frame(self)

    def to_xarray(self) -> xr.Dataset:
        """Return estimate and arms as a Dataset over `arm` (and `component` for vectors)."""
        return frames.dataset(self)


def log_ends(log: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Return both ends of the interval of log(mean): log(mean) ± half, the relative half-width.

    For skewed draws this is better than the logs of both ends: see docs/honesty.md.
    """
    if not (infinite := np.isinf(half)).any():
        return log - half, log + half
    known = np.where(infinite, 0.0, half)
    return (
        np.where(infinite, -np.inf, log - known),
        np.where(infinite, np.inf, log + known),
    )
