"""RareTable: the table of one limit state. It learns or searches, then makes fresh draws.

Batches come in rounds, and a round is planned when everything before it was told. So the result
does not depend on the width, on the workers or on the order of arrival.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats, Outcome
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.errors import PlanError
from croupier.estimates.combiners import Pooled
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import Interval, ManyLooks
from croupier.rare.components import Frozen, dealt, plain
from croupier.rare.control import control_of
from croupier.rare.corrected import Correction, Stage
from croupier.rare.epoch_answer import Epoch, unknown
from croupier.rare.learned_phase import LearnedPhase
from croupier.rare.learned_result import Found
from croupier.rare.learning import LEARNED_UP_TO, Known, Learning
from croupier.rare.rare_result import Evidence, ProbabilityResult, details_of, warnings_of
from croupier.rare.rounds import Round, bound_by_default, events_of, failures, gathered
from croupier.rare.search import Search
from croupier.results.result import Result
from croupier.seeds import POLICY, stream
from croupier.tables.aim import Aim
from croupier.tables.base import Progress
from croupier.tables.rounds import Answer, Piece, Rounds, extra_of, pieces

__all__ = ["PHASES", "RareTable", "loss"]

#: The arms of a plan: both evaluate the same limit state.
PHASES: Final = ("search", "estimate")

#: A round has this many batches, for up to so many workers; calls that a surrogate has chosen may
#: be expensive, and are batches of their own.
_PIECES: Final = 16
_CHOSEN_PIECES: Final = 64

#: The phases of a run whose g a surrogate learns.
_LEARNED: Final = ("plain", "learning", "fresh")

#: An estimate begins with 200 draws and grows by a quarter.
_BEGIN: Final = 200
_STEP: Final = 0.25

#: The relative half-width that a run aims at if it has no tolerance.
_USUAL: Final = 0.1

#: A new epoch must save more than this many draws, and have something new to learn from.
_WORTH: Final = 800
_NEWS: Final = 2.0
_SURPRISE: Final = 0.25

#: The streams of the free draws of a control begin here; those of the search are far below.
_CONTROLS: Final = 1_000_000


class RareTable(Rounds):
    """Searches where a limit state is below 0, and estimates the probability of this.

    The plan's settings are ``{"dimension": d, "states": m, "starts": points or None}``, and
    ``"gradient": True`` if the gradient of the limit state is known. ``"known"`` are points (k, d)
    in normal space and the limit state there (k,), if some were evaluated before.
    """

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        super().__init__(plan, interval)
        settings = plan.settings
        self._d, self._m = int(settings["dimension"]), int(settings["states"])
        self.aim = Aim(components=bound_by_default(self._events))
        starts = settings.get("starts")
        known = None if starts is None else np.array(starts, float)
        gradient = bool(settings.get("gradient"))
        self._search = Search(self._d, self._m, plan.seed, known, gradient=gradient)
        evaluated = None
        if "known" in settings:
            evaluated = Known(*(np.array(column, float) for column in settings["known"]))
        self._learned: LearnedPhase | None = None
        if self._d <= LEARNED_UP_TO and self._m == 1:
            learning = Learning(self._d, plan.seed, known, evaluated)
            self._learned = LearnedPhase(learning, plan.seed, plan.width)
        elif evaluated is not None:
            self._search.more = evaluated
        self._epoch = 0
        self._round = Round("search", 0)
        self._own: NDArray[np.int64] = np.empty(0, np.int64)
        self._buffer: list[Mapping[str, Any]] = []
        self._estimate: Epoch | None = None
        self._rough = np.zeros(self._events)
        self._fitted_to = self._forgotten = 0
        self._stopped = self._surprised = False
        self._failing: list[tuple[Floats, Floats]] = []

    @property
    def _events(self) -> int:
        return self._m + 2 * (self._m > 1)

    def state_of(self, piece: Piece) -> dict[str, Any]:
        """Return what the limit state is evaluated at, and what the round needs to begin again."""
        part = slice(piece.start, piece.start + piece.size)
        points = self._round.points
        stage = self._stage
        return {
            "round": self.round,
            "phase": self._round.phase,
            "planned": self._round.size,
            "epoch": self._epoch,
            "stopped": self._stopped,
            "promised": self._learned is not None and self._learned.promised,
            "first": piece.start == 0,
            "own": self._own[part],
            "mixture": self._round.mixture,
            "points": None if points is None else points[part],
            **({} if stage is None else {"terms": stage.terms(part)}),
        }

    @property
    def _stage(self) -> Stage | None:
        """The stage whose fresh calls are made now."""
        return self._learned.stage if self._learned and self._round.phase == "fresh" else None

    # -- rounds

    def plan_round(self, left: float) -> list[Piece]:
        """Plan the next round from everything told so far."""
        if self._learned is not None and not self._learned.over:
            chosen = self._learned.decide(left, self.aim, self._search.least_calls)
            if chosen is not None:
                return self._pieces(self._learned.plan(*chosen))
            self._take_over(left)
        t = self._search.calls
        if not t and self._estimate is None and left < self._search.least_budget:
            self._search.stop()  # too little would be left for the estimate
            self._stopped = True
            self._new_epoch(plain(self._d))
        if not self._search.finished:
            if t >= left:  # at most half of a budget is for the search
                self._search.stop()
                self._stopped = True
            elif (found := self._search.next()) is not None:
                return self._pieces(found)
        if self._estimate is None:
            self._new_epoch()
        elif self._worth_an_epoch(left):
            rival = plain(self._d) if self._plain_is_better(left) else None
            self._epoch += 1
            self._learn_from_epoch()
            self._new_epoch(rival)
        assert self._estimate is not None
        size = min(self._size(len(self._estimate)), max(1, int(min(left, 1e9))))
        return self._pieces(Round("estimate", size, self._estimate.mixture))

    def _take_over(self, left: float) -> None:
        """End the learning: the search and its surrogate get all points."""
        if self._learned is not None and not self._learned.over:
            self._learned.over = True
            x, g = self._learned.learning.x, self._learned.learning.g
            self._search.more = x, g
            self._search.begin_near(x[g < 0], left)

    def _pieces(self, planned: Round) -> list[Piece]:
        """Begin a round: deal its draws to the components of its mixture, and cut it."""
        self._round, self._buffer = planned, []
        if planned.mixture is None:
            self._own = np.arange(planned.size)
        else:
            before = None
            if planned.phase == "estimate" and self._estimate is not None:
                before = self._estimate.counts
            self._own = dealt(planned.mixture.shares, planned.size, before)
        name = PHASES[planned.phase in {"estimate", "fresh"}]
        count = _CHOSEN_PIECES if planned.phase in _LEARNED else _PIECES
        each = min(max(1, math.ceil(planned.size / count)), self.most_in_a_call)
        return pieces(name, planned.size, each)

    def _size(self, n: int) -> int:
        if not n:
            return _BEGIN
        growth = max(_STEP, _BEGIN / n - 1)
        if self.aim.given:
            growth = min(growth, self.aim.growth(self.estimate(self.seen())))
        return max(10, int(growth * n))

    def _new_epoch(self, mixture: Frozen | None = None) -> None:
        if mixture is None:
            mixture = self._search.frozen(guarded=self._search.unsure or self._surprised)
        rng = stream(self.plan.seed, POLICY, _CONTROLS + self._epoch)
        control = control_of(self._search, mixture, rng)
        self._estimate = Epoch(mixture, self._d, self._events, control)
        self._fitted_to = self._search.failures
        if mixture.plain and self._learned is not None:  # what was drawn like them counts, too
            x, g = self._learned.learning.plain
            self._estimate.add(x, g[:, None], np.zeros(len(x), np.int64))

    def _worth_an_epoch(self, left: float) -> bool:
        """Tell whether a new fit may save draws: it must be worth it and have learned something."""
        assert self._estimate is not None
        n, need = len(self._estimate), self._needed()
        if self._estimate.mixture.plain or not need - n > max(_WORTH, n) or left < n:
            return False
        if n < self._forgotten or self._plain_is_better(left):
            return n >= self._forgotten  # most draws count, however often the fit is poor
        y = self._estimate.answer().y
        surprised = y.max(axis=0) > _SURPRISE * y.sum(axis=0)
        self._surprised = bool(self.aim.bound(surprised).any())
        failing = int((self._estimate.events < 0).any(axis=1).sum())
        return self._surprised or self._fitted_to + failing >= _NEWS * max(self._fitted_to, 1)

    def _needed(self) -> float:
        """Return how many draws an epoch of this mixture needs, by prediction."""
        assert self._estimate is not None
        aim = self.aim if self.aim.given else replace(self.aim, rtol=_USUAL)
        return len(self._estimate) * (1 + max(aim.growth(self.estimate(self.seen())), 0.0))

    def _plain_is_better(self, left: float) -> bool:
        """Tell whether plain draws from now on would have the smaller error at the end."""
        assert self._estimate is not None
        n, pooled = len(self._estimate), self._estimate.answer().pooled
        p, total = pooled.mean, min(self._needed(), n + left)
        better = p * (1 - p) * total < n * pooled.variance * (total - n)
        return bool(self.aim.bound(better).all())

    def _learn_from_epoch(self) -> None:
        epoch = self._estimate
        assert epoch is not None
        self._forgotten += len(epoch)
        done = Round("estimate", len(epoch), epoch.mixture)
        self._search.add(done, epoch.x, epoch.events[:, : self._m], epoch.own)
        self._search.refit()

    # -- tell

    def add(self, outcome: Outcome) -> None:
        """Keep the points of the next outcome until its round is complete."""
        self._buffer.append(extra_of(outcome))

    def end_round(self) -> None:
        """Give a round to the search, or add it to the estimate."""
        x, g, own = gathered(self._buffer)
        self._failing.append(failures(self._buffer))
        slopes = [extra["slope"] for extra in self._buffer if "slope" in extra]
        self._buffer = []
        if self._round.phase in _LEARNED:
            assert self._learned is not None
            self._learned.add(self._round.phase, x, g[:, 0], own)
            self._rough = np.array([self._learned.rough])
            if self._round.phase == "fresh":
                self.look(Answer(self._learned.pooled(self._learned.correction)))
            return
        if self._round.phase != "estimate":
            slope = np.concatenate(slopes) if slopes else None
            self._search.add(self._round, x, g, own, slope)
            self._rough = self._search.rough()
            return
        assert self._estimate is not None
        self._estimate.add(x, events_of(g), own)
        self.look(Answer(self._estimate.answer().pooled))

    def plan_again(self, outcome: Outcome) -> list[Piece]:
        """Begin the round of a stored outcome: with its mixture, to the last bit."""
        extra = extra_of(outcome)
        mixture = Frozen.of(extra["mixture"]) if "mixture" in extra else None
        if extra["phase"] in _LEARNED and self._learned is not None:
            self._learned.promised = bool(extra["promised"])
            return self._pieces(self._learned.plan(extra["phase"], int(extra["planned"])))
        self._take_over(math.inf)
        if extra["phase"] != "estimate":
            found = self._search.next()
            if found is None or found.phase != extra["phase"]:
                raise PlanError(
                    f"round {extra['round']} of the store is a {extra['phase']}, but its draws "
                    "lead to another one: was the store made by another version of croupier?"
                )
            found = found._replace(size=int(extra["planned"]))
            return self._pieces(found if mixture is None else found._replace(mixture=mixture))
        if not self._search.finished:
            self._stopped = bool(extra["stopped"])
            if self._stopped or self._search.next() is not None:
                self._search.stop()
        if self._estimate is None:
            self._new_epoch(mixture)
        elif extra["epoch"] > self._epoch:
            self._epoch = int(extra["epoch"])
            self._learn_from_epoch()
            self._new_epoch(mixture)
        assert self._estimate is not None
        return self._pieces(Round("estimate", int(extra["planned"]), self._estimate.mixture))

    # -- what is known

    def ready(self, seen: Estimate) -> bool:
        """Tell whether an estimate is known well enough for a tolerance to stop the run."""
        if self._learned is not None and self._estimate is None:
            return self._learned.known_enough()
        return self._estimate is not None and (
            self.interval.ready(self.aim.known(seen.pooled))
            or self._estimate.known_enough(self.aim)
            or self._far_enough(seen)
        )

    def _far_enough(self, seen: Estimate) -> bool:
        """Tell whether a run is so precise that an error which is known poorly does not matter."""
        if not isinstance(self.interval, ManyLooks):
            return False
        doubt = np.sqrt(np.maximum(self.interval.least_df / seen.pooled.df, 1.0))
        excess = doubt * seen.half_width - self.aim.wanted(seen.value)
        return bool((self.aim.bound(excess) <= 0).all())

    def seen(self) -> Answer:
        """Return the answer at the end of the last round."""
        return Answer(self._pooled(self._estimate, self._correction(())))

    def progress(self, seconds: float = 0.0) -> Progress:
        """Return where the run stands: while it learns, this is how far it is."""
        progress = super().progress(seconds)
        standing = None if self._learned is None else self._learned.standing
        return progress if standing is None else replace(progress, leader=standing)

    def _correction(self, extras: Sequence[Any]) -> Correction | None:
        """Return the fresh calls so far, with those of a round that is not complete."""
        if self._learned is None:
            return None
        fresh = [extra for extra in extras if extra["phase"] == "fresh"]
        if not fresh or self._learned.stage is None:
            return self._learned.correction
        _, g, own = gathered(fresh)
        return self._learned.correction.added(self._learned.stage, own, g[:, 0] < 0)

    def _with(self, extras: Sequence[Any]) -> Epoch | None:
        """Return the epoch with the draws of a round that is not complete."""
        if self._estimate is None:
            return None
        fresh = [extra for extra in extras if extra["phase"] == "estimate"]
        if not fresh:
            return self._estimate
        epoch = self._estimate.copy()
        x, g, own = gathered(fresh)
        epoch.add(x, events_of(g), own)
        return epoch

    def _pooled(self, epoch: Epoch | None, correction: Correction | None) -> Pooled:
        if epoch is not None and len(epoch):
            return epoch.answer().pooled
        if self._learned is not None and correction is not None and len(correction):
            return self._learned.pooled(correction)
        return unknown(self._rough, float(self.books.ledger.draws))

    def answer(self, early: Sequence[Outcome]) -> Answer:
        """Return the answer from everything told so far, and what the search has found."""
        extras = [*self._buffer, *map(extra_of, early)]
        epoch, failing = self._with(extras), [*self._failing, failures(extras)]
        correction = self._correction(extras)
        pooled = self._pooled(epoch, correction)
        if correction is not None and len(correction) and epoch is None:
            assert self._learned is not None
            found = Found(self._learned, correction, failing, self.books.failures(early))
            return Answer(pooled, warnings=found.warnings(), finish=found.finish)
        learned = 0 if self._learned is None else len(self._learned.learning)
        evidence = Evidence(
            self._search, epoch, self._epoch, self._stopped, failing, self.aim, learned
        )

        def finish(result: Result, seen: Estimate) -> ProbabilityResult:
            details = details_of(evidence, seen, self.plan.components)
            return ProbabilityResult.detailed(result, {**details, **self.books.failures(early)})

        contradicted = [] if self._learned is None else self._learned.warnings()
        return Answer(pooled, warnings=[*contradicted, *warnings_of(evidence)], finish=finish)


def loss(plan: Plan, ledger: Ledger, price: Floats, variance: Floats) -> Floats:
    """Return cost times variance for the estimate; the search does not count in the estimate."""
    return np.where([name == PHASES[0] for name in plan.names], np.inf, price * variance)
