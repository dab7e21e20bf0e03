"""Write a page or a picture: at once or not at all, and never in place of a device."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from uuid import uuid4

__all__ = ["write_file"]

#: Every sqlite database begins so.
_DATABASE = b"SQLite format 3\0"


def write_file(path: str | os.PathLike[str], content: bytes, what: str) -> Path:
    """Write a file and return its path; `what` is the word for it in an error message.

    A regular file is replaced at once or not at all; a link stays a link, and the file that it
    leads to is replaced. A pipe or a device such as /dev/stdout is written to, never replaced. What
    a run reads, or is stored in, is not replaced.
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
    try:
        if (handle := _own_handle(given)) is not None:
            _write_to(os.dup(handle), content)
        elif _replaceable(given):
            _replace(Path(os.path.realpath(given)), content)
        else:
            _write_to(os.open(given, os.O_WRONLY), content)
    except OSError as error:
        why = f"cannot write the {what}: {error.strerror}"
        if error.errno is None:  # we refused, not the system
            raise OSError(f"{why} than {given}") from error
        raise OSError(error.errno, why, str(given)) from error
    return given


def _replaceable(path: Path) -> bool:
    """Tell whether a path leads to a regular file that may be lost, or to nothing yet."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISBLK(mode):
        raise OSError(None, "it is a disk, and writing would damage it; give another file")
    if stat.S_ISREG(mode):
        _refuse_inputs(Path(os.path.realpath(path)))
    return stat.S_ISREG(mode)


def _refuse_inputs(path: Path) -> None:
    with path.open("rb") as file:
        database = file.read(len(_DATABASE)) == _DATABASE
    if database:
        raise OSError(None, "it is a stored run, or another database; give another file")
    if path.suffix in (".py", ".toml"):
        raise OSError(None, "it is a program or a problem file; give another file")


def _replace(target: Path, content: bytes) -> None:
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
