"""Learning: a Gaussian process of a limit state chooses the calls that say most about its limit.

The chance that a point fails by the surrogate is m. The doubt S is the mean of sqrt(m (1 - m))
under the normal distribution. The next call is the one that leaves the least doubt (stepwise
uncertainty reduction; Bect, Ginsbourger, Li, Picheny and Vazquez, Statistics and Computing 22,
2012).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.data.draws import Floats
from croupier.rare.components import Frozen, mixture_of, scout_widths
from croupier.rare.free_points import POINTS, Population, aimed
from croupier.searching.one_thread import one_thread
from croupier.searching.surrogate import MOST_DOUBT, Surrogate, View, surrogate_of
from croupier.seeds import POLICY, stream

__all__ = [
    "LEARNED_UP_TO",
    "LOOKED_THROUGH",
    "MOST_LEARNED",
    "MOST_POINTS",
    "Known",
    "Learning",
]

#: In more dimensions a few hundred points are too few for a process.
LEARNED_UP_TO: Final = 10

#: More calls are better spent on fresh draws.
MOST_LEARNED: Final = 150

#: The look-ahead: so many candidates, judged at so many points.
_CANDIDATES: Final = 40
_JUDGED: Final = 300

#: Every so many calls one explores: before a failure was seen or while half spaces are overlooked,
#: and after.
_EXPLORE: Final = (2, 4)

#: In so many dimensions directions can be looked through. A half space without a point that has so
#: many times the value is overlooked.
LOOKED_THROUGH: Final = 3
_LOOKS: Final = 400
_UNSEEN: Final = 10.0
_DIRECTIONS: Final = 200
_BEYOND: Final = 0.3

#: A process of more points costs more than they help; those near the limit lie too close together.
MOST_POINTS: Final = 300

#: So many known points near the limit are called again: another model may agree elsewhere.
_REPEATED: Final = 3

#: The errors of so many predictions, or of the latest third of all points, correct the next ones.
_FEWEST_JUDGED: Final = 8

#: The surrogate is fitted again when it knows a quarter more.
_AGAIN: Final = 1.25

#: The streams of learning begin here; those of the search and of controls are elsewhere.
_STREAMS: Final = 2_000_000


class Known(NamedTuple):
    """Points x (n, d) in normal space and the limit state g (n,) there."""

    x: Floats
    g: Floats


class Doubt(NamedTuple):
    """What a surrogate says: the probability of a failure M, and the doubt S about it."""

    failing: float
    doubt: float


class Learning:
    """What was evaluated, x (n, d) and g (n,), and where the next calls should be.

    Half of the first calls are draws of the normal distribution. Points `starts` (k, d) that one
    knows and Sobol points of wider normal distributions follow. Points that are `known` from
    elsewhere are learned, too, and are no calls. Everything depends on the points, their values and
    the seed only. `phases` says why each call was made: it is "plain", "learning" or "fresh".
    """

    def __init__(
        self, d: int, seed: int, starts: Floats | None = None, known: Known | None = None
    ) -> None:
        self.d, self.seed = d, seed
        begin = np.empty((0, d)) if starts is None else starts
        self._known = Known(np.empty((0, d)), np.empty(0)) if known is None else _most_useful(known)
        self._given = np.concatenate((begin, self._known.x[:_REPEATED]))
        self.x, self.g = self._known
        self.told_before = len(self._known.x)
        self.contradicted = False
        self.surrogate: Surrogate | None = None
        self.mixture = mixture_of(None, d, 0.0)
        self.phases: NDArray[np.str_] = np.empty(0, "<U8")
        self._compared = False
        self._missed = np.empty((0, 2))
        self._fitted_at = self._steps = 0
        self._weights = np.empty(0)
        self._view: View | None = None
        self._called: list[int] = []

    def __len__(self) -> int:
        return len(self.x) - len(self._known.x)

    @property
    def _design(self) -> int:
        return max(12, 2 * self.d + 6)

    @property
    def first_calls(self) -> int:
        """How many calls come before the process learns: fewer if enough points are known."""
        enough = len(self._known.x) >= self._design
        return (self.plain_calls if enough else self._design) + len(self._given)

    @property
    def plain_calls(self) -> int:
        """How many of the first calls are draws of the normal distribution itself."""
        return max(6, self._design // 3)

    @property
    def chosen_calls(self) -> int:
        """How many calls were no draws of the normal distribution itself: they were chosen."""
        return int(np.count_nonzero(self.phases != "plain"))

    @property
    def missing(self) -> int:
        """How many of the first calls that are chosen were not made."""
        return max(0, self.first_calls - self.plain_calls - self.chosen_calls)

    @property
    def plain(self) -> Known:
        """The draws of the normal distribution itself, and g there."""
        x, g = self.called
        plain = self.phases == "plain"
        return Known(x[plain], g[plain])

    @property
    def called(self) -> Known:
        """The points of all calls, and g there."""
        k = len(self._known.x)
        return Known(self.x[k:], self.g[k:])

    @property
    def learnable(self) -> bool:
        """Whether g is more than two numbers: then there is something to learn."""
        return len(np.unique(self.g[np.isfinite(self.g)])) > 2

    @property
    def behind(self) -> bool:
        """Whether fresh calls were made that the process does not know."""
        if self.surrogate is None:
            return False
        return len(self.surrogate.x) < min(len(self.x), MOST_POINTS)

    @property
    def informed(self) -> int:
        """How many points the process knows, called or not."""
        return len(self.x)

    @property
    def failures(self) -> int:
        """How many calls fail."""
        return int(np.count_nonzero(self.called.g < 0))

    def add(self, x: Floats, g: Floats, phase: str = "learning") -> None:
        """Take points (n, d) and the limit state there (n,); those that are "plain" were drawn."""
        self.keep(x, g, phase)
        if len(self._known.x) and not self._compared and not self.missing:
            self._compare()
        elif self.surrogate is not None and self._view is not None:
            with one_thread():
                self.surrogate = self.surrogate.with_points(x, g)
                self._view = self._view.learned(self.surrogate)

    def keep(self, x: Floats, g: Floats, phase: str = "fresh") -> None:
        """Take fresh calls: the surrogate learns them when it is fitted again."""
        if self.surrogate is not None:
            with one_thread():
                missed = np.column_stack(self.surrogate.missed(x, g))
            self._missed = np.concatenate((self._missed, missed))
        self.x, self.g = np.concatenate((self.x, x)), np.concatenate((self.g, g))
        self.phases = np.concatenate((self.phases, np.full(len(x), phase, "<U8")))

    def _compare(self) -> None:
        """Forget the known points if a process that is fitted to them misses the first calls.

        It does not know those that were repeated: at a point that it knows, noise is a surprise.
        """
        self._compared = True
        others = Known(self._known.x[_REPEATED:], self._known.g[_REPEATED:])
        if len(others.x) <= self.d + 1:
            return
        with one_thread():
            told = surrogate_of(*others)
            z, _ = told.missed(*self.called)
        plain = self.phases == "plain"
        parts = [part for part in (z[plain], z[~plain]) if len(part)]
        if max(float(np.mean(np.square(part))) for part in parts) > (MOST_DOUBT * told.kappa) ** 2:
            self._forget()

    def _forget(self) -> None:
        """Forget the known points: they are from another function."""
        self.x, self.g = self.called
        self._known = Known(self.x[:0], self.g[:0])
        self._missed, self.surrogate, self._view = self._missed[:0], None, None
        self.contradicted = True

    def settle(self) -> None:
        """Fit the process to everything that is known, if it is not."""
        new = self._fitted_at < len(self.x)
        if self.surrogate is None or (new and len(self.called.x) < MOST_POINTS):
            self.refit(last=True)

    def draws(self, n: int) -> Floats:
        """Return n draws (n, d) of the normal distribution itself."""
        return self._rng().standard_normal((n, self.d))

    def first(self, n: int) -> Floats:
        """Return n of the first points that are chosen: given, or wider than the distribution."""
        from scipy.special import ndtri
        from scipy.stats.qmc import Sobol

        given = self._given[self.chosen_calls :][:n]
        n -= len(given)
        if not n:
            return given
        cube = Sobol(self.d, rng=self._rng()).random_base2(math.ceil(math.log2(n)))[:n]
        widths = np.resize(scout_widths(self.d)[1:], n)
        wide = ndtri(np.clip(cube, 1e-9, 1 - 1e-9)) * widths[:, None]
        return np.concatenate((given, wide))

    def _rng(self) -> np.random.Generator:
        self._steps += 1
        return stream(self.seed, POLICY, _STREAMS + self._steps)

    # -- the surrogate

    def look(self, rng: np.random.Generator) -> tuple[Surrogate, Frozen]:
        """Return a process of everything so far, and a mixture where it may be below 0.

        Nothing is kept of it: learning does not depend on how often it is looked at.
        """
        with one_thread():
            found = surrogate_of(*self._used(self.called)).doubted(self._kappa())
            return found, aimed(found, mixture_of(None, self.d, 0.0), lambda: rng, last=False)

    def refit(self, *, last: bool = False) -> None:
        """Fit the process, and draw new points where it says that g may be below 0.

        While it learns, a rough mixture will do; the `last` one is shown as the modes.
        """
        kappa = self._kappa()
        if kappa > MOST_DOUBT and len(self._known.x):
            self._forget()
            kappa = 1.0
        with one_thread():
            found = surrogate_of(*self._used(self.called), self.surrogate)
            self.surrogate = found.doubted(kappa)
            self._fitted_at = len(self.x)
            self.mixture = aimed(self.surrogate, self.mixture, self._rng, last=last)
            population = Population.drawn(self.mixture, POINTS, self._rng())
            self._weights = population.weights / POINTS
            self._view, self._called = self.surrogate.view(population.points), []

    def _used(self, called: Known) -> Known:
        """Return the points of a fit: calls, and known points while there is room."""
        x, g = np.concatenate((called.x, self._known.x)), np.concatenate((called.g, self._known.g))
        return Known(x[:MOST_POINTS], g[:MOST_POINTS])

    def _kappa(self) -> float:
        """Return the root of the mean square error of the latest predictions, in their own errors.

        They were made before the calls. A process that is fitted to few points can have small
        leave-one-out errors and be wrong all the same.
        """
        z, counts = self._missed[-max(_FEWEST_JUDGED, len(self.x) // 3) :].T
        if len(z) < _FEWEST_JUDGED:
            return 1.0
        return float(np.sqrt(counts @ np.square(z) / counts.sum()))

    def known(self) -> Doubt:
        """Return the probability by the surrogate and the doubt about it."""
        assert self._view is not None
        m = self._view.chance
        return Doubt(float(self._weights @ m), float(self._weights @ np.sqrt(m * (1 - m))))

    # -- the next calls

    def next(self, q: int) -> Floats:
        """Return the next q points (q, d), chosen together."""
        if self.surrogate is None or len(self.x) >= _AGAIN * self._fitted_at:
            self.refit()
        assert self._view is not None
        points: list[Floats] = []
        view, overlooked = self._view, self.overlooks(self.known().failing)
        with one_thread():
            for k in range(q):
                every = _EXPLORE[self.failures > 0 and not overlooked]
                if (len(self.x) + k) % every == every - 1:
                    points.append(self._unseen(np.array([*self.x, *points])))
                    continue
                chosen = self._most_telling(view)
                self._called.append(chosen)
                points.append(view.points[chosen])
                if k + 1 < q:
                    believed = view.surrogate.imagining(points[-1][None], view.h[[chosen]])
                    view = view.learned(believed)
        return np.array(points)

    def _most_telling(self, view: View) -> int:
        """Return the point whose call leaves the least doubt.

        After a call at a, m (1 - m) at b is 2 T(h/s, sqrt((1 - r)/(1 + r))) on average, with Owen's
        T and the squared correlation r of the values at a and b.
        """
        from scipy.special import owens_t

        m = view.chance
        doubt = np.sqrt(m * (1 - m))
        total = float(self._weights @ doubt)
        rng = self._rng()
        judged = candidates = np.empty(0, np.intp)
        if total > 0:
            judged = _picked(self._weights * doubt, _JUDGED, rng)
            candidates = np.setdiff1d(
                _picked(self._weights * doubt, _CANDIDATES, rng), self._called
            )
        if not len(candidates):  # nothing is in doubt, but at points that were called
            away = np.abs(view.h / view.s)
            away[self._called] = np.inf
            return int(away.argmin())
        r = view.squared_correlation(candidates, judged)
        t = (view.h / view.s)[judged]
        left = np.sqrt(2.0 * owens_t(t, np.sqrt((1 - r) / (1 + r)))) / doubt[judged]
        after = left.mean(axis=1)
        return int(candidates[after.argmin()])

    @property
    def unseen(self) -> float:
        """The probability of the nearest half space that has no point; 0 in many dimensions."""
        from scipy.special import ndtr

        if self.d > LOOKED_THROUGH:
            return 0.0
        away = np.random.default_rng(0).standard_normal((_LOOKS, self.d))
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        return float(ndtr(-float((away @ self.x.T).max(axis=1).min())))

    def overlooks(self, failing: float) -> bool:
        """Tell whether a half space without a point is far more probable than a failure is."""
        return self.unseen > _UNSEEN * failing > 0

    def _unseen(self, x: Floats) -> Floats:
        """Return a point in the direction that was looked into least, a bit beyond the limit."""
        from scipy.special import ndtri

        away = self._rng().standard_normal((_DIRECTIONS, self.d))
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        least = int((away @ x.T).max(axis=1).argmin())
        beta = -float(ndtri(min(max(self.known().failing, 1e-9), 0.3)))
        return np.asarray((beta + _BEYOND) * away[least])


def _most_useful(known: Known) -> Known:
    """Return known points that a process has room for: those nearest to the limit come first."""
    order = np.abs(known.g).argsort(kind="stable")
    if len(order) > MOST_POINTS:
        near, rest = order[: MOST_POINTS // 2], order[MOST_POINTS // 2 :]
        even = np.linspace(0, len(rest) - 1, MOST_POINTS - len(near)).astype(np.int64)
        order = np.concatenate((near, rest[even]))
    return Known(known.x[order], known.g[order])


def _picked(weights: Floats, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return n indices with the chances of their weights, by systematic sampling."""
    ends = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(ends, (np.arange(n) + rng.random()) / n), len(ends) - 1)
