"""CONTRIBUTING's way to add a policy, walked step by step in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import croupier

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)


def apply(difference: str, file: Path) -> None:
    """Put each added line behind the line before it, which must be there once."""
    before = ""
    for line in filter(None, difference.splitlines()):
        text = line[1:]
        if line.startswith("+"):
            lines = file.read_text("utf-8").splitlines()
            assert lines.count(before) == 1, before
            lines.insert(lines.index(before) + 1, text)
            file.write_text("\n".join(lines) + "\n", "utf-8")
        before = text


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that has the policy of the page."""
    package = tmp_path / "croupier"
    shutil.copytree(Path(croupier.__file__).parent, package)
    policy, *_ = fenced("python")
    (package / "policies" / "epsilon_greedy.py").write_text(policy, "utf-8")
    (difference,) = fenced("diff")
    apply(difference, package / "policies" / "__init__.py")
    return tmp_path


def python(code: str, path: Path) -> str:
    # Python puts PYTHONPATH before an editable installation of the package.
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(path), "COLUMNS": "100"},
        cwd=path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_policy_of_one_file_and_its_registration_has_a_name(copy: Path) -> None:
    code = """
import croupier as cr
def rough(rng, size): return rng.normal(1.0, 1.0, size)
def fine(rng, size): return rng.normal(1.0, 0.1, size)
result = cr.estimate([rough, fine], draws=5_000, policy="epsilon-greedy", rng=7)
assert result.plan.policy == {"name": "epsilon-greedy", "epsilon": 0.1}, result.plan.policy
assert abs(result.value - 1) < 4 * result.stderr
print(cr.__file__)
"""
    assert str(copy) in python(code, copy)


def test_the_command_line_lists_it(copy: Path) -> None:
    listed = python(
        "import sys; from croupier.cli import main; sys.argv[1:] = ['policies']; main()", copy
    )
    assert re.search(r"epsilon-greedy +epsilon=0.1 +Any arm with probability", listed)
