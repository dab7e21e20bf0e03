"""simulate(): many replicated runs of several policies on one problem, and what came of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from croupier.checks import count_of, positive
from croupier.data.draws import Floats
from croupier.errors import ArmError, MissingExtraError, PlanError
from croupier.seeds import RandomLike, seed_from
from croupier.simulator import kinds
from croupier.simulator.players import KernelCall, Player, players_of, summing
from croupier.simulator.problems import Problem
from croupier.theory import cost_regret, regret_from_counts
from croupier.views.progress import counting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Replicates", "Simulation", "simulate"]

#: A call of a kernel plays about this many steps, and at least one run.
_STEPS_PER_CALL: Final = 4_000_000


@dataclass(frozen=True, eq=False)
class Replicates:
    """What one policy did in all its runs: `pulls` has the shape (runs, times, arms).

    `pulls` counts the draws that were finished when each time had been spent. `means`, of shape
    (runs, times), are those of all draws so far, if they were asked for.
    """

    name: str
    problem: Problem
    times: Floats
    pulls: NDArray[np.int64]
    cpu_seconds: float
    means: Floats | None = None

    @property
    def suboptimal(self) -> NDArray[np.int64]:
        """Pulls of all arms but the best, of shape (runs, times)."""
        total: NDArray[np.int64] = self.pulls.sum(axis=2) - self.pulls[:, :, self.problem.best]
        return total

    @cached_property
    def regret(self) -> Floats:
        """The regret of each run at each time, from its pulls.

        Where every draw costs 1, sum_k T_k (V_k - V*); with costs, t^2 sum_k T_k V_k/N^2 less
        t min_k delta_k V_k: see `croupier.theory`. NaN where no draw was finished.
        """
        problem = self.problem
        if problem.unit_costs:
            return regret_from_counts(self.pulls, problem.variances)
        regret = np.full(self.pulls.shape[:2], np.nan)
        for i, budget in enumerate(self.times.tolist()):
            some = self.pulls[:, i].sum(axis=1) > 0
            if some.any():
                counts = self.pulls[some, i]
                regret[some, i] = cost_regret(budget, counts, problem.variances, problem.costs)
        return regret

    @property
    def mean_regret(self) -> Floats:
        """The mean over the runs, at each time."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def stderr(self) -> Floats:
        """The standard error of the mean regret."""
        runs = len(self.pulls)
        if runs < 2:
            return np.full(len(self.times), np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(runs))

    def percentiles(self, q: ArrayLike) -> Floats:
        """Return percentiles of the suboptimal pulls over the runs: shape (len(q), times)."""
        return np.asarray(np.percentile(self.suboptimal, np.atleast_1d(q), axis=0))


class Simulation(Mapping[str, Replicates]):
    """Replicated runs by the name of the policy, at common times; prints as a table.

    >>> from croupier import simulate, simulator
    >>> sim = simulate(simulator.scaled_bernoulli([0.08, 0.18]), "ucb1", 10, 1000, rng=7)
    >>> sim["ucb1"].pulls[:, -1].sum(axis=1)
    array([1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000])
    """

    def __init__(self, problem: Problem, seed: int, replicates: Sequence[Replicates]) -> None:
        self.problem = problem
        self.seed = seed
        self._by_name = {one.name: one for one in replicates}

    @property
    def times(self) -> NDArray[Any]:
        """The recorded times: numbers of draws, or budgets where draws have costs."""
        times = next(iter(self.values())).times
        return times.astype(np.int64) if self.problem.unit_costs else times

    @property
    def runs(self) -> int:
        """How many runs every policy played."""
        return len(next(iter(self.values())).pulls)

    def __getitem__(self, name: str) -> Replicates:
        if name not in self._by_name:
            raise KeyError(f"{name!r} was not simulated; the policies are {', '.join(self)}")
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row per policy and time."""
        try:
            import pandas
        except ModuleNotFoundError:
            raise MissingExtraError("to_pandas needs", "pandas", "pandas") from None
        rows = []
        for one in self.values():
            low, middle, high = one.percentiles([1, 50, 99])
            for i, at in enumerate(self.times.tolist()):
                rows.append(
                    {
                        "policy": one.name,
                        "time": at,
                        "regret": float(one.mean_regret[i]),
                        "stderr": float(one.stderr[i]),
                        "suboptimal": float(one.suboptimal[:, i].mean()),
                        "p1": float(low[i]),
                        "p50": float(middle[i]),
                        "p99": float(high[i]),
                    }
                )
        return pandas.DataFrame(rows)

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw the mean regret of every policy over time, with two standard errors around it.

        Returns a matplotlib figure: ``sim.plot().savefig("regret.png")``.
        """
        from croupier.views.regret_plot import Regret, plot

        curves = [Regret(one.name, one.mean_regret, one.stderr) for one in self.values()]
        unit = "draws" if self.problem.unit_costs else "cost"
        return plot(self.times, curves, unit, figure=figure)

    def __repr__(self) -> str:
        last = self.times[-1]
        head = f"{self.runs} runs of {last:,} {'draws' if self.problem.unit_costs else 'cost'}"
        lines = [f"{head} each on {self.problem!r}, seed {self.seed}"]
        width = max(len(name) for name in self)
        lines.append(f"{'policy':{width}}  {'regret':>10}  {'± stderr':>9}  {'suboptimal':>10}")
        for one in self.values():
            pulls = float(one.suboptimal[:, -1].mean())
            lines.append(
                f"{one.name:{width}}  {one.mean_regret[-1]:10.4g}  {one.stderr[-1]:9.2g}"
                f"  {pulls:10.4g}"
            )
        return "\n".join(lines)


def simulate(
    problem: Problem,
    policies: Any,
    runs: int = 1000,
    horizon: float = 10_000,
    *,
    record: int | ArrayLike = 41,
    rng: RandomLike = None,
    threads: int | None = None,
    progress: bool | None = None,
    skip: bool = True,
    means: bool = False,
) -> Simulation:
    """Play policies against a problem, many times over, in compiled code.

    Args:
        problem: The arms, made by a function of `croupier.simulator`.
        policies: Names, policies, plain index functions (loss, variance, count, time) -> score,
            or a mapping of those by the names to show. The smallest score is played.
        runs: How many runs of each policy.
        horizon: How many draws a run has; the budget of a run, where draws have costs.
        record: The number of times at which the pulls are recorded, evenly spaced on a
            logarithmic scale; or the times themselves, none of them above the horizon.
        rng: The seed. Every run has random streams of its own, which depend on the seed, the
            policy and the number of the run, so that the result is the same on any number of
            threads, and the first runs of a longer simulation are those of a shorter one.
        threads: As many as there are cores, if left out.
        progress: Show a bar: by default where there is somebody to watch.
        skip: Let kernels skip ahead where that is exact. With skip=False every decision is made
            one by one, which takes 10 to 300 times as long.
        means: Also return the mean of all draws at every time. It needs arms of your own, and
            draws them a second time.

    Where draws have costs, a policy economises cost, and times are budgets.

    >>> from croupier import simulate, simulator
    >>> problem = simulator.scaled_bernoulli([0.08, 0.18])
    >>> sim = simulate(problem, ["ucb1", "thompson"], runs=100, horizon=10_000, rng=7)
    >>> bool(sim["thompson"].mean_regret[-1] < sim["ucb1"].mean_regret[-1])
    True
    """
    if not isinstance(problem, Problem):
        raise PlanError(
            f"problem must be a Problem, such as cr.simulator.scaled_bernoulli([0.08, 0.18]), "
            f"got {problem!r}"
        )
    runs = count_of("runs", runs)
    times = _times(problem, horizon, record)
    seed = seed_from(rng)
    workers = count_of("threads", threads) if threads is not None else os.cpu_count() or 1
    players = players_of(policies)
    kernels = [player.build(problem, skip) for player in players]
    add_up = summing(problem) if means else None
    replicates = []
    label = f"{len(players) * runs} runs"
    with counting(len(players) * runs, label, progress) as done:
        for player, kernel in zip(players, kernels, strict=True):
            one = _replicate(player, kernel, add_up, problem, times, runs, seed, workers, done)
            replicates.append(one)
    return Simulation(problem, seed, replicates)


def _replicate(
    player: Player,
    kernel: Callable[[KernelCall], None],
    add_up: Callable[[KernelCall, Any], None] | None,
    problem: Problem,
    times: Floats,
    runs: int,
    seed: int,
    threads: int,
    done: Callable[[int], None],
) -> Replicates:
    keys = _keys(seed, player.label, runs)
    pulls = np.zeros((runs, len(times), len(problem)), np.int64)
    trouble = np.zeros((runs, 4))
    sums = np.zeros((runs, len(times)))
    some = max(1, min(runs // (4 * threads), int(_STEPS_PER_CALL / times[-1])))

    def play(start: int) -> tuple[int, float]:
        part = slice(start, start + some)
        began = time.thread_time()
        call = KernelCall(keys[part], times, pulls[part], trouble[part])
        kernel(call)
        if add_up is not None:
            add_up(call, sums[part])
        return len(keys[part]), time.thread_time() - began

    spent = 0.0
    waiting: set[Future[tuple[int, float]]] = set()
    starts = iter(range(0, runs, some))
    # The first call compiles: one thread does it, and the others wait for it.
    with ThreadPoolExecutor(threads) as pool:
        try:
            for start in starts:
                waiting.add(pool.submit(play, start))
                if start == 0 or len(waiting) >= 2 * threads:
                    ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    spent += _count(ready, done)
                if trouble[:, 0].any():
                    break
            spent += _count(wait(waiting).done, done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if trouble[:, 0].any():
        _refuse(player, problem, trouble)
    averages = None if add_up is None else sums / pulls.sum(axis=2)
    return Replicates(player.name, problem, times, pulls, spent, averages)


def _count(ready: set[Future[tuple[int, float]]], done: Callable[[int], None]) -> float:
    """Show what is done, and return the CPU time that it took."""
    results = [future.result() for future in ready]
    done(sum(runs for runs, _ in results))
    return sum(seconds for _, seconds in results)


def _refuse(player: Player, problem: Problem, trouble: Floats) -> None:
    run = int(np.flatnonzero(trouble[:, 0])[0])
    what, arm, at, value = trouble[run].tolist()
    if what == kinds.NOT_A_NUMBER:
        raise PlanError(
            f"index {player.name!r} returned NaN for arm {int(arm)} at time {at:.0f} of run {run}: "
            "it must return a number for every loss in [0, 1], variance, count and time"
        )
    low, high = problem.bounds or (0.0, 1.0)
    raise ArmError(
        f"drew {value:g} in run {run}, outside of the range [{low:g}, {high:g}] by which policy "
        f"{player.name!r} scales payoffs: give the problem wider bounds, or the policy clip=True",
        arm=str(int(arm)),
        value=value,
    )


def _keys(seed: int, label: str, runs: int) -> NDArray[np.uint64]:
    """Return the 64-bit keys of the runs of one policy."""
    start = f"{seed} {label} ".encode()
    digests = b"".join(
        blake2b(start + str(run).encode(), digest_size=8).digest() for run in range(runs)
    )
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _times(problem: Problem, horizon: float, record: int | ArrayLike) -> Floats:
    arms = len(problem)
    end = positive("horizon", horizon)
    if problem.unit_costs:
        end = float(count_of("horizon", int(end) if end == int(end) else horizon))
        if end < arms:
            raise PlanError(
                f"horizon must be at least the number of arms, {arms}, got {horizon!r}: "
                "every arm is drawn once before anything can be preferred"
            )
    if isinstance(record, int | np.integer) and not isinstance(record, bool):
        number = count_of("record", int(record))
        least = float(min(arms if problem.unit_costs else problem.costs.min() * arms, end))
        if number == 1:
            return np.array([end])
        marks = np.geomspace(least, end, number)
        return np.unique(np.rint(marks)) if problem.unit_costs else marks
    times = np.atleast_1d(np.asarray(record, float))
    if times.ndim != 1 or not len(times) or not (np.diff(times) > 0).all():
        raise PlanError(f"record must be a number of times, or ascending times, got {record!r}")
    if times[0] <= 0 or times[-1] > end:
        raise PlanError(f"record must lie between 0 and the horizon {end:g}, got {record!r}")
    if problem.unit_costs and (times != np.rint(times)).any():
        raise PlanError(f"record must be whole numbers of draws, got {record!r}")
    return times if times[-1] == end else np.append(times, end)
