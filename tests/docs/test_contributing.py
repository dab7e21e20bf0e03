"""What CONTRIBUTING says: a policy and a table added step by step, the floors of the house."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from types import FrameType

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


#: The blocks of the page by what they begin with.
POLICY, TABLE = (
    next(block for block in fenced("python") if block.startswith(f'"""{title}'))
    for title in ("Epsilon-greedy", "Alternating")
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package that has the policy and the table of the page."""
    package = tmp_path / "croupier"
    shutil.copytree(Path(croupier.__file__).parent, package)
    (package / "policies" / "epsilon_greedy.py").write_text(POLICY, "utf-8")
    (package / "tables" / "alternating.py").write_text(TABLE, "utf-8")
    policy, table = fenced("diff")
    apply(policy, package / "policies" / "__init__.py")
    apply(table, package / "tables" / "base.py")
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


def test_a_table_of_one_file_and_one_line_passes_the_contract_tests(copy: Path) -> None:
    contracts = Path(__file__).parents[1] / "contracts" / "test_kinds.py"
    options = ["-q", "-k", "alternating", "-p", "no:cacheprovider", "-c", os.devnull]
    code = f"import pytest, sys; sys.exit(pytest.main({[str(contracts), *options]!r}))"
    said = python(code, copy)
    assert re.search(r"^8 passed", said, re.M), said


KILLED = """
import os, signal, sys
import croupier as cr
import my_arms
def kill(progress):
    if progress.tickets == 30:
        os.kill(os.getpid(), signal.SIGKILL)
dying = {"callback": kill} if sys.argv[1:] else {}
result = cr.play("alternating", [my_arms.rough, my_arms.fine], draws=5_000, workers=2, width=4,
                 rng=7, store="run.db", progress=False, **dying)
print(result.value.hex(), result.draws, result.plan.table)
result.report("run.html")
"""

ARMS = """
def rough(rng, size): return rng.normal(1.0, 1.0, size)
def fine(rng, size): return rng.normal(1.0, 0.1, size)
"""


@pytest.mark.slow
def test_the_table_is_killed_and_resumed_with_workers_and_has_a_report(copy: Path) -> None:
    (copy / "my_arms.py").write_text(ARMS, "utf-8")
    (copy / "run.py").write_text(KILLED, "utf-8")
    surroundings = os.environ | {"PYTHONPATH": str(copy)}
    command = [sys.executable, "run.py"]
    killed = subprocess.run([*command, "die"], env=surroundings, cwd=copy, check=False)
    assert killed.returncode == -9
    assert "not finished" in python(SHOW, copy)
    resumed = subprocess.check_output(command, env=surroundings, cwd=copy, text=True)
    assert resumed.split()[1:] == ["5000", "alternating"]
    (copy / "run.db").unlink()
    whole = subprocess.check_output(command, env=surroundings, cwd=copy, text=True)
    assert whole == resumed
    page = (copy / "run.html").read_text("utf-8")
    assert "<dt>table</dt><dd>alternating" in page
    shown = python(SHOW, copy)
    assert "finished: draws" in shown
    assert "5,000 draws" in shown


SHOW = "import sys; from croupier.cli import main; sys.argv[1:] = ['show', 'run.db']; main()"


def test_the_floors_are_those_that_the_linter_checks() -> None:
    with (PAGE.parent / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    rows = re.findall(r"^\| [^|]+ \| ((?:`\w+`(?:, )?)+) \|$", PAGE.read_text("utf-8"), re.M)
    floors = [re.findall(r"`(\w+)`", row) for row in rows]
    assert floors == [layer.split(" : ") for layer in contracts[0]["layers"]]
    package = Path(croupier.__file__).parent
    folders = sorted(file.parent.name for file in package.glob("*/__init__.py"))
    named = {one["ancestors"][0] for one in contracts if one["type"] == "acyclic_siblings"}
    assert named == {"croupier", "paper", *(f"croupier.{folder}" for folder in folders)}
    forbidden = contracts[-1]
    assert forbidden["source_modules"] == ["croupier"]
    assert forbidden["forbidden_modules"] == ["paper"]
    files = sorted(file.name for file in package.glob("*.py"))
    assert files == ["__init__.py", "__main__.py", "checks.py", "errors.py", "seeds.py"]


def test_no_module_hides_a_public_function() -> None:
    package = Path(croupier.__file__).parent
    top = {file.stem for file in package.glob("*")}
    functions = {"estimate", "evidence", "merge", "open_run", "play", "simulate", "stratify"}
    assert functions <= set(croupier.__all__)
    assert not top & functions


STEP = re.compile(r"^\d+\. `([\w/]+\.py):(\w+)`", re.M)


def test_a_draw_passes_every_file_of_its_way_once_and_in_order(tmp_path: Path) -> None:
    """Fail if a later step of the way leads back to an earlier one."""
    way = [(file, function) for file, function in STEP.findall(PAGE.read_text("utf-8"))]
    assert len(way) > 20
    assert len({file for file, _ in way}) == len(way)
    home, steps, walked = str(Path(croupier.__file__).parent), set(way), []

    def follow(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(home):
            step = (Path(code.co_filename).relative_to(home).as_posix(), code.co_name)
            if step in steps and (not walked or walked[-1] != step):
                walked.append(step)

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        arms = {"only": lambda rng, size: rng.normal(1.0, 1.0, size)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = croupier.estimate(arms, draws=1, rng=7, store=tmp_path / "run.db")
        str(result)
    finally:
        sys.setprofile(before)
    assert walked == way
