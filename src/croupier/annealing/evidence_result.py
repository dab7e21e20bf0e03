"""EvidenceResult: log Z, and draws from the posterior out of the run's own weighted draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.distributions.weights import effective_size, normalised, systematic
from croupier.errors import CroupierWarning, MissingExtraError, PlanError
from croupier.results.result import Result
from croupier.seeds import RandomLike, seed_from, stream

__all__ = ["EvidenceResult", "Posterior"]

#: The purpose of the random numbers.
_PURPOSE: Final = 0x706F

#: If the draws are worth less than this share of their number, a warning says so.
_POOR: Final = 0.1


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior, (n, d), equally weighted, with the names of the coordinates.

    A mean over these draws has the variance of a mean over `effective` independent draws: the
    variance of the weights, and that of resampling. `parameters` are those of a model by their
    names, if it has some, and `log_likelihood` is that of each draw.
    """

    points: Floats
    names: tuple[str, ...]
    effective: float
    parameters: Mapping[str, Floats] = field(default_factory=dict)
    log_likelihood: Floats = field(default_factory=lambda: np.empty(0))

    def __getitem__(self, name: str) -> Floats:
        """Return the draws of a parameter, (n, ...), or of one coordinate, (n,)."""
        if name in self.parameters:
            return np.asarray(self.parameters[name])
        if name not in self.names:
            known = ", ".join(dict.fromkeys((*self.parameters, *self.names)))
            raise KeyError(f"{name!r} is not a coordinate: there are {known}")
        return np.asarray(self.points[:, self.names.index(name)])

    def __len__(self) -> int:
        return len(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return the draws as an array (n, d), for numpy."""
        return np.array(self.points, dtype=dtype, copy=copy)

    def to_dict(self) -> dict[str, Floats]:
        """Return the draws by name, each (1, n, ...): one chain, as ArviZ wants them."""
        return {name: self[name][None] for name in self.parameters or self.names}

    def to_inferencedata(self) -> Any:
        """Return the draws for ArviZ, with the log-likelihood of each draw as `lp_likelihood`."""
        try:
            import arviz
        except ImportError as error:
            raise MissingExtraError("InferenceData needs", "arviz", "arviz") from error
        statistics = {"lp_likelihood": self.log_likelihood[None]}
        return arviz.from_dict(posterior=self.to_dict(), sample_stats=statistics)

    @property
    def mean(self) -> Floats:
        """The mean of each coordinate."""
        return np.asarray(self.points.mean(axis=0))

    @property
    def stderr(self) -> Floats:
        """The standard error of each mean."""
        return np.asarray(self.points.std(axis=0) / np.sqrt(self.effective))


def _as_they_are(points: Floats) -> Floats:
    return points


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceResult(Result):
    """The result of `cr.evidence`; `posterior` draws from the posterior.

    `points` (n, d) are all points of the run in the coordinates of its search, `log_weights` their
    weights for the posterior, and `place` takes points to the user's parameters. `names` are those
    of the coordinates, if they are known.
    """

    points: Floats = field(default_factory=lambda: np.empty((0, 0)))
    log_weights: Floats = field(default_factory=lambda: np.empty(0))
    place: Callable[[Floats], Floats] = _as_they_are
    names: tuple[str, ...] = ()
    named: Callable[[Floats], Mapping[str, Floats]] | None = None
    log_likelihood: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def weighted(
        cls,
        result: Result,
        points: Floats,
        log_weights: Floats,
        details: Mapping[str, Any],
        log_likelihood: Floats | None = None,
    ) -> EvidenceResult:
        """Return a result with the weighted points of its run."""
        known = {each.name: getattr(result, each.name) for each in fields(Result)}
        counts = log_weights > -np.inf
        known["details"] = details
        kept = np.empty(0) if log_likelihood is None else log_likelihood[counts]
        return cls(
            **known, points=points[counts], log_weights=log_weights[counts], log_likelihood=kept
        )

    def __getstate__(self) -> dict[str, Any]:
        # The map of a prior may not be picklable; its points always are.
        there = self.place(self.points) if len(self.points) else self.points
        return {**vars(self), "points": there, "place": _as_they_are, "named": None}

    def posterior(
        self, n: int = 1000, *, names: Sequence[str] | None = None, rng: RandomLike = None
    ) -> Posterior:
        """Return n draws from the posterior, resampled from the weighted draws of the run.

        The likelihood is not evaluated. `names` are those of the coordinates, by default x0, x1,
        ... Without `rng`, the draws depend on the seed of the run.

        >>> import croupier as cr, scipy.stats as st
        >>> def log_likelihood(x):
        ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
        >>> result = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
        >>> draws = result.posterior(4000, names=["mu"])
        >>> bool(abs(draws["mu"].mean() - 0.8) < 4 * draws.stderr[0])
        True
        """
        number = count_of("n", n)
        if not len(self.points):
            raise PlanError(
                "this result has no draws of a posterior: it was read from a file, or made by a "
                "ladder of your own; call evidence again, with the same store= if it has one"
            )
        seed = self.seed if rng is None else seed_from(rng)
        weights = normalised(self.log_weights)
        rows = np.array(systematic(stream(seed, _PURPOSE, 1), weights, number))
        stream(seed, _PURPOSE, 2).shuffle(rows)
        seen = np.array(self.place(self.points[rows]))
        parameters = {} if self.named is None or names else self.named(seen)
        effective = 1 / (1 / float(effective_size(weights)) + 1 / number)
        if effective < _POOR * number:
            warnings.warn(
                f"{number} draws from the posterior are worth only {effective:.0f} independent "
                "draws: ask for fewer, or give the run a larger budget",
                CroupierWarning,
                stacklevel=2,
            )
        named = _named(names or self.names or None, seen.shape[1])
        logs = self.log_likelihood[rows] if len(self.log_likelihood) else np.empty(0)
        return Posterior(seen, named, effective, parameters, logs)


def _named(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    given = tuple(f"x{i}" for i in range(d)) if names is None else tuple(map(str, names))
    if len(given) != d or len(set(given)) != d:
        raise PlanError(f"names must be {d} different names, got {names!r}")
    return given
