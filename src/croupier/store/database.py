"""The file of a store: sqlite, with a schema that is checked exactly and checksums in all rows.

Nothing in a file is trusted: no triggers, no views, no types and no lengths. Every fault raises a
StoreError that names the file and the way out.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from croupier.errors import StoreError
from croupier.store import connecting
from croupier.store.place import Identity, identity_of, made_at_once
from croupier.store.store_errors import damaged, errors_named

__all__ = ["RUN_ID_BYTES", "Database", "Durability", "checksum", "salt_of"]

Durability: TypeAlias = Literal["full", "normal"]

#: The number "crou", and the version of the schema below.
APPLICATION: Final = 0x63726F75
VERSION: Final = 3

#: A random number that every run has. It goes into all checksums, so that a row of one run, or a
#: page of its log, is never taken for a row of another run.
RUN_ID_BYTES: Final = 16

#: `head` has the numbers of an outcome as little-endian doubles (see `records`). `details` is a
#: separate table, because few readers need it.
SCHEMA: Final = {
    "run": "CREATE TABLE run (id INTEGER PRIMARY KEY, plan TEXT, arms TEXT, run_id BLOB, "
    "checksum INTEGER)",
    "calls": "CREATE TABLE calls (id INTEGER PRIMARY KEY, content TEXT, checksum INTEGER)",
    "outcomes": "CREATE TABLE outcomes (ticket INTEGER PRIMARY KEY, arm INTEGER, size INTEGER, "
    "head BLOB, checksum INTEGER)",
    "details": "CREATE TABLE details (ticket INTEGER PRIMARY KEY, extremes BLOB, extra TEXT, "
    "drawn BLOB, checksum INTEGER)",
    "snapshots": "CREATE TABLE snapshots (ticket INTEGER PRIMARY KEY, content TEXT, "
    "checksum INTEGER)",
}

#: A writer that closes a store waits this long for readers, in milliseconds.
_WAIT_FOR_READERS: Final = 500

#: It takes more than a second to check a file of this many bytes.
_LARGE: Final = 2**28


def salt_of(run_id: bytes) -> int:
    """Return what the checksums of a run begin with."""
    return zlib.crc32(run_id)


def checksum(salt: int, table: str, *parts: Any) -> int:
    """Return the CRC-32 of a row of a table. It detects accidental changes of a file.

    `salt` is that of the run.

    >>> checksum(0, "calls", 3, b"b") == checksum(0, "calls", 3, b"c")
    False
    """
    sum_ = zlib.crc32(table.encode(), salt)
    for part in parts:
        if isinstance(part, int):
            part = b"%d;" % part
        elif not isinstance(part, bytes):
            part = b"-" if part is None else str(part).encode()
        sum_ = zlib.crc32(part, sum_)
    return sum_


class Database:
    """A connection to a store that has been checked."""

    #: How sqlite writes: "wal" if there is a write-ahead log.
    mode: str = "unknown"

    #: The schema of the file, and the salt of its checksums.
    salt: int = 0

    #: The file that a writer has opened, and its log, which is there after the first write.
    _file: Identity | None = None
    _log: Identity | None = None

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection
        self._log_path = path.with_name(f"{path.name}-wal")

    # -- opening

    @classmethod
    def create(cls, path: Path, durability: Durability, rows: dict[str, Sequence[Any]]) -> Database:
        """Make a new store with its first rows, completely or not at all."""
        with (
            errors_named(path, "cannot be made"),
            made_at_once(path) as new,
            closing(connecting.to_make(new)) as connection,
        ):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for statement in SCHEMA.values():
                connection.execute(statement)
            for table, row in rows.items():
                connection.execute(_insert(table, len(row)), row)
            connection.execute("COMMIT")
        return cls.write(path, durability)

    @classmethod
    def write(cls, path: Path, durability: Durability) -> Database:
        """Open a store for its one writer, who has read it before: its contents are in order."""
        _check_place(path)
        with errors_named(path, "cannot be written"):
            if (names := os.stat(path).st_nlink) > 1:
                raise StoreError(
                    f"{path} has {names} names (hard links), and a process that uses another name "
                    "would not see this one: make a copy of the file, and give the copy"
                )
            database = cls(path, connecting.to_write(path))
        with database._closing_on_error(), errors_named(path, "cannot be written"):
            database._look_through(thoroughly=False)
            # In folders without a write-ahead log (network folders), sqlite keeps its journal.
            # Then a reader may have to wait a moment. Nothing else is different.
            (mode,) = database._connection.execute("PRAGMA journal_mode = WAL").fetchone()
            database.mode = str(mode)
            database._connection.execute(f"PRAGMA synchronous = {durability}")
            # On macOS, only this waits for the disk itself. Elsewhere it changes nothing.
            database._connection.execute(f"PRAGMA fullfsync = {durability == 'full'}")
            database._file = identity_of(path)
        return database

    @classmethod
    def read(cls, path: Path, *, thoroughly: bool = True) -> Database:
        """Open a store to read it as it is now, while another process may write."""
        _check_place(path)
        with errors_named(path, "cannot be read"):
            database = cls(path, connecting.to_read(path))
        with database._closing_on_error(), errors_named(path, "cannot be read"):
            database._look_through(thoroughly)
        return database

    def _look_through(self, thoroughly: bool) -> None:
        execute = self._connection.execute
        (application,) = execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            raise StoreError(
                f"{self.path} is not a store of croupier (application id {application:#x}): "
                "give another store="
            )
        (version,) = execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            newer = "a newer" if version > VERSION else "another"
            raise StoreError(
                f"{self.path} was written by {newer} version of croupier (schema {version}, this "
                f"one reads {VERSION}): use that version, or give another store="
            )
        self._check_tables()
        if thoroughly:
            self._check_structure()
        self.salt = salt_of(self.run_id)

    def _check_tables(self) -> None:
        execute = self._connection.execute
        # A forged file may have millions of tables: read no more than are needed to refuse it.
        rows = execute("SELECT type, name, sql FROM sqlite_master LIMIT 20").fetchall()
        found = {name: sql for _, name, sql in rows}
        if found != SCHEMA or {kind for kind, _, _ in rows} != {"table"}:
            odd = sorted(str(name) for name in found.keys() ^ SCHEMA.keys())
            odd += sorted(
                name for name in found.keys() & SCHEMA.keys() if found[name] != SCHEMA[name]
            )
            raise damaged(self.path, f"its tables are not those of croupier ({', '.join(odd)})")

    def _check_structure(self) -> None:
        # In a large file, the details are not checked here: they are checked when they are read.
        large = self.path.stat().st_size > _LARGE
        for what in [name for name in SCHEMA if name != "details"] if large else ["1"]:
            (answer,) = self._connection.execute(f"PRAGMA quick_check({what})").fetchone()
            if answer != "ok":
                raise damaged(self.path, answer)

    @property
    def run_id(self) -> bytes:
        """The random number of the run."""
        rows = self.rows("SELECT run_id FROM run LIMIT 2")
        if len(rows) != 1 or type(rows[0][0]) is not bytes or len(rows[0][0]) != RUN_ID_BYTES:
            raise damaged(self.path, "the run has no number of its own")
        return bytes(rows[0][0])

    def close(self) -> str | None:
        """Close the file. Return what is left in another file, None if this one is complete."""
        left = None
        try:
            if self.mode == "wal":
                left = self._put_log_into_file()
        finally:
            with suppress(sqlite3.Error):
                self._connection.close()
        return left

    def _put_log_into_file(self) -> str | None:
        """Write the log into the file, and remove it. Readers may hold on to it for a moment."""
        execute, log = self._connection.execute, self._log_path
        try:
            execute(f"PRAGMA busy_timeout = {_WAIT_FOR_READERS}")
            _, frames, written = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            with suppress(sqlite3.Error):  # fails while another process reads: the log is empty
                execute("PRAGMA busy_timeout = 0")
                execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            return f"{log} ({error})"
        return f"{log} (another process reads it)" if written < frames else None

    # -- reading and writing

    def copy_to(self, path: Path) -> None:
        """Write all of this moment to a new file, while another process may write to this one."""
        with (
            errors_named(self.path, f"cannot be copied to {path}"),
            made_at_once(path) as new,
            closing(connecting.to_make(new)) as copy,
        ):
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, as a run leaves it

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with errors_named(self.path, "cannot be read"):
            return self._connection.execute(query, parameters).fetchall()

    def insert(self, rows: Sequence[tuple[str, Sequence[Any]]], *after: str) -> None:
        """Add or replace rows, (table, columns) each, in one transaction; then run statements."""
        with self._transaction() as execute:
            for table, row in rows:
                execute(_insert(table, len(row)), row)
            for statement in after:
                execute(statement)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        execute = self._connection.execute
        with errors_named(self.path, "cannot be written"):
            self._check_file()
            try:
                execute("BEGIN IMMEDIATE")
                yield execute
                execute("COMMIT")
                if self._log is None and self.mode == "wal":
                    self._log = identity_of(self._log_path)
            except BaseException:
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):  # then sqlite has rolled back itself
                        execute("ROLLBACK")
                raise

    def _check_file(self) -> None:
        """Refuse to write to a file that its path does not lead to any more."""
        if self._file is not None and identity_of(self.path) != self._file:
            raise StoreError(
                f"{self.path} was deleted or replaced during the run: nothing more is stored; put "
                "the file back and run the same call again, or give another store="
            )
        if self._log is not None and identity_of(self._log_path) != self._log:
            # sqlite still has the deleted log open: `close` writes it into the file.
            raise StoreError(
                f"{self._log_path}, the log of the store, was deleted or replaced during the run: "
                "nothing more is stored; what was stored before is safe: run the same call again, "
                "and leave all files beside the store alone while it runs"
            )

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give a file in it, such as {path / 'run.db'}")
    if not path.is_file():
        raise StoreError(f"{path} does not exist or is not a file: give the path of a store")


def _insert(table: str, columns: int) -> str:
    # An outcome is written once: a second outcome with the same ticket is an error.
    verb = "INSERT OR REPLACE" if table in ("calls", "snapshots") else "INSERT"
    return f"{verb} INTO {table} VALUES ({', '.join('?' * columns)})"
