"""What croupier costs: runs, decisions, deadlines, workers, stores and programs.

Ratios are measured side by side in one run, in turns. It compares a run with a bare loop over one
arm, vectors with scalars, `import croupier` with `import numpy`; two workers with a run in this
process, including their start; a store with none; the command line with the same run from Python;
and a program in C with the same program as an arm.
"""

from __future__ import annotations

import functools
import math
import multiprocessing
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import croupier as cr
from benchmarks import runner
from benchmarks.families import FAMILIES, replicate
from benchmarks.pages import DOCS, Table, three
from croupier.engines.perform import perform
from croupier.store.log import Log

CHUNK = 10_000
ARMS = 16
#: What is measured, and what is wanted of it.
Cases = Mapping[str, tuple[Callable[[], float], str]]

#: Cases that take more than a minute; the quick form leaves them out.
LONG = ("10^7 draws", "100000 draws per arm", "1,000,000 outcomes")


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


OVERHEAD: Cases = {
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


# -- workers

DRAW = 1e-3
RUNS = {1_000: 400, 100_000: 20}


def napping(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(DRAW * size)
        return rng.normal(1.0, spread, size)

    return draw


def computing(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return an arm that computes for about a millisecond per draw on a current machine."""

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        values = rng.normal(1.0, spread, size)
        for k in range(size):
            x = values[k]
            for _ in range(4_000):
                x = 0.5 * (x + values[k])
            values[k] = x
        return values

    return draw


def play(make: Callable[[float], Any], draws: int, **settings: Any) -> None:
    arms = {"rough": make(1.0), "fine": make(0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cr.estimate(arms, draws=draws, rng=1, width=4, progress=False, **settings)


def seconds(clock: Callable[[], float], *run: Any, **settings: Any) -> float:
    """Return how long a run takes, from the call to the result, measured by a clock."""
    began = clock()
    play(*run, **settings)
    return clock() - began


def speed_up(make: Callable[[float], Any], draws: int) -> float:
    """Return the ratio of the times that a run takes here and on two workers."""
    here = seconds(time.perf_counter, make, draws)
    return here / seconds(time.perf_counter, make, draws, workers=2)


def dispatch(draws: int) -> float:
    """Return the extra work of the driver compared with a serial run, in percent of the work.

    It is measured in CPU seconds, without the start of the worker; arms that sleep use no CPU.
    """
    clock = time.process_time
    start = min(seconds(clock, napping, 1, workers=2) for _ in range(3))
    more = seconds(clock, napping, draws, workers=2) - start - seconds(clock, napping, draws)
    return 100 * more / (DRAW * draws)


def loss_by_width(name: str, draws_per_arm: int, width: int = 64) -> float:
    """Return what a width of 64 costs in efficiency, in percent: from counts, over many seeds."""
    family = FAMILIES[name]
    draws = draws_per_arm * len(family.arms)
    shares = []
    for each in (1, width):
        runs = replicate(family, "variance-thompson", RUNS[draws_per_arm], draws=draws, width=each)
        shares.append(family.share(runs.draws, runs.cost).mean())
    return float(100 * (shares[1] / shares[0] - 1))


PARALLEL: Cases = {
    "speed-up of 2 workers, arms that sleep 1 ms a draw": (
        lambda: speed_up(napping, 60_000),
        "at least 1.9",
    ),
    "speed-up of 2 workers, arms that compute 1 ms a draw": (
        lambda: speed_up(computing, 30_000),
        "at least 1.7",
    ),
    "dispatch, 1 ms a draw, % of the work": (lambda: dispatch(20_000), "below 2"),
    **{
        f"width 64, {name}, {draws} draws per arm, % of efficiency": (
            lambda name=name, draws=draws: loss_by_width(name, draws),
            f"below {limit}",
        )
        for draws, limit in ((1_000, 5), (100_000, 1))
        for name in ("two-bernoulli", "normal-3", "lognormal")
    },
}


# -- a store

BATCH = 0.05  # seconds
BATCHES = 60
GROUP = 1000


def lasting(spread: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(BATCH)
        return rng.normal(1.0, spread, size)

    return draw


def overhead(durability: Any, rounds: int = 5) -> float:
    """Return by how many percent a store makes a run of 50 ms batches longer."""
    arms = {"rough": lasting(1.0), "fine": lasting(0.1)}

    def one_run(store: cr.Store | None) -> float:
        began = time.perf_counter()
        cr.estimate(arms, draws=BATCHES, batch="one", rng=1, store=store, progress=False)
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as folder:
        stores = (cr.Store(Path(folder) / f"{k}.db", durability) for k in range(rounds))
        pairs = [(one_run(store), one_run(None)) for store in stores]
    return 100 * (min(a for a, _ in pairs) / min(b for _, b in pairs) - 1)


def filled(path: Path, outcomes: int, batch: str, size: int) -> None:
    """Make a store with this number of outcomes, as a run of that length leaves it."""
    table = cr.Allocator(["rough", "fine"], rng=7, batch=batch)
    arms = {"rough": cr.Arm(normal(1.0, 1.0), "rough"), "fine": cr.Arm(normal(1.0, 0.1), "fine")}
    with Log(cr.Store(path, durability="normal")) as log:
        log.begin(table)
        while table.tickets.asked < outcomes:
            group = []
            for _ in range(min(GROUP, outcomes - table.tickets.asked)):
                asked = table.ask(size)
                assert asked is not None
                group.append(perform(table.plan, arms[asked.arm], asked))
                table.tell(group[-1])
            log.append(*group, seconds=float(table.tickets.asked))
            log.snapshot(table, table.tickets.asked)


def reopening(outcomes: int, batch: str, size: int) -> tuple[float, float, float]:
    """Return the seconds to open a store, the seconds to continue its run, and its size in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        filled(path, outcomes, batch, size)
        began = time.perf_counter()
        run = cr.open_run(path)
        looked = time.perf_counter() - began
        draws = run.status.draws + 1
        began = time.perf_counter()
        arms = {"rough": normal(1.0, 1.0), "fine": normal(1.0, 0.1)}
        result = cr.estimate(arms, draws=draws, batch=batch, store=path, progress=False)  # type: ignore[arg-type]
        went_on = time.perf_counter() - began
        assert len(result.history) == outcomes + 1
        return looked, went_on, path.stat().st_size / 1e6


def store_rows(what: str) -> list[dict[str, Any]]:
    """Return the rows of one case: time on top of a run, or of opening a large store."""
    if what.startswith("50 ms"):
        percent = overhead("full" if "full" in what else "normal")
        return [_row(f"{what}: longer than without a store, %", percent, "below 3", what)]
    outcomes = int(what.split()[0].replace(",", ""))
    batch, size = ("one", 1) if what.endswith("one draw") else ("growing", 200)
    numbers = reopening(outcomes, batch, size)
    names = (("open_run, seconds", "below 5"), ("go on, seconds", "below 5"), ("MB", ""))
    return [
        _row(f"{what}: {name}", number, wanted, what)
        for (name, wanted), number in zip(names, numbers, strict=True)
    ]


def _row(what: str, number: float, wanted: str, case: str = "") -> dict[str, Any]:
    return {"what": what, "measured": round(number, 3), "wanted": wanted, "case": case or what}


# -- programs

PROGRAM_DRAWS = 10**6

#: The demo's arms, from the command line and from Python: the same draws from the same seed.
DEMO = "croupier.examples.asian_option:ARMS"
BY_HAND = """
import croupier as cr
from croupier.examples.asian_option import ARMS
print(cr.estimate(ARMS, draws=5_000, rng=7, progress=False))
"""
COMMAND = f"""
import sys
from croupier.cli import main
sys.argv[1:] = ["run", "{DEMO}", "--draws", "5000", "--rng", "7"]
main()
"""


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def extra(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """Return how many seconds `one` takes longer than `other`: the median over turns."""
    one(), other()
    return median(timed(one) - timed(other) for _ in range(rounds))


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def used(code: str) -> tuple[float, float]:
    """Return the wall time and the CPU time of a script, in seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    python(code)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_line(rounds: int) -> tuple[float, float]:
    """Return what `croupier run` takes on top of the same run from Python: wall and CPU seconds.

    On a busy machine, the wall time is longer than the CPU time.
    """
    told, by_hand = python(COMMAND), python(BY_HAND)
    assert told.partition("\n")[0] == by_hand.partition("\n")[0]  # the same estimate
    pairs = [(used(COMMAND), used(BY_HAND)) for _ in range(rounds)]
    wall, cpu = (median(one[i] - other[i] for one, other in pairs) for i in (0, 1))
    return wall, cpu


def compiled(folder: Path) -> str | None:
    """Return the compiled program of the page, or None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    found = re.search(r"^```c\n(.*?)^```", (DOCS / "programs.md").read_text("utf-8"), re.S | re.M)
    if compiler is None or found is None:
        return None
    (folder / "fast.c").write_text(found[1], "utf-8")
    subprocess.run([compiler, "-O2", "-o", "fast", "fast.c"], cwd=folder, check=True)
    return str(folder / "fast")


def answering_program(program: str, rounds: int) -> float:
    """Return what a draw of the program costs on top of its own time, in microseconds."""
    arm = cr.Program([program], stdin=True, output="binary")

    def alone() -> None:
        subprocess.run(
            [program], input=f"{PROGRAM_DRAWS} 7\n".encode(), check=True, capture_output=True
        )

    def as_arm() -> None:
        result = cr.estimate({"fast": arm}, draws=PROGRAM_DRAWS, rng=7, progress=False)
        assert abs(result.value - 0.5) < 5 * result.stderr

    return 1e6 * extra(as_arm, alone, rounds) / PROGRAM_DRAWS


def program_rows(what: str, rounds: int) -> list[dict[str, Any]]:
    """Return the rows of the command line, or of a program in C if there is a compiler."""
    if what == "croupier run":
        return [
            _row(f"{what}, on top of the same run from Python, {kind} s", seconds, "below 1", what)
            for kind, seconds in zip(("wall", "CPU"), command_line(rounds), strict=True)
        ]
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        if program is None:
            return []
        number = answering_program(program, rounds)
    return [_row(f"{what}, on top of its own time, µs", number, "below 5", what)]


# -- what is measured


def _of(cases: Cases) -> Callable[[bool], Iterator[tuple[str]]]:
    def cells(full: bool) -> Iterator[tuple[str]]:
        yield from ((c,) for c in cases if full or not any(long in c for long in LONG))

    return cells


def _one(cases: Cases) -> Callable[[str], dict[str, Any]]:
    def measure(what: str) -> dict[str, Any]:
        work, wanted = cases[what]
        return {"what": what, "measured": round(work(), 3), "wanted": wanted}

    return measure


def _stores(full: bool) -> Iterator[tuple[str]]:
    outcomes = "1,000,000" if full else "100,000"
    yield from (("50 ms batches, full",), ("50 ms batches, normal",))
    yield from ((f"{outcomes} outcomes of one draw",), (f"{outcomes} outcomes of 200 draws",))


def _programs(full: bool) -> Iterator[tuple[str, int]]:
    yield from (
        (name, 15 if full else 3) for name in ("croupier run", "a draw of the program in C")
    )


BENCHMARKS = (
    runner.Benchmark("overhead", ("what",), _of(OVERHEAD), _one(OVERHEAD)),
    runner.Benchmark("parallel", ("what",), _of(PARALLEL), _one(PARALLEL)),
    runner.Benchmark("store", ("case",), _stores, store_rows),
    runner.Benchmark("programs", ("case",), _programs, program_rows),
)


def measured(name: str) -> Table:
    """Return what was measured, in three digits."""
    rows = runner.read(name)
    return ["what", "measured"], [[row["what"], three(row["measured"])] for row in rows]


TABLES: dict[str, Callable[[], Table]] = {
    name: functools.partial(measured, name)
    for name in ("overhead", "parallel", "store", "programs")
}
