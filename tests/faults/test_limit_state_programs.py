"""A program as limit state that is killed, hangs or prints garbage: each is a failed call."""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import pytest

import croupier as cr

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind"),
    pytest.mark.filterwarnings("ignore::croupier.CroupierWarning"),
]

SOLVER = """
import os, signal, sys, time
for line in sys.stdin:
    x, y = map(float, line.split())
    if x > 1.2:
        FAULT
    print(1 - x, flush=True)
"""
FAULTS = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    "hangs": ("time.sleep(600)", "did not answer within 3 s"),
    "garbage": ("print('segmentation', end=' ')", "printed 'segmentation"),
    "too much": ("print(1)", "printed more than it was asked for"),
    "quits": ("sys.exit(3)", "exited with code 3"),
}


def program(fault: str, *, stays: bool) -> cr.Program:
    code = SOLVER.replace("FAULT", FAULTS[fault][0])
    return cr.Program(
        [sys.executable, "-S", "-c", code], stdin=stays, timeout=3 if fault == "hangs" else 60
    )


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_run_with_its_point(fault: str, stays: bool) -> None:
    # Nobody knows which answers of a program that stays are wrong if it has printed too much.
    no_point = fault == "too much" and stays
    with pytest.raises(cr.ArmError, match=FAULTS[fault][1]) as caught:
        cr.probability(program(fault, stays=stays), 2, draws=40, rng=7)
    named = re.search(r"at the point \([1-9]\.", str(caught.value))
    assert named is None if no_point else named
    assert caught.value.ticket is not None


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("fault", ["killed", "garbage", "quits"])
def test_with_bounds_the_run_goes_on(fault: str, stays: bool) -> None:
    began = time.monotonic()
    result: Any = cr.probability(
        program(fault, stays=stays), 2, draws=40, rng=7, on_failure="bounds"
    )
    assert result.details["failed"] > 0
    low, high = result.between
    assert low < 0.1587 < high  # P(X > 1)
    assert time.monotonic() - began < 300


def test_a_hang_counts_as_what_the_user_says() -> None:
    """Beyond 1.2 the solver hangs, and there it fails."""
    code = "import sys, time; x = float(sys.argv[1]); x > 1.2 and time.sleep(600); print(1 - x)"
    solver = cr.Program([sys.executable, "-S", "-c", code, "{x1}"], timeout=5)
    result = cr.probability(solver, 1, draws=20, rng=7, on_failure="fails")
    assert result.details["failed"] > 0
    assert result.interval[0] < 0.1587 < result.interval[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("wait", [0, 0.02])
def test_a_line_too_many_of_a_program_that_stays_never_passes(seed: int, wait: float) -> None:
    """Its answers would belong to other points, and each call alone would look right."""
    code = SOLVER.replace("FAULT", f"print(1, flush=True); time.sleep({wait})")
    solver = cr.Program([sys.executable, "-S", "-c", code], stdin=True)
    with pytest.raises(cr.ArmError, match="printed more than it was asked for"):
        cr.probability(solver, 2, draws=100, rng=seed, on_failure="bounds")
