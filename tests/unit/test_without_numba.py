"""numba is an extra: a run works without it, and what needs it says so in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: A process in which numba is not installed.
WITHOUT = """
import sys
sys.modules["numba"] = None
import numpy as np
import croupier as cr
"""

LINE = 'need numba: pip install ".[compiled]"'

RUN = """
arms = {"rough": lambda rng, size: rng.normal(1, 1, size),
        "fine": lambda rng, size: rng.normal(1, 0.1, size)}
for policy in ("auto", "kl-ucb", "thompson"):
    bounds = {"name": policy, "bounds": (-9, 9), "clip": True}
    result = cr.estimate(arms, draws=2000, rng=7, policy=policy if policy == "auto" else bounds)
    assert abs(result.value - 1) < 0.2, result
"""

MIXTURE = """
from croupier.importance import Family, Normal

family = Family(Normal(0, 1), {"at 0": Normal(0, 1), "at 2": Normal(2, 1)}, lambda x: x[:, 0] > 2)
assert abs(family.estimate(draws=4000, rng=7).value - 0.02275) < 0.005
"""

EVIDENCE = """
import scipy.stats as st
from croupier.annealing.annealed import KERNELS

def log_likelihood(x):
    return st.norm.logpdf(1.0, x[:, 0], 0.5)

truth = st.norm.logpdf(1, 0, 1.25**0.5)
for kernel in KERNELS:
    slope = {"gradient": lambda x: (1.0 - x) / 0.25} if kernel == "langevin" else {}
    result = cr.evidence(log_likelihood, st.norm(0, 1), draws=8000, temperatures=16, kernel=kernel,
        rng=7, **slope)
    assert abs(result.log_value - truth) < 0.3, (kernel, result)
"""

SIMULATION = """
cr.simulate(cr.simulator.uniform([0.01, 0.02]), "ucb1", runs=2, horizon=10)
"""

#: The paper's experiments are in a folder of the repository.
PAPER = f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"

FIGURE = """
from paper import {figure}
{figure}("out", progress=False)
"""


def done(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + code]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize("code", [RUN, MIXTURE, EVIDENCE], ids=["run", "mixture", "evidence"])
def test_a_run_needs_no_numba(code: str, tmp_path: Path) -> None:
    finished = done(code, tmp_path)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    "code",
    [SIMULATION, *(PAPER + FIGURE.format(figure=f"figure{n}") for n in (1, 2, 3))],
    ids=["simulation", "figure 1", "figure 2", "figure 3"],
)
def test_what_needs_numba_says_how_to_get_it(code: str, tmp_path: Path) -> None:
    finished = done(code, tmp_path)
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].endswith(LINE)


def command(arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    call = (
        f"import croupier.cli; sys.argv = {['croupier', *arguments.split()]}; croupier.cli.main()"
    )
    return done(call, folder)


@pytest.mark.parametrize(
    "arguments", ["--help", "policies", "demo --seconds 0.3 --no-picture --store run.db"]
)
def test_the_command_line_needs_no_numba(arguments: str, tmp_path: Path) -> None:
    finished = command(arguments, tmp_path)
    assert finished.returncode == 0, finished.stderr
    if "--store" in arguments:
        shown = command("show run.db", tmp_path)
        assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize("figure", ["figure1", "figure2", "figure3"])
def test_a_command_that_needs_numba_says_so_in_one_line(figure: str, tmp_path: Path) -> None:
    call = f"import paper.__main__; sys.argv = ['paper', {figure!r}]; paper.__main__.app()"
    finished = done(PAPER + call, tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.strip().count("\n") == 0
    assert finished.stderr.strip().endswith(LINE)


def test_a_numba_that_is_broken_says_so_itself(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('numba needs an older numpy')")
    code = f"sys.path.insert(0, {str(tmp_path)!r}); del sys.modules['numba']" + SIMULATION
    finished = done(code, tmp_path)
    assert "numba needs an older numpy" in finished.stderr.splitlines()[-1]
