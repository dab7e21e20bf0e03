"""Solvers that read files: templates, a folder for each call, and what goes wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a program without .exe"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

SOLVER = """#!/bin/sh
echo "solver in $PWD"
[ -n "$BROKEN" ] && { echo "no convergence" >&2; exit 4; }
. ./input.sh
echo "step 1: value = 99" > result
echo "value = $a" >> result
"""


@pytest.fixture
def solver(tmp_path: Path) -> Any:
    (tmp_path / "solve").write_text(SOLVER)
    (tmp_path / "solve").chmod(0o755)
    (tmp_path / "input.template").write_text("a={a}\nb={b:.3e}  # {other} {{}} ${HOME}\n")

    def make(**how: Any) -> cr.Program:
        usual = {
            "files": {"input.sh": "input.template"}, "inputs": ["a", "b"], "reads": "result",
            "find": r"value = (\S+)", "folder": tmp_path, "timeout": 60,
        }  # fmt: skip
        return cr.Program("./solve", **{**usual, **how})

    return make


def value_of(program: cr.Program, point: Any) -> Any:
    function, takes = program.as_function(len(point))
    assert takes == "one"
    return function(np.array(point))


def test_the_numbers_of_a_point_go_into_the_input_file(solver: Any, tmp_path: Path) -> None:
    assert value_of(solver(keep="calls"), [0.1, 2.5]) == 0.1
    (folder,) = (tmp_path / "calls").iterdir()
    assert (folder / "input.sh").read_text() == "a=0.1\nb=2.500e+00  # {other} {{}} ${HOME}\n"


def test_every_call_has_a_folder_that_is_removed(solver: Any, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    program = solver(reads=None, find=r"solver in (.*)")
    with pytest.raises(Exception, match="not a number") as caught:
        value_of(program, [1, 2])
    folder = str(caught.value).partition("printed '")[2].partition("'")[0]
    assert "call-" in folder
    assert not os.path.exists(folder)
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_that_is_no_text_is_copied(solver: Any, tmp_path: Path) -> None:
    (tmp_path / "mesh").write_bytes(b"\xff\x00{a}")
    program = solver(files={"input.sh": "input.template", "in/mesh": "mesh"}, keep="calls")
    value_of(program, [1, 2])
    (folder,) = (tmp_path / "calls").iterdir()
    assert (folder / "in" / "mesh").read_bytes() == b"\xff\x00{a}"


def test_names_in_the_command_need_no_files() -> None:
    program = cr.Program(["sh", "-c", "echo {x1} {x2:.2f}"], components=2)
    assert value_of(program, [1.25, 2.0]).tolist() == [1.25, 2.0]


def test_a_probability_of_a_solver_in_files(solver: Any) -> None:
    result = cr.probability(solver(), [(0, 1), (0, 1)], below=0.5, draws=60, rng=7)
    low, high = result.interval
    assert low < 0.5 < high


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"environment": {"BROKEN": "1"}}, r"exited with code 4.*\n  no convergence, at the point"),
        ({"reads": "no-result"}, "left no file no-result"),
        ({"find": r"stress = (\S+)"}, "printed nothing that fits find="),
        ({"find": None}, "printed 2 lines"),
        ({"files": {"input.sh": "none"}}, "template .*none does not exist"),
        ({"files": {"../input.sh": "input.template"}}, "inside of the folder of a call"),
        ({"inputs": ["a", "b", "c"]}, "3 names, but points have 2"),
        ({"inputs": ["c", "d"]}, "no template and no argument has a coordinate, such as {c}"),
        ({"inputs": ["a", "a"]}, "a"),
        ({"find": "value = "}, r"find must have 1 group \(\.\.\.\)"),
        ({"find": "("}, "find must be a regular expression"),
        ({"files": None}, r"inputs, reads, find= is for a program .* give files="),
        ({"stdin": True}, "is started every time"),
        ({"environment": 3}, "environment must be texts by name"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(how: dict[str, Any], said: str, solver: Any) -> None:
    with pytest.raises(cr.PlanError, match=said):
        cr.probability(solver(**how), 2, draws=60, rng=7)


def test_a_program_that_stays_answers_more_than_a_pipe_holds() -> None:
    code = "import sys\nfor line in sys.stdin: print(sum(map(float, line.split())), flush=True)"
    program = cr.Program([sys.executable, "-S", "-c", code], stdin=True, timeout=60)
    points = np.arange(20_000.0).reshape(10_000, 2)
    assert np.array_equal(program.values_at(points), points.sum(axis=1))
    assert np.array_equal(program.values_at(points[:3]), points[:3].sum(axis=1))


def test_points_and_values_may_be_binary() -> None:
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    program = cr.Program([sys.executable, "-S", "-c", code], output="binary", components=2)
    points = np.random.default_rng(1).normal(size=(50, 2))
    assert np.array_equal(program.values_at(points), points)
