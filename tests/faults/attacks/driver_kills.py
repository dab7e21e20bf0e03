"""kill -9: at a line, at a moment, at a system call. The same call must give the same bits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from tests.conftest import bits_of
from tests.faults.driver import drive, run

#: The system calls that change a file, the rare ones first.
CALLS = ("rename", "write", "ftruncate", "mmap", "unlink", "fdatasync", "close", "pwrite64")

#: The ends of the names of all files that a run keeps.
FILES = ("", "-wal", "-journal", "-shm", "-writer")

ROOT = Path(__file__).parents[3]


def killed_at_a_line(folder: Path, tries: int, mode: str) -> Iterator[str]:
    rng, whole = np.random.default_rng(7), bits_of(run())
    for number in range(tries):
        path = folder / f"line-{number}.db"
        for _ in range(int(rng.integers(1, 4))):  # the next kills hit the next calls
            killed(path, mode, line=int(rng.integers(1, 4000)))
        yield after_a_kill(path, whole)


def killed_at_a_moment(folder: Path, tries: int, mode: str) -> Iterator[str]:
    rng, whole = np.random.default_rng(7), bits_of(run())
    for number in range(tries):
        path = folder / f"moment-{number}.db"
        for _ in range(int(rng.integers(1, 4))):
            killed(path, mode, seconds=0.08 * rng.random())
        yield after_a_kill(path, whole)


def killed_under_another_name(folder: Path, tries: int) -> Iterator[str]:
    """Kill runs whose store is a link, in a folder that is a link. They go on by the real name."""
    rng, whole = np.random.default_rng(7), bits_of(run())
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")
    for number in range(tries):
        path, link = folder / "real" / f"{number}.db", folder / "link" / f"link-{number}.db"
        link.symlink_to(f"{number}.db")
        killed(link, "wal", seconds=0.08 * rng.random())
        yield after_a_kill(path, whole)
        link.unlink()


def killed_at_a_system_call(folder: Path, tries: int, mode: str) -> Iterator[str]:
    """Kill the run at a system call on the files of the store: at every n-th, of every kind."""
    done, whole = 0, bits_of(run())
    for call in CALLS:
        for number in count(1):
            if done >= tries:
                return
            path = folder / f"{call}-{number}.db"
            if b"finished" in traced(path, mode, f"{call}:signal=KILL:when={number}"):
                break  # there are no more calls of this kind
            done += 1
            clear_dot_locks(path)
            yield after_a_kill(path, whole)


def traced(path: Path, mode: str, inject: str) -> bytes:
    """Run in another process under strace, which changes system calls on the files of the store."""
    files = [part for end in FILES for part in ("-P", f"{path}{end}")]
    if inject.startswith("rename:"):  # a new store is renamed from a name that nobody knows before
        files = []
    strace = ["strace", "-f", "-o", os.devnull, *files, "-e", f"inject={inject}"]
    command = [*strace, sys.executable, "-m", "tests.faults.driver", str(path), mode]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).stdout


def killed(path: Path, mode: str, *, line: int = 0, seconds: float = 60.0) -> None:
    """Run in a forked process, and kill it at the n-th line of the store's code, or later."""
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            if line:
                sys.settrace(_killing(line))
            drive(str(path), mode)
        os._exit(0)
    until = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.0005)
    clear_dot_locks(path)


def _killing(line: int) -> Any:
    left = line

    def watch(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if "croupier/store" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return watch

    return watch


def clear_dot_locks(path: Path) -> None:
    """Remove the locks of sqlite's oldest way to lock. They outlive their owner."""
    for left in path.parent.glob(f"{path.name}*.lock"):
        shutil.rmtree(left, ignore_errors=True)


def after_a_kill(path: Path, whole: Any) -> str:
    """Look at the store and go on; the result must be that of a run that was never killed."""
    try:
        if path.exists():
            cr.open_run(path)
        same = bits_of(run(path)) == whole and bits_of(cr.open_run(path).result()) == whole
    except Exception as error:
        return f"{path.name}: {type(error).__name__}: {error}"
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()
    return "same" if same else f"{path.name}: other bits"
