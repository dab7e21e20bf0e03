"""Programs as arms: what they print, what goes wrong, and the same bits everywhere."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.functions.programs import Program
from tests.conftest import bits_of

#: What every program of the tests begins with: an answer is a function of size and seed.
HEAD = "import random, sys, time, json, struct\n"
ONCE = HEAD + "size, seed = int(sys.argv[1]), int(sys.argv[2]); random.seed(seed)\n"
NORMALS = ONCE + "print('\\n'.join(repr(random.gauss(1.0, 0.5)) for _ in range(size)))"
STAYING = """
for line in sys.stdin:
    size, seed = map(int, line.split())
    random.seed(seed)
    ANSWER
    sys.stdout.flush()
"""


def once(code: str, **how: Any) -> Program:
    return Program([sys.executable, "-S", "-c", code, "{size}", "{seed}"], **how)


def staying(answer: str, **how: Any) -> Program:
    code = HEAD + STAYING.replace("ANSWER", answer)
    return Program([sys.executable, "-S", "-c", code], stdin=True, **how)


GROUPS = pytest.mark.skipif(sys.platform == "win32", reason="process groups of another kind")

NORMAL_LINES = "print('\\n'.join(repr(random.gauss(1.0, 0.5)) for _ in range(size)))"


def drawn(program: Program, size: int = 5, seed: int = 7) -> Any:
    return program(np.random.default_rng(seed), size)


# -- what a program prints


def test_a_value_per_line_is_a_draw() -> None:
    values = drawn(once(NORMALS))
    assert values.shape == (5,)
    assert np.array_equal(values, drawn(once(NORMALS)))
    assert not np.array_equal(values, drawn(once(NORMALS), seed=8))


def test_a_second_number_in_a_line_is_the_cost() -> None:
    for separator in (" ", ",", "\\t"):
        program = once(f"{ONCE}for i in range(size): print(1.5 + i, 2, sep='{separator}')")
        draws = drawn(program, 3)
        assert draws.values.tolist() == [1.5, 2.5, 3.5]
        assert draws.costs.tolist() == [2, 2, 2]


def test_a_double_of_fortran_is_a_number() -> None:
    plain = once(f"{ONCE}print('  1.25D-03\\n-2.5d+01')")
    assert drawn(plain, 2).tolist() == [0.00125, -25.0]
    vectors = once(f"{ONCE}print('1.25D-03, 0.5D0')", components=2)
    assert drawn(vectors, 1).tolist() == [[0.00125, 0.5]]


def test_vectors_have_as_many_columns_as_components() -> None:
    program = once(f"{ONCE}for i in range(size): print(i, 2 * i)", components=2)
    assert drawn(program, 3).tolist() == [[0, 0], [1, 2], [2, 4]]
    priced = once(f"{ONCE}for i in range(size): print(i, 2 * i, 5)", components=2)
    assert drawn(priced, 2).values.tolist() == [[0, 0], [1, 2]]
    assert drawn(priced, 2).costs.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("printed", "values", "costs"),
    [
        ("i", [0, 1], None),
        ("json.dumps([i, 2])", [[0, 2], [1, 2]], None),
        ("json.dumps({'value': i, 'cost': 3})", [0, 1], [3, 3]),
        ("json.dumps({'values': [i, 1], 'cost': 3, 'note': 'x'})", [[0, 1], [1, 1]], [3, 3]),
    ],
)
def test_json_lines(printed: str, values: Any, costs: Any) -> None:
    draws = drawn(once(f"{ONCE}for i in range(size): print({printed})", output="json"), 2)
    if costs is None:
        assert draws.tolist() == values
    else:
        assert (draws.values.tolist(), draws.costs.tolist()) == (values, costs)


def test_binary_doubles_with_and_without_costs() -> None:
    write = "sys.stdout.buffer.write(struct.pack('<%dd' % len(x), *x))"
    plain = once(f"{ONCE}x = [0.5 + i for i in range(size)]; {write}", output="binary")
    assert drawn(plain, 3).tolist() == [0.5, 1.5, 2.5]
    priced = once(
        f"{ONCE}x = [y for i in range(size) for y in (i, 9)]; {write}", output="binary", costs=True
    )
    assert drawn(priced, 2).values.tolist() == [0, 1]
    assert drawn(priced, 2).costs.tolist() == [9, 9]


def test_logs_are_for_runs_of_logs() -> None:
    program = staying("[print(-1000 - random.random()) for i in range(size)]", logs=True)
    result = cr.estimate({"log": program}, draws=50, batch=10, log=True, rng=7)
    assert -1001 < result.log_value < -1000
    with pytest.raises(cr.PlanError, match="log=True"):
        cr.estimate({"log": program}, draws=50)


# -- a run


def test_a_program_that_stays_is_started_once_and_asked_for_every_call(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    code = f"open({str(log)!r}, 'a').write('x')\n"
    program = Program(
        [sys.executable, "-S", "-c", code + HEAD + STAYING.replace("ANSWER", NORMAL_LINES)],
        stdin=True,
    )
    result = cr.estimate({"stays": program}, draws=20_000, rng=7)
    assert log.read_text() == "x"
    assert abs(result.value - 1) < 4 * result.stderr
    assert len(result.history) > 50


def test_both_ways_to_ask_give_the_same_bits_and_so_do_workers() -> None:
    def run(program: Program, **options: Any) -> Any:
        both = {"a": program, "b": program}
        return bits_of(cr.estimate(both, draws=900, batch=100, rng=7, width=4, **options))

    one = run(staying(NORMAL_LINES))
    assert run(once(NORMALS)) == one
    assert run(staying(NORMAL_LINES), workers=2) == one
    assert run(once(NORMALS), workers=2) == one


def test_a_program_survives_pickling_and_starts_again_there() -> None:
    program = staying(NORMAL_LINES)
    values = drawn(program)
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert np.array_equal(drawn(again), values)


def test_seeds_have_the_bits_that_the_program_can_take() -> None:
    say = f"{ONCE}for i in range(size): print(seed)"
    seeds = [drawn(once(say, seed_bits=16), 1, seed)[0] for seed in range(6)]
    assert len(set(seeds)) == 6
    assert max(seeds) < 2**16


def test_a_program_that_ignores_its_seed_is_reported() -> None:
    program = staying("random.seed(3); [print(random.random()) for i in range(size)]")
    with pytest.warns(cr.CroupierWarning, match="repeats its draws"):
        cr.estimate({"stubborn": program}, draws=3000, batch=100, rng=7)


def test_a_store_notices_another_command(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    cr.estimate({"a": staying(NORMAL_LINES)}, draws=200, batch=50, rng=7, store=path)
    with pytest.raises(cr.StoreError, match="version"):
        cr.estimate({"a": staying(NORMAL_LINES + " ")}, draws=400, batch=50, store=path)


def test_the_program_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "value.txt").write_text("2.5")
    code = f"{ONCE}x = open('value.txt').read()\nfor i in range(size): print(x)"
    assert drawn(once(code, folder=tmp_path), 2).tolist() == [2.5, 2.5]


# -- what goes wrong


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("print('1.5\\nbanana\\n2\\n3\\n4')", "printed 'banana' in line 2: not a number"),
        ("print('1\\n1_000\\n2\\n3\\n4')", "printed '1_000' in line 2: not a number"),
        ("print('1 2\\n1 1_0\\n1 1\\n1 1\\n1 1')", "printed '1 1_0' in line 2: not a number"),
        ("print('1 2\\n1\\n1\\n1\\n1')", "line 2: 1 columns, not 2 numbers"),
        ("print('1 2 3\\n' * 5, end='')", "line 1: 3 columns, not 1 or 2 numbers"),
        ("print('1\\n2\\n3')", "was asked for 5 draws and printed 3 lines"),
        ("print('1\\n' * 6)", "printed more than it was asked for"),
        ("while True: print('y')", "printed more than it was asked for"),
        ("while True: sys.stdout.write('y' * 10000)", "bytes for 5 draws"),
        ("print('1\\n' * 5, end=''); sys.exit(3)", "exited with code 3"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        ("pass", "printed 0 lines"),
    ],
)
def test_an_answer_that_is_wrong_is_an_error_with_the_line(code: str, complaint: str) -> None:
    with pytest.raises(cr.ArmError) as caught:
        drawn(once(f"{ONCE}{code}"))
    assert complaint in str(caught.value)
    assert "size 5, seed" in str(caught.value)


def test_an_error_has_the_last_lines_of_stderr() -> None:
    code = f"{ONCE}for i in range(99): print('note', i, file=sys.stderr)\nraise OSError('no disk')"
    with pytest.raises(cr.ArmError) as caught:
        drawn(once(code))
    lines = str(caught.value).splitlines()
    assert "exited with code 1; its last lines on stderr" in lines[0]
    assert lines[-1] == "  OSError: no disk"
    assert len(lines) == 6


def test_an_error_names_the_arm_and_the_ticket() -> None:
    with pytest.raises(cr.ArmError, match=r"arm 'mine', ticket 0: the program") as caught:
        cr.estimate({"mine": once(f"{ONCE}print('x')")}, draws=10)
    assert caught.value.value == "x"


def test_much_on_stderr_is_no_reason_to_wait_or_to_fail() -> None:
    code = f"{ONCE}sys.stderr.write('x' * 10**6)\nfor i in range(size): print(i)"
    assert drawn(once(code), 2).tolist() == [0, 1]


@pytest.fixture
def hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return code that hangs; only then does the time of a program begin, on any machine."""
    there = tmp_path / "hangs"

    class Timer(threading.Timer):
        def run(self) -> None:
            while not there.exists() and not self.finished.wait(0.01):
                pass
            super().run()

    monkeypatch.setattr(threading, "Timer", Timer)
    return f"open({str(there)!r}, 'w').close(); time.sleep(600)"


@pytest.mark.parametrize("stdin", [False, True])
def test_a_program_that_hangs_is_ended_after_its_time(stdin: bool, hangs: str) -> None:
    code = f"print('hello', flush=True); {hangs}"
    program = staying(code, timeout=0.4) if stdin else once(f"{ONCE}{code}", timeout=0.4)
    with pytest.raises(cr.ArmError, match=r"did not answer within 0.4 s") as caught:
        drawn(program)
    assert "hello" in str(caught.value)


def child_that_sleeps(tmp_path: Path, how: str = "") -> str:
    """Return code that starts a child of 600 seconds and writes its number to a file."""
    return (
        f"{ONCE}import subprocess\n"
        "child = subprocess.Popen("
        f"[sys.executable, '-S', '-c', 'import time; time.sleep(600)'], {how})\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    )


def is_alive(tmp_path: Path) -> bool:
    child = int((tmp_path / "pid").read_text())
    stat = Path(f"/proc/{child}/stat")
    try:
        os.kill(child, 0)
        return not (stat.exists() and " Z " in stat.read_text())
    except (ProcessLookupError, FileNotFoundError):
        return False


def has_ended(tmp_path: Path) -> bool:
    """Return whether the child ends within a minute: long before it would."""
    deadline = time.monotonic() + 60
    while alive := is_alive(tmp_path):
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return not alive


@GROUPS
def test_what_a_program_has_started_ends_with_it(tmp_path: Path, hangs: str) -> None:
    with pytest.raises(cr.ArmError, match="did not answer"):
        drawn(once(f"{child_that_sleeps(tmp_path)}{hangs}", timeout=0.1))
    assert has_ended(tmp_path)


@GROUPS
@pytest.mark.parametrize("how", ["", "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"])
def test_what_a_program_leaves_behind_ends_with_its_call(tmp_path: Path, how: str) -> None:
    assert drawn(once(f"{child_that_sleeps(tmp_path, how)}print('1\\n2')"), 2).tolist() == [1, 2]
    assert has_ended(tmp_path)


@GROUPS
@pytest.mark.parametrize("stdin", [False, True])
def test_a_program_that_ends_badly_leaves_nothing_behind(tmp_path: Path, stdin: bool) -> None:
    code = f"{child_that_sleeps(tmp_path)}sys.exit(3)"
    with pytest.raises(cr.ArmError, match="exited with code 3"):
        drawn(once(code, stdin=stdin))
    assert has_ended(tmp_path)


@GROUPS
@pytest.mark.parametrize("ends", [False, True])
def test_a_process_out_of_reach_that_keeps_the_output_open_is_not_waited_for(
    tmp_path: Path, ends: bool, hangs: str
) -> None:
    code = child_that_sleeps(tmp_path, "start_new_session=True") + "print('1\\n2', flush=True)\n"
    try:
        if ends:
            assert drawn(once(code), 2).tolist() == [1, 2]
        else:
            with pytest.raises(cr.ArmError, match=r"did not answer within 0.4 s"):
                drawn(once(f"{code}{hangs}", timeout=0.4), 2)
        assert is_alive(tmp_path)
    finally:
        os.kill(int((tmp_path / "pid").read_text()), 9)


@GROUPS
def test_a_time_limit_holds_while_a_process_out_of_reach_prints(tmp_path: Path, hangs: str) -> None:
    printed = f"print('11', end='', flush=True), {hangs.partition(';')[0]}"
    drip = f"[({printed}, time.sleep(0.02)) for _ in range(30000)]"
    code = child_that_sleeps(tmp_path, "start_new_session=True").replace(
        "time.sleep(600)", drip.replace("'", "\\'")
    )
    try:
        with pytest.raises(cr.ArmError, match=r"did not answer within 0.4 s[^1]*11"):
            drawn(once(f"{code}time.sleep(600)", timeout=0.4), 2)
        assert is_alive(tmp_path)
    finally:
        os.kill(int((tmp_path / "pid").read_text()), 9)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("print('1\\n' * size, end=''); sys.exit(3)", "exited with code 3"),
        ("print('1\\n' * (size + 2), end='')", "more than it was asked for"),
        ("print('1\\n' * (size - 1), end=''); sys.exit()", "before its answer was complete"),
    ],
)
def test_a_program_that_stays_and_does_not_keep_to_it(answer: str, complaint: str) -> None:
    program = staying(answer)

    def ask_three_times() -> None:
        for seed in range(3):
            drawn(program, seed=seed)
            time.sleep(0.3)

    with pytest.raises(cr.ArmError, match=complaint):
        ask_three_times()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["./no-such-program", "{size}", "{seed}"], "there is no program './no-such-program'"),
        (["/", "{size}", "{seed}"], "may not be executed"),
    ],
)
def test_a_program_that_is_not_there(command: list[str], complaint: str) -> None:
    with pytest.raises(cr.ArmError) as caught:
        drawn(Program(command))
    assert complaint in str(caught.value)
    with pytest.raises(cr.ArmError, match="there is no folder"):
        drawn(Program(command, folder="no/such/folder"))


@pytest.mark.parametrize(
    ("command", "how", "complaint"),
    [
        ("program {size}", {}, "has no {seed}"),
        ("program", {}, "has no {size} and no {seed}"),
        ("program 'x", {"stdin": True}, "cannot be split"),
        ([], {}, "must be a program and its arguments"),
        ([1, 2], {}, "must be a program and its arguments"),
        ("p {size} {seed}", {"output": "csv"}, "output must be one of"),
        ("p {size} {seed}", {"timeout": 0}, "timeout must be"),
        ("p {size} {seed}", {"seed_bits": 8}, "seed_bits must lie between"),
        ("p {size} {seed}", {"components": 0}, "components must be"),
    ],
)
def test_a_command_that_cannot_be_used(command: Any, how: dict[str, Any], complaint: str) -> None:
    with pytest.raises(cr.PlanError) as caught:
        cr.Arm(Program(command, **how))
    assert complaint in str(caught.value)


def test_only_size_and_seed_are_replaced_and_no_shell_reads_the_command() -> None:
    program = Program("prog '{print $1; $(rm)}' {size} {seed} \"a|b\" \\; {other}")
    words = ["prog", "{print $1; $(rm)}", "2", "9", "a|b", ";", "{other}"]
    assert program.arguments(2, 9) == words
    assert Program([*words, "{size}", "{seed}", "|"]).arguments(1, 2)[-1] == "|"


@pytest.mark.parametrize(
    ("end", "sign"),
    [
        ("| tail", "|"),
        ("> out", ">"),
        ("2>&1", ">"),
        ("< in", "<"),
        ("&", "&"),
        ("; rm 'x'", ";"),
        ("`date`", "`"),
        ("'a' $(date)", "$("),
    ],
)
def test_a_text_that_needs_a_shell_is_refused_with_the_way_out(end: str, sign: str) -> None:
    with pytest.raises(cr.PlanError) as caught:
        Program(f"prog {{size}} {{seed}} {end}")
    assert f"has a {sign!r}" in str(caught.value)
    assert '["sh", "-c", ' in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_a_program_that_has_ended_leaves_no_open_file() -> None:
    for program in (once(NORMALS), staying(NORMAL_LINES)):
        drawn(program)
        del program
    time.sleep(0.2)  # the thread that listens to stderr ends
    gc.collect()  # an open file would raise here
