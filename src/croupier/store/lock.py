"""One writer: a lock that names its owner. The system frees it when the owner ends in any way."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
import time
import weakref
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

from croupier.errors import StoreError
from croupier.store.place import Identity, identity_of
from croupier.views.formats import printable

__all__ = ["Lock", "owner_of"]

#: A process that only asks for the owner holds the lock for a moment, so try several times.
_TRIES: Final = 50
_PAUSE: Final = 0.02  # seconds

#: A lock file is written: if it were a link, the file that it leads to would be lost.
_OPEN: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)

#: What a lock file begins with.
_BEGINNING: Final = b'{"pid": '

#: The locks of this process. Locks belong to a process: when it closes any handle of a file, the
#: system drops all its locks on the file. So a file that is locked here is never opened again.
#: A lock that nobody refers to any more is free, however its owner was interrupted.
_MINE: weakref.WeakValueDictionary[str, Lock] = weakref.WeakValueDictionary()
_GUARD = threading.RLock()

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 20  # a locked byte cannot be read: lock one after the owner's name

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True


class Lock:
    """The right to write a store, from `take` until `release` or the end of the process.

    `store` is a path without links: all names of a store must lead to the same lock.
    """

    def __init__(self, store: Path) -> None:
        self._store, self._path = store, _beside(store)
        self._key = os.path.realpath(self._path)
        self._handle: int | None = None
        self._owner = 0
        self.who: dict[str, Any] = {}

    def take(self) -> Self:
        """Take the lock, and write the name of its owner into the lock file."""
        try:
            with _GUARD:
                self._take()
        except BaseException:
            self.release()  # also after a full disk or Ctrl-C
            raise
        return self

    def _take(self) -> None:
        self.who = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        for _ in range(_TRIES):
            if (mine := _mine(self._key)) is not None:
                raise StoreError(_in_use(self._store, mine))
            try:
                if self._took():
                    _MINE[self._key] = self
                    assert self._handle is not None
                    os.ftruncate(self._handle, 0)
                    os.lseek(self._handle, 0, os.SEEK_SET)
                    os.write(self._handle, json.dumps(self.who).encode())
                    return
            except OSError as error:
                raise StoreError(_no_lock(self._store, self._path, error)) from error
            time.sleep(_PAUSE)
        raise StoreError(_in_use(self._store, _owner_of(self._path)))

    def _took(self) -> bool:
        """Try once to lock the file."""
        self._owner = os.getpid()
        self._handle = os.open(self._path, _OPEN | os.O_CREAT, 0o666)
        took = False
        try:
            # If the last owner has just removed the file, a lock on it has no effect.
            if _try_lock(self._handle) and self._is_there():
                _check_ours(self._path, self._handle)
                took = True
        finally:
            if not took:
                self._close()  # and do not remove the file: it may be the user's
        return took

    def _is_there(self) -> bool:
        assert self._handle is not None
        mine = os.fstat(self._handle)
        return identity_of(self._path) == Identity(mine.st_dev, mine.st_ino)

    def check(self) -> None:
        """Refuse to go on if the lock file was deleted: another process may write by now."""
        if self._handle is not None and not self._is_there():
            raise StoreError(
                f"{self._store}: the lock file {self._path.name} was deleted or replaced during "
                "the run, so another process may write to the store: nothing more is stored; run "
                "the same call again when no other process uses it"
            )

    def release(self) -> None:
        """Let others write, and remove the lock file. Nothing happens if it is not held."""
        with _GUARD:
            if not self.held():
                return
            mine = self._is_there()
            if _MINE.get(self._key) is self:
                del _MINE[self._key]
            if sys.platform == "win32":
                self._close()
            if mine:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)
            self._close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.release()

    def held(self) -> bool:
        """Tell whether this process holds the lock; a forked process does not."""
        return self._handle is not None and self._owner == os.getpid()

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def owner_of(store: Path) -> dict[str, Any] | None:
    """Return pid, host and since of the process that writes a store; None if no process does."""
    with _GUARD:
        return _owner_of(_beside(store))


def _owner_of(path: Path) -> dict[str, Any] | None:
    if (mine := _mine(os.path.realpath(path))) is not None:
        return mine
    try:
        handle = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        if _try_lock(handle):
            return None
        os.lseek(handle, 0, os.SEEK_SET)
        return _who(os.read(handle, 4096))
    except OSError:
        return None  # a folder that cannot lock files has no owner that could be known
    finally:
        os.close(handle)


def _check_ours(path: Path, handle: int) -> None:
    """Refuse a file that no lock has written. A process that was killed may have left a part."""
    ours = stat.S_ISREG(os.fstat(handle).st_mode)
    if ours:
        os.lseek(handle, 0, os.SEEK_SET)
        text = os.read(handle, len(_BEGINNING))
        ours = _BEGINNING.startswith(text)
    if not ours:
        raise StoreError(
            f"{path} is not a lock file of croupier, and a run would replace it: move or rename "
            "it, or give another store="
        )


def _who(text: bytes) -> dict[str, Any]:
    try:
        who = json.loads(text)
        shown = {name: printable(str(who[name]))[:100] for name in ("host", "since")}
        return {"pid": int(who["pid"]), **shown}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return {"pid": "?", "host": "?", "since": "?"}  # the owner has not written its name yet


def _mine(key: str) -> dict[str, Any] | None:
    lock = _MINE.get(key)
    return lock.who if lock is not None and lock.held() else None


def _in_use(store: Path, owner: dict[str, Any] | None) -> str:
    who = owner or {"pid": "?", "host": "?", "since": "?"}
    return (
        f"{store} is in use by pid {who['pid']} on {who['host']} since {who['since']}: wait until "
        "it ends, or give another store=; cr.open_run reads it while it is in use"
    )


def _no_lock(store: Path, path: Path, error: OSError) -> str:
    if path.is_symlink():
        return (
            f"{path} is a link, but the lock of a store is a file of its own: remove the link, or "
            "give another store="
        )
    if not store.parent.is_dir():
        return f"{store} cannot be made: the folder {store.parent} does not exist; make it first"
    return (
        f"{store} cannot be written: {error.strerror} (when its lock was taken); what was stored "
        "before is safe: mend this and run the same call again, or give another store="
    )


def _beside(store: Path) -> Path:
    return store.with_name(store.name + "-writer")


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
