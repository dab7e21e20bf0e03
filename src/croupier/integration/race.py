"""Race: the table of one integrand. Families of randomised nets race to the wanted error.

A runner is R scrambled Sobol sequences under one change of variables; its nets are doubled in
place, one after the other. Batches come in stages: when a whole stage was told, the next one is
planned. So the result does not depend on the workers or on the order of arrival. A run may stop
within a stage, when one more net is doubled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from croupier.arms.sobol import BITS
from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate, estimate_of
from croupier.estimates.intervals import Interval, StudentNets
from croupier.integration.challengers import PLAIN, Challengers
from croupier.integration.checked_cubature import CUBATURE, CheckedCubature
from croupier.integration.hidden_tails import hidden, outlying
from croupier.integration.net_arm import Segment
from croupier.integration.panel_arm import PanelSegment
from croupier.integration.race_estimate import curve_of, nothing_known, pooled_of
from croupier.integration.race_facts import race_facts, race_rows
from croupier.integration.race_forecast import may_end, needed, work_left
from croupier.integration.race_stages import LARGEST, divided, power_below
from croupier.integration.race_warnings import race_warnings
from croupier.integration.runner import NETS_EACH, Runner
from croupier.integration.standing import Standing, kept, late_runner, next_runner, standing_of
from croupier.results.make_result import result_of, untested
from croupier.results.result import Result
from croupier.results.rows import ArmRows
from croupier.seeds import POLICY, stream
from croupier.tables.aim import Aim
from croupier.tables.base import Look, Progress, kind_of
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["FIRST", "LEAST", "Race"]

#: The points of each net in its first stage. A tolerance does not stop the run before.
FIRST: Final = 16

#: In so few dimensions a run does not stop at a tolerance before the nets without a fit have so
#: many points: polynomials and fits converge so fast there that nothing else would look for a
#: peak or a tail.
FEW_AXES: Final = 2
LEAST: Final = 64

#: If the budget does not buy a doubling, a smaller stage must be at least this share of a net.
_SMALLEST: Final = 1 / 8


class Race:
    """Deals evaluations to families of nets, and takes the estimate of the leading one.

    The plan's settings are ``{"dimension": d, "rotation": the principal components, or None}``. Its
    names are the families: "identity", "principal", "separable", "normal",
    "turned", "cubature".
    """

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        self.plan = plan
        self._interval = StudentNets()
        self.tickets = Tickets(plan.width)
        self.aim = Aim()
        self._books = Books(plan)
        self._challengers = Challengers(plan)
        dimension: int = plan.settings["dimension"]
        self._least = LEAST if dimension <= FEW_AXES else FIRST
        self._cubature = CheckedCubature(dimension, plays=CUBATURE in plan.names)
        self.runners: list[Runner] = []
        self._stage: tuple[Runner, int, int] | None = None
        self._queue: deque[Segment | PanelSegment] = deque()
        self._untold = 0
        self._fresh = False
        self._rested = 0
        self._standing: Standing | None = None
        self._looks: list[tuple[int, Pooled]] = []

    @property
    def interval(self) -> Interval:
        """How the error bar is made: always from the spread of the nets."""
        return self._interval

    @interval.setter
    def interval(self, interval: Interval) -> None:
        """Keep the interval of nets: no other one fits their few means."""

    # -- ask

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch, within the budget that is left after everything told so far.

        None means: wait until the rest of the stage is told, or nothing is left.
        """
        self.tickets.check_room()
        if cost_left is not None and cost_left <= 0 and self.tickets.asked:
            return None
        left = None if draws_left is None else self.tickets.draws_left(draws_left)
        if left is not None and left <= 0:
            return None
        if not self._queue:
            if self.tickets.waiting:
                return None
            affordable = self._affordable(left, cost_left)
            if not self._plan_stage(affordable):
                return None if left is None or affordable < left else self._ask_rest(left)
        segment = self._queue[0]
        if left is not None and segment.size > left:
            return self._ask_rest(left)
        return self._put_out(self._queue.popleft())

    def _affordable(self, left: int | None, cost_left: float | None) -> float:
        """Return how many evaluations the budget buys."""
        buys = np.inf if left is None else float(left)
        ledger = self._books.ledger
        if cost_left is not None and ledger.draws:
            buys = min(buys, cost_left / (ledger.spent / ledger.draws))
        return buys

    def _put_out(self, segment: Segment | PanelSegment) -> Batch:
        name, size = self.runners[segment.runner].family, segment.size
        batch = Batch(self.tickets.asked, name, size, self.plan.seed, max(size, LARGEST), segment)
        return self.tickets.put_out(batch)

    def _ask_rest(self, left: int) -> Batch:
        """Use up evaluations that are too few for a stage. They are not part of the estimate."""
        if not self.runners:
            self._open("identity")
        runner = self.runners[0] if self._standing is None else self._of_nets(self._standing.leader)
        count = min(left, LARGEST)
        start = runner.n + self._rested
        self._rested += count
        return self._put_out(self._segment(runner, (start, start), 0, 1, start, count, rest=True))

    def _segment(
        self, runner: Runner, stage: tuple[int, int], net: int, nets: int, start: int, count: int,
        *, rest: bool = False,
    ) -> Segment:  # fmt: skip
        kept = not rest and self._challengers.pool.open
        checked = not rest and not runner.number and self._cubature.keeps(*stage)
        return Segment(
            self.plan.seed, runner.number, runner.change, stage, net, nets, start, count, rest,
            kept, checked,
        )  # fmt: skip

    def _of_nets(self, runner: Runner) -> Runner:
        """Return the runner whose nets a runner uses: the cubature uses those of the first one."""
        return self.runners[0] if runner.family == CUBATURE else runner

    # -- stages

    def _plan_stage(self, affordable: float) -> bool:
        """Plan the next stage from everything told so far; False if the budget is too small."""
        each = affordable / NETS_EACH
        first = [name for name in self.plan.names if name in PLAIN]
        if len(self.runners) < len(first):
            missing = len(first) - len(self.runners)
            size = power_below(min(FIRST, each / missing))
            if size < 1:
                return False
            self._begin(self._open(first[len(self.runners)]), 0, size)
            return True
        standing = self._standing
        assert standing is not None
        leader = standing.leader
        if (late := late_runner(standing, PLAIN)) is not None and late.n <= each:
            self._begin(late, late.n, 2 * late.n)
            return True
        plain = self.runners[0]
        if plain.n < self._least and plain.n <= each and self._needed() <= 1:
            self._begin(plain, plain.n, 2 * plain.n)  # the run would stop otherwise
            return True
        due = self._cubature.due(float(self._books.ledger.draws), self.runners[0], leader)
        if self._begin_nodes(due, affordable / 2):
            return True
        size = max(FIRST, power_below(leader.n / 4))
        if size <= each / 2:
            challenger = self._challenger(standing, size)
            if challenger is not None:
                self._begin(challenger, 0, size)
                return True
        rng = stream(self.plan.seed, POLICY, self.tickets.asked)
        runner = next_runner(standing, self._needed(), rng)
        for one in (runner, leader):
            more = self._cubature.refines() if one is self._cubature.runner else 0
            if self._begin_nodes(more, affordable):
                return True
            nets = self._of_nets(one)
            stop = 2 * power_below(nets.n)
            if stop - nets.n <= each and stop <= 2**BITS:
                self._begin(nets, nets.n, stop, alone=may_end(nets, self._needed()))
                return True
        leader = self._of_nets(leader)
        more = min(power_below(min(each, leader.n)), leader.n & -leader.n)
        if more < max(_SMALLEST * leader.n, 1):
            return False
        self._begin(leader, leader.n, leader.n + more)
        return True

    def _needed(self) -> float:
        """Return the leader's half-width relative to the wanted one; infinite without a wish."""
        return needed(self._estimate(self._looks[-1][1]), self.aim)

    def _challenger(self, standing: Standing, size: int) -> Runner | None:
        """Open a challenger that is due and that the leader's points allow."""
        leader = standing.leader
        if leader.constant.all():
            return None  # a constant needs no challenger
        if work_left(leader, self._needed()) < size * NETS_EACH:
            return None  # it would cost more than what is left to do
        for family in self._challengers.due():
            if not self._challengers.allows(family, size, leader.n, self.runners):
                continue
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

    def _begin(self, runner: Runner, start: int, stop: int, *, alone: bool = False) -> None:
        """Divide a stage into batches; `alone` means that no batch has points of two nets."""
        self._stage, self._rested = (runner, start, stop), 0
        alone = alone or (self.plan.unit == "seconds" and not self.tickets.asked)
        busy = NETS_EACH if alone else 1
        for part in divided(start, stop, max(busy, self.plan.width)):
            self._queue.append(self._segment(runner, (start, stop), *part))
        self._untold = len(self._queue)

    def _begin_nodes(self, nodes: int, affordable: float) -> bool:
        """Begin a stage of the cubature with so many nodes, if there are some to evaluate."""
        if not 0 < nodes <= affordable:
            return False
        runner = self._cubature.runner or self._open(CUBATURE)
        runner.checked_at = self.runners[0]
        segments = self._cubature.begin(runner, nodes, LARGEST // self.plan.width)
        self._stage, self._rested = (runner, *segments[0].stage), 0
        self._queue.extend(segments)
        self._untold = len(self._queue)
        return True

    # -- tell

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that was asked for. Outcomes may arrive in any order."""
        self.tickets.arrive(outcome)
        for told in self.tickets.in_order():
            self._books.add(told)
            (extra,) = told.extra["arm"]
            if extra["rest"]:
                continue
            runner = self.runners[extra["runner"]]
            if runner is self._cubature.runner:
                self._cubature.add_nodes(extra["values"])
            else:
                runner.add(told)
                self._keep(runner, told.size, extra)
            self._untold -= 1
            self._fresh = not self._untold or self._complete_nets(runner)
            if not self._untold:
                self._end_stage()

    def _keep(self, runner: Runner, size: int, extra: Mapping[str, Any]) -> None:
        """Keep the values of a segment for the fits and for the cubature."""
        where = extra["net"], extra["nets"], extra["start"], size // extra["nets"]
        segment = Segment(self.plan.seed, runner.number, runner.change, (0, 0), *where)
        if extra["kept"]:
            self._challengers.pool.add(segment, extra["at"], extra["values"])
        if extra.get("checked"):  # a store from before the cubature does not say it
            self._cubature.add_points(segment, extra["at"], extra["values"])

    def _end_stage(self) -> None:
        assert self._stage is not None
        runner, start, stop = self._stage
        if runner is self._cubature.runner:
            assert self._standing is not None
            self._cubature.end_nodes(self._standing)
        else:
            runner.complete(stop)
        if not runner.number:
            self._cubature.end_points(stop)
        if start == 0 and runner.family in self._challengers.families:
            assert self._standing is not None
            stays = kept(runner, self._standing)
            runner.closed = not stays
            self._challengers.judged(runner.family, stays)
        self._stage = None
        self._look()

    def _complete_nets(self, runner: Runner) -> bool:
        """Look when one more net was doubled; tell whether there is something new."""
        assert self._stage is not None
        _, start, stop = self._stage
        if stop != 2 * start or self._standing is None or runner is self._cubature.runner:
            return False
        if not runner.number and self._cubature.keeps(start, stop):
            return False  # the cubature needs all nets
        if not runner.complete_nets():
            return False
        self._look()
        return True

    def _look(self) -> None:
        for runner in self.runners:
            if runner.n and not runner.closed:
                runner.misses(self._hidden(runner))
        self._standing = standing_of(self.runners)
        self._looks.append((len(self._books.history), self._pooled()))

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome; None before its stage has started."""
        self.tickets.check_next(outcome, self._books.index)
        (extra,) = outcome.extra["arm"]
        number, (start, stop) = extra["runner"], extra["stage"]
        if extra["rest"]:
            if number == len(self.runners):
                self._open(outcome.arm)
            self._rested += outcome.size
            runner = self.runners[number]
            return self._put_out(
                self._segment(runner, (start, stop), 0, 1, extra["start"], outcome.size, rest=True)
            )
        if not self._queue:
            if self.tickets.waiting:
                return None
            if outcome.arm == CUBATURE:
                self._begin_nodes(stop - start, np.inf)
            else:
                runner = self._reopened(number, outcome)
                self._begin(runner, start, stop, alone=extra["nets"] == 1)
        segment = self._queue.popleft()
        if (segment.runner, segment.net, segment.start) != (number, extra["net"], extra["start"]):
            raise PlanError(f"ticket {outcome.ticket} does not belong to this race of nets")
        return self._put_out(segment)

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

    # -- what is known

    def _pooled(self) -> Pooled:
        draws = float(self._books.ledger.draws)
        return pooled_of(self.plan.names, self.runners, self._standing, draws)

    def _estimate(self, pooled: Pooled) -> Estimate:
        m = len(pooled.mean)
        scale = Scale(np.zeros(m), np.zeros(m, np.int64))
        return estimate_of(self.plan, scale, pooled, self._interval)

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; its estimate is the one of the last complete nets."""
        told, fresh = self.tickets.told, self._fresh

        def look() -> Look:
            if told != self.tickets.told:
                raise PlanError(
                    f"progress at ticket {told} is out of date: read it before the next tell"
                )
            if not told:
                raise PlanError("nothing has been told yet: there is no estimate")
            pooled, standing = self._last(), self._standing
            ready = standing is not None and standing.trusted and standing.leader.n >= FIRST
            ready = ready and fresh and self._interval.ready(pooled)
            ready = ready and self.runners[0].n >= self._least
            seen = self._estimate(pooled)
            return Look.of(seen, ready=ready, scalar=self._books.history.scalar)

        return self._books.progress(told, seconds, look)

    def _last(self) -> Pooled:
        if self._looks:
            return self._looks[-1][1]
        if any(runner.started for runner in self.runners):
            return self._pooled()
        ledger = self._books.ledger
        return nothing_known(self.plan.names, ledger.mean.shape[1], float(ledger.draws))

    def _hidden(self, runner: Runner) -> Floats:
        """Return what the others have seen and a runner has not; for the cubature, its nets."""
        pool, nets = self._challengers.pool, self._of_nets(runner)
        others = pool.seen_by_others(nets, self.runners)
        if nets is not runner:
            return outlying(nets.ends, others)
        return hidden(nets.ends, [*others, *self._cubature.seen(nets.change)])

    def result(self) -> Result:
        """Return the result from everything told so far."""
        ledger, history = self._books.with_early(self.tickets.early)
        pooled = self._last()
        if self._looks:
            pooled = pooled._replace(draws=float(ledger.draws))
        seen = self._estimate(pooled)
        looks = [(rows, self._estimate(then)) for rows, then in self._looks]
        looks = looks or [(len(history), seen)]
        missing = self.tickets.missing()
        history.looks = curve_of(looks, scalar=history.scalar)
        result = result_of(
            self.plan,
            ledger,
            seen,
            history,
            warnings=[*race_warnings(self._standing, pooled), *missing],
            agreement=untested(len(pooled.mean)),
            meaning=kind_of(self.plan.table).rows,
        )
        rows = partial(race_rows, result.arms, self._standing, scalar=history.scalar)
        details = race_facts(self._standing, int(ledger.draws))
        details |= self._books.failures(self.tickets.early)
        return replace(result, arms=ArmRows(rows), details=details)
