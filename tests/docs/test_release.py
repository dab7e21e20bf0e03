"""What a release needs is there and agrees with itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import croupier

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")


def test_the_citation_has_the_version_of_the_package_and_no_made_up_doi() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {croupier.__version__}\n" in citation
    assert "10." not in re.sub(r"\nversion: .*", "", citation)


def test_the_workflow_tests_the_versions_of_python_that_are_promised() -> None:
    classifiers = PROJECT["project"]["classifiers"]
    promised = [c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)]
    tested = re.search(r"python: \[(.*)\]", WORKFLOW)
    assert tested is not None
    assert re.findall(r"[\d.]+", tested[1]) == promised
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize("text", ["RELEASING.md", "CONTRIBUTING.md", ".github/workflows/ci.yml"])
def test_every_make_target_that_is_named_exists(text: str) -> None:
    named = re.findall(r"(?:`|: |^)make ([a-z0-9-]+)", (ROOT / text).read_text("utf-8"), re.M)
    assert named
    for target in named:
        assert re.search(rf"^{target}:.*## ", MAKEFILE, re.M), target


def test_the_source_archive_has_what_its_tests_read() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for name in ("src", "paper", "tests", "docs", "examples", "tools", "benchmarks", "mkdocs.yml"):
        assert f"/{name}" in included, name
        assert (ROOT / name).exists()


def test_the_build_backend_is_fixed_to_the_version_of_the_constraints() -> None:
    fixed = (ROOT / "tools" / "dist-requirements.txt").read_text("utf-8")
    constraints = (ROOT / "constraints.txt").read_text("utf-8")
    backend = re.search(r"^hatchling==\S+$", fixed, re.M)
    assert backend is not None
    assert backend[0] in constraints.splitlines()


def test_the_hooks_are_the_tools_of_the_constraints() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    constraints = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    for repository, tool in (("ruff-pre-commit", "ruff"), ("codespell", "codespell")):
        version = re.search(rf"/{repository}\n    rev: v(\S+)", hooks)
        assert version is not None, tool
        assert f"{tool}=={version[1]}" in constraints


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_a_workflow_may_do_only_what_it_must(path: Path) -> None:
    """An action is a commit, not a tag that can be moved; a permission belongs to one job."""
    workflow = path.read_text("utf-8")
    assert "\npermissions: {}\n" in workflow
    for action in re.findall(r"uses: (.*)", workflow):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action
    assert workflow.count("actions/checkout@") == workflow.count("persist-credentials: false")


def test_the_indices_that_releasing_names_trust_the_release_workflow() -> None:
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    for environment in ("pypi", "testpypi"):
        assert f"environment: {environment}\n" in release
        assert f"`{environment}`" in (ROOT / "RELEASING.md").read_text("utf-8")
    assert "password" not in re.sub("#.*", "", release)


def test_an_address_in_the_metadata_is_a_real_one() -> None:
    for address in PROJECT["project"]["urls"].values():
        assert address.startswith("https://")
        assert "example" not in address
