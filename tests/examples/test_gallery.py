"""Every example runs, is right, and is a page and a notebook."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tools import gallery
from tools.gallery import Example

KNOWN = re.compile(r"^known answer: (\S+) \(([a-z ]+)\); ([\d.]+) standard errors away", re.M)
EXAMPLES = gallery.examples()

# `make test` runs the short ones.
RUNS = [
    pytest.param(example, marks=[pytest.mark.slow] if example.seconds > 3 else [], id=example.name)
    for example in EXAMPLES
]
each = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def used_by_children() -> float:
    """Return the seconds of processor time of all processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.mark.parametrize("example", RUNS)
def test_an_example_finds_its_known_answer_and_draws_a_picture(
    example: Example, tmp_path: Path
) -> None:
    """Each away is that of one seed: another seed would fail with a probability of 6e-5."""
    if "awk" in example.name and shutil.which("awk") is None:
        pytest.skip("awk is not installed")
    begin = used_by_children()
    printed = gallery.run(example, tmp_path)
    assert used_by_children() - begin < 60
    found = KNOWN.findall(printed)
    assert found, printed
    assert all(float(away) <= 4 for *_, away in found), printed
    assert (tmp_path / example.picture.name).read_bytes().startswith(b"\x89PNG")
    shown = KNOWN.findall(example.printed.read_text("utf-8"))
    stale = f"the gallery is old; run: python -m tools.gallery run {example.name}"
    assert [known[:2] for known in found] == [known[:2] for known in shown], stale


@each
def test_the_gallery_shows_what_an_example_printed_and_drew(example: Example) -> None:
    page = gallery.page(example, notebook="x.ipynb", source="x.py")
    assert page.startswith(f"# {example.title}\n")
    assert f"({example.name}.png)" in page
    assert KNOWN.search(page)
    assert example.picture.stat().st_size < 150_000
    assert example.seconds < 60


@each
def test_a_notebook_has_the_code_of_the_script(example: Example, tmp_path: Path) -> None:
    notebook = json.loads(json.dumps(gallery.notebook(example)))
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert code[0].endswith('# %pip install "./croupier[all]"')
    script = example.path.read_text("utf-8")
    position = 0
    for cell in code[1:]:
        position = script.index(cell, position)
    statements = [line for line in script.splitlines() if line and not line.startswith("#")]
    assert all(line in "\n".join(code) for line in statements)
    assert {c["cell_type"] for c in notebook["cells"]} == {"markdown", "code"}
    assert len({c["id"] for c in notebook["cells"]}) == len(notebook["cells"])


def test_there_are_ten_examples_with_at_least_four_kinds_of_known_answers() -> None:
    assert len(EXAMPLES) >= 10
    kinds = {kind for e in EXAMPLES for _, kind, _ in KNOWN.findall(e.printed.read_text("utf-8"))}
    assert kinds >= {"closed form", "quadrature", "enumeration", "transfer matrix"}


def test_a_script_that_is_not_in_cells_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with"):
        gallery.cells("import numpy\n")
    with pytest.raises(ValueError, match="does not begin with"):
        gallery.cells("# %% [markdown]\n# # Title\nimport numpy\n")
