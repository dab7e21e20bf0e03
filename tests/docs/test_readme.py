"""The table in the README is the one that its example prints."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def timeless(text: str) -> str:
    """Return the text without the time that the run took."""
    return re.sub(r"in [\d.,]+ .?s\b", "in some time", text).strip()


def test_the_example_prints_the_table_that_the_readme_shows() -> None:
    example = re.findall(r"```python\n(.*?)```", README, re.S)[0]
    shown = re.findall(r"```text\n(.*?)```", README, re.S)[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {"__name__": "example"})
    assert timeless(printed.getvalue()) == timeless(shown)
