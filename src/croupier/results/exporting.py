"""Results in the formats of other programs: CSV, JSON, Parquet, NetCDF."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from croupier.errors import MissingExtraError
from croupier.results.frames import arm_columns
from croupier.results.result import Result

__all__ = ["arms_csv", "history_csv", "history_parquet", "json_text", "netcdf", "safe_cell"]


def safe_cell(cell: Any) -> Any:
    """Return a cell of CSV that no spreadsheet takes for a formula; numbers stay numbers.

    >>> safe_cell("=1+1"), safe_cell("@me"), safe_cell(-1.5), safe_cell("fine")
    ("'=1+1", "'@me", -1.5, 'fine')
    """
    if isinstance(cell, str) and cell.lstrip()[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{cell}"
    return cell


def _csv(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([safe_cell(title) for title in titles])
    for row in rows:
        writer.writerow(["" if cell is None else safe_cell(cell) for cell in row])
    return text.getvalue().encode()


def arms_csv(result: Result) -> bytes:
    """Return one row per arm; for vectors, a column for every component."""
    columns = arm_columns(result)
    cells = zip(*columns.values(), strict=True)
    return _csv(list(columns), [[_plain(cell) for cell in row] for row in cells])


def history_csv(result: Result) -> bytes:
    """Return one row per batch: ticket, arm, size, its cost, and the totals after it."""
    columns = result.history.columns()
    return _csv(list(columns), zip(*(column.tolist() for column in columns.values()), strict=True))


def json_text(result: Result) -> bytes:
    """Return the whole result as JSON."""
    return result.to_json().encode() + b"\n"


def history_parquet(result: Result) -> bytes:
    """Return one row per batch as Parquet."""
    made = io.BytesIO()
    frame = result.history.to_pandas()
    try:
        frame.to_parquet(made)
    except ImportError:
        raise MissingExtraError("Parquet needs", "pyarrow", "parquet") from None
    return made.getvalue()


def netcdf(result: Result) -> bytes:
    """Return estimate and arms as NetCDF."""
    data = result.to_xarray()
    try:
        return bytes(data.to_netcdf())
    except (ImportError, ValueError):
        raise MissingExtraError("NetCDF needs", "h5netcdf", "netcdf") from None


def _plain(cell: Any) -> Any:
    if isinstance(cell, np.generic):
        cell = cell.item()
    return None if isinstance(cell, float) and np.isnan(cell) else cell
