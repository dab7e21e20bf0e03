"""What a run computes is recorded: runs of every kind give the same bits as when they were made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.marks import slow

FOLDER = Path(__file__).parents[1] / "data" / "recorded_results"
sys.path.insert(0, str(FOLDER))  # workers unpickle the arms by the name of their module

import cases  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

#: One file per kind of run: the first word of its name.
RECORDED = {path.stem: path for path in (FOLDER / "results").glob("*.json")}

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


def kind_of(name: str) -> str:
    return name.partition(",")[0].split()[0]


def read(kind: str) -> dict[str, Any]:
    empty = {"processor": "", "results": {}}
    return json.loads(RECORDED[kind].read_text("utf-8")) if kind in RECORDED else empty


def record(name: str, found: dict[str, Any]) -> None:
    """Write what one run gave, one line per run, in the order of the cases."""
    kind = kind_of(name)
    results = read(kind)["results"] | {name: found}
    lines = [f"{json.dumps(n)}: {json.dumps(results[n])}" for n in cases.CASES if n in results]
    text = f'{{"processor": {json.dumps(cases.processor())}, "results": {{\n'
    path = RECORDED.setdefault(kind, FOLDER / "results" / f"{kind}.json")
    path.write_text(text + ",\n".join(lines) + "\n}}\n", "utf-8")


#: The bits of one run with workers, and of those of runs that were cut, are looked at in any case.
SLOW = ("workers, costs", "workers, resumed")


@pytest.mark.parametrize(
    "name", [*(name for name in cases.CASES if name not in SLOW), *slow(*SLOW)]
)
def test_a_run_gives_the_recorded_bits(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    found = json.loads(json.dumps(cases.record_of(cases.CASES[name](tmp_path))))
    if pytestconfig.getoption("--record"):
        record(name, found)
    at = read(kind_of(name))
    recorded = at["results"][name]
    if at["processor"] == cases.processor():  # elsewhere the last bits of exp and log differ
        assert found == recorded
        return
    assert found.keys() == recorded.keys()
    for field in found.keys() - set(DIGESTS):
        assert numbers(found[field]) == near(recorded[field]), field


def test_all_that_is_recorded_is_run() -> None:
    assert {name for kind in RECORDED for name in read(kind)["results"]} == set(cases.CASES)
    assert len(cases.CASES) >= 40


def test_a_digest_tells_results_apart() -> None:
    one, other = np.array([1.0, 2.0]), np.array([1.0, 2.0000000000000004])
    assert cases.digest(one) != cases.digest(other)
