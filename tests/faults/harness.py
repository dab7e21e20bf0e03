"""The fault harness: attack stores in every way we know, and count how each attack ends.

    make test-faults                          # a few hundred tries of every attack
    make test-faults ARGS="--tries 50 --only forged"

An attack ends well if the run gives the same bits as a run without the attack, or if a StoreError
says clearly that the store cannot be used. Kills must always give the same bits.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from croupier.store import log
from tests.conftest import bits_of
from tests.faults import test_store_damaged as damaged
from tests.faults import test_store_forged as forged
from tests.faults.driver import drive, fine, rough, run

#: The system calls that change a file, the rare ones first.
CALLS = ("rename", "write", "ftruncate", "mmap", "unlink", "fdatasync", "close", "pwrite64")

ROOT = Path(__file__).parents[2]


class Table:
    """Counts how the tries of every attack ended."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        self.failed: list[str] = []

    def add(self, attack: str, ends: Iterator[str]) -> None:
        row = self.rows.setdefault(attack, [0, 0, 0, 0])
        for end in ends:
            row[0] += 1
            row[{"same": 1, "refused": 2}.get(end, 3)] += 1
            if end not in ("same", "refused"):
                self.failed.append(f"{attack}: {end}")

    def __str__(self) -> str:
        titles = ("attack", "tries", "same bits (forged: an answer)", "refused clearly", "failed")
        lines = [" | ".join(titles), " | ".join("---" for _ in titles)]
        lines += [" | ".join(map(str, (name, *row))) for name, row in self.rows.items()]
        return "\n".join(f"| {line} |" for line in lines)


# -- kills


def killed(path: Path, mode: str, *, line: int = 0, seconds: float = 60.0) -> None:
    """Run in a forked process, and kill it at the n-th line of the store's code, or later."""
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            if line:
                sys.settrace(_killing(line))
            drive(str(path), mode)
        os._exit(0)
    until = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.0005)
    clear_dot_locks(path)


def _killing(line: int) -> Any:
    left = line

    def watch(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if "croupier/store" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return watch

    return watch


def clear_dot_locks(path: Path) -> None:
    """Remove the locks of sqlite's oldest way to lock. They outlive their owner."""
    for left in path.parent.glob(f"{path.name}*.lock"):
        shutil.rmtree(left, ignore_errors=True)


def after_a_kill(path: Path, whole: Any) -> str:
    """Look at the store and go on; the result must be that of a run that was never killed."""
    try:
        if path.exists():
            cr.open_run(path)
        same = bits_of(run(path)) == whole and bits_of(cr.open_run(path).result()) == whole
    except Exception as error:
        return f"{path.name}: {type(error).__name__}: {error}"
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()
    return "same" if same else "other bits"


def killed_at_a_line(folder: Path, mode: str, tries: int, whole: Any) -> Iterator[str]:
    rng = np.random.default_rng(7)
    for number in range(tries):
        path = folder / f"line-{number}.db"
        for _ in range(int(rng.integers(1, 4))):  # the next kills hit the next calls
            killed(path, mode, line=int(rng.integers(1, 4000)))
        yield after_a_kill(path, whole)


def killed_at_a_moment(folder: Path, mode: str, tries: int, whole: Any) -> Iterator[str]:
    rng = np.random.default_rng(7)
    for number in range(tries):
        path = folder / f"moment-{number}.db"
        for _ in range(int(rng.integers(1, 4))):
            killed(path, mode, seconds=0.08 * rng.random())
        yield after_a_kill(path, whole)


def killed_at_a_system_call(folder: Path, mode: str, tries: int, whole: Any) -> Iterator[str]:
    """Kill the run at a system call on the files of the store: at every n-th, of every kind."""
    done = 0
    ends = ("", "-wal", "-journal", "-shm", "-writer", ".new", ".new-journal")
    for call in CALLS:
        for number in count(1):
            if done >= tries:
                return
            path = folder / f"{call}-{number}.db"
            files = [part for end in ends for part in ("-P", f"{path}{end}")]
            strace = ["strace", "-f", "-o", os.devnull, *files]
            strace += ["-e", f"inject={call}:signal=KILL:when={number}"]
            command = [*strace, sys.executable, "-m", "tests.faults.driver", str(path), mode]
            child = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
            if b"finished" in child.stdout:
                break  # there are no more calls of this kind
            done += 1
            clear_dot_locks(path)
            yield after_a_kill(path, whole)


# -- damage


def random_damage(folder: Path, tries: int) -> Iterator[str]:
    """Change bytes of a store at random."""
    healthy = interrupted(folder)
    data, whole = healthy.read_bytes(), bits_of(damaged.run())
    rng, path = np.random.default_rng(11), folder / "damaged.db"
    for _ in range(tries):
        for left in folder.glob("damaged.db*"):
            left.unlink()
        path.write_bytes(damaged.mutated(data, rng))
        try:
            answer = damaged.tried(lambda: damaged.run(cr.Store(path)))
            damaged.tried(lambda: cr.open_run(path).result())
        except Exception as error:
            yield f"{type(error).__name__}: {error}"
            continue
        if isinstance(answer, cr.StoreError):
            yield "refused"
        else:
            yield "same" if bits_of(answer) == whole else "other bits"


def forgery(folder: Path, tries: int) -> Iterator[str]:
    """Forge rows with the right checksums. A forged number may give an answer, like any other."""
    refused, failed = forged.forge_many(interrupted(folder), folder, tries, seed=11)
    yield from ["refused"] * refused
    yield from ["same"] * (tries - refused - len(failed))
    yield from failed


def strange_logs(folder: Path, tries: int) -> Iterator[str]:
    """Put the log of one run beside the store of another, at any moment of both."""
    logs: list[bytes] = []
    first, second = folder / "first.db", folder / "second.db"
    wal = Path(f"{first}-wal")

    def copy(_: cr.Progress) -> None:
        logs.append(wal.read_bytes() if wal.exists() else b"")

    arms: dict[str, Any] = {"rough": rough, "fine": fine}
    settings: dict[str, Any] = {"batch": "one", "progress": False}
    cr.estimate(arms, draws=200, rng=1, store=first, callback=copy, **settings)
    rng = np.random.default_rng(13)
    for number in range(tries):
        draws = int(rng.integers(2, 60))
        path = folder / f"strange-{number}.db"
        known = cr.estimate(arms, draws=draws, rng=2, store=path, **settings)
        Path(f"{path}-wal").write_bytes(logs[int(rng.integers(len(logs)))])
        try:
            seen = cr.open_run(path)
            own = {1: first, 2: second}[seen.plan.seed]
            fits = seen.plan.seed == 1 or bits_of(seen.result()) == bits_of(known)
            # If the log holds every page, the store is a whole state of the first run.
            yield "same" if fits else f"a mixture of two runs, like {own.name}"
        except cr.StoreError:
            yield "refused"
        except Exception as error:
            yield f"{type(error).__name__}: {error}"


def interrupted(folder: Path) -> Path:
    log._SNAPSHOT_EVERY = 15
    path = folder / "healthy.db"
    if not path.exists():
        damaged.run(path, calls=25)
    return path


def attacks(tries: int) -> dict[str, Callable[[Path, Any], Iterator[str]]]:
    """Return every attack by its name."""
    found: dict[str, Callable[[Path, Any], Iterator[str]]] = {}
    for mode in ("wal", "journal"):
        for attack in (killed_at_a_line, killed_at_a_moment, killed_at_a_system_call):
            name = f"{attack.__name__.replace('_', ' ')}, {mode}"
            if attack is killed_at_a_system_call and shutil.which("strace") is None:
                print(f"{name}: strace is not installed, so this is left out")
                continue
            found[name] = lambda folder, whole, attack=attack, mode=mode: attack(  # type: ignore[misc]
                folder, mode, tries, whole
            )
    for other in (random_damage, forgery, strange_logs):
        name = other.__name__.replace("_", " ")
        found[name] = lambda folder, _, other=other: other(folder, tries)  # type: ignore[misc]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.harness", description=__doc__)
    parser.add_argument("--tries", type=int, default=300, help="of every attack")
    parser.add_argument("--only", default="", help="attacks whose names contain this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table, whole = Table(), bits_of(run())
    for name, attack in attacks(options.tries).items():
        if options.only not in name:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            table.add(name, attack(Path(folder), whole))
        print(f"{name}: {table.rows[name]} in {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{table}")
    for line in table.failed[:50]:
        print(line)
    return bool(table.failed)


if __name__ == "__main__":
    sys.exit(main())
