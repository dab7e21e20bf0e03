"""Race: the table of one integrand. Families of randomised nets race to the wanted error.

A runner is R scrambled Sobol sequences under one change of variables; its nets are doubled in
place, one after the other. A round is a stage: the same points of all nets of one runner. A run
may stop within a stage, when one more net is doubled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.arms.base import Arm
from croupier.arms.sobol import BITS
from croupier.data.draws import Floats, Outcome
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import Interval, StudentNets
from croupier.functions.function import INTEGRAND, Function
from croupier.integration.challengers import PLAIN, Challengers
from croupier.integration.net_arm import NetArm, Segment
from croupier.integration.pool import hidden
from croupier.integration.race_result import (
    nothing_known,
    pooled_of,
    race_facts,
    race_rows,
    race_warnings,
)
from croupier.integration.runner import NETS_EACH, Runner
from croupier.integration.standing import Standing, kept, late_runner, next_runner, standing_of
from croupier.results.result import Result
from croupier.results.rows import ArmRows, RowMeaning
from croupier.seeds import POLICY, stream
from croupier.spaces.axes import Axes, Bounds
from croupier.tables.base import Example, Kind
from croupier.tables.rounds import Answer, Piece, Rounds, extra_of

__all__ = ["FIRST_POINTS", "KIND", "Race", "divided", "power_below"]

#: The points of each net in its first stage. A tolerance does not stop the run before.
FIRST_POINTS: Final = 16

#: In so few dimensions a run does not stop at a tolerance before the nets without a fit have so
#: many points: fits converge so fast there that nothing else would look for a peak or a tail.
FEW_AXES: Final = 2
LEAST_PLAIN_POINTS: Final = 64

#: If the budget does not buy a doubling, a smaller stage must be at least this share of a net.
_SMALLEST_STAGE: Final = 1 / 8

#: The largest number of evaluations in one batch; a batch is one call of the integrand.
LARGEST: Final = 8192

#: Parts of a net are not divided among workers below this size.
_LEAST_PART: Final = 256

#: Nets of so many points are doubled one by one. Smaller ones are if the variance that is wanted
#: is at least the predicted one of the doubled nets divided by this: each batch takes time.
_ALONE: Final = 128
_NEAR: Final = 2.0


class Stage(NamedTuple):
    """The points start, ..., stop - 1 of all nets of a runner.

    `alone` means that no batch has points of two nets, so that a run can stop after each net.
    """

    runner: Runner
    start: int
    stop: int
    alone: bool = False


class Race(Rounds):
    """Deals evaluations to families of nets, and takes the estimate of the leading one.

    The plan's settings are ``{"dimension": d, "rotation": the principal components, or None}``. Its
    names are the families: "identity", "principal", "separable", "normal", "turned". The error
    bar is always made from the spread of the nets: no other interval fits their few means.
    """

    cuts = False
    most_in_a_call = LARGEST

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        super().__init__(plan, StudentNets())
        self._challengers = Challengers(plan)
        few = plan.settings["dimension"] <= FEW_AXES
        self._least = LEAST_PLAIN_POINTS if few else FIRST_POINTS
        self.runners: list[Runner] = []
        self._stage: Stage | None = None
        self._rested = 0
        self._standing: Standing | None = None

    # -- stages

    def plan_round(self, left: float) -> list[Piece]:
        """Plan the next stage: the most urgent one that the budget buys."""
        each = left / NETS_EACH
        plain = [name for name in self.plan.names if name in PLAIN]
        if missing := plain[len(self.runners) :]:
            size = power_below(min(FIRST_POINTS, each / len(missing)))
            return self._divided(Stage(self._open(missing[0]), 0, size)) if size else []
        for stage in self._urgent(each):
            if stage.stop - stage.start <= each and stage.stop <= 2**BITS:
                return self._divided(stage)
        return []

    def _urgent(self, each: float) -> Iterator[Stage]:
        """Yield the stages that may come next, the most urgent one first."""
        standing, plain = self._standing, self.runners[0]
        assert standing is not None
        leader = standing.leader
        if (late := late_runner(standing, PLAIN)) is not None:
            yield _doubled(late)
        if plain.n < self._least and self._needed() <= 1:
            yield _doubled(plain)  # the run would stop otherwise
        size = max(FIRST_POINTS, power_below(leader.n / 4))
        if size <= each / 2 and (challenger := self._challenger(standing, size)) is not None:
            yield Stage(challenger, 0, size)
        rng = stream(self.plan.seed, POLICY, self.tickets.asked)
        for runner in (next_runner(standing, self._needed(), rng), leader):
            yield _doubled(runner, alone=_may_end(runner, self._needed()))
        more = min(power_below(min(each, leader.n)), leader.n & -leader.n)
        if more >= max(_SMALLEST_STAGE * leader.n, 1):
            yield Stage(leader, leader.n, leader.n + more)

    def _needed(self) -> float:
        """Return the leader's half-width relative to the wanted one; infinite if none is wanted."""
        if not self.aim.given:
            return math.inf
        seen = self.estimate(self.seen())
        return self.aim.ratio(seen.half_width, seen)

    def _challenger(self, standing: Standing, size: int) -> Runner | None:
        """Open a challenger that is due and that the leader's points allow."""
        leader = standing.leader
        if leader.constant.all():
            return None  # a constant needs no challenger
        if not self._challengers.allows(size, leader.n, self.runners):
            return None
        for family in self._challengers.due():
            change = self._challengers.challenge(family, standing, self.runners)
            if change is not None:
                return self._open(family, change)
        return None

    def _open(self, family: str, change: Any = None) -> Runner:
        if change is None:
            change = self._challengers.plain(family)
        else:
            self._challengers.opened(family)
        runner = Runner(len(self.runners), family, change)
        self.runners.append(runner)
        return runner

    def _divided(self, stage: Stage) -> list[Piece]:
        """Divide a stage into batches."""
        self._stage, self._rested = stage, 0
        runner, start, stop, alone = stage
        alone = alone or (self.plan.unit == "seconds" and not self.tickets.asked)
        batches = max(NETS_EACH if alone else 1, self.plan.width)
        keep = self._challengers.pool.open
        return [
            self._piece(Segment(self.plan.seed, runner.number, runner.change, (start, stop), *part,
                                kept=keep))
            for part in divided(start, stop, batches)
        ]  # fmt: skip

    def _piece(self, segment: Segment) -> Piece:
        return Piece(self.runners[segment.runner].family, segment.size, state=segment)

    def left_over(self, draws: int) -> Piece:
        """Use up evaluations that are too few for a stage. They are not part of the estimate."""
        if not self.runners:
            self._open("identity")
        runner = self.runners[0] if self._standing is None else self._standing.leader
        return self._rest(runner, runner.n, runner.n + self._rested, min(draws, LARGEST))

    def _rest(self, runner: Runner, at: int, start: int, count: int) -> Piece:
        self._rested += count
        stage, seed = (at, at), self.plan.seed
        return self._piece(
            Segment(seed, runner.number, runner.change, stage, 0, 1, start, count, rest=True,
                    kept=False)
        )  # fmt: skip

    def outside(self, outcome: Outcome) -> Piece | None:
        """Return the piece of a stored outcome that only uses up the budget."""
        extra = extra_of(outcome)
        if not extra["rest"]:
            return None
        if extra["runner"] == len(self.runners):
            self._open(outcome.arm)
        runner = self.runners[extra["runner"]]
        return self._rest(runner, extra["stage"][0], extra["start"], outcome.size)

    def plan_again(self, outcome: Outcome) -> list[Piece]:
        """Begin the stage of a stored outcome."""
        extra = extra_of(outcome)
        start, stop = extra["stage"]
        runner = self._reopened(extra["runner"], outcome)
        return self._divided(Stage(runner, start, stop, alone=extra["nets"] == 1))

    def _reopened(self, number: int, outcome: Outcome) -> Runner:
        if number < len(self.runners):
            return self.runners[number]
        if outcome.arm not in self._challengers.families:
            return self._open(outcome.arm)
        assert self._standing is not None
        change = self._challengers.fit(outcome.arm, self._standing, self.runners)
        if change is None:
            raise PlanError(f"ticket {outcome.ticket} has a family that cannot be fitted")
        return self._open(outcome.arm, change)

    # -- tell

    def add(self, outcome: Outcome) -> None:
        """Give the sums of a segment to its runner, and its values to the pool of the fits."""
        extra = extra_of(outcome)
        if extra["rest"]:
            return
        runner = self.runners[extra["runner"]]
        runner.add(outcome)
        if extra["kept"]:
            where = extra["net"], extra["nets"], extra["start"], outcome.size // extra["nets"]
            segment = Segment(self.plan.seed, runner.number, runner.change, (0, 0), *where)
            self._challengers.pool.add(segment, extra["at"], extra["values"])
        assert self._stage is not None
        doubled = self._stage.stop == 2 * self._stage.start and self._standing is not None
        if doubled and runner.complete_nets():
            self.fresh = True
            self._look()

    def end_round(self) -> None:
        """Complete a stage, and judge a challenger after its first one."""
        assert self._stage is not None
        runner, start, stop, _ = self._stage
        runner.complete(stop)
        if start == 0 and runner.family in self._challengers.families:
            assert self._standing is not None
            stays = kept(runner, self._standing)
            runner.closed = not stays
            self._challengers.judged(runner.family, stays)
        self._look()

    def _look(self) -> None:
        pool = self._challengers.pool
        for runner in self.runners:
            if runner.n and not runner.closed:
                runner.misses(hidden(runner.ends, pool.seen(runner, self.runners)))
        self._standing = standing_of(self.runners)
        draws = float(self.books.ledger.draws)
        self.look(Answer(pooled_of(self.plan.names, self.runners, self._standing, draws)))

    # -- what is known

    def ready(self, seen: Estimate) -> bool:
        """Tell whether the leader has seen enough for a tolerance to stop the run."""
        standing = self._standing
        return (
            standing is not None
            and standing.trusted
            and standing.leader.n >= FIRST_POINTS
            and self.runners[0].n >= self._least
            and self.interval.ready(seen.pooled)
        )

    def answer(self, early: Sequence[Outcome]) -> Answer:
        """Return the answer of the last complete nets: what came later is not part of it."""
        standing, names, ledger = self._standing, self.plan.names, self.books.ledger
        draws = float(ledger.draws) + sum(outcome.size for outcome in early)
        if standing is not None or any(runner.started for runner in self.runners):
            pooled = pooled_of(names, self.runners, standing, draws)
        else:
            pooled = nothing_known(names, max(ledger.mean.shape[1], 1), draws)

        def finish(result: Result, seen: Estimate) -> Result:
            rows = partial(race_rows, result.arms, standing, scalar=result.history.scalar)
            details = race_facts(standing, int(draws)) | self.books.failures(early)
            return replace(result, arms=ArmRows(rows), details=details)

        return Answer(pooled, warnings=race_warnings(standing, pooled), finish=finish)


def _doubled(runner: Runner, *, alone: bool = False) -> Stage:
    return Stage(runner, runner.n, 2 * power_below(runner.n), alone)


def _may_end(runner: Runner, ratio: float) -> bool:
    """Tell whether a look after each net is worth it while the nets of a runner are doubled."""
    falls = 2 ** float(runner.error.rate.min())
    return runner.n >= _ALONE or ratio**2 <= _NEAR * falls


def divided(start: int, stop: int, batches: int) -> list[tuple[int, int, int, int]]:
    """Divide the points start, ..., stop - 1 of all nets: whole nets, or parts of one net.

    There are as many parts as batches can be out at once, if they are not too small. A part is its
    first net and the number of its nets, its first point and the number of its points of each.

    >>> divided(0, 16, 1)
    [(0, 4, 0, 16)]
    >>> len(divided(0, 16, 4)), len(divided(0, 2**14, 1))
    (4, 8)
    """
    count, nets = stop - start, NETS_EACH
    while nets > 1 and (nets * batches > NETS_EACH or nets * count > LARGEST):
        nets //= 2
    part = min(count, LARGEST)
    while part > _LEAST_PART and (NETS_EACH // nets) * (count // part) < batches:
        part //= 2
    return [
        (net, nets, first, part)
        for net in range(0, NETS_EACH, nets)
        for first in range(start, stop, part)
    ]


def power_below(number: float) -> int:
    """Return the largest power of two that is not larger; 0 below 1.

    >>> power_below(0.5), power_below(1), power_below(100.0)
    (0, 1, 64)
    """
    return 1 << (int(number).bit_length() - 1) if number >= 1 else 0


def _example() -> Example:
    """Return the integral of exp(x + y) max(x - y, 0) over the unit square."""
    integrand, square = Function(_kinked, "all", INTEGRAND), Axes((Bounds(0.0, 1.0),) * 2)
    names = ("identity", "separable", "normal")
    plan = Plan(
        names, 7, table="race", settings={"dimension": 2}, policy={"name": "race"}, combine="race"
    )
    arms = [Arm(NetArm(integrand, square, name), name) for name in names]
    return Example(plan, tuple(arms))


def _kinked(x: Floats) -> Floats:
    return np.asarray(np.exp(x.sum(axis=1)) * np.maximum(x[:, 0] - x[:, 1], 0))


KIND: Final = Kind(
    "race",
    make=Race,
    anytime=False,
    own_arms=True,
    example=_example,
    rows=RowMeaning(
        arms="families",
        untested="the points of a net are not independent",
        efficiency="precision per evaluation of the nets so far, relative to the best family",
    ),
)
