"""croupier run, init and resume: problem files, options, exit codes."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from croupier.cli import options
from croupier.cli.sections import SECTIONS, read_problem, section_of
from tests.conftest import bits_of, fine, rough

PYTHON = """
def rough(rng, size):
    return rng.normal(1.0, 1.0, size)

def fine(rng, size):
    return rng.normal(1.0, 0.1, size)

def make():
    return {"rough": rough, "fine": fine}

arms = make()
"""

TOML = """
[run]
draws = 2000
seed = 7

[arms.rough]
python = "MODULE.py:rough"

[arms.fine]
python = "MODULE.py:fine"
"""


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


@pytest.fixture
def problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with arms.toml; its module has a name of its own, as modules are loaded once."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    name = "module_" + tmp_path.name.replace("-", "_")
    (tmp_path / f"{name}.py").write_text(PYTHON)
    (tmp_path / "arms.toml").write_text(TOML.replace("MODULE", name))
    return tmp_path / "arms.toml"


def module(problem: Path) -> str:
    return next(problem.parent.glob("module_*.py")).stem


def result_in(output: str) -> cr.Result:
    return cr.Result.from_dict(json.loads(output))


def test_a_file_of_python_functions_gives_the_bits_of_estimate(problem: Path) -> None:
    done = invoke("run", problem, "--json")
    assert done.exit_code == 0, done.stderr
    expected = cr.estimate({"rough": rough, "fine": fine}, draws=2000, rng=7)
    assert bits_of(result_in(done.output)) == bits_of(expected)


@pytest.mark.parametrize("source", ["{}:arms", "{}:make", "{}.py:arms"])
def test_arms_of_a_module_or_a_file(problem: Path, source: str) -> None:
    named = source.format(module(problem))
    done = invoke("run", named, "--draws", "2e3", "--rng", "7", "--json")
    assert done.exit_code == 0, done.stderr
    assert result_in(done.output).draws == 2000


def test_one_function_is_one_arm(problem: Path) -> None:
    done = invoke("run", f"{module(problem)}:fine", "--draws", 100, "--json")
    assert list(result_in(done.output).arms.keys()) == ["fine"]


def test_the_command_line_goes_before_the_file(problem: Path) -> None:
    done = invoke("run", problem, "--draws", 500, "--rng", 8, "--policy", "uniform", "--json")
    result = result_in(done.output)
    assert (result.draws, result.seed, result.plan.policy["name"]) == (500, 8, "uniform")


def test_a_budget_on_the_command_line_replaces_all_budgets_of_the_file(problem: Path) -> None:
    problem.write_text(problem.read_text().replace("draws = 2000", "seconds = 60\ndraws = 10"))
    result = result_in(invoke("run", problem, "--draws", 300, "--json").output)
    assert (result.draws, result.unit) == (300, "draws")


def test_the_table_is_printed_and_the_page_written(problem: Path, tmp_path: Path) -> None:
    done = invoke("run", problem, "--report", tmp_path / "run.html")
    assert done.exit_code == 0
    assert "95% interval" in done.output
    assert "<html" in (tmp_path / "run.html").read_text()[:200]


@pytest.mark.parametrize(
    ("report", "complaint"),
    [
        ("arms.toml", "it is a file of another kind"),
        ("program", "it is a file of another kind"),
        ("run.db", "the report and the store are both"),
        ("nowhere/run.html", "there is no folder"),
        (".", "is a folder"),
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_a_page_that_cannot_be_written_is_refused_before_the_run(
    problem: Path, report: str, complaint: str, in_file: bool
) -> None:
    (problem.parent / "program").write_text("#!/bin/sh\n")
    if in_file:
        problem.write_text(
            problem.read_text().replace("seed = 7", f'seed = 7\nreport = "{report}"')
        )
    before = {path: path.read_bytes() for path in problem.parent.iterdir()}
    done = invoke("run", problem, "--store", "run.db", *([] if in_file else ["--report", report]))
    assert done.exit_code == 2
    assert complaint in done.stderr
    after = {path: path.read_bytes() for path in problem.parent.iterdir() if path.is_file()}
    assert after == before  # no store either


def test_a_path_in_a_file_is_relative_to_its_folder_and_may_lead_out_of_it(problem: Path) -> None:
    inner = problem.parent / "inner"
    inner.mkdir()
    for path in problem.parent.glob("*.*"):
        path.rename(inner / path.name)
    problem = inner / problem.name
    problem.write_text(problem.read_text().replace("seed = 7", 'seed = 7\nreport = "../run.html"'))
    done = invoke("run", problem)
    assert f"Page: {inner.parent / 'run.html'}" in done.output
    assert (inner.parent / "run.html").exists()


def test_a_tolerance_that_is_not_reached_is_exit_code_3(problem: Path) -> None:
    assert invoke("run", problem, "--rtol", "1e-9").exit_code == 3
    assert invoke("run", problem, "--rtol", "0.5").exit_code == 0


def test_a_stored_run_is_resumed_with_the_seed_and_the_policy_that_it_has(
    problem: Path, tmp_path: Path
) -> None:
    store = tmp_path / "run.db"
    first = invoke("run", problem, "--store", store, "--policy", "uniform", "--rng", 9)
    assert first.exit_code == 0
    more = invoke("resume", store, problem, "--draws", 5000, "--json")
    assert more.exit_code == 0, more.stderr
    result = result_in(more.output)
    assert (result.draws, result.seed, result.plan.policy["name"]) == (5000, 9, "uniform")
    assert cr.open_run(store).status.draws == 5000


def test_an_unfinished_run_goes_on_with_the_budget_that_it_had(
    problem: Path, tmp_path: Path
) -> None:
    store, arms = tmp_path / "run.db", {"rough": rough, "fine": fine}
    limits = {"seconds": 3600.0, "atol": 0.002}  # the file has draws = 2000
    cr.estimate(arms, rng=7, store=store, callback=interrupt_at(3), **limits)  # type: ignore[arg-type]
    assert cr.open_run(store).status.stopped == "interrupted"
    more = invoke("resume", store, problem, "--json")
    assert more.exit_code == 0, more.stderr
    result = result_in(more.output)
    assert (result.stopped, result.unit) == ("tolerance", "seconds")
    assert result.draws > 2000


def interrupt_at(ticket: int) -> Any:
    def callback(progress: cr.Progress) -> None:
        if progress.tickets == ticket:
            raise KeyboardInterrupt

    return callback


def test_a_finished_run_is_not_resumed_with_a_budget_of_another_unit(
    problem: Path, tmp_path: Path
) -> None:
    store = tmp_path / "run.db"
    arms = {"rough": rough, "fine": fine}
    cr.estimate(arms, seconds=60.0, atol=0.5, rng=7, store=store)
    done = invoke("resume", store, problem)  # the file has draws = 2000
    assert done.exit_code == 2
    assert "counts seconds" in done.stderr
    assert "in draws: give a larger budget with --seconds" in done.stderr.replace("\n", " ")


def test_resume_needs_a_store(problem: Path) -> None:
    done = invoke("resume", "none.db", problem)
    assert done.exit_code == 2
    assert "there is no store none.db" in done.stderr


def test_init_writes_a_problem_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "arms", raising=False)
    assert invoke("init", tmp_path / "new").exit_code == 0
    path = tmp_path / "new" / "arms.toml"
    done = invoke("run", path, "--draws", 3000, "--rtol", 1e-9, "--rng", 7, "--json")
    assert done.exit_code == 3, done.stderr
    result = result_in(done.output)
    assert abs(result.value - 0.7468241) < 4 * result.stderr
    assert min(row.draws for row in result.arms) >= 1000
    again = invoke("init", tmp_path / "new")
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    assert invoke("init", tmp_path / "new", "--force").exit_code == 0


def test_programs_run_in_the_folder_of_the_file_and_costs_are_a_budget(tmp_path: Path) -> None:
    (tmp_path / "arm.py").write_text(
        "import random, sys\n"
        "for line in sys.stdin:\n"
        "    size, seed = map(int, line.split())\n"
        "    random.seed(seed)\n"
        "    for _ in range(size): print(random.gauss(1, 0.1), 2.5)\n"
        "    sys.stdout.flush()\n"
    )
    command = json.dumps([sys.executable, "arm.py"])
    (tmp_path / "arms.toml").write_text(f"[arms.own]\ncommand = {command}\nstdin = true\n")
    done = invoke("run", tmp_path / "arms.toml", "--cost", 5000, "--rng", 7, "--json")
    assert done.exit_code == 0, done.stderr
    result = result_in(done.output)
    assert (result.unit, result.arms["own"].cost_per_draw) == ("cost", 2.5)
    assert abs(result.value - 1) < 4 * result.stderr


def test_strata_have_weights(problem: Path) -> None:
    text = problem.read_text().replace("[arms.", "[strata.")
    text = text.replace('rough"', 'rough"\nweight = 0.25').replace('fine"', 'fine"\nweight = 0.75')
    problem.write_text(text)
    done = invoke("run", problem, "--json")
    assert done.exit_code == 0, done.stderr
    assert result_in(done.output).plan.table == "strata"


def test_an_integrand_is_integrated_over_bounds_or_over_a_law(tmp_path: Path) -> None:
    (tmp_path / "decay.py").write_text(
        "import numpy as np\nfrom scipy import stats\n"
        "def f(x):\n    return np.exp(-x.sum(axis=1))\n"
        "law = [stats.expon()] * 2\n"
    )
    for over, value in (("[[0, inf], [0, 1]]", 1 - np.exp(-1)), ('"decay.py:law"', 0.25)):
        path = tmp_path / "problem.toml"
        path.write_text(f"[run]\ndraws = 100000\n[integrate]\npython = 'decay.py:f'\nover = {over}")
        done = invoke("run", path, "--rtol", 1e-3, "--seed", 7, "--json")
        assert done.exit_code == 0, done.stderr
        result = result_in(done.output)
        assert result.plan.table == "race"
        assert abs(result.value / value - 1) < 1e-3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[arms", "is not TOML"),
        ("[integrate]\nover = [0, 1]", "[integrate] must have either command"),
        ("[integrate]\npython = 'math:exp'", "[integrate] has no over"),
        ("integrate = 3", "[integrate] must have either command"),
        ("[integrate]\npython = 'math:exp'\nover = [1, 0]", "reversed bounds (1, 0)"),
        ("[integrate]\npython = 3\nover = [0, 1]", "python must be a text, got 3"),
        ("[integrate]\npython = 'math:exp'\novr = [0, 1]", "did you mean 'over'?"),
        ("", "must have one of the sections [arms]"),
        ("[arm.x]\ncommand = 'x'", "unknown section 'arm': did you mean 'arms'?"),
        ("arms = 3", "[arms] must have a section for every arm"),
        ("[arms.x]\nfoo = 1", "[arms.x] must have either command"),
        ("[arms.x]\ncomand = 'p'\ntimeout = 3", "but it has comand, timeout"),
        ("[arms.x]\ncommand = 'p'", "[arms.x]: the command 'p' has no {size}"),
        ("[arms.x]\ncommand = 'p {size} {seed}'\ntimout = 3", "did you mean 'timeout'?"),
        ("[arms.x]\npython = 'nosuchmodule:f'", "cannot be imported"),
        ("[arms.x]\npython = 'nofile.py:f'", "there is no Python file"),
        ("[arms.x]\npython = 'math'", "write module:name"),
        ("[arms.x]\npython = 'math:nothing'", "math has no 'nothing'"),
        ("[arms.x]\npython = 'math:pi'", "[arms.x]: arm 'x' is not callable"),
        ("[run]\nsecond = 1\n[arms.x]\npython = 'a:b'", "did you mean 'seconds'?"),
        ("[strata.x]\npython = 'numpy:add'", "has no weight"),
        ("[run]\ncombine = [1]\n[arms.x]\npython = 'numpy:add'", "unknown combiner [1]"),
        ("[run]\nanytime = 'x'\n[arms.x]\npython = 'numpy:add'", "anytime must be True or False"),
        ('[run]\nreport = "\\u0000"\n[arms.x]\npython = "numpy:add"', "report must be a path"),
        ("[run]\npolicy = 'x'\n[integrate]\npython = 'math:exp'\nover = [0, 1]", "'policy'"),
        (
            "[run]\nnames = ['a']\n[integrate]\npython = 'math:exp'\nover = [0, 1]\nnames = ['b']",
            "[integrate] and [run] both have names",
        ),
        ("[arms.x]\ncommand = 'p {size} {seed}'\nfolder = 5", "[arms.x]: folder must be a path"),
        ("[probability]\npython = 'math:exp'\nover = 2\ngradient = 5", "5 is not a reference"),
        ("[probability]\npython = 'numpy:sum'\nover = 2\nstarts = 'x'", "starts must be points (k"),
        ("[probability]\npython = 'math:exp'\nover = 99999999999999999999", "fits into memory"),
        (
            "[probability]\npython = 'math:exp'\nover = [{name = 'norm', loc = 'x'}]",
            "the distribution 'norm' in over: loc must be a finite number, got 'x'",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "arms.toml"
    path.write_text(text)
    done = invoke("run", path, "--draws", 100)
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert done.stderr.startswith("error: ")


def test_a_file_that_is_not_there_says_how_to_get_one() -> None:
    assert "croupier init" in invoke("run", "nowhere.toml", "--draws", 1).stderr


def test_a_file_of_python_needs_the_name_of_its_arms(problem: Path) -> None:
    name = module(problem)
    done = invoke("run", f"{name}.py", "--draws", 100)
    assert f"{name}.py is Python: name the arms in it, {name}.py:arms" in done.stderr


def test_a_problem_file_may_have_every_option_of_estimate_that_is_plain_data() -> None:
    elsewhere = {"arms", "rng", "executor", "progress", "callback"}  # "seed" stands for rng
    assert set(inspect.signature(cr.estimate).parameters) - elsewhere <= set(options._NAMES)


def test_a_file_with_the_name_of_another_module_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "math.py").write_text("def f(rng, size): return rng.random(size)")
    done = invoke("run", f"{tmp_path / 'math.py'}:f", "--draws", 10)
    assert "rename the file" in done.stderr


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_says_what_it_is_for(name: str) -> None:
    section = section_of(name)
    assert section.name == name
    assert section.about


def test_a_problem_file_is_read_without_running_it(problem: Path) -> None:
    read = read_problem(problem)
    assert read.section.name == "arms"
    assert list(read.arms()) == ["rough", "fine"]
