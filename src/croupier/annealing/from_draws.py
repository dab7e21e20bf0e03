"""evidence_from_draws: log Z from draws of a posterior that one has, and its log joint density.

A mixture is fitted to the first half of each chain. Fresh draws of mixtures then make the estimate,
as in `evidence`; the second half checks it, by a bridge (Meng and Wong, Statistica Sinica 6, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Unpack

import numpy as np

from croupier.adapters.base import coordinate_names
from croupier.annealing.evidence_result import EvidenceResult
from croupier.annealing.models import LogLikelihood, log_density, takes_of
from croupier.data.draws import Floats
from croupier.distributions.fit import fit
from croupier.distributions.mixture import Mixture
from croupier.errors import PlanError
from croupier.functions.function import GRADIENT, LOG_LIKELIHOOD, Function
from croupier.running.settings import Options

__all__ = ["Chains", "evidence_from_draws", "read_chains"]

#: A search for parts that the chains have missed looks at points so many times as spread out.
_WIDER: Final = 3.0

#: Draws of the second half that check the answer: more would cost evaluations and show little.
_MOST_HELD: Final = 1000
_HELD_SHARE: Final = 0.1

#: Components are fitted with 5 degrees of freedom and drawn with 8, as in the search.
_FITTED_DF: Final = 5.0
_DRAWN_DF: Final = 8.0
_MOST_COMPONENTS: Final = 32
_FEWEST: Final = 20


_LOG_JOINT: Final = LOG_LIKELIHOOD._replace(name="log_joint")


class Chains(NamedTuple):
    """Draws of a posterior, (chains, n, d), and the names of the coordinates."""

    points: Floats
    names: tuple[str, ...]


def evidence_from_draws(
    log_joint: LogLikelihood,
    chains: Any,
    *,
    bounds: Sequence[tuple[float, float]] | None = None,
    gradient: Callable[[Any], Any] | None = None,
    vectorised: bool | None = None,
    **settings: Unpack[Options],
) -> EvidenceResult:
    """Estimate the evidence from draws of a posterior, such as those of MCMC.

    A mixture is fitted to the first half of every chain, and fresh draws of it are weighted by
    the log joint density, so the estimate does not depend on the autocorrelation of the chains.
    The second half checks it by a bridge: chains that have missed a part of the posterior, or that
    belong to another density, are noticed and said.

    Args:
        log_joint: The log of prior x likelihood with all constants, of points (n, d) or of one
            point (d,), in the coordinates of the draws; -inf where it is 0.
        chains: The draws: an array (n, d) or (chains, n, d), a mapping name -> (chains, n, ...),
            or an InferenceData or DataTree of ArviZ with a group `posterior`.
        bounds: (low, high) for each coordinate, with infinite ends where there is none. A positive
            parameter is then fitted by its logarithm.
        gradient: The gradient of `log_joint`; without it, climbs take differences.
        vectorised: Whether `log_joint` takes many points; if None, a few calls find out.
        **settings: Budgets and all other settings of `estimate`: ``draws=`` are evaluations of
            `log_joint`, ``rtol=`` is the half-width of log Z.

    Returns:
        An `EvidenceResult`, as `cr.evidence` does. `details["search"]["bridge"]` has that of the
        bridge.

    >>> import croupier as cr, scipy.stats as st
    >>> def log_joint(x):
    ...     return st.norm.logpdf(x[:, 0]) + st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> chain = np.random.default_rng(0).normal(0.8, 0.2**0.5, (1000, 1))
    >>> result = cr.evidence_from_draws(log_joint, chain, draws=5000, rng=7)
    >>> bool(abs(result.log_value - st.norm.logpdf(1.0, 0, 1.25**0.5)) < 4 * result.log_stderr)
    True
    """
    import scipy.stats as st

    from croupier.annealing.model_evidence import Start, looked_at, searched
    from croupier.running.settings import settings_of

    given = read_chains(chains)
    m, n, d = given.points.shape
    if n < _FEWEST or m * (n // 2) < 2 * d:
        raise PlanError(
            f"{m} chain{'s' * (m > 1)} of {n} draws in {d} dimensions are too few to fit a "
            f"distribution to: give chains of at least {max(_FEWEST, 4 * d // m + 1)} draws"
        )
    ends = _Ends.of(bounds, d)
    free = ends.to_free(given.points.reshape(-1, d)).reshape(m, n, d)
    first, second = free[:, : n // 2].reshape(-1, d), free[:, n // 2 :].reshape(-1, d)
    run_settings = settings_of(**settings)
    some = given.points[0, :: max(1, n // 20)]
    function = log_density(log_joint, some, _LOG_JOINT, takes_of(vectorised))
    centre, root = first.mean(axis=0), _root(first)
    reference = st.multivariate_normal(centre, _WIDER**2 * root @ root.T)
    rest = _Rest(function, ends, reference)
    slope = None
    if gradient is not None:
        slope = _RestSlope(Function(gradient, function.takes, GRADIENT, (d,)), ends, rest)
    budget = run_settings.budget
    most = min([_HELD_SHARE * each for each in (budget.draws, budget.cost) if each] or [_MOST_HELD])
    held = second[_evenly(len(second), int(min(most, _MOST_HELD)))]
    to_normal = np.linalg.inv(_WIDER * root).T
    found = fit(
        (first - centre) @ to_normal, np.ones(len(first)), df=_FITTED_DF, most=_MOST_COMPONENTS
    )
    start = Start(
        Mixture(found.shares, found.means, found.roots, _DRAWN_DF), (held - centre) @ to_normal
    )
    model = looked_at(rest, reference, vectorised=True)
    return searched(model, slope, run_settings, start, given.names, ends.to_user)


def read_chains(chains: Any) -> Chains:
    """Return the draws that a user gives as an array (chains, n, d) with names.

    >>> rng = np.random.default_rng(7)
    >>> read_chains({"mu": rng.random((2, 5)), "theta": rng.random((2, 5, 3))}).names
    ('mu', 'theta[0]', 'theta[1]', 'theta[2]')
    """
    posterior = getattr(chains, "posterior", None)
    if posterior is None and hasattr(chains, "children"):  # a DataTree without the attribute
        posterior = chains.children.get("posterior")
    if posterior is not None:
        chains = {str(name): np.asarray(posterior[name]) for name in posterior.data_vars}
    if isinstance(chains, Mapping):
        return _of_mapping(chains)
    try:
        points = np.asarray(chains, float)
    except (TypeError, ValueError):
        raise PlanError(
            f"chains cannot be {type(chains).__name__}: give an array (n, d) or (chains, n, d), a "
            "mapping name -> (chains, n, ...), or an InferenceData"
        ) from None
    if points.ndim == 2:
        points = points[None]
    if points.ndim != 3:
        raise PlanError(f"chains must be (n, d) or (chains, n, d), got the shape {points.shape}")
    return _checked(points, tuple(f"x{j}" for j in range(points.shape[2])))


def _of_mapping(chains: Mapping[str, Any]) -> Chains:
    parts = {str(name): np.asarray(value, float) for name, value in chains.items()}
    shapes = {part.shape[:2] for part in parts.values()}
    if not parts or len(shapes) > 1 or any(part.ndim < 2 for part in parts.values()):
        seen = {name: part.shape for name, part in parts.items()}
        raise PlanError(f"every parameter of chains must have the shape (chains, n, ...): {seen}")
    (both,) = shapes
    flat = [part.reshape(*both, -1) for part in parts.values()]
    names = coordinate_names({name: part.shape[2:] for name, part in parts.items()})
    return _checked(np.concatenate(flat, axis=2), names)


def _checked(points: Floats, names: tuple[str, ...]) -> Chains:
    if not np.isfinite(points).all():
        chain, draw, k = np.argwhere(~np.isfinite(points))[0]
        raise PlanError(
            f"chains must be finite: {names[k]} is {points[chain, draw, k]} at draw {draw} of "
            f"chain {chain}"
        )
    flat = points.reshape(-1, points.shape[2])
    if len(flat) and (fixed := np.flatnonzero(np.ptp(flat, axis=0) == 0)).size:
        raise PlanError(
            f"{names[fixed[0]]} is the same in all draws, {flat[0, fixed[0]]:g}: leave it out of "
            "chains, and put the number into log_joint"
        )
    return Chains(points, names)


def _evenly(n: int, most: int) -> Any:
    """Return the numbers of at most `most` of n rows, evenly spaced, in order."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, max(most, 2)).astype(int)


def _root(points: Floats) -> Floats:
    covariance = np.atleast_2d(np.cov(points.T))
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise PlanError(
            "some parameters of chains are functions of others, so the draws have no density: "
            "leave those out"
        ) from None


@dataclass(frozen=True)
class _Ends:
    """The ends of each coordinate: x = low + e^z, high - e^z, or low + (high - low)/(1 + e^-z)."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, bounds: Any, d: int) -> _Ends:
        if bounds is None:
            return cls(np.full(d, -np.inf), np.full(d, np.inf))
        ends = np.asarray(bounds, float)
        if ends.shape != (d, 2) or not (ends[:, 0] < ends[:, 1]).all():
            raise PlanError(f"bounds must be {d} pairs (low, high), got {bounds!r:.80}")
        return cls(ends[:, 0], ends[:, 1])

    def to_free(self, x: Floats) -> Floats:
        low, high = self.low, self.high
        if (bad := (x <= low) | (x >= high)).any():
            row, k = np.argwhere(bad)[0]
            raise PlanError(
                f"draw {row} has {x[row, k]:g} in coordinate {k}, outside of the bounds "
                f"({low[k]:g}, {high[k]:g})"
            )
        with np.errstate(invalid="ignore"):
            below, above = np.log(x - low), np.log(high - x)
            both = np.where(np.isfinite(high), below - above, below)
        known = np.isfinite(low), np.isfinite(high)
        return np.where(known[0], both, np.where(known[1], -above, x))

    def to_user(self, z: Floats) -> Floats:
        return self._mapped(z)[0]

    def _mapped(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return x, log dx/dz of each coordinate, and its derivative."""
        x, log_slope, bend = z.copy(), np.zeros(z.shape), np.zeros(z.shape)
        for k, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            column = z[:, k]
            if np.isfinite(low) and np.isfinite(high):
                share = 1 / (1 + np.exp(-np.clip(column, -700, 700)))
                x[:, k] = low + (high - low) * share
                softplus = np.logaddexp(0, column)
                log_slope[:, k] = math.log(high - low) + column - 2 * softplus
                bend[:, k] = 1 - 2 * share
            elif np.isfinite(low):
                x[:, k] = low + np.exp(np.minimum(column, 700))
                log_slope[:, k], bend[:, k] = column, 1.0
            elif np.isfinite(high):
                x[:, k] = high - np.exp(np.minimum(-column, 700))
                log_slope[:, k], bend[:, k] = -column, -1.0
        return x, log_slope, bend


@dataclass(frozen=True, eq=False)
class _Rest:
    """The log joint density in free coordinates, less the reference that the search begins at."""

    log_joint: Function
    ends: _Ends
    reference: Any

    def __call__(self, z: Floats) -> Floats:
        x, log_slope, _ = self.ends._mapped(z)
        value = self.log_joint(x) + log_slope.sum(axis=1)
        return np.asarray(value - np.reshape(self.reference.logpdf(z), len(z)))


@dataclass(frozen=True, eq=False)
class _RestSlope:
    """The gradient of the same."""

    gradient: Function
    ends: _Ends
    rest: _Rest

    def __call__(self, z: Floats) -> Floats:
        x, log_slope, bend = self.ends._mapped(z)
        slope = self.gradient(x) * np.exp(log_slope) + bend
        reference = self.rest.reference
        return np.asarray(slope + np.linalg.solve(reference.cov, (z - reference.mean).T).T)
