"""The command line: the demo, its options, and errors in one line."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import croupier as cr
from croupier import cli
from croupier.examples import asian_option as demo
from croupier.policies import REGISTRY
from tests.conftest import Clock

RUN = ["demo", "--seconds", "0.2", "--seed", "7"]


@pytest.fixture(autouse=True)
def _timed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second of the demo be as long on any machine."""
    timed = {name: clock.timed(arm, 1e-3, 1e-5) for name, arm in demo.ARMS.items()}
    monkeypatch.setattr(demo, "ARMS", timed)


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli.app, list(arguments))


def test_the_version_is_that_of_the_package() -> None:
    done = invoke("--version")
    assert (done.exit_code, done.output) == (0, f"croupier {cr.__version__}\n")


def test_the_package_can_be_run_as_a_module() -> None:
    command = [sys.executable, "-m", "croupier", "--version"]
    assert cr.__version__ in subprocess.run(command, capture_output=True, text=True).stdout


def test_without_arguments_there_is_help() -> None:
    assert "demo" in invoke().output
    assert "policies" in invoke("-h").output


def test_policies_lists_the_registry_with_parameters_and_defaults() -> None:
    output = invoke("policies").output
    assert all(name in output for name in REGISTRY)
    assert "floor=0.5" in output
    assert "explore=30" in output


def test_the_demo_prints_the_result_and_the_savings_and_writes_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "run.png"
    done = invoke(*RUN, "--picture", str(picture))
    assert done.exit_code == 0
    assert "95% interval" in done.output
    assert "seed 7" in done.output
    assert "naive alone" in done.output
    assert f"Picture: {picture}" in done.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_demo_writes_no_picture_when_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(*RUN, "--no-picture").exit_code == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_demo_says_how_to_get_it() -> None:
    done = invoke(*RUN)
    assert done.exit_code == 0
    assert 'No picture: a plot needs matplotlib: pip install ".[plot]"' in done.output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--seconds", "0"], "seconds must be a finite number above 0, got 0.0"),
        (["--seconds", "nan"], "seconds must be a finite number above 0, got nan"),
        ([*RUN[1:], "--picture", "no/such/folder/run.png"], "cannot write the picture"),
        ([*RUN[1:], "--picture", "run.nonsense"], "cannot write the picture run.nonsense"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(arguments: list[str], complaint: str) -> None:
    done = invoke("demo", *arguments)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert complaint in done.stderr


def test_a_negative_seed_is_refused_by_its_name() -> None:
    done = invoke("demo", "--seed", "-1")
    assert done.exit_code == 2
    assert "--seed" in done.stderr


def test_an_interrupt_prints_what_is_known_and_exits_with_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0

    def interrupted(rng: Any, size: int) -> Any:
        nonlocal calls
        calls += 1
        if calls > 40:
            raise KeyboardInterrupt
        return demo.naive(rng, size)

    monkeypatch.setattr(
        demo, "price", lambda *_, **__: cr.estimate({"naive": interrupted}, draws=10**6, rng=7)
    )
    done = invoke("demo", "--no-picture")
    assert done.exit_code == 130
    assert "interrupted" in done.output


def test_an_interrupt_before_anything_is_known_exits_with_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def at_once(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "price", at_once)
    assert invoke("demo").exit_code == 130


def test_a_stored_run_is_shown_and_gone_on_with(tmp_path: Path) -> None:
    path = str(tmp_path / "run.db")
    first = invoke(*RUN, "--no-picture", "--store", path)
    assert first.exit_code == 0
    shown = invoke("show", path)
    assert shown.exit_code == 0
    assert f"{path}: finished: seconds" in shown.output
    assert "in 1 call, started 20" in shown.output
    result = cr.open_run(path).result()
    assert result.summary() in shown.output
    assert "control variate" in shown.output
    more = invoke("demo", "--seconds", "0.4", "--no-picture", "--store", path)
    assert more.exit_code == 0
    assert "seed 7" in more.output
    assert cr.open_run(path).result().draws > result.draws
    assert "in 2 calls" in invoke("show", path).output


def test_a_run_without_outcomes_is_shown_without_a_table(tmp_path: Path) -> None:
    def at_once(rng: Any, size: int) -> Any:
        raise KeyboardInterrupt

    path = tmp_path / "run.db"
    with pytest.raises(KeyboardInterrupt):
        cr.estimate({"a": at_once}, draws=10, store=path)
    shown = invoke("show", str(path))
    assert shown.exit_code == 0
    assert "not finished: run the same call again" in shown.output
    assert "0 batches of 1 arms" in shown.output
    page = invoke("show", str(path), "--html", str(tmp_path / "run.html"))
    assert page.exit_code == 2
    assert "there is no result" in page.stderr


def test_a_stored_run_is_written_to_a_page(tmp_path: Path, arms: dict[str, Any]) -> None:
    path, page = tmp_path / "run.db", tmp_path / "run.html"
    result = cr.estimate(arms, draws=1000, rng=7, store=path)
    shown = invoke("show", str(path), "--html", str(page))
    assert shown.exit_code == 0
    assert f"Page: {page}" in shown.output
    assert result.summary().partition("   ")[0] in page.read_text("utf-8")
    nowhere = invoke("show", str(path), "--html", str(tmp_path / "nowhere" / "run.html"))
    assert nowhere.exit_code == 2
    assert "error: cannot write the report" in nowhere.stderr


@pytest.mark.parametrize(
    ("name", "complaint"), [("nope.db", "does not exist"), ("odd.db", "not a store of croupier")]
)
def test_what_is_no_store_is_not_shown(name: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "odd.db").write_bytes(b"something else")
    done = invoke("show", str(tmp_path / name))
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert complaint in done.stderr


def croupier(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from croupier.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_the_page_of_a_stored_run_goes_through_a_pipe(tmp_path: Path, arms: dict[str, Any]) -> None:
    path = tmp_path / "run.db"
    cr.estimate(arms, draws=1000, rng=7, store=path)
    done = croupier("show", str(path), "--html", "/dev/stdout")
    assert (done.returncode, done.stderr) == (0, b"")
    said, _, page = done.stdout.partition(b"<!DOCTYPE html>")
    assert b"finished: draws" in said
    assert page.endswith(b"</html>\n\nPage: /dev/stdout\n")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no /dev/null")
def test_a_picture_does_not_replace_a_device(tmp_path: Path) -> None:
    link = tmp_path / "run.png"
    link.symlink_to("/dev/null")
    assert invoke(*RUN, "--picture", str(link)).exit_code == 0
    assert link.is_symlink()
    assert Path("/dev/null").is_char_device()
    assert list(tmp_path.iterdir()) == [link]


def test_a_pipe_gets_plain_text_even_without_unicode() -> None:
    done = croupier(*RUN, "--no-picture", PYTHONIOENCODING="ascii", COLUMNS="100")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert b"95% interval" in done.stdout
    assert done.stderr == b""


def test_the_command_line_loads_nothing_heavy_before_it_must() -> None:
    code = (
        "import sys, croupier.cli; heavy = {'numpy', 'scipy', 'matplotlib'} & set(sys.modules);"
        "sys.exit(str(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


OWN_KIND = """
from dataclasses import replace
from croupier.tables.base import kind_of, register
register(replace(kind_of("independent"), name="{name}"))
"""


def test_a_run_at_a_table_of_ones_own_is_shown_with_the_module_that_registers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from croupier.running.loop import conduct
    from croupier.running.settings import settings_of
    from croupier.tables.base import KINDS, Kind, kind_of, load

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_tables.py").write_text(OWN_KIND.format(name="baccarat"), "utf-8")
    load("my_tables")
    kind = kind_of("baccarat")
    plan, arms = kind.example()  # type: ignore[misc]
    settings = settings_of(500, store=tmp_path / "run.db", progress=False)
    conduct(kind.make, replace(plan, table="baccarat"), arms, settings, None)
    try:
        assert invoke("show", "run.db", "--import", "my_tables").exit_code == 0
        assert isinstance(KINDS.pop("baccarat"), Kind)
        done = invoke("show", "run.db")
        assert done.exit_code == 2
        assert "played at a table that is not registered" in done.output
        done = invoke("show", "run.db", "--import", "no_such_module")
        assert done.exit_code == 2
        assert "the module 'no_such_module' cannot be imported" in done.output
    finally:
        KINDS.pop("baccarat", None)
