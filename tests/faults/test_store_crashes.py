"""A store after kill -9, on a broken disk, under two names, beside a stranger's log."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.draws import Outcome
from croupier.store import connecting, lock, log
from croupier.store.lock import Lock, owner_of
from croupier.store.outcome_rows import rows_of
from croupier.store.store_errors import errors_named

pytestmark = [
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals and links of POSIX"),
]

Bits = Callable[[cr.Result], Any]


def rough(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def fine(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 0.1, size)


resource = pytest.importorskip("resource")

ARMS = {"rough": rough, "fine": fine}


def run(store: Any = None, seed: int = 7, **settings: Any) -> cr.Result:
    return cr.estimate(
        ARMS, **{"draws": 300, "batch": "one", "rng": seed, "store": store, **settings}
    )


def at(ticket: int, do: Callable[[], Any]) -> Callable[[cr.Progress], None]:
    """Return a callback that does something once, after so many tickets."""
    return lambda progress: do() if progress.tickets == ticket else None


# -- killed


HOT = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = DELETE")
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE details SET extremes = zeroblob(3000)")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_it_writes(path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", HOT, str(path)], check=False)
    assert child.returncode == -signal.SIGKILL
    assert path.with_name(path.name + "-journal").stat().st_size > 512


def test_a_journal_of_a_killed_process_is_rolled_back_by_a_reader(
    tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    whole = run(path)
    killed_while_it_writes(path)
    assert bits(cr.open_run(path).result()) == bits(whole)
    assert list(tmp_path.iterdir()) == [path]


def test_a_journal_of_a_killed_process_is_rolled_back_by_the_next_call(
    tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    run(path)
    killed_while_it_writes(path)
    assert bits(run(path, draws=400)) == bits(run(tmp_path / "other.db", draws=400))


def without_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sqlite and the system say what they say on a read-only medium."""
    connect, access = sqlite3.connect, os.access

    def refused(name: str, **options: Any) -> sqlite3.Connection:
        if "immutable" in name:
            return connect(name, **options)
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_CANTOPEN, "SQLITE_CANTOPEN"
        raise error

    monkeypatch.setattr(connecting.sqlite3, "connect", refused)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))


def test_a_store_on_a_read_only_medium_is_read_unless_something_must_be_rolled_back(
    tmp_path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.db"
    whole = run(path)
    without_writing(monkeypatch)
    assert bits(cr.open_run(path).result()) == bits(whole)
    path.with_name("run.db-journal").write_bytes(b"hot")
    with pytest.raises(cr.StoreError, match=r"run\.db-journal must be put in order.*open the copy"):
        cr.open_run(path)


# -- one run, one number


def test_the_log_of_another_run_is_never_taken_for_ones_own(tmp_path: Path) -> None:
    path, other, backup = (tmp_path / name for name in ("run.db", "other.db", "backup.db"))

    def copy() -> None:
        shutil.copy(f"{path}-wal", tmp_path / "stale-wal")

    run(path, seed=1, callback=at(60, copy))
    run(other, seed=2, draws=90)
    shutil.copy(other, backup)
    shutil.copy(tmp_path / "stale-wal", f"{other}-wal")  # a backup, copied over a killed run
    before = other.read_bytes()
    for look in (cr.open_run, lambda path: run(path, seed=2)):
        with pytest.raises(cr.StoreError, match="damaged"):
            look(other)
    assert other.read_bytes() == before
    Path(f"{other}-wal").unlink()
    assert cr.open_run(other).result().value == cr.open_run(backup).result().value


def test_every_run_has_a_number_of_its_own(tmp_path: Path) -> None:
    stores = [tmp_path / name for name in ("1.db", "2.db")]
    for store in stores:
        run(store)
    first, second = (cr.open_run(store).status.run_id for store in stores)
    assert len(first) == len(second) == 32
    assert first != second
    run(stores[0], draws=400)
    assert cr.open_run(stores[0]).status.run_id == first


def test_a_copy_of_a_run_is_not_merged_with_it(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.db", tmp_path / "copy.db"
    run(path)
    shutil.copy(path, copy)
    run(copy, draws=500)
    for runs in ([path, copy], [cr.open_run(path), copy]):
        with pytest.raises(cr.PlanError, match=r"run\.db and .*copy\.db hold the same run"):
            cr.merge(runs, same_seed=True)
    run(tmp_path / "other.db", seed=8)
    assert cr.merge([path, tmp_path / "other.db"]).draws == 600


@pytest.mark.parametrize("same_seed", [False, True])
def test_a_result_is_not_merged_with_its_own_store(same_seed: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = run(path)
    more = run(path, draws=500)
    with cr.Allocator(cr.open_run(path).plan, store=path) as table:
        by_hand = table.result()
    alone = run(seed=8)
    for runs in (
        [first, path], [path, first], [first, more], [more, cr.open_run(path)],
        [first, cr.open_run(path).result()], [by_hand, path], [alone, alone],
    ):  # fmt: skip
        with pytest.raises(cr.PlanError, match=r"hold the same run.*would be counted twice"):
            cr.merge(runs, same_seed=same_seed)
    assert cr.merge([path, alone], same_seed=same_seed).draws == 800
    assert cr.merge([more, run(tmp_path / "2.db")], same_seed=True).draws == 800


# -- what is written can be read


def test_draws_whose_fourth_powers_overflow_together_are_stored_and_read(tmp_path: Path) -> None:
    def huge(rng: np.random.Generator, size: int) -> np.ndarray:
        values = rng.random(size)
        if rng.random() < 0.5:  # its fourth power fits into a double, and twice of it does not
            values[1:2] = 1e77
        return values

    path = tmp_path / "run.db"
    arms = {"huge": huge}
    result = cr.estimate(arms, draws=1_000_000, batch=100_000, rng=7, store=path)
    assert cr.open_run(path).result().value == result.value
    assert np.isfinite(result.stderr)


def outcome(**changed: Any) -> Outcome:
    numbers: dict[str, Any] = {
        "ticket": 3, "arm": "a", "size": 2, "origin": np.zeros(1), "exponent": np.zeros(1, int),
        "moments": np.ones((4, 1)), "scalar": True, "cost": 2.0, "cost_m2": 0.0, "reported": 0.0,
        "seconds": 0.1, "extremes": np.zeros((0, 1)), "inspected": 2,
    }  # fmt: skip
    return Outcome(**{**numbers, **changed})


@pytest.mark.parametrize(
    "wrong",
    [{"moments": np.array([[1.0], [1.0], [1.0], [np.inf]])}, {"cost_m2": np.inf}, {"cost": np.nan},
     {"cost": 0.0}, {"reported": -1.0}],
)  # fmt: skip
def test_what_could_not_be_read_again_is_not_written(wrong: dict[str, Any]) -> None:
    assert len(rows_of(outcome(), 0, 1.0, 0)) == 2
    with pytest.raises(cr.StoreError, match=r"arm 'a', ticket 3: .*too large to be stored"):
        rows_of(outcome(**wrong), 0, 1.0, 0)


def test_a_clock_that_is_set_back_spoils_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    real, back = time.perf_counter, 0.0

    def jump() -> None:
        nonlocal back
        back += 3600

    def jumps(rng: np.random.Generator, size: int) -> np.ndarray:
        if rng.random() < 0.1:
            jump()
        return rng.random(size)

    monkeypatch.setattr(time, "perf_counter", lambda: real() - back)
    path, arms = tmp_path / "run.db", {"jumps": jumps}
    cr.estimate(arms, draws=200, batch="one", rng=7, store=path)
    assert back > 0
    more = cr.estimate(arms, draws=300, batch="one", store=path)
    assert cr.open_run(path).result().value == more.value
    assert cr.open_run(path).status.seconds >= 0


# -- the disk


LIMITED = """
import resource, sys, warnings
from tests.faults.test_store_crashes import run
import croupier as cr

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    run(sys.argv[1], draws=3000)
except cr.StoreError as error:
    print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(run(sys.argv[1], draws=3000).draws)  # the lock is free, in the same process
"""


@pytest.mark.parametrize("limit", [100, 20_000, 60_000, 200_000])
def test_after_a_failed_write_the_store_is_safe_and_the_same_process_goes_on(
    limit: int, tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    child = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(limit)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    *said, draws = child.stdout.splitlines()
    assert "what was stored before is safe" in " ".join(said)
    assert "run the same call again" in " ".join(said)
    assert "damaged" not in " ".join(said)
    assert draws == "3000"
    assert bits(cr.open_run(path).result()) == bits(run(draws=3000))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


@pytest.mark.parametrize(
    ("code", "way_out"),
    [
        (sqlite3.SQLITE_FULL, "is safe: free some space, and run the same call again"),
        (sqlite3.SQLITE_IOERR_WRITE, "is safe: check the disk, its quota.*run the same call again"),
        (sqlite3.SQLITE_IOERR_FSYNC, "is safe: check the disk"),
        (sqlite3.SQLITE_BUSY, "is safe: end the other program"),
        (sqlite3.SQLITE_READONLY_ROLLBACK, "give another store="),
        (sqlite3.SQLITE_CANTOPEN, "give another store="),
        (sqlite3.SQLITE_CORRUPT, "is damaged"),
        (sqlite3.SQLITE_IOERR_SHORT_READ, "is damaged"),
        (sqlite3.SQLITE_IOERR_CORRUPTFS, "check the disk .* or use a copy"),  # EIO in a read
    ],
)
def test_the_code_of_an_error_decides_the_way_out(code: int, way_out: str) -> None:
    error = sqlite3.OperationalError("full of locked, readonly words")
    error.sqlite_errorcode, error.sqlite_errorname = code, "SQLITE_SOMETHING"
    with pytest.raises(cr.StoreError, match=way_out), errors_named(Path("run.db"), "cannot be"):
        raise error


# -- the lock


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["write", "ftruncate", "lseek"])
def test_a_lock_that_cannot_be_signed_is_not_kept(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(lock.os, call, fails)
        with pytest.raises((cr.StoreError, KeyboardInterrupt)) as caught:
            Lock(tmp_path / "run.db").take()
    if isinstance(error, OSError):
        assert "cannot be written: No space left" in str(caught.value)
    assert owner_of(tmp_path / "run.db") is None
    Lock(tmp_path / "run.db").take().release()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO, errno.ENOTSUP])
def test_a_folder_that_cannot_lock_is_named(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.db"
    whole = run(path)

    def fails(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(lock.fcntl, "lockf", fails)
    with pytest.raises(cr.StoreError, match=rf"run\.db cannot be written: {os.strerror(number)}"):
        run(path)
    assert cr.open_run(path).result().value == whole.value


def test_ctrl_c_while_a_store_is_closed_frees_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(log.Database, "close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run.db")
    assert run(tmp_path / "run.db").draws == 300


def test_a_lock_that_was_interrupted_while_it_was_freed_is_free_when_it_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "run.db"
    mine = Lock(path).take()
    with monkeypatch.context() as broken:
        broken.setattr(lock.os, "fstat", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mine.release()
    with pytest.raises(cr.StoreError, match="in use by pid"):
        Lock(path).take()
    del mine
    Lock(path).take().release()
    assert not list(tmp_path.iterdir())


# -- other names, other files


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_second_writer_that_comes_through_a_link_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "run.db"
    link = tmp_path / ("link.db" if kind == "file" else "link")
    link.symlink_to(path if kind == "file" else path.parent)
    name = link if kind == "file" else link / "run.db"
    said: list[str] = []

    def second() -> None:
        with pytest.raises(cr.StoreError, match="in use by pid") as caught:
            run(name)
        said.append(str(caught.value))
        assert cr.open_run(name).status.running

    run(path, callback=at(5, second))
    assert said
    assert run(name, draws=400).draws == 400
    assert [one.name for one in path.parent.iterdir()] == ["run.db"]


def test_a_dangling_link_is_a_new_store_where_it_points(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real.db")
    with pytest.raises(cr.StoreError, match=r"real\.db does not exist"):
        cr.open_run(link)
    run(link)
    assert link.is_symlink()
    assert cr.open_run(tmp_path / "real.db").status.draws == 300


def test_a_store_with_two_hard_links_is_read_and_not_written(tmp_path: Path) -> None:
    path, twin = tmp_path / "run.db", tmp_path / "twin.db"
    run(path)
    os.link(path, twin)
    assert cr.open_run(twin).status.draws == 300
    with pytest.raises(cr.StoreError, match=r"has 2 names \(hard links\)"):
        run(path, draws=400)


def test_an_arm_may_change_the_folder(
    tmp_path: Path, bits: Bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    result = run("run.db", callback=at(5, lambda: os.chdir(tmp_path / "elsewhere")))
    assert bits(cr.open_run(tmp_path / "run.db").result()) == bits(result)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["elsewhere", "run.db"]


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_new_store_is_refused_where_sqlite_would_replace_a_file(end: str, tmp_path: Path) -> None:
    mine = tmp_path / f"run.db{end}"
    mine.write_text("mine")
    with pytest.raises(
        cr.StoreError, match=rf"run\.db cannot be made: there is already {mine.name}"
    ):
        run(tmp_path / "run.db")
    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize("there", ["nothing", "an empty file", "a file", "a lock"])
def test_a_lock_is_not_written_through_a_link(there: str, tmp_path: Path) -> None:
    link, target = tmp_path / "run.db-writer", tmp_path / "target"
    link.symlink_to(target)
    content = {"nothing": None, "an empty file": "", "a file": "mine", "a lock": '{"pid": 1}'}[
        there
    ]
    if content is not None:
        target.write_text(content)
    with pytest.raises(cr.StoreError, match=r"run\.db-writer is a link"):
        run(tmp_path / "run.db")
    assert (target.read_text() if target.exists() else None) == content
    assert link.is_symlink()
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize("kind", ["file", "hard link", "pipe"])
def test_a_lock_replaces_no_other_file(kind: str, tmp_path: Path) -> None:
    mine, named = tmp_path / "mine", tmp_path / "run.db-writer"
    mine.write_text("mine")
    if kind == "file":
        mine.rename(named)
    elif kind == "hard link":
        os.link(mine, named)
    else:
        os.mkfifo(named)
    for _ in range(2):
        with pytest.raises(cr.StoreError, match=r"run\.db-writer is not a lock file of croupier"):
            run(tmp_path / "run.db")
    assert kind == "pipe" or named.read_text() == "mine"
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize("left", ["", '{"pi', '{"pid": 47'])
def test_a_lock_file_of_a_process_that_was_killed_while_it_wrote_is_taken_over(
    left: str, tmp_path: Path
) -> None:
    (tmp_path / "run.db-writer").write_text(left)
    assert run(tmp_path / "run.db").draws == 300
    assert [one.name for one in tmp_path.iterdir()] == ["run.db"]


def test_a_new_store_leaves_files_with_similar_names_alone(tmp_path: Path) -> None:
    mine = [tmp_path / f"run.db.new{end}" for end in ("", "-wal", "-journal")]
    for file in mine:
        file.write_text("mine")
    run(tmp_path / "run.db")
    assert [file.read_text() for file in mine] == ["mine"] * 3
    assert len(list(tmp_path.iterdir())) == 4


def moved(path: Path) -> None:
    path.rename(path.with_name("moved"))


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


@pytest.mark.parametrize("do", [Path.unlink, moved, replaced])
@pytest.mark.parametrize("what", ["run.db", "run.db-writer", "run.db-wal"])
def test_a_store_a_lock_or_a_log_that_is_taken_away_ends_the_run(
    what: str, do: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(cr.StoreError, match=r"run\.db.* was deleted or replaced during the run"):
        run(path, callback=at(20, lambda: do(tmp_path / what)))
    assert owner_of(path) is None


@pytest.mark.parametrize("do", [Path.unlink, moved, replaced])
def test_a_log_that_is_taken_away_loses_no_outcome(
    do: Callable[[Path], Any], tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(cr.StoreError, match="what was stored before is safe"):
        run(path, callback=at(20, lambda: do(tmp_path / "run.db-wal")))
    assert len(cr.open_run(path).result().history) == 20
    assert bits(run(path)) == bits(run(tmp_path / "other.db"))


def test_the_lock_of_another_process_is_not_removed(tmp_path: Path) -> None:
    mine = Lock(tmp_path / "run.db").take()
    replaced(tmp_path / "run.db-writer")
    mine.release()
    assert (tmp_path / "run.db-writer").exists()


@pytest.mark.parametrize(
    ("path", "said"), [("a\0b", "without a null character"), ("a\udcff.db", "in UTF-8")]
)
def test_a_path_that_no_message_can_show_is_refused(path: str, said: str) -> None:
    for look in (run, cr.open_run, cr.Store):
        with pytest.raises(cr.PlanError, match=f"store must be a path {said}"):
            look(path)


# -- complete when the run has ended


def test_a_run_that_ends_while_somebody_reads_says_where_its_last_outcomes_are(
    tmp_path: Path, bits: Bits
) -> None:
    path = tmp_path / "run.db"
    readers: list[sqlite3.Connection] = []

    def begin() -> None:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM outcomes").fetchone()
        readers.append(reader)

    with pytest.warns(cr.CroupierWarning, match=r"last outcomes are still in .*run\.db-wal"):
        result = run(path, callback=at(20, begin))
    (tmp_path / "copy").mkdir()
    alone = tmp_path / "copy" / "alone.db"
    shutil.copy(path, alone)
    assert cr.open_run(alone).status.draws < 300  # as the warning says
    readers[0].close()
    assert bits(cr.open_run(path).result()) == bits(result)
    run(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["copy", "run.db"]
