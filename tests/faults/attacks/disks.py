"""Disks that fail or fill up: an error that does not speak of damage, and a store to go on with."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from tests.conftest import bits_of
from tests.faults.attacks.driver_kills import (
    after_a_kill,
    clear_dot_locks,
    killed,
    traced,
)
from tests.faults.driver import run

#: What the system may answer, by system call. Writes of sqlite are pwrite64, locks are fcntl.
ERRORS = {
    "pwrite64": ("ENOSPC", "EDQUOT", "EIO", "EFBIG", "EROFS"),
    "write": ("ENOSPC", "EIO"),
    "pread64": ("EIO",),
    "fdatasync": ("EIO", "ENOSPC"),
    "ftruncate": ("EIO", "EFBIG"),
    "rename": ("EIO", "ENOSPC", "EROFS"),
    "unlink": ("EIO", "EACCES"),
    "fcntl": ("EIO", "ENOLCK", "EACCES"),
    "openat": ("EIO", "EMFILE", "EROFS"),
}

#: What a clear error has in it, and what it must not have.
WAYS_OUT = ("run the same call again", "give another store=", "open the copy")
OURS = ("StoreError: ", "PlanError: ")
DAMAGE = "damaged"
CALLED_DAMAGE = "calls it damage"


def error_at_a_system_call(folder: Path, tries: int, mode: str) -> Iterator[str]:
    """Let one system call on the files of the store fail: every n-th, of every kind."""
    whole, cases = bits_of(run()), list(_cases())
    for case in _spread(cases, tries):
        yield failing(folder, mode, whole, *case)


def disk_full_from_a_write_on(folder: Path, tries: int, mode: str) -> Iterator[str]:
    """Let every write fail from the n-th on, as on a full disk, for every n."""
    whole = bits_of(run())
    for number in range(1, tries + 1):
        end = failing(folder, mode, whole, "pwrite64", "ENOSPC", f"{number}+")
        if end == "same":
            return  # no write has failed: the run has no more of them
        yield end


def _cases() -> Iterator[tuple[str, str, str]]:
    for number in count(1):
        for call, errors in ERRORS.items():
            for error in errors:
                yield call, error, str(number)
        if number == 60:
            return


def _spread(cases: list[Any], tries: int) -> list[Any]:
    """Return the first cases, and then every n-th, so that late calls fail too."""
    early = cases[: tries // 2]
    late = cases[tries // 2 :: max(1, (len(cases) - len(early)) // max(1, tries - len(early)))]
    return [*early, *late][:tries]


def failing(folder: Path, mode: str, whole: Any, call: str, error: str, when: str) -> str:
    """Let a system call fail; return "refused" if that was clear and the same call goes on."""
    path = folder / f"{call}-{error}-{when}.db"
    said = traced(path, mode, f"{call}:error={error}:when={when}").decode().strip()
    clear_dot_locks(path)
    wrong = "" if said.endswith("finished") else unclear(said)
    # sqlite does not tell some failed reads from damage.
    if wrong and not (call == "pread64" and wrong.startswith(CALLED_DAMAGE)):
        return f"{path.name}: {wrong}"
    end = after_a_kill(path, whole)
    return "refused" if end == "same" and not said.endswith("finished") else end


def unclear(said: str, *more: str) -> str:
    """Return what is wrong with the words of an error; nothing if they are clear."""
    if not said.startswith(OURS) or not any(way in said for way in (*WAYS_OUT, *more)):
        return f"no clear error: {said[-300:]!r}"
    return f"{CALLED_DAMAGE}: {said}" if DAMAGE in said else ""


# -- a file system of its own, which root can mount


@contextmanager
def mounted(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a small file system in memory; raise a CalledProcessError if that is not allowed."""
    place = folder / "mounted"
    place.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def can_mount(folder: Path) -> bool:
    """Tell whether this process may mount a file system."""
    try:
        with mounted(folder, 64):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def tmpfs_that_is_full(folder: Path, tries: int) -> Iterator[str]:
    """Run on a tmpfs of 4 kB, 8 kB, ...: it is full at another write each time. Then make room."""
    whole = bits_of(run())
    for pages in range(1, tries + 1):
        if (end := on_a_tmpfs(folder, pages, whole)) == "same":
            return  # there was room for everything
        yield end


def on_a_tmpfs(folder: Path, pages: int, whole: Any) -> str:
    """Run on a tmpfs of so many pages of 4 kB, and go on when it is larger."""
    with mounted(folder, 4 * pages) as place:
        path = place / "run.db"
        try:
            run(path)
            return "same"
        except Exception as error:
            wrong = unclear(f"{type(error).__name__}: {error}")
        _mount("-o", "remount,size=16m", str(place))
        end = wrong or after_a_kill(path, whole)
        return "refused" if end == "same" else f"{pages} pages: {end}"


def read_only_mount(folder: Path, tries: int) -> Iterator[str]:
    """Read and continue runs that have ended or were killed, on a medium that became read-only."""
    rng, whole = np.random.default_rng(7), bits_of(run())
    for number in range(tries):
        with mounted(folder, 16_384) as place:
            path, ended = place / "run.db", number % 2 == 0
            killed(path, "wal", seconds=60.0 if ended else 0.02 + 0.06 * rng.random())
            _mount("-o", "remount,ro", str(place))
            yield _on_a_read_only_medium(path, place, whole, ended=ended)


def _on_a_read_only_medium(path: Path, place: Path, whole: Any, *, ended: bool) -> str:
    more: dict[str, Any] = {"draws": 80} if ended else {}
    for look in (lambda: cr.open_run(path).result(), lambda: run(path, **more)):
        try:
            seen = bits_of(look())
        except Exception as error:
            if wrong := unclear(f"{type(error).__name__}: {error}", "does not exist", "no outcome"):
                return wrong
            continue
        if ended and seen != whole:
            return "a store on a read-only medium is read as another one"
    _mount("-o", "remount,rw", str(place))
    end = after_a_kill(path, whole)
    return "refused" if end == "same" else end
