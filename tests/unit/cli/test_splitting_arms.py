"""croupier run with a splitting arm, from a problem file and from a module."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from croupier import cli

PYTHON = """
import numpy as np
import croupier as cr

def step(rng, x):
    return x + np.where(rng.random(len(x)) < 0.3, 1, -1)

def start(rng, n):
    return np.ones(n)

def level(x):
    return np.where(x == 0, -np.inf, x)

queue = cr.splitting(step, start, level, 5, particles=50)
"""

TOML = """
[run]
cost = 20000
seed = 7

[arms.overflow]
python = "MODULE.py:queue"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    name = "queue_" + tmp_path.name.replace("-", "_")
    (tmp_path / f"{name}.py").write_text(PYTHON)
    (tmp_path / "arms.toml").write_text(TOML.replace("MODULE", name))
    return name


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


def test_a_problem_file_runs_a_splitting_arm_by_its_cost(module: str) -> None:
    ended = invoke("run", "arms.toml", "--json")
    assert ended.exit_code == 0, ended.output
    answer = json.loads(ended.stdout)
    exact = (7 / 3 - 1) / ((7 / 3) ** 5 - 1)
    assert abs(answer["value"] - exact) < 4 * answer["stderr"]
    low, high = answer["low"], answer["high"]
    assert high - answer["value"] > answer["value"] - low
    assert answer["stopped"] == "cost"


def test_a_stored_run_of_a_module_is_resumed(module: str) -> None:
    source = f"{module}:queue"
    assert invoke("run", source, "--draws", 10, "--seed", 7, "--store", "run.db").exit_code == 0
    more = invoke("resume", "run.db", source, "--draws", 20, "--json")
    once = invoke("run", source, "--draws", 20, "--seed", 7, "--json")
    assert json.loads(more.stdout)["high"] == json.loads(once.stdout)["high"]
