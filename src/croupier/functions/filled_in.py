"""FilledIn: a solver that reads files, started for every point in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.functions.function import ProgramError
from croupier.functions.program_answers import Answer, draws_of
from croupier.functions.program_process import Process, printable

if TYPE_CHECKING:
    from croupier.functions.programs import Program

__all__ = ["FilledIn"]

#: What a solver prints before its answer, in bytes; one that prints more is ended.
_LONGEST_LOG: Final = 100_000_000


@dataclass(frozen=True)
class FilledIn:
    """A program whose arguments and input files have the coordinates of a point by their names."""

    names: Sequence[str]
    program: Program

    @property
    def _place(self) -> Path:
        return Path(self.program.folder or ".").resolve()

    def named(self, text: str) -> bool:
        """Return whether a text has the name of a coordinate in braces."""
        return self._braces.search(text) is not None

    @property
    def _braces(self) -> re.Pattern[str]:
        return re.compile(rf"\{{({'|'.join(map(re.escape, self.names))})(?::([^{{}}]*))?\}}")

    def check(self) -> None:
        """Refuse templates that do not exist, and those without any coordinate."""
        texts = [" ".join(self.program.command)]
        for name, template in dict(self.program.files or {}).items():
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise PlanError(f"files: {name!r} must be a path inside of the folder of a call")
            path = self._place / template
            if not path.is_file():
                raise PlanError(f"files: the template {path} does not exist or is not a file")
            texts.append(_text(path.read_bytes()) or "")
        if not any(map(self.named, texts)):
            raise PlanError(
                f"no template and no argument has a coordinate, such as {{{self.names[0]}}}"
            )
        for text in texts:
            try:
                self.filled(text, np.ones(len(self.names)))
            except ValueError as error:
                raise PlanError(f"files: the format of a coordinate is wrong: {error}") from None

    def filled(self, text: str, point: Floats) -> str:
        """Return a text with the numbers of a point in place of the names in braces."""
        values = dict(zip(self.names, np.ravel(point).tolist(), strict=True))

        def number(found: re.Match[str]) -> str:
            value = values[found[1]]
            return format(value, found[2]) if found[2] else repr(value)

        return self._braces.sub(number, text)

    def value_at(self, point: Floats) -> Any:
        """Return the value at a point, or the values."""
        program = self.program
        with self._work_folder(point) as folder:
            try:
                printed = self._run(point, folder)
                if program.reads:
                    printed = _contents(folder / program.reads)
                return self._value(printed)
            except ProgramError as failed:
                message = f"the program {program.text!r:.200} {failed}"
                raise ProgramError(message, failed.printed) from None

    def _run(self, point: Floats, folder: Path) -> bytes:
        program = self.program
        arguments = [self.filled(part, point) for part in program.command]
        if os.sep in arguments[0]:  # a path such as ./solver is relative to the folder of all calls
            arguments[0] = os.path.join(self._place, arguments[0])
        process = Process(arguments, folder, environment=dict(program.environment or {}))
        try:
            printed = process.read(_limited, program.timeout)
            process.check_end(program.timeout)
            return printed
        finally:
            process.end()

    def _value(self, printed: bytes) -> Any:
        program = self.program
        if program.find is not None:
            matches = re.findall(program.find.encode(), printed)
            if not matches:
                last = [printable(line) for line in printed.splitlines()[-1:]]
                raise ProgramError(f"printed nothing that fits find={program.find!r}; last: {last}")
            groups = matches[-1] if isinstance(matches[-1], tuple) else (matches[-1],)
            printed = b" ".join(groups)
        answer = Answer(program.output, program.components, False, False, "point")
        return draws_of(answer, printed.strip() if answer.output != "binary" else printed, 1)[0]

    @contextmanager
    def _work_folder(self, point: Floats) -> Iterator[Path]:
        """Make a folder with the input files of a call; without files it is that of all calls."""
        program = self.program
        if not program.files:
            yield self._place
            return
        if program.keep is not None:
            (self._place / program.keep).mkdir(parents=True, exist_ok=True)
        parent = None if program.keep is None else self._place / program.keep
        folder = Path(tempfile.mkdtemp(prefix="call-", dir=parent))
        try:
            for name, template in dict(program.files).items():
                content = (self._place / template).read_bytes()
                text = _text(content)
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                filled = content if text is None else self.filled(text, point).encode()
                (folder / name).write_bytes(filled)
            yield folder
        finally:
            if program.keep is None:
                shutil.rmtree(folder, ignore_errors=True)


def _text(content: bytes) -> str | None:
    """Return a template as text; None for other files, which are only copied."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProgramError(f"left no file {path.name}: {error.strerror}") from None


def _limited(part: bytes, length: int) -> int | None:
    return _LONGEST_LOG if length > _LONGEST_LOG else None
