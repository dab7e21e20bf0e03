"""make bench-overhead: what croupier costs, as ratios measured side by side in one run.

It compares a run with a bare loop over one arm, vectors with scalars, and `import croupier` with
`import numpy`. It measures decisions per second of an Allocator, and how well a deadline is met.
"""

from __future__ import annotations

import argparse
import functools
import math
import multiprocessing
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import pages, report

CHUNK = 10_000
ARMS = 16
KEY = ("what",)


def normal(mean: float, spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, size: rng.normal(mean, spread, size)


def slow(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return draws of about one microsecond each, with almost no cost per call."""
    return rng.multinomial(30, np.full(12, 1 / 12), size)[:, 0].astype(float)


def wide(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.standard_normal((size, 50))


def bare_loop(draw: Any, draws: int, chunk: int = CHUNK) -> float:
    """Return the seconds that drawing and summing first and second moments takes."""
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    total = squares = 0.0
    for _ in range(draws // chunk):
        x = draw(rng, chunk)
        total += x.sum()
        squares += np.square(x).sum()
    return time.perf_counter() - began


def one_run(arms: dict[str, Any], draws: int) -> float:
    began = time.perf_counter()
    cr.estimate(arms, draws=draws, rng=1, progress=False)
    return time.perf_counter() - began


def side_by_side(one: Callable[[], float], other: Callable[[], float], rounds: int) -> float:
    """Return the ratio of the shortest times of two functions, measured in turns."""
    one(), other()
    pairs = [(one(), other()) for _ in range(rounds)]
    return min(a for a, _ in pairs) / min(b for _, b in pairs)


def cheap_arms() -> float:
    arms = {f"arm {k}": normal(1.0, 1.0 + 0.1 * k) for k in range(ARMS)}
    return side_by_side(lambda: one_run(arms, 10**7), lambda: bare_loop(arms["arm 0"], 10**7), 25)


def microsecond_arms() -> float:
    arms = {f"arm {k}": slow for k in range(ARMS)}
    return side_by_side(lambda: one_run(arms, 10**7), lambda: bare_loop(slow, 10**7), 3)


def vectors_to_scalars() -> float:
    """Return the time per value of draws of 50 components, relative to that of scalar draws."""
    scalars = {
        "a": lambda rng, size: rng.standard_normal(size),
        "b": lambda rng, size: 2 * rng.standard_normal(size),
    }
    vectors = {"a": wide, "b": lambda rng, size: 2 * wide(rng, size)}
    return side_by_side(lambda: one_run(vectors, 10**6), lambda: one_run(scalars, 5 * 10**7), 5)


def import_time() -> float:
    def cpu(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return side_by_side(lambda: cpu("import croupier, numpy"), lambda: cpu("import numpy"), 10)


def decisions_per_second(arms: int) -> float:
    """Return how many batches a second an Allocator decides and is told, after its opening."""
    table = cr.Allocator([f"arm {k}" for k in range(arms)], rng=1)
    rng = np.random.default_rng(0)

    def play(batches: int) -> None:
        for _ in range(batches):
            batch = table.ask(100)  # batches grow: after a few hundred they would not fit
            assert batch is not None
            table.tell(batch, rng.standard_normal(batch.size))

    play(4 * arms)
    batches = 200
    began = time.perf_counter()
    play(batches)
    return batches / (time.perf_counter() - began)


def many_arms() -> float:
    """Return the CPU seconds of a run of 100 000 arms and 110 000 draws."""
    arms = {f"arm {k}": normal(1.0, 1.0 + 0.1 * (k % 10)) for k in range(10**5)}
    return _cpu(lambda: cr.estimate(arms, draws=110_000, rng=1, progress=False))


def single_draws() -> float:
    """Return the CPU seconds that a million tickets of one draw take, from 100 000 of them."""
    arms = {name: normal(1.0, spread) for name, spread in (("a", 1.0), ("b", 1.5))}
    run = functools.partial(cr.estimate, arms, rng=1, batch="one", progress=False)
    run(draws=1000)
    return 10 * _cpu(lambda: run(draws=10**5))


def _cpu(work: Callable[[], Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        work()
        return time.process_time() - began


def burn() -> None:
    while True:
        math.sqrt(2.0)


def sleeping(seconds: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(seconds * size)
        return rng.standard_normal(size)

    return draw


def deadline(draw: Any, loaded: bool) -> float:
    """Return the deviation from a deadline of 3 seconds, in percent."""
    burners = [multiprocessing.Process(target=burn, daemon=True) for _ in range(3 * loaded)]
    for burner in burners:
        burner.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        cr.estimate({"a": draw, "b": draw}, seconds=3, rng=1, progress=False)
        took = time.perf_counter() - began
    for burner in burners:
        burner.kill()
    return 100 * (took / 3 - 1)


CASES: dict[str, tuple[Callable[[], float], str]] = {
    "16 cheap arms, 10^7 draws / bare loop": (cheap_arms, "at most 1.3, aim 1.15"),
    "16 arms of 1 µs a draw, 10^7 draws / bare loop": (microsecond_arms, "at most 1.05"),
    "50 components, 10^6 draws / scalars, per value": (vectors_to_scalars, "at most 1.3"),
    "import croupier / import numpy, CPU": (import_time, "at most 1.15"),
    **{
        f"decisions per second, {arms} arms": (lambda arms=arms: decisions_per_second(arms), "")
        for arms in (2, 16, 1000, 10_000)
    },
    "100,000 arms, 110,000 draws, CPU s": (many_arms, "below 60"),
    "10^6 single draws, CPU s": (single_draws, "below 60"),
    **{
        f"3 s deadline, {name} a draw, {'loaded' if loaded else 'idle'}, %": (
            lambda draw=draw, loaded=loaded: deadline(draw, loaded),
            "within 5, or one draw",
        )
        for name, draw in (("1 µs", slow), ("1 ms", sleeping(1e-3)), ("0.2 s", sleeping(0.2)))
        for loaded in (False, True)
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-overhead", description=__doc__)
    parser.add_argument("--case", action="append", choices=list(CASES), help="one case")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for what in options.case or CASES:
        measure, wanted = CASES[what]
        rows.append({"what": what, "measured": round(measure(), 3), "wanted": wanted})
        report.write("overhead", rows[-1:], KEY)
    report.show("overhead", rows)
    pages.main()


if __name__ == "__main__":
    main()
