"""What all tests share: the same surroundings anywhere, arms, a clock, results bit by bit."""

from __future__ import annotations

import builtins
import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr


def _kernels() -> str:
    """Return where compiled kernels are kept: numba does not see that a formula has changed."""
    home = Path(cr.__file__).parent
    sources = sorted(
        [
            *home.glob("simulator/*.py"),
            *home.glob("policies/*.py"),
            *Path(__file__).parents[1].glob("paper/*_kernel.py"),
            home / "data" / "central_moments.py",
        ]
    )
    digest = blake2b(b"".join(source.read_bytes() for source in sorted(sources)), digest_size=8)
    return str(Path(tempfile.gettempdir()) / f"croupier-kernels-{digest.hexdigest()}")


os.environ.setdefault("NUMBA_CACHE_DIR", _kernels())
# Where Python may write no bytecode, every process that a test starts compiles all that it imports:
# seconds each. Here it may, into a folder of ours; workers of xdist start after this line.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache/bytecode")
    sys.dont_write_bytecode = False
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
# A shell lets what it starts in the background ignore Ctrl-C; the tests of interrupts need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Tables look the same in any terminal, and in none.
os.environ["COLUMNS"] = "100"
for _name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)


def pytest_configure(config: pytest.Config) -> None:
    """The slow tests try four times as many examples of each property."""
    # Not above: every worker process that gets an arm of the tests imports this file.
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "slow", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.register_profile("quick", settings.get_profile("slow"), max_examples=25)
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="write the recorded results anew (with -m '', and no -n)",
    )


#: What a result says if its own table has a much better arm than the one that got most of the cost.
MISALLOCATION = "more than 3 times the efficiency of"
_misallocated: list[str] = []


def _watch_every_result() -> None:
    freeze = cr.Result.__post_init__

    def watched(result: cr.Result) -> None:
        freeze(result)
        _misallocated.extend(text for text in result.warnings if MISALLOCATION in text)

    cr.Result.__post_init__ = watched  # type: ignore[method-assign]


_watch_every_result()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """No run of the whole suite contradicts its own table, unless the test is marked so."""
    _misallocated.clear()
    outcome = yield
    if _misallocated and item.get_closest_marker("expects_misallocation") is None:
        pytest.fail(f"a run played a poor arm: {_misallocated[0]}", pytrace=False)
    return outcome


def rough(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 1.0, size)


def fine(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal(1.0, 0.1, size)


@pytest.fixture
def arms() -> dict[str, Any]:
    """Two arms with mean 1, one of them a hundred times better than the other."""
    return {"rough": rough, "fine": fine}


class Clock:
    """A clock for croupier that only the arms (and a little the loop) move on."""

    def __init__(self, tick: float = 1e-6) -> None:
        self.now, self.slept, self.tick = 0.0, 0.0, tick

    def perf_counter(self) -> float:
        self.now += self.tick
        return self.now

    def process_time(self) -> float:
        return self.perf_counter() - self.slept

    def timed(self, arm: Callable[..., Any], call: float, draw: float) -> Callable[..., Any]:
        """Return an arm whose calls take `call` plus `draw` seconds for each draw."""

        def slow(rng: np.random.Generator, size: int) -> Any:
            self.now += call + draw * size
            return arm(rng, size)

        return slow

    def arm(self, spread: float, call: float, draw: float) -> Callable[..., Any]:
        return self.timed(lambda rng, size: rng.normal(1.0, spread, size), call, draw)

    def sleepy(self, draw: float) -> Callable[..., Any]:
        """Return an arm that sleeps `draw` seconds for each draw."""

        def sleeps(rng: np.random.Generator, size: int) -> np.ndarray:
            self.now += draw * size
            self.slept += draw * size
            return rng.normal(1.0, 0.1, size)

        return sleeps


def clock_in(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put a clock of ours in the place of the machine's."""
    fake = Clock()
    for module in ("croupier.running.loop", "croupier.engines.perform"):
        monkeypatch.setattr(importlib.import_module(module), "time", fake)
    return fake


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return clock_in(monkeypatch)


def bits_of(result: cr.Result) -> tuple[Any, ...]:
    """Return everything that a run computed, to the last bit; not how long it took."""
    history = result.history
    numbers = (result.value, result.stderr, *result.interval, result.cost)
    columns = (history.ticket, history.arm, history.size, history.batch_cost)
    rows = [
        (row.name, row.draws, *(_bits(x) for x in (row.mean, row.variance, row.share, row.weight)))
        for row in result.arms
    ]
    exact = [_bits(x) for x in (*numbers, *columns)]
    return (*exact, rows, result.draws, repr(result.agreement), result.warnings)


def _bits(numbers: Any) -> bytes | None:
    return None if numbers is None else np.asarray(numbers).tobytes()


@pytest.fixture
def bits() -> Callable[[cr.Result], tuple[Any, ...]]:
    return bits_of


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let matplotlib be missing, as where the extra is not installed."""
    real = builtins.__import__

    def without_matplotlib(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
