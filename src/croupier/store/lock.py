"""One writer: a lock that names its owner. The system frees it when the owner ends in any way."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from croupier.errors import StoreError

__all__ = ["Lock", "owner_of"]

#: A process that only asks for the owner holds the lock for a moment, so try several times.
_TRIES: Final = 50
_PAUSE: Final = 0.02  # seconds

#: The locks of this process. Locks belong to a process: when it closes any handle of a file, the
#: system drops all its locks on the file. So a file that is locked here is never opened again.
_MINE: dict[str, tuple[int, dict[str, Any]]] = {}
_GUARD = threading.Lock()

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
    """The right to write a store, held until `release` or the end of the process."""

    def __init__(self, store: Path) -> None:
        self._store, self._path = store, _beside(store)
        self._key = os.path.realpath(self._path)
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        with _GUARD:
            self._handle = self._take()
            _MINE[self._key] = (os.getpid(), me)
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, json.dumps(me).encode())

    def _take(self) -> int:
        for _ in range(_TRIES):
            if (mine := _mine(self._key)) is not None:
                raise StoreError(_in_use(self._store, mine))
            try:
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise StoreError(_no_folder(self._store, error)) from error
            try:
                # If the last owner has just removed the file, a lock on it has no effect.
                if _try_lock(handle) and os.fstat(handle).st_ino == os.stat(self._path).st_ino:
                    return handle
            except FileNotFoundError:
                pass
            os.close(handle)
            time.sleep(_PAUSE)
        raise StoreError(_in_use(self._store, _owner_of(self._path)))

    def release(self) -> None:
        """Let others write, and remove the lock file."""
        with _GUARD:
            if _MINE.get(self._key, (None,))[0] != os.getpid():
                return
            del _MINE[self._key]
            if sys.platform == "win32":
                os.close(self._handle)
                self._path.unlink(missing_ok=True)
            else:
                self._path.unlink(missing_ok=True)
                os.close(self._handle)


def owner_of(store: Path) -> dict[str, Any] | None:
    """Return pid, host and since of the process that writes a store; None if no process does."""
    with _GUARD:
        return _owner_of(_beside(store))


def _owner_of(path: Path) -> dict[str, Any] | None:
    if (mine := _mine(os.path.realpath(path))) is not None:
        return mine
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        if _try_lock(handle):
            return None
        os.lseek(handle, 0, os.SEEK_SET)
        return _who(os.read(handle, 4096))
    finally:
        os.close(handle)


def _who(text: bytes) -> dict[str, Any]:
    try:
        who = json.loads(text)
        return {name: who[name] for name in ("pid", "host", "since")}
    except (ValueError, KeyError, TypeError):
        return {"pid": "?", "host": "?", "since": "?"}  # the owner has not written its name yet


def _mine(key: str) -> dict[str, Any] | None:
    pid, who = _MINE.get(key, (None, None))
    return who if pid == os.getpid() else None  # a forked process does not own the locks


def _in_use(store: Path, owner: dict[str, Any] | None) -> str:
    who = owner or {"pid": "?", "host": "?", "since": "?"}
    return (
        f"{store} is in use by pid {who['pid']} on {who['host']} since {who['since']}: wait until "
        "it ends, or give another store=; cr.open_run reads it while it is in use"
    )


def _no_folder(store: Path, error: OSError) -> str:
    if not store.parent.is_dir():
        return f"{store} cannot be made: the folder {store.parent} does not exist; make it first"
    return f"{store} cannot be written: {error.strerror}; give another store="


def _beside(store: Path) -> Path:
    return store.with_name(store.name + "-writer")


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
