"""A result as strict JSON, with a versioned schema, and back: docs/json.md describes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.data.epochs import new_ledger
from croupier.data.history import BATCH, Curve, History, Rows
from croupier.data.log_scale import arithmetic
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.errors import PlanError
from croupier.estimates.bet_sums import told_in
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate
from croupier.estimates.few_hits import FewHits
from croupier.estimates.intervals import INTERVALS
from croupier.results.rows import WIDE, ArmRow, ArmRows, RowMeaning

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SCHEMA", "VERSION", "plain_result", "result_fields", "runs_fields", "strict"]

SCHEMA: Final = "croupier.result"

#: A new name or meaning of a field is a new version. A field that is added is not.
VERSION: Final = 1

#: The moments of a batch, in the order of `Rows.moments`.
_MOMENTS: Final = ("origin", "exponent", "mean", "m2", "m3", "m4")


def strict(value: Any) -> Any:
    """Return plain data without NaN and infinity: None, and the texts "inf" and "-inf".

    >>> strict([1.5, float("nan"), float("-inf")])
    [1.5, None, '-inf']
    """
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, np.ndarray | np.generic):
        return strict(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    return value


def plain_result(result: Result, version: str) -> dict[str, Any]:
    """Return a result as plain data; `version` is that of croupier."""
    basis, rows = result.basis, result.history.rows()
    curve = result.history.curve()
    column = 0 if rows.scalar else slice(None)
    moments = {name: rows.moments[:, i, column] for i, name in enumerate(_MOMENTS)}
    pooled = basis.pooled
    return {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "croupier": version,
        **strict(result.as_summary()),
        "plan": strict(asdict(result.plan)),
        **({"details": strict(result.details)} if result.details else {}),
        "history": strict(
            {
                "names": result.history.names,
                **{name: rows.batches[name] for name in BATCH.names or ()},
                **moments,
                "estimates": curve._asdict(),
            }
        ),
        "basis": strict(
            {
                "scalar": rows.scalar,
                "measured": result.history.measured,
                "interval": basis.interval.state(),
                "scale": basis.scale._asdict(),
                "pooled": pooled._asdict(),
                "runs": None if result.runs is None else asdict(result.runs),
            }
        ),
    }


def result_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the result that `plain_result` has written."""
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        raise PlanError(
            f"this is not a result of croupier: it has no 'schema': '{SCHEMA}', which "
            "result.to_dict() writes"
        )
    if data.get("schema_version") != VERSION:
        raise PlanError(
            f"the result has schema_version {data.get('schema_version')!r}, and this croupier "
            f"reads {VERSION}: install the croupier that wrote it ({data.get('croupier')})"
        )
    try:
        with arithmetic(log=False):
            return _fields(data)
    except PlanError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise PlanError(f"the result is damaged: {type(error).__name__}: {error}") from error


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    basis, plan = data["basis"], Plan(**data["plan"])
    scalar = bool(basis["scalar"])
    history = _history(data["history"], plan, basis, scalar)
    log = data.get("log")
    shaped = partial(_shaped, scalar=scalar)
    return {
        "value": shaped(data["value"]),
        "stderr": shaped(data["stderr"]),
        "interval": (shaped(data["low"], -np.inf), shaped(data["high"], np.inf)),
        "confidence": float(data["confidence"]),
        "draws": int(data["draws"]),
        "cost": float(data["cost"]),
        "seconds": float(data["seconds"]),
        "stopped": data["stopped"],
        "arms": ArmRows(partial(_rows, data["arms"], scalar)),
        "agreement": None if data["agreement"] is None else shaped(data["agreement"]),
        "warnings": tuple(data["warnings"]),
        "history": history,
        "plan": plan,
        "seed": int(data["seed"]),
        "log_value": None if log is None else shaped(log["value"]),
        "log_stderr": None if log is None else shaped(log["stderr"]),
        "log_interval": None if log is None else (shaped(log["low"]), shaped(log["high"])),
        "basis": {
            "ledger": history.ledger(),
            "estimate": _estimate(basis, plan, history),
            "kind": str(data["interval_kind"]),
            "meaning": RowMeaning(**data["rows"]),
        },
        "runs": basis["runs"],
        "details": data.get("details") or {},
    }


def _estimate(basis: Mapping[str, Any], plan: Plan, history: History) -> Estimate:
    """Return what the interval is made from. Guaranteed bets are made again from the batches."""
    scale = Scale(
        _floats(basis["scale"]["origin"]), _floats(basis["scale"]["exponent"]).astype(np.int64)
    )
    pooled, state = _pooled(basis["pooled"]), basis["interval"]
    interval = INTERVALS[state["name"]].after(state, len(history))
    interval = interval.resumed(state) or interval
    if interval.follows and basis["runs"] is None:
        interval = interval.seated(plan, pooled.shared)
        for told in told_in(history.rows()):
            interval.add(told)
    return Estimate(plan, scale, pooled, interval, history.ledger())


def _history(
    plain: Mapping[str, Any], plan: Plan, basis: Mapping[str, Any], scalar: bool
) -> History:
    names = tuple(plain["names"])
    history = History(names, log=plan.log, like=new_ledger(plan))
    batches = np.empty(len(plain["ticket"]), BATCH)
    for name in BATCH.names or ():
        batches[name] = plain[name]
    moments = np.stack(
        [_floats(plain[name]).reshape(len(batches), -1) for name in _MOMENTS], axis=1
    )
    history.take(Rows(batches, np.ascontiguousarray(moments), scalar, []))
    seen = plain["estimates"]
    history.looks = Curve(
        np.array(seen["row"], np.int64), _floats(seen["value"]), _floats(seen["half_width"])
    )
    return history


def _pooled(plain: Mapping[str, Any]) -> Pooled:
    arrays = {name: _floats(plain[name]) for name in ("mean", "variance", "df", "weights")}
    few, covariance = plain.get("few"), plain.get("covariance")
    return Pooled(
        **arrays,
        varies=np.array(plain["varies"], np.bool_),
        draws=float(plain["draws"]),
        shared=bool(plain["shared"]),
        covariance=None if covariance is None else _floats(covariance),
        few=None if few is None else _few(few),
    )


def _few(plain: list[Any]) -> FewHits:
    mean, variance, largest, most = map(_floats, plain[:4])
    return FewHits(mean, variance, largest, most, *map(float, plain[4:]))


def _rows(plain: list[dict[str, Any]], scalar: bool) -> list[ArmRow]:
    known = {field.name for field in fields(ArmRow)}
    rows = []
    for each in plain:
        cells = {name: cell for name, cell in each.items() if name in known}
        for name in WIDE:
            if cells.get(name) is not None:
                cells[name] = _shaped(cells[name], scalar=scalar)
        for name in ("cost_per_draw", "efficiency"):
            cells[name] = None if cells[name] is None else float(cells[name])
        rows.append(ArmRow(**cells))
    return rows


def _floats(plain: Any) -> Floats:
    """Return numbers as an array; None is NaN, and the texts "inf" and "-inf" are infinite."""
    return np.array(plain, np.float64)


def _shaped(plain: Any, unknown: float = np.nan, *, scalar: bool) -> Any:
    numbers = _floats(plain)
    return float(unknown if plain is None else numbers) if scalar else numbers


def runs_fields(plain: dict[str, Any], scalar: bool) -> dict[str, Any]:
    """Return the fields of `Runs` with arrays for vectors."""
    if scalar:
        return {name: tuple(x) if isinstance(x, list) else x for name, x in plain.items()}
    agreement = None if plain["agreement"] is None else np.array(plain["agreement"], float)
    arrays: dict[str, Any] = {"agreement": agreement}
    for name in ("values", "stderrs", "log_values", "log_stderrs"):
        each = plain[name]
        arrays[name] = None if each is None else tuple([np.array(x, float) for x in each])
    return {**plain, "seeds": tuple(plain["seeds"]), **arrays}
