"""The page about the command line has every command, and every command has help."""

import re
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from croupier import cli

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
COMMANDS: dict[str, object] = get_command(cli.app).commands  # type: ignore[attr-defined]


def test_the_page_has_a_section_for_every_command() -> None:
    assert set(re.findall(r"^## (\S+)", PAGE, re.M)) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example(name: str) -> None:
    said = CliRunner().invoke(cli.app, [name, "--help"])
    assert said.exit_code == 0
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert f"croupier {name}" in section
    for line in re.findall(rf"^\$ croupier {name} .*$", section, re.M):
        for option in re.findall(r"--[a-z][a-z-]+", line):
            assert option in said.output, option
