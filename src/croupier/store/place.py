"""Where a store lies: one absolute path without links, and whether its file is still there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from croupier.errors import StoreError

__all__ = ["Identity", "identity_of", "made_at_once", "resolved", "side_files"]


class Identity(NamedTuple):
    """Which file this is, whatever its name."""

    device: int
    number: int


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a store, with all links resolved.

    All names of a store lead to the same lock, and an arm may change the folder of the process.
    """
    try:
        real = os.path.realpath(path)
        real.encode()
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{os.fspath(path)!r} cannot be the path of a store: {error}; give another store="
        ) from error
    return Path(real)


def identity_of(path: Path) -> Identity | None:
    """Return which file a path leads to, None if there is no file. The file is not opened.

    If this process opened and closed it, the system would drop the locks that sqlite has on it.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Identity(found.st_dev, found.st_ino)


def side_files(path: Path) -> list[Path]:
    """Return the names of the files that sqlite keeps beside a database."""
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]


@contextmanager
def made_at_once(path: Path) -> Iterator[Path]:
    """Return a temporary name. The file gets its own name when it is complete, or is removed.

    A file that has this name already, or a name that sqlite would use, is never replaced.
    """
    _refuse_others(path)
    new = path.with_name(f".{uuid4().hex}.new")
    try:
        yield new
        _refuse_others(path)
        os.replace(new, path)
    finally:
        for left in (new, *side_files(new)):
            left.unlink(missing_ok=True)


def _refuse_others(path: Path) -> None:
    if found := [file.name for file in (path, *side_files(path)) if os.path.lexists(file)]:
        raise StoreError(
            f"{path} cannot be made: there is already {' and '.join(found)}. If you do not need "
            "this (a run whose store was deleted may have left it), delete it; or give another path"
        )
