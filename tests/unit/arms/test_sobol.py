"""Sobol sequences stay whole, and Ctrl-C is not lost, while scipy loads its tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Ctrl-C comes while the first sequence of the process reads scipy's file of tables.
INTERRUPTED = """
import os, signal, sys
import numpy as np
from scipy.stats import qmc
from croupier.arms.randomised_nets import _digits
from croupier.integration.net_arm import net_points

calls = {"nets": lambda: net_points(7, 0, 0, 3, 0, 8), "arm": lambda: _digits(3, 3)}
load = np.load

def loaded_with_an_interrupt(*args, **how):
    np.load = load
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass  # Python handles a signal between two steps
    return load(*args, **how)

np.load = loaded_with_an_interrupt
try:
    calls[sys.argv[1]]()
except KeyboardInterrupt:
    print("interrupted")
assert np.load is load
points = calls[sys.argv[1]]()
print([len(set(column)) for column in points.T.tolist()])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("call", ["nets", "arm"])
def test_an_interrupt_in_the_first_sequence_comes_through_and_breaks_no_points(call: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, call]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout.splitlines() == ["interrupted", "[8, 8, 8]"], ended.stderr
    assert "Exception ignored" not in ended.stderr
