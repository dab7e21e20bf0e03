"""Where a page or a picture is written: files are replaced, pipes and devices never."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from croupier.views.write_file import write_file

PAGE = b"<!DOCTYPE html>\n" * 10_000  # more than a pipe holds

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices with a path")


def test_a_file_is_replaced_at_once_and_a_new_one_is_made(tmp_path: Path) -> None:
    target = tmp_path / "run.html"
    for content in (b"<!DOCTYPE older>", PAGE):
        assert write_file(str(target), content, "report") == target
        assert target.read_bytes() == content
    assert list(tmp_path.iterdir()) == [target]


@posix
def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link, second = folder / "run.html", tmp_path / "link", tmp_path / "second"
    link.symlink_to(target)  # to nothing yet
    second.symlink_to("link")
    for content in (b"<!DOCTYPE older>", PAGE):
        write_file(second, content, "report")
        assert target.read_bytes() == content
    assert link.is_symlink()
    assert second.is_symlink()
    assert list(folder.iterdir()) == [target]


@posix
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_stays(tmp_path: Path, linked: bool) -> None:
    pipe = given = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        given = tmp_path / "link"
        given.symlink_to(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_file(given, PAGE, "report")
    reader.join(20)
    assert read == [PAGE]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert given.is_symlink() == linked
    assert {path.name for path in tmp_path.iterdir()} == {pipe.name, given.name}


@posix
def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    before = os.stat("/dev/null")
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    for path in ("/dev/null", link):
        write_file(path, PAGE, "report")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    assert link.is_symlink()


WRITES = """
import sys
from croupier.views.write_file import write_file
print("before")
write_file(sys.argv[1], b"the page\\n", "report")
print("after")
"""


@posix
@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "link"])
@pytest.mark.parametrize("to", ["pipe", "file", "socket"])
def test_standard_output_gets_the_page_in_its_turn(tmp_path: Path, path: str, to: str) -> None:
    if not Path("/dev/stdout").exists():
        pytest.skip("there is no /dev/stdout")
    if path == "link":
        path = str(tmp_path / "link")
        Path(path).symlink_to("/dev/stdout")
    driver, wanted = [sys.executable, "-c", WRITES, path], b"before\nthe page\nafter\n"
    if to == "pipe":
        assert subprocess.run(driver, stdout=subprocess.PIPE, check=True).stdout == wanted
    elif to == "file":
        with open(tmp_path / "out", "wb") as file:
            subprocess.run(driver, stdout=file, check=True)
        assert (tmp_path / "out").read_bytes() == wanted
    else:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            subprocess.run(driver, stdout=theirs, check=True)
            assert ours.recv(1000) == wanted


@posix
def test_a_socket_is_refused_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(OSError, match="cannot write the report: "):
            write_file("socket", PAGE, "report")
    assert stat.S_ISSOCK(os.stat("socket").st_mode)
    assert os.listdir() == ["socket"]


@posix
def test_a_disk_is_never_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(b"data")
    monkeypatch.setattr(stat, "S_ISBLK", lambda mode: True)
    with pytest.raises(OSError, match="cannot write the report: it is a disk"):
        write_file(path, PAGE, "report")
    assert path.read_bytes() == b"data"


@posix
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    lost = tmp_path / "lost"
    lost.symlink_to(tmp_path / "nowhere" / "run.html")
    for path in (circle, lost):
        with pytest.raises(OSError, match=rf"cannot write the picture: .*{path.name}"):
            write_file(path, PAGE, "picture")
    with pytest.raises(IsADirectoryError, match=r"cannot write the picture: .* is a folder"):
        write_file(tmp_path, PAGE, "picture")
    assert {path.name for path in tmp_path.iterdir()} == {"circle", "lost"}


def test_a_file_is_replaced_only_by_one_of_its_kind(tmp_path: Path) -> None:
    """`croupier export run.db --csv run.db` ended with 0, and the run was gone."""
    store = tmp_path / "run.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE run (content TEXT)")
    others = {
        "arms.py": b"arms = []\n",
        "arms.toml": b"[run]\n",
        "simulate": b"#!/bin/sh\necho 1\n",
        "data.csv": b"x,y\n1,2\n",
        "data.json": b'{"x": 1}\n',
        "short": b"<",
    }
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    hard, soft = tmp_path / "hard.html", tmp_path / "soft.html"
    os.link(store, hard)
    soft.symlink_to(store)
    for path in (*before, hard, soft):
        with pytest.raises(OSError, match=r"cannot write the report: it is a file of another kind"):
            write_file(path, PAGE, "report")
    assert {path: path.read_bytes() for path in before} == before
    with pytest.raises(OSError, match="another kind; delete it, or give another file than"):
        write_file(tmp_path / "data.csv", b"name,draws\n", "file")


def test_an_empty_file_is_no_loss(tmp_path: Path) -> None:
    target = tmp_path / "run.html"
    target.touch()
    write_file(target, PAGE, "report")
    assert target.read_bytes() == PAGE
