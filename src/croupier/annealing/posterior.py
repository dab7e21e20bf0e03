"""Draws from the posterior, as a by-product of the evidence.

The arms of a run are importance samplers of prior x likelihood, so their points with their weights
are a sample of the posterior. Fresh points are drawn from the best arm, and resampled.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from croupier.annealing.annealed import Annealed
from croupier.annealing.fitted import Fitted, FittedModes
from croupier.annealing.models import Model
from croupier.annealing.pilots import systematic
from croupier.annealing.prior_transforms import OnCube
from croupier.annealing.rungs import Later, Rung
from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import CroupierWarning, PlanError
from croupier.results.result import Result
from croupier.seeds import RandomLike, seed_from, stream

__all__ = ["EvidenceResult", "Posterior"]

#: The purpose of the random numbers.
_PURPOSE: Final = 0x706F

#: Points are drawn until they are worth this many times the wanted number, or until there are so
#: many for each that is wanted.
_WORTH: Final = 4.0
_MOST: Final = 200

#: If the draws are worth less than this share of their number, a warning says so.
_POOR: Final = 0.1


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior, (n, d), equally weighted, with the names of the coordinates.

    A mean over these draws has the variance of a mean over `effective` independent draws: the
    variance of the weights, and that of resampling. `evaluations` is what they took.
    """

    points: Floats
    names: tuple[str, ...]
    effective: float
    arm: str
    evaluations: int

    def __getitem__(self, name: str) -> Floats:
        """Return the draws of one coordinate, (n,)."""
        if name not in self.names:
            raise KeyError(f"{name!r} is not a coordinate: there are {', '.join(self.names)}")
        return np.asarray(self.points[:, self.names.index(name)])

    def __len__(self) -> int:
        return len(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return the draws as an array (n, d), for numpy."""
        return np.array(self.points, dtype=dtype, copy=copy)

    def to_dict(self) -> dict[str, Floats]:
        """Return the draws by name, each (1, n): one chain, as ArviZ wants them."""
        return {name: self[name][None] for name in self.names}

    @property
    def mean(self) -> Floats:
        """The mean of each coordinate."""
        return np.asarray(self.points.mean(axis=0))

    @property
    def stderr(self) -> Floats:
        """The standard error of each mean."""
        return np.asarray(self.points.std(axis=0) / np.sqrt(self.effective))


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceResult(Result):
    """The result of `cr.evidence`; `posterior` draws from the posterior."""

    rungs: tuple[Rung, ...] = ()

    @classmethod
    def sampled(cls, result: Result, rungs: Sequence[Rung], **changed: Any) -> EvidenceResult:
        """Return a result that can draw with these arms; some of its fields are `changed`."""
        known = {field.name: getattr(result, field.name) for field in fields(Result)}
        return cls(**{**known, **changed}, rungs=tuple(rungs))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "rungs": ()}  # a likelihood may not be picklable

    def posterior(
        self, n: int = 1000, *, names: Sequence[str] | None = None, rng: RandomLike = None
    ) -> Posterior:
        """Return n draws from the posterior, resampled from weighted draws of the best arm.

        `names` are those of the coordinates, by default x0, x1, ... Without `rng`, the draws
        depend on the seed of the run.

        >>> import croupier as cr, scipy.stats as st
        >>> def log_likelihood(x):
        ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
        >>> result = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
        >>> draws = result.posterior(4000, names=["mu"])
        >>> bool(abs(draws["mu"].mean() - 0.8) < 4 * draws.stderr[0])
        True
        """
        number = count_of("n", n)
        if not self.rungs:
            raise PlanError(
                "a result that was read from a file has no likelihood to draw with: call evidence "
                "again with the same store="
            )
        seed = self.seed if rng is None else seed_from(rng)
        arm = self._best()
        points, logs, evaluations = _weighted(arm, stream(seed, _PURPOSE, 0), number)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        worth = 1 / float(weights @ weights)
        kept = systematic(stream(seed, _PURPOSE, 1), weights, number)
        seen = _parameters(arm.model, points[kept])
        stream(seed, _PURPOSE, 2).shuffle(seen)
        effective = 1 / (1 / worth + 1 / number)
        if effective < _POOR * number:
            warnings.warn(
                f"{number} draws from the posterior are worth only {effective:.0f} independent "
                f"draws: the weights of arm {arm.__name__!r} vary much",
                CroupierWarning,
                stacklevel=2,
            )
        return Posterior(seen, _named(names, seen.shape[1]), effective, arm.__name__, evaluations)

    def _best(self) -> Annealed | Fitted | FittedModes:
        """Return the arm whose points are worth most for their evaluations."""
        best, least = None, np.inf
        for row, rung in zip(self.arms, self.rungs, strict=True):
            if row.draws < 2 or row.relative_deviation is None:
                continue
            arm = rung.arm if isinstance(rung, Later) else rung
            spread = float(row.relative_deviation)
            price = (1 + spread**2) * arm.evaluations
            if price < least:
                best, least = arm, price
        if best is None:
            raise PlanError("no arm has draws yet: give a larger budget")
        return best


def _weighted(
    arm: Annealed | Fitted | FittedModes, rng: np.random.Generator, number: int
) -> tuple[Floats, Floats, int]:
    """Return points and log-weights that are worth enough draws, and the evaluations they took."""
    parts: list[tuple[Floats, Floats]] = []
    drawn, worth = 0, 0.0
    while worth < _WORTH * number and drawn < _MOST * number:
        rate = max(worth / drawn, 1 / _MOST) if drawn else 0.5
        size = int(np.clip((_WORTH * number - worth) / rate, 1, 20_000))
        parts.append(arm.weighted(rng, size))
        drawn += size
        logs = np.concatenate([each for _, each in parts])
        if logs.max() > -np.inf:
            weights = np.exp(logs - logs.max())
            worth = float(weights.sum()) ** 2 / float(weights @ weights)
    if not worth:
        raise PlanError(f"{drawn} draws of arm {arm.__name__!r} have the likelihood 0")
    points = np.concatenate([each for each, _ in parts])
    return points, logs, round(drawn * arm.evaluations)


def _parameters(model: Model, points: Floats) -> Floats:
    """Return points as the user's parameters."""
    seen = model.seen(points)
    function = model.log_likelihood
    return np.array(function.parameters(seen) if isinstance(function, OnCube) else seen)


def _named(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    given = tuple(f"x{i}" for i in range(d)) if names is None else tuple(map(str, names))
    if len(given) != d or len(set(given)) != d:
        raise PlanError(f"names must be {d} different names, got {names!r}")
    return given
