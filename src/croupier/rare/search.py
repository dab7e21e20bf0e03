"""Search: finds where a limit state is below zero, from nothing but its values.

Every draw counts: all are weighted by p/q, where q is the mixture of everything that was drawn
from. From round to round the level falls until it is zero (the cross-entropy method: Rubinstein
and Kroese 2004; with a mixture: Kurtz and Song, Structural Safety 42, 2013). At the end, points in
the gaps between all draws look for parts that no component covers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.distributions.mixture import Mixture
from croupier.distributions.normal import log_standard_normal
from croupier.distributions.weights import effective_size_of_logs, log_mixture, log_sum_exp
from croupier.rare.components import SCOUTS, Frozen, mixture_of, scouts
from croupier.rare.descent import Descent, beyond
from croupier.rare.fit import HIGH, Slope, around, fitted
from croupier.rare.gaps import GAPS_UP_TO, gap_points
from croupier.rare.rounds import Round, active, events_of
from croupier.seeds import POLICY, stream

__all__ = ["Search"]

#: The share of the fitted components in a round of the search; the rest are scouts.
_FITTED: Final = 0.9

#: Shares of an estimate: fitted components, their twins of width 1, scouts.
_FROZEN: Final = (0.72, 0.18, 0.10)

#: A search that makes no progress in so many rounds gives up.
_PATIENCE: Final = 6
_MOST_ROUNDS: Final = 80

#: A search that begins near known failures must leave so many calls per dimension: with fewer,
#: intervals of functions of 0 and 1 in 3 to 10 dimensions were wider than those of plain draws.
_REST: Final = 100

#: Fewer failing draws than this are not fitted.
_FEW: Final = 3

#: A point is uncovered if one draw there would carry this share of the failing weight.
_UNCOVERED: Final = 0.05

#: A gap that fails is of unknown width: draws around it have these.
_GAP_WIDTHS: Final = (1.0, 0.5)

#: Above this dimension, components lie around the design points that a gradient has led to.
DESIGNED: Final = 5

#: The draws of the regression are the latest: this many per dimension.
_LATEST: Final = 25


class Search:
    """Everything drawn so far, and what to evaluate next.

    `states` is the number m of limit states. Each is a target of its own, and so is the event that
    all fail; the event that any fails is covered by these. `starts` are points (k, d) in normal
    space that one knows. `more` are points (n, d) of gaps and descents, and the first limit state
    there. `calls` counts what the search has evaluated. With `gradient` it also
    descends to design points; `gradients` counts these calls, and `gap` is known if it is wrong.
    """

    def __init__(
        self,
        d: int,
        states: int,
        seed: int,
        starts: Floats | None = None,
        *,
        gradient: bool = False,
    ) -> None:
        self.d, self.seed = d, seed
        self.starts, self.gradient = starts, gradient
        self._near = False
        self.calls = self.gradients = self.rounds = 0
        self.gap: tuple[float, float] | None = None
        self._designs: dict[int, Floats] = {}
        self._descent: Descent | None = None
        self.x, self.events = np.empty((0, d)), np.empty((0, states + 2 * (states > 1)))
        self.more = np.empty((0, d)), np.empty(0)
        self.stalled: list[int] = []
        self.found: list[Mixture | None] = []
        self._targets: list[int] = [*range(states), *([states + 1] if states > 1 else [])]
        self._proposals = scouts(d)
        self._counts = np.zeros(SCOUTS)
        self._log_q = np.empty((0, SCOUTS))
        self._gaps: Floats | None = None
        self._begin_target()

    def _begin_target(self) -> None:
        self._stuck = self._target_rounds = 0
        self._best = (math.inf, 0.0)

    @property
    def finished(self) -> bool:
        """Whether every target was searched."""
        return len(self.found) == len(self._targets)

    # -- what was evaluated

    def add(
        self,
        done: Round,
        x: Floats,
        g: Floats,
        own: NDArray[np.int64],
        slope: Floats | None = None,
    ) -> None:
        """Take the points of a round and the limit states there; `own` is their component."""
        if done.phase != "estimate":
            self.calls += len(x)
        if done.points is not None:
            points, values = self.more
            self.more = np.concatenate((points, x)), np.concatenate((values, g[:, 0]))
        if done.phase == "descent":
            assert self._descent is not None
            assert slope is not None
            self.gradients += len(x)
            self._descent.step(*active(g, slope, self._target))
            return
        if done.phase == "gaps":
            self._gaps = x[(events_of(g) < 0).any(axis=1)]
            return
        assert done.mixture is not None
        fresh = done.mixture.mixture.part(slice(-SCOUTS))
        counts = np.bincount(own, minlength=len(done.mixture.mixture)).astype(float)
        self._counts[: len(counts) - len(fresh)] += counts[len(fresh) :]
        self._counts = np.concatenate((self._counts, counts[: len(fresh)]))
        above = np.column_stack((self._log_q, fresh.component_log_densities(self.x)))
        self._proposals = self._proposals.joined(fresh, 0.5)
        below = self._proposals.component_log_densities(x)
        self._log_q = np.concatenate((above, below))
        self.x = np.concatenate((self.x, x))
        self.events = np.concatenate((self.events, events_of(g)))

    @property
    def log_weight(self) -> Floats:
        """The log of p/q for every draw, with q the mixture of all of them."""
        mixture = log_mixture(self._log_q, self._counts / self._counts.sum())
        return np.asarray(log_standard_normal(self.x) - mixture)

    @property
    def scouting(self) -> Floats:
        """How many draws of the search each scout has made."""
        return np.asarray(self._counts[:SCOUTS])

    @property
    def failures(self) -> int:
        """How many draws fail in any way."""
        return int(np.count_nonzero((self.events < 0).any(axis=1)))

    @property
    def effective_failures(self) -> float:
        """The effective number of draws that fail in any way."""
        return effective_size_of_logs(self.log_weight[(self.events < 0).any(axis=1)])

    @property
    def unsure(self) -> bool:
        """Whether a target was given up before enough effective draws failed for a good fit."""
        fails, log_w = self.events < 0, self.log_weight
        return any(effective_size_of_logs(log_w[fails[:, k]]) < self._enough for k in self.stalled)

    @property
    def _enough(self) -> int:
        return 60 + 3 * self.d

    def rough(self) -> Floats:
        """Return the weighted share of failing draws, per event: it has no known error."""
        weights = np.exp(self.log_weight)[:, None]
        return np.asarray((weights * (self.events < 0)).mean(axis=0))

    @property
    def _target(self) -> int:
        return self._targets[len(self.found)]

    # -- what is evaluated next

    def next(self) -> Round | None:
        """Return the next round; None if the search is finished."""
        self.rounds += 1
        if not len(self.x):
            return self._first()
        while not self.finished:
            found = self._next_of_target()
            if found is not None:
                return found
            self._finish_target()
        return None

    def stop(self) -> None:
        """End the search now: what was found so far is fitted."""
        while not self.finished:
            self.stalled.append(self._target)
            self._finish_target()

    def begin_near(self, failing: Floats, left: float) -> None:
        """Begin around failing points (k, d), if too few calls are left to look for others."""
        if len(failing) and self._drawn_calls + _REST * self.d <= left < self.least_budget:
            self.starts, self._near = failing, True

    @property
    def _drawn_calls(self) -> int:
        """How many calls a round takes that is aimed."""
        return 140 + 3 * self.d

    @property
    def least_calls(self) -> int:
        """How many calls the first round takes."""
        if self._near:
            return self._drawn_calls
        return 300 + 3 * self.d + (0 if self.starts is None else 60 * len(self.starts))

    @property
    def least_budget(self) -> int:
        """Below this, all draws are plain: too few would be left after the first round."""
        return self.least_calls + 60 * self.d

    def _first(self) -> Round:
        if self.starts is None:
            return self._scouting()
        known = Mixture.around(self.starts, 1.0)
        return Round("search", self.least_calls, mixture_of(known, self.d, 0.5))

    def _scouting(self) -> Round:
        return Round("search", 300 + 3 * self.d, mixture_of(None, self.d, 0.0))

    def _drawn(self, fits: Mixture) -> Round:
        return Round("search", self._drawn_calls, mixture_of(fits, self.d, _FITTED))

    def _next_of_target(self) -> Round | None:
        if self.gradient and self.gap is None and self._target not in self._designs:
            return self._descended()
        h, log_w = self.events[:, self._target], self.log_weight
        fails = h < 0
        known = effective_size_of_logs(log_w[fails])
        if known >= self._enough:
            return self._filled(fails, log_w)
        self._target_rounds += 1
        enough = 40 + 0.3 * self.d
        chosen, level = self._below(h, log_w, enough) if known < enough else (fails, 0.0)
        before, knew = self._best
        better = level < before or known > knew + 1
        self._best = min(level, before), max(known, knew)
        self._stuck = 0 if better else self._stuck + 1
        if self._stuck >= _PATIENCE or self._target_rounds > _MOST_ROUNDS:
            self.stalled.append(self._target)
            return None
        if known < enough and level == np.median(h):  # a function of few values has no levels
            if fails.sum() < _FEW:
                return self._scouting()
            return self._drawn(fitted(self.x[fails], self._wider(fails, enough), self._rng()))
        return self._drawn(self._fits(chosen, self._target, log_w, self._slope()))

    def _below(self, h: Floats, log_w: Floats, enough: float) -> tuple[NDArray[np.bool_], float]:
        """Return the draws below the lowest level with enough effective draws, and the level."""
        order = np.argsort(h, kind="stable")
        w = np.exp(log_w[order] - log_w.max())
        counted = np.cumsum(w) ** 2 / np.maximum(np.cumsum(w * w), 1e-300)
        reached = np.flatnonzero(counted >= enough)
        level = float(h[order[reached[0]]]) if len(reached) else float(h.max())
        return h <= level, level

    def _wider(self, fails: NDArray[np.bool_], enough: float) -> Floats:
        """Return the weights of failing draws under the narrowest wider normal with enough."""
        x = self.x[fails]
        log_q = log_mixture(self._log_q[fails], self._counts / self._counts.sum())
        enough = min(enough, 0.5 * len(x))
        for width in np.geomspace(1.0, 4.0, 13):
            log_w = Mixture.normal(np.zeros(self.d), width).log_density(x) - log_q
            if effective_size_of_logs(log_w) >= enough:
                return np.asarray(log_w)
        return np.zeros(len(x))

    def _slope(self) -> Slope | None:
        if self.d <= HIGH:
            return None
        latest = slice(-_LATEST * self.d, None)
        return Slope(self.x[latest], self.events[latest, self._target])

    def _rng(self) -> np.random.Generator:
        return stream(self.seed, POLICY, self.rounds)

    # -- descents

    def _descended(self) -> Round:
        """Return the next step of a descent, or draws around the design points it has found."""
        if self._descent is None:
            self._descent = Descent.among(self.x, self.events[:, self._target], self._rng())
        if not self._descent.ended:
            points = self._descent.proposed()
            return Round("descent", len(points), points=points)
        self.gap, ends = self._descent.gap, self._descent.design_points()
        self._descent, self._designs[self._target] = None, ends
        if not len(ends):
            return self._scouting()
        # The probability beyond a design point, if g is linear; no point is forgotten.
        away = np.linalg.norm(ends, axis=1)
        shares = np.maximum(np.exp(0.5 * (away.min() ** 2 - away**2)), 0.05)
        shares = shares / shares.sum()
        known = Mixture.mixed([beyond(end) for end in ends], shares)
        return self._drawn(known.joined(Mixture.around(ends, 1.0, shares), 1 / 3))

    def _fits(
        self, chosen: NDArray[np.bool_], event: int, log_weight: Floats, slope: Slope | None
    ) -> Mixture:
        """Fit components to draws: around known design points where EM could not find them."""
        designs = self._designs.get(event)
        if self.d > DESIGNED and designs is not None and len(designs):
            return around(self.x[chosen], log_weight[chosen], designs)
        return fitted(self.x[chosen], log_weight[chosen], self._rng(), slope)

    # -- gaps

    def _filled(self, fails: NDArray[np.bool_], log_w: Floats) -> Round | None:
        """Return points in the gaps between all points, once, or draws around those that failed."""
        if self._gaps is None and self.d <= GAPS_UP_TO:
            probability = float(np.exp(log_w[fails]).sum()) / len(log_w)
            points = gap_points(np.concatenate((self.x, self.more[0])), probability, self._rng())
            self._gaps = points[:0]
            return Round("gaps", len(points), points=points) if len(points) else None
        if self._gaps is None or not len(self._gaps):
            return None
        ends, self._gaps = self._gaps, self._gaps[:0]
        total = float(log_sum_exp(log_w[fails]))
        log_q = self._proposals.component_log_densities(ends)
        there = log_standard_normal(ends) - log_mixture(log_q, self._counts / self._counts.sum())
        uncovered = ends[there > total + math.log(_UNCOVERED)]
        if not len(uncovered):
            return None
        each = np.repeat(uncovered, len(_GAP_WIDTHS), axis=0)
        return self._drawn(Mixture.around(each, np.tile(_GAP_WIDTHS, len(uncovered))))

    def _finish_target(self) -> None:
        self.found.append(self._fit(self._target))
        self._descent = None
        self._begin_target()

    # -- what was found

    def _fit(self, event: int) -> Mixture | None:
        fails = self.events[:, event] < 0
        if fails.sum() < _FEW:
            return None
        latest = slice(-_LATEST * self.d, None)
        slope = Slope(self.x[latest], self.events[latest, event]) if self.d > HIGH else None
        return self._fits(fails, event, self.log_weight, slope)

    def refit(self) -> None:
        """Fit every target again, from everything that was drawn since."""
        self.rounds += 1
        self.found = [self._fit(event) for event in self._targets]

    def frozen(self, *, guarded: bool = False) -> Frozen:
        """Return the mixture that the estimate is drawn from.

        If it is `guarded`, half of the draws are nominal. Then no draw has a weight above 2, and
        the variance is at most twice that of plain draws, however poor the fit is.
        """
        wide, found = scouts(self.d), [each for each in self.found if each is not None]
        if not found:  # nothing fails so far: half of the draws are nominal
            return Frozen(replace(wide, shares=np.array([0.5, 0.25, 0.25])))
        fits = Mixture.mixed(found, [1 / len(found)] * len(found))
        twins = Mixture.around(fits.means, 1.0, fits.shares)
        mixture = Mixture.mixed((fits, twins, wide), _FROZEN)
        if guarded:
            shares = mixture.shares / 2
            shares[-SCOUTS] += 0.5
            mixture = replace(mixture, shares=shares)
        return Frozen(mixture, len(fits))
