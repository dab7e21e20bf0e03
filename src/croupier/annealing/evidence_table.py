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
from croupier.annealing.evidence_rounds import Epoch, Evaluated, Model, Planned, Search, Start
from croupier.data.draws import Floats, Outcome
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.data.scale import Scale
from croupier.distributions.mixture import Mixture
from croupier.distributions.weights import log_sum_exp
from croupier.errors import PlanError
from croupier.estimates.estimate import Estimate
from croupier.estimates.intervals import Interval
from croupier.results.result import Result
from croupier.searching.population import Population
from croupier.tables.rounds import Answer, Piece, Rounds, extra_of, pieces

__all__ = ["PHASES", "EvidenceTable", "loss"]

#: The arms of a plan: both evaluate the same likelihood.
PHASES: Final = ("search", "estimate")

#: A round has this many batches, for up to so many workers.
_PIECES: Final = 8

#: A tolerance on log Z is met by this many draws of relative variance 1, times 1/tolerance^2: the
#: normal quantile of the usual level.
_QUANTILE: Final = 1.96


class EvidenceTable(Rounds):
    """Searches where a posterior is, and estimates its evidence.

    The plan's settings are ``{"dimension": d, "bounded": [...], "gradient": bool}``, and if draws
    of the posterior are known ``"start"``, a mixture as plain data, and ``"held"``, points.
    """

    def __init__(self, plan: Plan, interval: Interval | None = None) -> None:
        super().__init__(plan, interval)
        settings = plan.settings
        bounded = tuple(bool(each) for each in settings["bounded"])
        model = Model(int(settings["dimension"]), bounded, bool(settings["gradient"]))
        start = None
        if "start" in settings:
            start = Start(Mixture.of(settings["start"]), np.array(settings["held"], float))
        self.search = Search(model, plan.seed, start)
        self._rounds = self.search.rounds()
        self._round: Planned | None = None
        self._size = 0
        self._budget: dict[str, float] = {}
        self._buffer: list[Any] = []

    # -- rounds

    def plan_round(self, left: float) -> list[Piece]:
        """Plan the next round from everything told so far."""
        draws = float(self.books.ledger.draws)
        used = draws / (draws + left) if draws and math.isfinite(left) else 0.0
        self._next({"left": left, "used": used, "needed": self._needed()})
        assert self._round is not None
        size = self._round.size
        return self._pieces(min(size, max(1, int(left))) if math.isfinite(left) else size)

    def plan_again(self, outcome: Outcome) -> list[Piece]:
        """Plan the round of a stored outcome, with the budget that it had."""
        extra = extra_of(outcome)
        self._next({name: float(extra[name]) for name in ("left", "used", "needed")})
        if self._round is None or self._round.phase != extra["phase"]:
            raise PlanError(
                f"round {extra['round']} of the store is a {extra['phase']}, but its draws "
                "lead to another one: was the store made by another version of croupier?"
            )
        return self._pieces(int(extra["planned"]))

    def _needed(self) -> float:
        """Return how many draws of relative variance 1 the tolerance takes."""
        if not self.aim.given:
            return math.inf
        wanted = float(self.aim.wanted(0.0, log=True))
        return (_QUANTILE / wanted) ** 2 if wanted > 0 else math.inf

    def _next(self, budget: dict[str, float]) -> None:
        """Tell the search what the last round has found, and ask for the next one."""
        self._budget = budget
        if self._round is None:
            self._round = next(self._rounds)
        else:
            found = _gathered(self._buffer)
            self._round = self._rounds.send(
                found._replace(left=budget["left"], used=budget["used"], needed=budget["needed"])
            )
        self._buffer = []

    def _pieces(self, size: int) -> list[Piece]:
        self._size = size
        each = min(max(1, math.ceil(size / _PIECES)), self.most_in_a_call)
        return pieces(PHASES[self._estimating], size, each)

    @property
    def _estimating(self) -> bool:
        return self._round is not None and self._round.phase == "estimate"

    def state_of(self, piece: Piece) -> dict[str, Any]:
        """Return what the model is evaluated at, and what the round needs to begin again."""
        assert self._round is not None
        points = self._round.points
        part = slice(piece.start, piece.start + piece.size)
        return {
            "round": self.round,
            "phase": self._round.phase,
            "planned": self._size,
            **self._budget,
            "source": self._round.source,
            "points": None if points is None else points[part],
            "slope": self._round.slope,
        }

    # -- tell

    def add(self, outcome: Outcome) -> None:
        """Keep the points of the next outcome until the next round is planned."""
        self._buffer.append(extra_of(outcome))

    def end_round(self) -> None:
        """Keep the estimate at the end of a round of fresh draws, for the curve."""
        if self._estimating:
            self.look(self.seen())

    # -- what is known

    def ready(self, seen: Estimate) -> bool:
        """Tell whether an estimate is known well enough for a tolerance to stop the run."""
        drawn = self._drawn(())
        return (
            drawn is not None
            and not drawn.unusable
            and self.interval.ready(self.aim.known(seen.pooled))
        )

    def seen(self) -> Answer:
        """Return the answer from everything told, without its warnings."""
        return self._answered(self._drawn(()))

    def _answered(self, drawn: Drawn | None) -> Answer:
        if drawn is None:
            rough = float(log_sum_exp(self.search.population.log_weights()))
            drawn = Drawn.rough(rough, float(self.books.ledger.draws))
        pooled, exponent = pooled_of(drawn)
        return Answer(pooled, Scale(np.zeros(1), np.array([exponent])))

    def _drawn(self, early: Sequence[Any]) -> Drawn | None:
        """Return the draws of the epoch, with those of a round that is not complete."""
        fresh = [each for each in (*self._buffer, *early) if each["phase"] == "estimate"]
        epoch = self.search.epoch
        if not fresh:
            if epoch is None or not len(epoch):
                return None
            return Drawn.of(epoch.log_weights, epoch.fitted_to)
        # The first draws of a new mixture are not in the epoch yet.
        source = None if self._round is None else self._round.source
        assert source is not None
        if epoch is None or epoch.source is not source:
            epoch = Epoch(source)
        logs = np.concatenate((epoch.log_weights, epoch.logs(_gathered(fresh))))
        return Drawn.of(logs, epoch.fitted_to)

    def answer(self, early: Sequence[Outcome]) -> Answer:
        """Return the answer from everything told so far, and what the search has found."""
        extras = [extra_of(outcome) for outcome in early]
        drawn = self._drawn(extras)

        def finish(result: Result, seen: Estimate) -> EvidenceResult:
            whole = self._weighted([*self._buffer, *extras])
            return EvidenceResult.weighted(
                result,
                whole.points,
                whole.log_weights(),
                details_of(self.search, drawn),
                whole.log_likelihood,
            )

        warnings = warnings_of(self.search, drawn)
        return self._answered(drawn)._replace(warnings=warnings, finish=finish)

    def _weighted(self, extras: Sequence[Any]) -> Population:
        """Return all draws of the run."""
        population = self.search.population
        fresh = [each for each in extras if each["phase"] == "estimate"]
        source = None if self._round is None else self._round.source
        if not fresh or source is None:
            return population
        found, whole = _gathered(fresh), population.copy()
        whole.add(found.points, found.log_prior, found.log_likelihood, source)
        return whole


def _gathered(extras: Sequence[Any]) -> Evaluated:
    """Return what a round has found, from the extras of its batches."""
    z, log_prior, log_likelihood = (
        np.concatenate([each[name] for each in extras]) for name in ("z", "prior", "likelihood")
    )
    slopes = np.concatenate([each["slopes"] for each in extras]) if "slopes" in extras[0] else None
    return Evaluated(z, log_prior, log_likelihood, slopes, 0.0)


def loss(plan: Plan, ledger: Ledger, price: Floats, variance: Floats) -> Floats:
    """Return cost times variance for the estimate; the search does not count in the estimate."""
    return np.where([name == PHASES[0] for name in plan.names], np.inf, price * variance)
