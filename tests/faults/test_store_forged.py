"""A store that somebody has forged, with checksums that are right: an answer or a StoreError."""

from __future__ import annotations

import json
import sqlite3
import struct
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.store import log
from croupier.store.database import checksum, salt_of
from tests.faults.forging import COLUMNS, Forger, at_most
from tests.faults.test_store_damaged import run

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(sys.platform == "win32", reason="no alarm"),
]


@pytest.fixture
def healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was interrupted, with a snapshot and some outcomes after it."""
    monkeypatch.setattr(log, "_SNAPSHOT_EVERY", 15)
    path = tmp_path / "healthy.db"
    assert run(path, calls=25).stopped == "interrupted"
    return path


def shown(path: Path) -> str:
    """Return all that a reader shows of a store."""
    seen = cr.open_run(path)
    lines = [str(seen.status), repr(seen)]
    if seen.status.tickets:
        result = seen.result()
        lines += [result.summary(), *result.warnings]
    return "\n".join(lines)


def refusal(look: Any) -> str | None:
    """Return what a StoreError says; None if there is an answer. Any other error is a fault."""
    try:
        with at_most(5):
            text = look()
    except cr.StoreError as error:
        text = str(error)
        assert ".db" in text
        assert_plain(text)
        return text
    assert_plain(text)
    return None


def assert_plain(text: str) -> None:
    odd = {c for c in text if not c.isprintable() and c != "\n"}
    assert not odd, text


def forge_many(
    healthy: Path,
    folder: Path,
    cases: int,
    seed: int = 7,
    measured: Callable[[int], AbstractContextManager[None]] = nullcontext,
) -> tuple[int, list[str]]:
    """Forge a store many times. Return how many were refused, and what failed."""
    forger, data = Forger(np.random.default_rng(seed)), healthy.read_bytes()
    path, refused, failed = folder / "run.db", 0, list[str]()
    for number in range(cases):
        for left in folder.glob("run.db*"):
            left.unlink()
        path.write_bytes(data)
        forger.forge(path)
        try:
            with warnings.catch_warnings(), measured(number):
                warnings.simplefilter("ignore")
                looked = refusal(lambda: shown(path))
                went_on = refusal(lambda: run(cr.Store(path, check=False)).summary())
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} in {where.name}, line {where.lineno}: {error!s:.200}"
            failed.append(f"case {number}: {'; '.join(forger.done)}: {what:.300}")
            continue
        refused += bool(looked or went_on)
    return refused, failed


def test_of_a_forged_store_there_is_an_answer_or_a_clear_error(
    healthy: Path, tmp_path: Path
) -> None:
    refused, failed = forge_many(healthy, tmp_path, 200)
    assert not failed, "\n".join(failed)
    assert refused > 100


def forged(path: Path, table: str, column: str, value: Any) -> None:
    """Write one value into the last row of a table, with the right checksum."""
    names = COLUMNS[table]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        ((run_id,),) = database.execute("SELECT run_id FROM run").fetchall()
        query = f"SELECT rowid, {', '.join(names)} FROM {table} ORDER BY rowid DESC LIMIT 1"
        ((number, *row),) = database.execute(query).fetchall()
        row[names.index(column)] = value
        if table == "outcomes":
            row[3] = struct.pack("<d", float(row[0])) + row[3][8:]
            sum_ = zlib.crc32(row[3], salt_of(run_id))
        else:
            sum_ = checksum(salt_of(run_id), table, *row)
        each = ", ".join(f"{name} = ?" for name in (*names, "checksum"))
        database.execute(f"UPDATE {table} SET {each} WHERE rowid = {number}", (*row, sum_))


@pytest.mark.parametrize("ticket", [10**4, 10**9, 2**53 - 1])
def test_a_forged_ticket_takes_no_time_and_no_memory(ticket: int, healthy: Path) -> None:
    forged(healthy, "outcomes", "ticket", ticket)
    for look in (lambda: shown(healthy), lambda: run(healthy).summary()):
        assert "impossible tickets" in str(refusal(look))


@pytest.mark.parametrize(
    "extra", ['{"d": [["arm", [{"d": [["a", 1]]}]]]}', '{"d": [["arm", ["x"]]]}']
)
def test_what_an_arm_cannot_learn_from_is_named(extra: str, healthy: Path) -> None:
    with closing(sqlite3.connect(healthy)) as database:
        query = "SELECT ticket, extremes, extra, drawn FROM details WHERE extra LIKE '%seen%'"
        *_, (ticket, *_) = database.execute(query).fetchall()
        database.execute(f"DELETE FROM outcomes WHERE ticket > {ticket}")
        database.execute(f"DELETE FROM details WHERE ticket > {ticket}")
        database.execute("DELETE FROM snapshots")
        database.commit()
    forged(healthy, "details", "extra", extra)
    said = str(refusal(lambda: run(cr.Store(healthy, check=False)).summary()))
    assert f"arm 'learner', ticket {ticket}: what is stored cannot be told again" in said


def test_no_control_character_of_a_file_reaches_the_screen(healthy: Path) -> None:
    with closing(sqlite3.connect(healthy)) as database:
        ((content,),) = database.execute("SELECT content FROM calls").fetchall()
    call = {**json.loads(content), "host": "\x1b[2J", "stopped": "\x1b]0;x\x07", "warnings": ["\r"]}
    forged(healthy, "calls", "content", json.dumps(call))
    assert r"finished: \x1b]0;x\x07" in shown(healthy)
    assert refusal(lambda: shown(healthy)) is None
    healthy.with_name("healthy.db-writer").write_text('{"pid": 1, "host": "\\u001b", "since": ""}')
    assert refusal(lambda: shown(healthy)) is None
