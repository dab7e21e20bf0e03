"""What is wrong with a store, and the way out: damage, a disk, a place, another program.

sqlite's codes tell these apart. Its messages do not: a full quota is a "disk I/O error".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from croupier.errors import CroupierError, StoreError
from croupier.views.formats import printable

__all__ = ["all_is_damage", "damaged", "errors_named", "kind_of_error"]

_SAFE: Final = "what was stored before is safe"
_DISK: Final = (
    f"{_SAFE}: check the disk, its quota and the largest size of a file (ulimit -f), and run the "
    "same call again"
)
_ELSEWHERE: Final = "give another store="

#: The way out by sqlite's primary code. Every other code means that the file is damaged.
_WAYS_OUT: Final = {
    sqlite3.SQLITE_FULL: f"{_SAFE}: free some space, and run the same call again",
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_NOMEM: f"{_SAFE}: there is too little memory; run the same call with more",
    sqlite3.SQLITE_BUSY: f"{_SAFE}: end the other program that uses it, or {_ELSEWHERE}",
    sqlite3.SQLITE_LOCKED: f"{_SAFE}: end the other program that uses it, or {_ELSEWHERE}",
    sqlite3.SQLITE_PROTOCOL: f"{_SAFE}: end the other program that uses it, or {_ELSEWHERE}",
    sqlite3.SQLITE_READONLY: _ELSEWHERE,
    sqlite3.SQLITE_CANTOPEN: _ELSEWHERE,
    sqlite3.SQLITE_PERM: _ELSEWHERE,
}

#: The way out if the disk cannot read the file: then nobody knows what is safe.
_READS: Final = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_CORRUPTFS)
_UNREADABLE: Final = "check the disk and run the same call again, or use a copy of the file"

#: What reading a forged file may raise besides sqlite's errors.
_BROKEN: Final = (
    sqlite3.Error, sqlite3.Warning, ArithmeticError, AttributeError, LookupError, MemoryError,
    RecursionError, TypeError, ValueError,
)  # fmt: skip


def damaged(path: Path, what: object) -> StoreError:
    """Return the error for a file that croupier cannot have written."""
    return StoreError(
        f"{path} is damaged, or not a store of croupier: {printable(str(what))[:500]}; "
        "use a copy of it, or give another store= to start again"
    )


def kind_of_error(error: sqlite3.Error) -> int | None:
    """Return sqlite's primary code of an error; None if sqlite did not raise it."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


@contextmanager
def errors_named(path: Path, what: str) -> Iterator[None]:
    """Turn the errors of sqlite and of the system into a StoreError with the way out."""
    try:
        yield
    except OSError as error:
        way_out = f"{_SAFE}; {_ELSEWHERE}, or mend this and run the same call again"
        raise StoreError(f"{path} {what}: {error.strerror}; {way_out}") from error
    except sqlite3.OperationalError as error:
        kind, code = kind_of_error(error), getattr(error, "sqlite_errorcode", None)
        if kind in _WAYS_OUT and code != sqlite3.SQLITE_IOERR_SHORT_READ:  # the file is too short
            way_out = _UNREADABLE if code in _READS else _WAYS_OUT[kind]
            raise StoreError(
                f"{path} {what}: {error} ({error.sqlite_errorname}); {way_out}"
            ) from error
        raise damaged(path, error) from error
    except _BROKEN as error:
        raise damaged(path, error) from error


@contextmanager
def all_is_damage(path: Path) -> Iterator[None]:
    """Turn every error into damage, while nothing but the contents of a file is read."""
    try:
        yield
    except StoreError:
        raise
    except (CroupierError, *_BROKEN) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error
