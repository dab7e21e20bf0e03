"""Results in the formats of other programs: CSV, JSON, Parquet, NetCDF."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from croupier.errors import MissingExtraError
from croupier.results.frames import arm_columns
from croupier.results.result import Result

__all__ = ["arms_csv", "history_csv", "history_parquet", "json_text", "netcdf", "safe_cell"]

#: Unicode's categories of control characters and of ends of lines and paragraphs.
_CONTROLS = ("Cc", "Zl", "Zp")


def safe_cell(cell: Any) -> Any:
    """Return a cell of CSV that no spreadsheet takes for a formula; numbers stay numbers.

    A spreadsheet may read full-width signs as the plain ones. Ends of lines, and all control
    characters but the tab, become spaces: many readers split a row there, also inside quotes.

    >>> safe_cell("=1+1"), safe_cell("@me"), safe_cell(-1.5), safe_cell("fine")
    ("'=1+1", "'@me", -1.5, 'fine')
    """
    if not isinstance(cell, str):
        return cell
    text = "".join(
        " " if one != "\t" and unicodedata.category(one) in _CONTROLS else one for one in cell
    )
    start = unicodedata.normalize("NFKC", text).lstrip()[:1]
    return f"'{text}" if start in ("=", "+", "-", "@") else text


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
