"""What a program prints, as draws: lines, JSON lines, or binary numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from croupier.data.draws import Draws, Floats
from croupier.functions.function import ProgramError
from croupier.functions.program_process import printable

__all__ = ["Answer", "Output", "all_of", "draws_of", "more_than"]

Output: TypeAlias = Literal["lines", "json", "binary"]

#: Tells from what came last, and from the number of bytes so far, how long a whole answer is;
#: None while it is not complete.
Enough: TypeAlias = Callable[[bytes, int], int | None]

#: A draw takes at most this many bytes. A program that prints more without a new line is wrong.
_LONGEST: Final = 100_000

_DOUBLE: Final = np.dtype("<f8")

#: Fortran writes 1.25D-03. Python alone reads 1_000 as a number: to others it is a misprint.
_AS_PRINTED: Final = bytes.maketrans(b"Dd_", b"EE?")


class Answer(NamedTuple):
    """How a program prints its draws; the fields are those of `Program`."""

    output: Output
    components: int | None
    costs: bool | None
    logs: bool
    what: str = "draw"

    @property
    def width(self) -> int:
        """The number of values of a draw."""
        return self.components or 1

    @property
    def bytes_per_draw(self) -> int:
        """The number of bytes of a draw in binary output."""
        return _DOUBLE.itemsize * (self.width + bool(self.costs))


def all_of(answer: Answer, size: int) -> Enough:
    """Return when an answer of `size` draws is complete: nothing may follow."""
    if answer.output == "binary":
        needed = size * answer.bytes_per_draw
        return lambda part, length: needed if length >= needed else None
    lines = 0

    def enough(part: bytes, length: int) -> int | None:
        nonlocal lines
        lines += part.count(b"\n")
        if lines > size:
            return length - 1
        if lines < size:
            _not_endless(length, size)
            return None
        return length if part.endswith(b"\n") else length - 1

    return enough


def more_than(answer: Answer, size: int) -> Enough:
    """Return when a program that ends after its answer has printed too much."""
    complete = all_of(answer, size)

    def enough(part: bytes, length: int) -> int | None:
        needed = complete(part, length)
        return needed if needed is not None and length > needed else None

    return enough


def _not_endless(length: int, size: int) -> None:
    if length > _LONGEST * (size + 1):
        raise ProgramError(f"has printed {length:,} bytes for {size} draws")


def draws_of(answer: Answer, answered: bytes, size: int) -> Any:
    """Return the draws that a program has printed: an array, or `Draws` with their costs."""
    if answer.output == "binary":
        table = _binary(answer, answered, size)
    else:
        lines = answered.split(b"\n")
        if not lines[-1].strip():
            lines.pop()
        if len(lines) != size:
            asked, printed = _count(size, answer.what), _count(len(lines), "line")
            raise ProgramError(f"was asked for {asked} and printed {printed}")
        if answer.output == "json":
            return _json(answer, lines)
        table = _columns(answer, lines)
    values = table[:, : answer.width]
    costs = table[:, answer.width] if table.shape[1] > answer.width else None
    return _draws(answer, values[:, 0] if answer.components is None else values, costs)


def _draws(answer: Answer, values: Any, costs: Any) -> Any:
    if answer.logs:
        return Draws(None, costs, log_values=values)
    return values if costs is None else Draws(values, costs)


def _binary(answer: Answer, answered: bytes, size: int) -> Floats:
    needed = size * answer.bytes_per_draw
    if len(answered) != needed:
        raise ProgramError(
            f"was asked for {_count(size, answer.what)} and printed {len(answered):,} bytes, not "
            f"{needed:,} ({answer.bytes_per_draw} per {answer.what})"
        )
    return np.frombuffer(answered, _DOUBLE).astype(np.float64).reshape(size, -1)


def _columns(answer: Answer, lines: Sequence[bytes]) -> Floats:
    """Return the numbers of lines: those of a draw, with or without its cost."""
    if answer.width == 1 and not answer.costs:
        try:
            return np.array([_number(line) for line in lines])[:, None]
        except ValueError:
            pass  # more than one column, or not a number
    rows = [line.replace(b",", b" ").split() for line in lines]
    widths = {None: (answer.width, answer.width + 1), False: (answer.width,),
              True: (answer.width + 1,)}[answer.costs]  # fmt: skip
    first = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) not in widths or len(row) != first:
            wanted = " or ".join(map(str, widths)) if first not in widths else str(first)
            what = "numbers" if wanted != "1" else "number"
            raise _wrong(number, lines[number], f"{len(row)} columns, not {wanted} {what}")
    table = np.empty((len(rows), first))
    for number, row in enumerate(rows):
        try:
            table[number] = [_number(cell) for cell in row]
        except ValueError:
            raise _wrong(number, lines[number], "not a number") from None
    return table


def _number(cell: bytes) -> float:
    return float(cell.translate(_AS_PRINTED))


def _json(answer: Answer, lines: Sequence[bytes]) -> Any:
    values, costs = [], []
    for number, line in enumerate(lines):
        try:
            draw = json.loads(line)
        except ValueError:
            raise _wrong(number, line, "not JSON") from None
        if isinstance(draw, dict):
            known = [name for name in ("value", "values", "log_value") if name in draw]
            if not known:
                raise _wrong(number, line, "an object without 'value'")
            if "cost" in draw:
                costs.append(draw["cost"])
            draw = draw[known[0]]
        values.append(draw)
    if costs and len(costs) != len(lines):
        raise ProgramError(
            f"reported a cost with {len(costs)} of {len(lines)} draws: report all or none"
        )
    if answer.costs and not costs:
        raise ProgramError("reported no cost, but costs=True")
    try:
        array = np.array(values, np.float64)
        paid = np.array(costs, np.float64) if costs else None
    except (ValueError, TypeError):
        bad = next((n for n, draw in enumerate(values) if not _plain(draw, values[0])), 0)
        raise _wrong(bad, lines[bad], "not a number, or a list of another length") from None
    return _draws(answer, array, None if answer.costs is False else paid)


def _plain(draw: Any, first: Any) -> bool:
    """Return whether a draw is a number, or a list of as many numbers as the first draw."""
    if isinstance(draw, list):
        same = isinstance(first, list) and len(first) == len(draw)
        return same and all(isinstance(x, int | float) for x in draw)
    return isinstance(draw, int | float) and not isinstance(first, list)


def _wrong(number: int, line: bytes, what: str) -> ProgramError:
    shown = printable(line.strip())
    return ProgramError(f"printed {shown!r} in line {number + 1}: {what}", shown)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"
