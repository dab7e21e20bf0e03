"""The fault harness: attack runs in every way we know, and count how each attack ends.

    make test-faults                                  # everything: an hour
    make test-faults ARGS="--scale 0.1"               # a tenth of the tries
    make test-faults ARGS="--only forgery,interrupted --scale 0.5"

An attack ends well if the run gives the same bits as a run without the attack, or if an error says
clearly what is wrong and the same call goes on when that is mended. Kills must always give the same
bits.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.faults.attacks import damages, disks, driver_kills, interrupts, orphans, worker_kills


class Attack(NamedTuple):
    """An attack, and how often it is tried; `needs` is "strace" or "mount"."""

    name: str
    tries: int
    make: Callable[[Path, int], Iterator[str]]
    needs: str = ""


def attacks() -> Iterator[Attack]:
    """Return every attack with its number of tries."""
    yield Attack("random damage", 5000, damages.random_damage)
    yield Attack("forgery", 3000, damages.forgery)
    yield Attack("logs of another run", 200, damages.logs_of_another_run)
    yield Attack("files of other moments", 300, damages.files_of_other_moments)
    for mode in ("wal", "journal"):
        for name, tries, attack in (
            ("killed at a line", 60, driver_kills.killed_at_a_line),
            ("killed at a moment", 60, driver_kills.killed_at_a_moment),
            ("killed at a system call", 150, driver_kills.killed_at_a_system_call),
            ("error at a system call", 120, disks.error_at_a_system_call),
            ("disk full from a write on", 60, disks.disk_full_from_a_write_on),
        ):
            needs = "strace" if name.endswith(("system call", "write on")) else ""
            yield Attack(f"{name}, {mode}", tries, partial(attack, mode=mode), needs)
    yield Attack("killed under another name", 40, driver_kills.killed_under_another_name)
    yield Attack("tmpfs that is full", 500, disks.tmpfs_that_is_full, "mount")
    yield Attack("read-only mount", 20, disks.read_only_mount, "mount")
    for whose, tries, do in (
        ("", 2000, interrupts.ctrl_c),
        (", own handler", 300, interrupts.raised),
    ):
        attack = partial(interrupts.interrupted_at_a_line, do=do)
        yield Attack(f"interrupted at a line{whose}", tries, attack)
    yield Attack("by hand, interrupted at a line", 300, interrupts.by_hand_interrupted_at_a_line)
    for engine, starting, working in (("loky", 34, 67), ("pool", 33, 67), ("dask", 33, 66)):
        attack = partial(worker_kills.killed_while_they_start, engine=engine)
        yield Attack(f"workers killed in their first second, {engine}", starting, attack)
        attack = partial(worker_kills.killed_at_work, engine=engine)
        yield Attack(f"workers killed at work, {engine}", working, attack)
    for engine, tries in (("loky", 100), ("spawn", 20), ("fork", 20), ("forkserver", 20)):
        attack = partial(orphans.driver_killed_with_its_workers, engine=engine)
        yield Attack(f"driver killed with its workers, {engine}", tries, attack)


class Table:
    """Counts how the tries of every attack ended."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        self.failed: list[str] = []

    def add(self, attack: str, ends: Iterator[str]) -> list[int]:
        """Count the ends of an attack, and return its row."""
        row = self.rows.setdefault(attack, [0, 0, 0, 0])
        for end in ends:
            row[0] += 1
            row[{"same": 1, "refused": 2}.get(end, 3)] += 1
            if end not in ("same", "refused"):
                self.failed.append(f"{attack}: {end}")
        return row

    def __str__(self) -> str:
        titles = ("attack", "tries", "same bits (forged: an answer)", "refused clearly", "failed")
        lines = [" | ".join(titles), " | ".join("---" for _ in titles)]
        lines += [" | ".join(map(str, (name, *row))) for name, row in self.rows.items()]
        return "\n".join(f"| {line} |" for line in lines)


def missing(folder: Path) -> dict[str, str]:
    """Return what cannot be done here, and why."""
    found = {}
    if shutil.which("strace") is None:
        found["strace"] = "strace is not installed"
    if not disks.can_mount(folder):
        found["mount"] = "only root can mount a file system"
    return found


def main() -> int:
    """Make the attacks that are chosen, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.harness", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of tries")
    parser.add_argument("--tries", type=int, default=10**9, help="at most, of every attack")
    parser.add_argument("--only", default="", help="attacks whose names contain one of these")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table, wanted = Table(), options.only.split(",")
    with tempfile.TemporaryDirectory() as place:
        not_here = missing(Path(place))
    for attack in attacks():
        if not any(word in attack.name for word in wanted):
            continue
        if attack.needs in not_here:
            print(f"{attack.name}: left out, {not_here[attack.needs]}")
            continue
        tries = min(options.tries, math.ceil(attack.tries * options.scale))
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            row = table.add(attack.name, attack.make(Path(folder), tries))
        print(f"{attack.name}: {row} in {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{table}")
    for line in table.failed[:50]:
        print(line)
    return bool(table.failed)


if __name__ == "__main__":
    sys.exit(main())
