"""The guide's table of results leaves nothing out."""

import re
from dataclasses import fields
from pathlib import Path

import croupier as cr

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text("utf-8")


def test_every_field_of_a_result_is_in_the_table() -> None:
    table = GUIDE.partition("\n## Results\n")[2].partition("```")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`(\w+)", row[:80])}
    public = {field.name for field in fields(cr.Result) if not field.name.startswith("_")}
    assert listed >= public | {"summary"}
