"""Write a page or a picture: at once or not at all, and never in place of a device."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["check_target", "replace_file", "write_file"]


def write_file(path: str | os.PathLike[str], content: bytes, what: str) -> Path:
    """Write a file and return its path; `what` is the word for it in an error message.

    A regular file is replaced at once or not at all; a link stays a link, and the file that it
    leads to is replaced. A pipe or a device such as /dev/stdout is written to, never replaced. A
    file is replaced only by one of its kind: see `check_target`.
    """
    given = check_target(path, content, what)
    with _named(given, what):
        if (handle := _own_handle(given)) is not None:
            _write_to(os.dup(handle), content)
        elif (mode := _mode(given)) is None or stat.S_ISREG(mode):
            replace_file(Path(os.path.realpath(given)), content)
        else:
            _write_to(os.open(given, os.O_WRONLY), content)
    return given


def check_target(path: str | os.PathLike[str], content: bytes, what: str) -> Path:
    """Refuse a place where `content`, or what begins like it, should not be written.

    A file is replaced only if it is empty or begins as the new one does: a page by a page, a table
    by a table. So a slip of the hand never costs a stored run, a program, or what a run reads. The
    first four bytes tell the formats apart; in some, the size of the file comes next.
    """
    given = Path(path)
    if given.is_dir():
        raise IsADirectoryError(
            f"cannot write the {what}: {given} is a folder; "
            f"give a file, such as {given / 'run.html'}"
        )
    if not given.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write the {what} {given}: there is no folder {given.parent}; make it first"
        )
    if _own_handle(given) is not None:
        return given
    with _named(given, what):
        mode = _mode(given)
        if mode is None:
            return given
        if stat.S_ISBLK(mode):
            raise OSError(None, "it is a disk, and writing would damage it; give another file")
        if stat.S_ISREG(mode):
            with given.open("rb") as file:
                begins = file.read(4)
            if begins and begins != content[:4]:
                raise OSError(None, "it is a file of another kind; delete it, or give another file")
    return given


def _mode(path: Path) -> int | None:
    """Return what a path leads to, None if there is nothing yet."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _named(given: Path, what: str) -> Iterator[None]:
    """Say in an error what was to be written, and where."""
    try:
        yield
    except OSError as error:
        why = f"cannot write the {what}: {error.strerror}"
        if error.errno is None:  # we refused, not the system
            raise OSError(f"{why} than {given}") from error
        raise OSError(error.errno, why, str(given)) from error


def replace_file(target: Path, content: bytes) -> None:
    """Write a file at once or not at all, whatever was there."""
    new = target.with_name(f".{uuid4().hex}.new")
    try:
        new.write_bytes(content)
        os.replace(new, target)
    finally:
        new.unlink(missing_ok=True)


def _write_to(handle: int, content: bytes) -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # what was printed before the page comes before the page
    with open(handle, "wb") as file:
        file.write(content)


def _own_handle(path: Path) -> int | None:
    """Return the number of the open file of this process that a path such as /dev/stdout leads to.

    A copy of the number is used. To open the path would fail for a socket, and would write from
    the start of a file that the shell has opened.
    """
    homes = (Path(os.path.realpath("/proc/self/fd")), Path("/dev/fd"))
    for _ in range(40):  # links may lead in a circle
        here = Path(os.path.realpath(path.parent)) / path.name
        if here.parent in homes and here.name.isdigit():
            return int(here.name)
        if not here.is_symlink():
            return None
        path = here.parent / os.readlink(here)
    return None
