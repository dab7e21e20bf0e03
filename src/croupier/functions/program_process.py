"""Process: a running program, what it prints, and its last lines if it fails."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from croupier.functions.function import ProgramError

__all__ = ["Process", "TooMuchError", "printable"]

#: If a program fails, this many of its last lines are shown, with this many characters each.
_LAST: Final = 5
_LONG: Final = 200

#: The system gives at most this many bytes at once.
_BYTES: Final = 1 << 16

#: Seconds to wait for the last words of a program that has ended.
_LAST_WORDS: Final = 1.0


class Process:
    """One running program. With `stays` it is asked line by line; otherwise `fed` is its input."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: str | os.PathLike[str] | None,
        *,
        stays: bool = False,
        fed: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._stays = stays
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE if stays or fed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env={**os.environ, **environment} if environment else None,
                **_OWN_GROUP,
            )
        except (OSError, ValueError) as error:
            raise ProgramError(_cannot_start(error, arguments[0], folder)) from None
        self._pid = os.getpid()
        self._errors: deque[bytes] = deque(maxlen=_LAST)
        self._printed: deque[bytes] = deque(maxlen=2)
        self._late = False
        self._listener = threading.Thread(
            target=_listen, args=(self._process.stderr, self._errors), daemon=True
        )
        self._listener.start()
        if fed:
            self._feed(fed)
        # Runs when this object is dropped, and at the end of the interpreter.
        self._end = weakref.finalize(self, _end, self._process, self._pid)

    @property
    def ours(self) -> bool:
        """Whether this process has started the program; a fork must start its own."""
        return os.getpid() == self._pid

    def end(self) -> None:
        """End the program and all that it has started."""
        self._end()

    def ask(self, line: str) -> None:
        """Send a line to a program that stays; what it has printed before is one too many."""
        assert self._process.stdin is not None
        self.check_quiet(0)
        try:
            self._process.stdin.write(line.encode())
        except OSError:
            raise self._failed(f"ended before it was asked{self._code()}") from None

    def feed(self, printed: bytes) -> None:
        """Send the points of a call to a program that stays, which may answer meanwhile."""
        self.check_quiet(0)
        self._feed(printed)

    def _feed(self, printed: bytes) -> None:
        # In a thread: a program that answers line by line waits until its answers are read.
        feeder = threading.Thread(
            target=_write, args=(self._process.stdin, printed, not self._stays), daemon=True
        )
        feeder.start()

    def check_quiet(self, seconds: float) -> None:
        """Give a program that stays so long to print what nobody has asked for: an error."""
        if sys.platform == "win32":
            return  # a pipe cannot be looked into there
        if _ready(self._process.stdout, seconds) and self._process.poll() is None:
            raise self._too_much()

    def read(self, enough: Callable[[bytes, int], int | None], timeout: float | None) -> bytes:
        """Read until `enough` says how many bytes are the answer, or until the output ends.

        `enough` gets what came last, and the number of bytes so far.
        """
        stdout = self._process.stdout
        assert stdout is not None
        parts: list[bytes] = []
        length = 0
        with self._deadline(timeout):
            while part := self._some(stdout):
                parts.append(part)
                length += len(part)
                self._printed.append(part)
                if (needed := enough(part, length)) is not None:
                    if length > needed:
                        raise self._too_much()
                    return b"".join(parts)
        if self._late:
            raise self._failed(f"did not answer within {timeout:g} s, and was ended")
        printed = b"".join(parts)
        if self._stays:
            raise self._failed(f"ended before its answer was complete{self._code()}")
        return printed

    def _some(self, stdout: Any) -> bytes:
        """Return what comes next, and nothing at the end.

        What the program has started may keep its output open. So the end is also when the program
        has ended and nothing more comes, or when its time is over.
        """
        ended = False
        while not self._late:
            if _ready(stdout, _LAST_WORDS / 10):
                try:
                    return bytes(os.read(stdout.fileno(), _BYTES))
                except OSError:
                    return b""
            if ended:
                break
            ended = self._process.poll() is not None
        return b""

    def check_end(self, timeout: float | None) -> None:
        """Wait for the end of the program; any exit code but 0 is an error."""
        with self._deadline(timeout):
            code = self._process.wait()
        if self._late:
            raise self._failed(f"did not end within {timeout:g} s")
        if code:
            raise self._failed(_ended_with(code))

    def wrong(self, failed: ProgramError) -> ProgramError:
        """Return an error about an answer, with the last lines of the program."""
        self._listener.join(_LAST_WORDS / 10)
        return ProgramError(f"{failed}{self._last_lines()}", failed.printed)

    def _too_much(self) -> TooMuchError:
        self._listener.join(_LAST_WORDS)
        return TooMuchError(f"printed more than it was asked for{self._last_lines()}")

    def _failed(self, what: str) -> ProgramError:
        self._listener.join(_LAST_WORDS)
        return ProgramError(what + self._last_lines())

    def _code(self) -> str:
        try:
            code = self._process.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            return ""
        return f": it {_ended_with(code)}"

    def _last_lines(self) -> str:
        if self._errors:
            return f"; its last lines on stderr:\n{_shown(list(self._errors))}"
        lines = b"".join(self._printed).splitlines()[-_LAST:]
        return f"; its last lines:\n{_shown(lines)}" if lines else "; it printed nothing"

    def _deadline(self, timeout: float | None) -> _Deadline:
        return _Deadline(timeout, self._too_late)

    def _too_late(self) -> None:
        self._late = True
        _kill(self._process, self._pid)


class TooMuchError(ProgramError):
    """A program has printed more than its answer: its answers may belong to other points."""


class _Deadline:
    """Calls a function if a block takes longer than `seconds`."""

    def __init__(self, seconds: float | None, late: Callable[[], None]) -> None:
        self._timer = (
            None if seconds is None else threading.Timer(min(seconds, threading.TIMEOUT_MAX), late)
        )
        if self._timer is not None:
            self._timer.daemon = True

    def __enter__(self) -> None:
        if self._timer is not None:
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


#: Ctrl-C in a terminal goes to croupier alone, which then ends the programs.
_OWN_GROUP: Final[dict[str, Any]] = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    if sys.platform == "win32"
    else {"process_group": 0}
)


def _ready(stream: Any, seconds: float) -> bool:
    """Return whether a stream has something to read, or has ended, within `seconds`."""
    if sys.platform == "win32":
        return True  # a pipe cannot be looked into there: who reads it waits
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _listen(stream: Any, lines: deque[bytes]) -> None:
    """Read what a program says on stderr, so that it never waits, and keep the last lines."""
    with suppress(OSError, ValueError), stream:
        rest = b""
        while part := os.read(stream.fileno(), _BYTES):
            *whole, rest = (rest + part).split(b"\n")
            lines.extend(line for line in whole if line.strip())
            rest = rest[-_BYTES:]
        if rest.strip():
            lines.append(rest)


def _write(stream: Any, printed: bytes, close: bool) -> None:
    """Write to a program; one that ends early shows in what it prints and in its exit code."""
    with suppress(OSError, ValueError):
        view = memoryview(printed)
        while view:
            view = view[stream.write(view) :]
        if close:
            stream.close()


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork leaves the program to its parent
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:  # also after the program's own end: what it has started may still run
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    _kill(process, owner)
    if os.getpid() != owner:
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        process.wait(_LAST_WORDS)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _cannot_start(
    error: OSError | ValueError, program: str, folder: str | os.PathLike[str] | None
) -> str:
    place = os.fspath(folder) if folder is not None else os.getcwd()
    if isinstance(error, FileNotFoundError):
        if not os.path.isdir(place):
            return f"cannot start: there is no folder {place}"
        return (
            f"cannot start: there is no program {program!r} in {place} or on the PATH (a path "
            "such as ./program is relative to that folder)"
        )
    if isinstance(error, PermissionError):
        return f"cannot start: {program!r} may not be executed: chmod +x {program}"
    return f"cannot start: {error}"


def _ended_with(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _shown(lines: Sequence[bytes]) -> str:
    return "\n".join(f"  {printable(line)}" for line in lines)


def printable(line: bytes) -> str:
    """Return the beginning of a line, with a ? for every control character."""
    text = line.decode(errors="replace")
    shown = "".join(c if c.isprintable() else "?" for c in text[:_LONG])
    return f"{shown} ..." if len(text) > _LONG else shown
