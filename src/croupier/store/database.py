"""The file of a store: sqlite, with a schema that is checked exactly and checksums in all rows.

Nothing in a file is trusted: no triggers, no views, no types and no lengths. Every fault raises a
StoreError that names the file and the way out.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from croupier.errors import StoreError

__all__ = ["Database", "Durability", "checksum", "damaged"]

Durability: TypeAlias = Literal["full", "normal"]

#: The number "crou", the version of the schema below, and the versions that can be read.
APPLICATION: Final = 0x63726F75
VERSION: Final = 2
READABLE: Final = (1, VERSION)

#: `head` has the numbers of an outcome as little-endian doubles (see `records`). `details` is a
#: separate table, because few readers need it.
SCHEMA: Final = {
    "run": "CREATE TABLE run (id INTEGER PRIMARY KEY, plan TEXT, arms TEXT, checksum INTEGER)",
    "calls": "CREATE TABLE calls (id INTEGER PRIMARY KEY, content TEXT, checksum INTEGER)",
    "outcomes": "CREATE TABLE outcomes (ticket INTEGER PRIMARY KEY, arm INTEGER, size INTEGER, "
    "head BLOB, checksum INTEGER)",
    "details": "CREATE TABLE details (ticket INTEGER PRIMARY KEY, extremes BLOB, extra TEXT, "
    "drawn BLOB, checksum INTEGER)",
    "snapshots": "CREATE TABLE snapshots (ticket INTEGER PRIMARY KEY, content TEXT, "
    "checksum INTEGER)",
}

#: What Python's sqlite3 raises for a damaged file.
BROKEN: Final = (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError, MemoryError)

_SECONDS_TO_WAIT: Final = 5.0

#: It takes more than a second to check a file of this many bytes.
_LARGE: Final = 2**28


def checksum(table: str, *parts: Any) -> int:
    """Return the CRC-32 of a row of a table. It detects accidental changes of a file.

    >>> checksum("calls", 3, b"b") == checksum("calls", 3, b"c")
    False
    """
    sum_ = zlib.crc32(table.encode())
    for part in parts:
        if isinstance(part, int):
            part = b"%d;" % part
        elif not isinstance(part, bytes):
            part = b"-" if part is None else str(part).encode()
        sum_ = zlib.crc32(part, sum_)
    return sum_


def damaged(path: Path, what: object) -> StoreError:
    """Return the error for a file that croupier cannot have written."""
    return StoreError(
        f"{path} is damaged, or not a store of croupier: {what}; "
        "use a copy of it, or give another store= to start again"
    )


class Database:
    """A connection to a store that has been checked."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

    # -- opening

    @classmethod
    def create(cls, path: Path, durability: Durability, rows: dict[str, Sequence[Any]]) -> Database:
        """Make a new store with its first rows, completely or not at all."""
        new = path.with_name(path.name + ".new")
        for left_over in (new, *_companions(new), *_companions(path)):
            left_over.unlink(missing_ok=True)
        with cls._errors(path, "cannot be made"):
            connection = sqlite3.connect(_uri(new), uri=True, isolation_level=None)
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                for statement in SCHEMA.values():
                    connection.execute(statement)
                for table, row in rows.items():
                    connection.execute(_insert(table, len(row)), row)
                connection.execute("COMMIT")
            finally:
                connection.close()
            os.replace(new, path)  # so a store is always complete, never an empty file
        return cls.write(path, durability)

    @classmethod
    def write(cls, path: Path, durability: Durability) -> Database:
        """Open a store for its one writer."""
        database = cls._opened(path, _uri(path, mode="rw"))
        with database._closing_on_error(), cls._errors(path, "cannot be written"):
            # In folders without a write-ahead log (network folders), sqlite keeps its journal.
            # Then a reader may have to wait a moment. Nothing else is different.
            (mode,) = database._connection.execute("PRAGMA journal_mode = WAL").fetchone()
            database.mode = str(mode)
            database._connection.execute(f"PRAGMA synchronous = {durability}")
        return database

    @classmethod
    def read(cls, path: Path, *, thoroughly: bool = True) -> Database:
        """Open a store to read it as it is now, while another process may write."""
        uri = _uri(path, mode="ro")
        return cls._opened(path, uri, "BEGIN", thoroughly=thoroughly)

    mode: str = "unknown"

    #: The schema of the file.
    version: int = VERSION

    @classmethod
    def _opened(cls, path: Path, uri: str, *first: str, thoroughly: bool = True) -> Database:
        if not path.is_file():
            raise StoreError(f"{path} does not exist or is not a file: give the path of a store")
        with cls._errors(path, "cannot be read"):
            connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, timeout=_SECONDS_TO_WAIT
            )
        database = cls(path, connection)
        with database._closing_on_error(), cls._errors(path, "cannot be read"):
            for statement in ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", *first):
                connection.execute(statement)
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
        if version not in READABLE:
            newer = "a newer" if version > VERSION else "another"
            raise StoreError(
                f"{self.path} was written by {newer} version of croupier (schema {version}, this "
                f"one reads {' and '.join(map(str, READABLE))}): use that version, or give another "
                "store="
            )
        self.version = version
        found = dict(execute("SELECT name, sql FROM sqlite_master").fetchall())
        kinds = {kind for (kind,) in execute("SELECT type FROM sqlite_master").fetchall()}
        if found != SCHEMA or kinds != {"table"}:
            odd = sorted(str(name) for name in found.keys() ^ SCHEMA.keys())
            odd += sorted(
                name for name in found.keys() & SCHEMA.keys() if found[name] != SCHEMA[name]
            )
            raise damaged(self.path, f"its tables are not those of croupier ({', '.join(odd)})")
        if not thoroughly:
            return
        # In a large file, the details are not checked here: they are checked when they are read.
        large = self.path.stat().st_size > _LARGE
        for what in [name for name in SCHEMA if name != "details"] if large else ["1"]:
            (answer,) = execute(f"PRAGMA quick_check({what})").fetchone()
            if answer != "ok":
                raise damaged(self.path, answer)

    def close(self) -> None:
        """Close the file. Everything committed is in this file, and no other file remains."""
        with suppress(sqlite3.Error):
            if self.mode == "wal":  # fails while another process reads, and is ignored
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = DELETE")
        with suppress(sqlite3.Error):
            self._connection.close()

    # -- reading and writing

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._errors(self.path, "cannot be read"):
            return self._connection.execute(query, parameters).fetchall()

    def insert(self, rows: Sequence[tuple[str, Sequence[Any]]], *after: str) -> None:
        """Add or replace rows, (table, columns) each, in one transaction; then run statements."""
        execute = self._connection.execute
        with self._errors(self.path, "cannot be written"):
            try:
                execute("BEGIN IMMEDIATE")
                for table, row in rows:
                    execute(_insert(table, len(row)), row)
                for statement in after:
                    execute(statement)
                execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    execute("ROLLBACK")
                raise

    def replace(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """Convert a store to the present schema: replace rows, and delete the snapshots."""
        execute = self._connection.execute
        with self._errors(self.path, "cannot be written"):
            try:
                execute("BEGIN IMMEDIATE")
                execute("DELETE FROM snapshots")
                for table in {table for table, _ in rows}:
                    execute(f"DELETE FROM {table}")
                for table, row in rows:
                    execute(_insert(table, len(row)), row)
                execute(f"PRAGMA user_version = {VERSION}")
                execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    execute("ROLLBACK")
                raise
        self.version = VERSION

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    @staticmethod
    @contextmanager
    def _errors(path: Path, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"{path} {what}: {error.strerror}; give another store=") from error
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise StoreError(
                    f"{path} {what}: {error}; what was stored before is safe: free some space "
                    "and run the same call again"
                ) from error
            if "locked" in str(error) or "readonly" in str(error) or "unable to open" in str(error):
                raise StoreError(f"{path} {what}: {error}; give another store=") from error
            raise damaged(path, error) from error
        except BROKEN as error:
            raise damaged(path, error) from error


def _insert(table: str, columns: int) -> str:
    # An outcome is written once: a second outcome with the same ticket is an error.
    verb = "INSERT OR REPLACE" if table in ("calls", "snapshots") else "INSERT"
    return f"{verb} INTO {table} VALUES ({', '.join('?' * columns)})"


def _uri(path: Path, **options: str) -> str:
    rest = "&".join(f"{name}={value}" for name, value in options.items())
    return f"file:{quote(os.path.abspath(path))}?{rest}"


def _companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]
