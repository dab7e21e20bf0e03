"""croupier run with a section [probability]."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from typer.testing import CliRunner

from croupier import cli

PYTHON = """
from scipy import stats

def beyond(x):
    return 15 - x.sum(axis=1)

def slope(x):
    return 0 * x - 1

over = [stats.expon(), stats.expon()]
"""

TOML = """
[run]
draws = 20000
rtol = 0.1
seed = 7

[probability]
python = "MODULE.py:beyond"
over = OVER
"""


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that writes a problem file with this `over`."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    name = "module_" + tmp_path.name.replace("-", "_")
    (tmp_path / f"{name}.py").write_text(PYTHON)

    def make(over: str, more: str = "") -> Path:
        path = tmp_path / "arms.toml"
        path.write_text(TOML.replace("OVER", over).replace("MODULE", name) + more)
        return path

    return make


OVERS = {
    "a list": '[{ name = "expon" }, { name = "expon", scale = 1.0 }]',
    "a reference": '"MODULE.py:over"',
}


@pytest.mark.parametrize("over", OVERS.values(), ids=OVERS.keys())
def test_a_limit_state_is_run_from_a_file(over: str, write: Any) -> None:
    done = invoke("run", write(over), "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert abs(data["value"] - stats.gamma(2).sf(15)) < 4 * data["stderr"]
    assert data["table"] == "probability"
    assert data["details"]["search"]["components"]


def test_a_stored_run_is_resumed_and_shown(write: Any, tmp_path: Path) -> None:
    path = write(OVERS["a list"])
    assert invoke("run", path, "--store", "run.db", "--draws", 40).exit_code in (0, 3)
    done = invoke("resume", "run.db", path, "--draws", 60, "--json")
    assert done.exit_code in (0, 3), done.output
    assert json.loads(done.stdout)["draws"] == 60
    done = invoke("run", path, "--store", "run.db", "--json")
    assert json.loads(done.stdout)["draws"] > 60
    shown = invoke("show", "run.db")
    assert "estimate" in shown.stdout


@pytest.mark.parametrize(
    ("over", "more", "said"),
    [
        ('[{ name = "nrom" }]', "", "scipy.stats has no distribution 'nrom'"),
        ('[{ name = "norm", mean = 2 }]', "", "the distribution 'norm' in over"),
        ("[{ loc = 2 }]", "", "a distribution in over must be such as"),
        ('["norm"]', "", "axis 0 of over= cannot be 'norm'"),
        ("2", "command = 'p'\n", "must have either command"),
        ("2", 'on_failure = "skip"\n', "on_failure must be one of"),
        ("2", "belw = 1.0\n", "did you mean 'below'"),
        ("0", "", "at least 1"),
    ],
)
def test_a_mistake_in_the_file_is_named(over: str, more: str, said: str, write: Any) -> None:
    done = invoke("run", write(over, more))
    assert done.exit_code != 0
    assert said in " ".join(done.output.split())


def test_a_gradient_is_named_in_the_file(write: Any, tmp_path: Path) -> None:
    name = "module_" + tmp_path.name.replace("-", "_")
    # In up to 10 dimensions g is learned, without its gradient.
    over = "[" + ", ".join(['{ name = "norm", loc = 0.5, scale = 0.75 }'] * 12) + "]"
    done = invoke("run", write(over, f'gradient = "{name}.py:slope"'), "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert abs(data["value"] - stats.norm(6, 6.75**0.5).sf(15)) < 4 * data["stderr"]
    assert data["details"]["search"]["gradients"] > 10


def test_a_program_is_the_limit_state_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    code = "for line in __import__('sys').stdin: print(5 - sum(map(float, line.split())))"
    path.write_text(
        "[run]\ndraws = 800\nseed = 7\n[probability]\n"
        f"command = {json.dumps([sys.executable, '-S', '-c', code])}\n"
        "over = [{ name = 'norm', loc = 1 }, { name = 'norm', loc = 1 }]\n"
        "correlation = [[1, 0.5], [0.5, 1]]\non_failure = 'bounds'\nretries = 1\ntimeout = 60\n"
    )
    done = invoke("run", path, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["components"][:2] == ["at least", "at most"]
    assert abs(data["value"][0] - stats.norm.sf(3**0.5)) < 4 * data["stderr"][0]
