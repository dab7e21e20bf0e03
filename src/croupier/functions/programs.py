"""Program: any program in any language as an arm. No shell is involved."""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from croupier.checks import choice, count_of, positive
from croupier.errors import ArmError, PlanError
from croupier.functions.program_answers import Answer, Output, all_of, draws_of, more_than
from croupier.functions.program_process import Process, ProgramError

__all__ = ["Program"]

Command: TypeAlias = str | Sequence[str]
_FLAGS: Final = ("stdin", "logs")

#: A part of a text that a shell reads as it stands, or a sign that would tell a shell to act.
_QUOTED_OR_SHELL: Final = re.compile(
    r"""\\. | '[^']*' | "(?:\\.|[^"\\])*" | (?P<shell>[|<>&;`]|\$\()""", re.VERBOSE | re.DOTALL
)


@dataclass(frozen=True)
class Program:
    """A command that makes `size` draws from a seed and prints them; use it like any other arm.

    Args:
        command: The program and its arguments, as a list, or as a text that is split at spaces as
            a shell does. ``{size}`` and ``{seed}`` in the arguments are replaced. For pipes and
            the like, start a shell: ``["sh", "-c", "./model {size} {seed} | tail -n {size}"]``.
        stdin: The program stays. It gets a line ``size seed`` on its standard input for every
            call, and prints its answer at once (it flushes its output). Then starting it costs
            nothing. Such a command needs neither ``{size}`` nor ``{seed}``.
        output: "lines": one draw per line, a value, or a value and its cost. "json": one draw
            per line, as a number, a list of numbers for a vector, or
            ``{"value": 1.5, "cost": 2}``. "binary": float64, little-endian, without a separator.
        components: The number of values of a draw in "lines" and "binary", for vectors.
        costs: Whether a cost follows the values of a draw. By default "lines" and "json" show it;
            "binary" has none.
        logs: The program prints logs of draws, for a run with ``log=True``.
        timeout: The number of seconds that one call may take. It needs no workers.
        folder: The folder in which the program runs; by default that of this process.
        seed_bits: Seeds are below ``2**seed_bits``. awk, R and many programs in C take at most 31
            bits. Give 53 or 64 if the program can: then no two of a million calls share a seed.

    The seed comes from the random stream of the batch. So a program that draws from its seed alone
    gives the same draws on every engine, and when it runs again.

    >>> import croupier as cr
    >>> awk = "BEGIN {srand({seed}); for (i = 0; i < {size}; i++) print rand()}"
    >>> program = Program(["awk", awk])
    >>> program.arguments(3, 7)[1]
    'BEGIN {srand(7); for (i = 0; i < 3; i++) print rand()}'
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
            name: getattr(self, name)
            for name in ("stdin", "output", "components", "costs", "logs", "seed_bits")
            if getattr(self, name) != standard[name]
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
            raise ArmError(message, arm=self.name, value=failed.said) from None
        except BaseException:
            self._forget()  # its next answer would be the rest of this one
            raise

    def _start(self, size: int, seed: int) -> Any:
        """Start the program for one call; it may print nothing more than its draws."""
        process = Process(self.arguments(size, seed), self.folder, asked=False)
        try:
            said = process.read(more_than(self._answer, size), self.timeout)
            process.check_end(self.timeout)
            return self._draws(process, said, size)
        finally:
            process.end()

    def _ask(self, size: int, seed: int) -> Any:
        """Ask the program that stays, and start it before the first call."""
        process: Process | None = getattr(self._stays, "process", None)
        if process is None or not process.ours:
            process = Process(self.arguments(size, seed), self.folder, asked=True)
            self._stays.process = process
        process.ask(f"{size} {seed}\n")
        return self._draws(process, process.read(all_of(self._answer, size), self.timeout), size)

    def _draws(self, process: Process, said: bytes, size: int) -> Any:
        try:
            return draws_of(self._answer, said, size)
        except ProgramError as failed:
            raise process.wrong(failed) from None

    @property
    def _answer(self) -> Answer:
        return Answer(self.output, self.components, self.costs, self.logs)

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
