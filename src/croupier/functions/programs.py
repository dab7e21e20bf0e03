"""Program: any program in any language, as an arm or as a function of points. No shell is used."""

from __future__ import annotations

import os
import re
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from croupier.checks import choice, count_of, positive, unique_names
from croupier.data.draws import Floats
from croupier.errors import ArmError, PlanError
from croupier.functions.filled_in import FilledIn
from croupier.functions.function import ProgramError
from croupier.functions.program_answers import Answer, Output, all_of, draws_of, more_than
from croupier.functions.program_process import Process, TooMuchError

__all__ = ["Program"]

Command: TypeAlias = str | Sequence[str]
_FLAGS: Final = ("stdin", "logs")

#: What a store compares, besides the command.
_RECORDED: Final = (
    "stdin", "output", "components", "costs", "logs", "seed_bits", "files", "inputs", "reads",
    "find", "environment",
)  # fmt: skip

#: A part of a text that a shell reads as it stands, or a sign that would tell a shell to act.
_QUOTED_OR_SHELL: Final = re.compile(
    r"""\\. | '[^']*' | "(?:\\.|[^"\\])*" | (?P<shell>[|<>&;`]|\$\()""", re.VERBOSE | re.DOTALL
)


@dataclass(frozen=True)
class Program:
    """A command, as an arm that makes `size` draws from a seed, or as a function of points.

    As a limit state, an integrand or a likelihood, it gets the points on its standard input, one
    line each with the coordinates, and prints one line with the value of each. With `files`, or
    with a name such as ``{x1}`` in the command, it is started for every point instead.

    Args:
        command: The program and its arguments, as a list, or as a text that is split at spaces as
            a shell does. ``{size}`` and ``{seed}`` in the arguments are replaced. For pipes and
            the like, start a shell: ``["sh", "-c", "./model {size} {seed} | tail -n {size}"]``.
        stdin: The program stays. An arm gets a line ``size seed`` on its standard input for every
            call, a function its points; it prints its answer at once (it flushes its output). Then
            starting it costs nothing. Such a command needs neither ``{size}`` nor ``{seed}``.
        output: "lines": one draw per line, a value, or a value and its cost. "json": one draw
            per line, as a number, a list of numbers for a vector, or
            ``{"value": 1.5, "cost": 2}``. "binary": float64, little-endian, without a separator;
            points come in the same form.
        components: The number of values of a draw or a point in "lines" and "binary", for vectors.
        costs: Whether a cost follows the values of a draw. By default "lines" and "json" show it;
            "binary" has none.
        logs: The program prints logs of draws, for a run with ``log=True``.
        timeout: The number of seconds that one call may take. It needs no workers.
        folder: The folder in which the program runs; by default that of this process.
        seed_bits: Seeds are below ``2**seed_bits``. awk, R and many programs in C take at most 31
            bits. Give 53 or 64 if the program can: then no two of a million calls share a seed.
        files: Input files that are made for every point in a folder of its own, in which the
            program runs: the name of each, and its template, a path relative to `folder`.
        inputs: The names of the coordinates in templates and arguments, by default x1, x2, ...:
            ``{x1}`` is replaced by the number, ``{x1:.6e}`` by the number in this format.
        reads: The file in which the program leaves its answer; by default its standard output.
        find: A regular expression with a group for each value; its last match in the answer counts.
        keep: A folder in which the folders of all calls are kept. Otherwise they are removed.
        environment: Variables of the environment that are added to those of this process.

    The seed comes from the random stream of the batch. So a program that draws from its seed alone
    gives the same draws on every engine, and when it runs again.

    >>> import croupier as cr
    >>> awk = "BEGIN {srand({seed}); for (i = 0; i < {size}; i++) print rand()}"
    >>> program = Program(["awk", awk])
    >>> program.arguments(3, 7)[1]
    'BEGIN {srand(7); for (i = 0; i < 3; i++) print rand()}'
    >>> result = cr.integrate(Program(["awk", "{print $1 * $2}"]), [(0, 1)] * 2, draws=2000, rng=7)
    >>> round(result.value, 3)
    0.25
    """

    command: Command
    stdin: bool = False
    output: Output = "lines"
    components: int | None = None
    costs: bool | None = None
    logs: bool = False
    timeout: float | None = None
    folder: str | os.PathLike[str] | None = None
    seed_bits: int = 31
    files: Mapping[str, str] | None = None
    inputs: Sequence[str] | None = None
    reads: str | None = None
    find: str | None = None
    keep: str | os.PathLike[str] | None = None
    environment: Mapping[str, str] | None = None
    # The process that stays, one per thread.
    _stays: threading.local = field(
        default_factory=threading.local, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._set("command", _command(self.command))
        choice("output", self.output, Output)
        for name in _FLAGS:
            choice(name, getattr(self, name), Literal[True, False])
        choice("costs", self.costs, Literal[True, False, None])
        if self.components is not None:
            self._set("components", count_of("components", self.components))
        if self.timeout is not None:
            self._set("timeout", positive("timeout", self.timeout))
        if not 16 <= count_of("seed_bits", self.seed_bits) <= 64:
            raise PlanError(f"seed_bits must lie between 16 and 64, got {self.seed_bits!r}")
        if self.folder is not None:
            self._set("folder", os.fspath(self.folder))
        for name in ("files", "environment"):
            self._set(name, _texts(name, getattr(self, name)))
        if self.inputs is not None:
            self._set("inputs", _names(self.inputs))
        if self.find is not None:
            self._set("find", _pattern(self.find, self.components or 1))

    def check_as_arm(self) -> None:
        """Refuse a command that is not told how many draws to make, and from which seed."""
        lacking = [part for part in ("{size}", "{seed}") if part not in " ".join(self.command)]
        if lacking and not self.stdin:
            raise PlanError(
                f"the command {self.text!r:.200} has no {' and no '.join(lacking)}: the program "
                "must be told how many draws to make and from which seed; give stdin=True if it "
                "reads a line 'size seed' for every call"
            )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # A process that stays cannot be sent to another process: it is started there.
        return type(self), tuple([getattr(self, each.name) for each in fields(self) if each.init])

    @property
    def text(self) -> str:
        """The command in one line."""
        return shlex.join(self.command)

    @property
    def name(self) -> str:
        """The name of the program, for an arm that has no other name."""
        return Path(self.command[0]).stem

    @property
    def version(self) -> str:
        """What a store compares: another command, or another way to read it, is another arm."""
        standard: dict[str, Any] = {f.name: f.default for f in fields(self)}
        how = {
            name: getattr(self, name) for name in _RECORDED if getattr(self, name) != standard[name]
        }
        return " ".join([self.text, *(f"{name}={value}" for name, value in how.items())])

    def arguments(self, size: int, seed: int) -> list[str]:
        """Return the command of one call; other braces in it stay as they are."""
        return [
            part.replace("{size}", str(size)).replace("{seed}", str(seed)) for part in self.command
        ]

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` draws of the program, from a seed of `rng`."""
        seed = int(rng.integers(2**self.seed_bits, dtype=np.uint64, endpoint=False))
        try:
            return self._ask(size, seed) if self.stdin else self._start(size, seed)
        except ProgramError as failed:
            self._forget()
            message = f"the program {self.text!r:.200} (size {size}, seed {seed}) {failed}"
            raise ArmError(message, arm=self.name, value=failed.printed) from None
        except BaseException:
            self._forget()  # its next answer would be the rest of this one
            raise

    def _start(self, size: int, seed: int) -> Any:
        """Start the program for one call; it may print nothing more than its draws."""
        return self._once(self._process(self.arguments(size, seed)), self._answer, size)

    def _once(self, process: Process, answer: Answer, size: int) -> Any:
        try:
            printed = process.read(more_than(answer, size), self.timeout)
            process.check_end(self.timeout)
            return self._draws(process, answer, printed, size)
        finally:
            process.end()

    def _process(
        self, arguments: Sequence[str], *, stays: bool = False, fed: bytes = b""
    ) -> Process:
        environment = dict(self.environment or {})
        return Process(arguments, self.folder, stays=stays, fed=fed, environment=environment)

    def _staying(self, arguments: Sequence[str]) -> Process:
        """Return the program that stays; it is started before the first call."""
        process: Process | None = getattr(self._stays, "process", None)
        if process is None or not process.ours:
            process = self._process(arguments, stays=True)
            self._stays.process = process
        return process

    def _ask(self, size: int, seed: int) -> Any:
        """Ask the program that stays."""
        process = self._staying(self.arguments(size, seed))
        process.ask(f"{size} {seed}\n")
        return self._answered(process, self._answer, size)

    def _answered(self, process: Process, answer: Answer, size: int) -> Any:
        printed = process.read(all_of(answer, size), self.timeout)
        return self._draws(process, answer, printed, size)

    def _draws(self, process: Process, answer: Answer, printed: bytes, size: int) -> Any:
        try:
            return draws_of(answer, printed, size)
        except ProgramError as failed:
            raise process.wrong(failed) from None

    @property
    def _answer(self) -> Answer:
        return Answer(self.output, self.components, self.costs, self.logs)

    # -- as a function of points

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values at a point."""
        return () if self.components is None else (self.components,)

    def as_function(self, dimension: int) -> tuple[Callable[[Any], Any], Literal["all", "one"]]:
        """Return the program as a function of all points or of one, and which of these it is."""
        if self.logs or self.costs or "{seed}" in " ".join(self.command):
            raise PlanError(
                f"the program {self.text!r:.200} is to be a function of points: these have no "
                "seed, no costs and no logs"
            )
        names = self.inputs or tuple([f"x{j + 1}" for j in range(dimension)])
        if len(names) != dimension:
            raise PlanError(f"inputs has {len(names)} names, but points have {dimension}")
        form = FilledIn(names, self)
        if not self.files and not form.named(" ".join(self.command)):
            lone = [name for name in ("inputs", "reads", "find", "keep") if getattr(self, name)]
            if lone:
                raise PlanError(
                    f"{', '.join(lone)}= is for a program that is started for every point: give "
                    f"files=, or {{{names[0]}}} in the command"
                )
            return self.values_at, "all"
        if self.stdin:
            raise PlanError("a program with files= or a name in its command is started every time")
        form.check()
        return form.value_at, "one"

    def values_at(self, points: Floats) -> Any:
        """Return the values at points (n, d), which the program reads from its standard input."""
        n = len(points)
        answer = Answer(self.output, self.components, False, False, "point")
        if self.output == "binary":
            printed = points.astype("<f8").tobytes()
        else:
            printed = "".join(" ".join(map(repr, row)) + "\n" for row in points.tolist()).encode()
        arguments = self.arguments(n, 0)
        try:
            if not self.stdin:
                return self._once(self._process(arguments, fed=printed), answer, n)
            process = self._staying(arguments)
            began = time.monotonic()
            process.feed(printed)
            values = self._answered(process, answer, n)
            if n > 1:
                # A line too many gives its point the answer of another one, and the last answer
                # comes late, by the time of one point.
                process.check_quiet(2 * (time.monotonic() - began) / n)
            return values
        except TooMuchError as failed:
            self._forget()
            message = f"the program {self.text!r:.200} {failed}"
            if not self.stdin:
                raise ProgramError(message) from None
            # Which point it was cannot be found out, and earlier answers may be wrong.
            raise ArmError(f"{message}\nprint one line for every point", arm=self.name) from None
        except ProgramError as failed:
            self._forget()
            raise ProgramError(f"the program {self.text!r:.200} {failed}", failed.printed) from None
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        process: Process | None = self._stays.__dict__.pop("process", None)
        if process is not None:
            process.end()


def _command(command: Command) -> tuple[str, ...]:
    if isinstance(command, str):
        _no_shell(command)
    try:
        parts = shlex.split(command) if isinstance(command, str) else list(command)
    except (ValueError, TypeError) as error:
        raise PlanError(f"command {command!r:.200} cannot be split into words: {error}") from None
    if not parts or not all(isinstance(part, str) and "\0" not in part for part in parts):
        raise PlanError(
            f"command must be a program and its arguments, as texts, got {command!r:.200}"
        )
    return tuple(parts)


def _no_shell(command: str) -> None:
    """Refuse what only a shell understands: the program would get it as an argument."""
    for found in _QUOTED_OR_SHELL.finditer(command):
        if sign := found["shell"]:
            raise PlanError(
                f"the command {command!r:.200} has a {sign!r}, but no shell reads it: put it in "
                f'quotes, give a list of words, or start a shell: ["sh", "-c", {command!r:.200}]'
            )


def _texts(name: str, given: Any) -> tuple[tuple[str, str], ...] | None:
    """Return pairs of texts, from a mapping or from pairs."""
    if given is None:
        return None
    try:
        pairs = tuple([(os.fspath(key), os.fspath(value)) for key, value in dict(given).items()])
    except (TypeError, ValueError):
        raise PlanError(f"{name} must be texts by name, got {given!r:.80}") from None
    return pairs or None


def _names(given: Any) -> tuple[str, ...]:
    names = tuple(given) if not isinstance(given, str) else ()
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise PlanError(f"inputs must be the names of the coordinates, got {given!r:.80}")
    unique_names(names)
    return names


def _pattern(given: str, groups: int) -> str:
    try:
        found = re.compile(given.encode()).groups
    except (re.error, AttributeError) as error:
        raise PlanError(f"find must be a regular expression, got {given!r:.80}: {error}") from None
    if found != groups:
        raise PlanError(f"find must have {groups} group{'s' * (groups > 1)} (...), got {given!r}")
    return given
