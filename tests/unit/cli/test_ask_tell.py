"""croupier ask and tell: tickets through a store, in any order, with the bits of estimate."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from tests.conftest import bits_of

AWK = "BEGIN {srand({seed}); for (i = 0; i < {size}; i++) print SPREAD * (rand() - 0.5) + 1}"

needs_awk = pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")


def invoke(*arguments: object, told: str | None = None) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments], input=told)


def program(spread: str) -> cr.Program:
    return cr.Program(["awk", AWK.replace("SPREAD", spread)])


@pytest.mark.slow
@needs_awk
def test_tickets_in_any_order_and_a_lost_one_give_the_bits_of_estimate(tmp_path: Path) -> None:
    arms = {"rough": program("2"), "fine": program("0.2")}
    store, budget = tmp_path / "run.db", ("--draws", 600)
    first = ("--arm", "rough", "--arm", "fine", "--rng", 7, "--width", 3, "--batch", 30)
    out: list[list[str]] = []
    lost = None
    while True:
        done = invoke("ask", store, *budget, *(() if store.exists() else first))
        if done.exit_code == 0:
            out.append(done.output.split())
            if lost is None:
                lost = out.pop()  # this answer never comes back
            continue
        if done.exit_code == 5:
            break
        assert done.exit_code == 4, done.stderr
        if not out:
            again = invoke("ask", store, "--lost").output.split()
            assert again == lost
            out.append(again)
        ticket, size, seed, arm = out.pop()  # the newest first
        said = subprocess.run(
            arms[arm].arguments(int(size), int(seed)), capture_output=True, text=True
        ).stdout
        told = invoke("tell", store, ticket, "-", told=said)
        assert told.exit_code == 0, told.stderr
        assert told.output.startswith(f"ticket {ticket}: ")
    expected = cr.estimate(arms, draws=600, rng=7, width=3, batch=30)
    assert bits_of(cr.open_run(store).result()) == bits_of(expected)
    assert expected.draws == 600


def test_an_interval_for_many_looks_is_kept_by_every_later_call(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    table = cr.Allocator(["a", "b"], rng=7, batch=40, anytime=True)
    first: tuple[object, ...] = ("--arm", "a", "--arm", "b", "--rng", 7, "--batch", 40, "--anytime")
    for _ in range(8):
        ticket, size, _, arm = invoke("ask", store, "--draws", 1e5, *first).output.split()
        first = ()
        batch = table.ask(10**5 - table.progress().draws)
        assert batch is not None
        assert (int(ticket), arm, int(size)) == (batch.ticket, batch.arm, batch.size)
        values = np.random.default_rng(batch.ticket).normal(1.0, 0.1, batch.size)
        table.tell(batch, values)
        told = invoke("tell", store, ticket, "-", told="\n".join(map(repr, values.tolist())))
        assert told.exit_code == 0, told.stderr
    stored, result = cr.open_run(store), table.result()
    assert stored.status.interval == "anytime"
    assert stored.result().interval == result.interval
    assert invoke("ask", store, "--anytime").exit_code == 2  # it belongs to the first ask


SCRIPT = """
ask() { PYTHON -c 'from croupier.cli import main; main()' ask run.db --draws 300 "$@"; }
tell() { PYTHON -c 'from croupier.cli import main; main()' tell run.db "$@"; }
draw() { # ticket size seed arm
  case $4 in rough) spread=2;; *) spread=0.2;; esac
  awk "BEGIN {srand($3); for (i = 0; i < $2; i++) print $spread * (rand() - 0.5) + 1}" > "$1.csv"
}
first=$(ask --arm rough --arm fine --rng 7 --width 2 --batch 30)  # the answer is lost
while true; do
  batch=$(ask 2> /dev/null)
  code=$?
  if [ $code = 5 ]; then exit 0; fi
  if [ $code = 4 ]; then batch=$(ask --lost | head -1); fi
  draw $batch
  tell ${batch%% *} "${batch%% *}.csv" || exit 1
done
"""


@needs_awk
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_shell_script_plays_a_run_with_the_bits_of_estimate(tmp_path: Path) -> None:
    script = SCRIPT.replace("PYTHON", sys.executable)
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    arms = {"rough": program("2"), "fine": program("0.2")}
    expected = cr.estimate(arms, draws=300, rng=7, width=2, batch=30)
    assert bits_of(cr.open_run(tmp_path / "run.db").result()) == bits_of(expected)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    made = invoke("ask", path, "--arm", "a", "--arm", "b", "--rng", 7, "--batch", 3)
    assert made.exit_code == 0, made.stderr
    return path


def test_a_batch_as_json_has_the_seed_that_a_program_gets(store: Path) -> None:
    said = json.loads(invoke("ask", store, "--lost", "--json").output)
    assert set(said) == {"ticket", "size", "seed", "arm"}
    seen: list[int] = []

    class Spy(cr.Program):
        def arguments(self, size: int, seed: int) -> list[str]:
            seen.append(seed)
            return [sys.executable, "-c", f"print('1\\n' * {size}, end='')"]

    cr.estimate({"a": Spy("x {size} {seed}")}, draws=3, batch=3, rng=7)
    assert seen == [said["seed"]]


def test_a_large_batch_has_a_line_for_every_call(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    done = invoke("ask", path, "--arm", "a", "--rng", 7, "--batch", 25_000)
    rows = [line.split() for line in done.output.splitlines()]
    assert [(row[0], row[1]) for row in rows] == [("0", "10000"), ("0", "10000"), ("0", "5000")]
    assert len({row[2] for row in rows}) == 3
    numbers = "\n".join(map(str, np.arange(25_000)))
    assert invoke("tell", path, 0, "-", told=numbers).exit_code == 0
    assert cr.open_run(path).result().value == 12499.5


@pytest.mark.parametrize(
    "told", ["1\n2\n3\n", "value\n1\n2\n3", '"value"\r\n1\r\n2\r\n3\r\n', "1.0\n2.0\n3.0"]
)
def test_a_file_may_have_a_line_of_names(store: Path, told: str, tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_bytes(told.encode())
    done = invoke("tell", store, 0, tmp_path / "values.csv", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.output)["value"] == 2.0


def test_vectors_and_costs(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    assert invoke("ask", path, "--arm", "a", "--cost", 100, "--batch", 2).exit_code == 0
    done = invoke("tell", path, 0, "-", "--json", told="1,10,2\n3,30,4\n")
    data = json.loads(done.output)
    assert (data["value"], data["cost"]) == ([2.0, 20.0], 6.0)


@pytest.mark.parametrize(
    ("arguments", "told", "complaint"),
    [
        (("tell", "run.db", 0, "-"), "1\n2\n", "asked for 3 draws and printed 2 lines"),
        (("tell", "run.db", 0, "-"), "1\nx\n3\n", "'x' in line 2"),
        (("tell", "run.db", 9, "-"), "1\n", "never asked for"),
        (("tell", "run.db", 0, "none.csv"), None, "cannot read none.csv"),
        (("tell", "none.db", 0, "-"), "1\n", "there is no store none.db"),
        (("ask", "none.db"), None, "name the arms"),
        (("ask", "run.db", "--width", 3), None, "has its own width"),
        (("ask", "run.db", "--arm", "x"), None, "the arms of run.db are a, b, not x"),
        (("ask", "run.db", "--lost", "--ticket", 5), None, "never asked for"),
        (("tell", "run.db", 0, "-", "--format", "xml"), "1", "format must be one of"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_lost(
    store: Path, arguments: Any, told: str | None, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    done = invoke(*arguments, told=told)
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert invoke("tell", store, 0, "-", told="1\n2\n3\n").exit_code == 0


def test_a_second_answer_is_refused(store: Path) -> None:
    assert invoke("tell", store, 0, "-", told="1\n2\n3\n").exit_code == 0
    done = invoke("tell", store, 0, "-", told="1\n2\n3\n")
    assert done.exit_code == 2
    assert "told already" in done.stderr


@pytest.mark.parametrize(
    ("given", "size"),
    [(("--draws", 1e4), 100), (("--draws", 1e4, "--batch", "growing"), 1), (("--draws", 100), 1)],
)
def test_the_first_batch_is_a_hundredth_of_the_budget(
    given: tuple[Any, ...], size: int, tmp_path: Path
) -> None:
    asked = invoke("ask", tmp_path / "run.db", "--arm", "a", "--arm", "b", "--rng", 7, *given)
    assert asked.output.split()[1] == str(size), asked.stderr
    again = invoke("ask", tmp_path / "run.db", "--arm", "a", "--arm", "b", *given[:2])
    assert again.exit_code == 4, again.stderr  # the names of the arms may be given again
