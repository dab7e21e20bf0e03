"""A terminal that has no ± gets +-, never a traceback."""

import os
import subprocess
import sys

CODE = """
import croupier as cr
print(cr.estimate({"a": lambda rng, size: rng.random(size)}, draws=1000, rng=1))
"""


def in_ascii(*arguments):
    variables = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    return subprocess.run(
        [sys.executable, *arguments], env=variables, capture_output=True, text=True, timeout=60
    )


def test_a_result_is_printed_with_plain_signs_where_there_is_no_plus_minus():
    done = in_ascii("-c", CODE)
    assert done.returncode == 0, done.stderr
    assert "+-" in done.stdout


def test_the_command_line_prints_plain_signs_too():
    done = in_ascii("-m", "croupier", "demo", "--seconds", "0.1", "--no-picture")
    assert done.returncode == 0, done.stderr
    assert " +- " in done.stdout
    assert "?" not in done.stdout
