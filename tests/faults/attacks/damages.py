"""Damaged, forged and mixed files: the right answer or a StoreError, in little time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import croupier as cr
from croupier.store import log
from tests.conftest import bits_of
from tests.faults import test_store_damaged as damaged
from tests.faults import test_store_forged as forged
from tests.faults.driver import ARMS, SETTINGS, run

#: A damaged file may cost this much: the seconds of one try, and the MB of the whole process.
SECONDS, MEGABYTES = 2.0, 200.0


class Costs:
    """The longest time and the largest memory of all tries."""

    def __init__(self) -> None:
        self.seconds = self.megabytes = 0.0
        self.said: list[str] = []

    @contextmanager
    def measured(self, number: int) -> Iterator[None]:
        """Measure one try; note it if it takes too much."""
        with suppress(OSError):  # only Linux can forget the peak so far
            Path("/proc/self/clear_refs").write_text("5")
        began = time.perf_counter()
        yield
        seconds, megabytes = time.perf_counter() - began, peak()
        self.seconds = max(self.seconds, seconds)
        self.megabytes = max(self.megabytes, megabytes)
        if seconds > SECONDS or megabytes > MEGABYTES:
            self.said.append(f"try {number} took {seconds:.1f} s and {megabytes:.0f} MB")

    def __str__(self) -> str:
        return f"at most {self.seconds:.2f} s and {self.megabytes:.0f} MB, of the whole process"


def peak() -> float:
    """Return the largest memory of this process since it was last forgotten, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def random_damage(folder: Path, tries: int) -> Iterator[str]:
    """Change bytes of a store at random."""
    data, whole = interrupted(folder).read_bytes(), bits_of(damaged.run())
    rng, path, costs = np.random.default_rng(11), folder / "damaged.db", Costs()
    for number in range(tries):
        for left in folder.glob("damaged.db*"):
            left.unlink()
        path.write_bytes(damaged.mutated(data, rng))
        with costs.measured(number):
            end = _ended(path, whole)
        yield end
    print(f"  random damage: {costs}")
    yield from costs.said


def _ended(path: Path, whole: Any) -> str:
    try:
        answer = damaged.tried(lambda: damaged.run(cr.Store(path)))
        damaged.tried(lambda: cr.open_run(path).result())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(answer, cr.StoreError):
        return "refused"
    return "same" if bits_of(answer) == whole else "other bits"


def forgery(folder: Path, tries: int) -> Iterator[str]:
    """Forge rows with the right checksums. A forged number may give an answer, like any other."""
    costs = Costs()
    healthy = interrupted(folder)
    refused, failed = forged.forge_many(healthy, folder, tries, seed=11, measured=costs.measured)
    yield from ["refused"] * refused
    yield from ["same"] * (tries - refused - len(failed))
    yield from failed
    print(f"  forgery: {costs}")
    yield from costs.said


def interrupted(folder: Path) -> Path:
    log._SNAPSHOT_EVERY = 15
    path = folder / "healthy.db"
    damaged.run(path, calls=25)
    return path


def logs_of_another_run(folder: Path, tries: int) -> Iterator[str]:
    """Put the log of one run beside the store of another, at any moment of both."""
    logs: list[bytes] = []
    first = folder / "first.db"
    wal = Path(f"{first}-wal")

    def copy(_: cr.Progress) -> None:
        logs.append(wal.read_bytes() if wal.exists() else b"")

    settings: dict[str, Any] = {**SETTINGS, "width": 1}
    cr.estimate(ARMS, draws=200, store=first, callback=copy, **{**settings, "rng": 1})
    rng = np.random.default_rng(13)
    for number in range(tries):
        path = folder / f"strange-{number}.db"
        draws = int(rng.integers(2, 60))
        known = cr.estimate(ARMS, draws=draws, store=path, **{**settings, "rng": 2})
        Path(f"{path}-wal").write_bytes(logs[int(rng.integers(len(logs)))])

        def look(path: Path = path, known: cr.Result = known) -> str:
            seen = cr.open_run(path)
            # If the log holds every page, the store is a whole state of the first run.
            fits = seen.plan.seed == 1 or bits_of(seen.result()) == bits_of(known)
            return "same" if fits else "a mixture of two runs"

        yield _refused_or(look)


def files_of_other_moments(folder: Path, tries: int) -> Iterator[str]:
    """Put the store, its log and its journal together from different moments of one run."""
    log._SNAPSHOT_EVERY = 10
    path, moments = folder / "run.db", list[dict[str, bytes]]()

    def copy(_: cr.Progress) -> None:
        files = {end: Path(f"{path}{end}") for end in ("", "-wal", "-shm")}
        moments.append({end: one.read_bytes() for end, one in files.items() if one.exists()})

    for draws in (10, 25, 40):  # the log is put into the file at the end of each call
        cr.estimate(ARMS, draws=draws, store=path, callback=copy, **SETTINGS)
    copy(None)  # type: ignore[arg-type]
    # The budgets of the first calls have made some batches smaller.
    rng, whole = np.random.default_rng(17), bits_of(run(path))
    for number in range(tries):
        mixed = folder / f"mixed-{number}.db"
        for end in ("", "-wal", "-shm"):
            taken = moments[int(rng.integers(len(moments)))].get(end)
            if taken is not None and (not end or rng.random() < 0.8):
                Path(f"{mixed}{end}").write_bytes(taken)

        def go_on(mixed: Path = mixed) -> str:
            cr.open_run(mixed)
            return "same" if bits_of(run(mixed)) == whole else "other bits"

        yield _refused_or(go_on)
        for left in folder.glob(f"{mixed.name}*"):
            left.unlink()


def _refused_or(look: Callable[[], str]) -> str:
    try:
        return look()
    except cr.StoreError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
