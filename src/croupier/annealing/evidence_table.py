"""EvidenceTable: the table of one model. Rounds of a search, then epochs of a frozen mixture.

A round is planned when everything before it was told, so the result does not depend on the workers
or on the order of arrival. What a round's plan owes to the budget is stored with its draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from croupier.annealing.evidence_answer import Drawn, details_of, pooled_of, warnings_of
from croupier.annealing.evidence_result import EvidenceResult
from croupier.annealing.evidence_rounds import Epoch, Evaluated, Model, Planned, Search
from croupier.data.draws import Batch, Floats, Outcome
from croupier.data.history import Curve
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.distributions.weights import log_sum_exp
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate, estimate_of
from croupier.estimates.intervals import FixedSize, Interval
from croupier.results.make_result import result_of, untested
from croupier.tables.aim import Aim
from croupier.tables.base import Look, Progress, kind_of
from croupier.tables.books import Books
from croupier.tables.tickets import Tickets

__all__ = ["PHASES", "EvidenceTable", "loss"]

#: The arms of a plan: both evaluate the same likelihood.
PHASES: Final = ("search", "estimate")

#: A round has this many batches, for up to so many workers; the longest has so many points.
_PIECES: Final = 8
_LARGEST: Final = 10_000

#: A tolerance on log Z is met by this many draws of relative variance 1, times 1/tolerance^2: the
#: normal quantile of the usual level.
_QUANTILE: Final = 1.96


class EvidenceTable:
    """Searches where a posterior is, and estimates its evidence.

    The plan's settings are ``{"dimension": d, "bounded": [...], "gradient": bool}``.
    """

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        self.plan = plan
        self.interval: Interval = FixedSize() if interval is None else interval
        settings = plan.settings
        bounded = tuple(bool(each) for each in settings["bounded"])
        model = Model(int(settings["dimension"]), bounded, bool(settings["gradient"]))
        self.tickets = Tickets(plan.width)
        self.aim = Aim()
        self.search = Search(model, plan.seed)
        self._rounds = self.search.rounds()
        self._round: Planned = next(self._rounds)
        self._size, self._number, self._position = self._round.size, 0, 0
        self._budget: dict[str, float] = {}
        self._plain: Any = None
        self._books = Books(plan)
        self._buffer: list[Any] = []
        self._curve: list[tuple[int, float, float]] = []
        self._begun = False

    # -- ask

    def ask(self, draws_left: int | None = None, cost_left: float | None = None) -> Batch | None:
        """Return the next batch; None if a round must be told first, or if nothing is left."""
        self.tickets.check_room()
        left = self._evaluations_left(draws_left, cost_left)
        if self._position == self._size or not self._begun:
            if self.tickets.waiting or left < 0.5:
                return None
            self._plan_round(left, self._used(draws_left, cost_left), self._wanted())
        size = min(self._piece, self._size - self._position)
        if draws_left is not None:
            size = min(size, self.tickets.draws_left(draws_left))
        if cost_left is not None and self.tickets.asked:
            price = self._price()
            rest = self.tickets.cost_left(cost_left, lambda _: price)
            size = min(size, int(rest / price + 0.5) if price > 0 else size) if rest > 0 else 0
        return self._put_out(size) if size > 0 else None

    @property
    def _piece(self) -> int:
        return min(max(1, math.ceil(self._size / _PIECES)), _LARGEST)

    def _price(self) -> float:
        ledger = self._books.ledger
        return float(ledger.spent / ledger.draws) if ledger.draws else 0.0

    def _evaluations_left(self, draws_left: int | None, cost_left: float | None) -> float:
        left = math.inf if draws_left is None else float(draws_left)
        if cost_left is not None and (price := self._price()) > 0:
            left = min(left, cost_left / price)
        return left

    def _used(self, draws_left: int | None, cost_left: float | None) -> float:
        """Return the share of the budget that is used up."""
        ledger, used = self._books.ledger, 0.0
        pairs = ((ledger.draws, draws_left), (ledger.spent, cost_left))
        for spent, left in pairs:
            if left is not None and spent > 0:
                used = max(used, float(spent) / (float(spent) + max(left, 0.0)))
        return used

    def _wanted(self) -> float:
        """Return how many draws of relative variance 1 the tolerance takes."""
        if not self.aim.given:
            return math.inf
        wanted = float(self.aim.wanted(0.0, log=True))
        return (_QUANTILE / wanted) ** 2 if wanted > 0 else math.inf

    def _plan_round(self, left: float, used: float, needed: float, size: int | None = None) -> None:
        """Plan the next round from everything told so far; `size` is that of a stored one."""
        self._budget = {"left": left, "used": used, "needed": needed}
        if self._begun:
            points, log_prior, log_likelihood, slopes = _gathered(self._buffer)
            self._round = self._rounds.send(
                Evaluated(points, log_prior, log_likelihood, slopes, left, used, needed)
            )
            self._number += 1
        self._begun, self._buffer, self._position = True, [], 0
        if size is None:
            size = self._round.size
            if math.isfinite(left):
                size = min(size, max(1, int(left)))
        self._size = size
        source = self._round.source
        self._plain = None
        if source is not None and source.mixture is not None:
            self._plain = {**source.mixture.as_plain(), "prior": source.share}

    def _put_out(self, size: int) -> Batch:
        points = self._round.points
        part = slice(self._position, self._position + size)
        state = {
            "round": self._number,
            "phase": self._round.phase,
            "planned": self._size,
            **self._budget,
            "mixture": self._plain,
            "points": None if points is None else points[part],
            "slope": self._round.slope,
        }
        self._position += size
        name = PHASES[self._round.phase == "estimate"]
        ticket = self.tickets.asked
        return self.tickets.put_out(Batch(ticket, name, size, self.plan.seed, _LARGEST, state))

    # -- tell

    def tell(self, outcome: Outcome) -> None:
        """Take the outcome of a batch that was asked for. Outcomes may arrive in any order."""
        self.tickets.arrive(outcome)
        for told in self.tickets.in_order():
            self._books.add(told)
            self._buffer.append(_extra_of(told))
        if self._position == self._size and not self.tickets.waiting and self._estimating:
            drawn = self._drawn([])
            if drawn is not None:
                pooled, exponent = pooled_of(drawn)
                seen = self._as_estimate(pooled, exponent)
                assert seen.logs is not None
                half = float(seen.logs[2][0])
                self._curve.append((self.tickets.told, float(seen.logs[0][0]), half))

    @property
    def _estimating(self) -> bool:
        return self._round.phase == "estimate"

    def ask_again(self, outcome: Outcome) -> Batch | None:
        """Return the batch of a stored outcome; None before its round has started."""
        self.tickets.check_next(outcome, self._books.index)
        extra = _extra_of(outcome)
        if not self._begun or extra["round"] > self._number:
            if self.tickets.waiting:
                return None
            left, used, needed = (float(extra[name]) for name in ("left", "used", "needed"))
            self._plan_round(left, used, needed, int(extra["planned"]))
            if self._round.phase != extra["phase"]:
                raise PlanError(
                    f"round {extra['round']} of the store is a {extra['phase']}, but its draws "
                    "lead to another one: was the store made by another version of croupier?"
                )
        return self._put_out(outcome.size)

    # -- what is known

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands; its estimate is the one at the end of the last round."""
        told, ended = self.tickets.told, self._position == self._size

        def look() -> Look:
            if not told:
                raise PlanError("nothing has been told yet: there is no estimate")
            drawn = self._drawn([])
            seen = self._seen(drawn)
            ready = (
                ended
                and drawn is not None
                and not drawn.unusable
                and self.interval.ready(self.aim.known(seen.pooled))
            )
            return Look.of(seen, ready=ready)

        return self._books.progress(told, seconds, look)

    def _drawn(self, early: Sequence[Any]) -> Drawn | None:
        """Return the draws of the epoch, with those of a round that is not complete."""
        fresh = [each for each in (*self._buffer, *early) if each["phase"] == "estimate"]
        epoch = self.search.epoch
        if not fresh:
            return None if epoch is None or not len(epoch) else Drawn.of(epoch.log_weights)
        # The first draws of a new mixture are not in the epoch yet.
        source = self._round.source
        assert source is not None
        old = epoch.log_weights if epoch is not None and epoch.source is source else np.empty(0)
        points, log_prior, log_likelihood, _ = _gathered(fresh)
        logs = Epoch(source).logs(Evaluated(points, log_prior, log_likelihood, None, 0.0))
        return Drawn.of(np.concatenate((old, logs)))

    def _seen(self, drawn: Drawn | None) -> Estimate:
        if drawn is not None:
            return self._as_estimate(*pooled_of(drawn))
        rough = float(log_sum_exp(self.search.population.log_weights()))
        return self._as_estimate(*pooled_of(Drawn.rough(rough, float(self._books.ledger.draws))))

    def _as_estimate(self, pooled: Pooled, exponent: int) -> Estimate:
        scale = Scale(np.zeros(1), np.array([exponent]))
        return estimate_of(self.plan, scale, pooled, self.interval)

    def result(self) -> EvidenceResult:
        """Return the result from everything told so far."""
        early = self.tickets.early
        ledger, history = self._books.with_early(early)
        extras = [_extra_of(outcome) for outcome in early]
        drawn = self._drawn(extras)
        seen = self._seen(drawn)
        assert seen.logs is not None
        rows = [row for row in self._curve if row[0] < len(history)]
        rows.append((len(history), float(seen.logs[0][0]), float(seen.logs[2][0])))
        told, values, halves = (np.array(column) for column in zip(*rows, strict=True))
        history.looks = Curve(told - 1, values, halves)
        made = result_of(
            self.plan,
            ledger,
            seen,
            history,
            warnings=[*warnings_of(self.search, drawn), *self.tickets.missing()],
            agreement=untested(1),
            loss=loss,
            meaning=kind_of(self.plan.table).rows,
        )
        points, logs = self._weighted([*self._buffer, *extras])
        return EvidenceResult.weighted(made, points, logs, details_of(self.search, drawn))

    def _weighted(self, extras: Sequence[Any]) -> tuple[Floats, Floats]:
        """Return all draws of the run with their log weights for the posterior."""
        population = self.search.population
        fresh = [each for each in extras if each["phase"] == "estimate"]
        if not fresh or self._round.source is None:
            return population.points, population.log_weights()
        points, log_prior, log_likelihood, _ = _gathered(fresh)
        whole = population.copy()
        whole.add(points, log_prior, log_likelihood, self._round.source)
        return whole.points, whole.log_weights()


def _extra_of(outcome: Outcome) -> Any:
    (extra,) = outcome.extra["arm"]
    return extra


def _gathered(extras: Sequence[Any]) -> tuple[Floats, Floats, Floats, Floats | None]:
    """Return points, log priors, log likelihoods and slopes of batches."""
    z, log_prior, log_likelihood = (
        np.concatenate([each[name] for each in extras]) for name in ("z", "prior", "likelihood")
    )
    slopes = np.concatenate([each["slopes"] for each in extras]) if "slopes" in extras[0] else None
    return z, log_prior, log_likelihood, slopes


def loss(plan: Plan, ledger: Ledger, price: Floats, variance: Floats) -> Floats:
    """Return cost times variance for the estimate; the search does not count in the estimate."""
    return np.where([name == PHASES[0] for name in plan.names], np.inf, price * variance)
