"""Read and check what is in a store: plan, calls, outcomes, snapshot; list how two runs differ."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, Final

import croupier
from croupier.data.draws import Outcome
from croupier.data.history import Rows
from croupier.data.plan import Plan
from croupier.errors import StoreError
from croupier.estimates.intervals import INTERVALS
from croupier.store.codec import decoded, resembles
from croupier.store.database import Database, checksum, salt_of
from croupier.store.outcome_rows import COLUMNS, DETAILS, Records
from croupier.store.store_errors import all_is_damage
from croupier.tables.base import Snapped, Table
from croupier.views.formats import printable

__all__ = [
    "FORM",
    "LIMITS",
    "calls_in",
    "contents_in",
    "contents_of",
    "differences",
    "outcomes_in",
    "plan_in",
    "records_in",
    "restored",
    "run_row",
]

#: A file may hold any number. A plan has at most these.
_LARGEST_SETTINGS: Final = {"width": 10**6, "first": 10**9, "first_call": 10**9}

#: The budget and the tolerance of a call, and its number of workers, as far as they were given.
LIMITS: Final = ("draws", "seconds", "cost", "atol", "rtol", "workers")

#: What writes snapshots, and the form that they have.
FORM: Final = f"{croupier.__version__}, form 3"

#: The parts of a snapshot that are of the same kind at all times.
_OF_ONE_KIND: Final = ("told", "reported", "pending", "policy", "states")

#: The parts that say what was told: no policy and no state of an arm.
_BOOKS: Final = (
    "told", "reported", "components", "ledger", "tails", "cross", "repeats", "interval"
)  # fmt: skip

#: The fields of a plan with one entry per arm.
_PER_ARM: Final = {"versions": "version", "bounds": "bounds", "cost_bounds": "cost_bounds",
                   "learns": "learns"}  # fmt: skip


def contents_of(plan: Plan, learns: Collection[str]) -> dict[str, Any]:
    """Return a plan, and which arms learn, as plain data that has gone through JSON."""
    planned: dict[str, Any] = json.loads(json.dumps(asdict(plan)))
    return {**planned, "learns": [name in learns for name in plan.names]}


def run_row(path: Path, plan: Plan, learns: Collection[str], run_id: bytes) -> tuple[Any, ...]:
    """Return the row with the plan of a run, and with its random number."""
    try:
        contents = contents_of(plan, learns)
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"{path} cannot store the plan: {error}; the parameters of the policy must be numbers "
            "and strings"
        ) from error
    learning = json.dumps(contents.pop("learns"))
    row = (0, json.dumps(contents, sort_keys=True), learning, run_id)
    return (*row, checksum(salt_of(run_id), "run", *row))


def contents_in(database: Database) -> dict[str, Any]:
    """Return the plan of a store as plain data, and which arms learn."""
    rows = database.rows("SELECT * FROM run LIMIT 2")
    with all_is_damage(database.path):
        ((*row, stored),) = rows
        if checksum(database.salt, "run", *row) != stored:
            raise ValueError("the checksum of the plan is wrong")
        return {**json.loads(row[1]), "learns": json.loads(row[2])}


def plan_in(database: Database) -> Plan:
    """Return the plan of a store."""
    contents = contents_in(database)
    with all_is_damage(database.path):
        plan = Plan(**{name: value for name, value in contents.items() if name != "learns"})
        for name, most in _LARGEST_SETTINGS.items():
            if getattr(plan, name) > most:
                raise ValueError(f"the plan has {name} = {getattr(plan, name)}")
    return plan


def calls_in(database: Database) -> list[dict[str, Any]]:
    """Return the calls that wrote to a store: the process, the time, and how each call ended."""
    calls: list[dict[str, Any]] = []
    for number, content, stored in database.rows("SELECT * FROM calls ORDER BY id"):
        with all_is_damage(database.path):
            if checksum(database.salt, "calls", number, content) != stored or number != len(calls):
                raise ValueError(f"the checksum of call {number!r:.20} is wrong")
            calls.append(_call(json.loads(content)))
    return calls


def _call(call: Any) -> dict[str, Any]:
    kinds = {"began": str, "pid": int, "host": str, "interval": dict, "stopped": str | None,
             "seconds": float, "warnings": list}  # fmt: skip
    for name, kind in kinds.items():
        if not isinstance(call[name], kind):
            raise ValueError(f"a call has {name} = {call[name]!r:.50}")
    if call["interval"]["name"] not in INTERVALS:
        raise ValueError("the kind of an interval is not known")
    if not 0 <= call["seconds"] < math.inf:
        raise ValueError(f"a call has seconds = {call['seconds']}")
    if not all(isinstance(warning, str) for warning in call["warnings"]):
        raise ValueError("a warning is not a text")
    out = [(int(ticket), str(arm), int(size)) for ticket, arm, size in call["out"]]
    if any(ticket < 0 or size < 1 for ticket, _, size in out):
        raise ValueError(f"a call has out = {out!r:.50}")
    shown = {name: printable(call[name]) for name in ("began", "host")}
    stopped = None if call["stopped"] is None else printable(call["stopped"])
    messages = [printable(warning) for warning in call["warnings"]]
    limits = {name: float(call["limits"].get(name, math.nan)) for name in LIMITS}
    known = {name: limit for name, limit in limits.items() if 0 <= limit < math.inf}
    more = {**shown, "stopped": stopped, "warnings": messages, "out": out, "limits": known}
    return {**{name: call[name] for name in kinds}, **more}


def records_in(database: Database, plan: Plan) -> Records:
    """Return all outcomes of a store."""
    rows = database.rows(f"SELECT {COLUMNS} FROM outcomes ORDER BY ticket")
    with all_is_damage(database.path):
        return Records.read(rows, plan, database.salt)


def rows_in(database: Database, records: Records, told: int) -> Rows:
    """Return the first `told` rows of the history, with the draws if they were kept."""
    values = []
    kept = database.rows("SELECT 1 FROM details WHERE ticket < 1000 AND drawn IS NOT NULL LIMIT 1")
    if told and kept:
        first = islice(outcomes_in(database, records, 0), told)
        values = [outcome.values for outcome in first if outcome.values is not None]
    return records.rows(told, values)


def outcomes_in(database: Database, records: Records, first: int) -> Iterator[Outcome]:
    """Read the outcomes, starting at the ticket `first`, a thousand at a time."""
    query = f"SELECT {DETAILS} FROM details WHERE ticket >= ? ORDER BY ticket LIMIT 1000"
    left = int((records.ticket >= first).sum())
    while left:
        with all_is_damage(database.path):
            found = records.outcomes(database.rows(query, first))
            if not found:
                raise ValueError(f"{left} outcomes have no details")
        yield from found.values()
        left, first = left - len(found), max(found) + 1


def snapshot_in(database: Database) -> Mapping[str, str] | None:
    """Return the last snapshot, its parts still encoded; None if there is none.

    If a snapshot is of another version or form, the run is told everything again.
    """
    rows = database.rows("SELECT * FROM snapshots ORDER BY ticket DESC LIMIT 1")
    for ticket, content, stored in rows:
        with all_is_damage(database.path):
            if checksum(database.salt, "snapshots", ticket, content) != stored:
                raise ValueError(f"the checksum of the snapshot at ticket {ticket!r:.20} is wrong")
            parts: Mapping[str, str] = json.loads(content)
            if not isinstance(parts, dict) or not {*map(type, parts.values())} <= {str}:
                raise ValueError("the parts of a snapshot are not texts")
            return parts if parts.get("croupier") == FORM else None
    return None


def restored(
    database: Database, table: Table, records: Records, like: Mapping[str, Any] | None = None
) -> int:
    """Restore a table from the last snapshot; return the number of tickets that it contains.

    It is 0 if the snapshot does not help: then all outcomes are told again. `like` is the state of
    such a table that was told nothing; a table that decides nothing needs only the books.
    """
    parts = snapshot_in(database)
    if parts is None or not isinstance(table, Snapped):
        return 0
    wanted = dict.fromkeys(_BOOKS) if like is None else like
    try:
        state = {name: decoded(parts[name], part) for name, part in wanted.items()}
        alike = like is None or all(resembles(state[part], like[part]) for part in _OF_ONE_KIND)
        if not alike or table.interval.resumed(state["interval"]) is None:
            return 0  # another kind of interval must look at everything itself
    except (ValueError, TypeError, KeyError, IndexError):
        return 0
    with all_is_damage(database.path):
        told = state["told"]
        if type(told) is not int or told < 1:
            raise ValueError(f"a snapshot of {told!r:.20} outcomes")
        table.go_on_from(state, rows_in(database, records, told))
    return told


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between two runs, field by field, as "field: stored -> now".

    >>> differences(contents_of(Plan(("a", "b"), 7), ()), contents_of(Plan(("a", "c"), 7), ()))
    ["arms: 'a', 'b' -> 'a', 'c'"]
    """
    found = []
    if stored["names"] != now["names"]:
        names = [", ".join(map(repr, run["names"])) for run in (stored, now)]
        found.append(f"arms: {' -> '.join(names)}")
    for field in (*now, *(name for name in stored if name not in now)):
        before, after = stored.get(field), now.get(field)
        if field == "names" or before == after:
            continue
        if field in _PER_ARM and stored["names"] == now["names"]:
            arms = stored["names"]
            pairs = zip(
                arms, before or [None] * len(arms), after or [None] * len(arms), strict=True
            )
            found += [
                f"{_PER_ARM[field]} of arm {arm!r}: {_changed(one, other)}"
                for arm, one, other in pairs
                if one != other
            ]
        elif field == "settings":
            found += _settings(before or {}, after or {})
        elif field == "policy":
            found.append(f"policy: {_described(before)} -> {_described(after)}")
        elif field not in _PER_ARM:
            found.append(f"{field}: {before!r} -> {after!r}")
    return [printable(line) for line in found]


def _changed(before: Any, after: Any) -> str:
    """Return how two versions differ; the versions of `evidence` begin with a hash of the model."""
    messages = f"{before!r} -> {after!r}"
    models = [re.match(r"[0-9a-f]{12}\b", str(version)) for version in (before, after)]
    if all(models) and models[0][0] != models[1][0]:  # type: ignore[index]
        return f"the model has changed, its likelihood, prior or data ({messages})"
    return messages


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} of the table: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _described(policy: Any) -> str:
    rest = ", ".join(f"{name}={value!r}" for name, value in policy.items() if name != "name")
    return f"{policy['name']}({rest})"
