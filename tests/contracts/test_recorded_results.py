"""What a run computes is recorded: runs of every kind give the same bits as when they were made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr

FOLDER = Path(__file__).parents[1] / "data" / "recorded_results"
sys.path.insert(0, str(FOLDER))  # workers unpickle the arms by the name of their module

import cases  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

RECORDED = json.loads((FOLDER / "results.json").read_text("utf-8"))

#: On another kind of processor the last bits of exp and log differ.
SAME_BITS = cases.processor() == RECORDED["processor"]

#: What the last bit of one number may turn into another whole.
DIGESTS = ("history", "curve", "values")


def near(value: Any) -> Any:
    """Return a recorded value with numbers that are compared to 9 digits."""
    if isinstance(value, list):
        return [near(one) for one in value]
    if isinstance(value, str) and value.removeprefix("-").startswith(("0x", "inf", "nan")):
        return pytest.approx(float.fromhex(value), rel=1e-9, nan_ok=True)
    return value


def numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [numbers(one) for one in value]
    if isinstance(value, str) and value.removeprefix("-").startswith(("0x", "inf", "nan")):
        return float.fromhex(value)
    return value


def agree(result: cr.Result, recorded: dict[str, Any]) -> None:
    found = json.loads(json.dumps(cases.record_of(result)))
    if SAME_BITS:
        assert found == recorded
        return
    assert found.keys() == recorded.keys()
    for name in found.keys() - set(DIGESTS):
        assert numbers(found[name]) == near(recorded[name]), name


@pytest.mark.parametrize("name", cases.CASES)
def test_a_run_gives_the_recorded_bits(name: str, tmp_path: Path) -> None:
    agree(cases.CASES[name](tmp_path), RECORDED["results"][name])


def test_all_that_is_recorded_is_run() -> None:
    assert set(RECORDED["results"]) == set(cases.CASES)
    assert len(cases.CASES) >= 40


def test_a_digest_tells_results_apart() -> None:
    one, other = np.array([1.0, 2.0]), np.array([1.0, 2.0000000000000004])
    assert cases.digest(one) != cases.digest(other)
