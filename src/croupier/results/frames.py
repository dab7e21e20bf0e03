"""A result as a DataFrame, as a Dataset, and as plain columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from croupier.errors import MissingExtraError
from croupier.results.rows import ARM_COLUMNS, LOG_COLUMNS, WIDE

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from croupier.results.result import Result

__all__ = ["arm_columns", "arm_frame", "dataset"]


def arm_frame(result: Result) -> pd.DataFrame:
    """Return the arms as a DataFrame, one row each, indexed by name; NaN means not known."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise MissingExtraError("to_pandas needs", "pandas", "pandas") from None
    frame = pd.DataFrame({column: _cells(result, column) for column in _columns(result)})
    return frame.set_index("name")


def arm_columns(result: Result) -> dict[str, list[Any]]:
    """Return the arms as columns; a column of a vector becomes one column per component."""
    columns: dict[str, list[Any]] = {}
    for name in _columns(result):
        cells = _cells(result, name)
        if name in WIDE and not result.history.scalar:
            for j, component in enumerate(result.components):
                columns[f"{name}_{component}"] = [cell[j] for cell in cells]
        else:
            columns[name] = cells
    return columns


def dataset(result: Result) -> xr.Dataset:
    """Return estimate and arms as a Dataset over `arm` (and `component` for vectors)."""
    try:
        import xarray as xr
    except ModuleNotFoundError:
        raise MissingExtraError("to_xarray needs", "xarray", "xarray") from None
    component = () if result.history.scalar else ("component",)
    low, high = result.interval
    data = {
        "value": (component, np.array(result.value)),
        "stderr": (component, np.array(result.stderr)),
        "low": (component, np.array(low)),
        "high": (component, np.array(high)),
    }
    if result.log_interval is not None:
        log_low, log_high = result.log_interval
        data["log_value"] = (component, np.array(result.log_value))
        data["log_stderr"] = (component, np.array(result.log_stderr))
        data["log_low"] = (component, np.array(log_low))
        data["log_high"] = (component, np.array(log_high))
    for column in _columns(result)[1:]:
        wide = component if column in WIDE else ()
        name = f"arm_{column}" if column in data else column  # "stderr" is the estimate's
        data[name] = (("arm", *wide), np.array(_cells(result, column)))
    attributes = {"confidence": result.confidence, "unit": result.unit, "seed": str(result.seed)}
    coordinates: dict[str, Any] = {"arm": [row.name for row in result.arms]}
    if component:
        coordinates["component"] = list(result.components)
    return xr.Dataset(data, coords=coordinates, attrs=attributes)


def _columns(result: Result) -> tuple[str, ...]:
    if result.log_interval is None:
        return ARM_COLUMNS
    first = ARM_COLUMNS.index("weight") + 1  # first the logs: `mean` may not fit into a double
    return (*ARM_COLUMNS[:first], *LOG_COLUMNS, *ARM_COLUMNS[first:])


def _cells(result: Result, column: str) -> list[Any]:
    """Return one column of the arms, with NaN for what is not known."""
    wide = column in WIDE and not result.history.scalar
    missing = np.full(np.shape(result.value), np.nan) if wide else np.nan
    cells = (getattr(row, column) for row in result.arms)
    return [missing if cell is None else cell for cell in cells]
