"""The files of a figure: CSVs that grow by whole groups of rows; a kill does no harm."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from croupier.errors import StoreError

__all__ = ["Sheet", "ready", "refuse_others", "whole"]

AnyRow = TypeVar("AnyRow")

_TYPES: Final[dict[Any, Callable[[str], Any]]] = {"str": str, "int": int, "float": float}


@dataclass(frozen=True)
class Sheet(Generic[AnyRow]):
    """Rows of one frozen dataclass, whose fields are the columns: str, int and float, unquoted."""

    path: Path
    kind: type[AnyRow]

    def read(self) -> list[AnyRow]:
        """Return the rows; a last line that was cut short is not one."""
        if not self.path.exists():
            return []
        header, *lines = self._text().split("\n")
        if not lines and self._header.startswith(header):
            return []  # killed within the first line, or before it
        if header != self._header:
            raise StoreError(
                f"{self.path} is not a file of this figure: its first line is {header[:80]!r}; "
                "choose another folder, or remove it"
            )
        return [self._row(number, line) for number, line in enumerate(lines[:-1], start=2)]

    def append(self, rows: Iterable[AnyRow]) -> None:
        """Add rows in one write, on disk when this returns."""
        head = "" if self.path.exists() and self.path.stat().st_size else self._header + "\n"
        try:
            with self.path.open("ab") as file:
                file.write((head + _lines(rows)).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error}") from error

    def keep(self, rows: Iterable[AnyRow]) -> None:
        """Make these the only rows: what a kill left behind them goes."""
        text = self._header + "\n" + _lines(rows)
        if not self.path.exists() or self._text() == text:
            return
        whole = self.path.with_name(f"{self.path.name}.new")
        whole.write_bytes(text.encode())
        whole.replace(self.path)

    @property
    def _header(self) -> str:
        return ",".join(field.name for field in fields(self.kind))  # type: ignore[arg-type]

    def _text(self) -> str:
        return self.path.read_bytes().decode("utf-8", errors="replace")

    def _row(self, number: int, line: str) -> AnyRow:
        columns = fields(self.kind)  # type: ignore[arg-type]
        try:
            values = [
                _TYPES[column.type](text)
                for column, text in zip(columns, line.split(","), strict=True)
            ]
        except ValueError:
            raise StoreError(
                f"{self.path}, line {number} is not a row of this figure: {line[:80]!r}; remove it"
            ) from None
        return self.kind(*values)


def _lines(rows: Iterable[Any]) -> str:
    # repr gives back every digit of a float.
    return "".join(
        ",".join(x if isinstance(x, str) else repr(x) for x in astuple(row)) + "\n" for row in rows
    )


def ready(folder: Path) -> None:
    """Make the folder of a figure, if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write into {folder}: {error}") from error


def whole(
    rows: Iterable[AnyRow],
    group: Callable[[AnyRow], Hashable],
    key: Callable[[AnyRow], Hashable],
    number: int,
) -> list[AnyRow]:
    """Return the rows of groups that have `number` rows, told apart by their key.

    >>> whole(["a1", "a2", "b1", "a2"], lambda row: row[0], lambda row: row[1], 2)
    ['a1', 'a2']
    """
    groups: dict[Hashable, dict[Hashable, AnyRow]] = {}
    for row in rows:
        groups.setdefault(group(row), {})[key(row)] = row
    return [row for own in groups.values() if len(own) == number for row in own.values()]


def refuse_others(path: Path, there: Mapping[str, Set[Any]], here: Mapping[str, Any]) -> None:
    """Refuse a file of other settings, and say which."""
    differences = [
        f"{name} {', '.join(map(str, sorted(found)))} there, {here[name]} here"
        for name, found in there.items()
        if found - {here[name]}
    ]
    if differences:
        raise StoreError(
            f"{path} has other settings ({'; '.join(differences)}): "
            "choose another folder with --out, or start afresh with --fresh"
        )
