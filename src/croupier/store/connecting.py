"""Open the file of a store, also after a process was killed while it wrote.

A killed process may leave a journal. sqlite must roll it back before it can read the file, and a
connection that only reads cannot do this.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from croupier.errors import StoreError
from croupier.store.place import side_files
from croupier.store.store_errors import kind_of_error

__all__ = ["to_make", "to_read", "to_write"]

#: How long sqlite waits for a lock of another process.
_SECONDS_TO_WAIT: Final = 5.0

#: The errors of a connection that may not write what it would have to write.
_MAY_NOT_WRITE: Final = (
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR,
)  # fmt: skip


def to_make(path: Path) -> sqlite3.Connection:
    """Make a new file."""
    return sqlite3.connect(uri_of(path), uri=True, isolation_level=None)


def to_write(path: Path) -> sqlite3.Connection:
    """Open a store for its one writer; sqlite rolls back what a killed process left."""
    return _opened(path, mode="rw")


def to_read(path: Path) -> sqlite3.Connection:
    """Open a store to read it as it is now, while another process may write.

    A connection that reads only comes first: it changes nothing, whatever the file is. Only if
    sqlite must roll back a journal, a connection that may write does it. A file on a read-only
    medium is opened as one that nobody changes, but only if there is nothing to roll back.
    """
    try:
        return _reading(path, mode="ro")
    except sqlite3.OperationalError as error:
        if kind_of_error(error) not in _MAY_NOT_WRITE:
            raise
        refused = error
    try:
        _reading(path, mode="rw").close()
        return _reading(path, mode="ro")
    except sqlite3.OperationalError as error:
        if kind_of_error(error) not in _MAY_NOT_WRITE:
            raise
    if os.access(path.parent, os.W_OK):
        raise refused
    if left := [file.name for file in side_files(path) if _must_be_kept(file)]:
        raise StoreError(
            f"{path} cannot be read: a process was killed while it wrote, what it left in "
            f"{' and '.join(left)} must be put in order first, and this folder cannot be written; "
            "copy all these files to another folder, and open the copy"
        ) from refused
    return _reading(path, mode="ro", immutable="1")


def _reading(path: Path, **options: str) -> sqlite3.Connection:
    connection = _opened(path, **options)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # rolls back, if it can
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path, **options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri_of(path, **options), uri=True, isolation_level=None, timeout=_SECONDS_TO_WAIT
    )
    try:
        for statement in ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON"):
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def uri_of(path: Path, **options: str) -> str:
    """Return the name of a file in the form that takes options."""
    rest = "&".join(f"{name}={value}" for name, value in options.items())
    return f"file:{quote(os.path.abspath(path))}?{rest}"


def _must_be_kept(file: Path) -> bool:
    try:
        return not file.name.endswith("-shm") and file.stat().st_size > 0
    except OSError:
        return False
