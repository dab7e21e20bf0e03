"""Forge stores: rows that croupier never wrote, with checksums that are right."""

from __future__ import annotations

import json
import signal
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from croupier.store.database import checksum, salt_of

DEEP: Any = 0
for _ in range(600):
    DEEP = [DEEP]

#: What may stand in the place of any part of a JSON text.
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**53, 2**63, 10**400, -(10**400), 1.5, 1e308, "", "x",
    "\x1b[31mred\x07\r\n", "é" * 1000, [], {}, [[]], [0] * 1000, {"": {}}, DEEP, {"name": []},
    {"name": "greedy"}, {"like": None}, {"like": []}, {"t": []}, {"d": []}, {"d": [["a", 1]]},
    {"f": "0x1p+1023"}, {"f": "000000000000f87f"}, {"f": "zz"}, {"b": "AAAA"},
    {"a": ["<f8", "C", [0], ""]}, {"a": ["<f8", "C", [0, 2**40], ""]},
    {"a": ["<f8", "C", [1], "AAAAAAAAAAA="]}, {"n": ["<f8", "C", [], "AAAAAAAA+H8="]},
    {"a": ["<i8", "C", [1], "//////////8="]}, {"a": ["|b1", "F", [1, 1], "AQ=="]},
]  # fmt: skip

#: Whole texts and blobs.
TEXTS: list[Any] = [
    None, "", "{", "{}", "[]", "null", "1", "NaN", "[" * 100_000, '{"a":' * 50_000, "9" * 5000,
    '"\\ud800"', "\x1b[2J", b"", b"\x80\x04K\x01.", 7, 1.5,
]  # fmt: skip

FLOATS = [
    np.nan, np.inf, -np.inf, -1.0, -0.0, 0.5, 5e-324, 1e308, -1e308, 1e15, 2.0**31, 2.0**53 - 1,
    2.0**53, 2.0**63, 1e9,
]  # fmt: skip

COLUMNS = {
    "run": ("id", "plan", "arms", "run_id"),
    "calls": ("id", "content"),
    "outcomes": ("ticket", "arm", "size", "head"),
    "details": ("ticket", "extremes", "extra", "drawn"),
    "snapshots": ("ticket", "content"),
}


class Forger:
    """Changes one or two things in a store, and makes the checksums right again."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.done: list[str] = []

    def one_of(self, things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def forge(self, path: Path) -> None:
        """Forge the store."""
        self.done = []
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            for _ in range(1 + int(self.rng.random() < 0.2)):
                self._change(database, self.one_of(["run", *COLUMNS]))

    def _change(self, database: sqlite3.Connection, table: str) -> None:
        names = COLUMNS[table]
        rows = database.execute(f"SELECT rowid, {', '.join(names)} FROM {table}").fetchall()
        if not rows:
            return
        number, *row = self.one_of(rows)
        column = int(self.rng.integers(len(names)))
        if table != "run" and column == 0:
            row[0] = self.one_of([-1, 10**6, 2**31, 2**53 - 1, 2**62])
            if table == "outcomes" and type(row[3]) is bytes:
                row[3] = struct.pack("<d", float(row[0])) + row[3][8:]
        else:
            try:
                row[column] = self._value(table, names[column], row[column])
            except (TypeError, ValueError, AttributeError, RecursionError):  # it was forged before
                row[column] = self.one_of(TEXTS)
            if table == "outcomes" and type(row[3]) is bytes and len(row[3]) >= 24:
                row[:3] = [
                    int(one) if np.isfinite(one) else 0 for one in struct.unpack("<3d", row[3][:24])
                ]
        ((run_id,),) = database.execute("SELECT run_id FROM run LIMIT 1").fetchall()
        if table == "run" and type(row[3]) is bytes:
            run_id = row[3]
        salt = salt_of(run_id) if type(run_id) is bytes else 0
        if table == "outcomes":
            sum_ = zlib.crc32(row[3] if type(row[3]) is bytes else b"", salt)
        else:
            sum_ = checksum(salt, table, *row)
        self.done.append(f"{table}.{names[column]} = {row[column]!r:.80}")
        each = ", ".join(f"{name} = ?" for name in (*names, "checksum"))
        try:
            database.execute(f"UPDATE {table} SET {each} WHERE rowid = {number}", (*row, sum_))
        except (sqlite3.Error, OverflowError, UnicodeError):
            self.done.append("not possible")

    def _value(self, table: str, column: str, old: Any) -> Any:
        if column in ("id", "arm", "size"):
            return self.one_of([-1, 0, 1, 2**31, 2**53, 2**62, None, "x", 1.5])
        if self.rng.random() < 0.15:
            return self.one_of(TEXTS)
        if column == "run_id":
            return self.one_of([b"", b"1" * 16, b"1" * 15, bytes(10**6)])
        if column in ("head", "extremes", "drawn"):
            return self._numbers(old or b"")
        if table == "snapshots":
            parts = json.loads(old)
            name = self.one_of([*parts])
            if type(parts[name]) is not str or self.rng.random() < 0.1:
                parts[name] = self.one_of(VALUES)
            elif name != "croupier":
                parts[name] = self._json(parts[name])
            return json.dumps(parts)
        return self._json(old or "{}")

    def _numbers(self, data: bytes) -> bytes:
        numbers = np.frombuffer(data, "<f8").copy()
        if self.rng.random() < 0.2 or not len(numbers):
            return data[: int(self.rng.integers(len(data) + 1))] + self.rng.bytes(8)
        numbers[int(self.rng.integers(len(numbers)))] = self.one_of(FLOATS)
        return numbers.tobytes()

    def _json(self, text: str) -> str:
        """Return a JSON text with one part replaced, removed or added."""
        whole = [json.loads(text)]
        holder, key = whole, 0
        while isinstance(holder[key], dict | list) and holder[key] and self.rng.random() < 0.8:
            holder = holder[key]
            key = self.one_of([*(holder if isinstance(holder, dict) else range(len(holder)))])
        what = self.rng.random()
        if what < 0.1 and holder is not whole:
            del holder[key]
        elif what < 0.15 and isinstance(holder, dict):
            holder["\x1b[31m"] = self.one_of(VALUES)
        else:
            holder[key] = self.one_of(VALUES)
        return json.dumps(whole[0])


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError if the block takes longer; only in the main thread."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
