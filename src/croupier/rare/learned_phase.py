"""LearnedPhase: what a table does while a Gaussian process learns, and while fresh calls follow.

It chooses: learning goes on, an epoch of fresh calls begins, or neither pays. Then a search by
mixtures or plain draws take over, and nothing that was evaluated is lost.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.estimates.combiners import Pooled
from croupier.rare.corrected import Correction, Forecast, Stage, forecast_of, stage_of
from croupier.rare.learning import MOST_LEARNED, MOST_POINTS, Learning
from croupier.rare.rounds import Round
from croupier.seeds import POLICY, stream
from croupier.tables.aim import Aim

__all__ = ["LearnedPhase"]

#: The first calls may be this share of a budget: with 24 fresh calls in 10 dimensions, 2 of 10
#: intervals missed.
_FIRST: Final = 0.4

#: This share of a budget may be lost: calls that are not plain draws, while nothing says that they
#: pay. Without a hit, an interval is then 5 % wider than that of plain draws.
_LOST: Final = 0.05

#: Learning pays if the surrogate of the first calls would leave this share of the error of plain
#: draws: its own errors, of few points, may be wrong by a factor of 3.
_PROMISE: Final = 0.3

#: Plain draws go on for this share of what is known, until the surrogate promises more.
_MORE_PLAIN: Final = 0.25

#: The share of a budget that is for learning, at least and at most.
_LEARNING: Final = (0.2, 0.5)

#: With n fresh calls, room for one call on the wrong side is about this times M/n. It is in vain to
#: lower the doubt below it.
_ROOM: Final = 2.5

#: An epoch of fresh calls is this share of what is known: the surrogate learns from each, and a
#: first one that shows it wrong counts little.
_EPOCH: Final = 0.5

#: Without a budget in draws, so many fresh calls are expected at first.
_USUAL: Final = 200

#: A search by mixtures takes about so many calls. Then one call leaves an error of about the value.
_SEARCH_CALLS: Final = 1000

#: If learning has seen no failure, so many failing fresh calls must be expected: fewer say less
#: than plain draws.
_FEWEST_FAILING: Final = 3.0

#: The least epoch: fewer calls say nothing about its error.
_LEAST_EPOCH: Final = 10

#: A tolerance stops no run with fewer fresh calls: one epoch knows its own error poorly.
_LEAST_FRESH: Final = 20

#: The streams of the epochs and of the forecasts; learning has its own.
_EPOCH_STREAMS: Final = 3_000_000
_FORECASTS: Final = 4_000_000


class LearnedPhase:
    """Learning, then epochs of fresh calls. `over` is True when something else has taken over.

    `promised` is True when plain draws have shown that learning pays; a stored run knows it.
    """

    def __init__(self, learning: Learning, seed: int, width: int) -> None:
        self.learning = learning
        self.correction = Correction()
        self.stage: Stage | None = None
        self.over = False
        self.calls = 0
        self.forecast: Forecast | None = None
        self._seed, self._width = seed, width
        self._most = 0.0
        self._fresh = False
        self.promised = False

    @property
    def standing(self) -> str | None:
        """How far learning is, of at most so many calls; None while fresh calls are made."""
        if self.over or self._fresh:
            return None
        return f"learning {self.calls} of {max(self._most, self.learning.first_calls):.0f}"

    @property
    def rough(self) -> float:
        """The probability by the surrogate, without a known error; at first the share of plain."""
        if self.learning.surrogate is not None:
            return self.learning.known().failing
        g = self.learning.plain.g
        return float((g < 0).mean()) if len(g) else 0.0

    def warnings(self) -> list[str]:
        """Return what is wrong with the points that were told before."""
        if not self.learning.contradicted:
            return []
        return [
            "calls of g contradict the known= points, which were not used: are they of the same g, "
            "and in the same coordinates and units?"
        ]

    # -- what comes next

    def decide(self, left: float, aim: Aim, search: float) -> tuple[str, int] | None:
        """Return the phase and the size of the next round; None if something else pays more.

        `left` are the calls left, `search` those that a search needs at least.
        """
        learning, n = self.learning, len(self.learning)
        if not n:
            few = learning.first_calls > _FIRST * left
            return None if few else ("plain", learning.plain_calls)
        missing, loss = learning.missing, learning.chosen_calls + max(learning.missing, 1)
        safe = loss <= _LOST * (n + left)
        if not learning.learnable:  # a search looks farther, if there is room for one
            room = int(_LOST * (n + left)) - learning.chosen_calls if left < 2 * search else missing
            more = min(room, int(left)) if safe else 0
            return ("learning", more) if more > 0 else None
        if not (safe or len(self.correction) or self._promises(left)):
            more = math.ceil(_MORE_PLAIN * n)
            return ("plain", more) if more < left else None
        if missing:
            return "learning", min(missing, int(left))
        if learning.behind:
            learning.settle()
        if self._learns(left, aim):
            return "learning", int(min(self._width, left))
        pays = self._goes_on if len(self.correction) else self._pays
        return ("fresh", self._next_epoch(left, aim)) if pays(left, aim, search) else None

    def _promises(self, left: float) -> bool:
        """Tell whether the surrogate, as it is, would be far better than plain draws."""
        if not self.promised:
            rng = self._forecast_rng()
            found = forecast_of(*self.learning.look(rng), rng)
            self.promised = self._relative_error(found, left) < _PROMISE
        return self.promised

    def _forecast_rng(self) -> np.random.Generator:
        return stream(self._seed, POLICY, _FORECASTS + len(self.learning))

    def _relative_error(self, found: Forecast, left: float) -> float:
        """Return the error of fresh calls from now on, relative to that of plain draws."""
        enough, M = min(left, 1e9), min(found.mean, 1.0)
        n = enough + len(self.learning.plain.x)
        # Without a hit, the interval ends at 3.7/n.
        return found.error(enough) / max(math.sqrt(M * (1 - M) / n), 1 / n)

    def _learns(self, left: float, aim: Aim) -> bool:
        """Tell whether one more call of learning is worth more than a fresh one."""
        n = len(self.learning)
        total = n + left
        self._most = min(_LEARNING[1] * total, MOST_LEARNED)
        if self.calls >= self._most or n >= MOST_POINTS:
            return False
        if self.learning.surrogate is None:
            return True
        expected = min(left, self._expected(aim))
        if self.learning.informed < _LEARNING[0] * min(total, n + expected):
            return True
        failing, doubt = self.learning.known()
        overlooked = self.learning.overlooks(failing)
        return overlooked or doubt * math.sqrt(expected) > _ROOM * failing

    def _expected(self, aim: Aim) -> float:
        """Return how many fresh calls a tolerance needs, by what the surrogate knows now."""
        if self.learning.surrogate is None or not aim.given:
            return _USUAL
        failing, doubt = self.learning.known()
        wanted = float(aim.wanted(failing)) / 2
        return 2 * (doubt / wanted) ** 2 + 2 * failing / wanted if wanted > 0 else math.inf

    def _pays(self, left: float, aim: Aim, search: float) -> bool:
        """Tell whether fresh calls have a smaller error than plain draws and than a search."""
        self.learning.settle()
        surrogate = self.learning.surrogate
        assert surrogate is not None
        self.forecast = found = forecast_of(surrogate, self.learning.mixture, self._forecast_rng())
        M, relative = min(found.mean, 1.0), self._relative_error(found, left)
        hopeless = not self.learning.failures and found.failing * left < _FEWEST_FAILING
        if not M > 0 or hopeless or relative >= 1:
            return False
        return not self._search_pays(found.variance / M**2, left, aim, M, search)

    def _search_pays(
        self, variance: float, left: float, aim: Aim, value: float, search: float
    ) -> bool:
        """Tell whether a search needs fewer calls, for the tolerance or with all that is left.

        `variance` is that of a fresh call relative to the value; that of a draw of a search is 1.
        """
        if left < 2 * search:
            return False
        error = float(aim.wanted(value)) / (2 * value) if aim.given and value > 0 else 0.0
        error = max(error, 1 / math.sqrt(max(left - _SEARCH_CALLS, 1.0)))
        return variance / error**2 > _SEARCH_CALLS + 1 / error**2

    def _goes_on(self, left: float, aim: Aim, search: float) -> bool:
        """Tell whether more fresh calls pay, by those that were made."""
        answer, n = self.correction.answer(), len(self.correction)
        if not answer.mean > 0:
            return left < 2 * search
        variance = answer.fresh * n / answer.mean**2
        return not self._search_pays(variance, left, aim, answer.mean, search)

    def _next_epoch(self, left: float, aim: Aim) -> int:
        """Return the size of the next epoch: part of the calls that are still needed."""
        more = left if math.isfinite(left) else float(_USUAL)
        if aim.given:
            more = min(left, max(self._needed(aim), _LEAST_EPOCH))
        size = max(_LEAST_EPOCH, math.ceil(_EPOCH * self.learning.informed))
        if more < size + _LEAST_EPOCH:
            size = math.ceil(more)
        return max(1, min(size, int(min(left, 1e9))))

    def _needed(self, aim: Aim) -> float:
        """Return how many fresh calls the tolerance still needs, by forecast or by those made."""
        n = len(self.correction)
        if not n:
            assert self.forecast is not None
            return max(self.forecast.calls(float(aim.wanted(self.forecast.mean)) / 2), _LEAST_FRESH)
        answer = self.correction.answer()
        wanted = float(aim.wanted(answer.mean)) / 2 if answer.mean > 0 else 0.0
        return n * (answer.variance / wanted**2 - 1) if wanted > 0 else math.inf

    def plan(self, phase: str, size: int) -> Round:
        """Return the round of a phase, from everything told so far."""
        learning, self._fresh = self.learning, phase == "fresh"
        if self._fresh:
            learning.settle()
            assert learning.surrogate is not None
            rng = stream(self._seed, POLICY, _EPOCH_STREAMS + len(learning))
            weight = float(size * (len(learning) + learning.told_before))
            self.stage = stage_of(learning.surrogate, learning.mixture, size, weight, rng)
            return Round(phase, size, points=self.stage.points)
        if phase == "plain":
            return Round(phase, size, points=learning.draws(size))
        if learning.missing or not learning.learnable:
            return Round(phase, size, points=learning.first(size))
        return Round(phase, size, points=learning.next(size))

    # -- what was told

    def add(self, phase: str, x: Floats, g: Floats, places: NDArray[np.int64]) -> None:
        """Take the calls of a round; of a stage, those with these places."""
        if phase == "fresh":
            assert self.stage is not None
            self.correction = self.correction.added(self.stage, places, g < 0)
            self.learning.keep(x, g)
        else:
            self.calls += len(x)
            self.learning.add(x, g, phase)

    def pooled(self, correction: Correction) -> Pooled:
        """Return the estimate of fresh calls; it is another one if nothing has ever failed."""
        return correction.pooled(failed=self.learning.failures + correction.failures > 0)

    def known_enough(self) -> bool:
        """Tell whether the error is known well enough for a tolerance to stop the run."""
        return len(self.correction.stages) > 1 and len(self.correction) >= _LEAST_FRESH
