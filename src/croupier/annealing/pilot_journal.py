"""A file beside a store with what a pilot has evaluated, so that a killed pilot loses nothing.

A pilot has a fixed stream of random numbers, so it asks for the same points again. The file has the
values of the likelihood in the order in which they were asked for. A pilot that starts again reads
them, and evaluates only what is not there yet. What a pilot decided by a clock is in the file, too,
so a run that continues with another budget has the same arms.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from croupier.data.draws import Floats
from croupier.errors import StoreError

__all__ = ["Journal", "journal_path"]

#: The first bytes of the file.
_MAGIC: Final = b"croupier pilot 1\n"

#: A record: what was asked for (a digest), the number of values, the values, and a checksum.
_HEAD: Final = struct.Struct("<8sI")
_TAIL: Final = struct.Struct("<I")

#: So many points of the first record are evaluated again, to recognise another model.
_AGAIN: Final = 3


class _Record(NamedTuple):
    asked: bytes
    values: Floats


def journal_path(store: Path) -> Path:
    """Return the path of the file beside a store."""
    return store.with_name(store.name + ".pilot")


class Journal:
    """The values that a pilot has asked for, in order; an incomplete record at the end is dropped.

    `seed` is the seed of the run. If the file belongs to another seed or another model, it is
    started again, or not used if `begun`: then the store has a run, and refuses another model.
    """

    def __init__(self, path: Path, seed: int, *, begun: bool) -> None:
        self._path, self._begun = path, begun
        self._records: list[_Record] = []
        self._next = 0
        self._checked = False
        self._handle: int | None = None
        self._salt = seed.to_bytes((seed.bit_length() + 8) // 8, "little")
        self.known = path.exists()
        self._load()

    @property
    def replaying(self) -> bool:
        """Whether the next value is in the file."""
        return self._next < len(self._records)

    def evaluated(self, points: Floats, evaluate: Callable[[Floats], Floats]) -> Floats:
        """Return the values at these points: from the file, or else evaluated and written."""
        asked = self._digest(np.ascontiguousarray(points).tobytes())
        if self.replaying and not self._checked and not self._same(asked, points, evaluate):
            self._forget()
        self._checked = True
        if self.replaying:
            record = self._records[self._next]
            if record.asked != asked or len(record.values) != len(points):
                raise StoreError(
                    f"{self._path} belongs to a pilot that asked for other points (another model, "
                    "prior or version of numpy): delete it if the run has no draws yet, or give "
                    "another store="
                )
            self._next += 1
            return record.values.copy()
        values = evaluate(points)
        self._write(asked, values)
        return values

    def decided(self, choose: Callable[[], float]) -> float:
        """Return a number that was decided before, or decide and write it now."""
        asked = self._digest(b"decided")
        if self.replaying and self._records[self._next].asked == asked:
            self._next += 1
            return float(self._records[self._next - 1].values[0])
        number = float(choose())
        if not self.replaying:
            self._write(asked, np.array([number]))
        return number

    def close(self) -> None:
        """Close the file."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _digest(self, what: bytes) -> bytes:
        return blake2b(what, digest_size=8, key=self._salt[:64]).digest()

    def _same(self, asked: bytes, points: Floats, evaluate: Callable[[Floats], Floats]) -> bool:
        """Return whether the next record is of this model: some of its points are evaluated."""
        record = self._records[self._next]
        if record.asked != asked or len(record.values) != len(points):
            return False
        fresh, known = evaluate(points[:_AGAIN]), record.values[:_AGAIN]
        return bool(np.allclose(fresh, known, rtol=1e-6, atol=0))

    def _forget(self) -> None:
        """Drop the values of another model; what was decided before them is kept."""
        decisions, self._records, self._next = self._records[: self._next], [], 0
        self.close()
        if not self._begun:
            with suppress(FileNotFoundError):
                self._path.unlink()
            for each in decisions:
                self._write(*each)

    def _load(self) -> None:
        """Read the records; the file ends where one is damaged."""
        if not self.known:
            return
        content = self._path.read_bytes()
        at = len(_MAGIC) if content.startswith(_MAGIC) else len(content) + 1
        while at + _HEAD.size <= len(content):
            asked, number = _HEAD.unpack_from(content, at)
            end = at + _HEAD.size + 8 * number
            if end + _TAIL.size > len(content):
                break
            if crc32(content[at:end]) != _TAIL.unpack_from(content, end)[0]:
                break
            values = np.frombuffer(content, "<f8", number, at + _HEAD.size).astype(float)
            self._records.append(_Record(asked, values))
            at = end + _TAIL.size
        if at < len(content):
            os.truncate(self._path, at)
        elif at > len(content):  # not a file of ours
            raise StoreError(f"{self._path} is not the pilot of a run: give another store=")

    def _write(self, asked: bytes, values: Floats) -> None:
        if self._begun and not self._records:
            return  # the run of the store was made without this file
        if self._handle is None:
            new = not self._path.exists()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._handle = os.open(self._path, flags, 0o666)
            if new:
                os.write(self._handle, _MAGIC)
        body = _HEAD.pack(asked, len(values)) + values.astype("<f8").tobytes()
        os.write(self._handle, body + _TAIL.pack(crc32(body)))  # one write: whole, or cut off
        self._records.append(_Record(asked, values))
        self._next += 1
