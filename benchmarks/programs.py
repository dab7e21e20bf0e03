"""make bench-programs: what the command line and a program as arm cost, side by side.

The same run of the demo's arms is started from the command line and from Python, in turns. The
program in C of docs/programs.md is run by itself and as an arm, in turns.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import croupier as cr
from benchmarks import pages, report

KEY = ("what",)
DRAWS = 10**6

#: The demo's arms, from the command line and from Python: the same draws from the same seed.
ARMS = "croupier.examples.asian_option:ARMS"
BY_HAND = """
import croupier as cr
from croupier.examples.asian_option import ARMS
print(cr.estimate(ARMS, draws=5_000, rng=7, progress=False))
"""
COMMAND = f"""
import sys
from croupier.cli import main
sys.argv[1:] = ["run", "{ARMS}", "--draws", "5000", "--rng", "7"]
main()
"""


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def extra(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """Return how many seconds `one` takes longer than `other`: the median over turns."""
    one(), other()
    return median(timed(one) - timed(other) for _ in range(rounds))


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def used(code: str) -> tuple[float, float]:
    """Return the wall time and the CPU time of a script, in seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    python(code)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_line(rounds: int) -> tuple[float, float]:
    """Return what `croupier run` takes on top of the same run from Python: wall and CPU seconds.

    On a busy machine, the wall time is longer than the CPU time.
    """
    told, by_hand = python(COMMAND), python(BY_HAND)
    assert told.partition("\n")[0] == by_hand.partition("\n")[0]  # the same estimate
    pairs = [(used(COMMAND), used(BY_HAND)) for _ in range(rounds)]
    wall, cpu = (median(one[i] - other[i] for one, other in pairs) for i in (0, 1))
    return wall, cpu


def compiled(folder: Path) -> str | None:
    """Return the compiled program of the page, or None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    found = re.search(
        r"^```c\n(.*?)^```", (pages.DOCS / "programs.md").read_text("utf-8"), re.S | re.M
    )
    if compiler is None or found is None:
        return None
    (folder / "fast.c").write_text(found[1], "utf-8")
    subprocess.run([compiler, "-O2", "-o", "fast", "fast.c"], cwd=folder, check=True)
    return str(folder / "fast")


def answering_program(program: str, rounds: int) -> float:
    """Return what a draw of the program costs on top of its own time, in microseconds."""
    arm = cr.Program([program], stdin=True, output="binary")

    def alone() -> None:
        subprocess.run([program], input=f"{DRAWS} 7\n".encode(), check=True, capture_output=True)

    def as_arm() -> None:
        result = cr.estimate({"fast": arm}, draws=DRAWS, rng=7, progress=False)
        assert abs(result.value - 0.5) < 5 * result.stderr

    return 1e6 * extra(as_arm, alone, rounds) / DRAWS


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-programs", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="turns of each pair")
    rounds = parser.parse_args().rounds
    what = "croupier run, on top of the same run from Python"
    rows: list[dict[str, Any]] = [
        {"what": f"{what}, {kind} s", "measured": round(seconds, 3), "wanted": "below 1"}
        for kind, seconds in zip(("wall", "CPU"), command_line(rounds), strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        if program is not None:
            rows.append(
                {
                    "what": "a draw of the program in C, on top of its own time, µs",
                    "measured": round(answering_program(program, rounds), 3),
                    "wanted": "below 5",
                }
            )
    report.write("programs", rows, KEY)
    report.show("programs", rows)
    pages.main()


if __name__ == "__main__":
    main()
