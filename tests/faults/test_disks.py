"""Disks that fail or fill up: the error names the way out, and the store goes on when it is mended.

The attacks are those of `make test-faults`, a few of each. They need strace, or the right to mount.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import bits_of
from tests.faults.attacks import disks
from tests.faults.driver import run

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    if not disks.can_mount(tmp_path):
        pytest.skip("only root can mount a file system")
    return tmp_path


@strace
@pytest.mark.parametrize("error", ["EDQUOT", "EIO", "EFBIG", "EROFS", "ENOSPC"])
@pytest.mark.parametrize("mode", ["wal", "journal"])
def test_a_write_that_fails_is_not_called_damage_and_the_same_call_goes_on(
    mode: str, error: str, tmp_path: Path
) -> None:
    assert disks.failing(tmp_path, mode, bits_of(run()), "pwrite64", error, "20+") == "refused"


@strace
@pytest.mark.parametrize(
    ("call", "error"), [("fdatasync", "EIO"), ("rename", "EROFS"), ("fcntl", "ENOLCK")]
)
def test_no_other_call_that_fails_is_called_damage(call: str, error: str, tmp_path: Path) -> None:
    assert disks.failing(tmp_path, "wal", bits_of(run()), call, error, "1+") == "refused"


@pytest.mark.parametrize("pages", [1, 3, 8, 20])
def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_room(
    pages: int, place: Path
) -> None:
    assert disks.on_a_tmpfs(place, pages, bits_of(run())) == "refused"


def test_a_store_on_a_read_only_medium_is_read_and_not_written(place: Path) -> None:
    assert list(disks.read_only_mount(place, 4)) == ["refused"] * 4
