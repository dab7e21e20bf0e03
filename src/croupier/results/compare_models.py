"""compare: log Bayes factors of several models and their probabilities, with errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.results.result import Result
from croupier.seeds import RandomLike, seed_from, stream
from croupier.views import formats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Comparison", "compare"]

#: The purpose of the random numbers of `posterior`.
_PURPOSE: Final = 0x636D


def compare(
    *models: Result,
    names: Sequence[str] | None = None,
    prior: Sequence[float] | None = None,
    **named: Result,
) -> Comparison:
    """Compare models of the same data by the results of their `cr.evidence`.

    Args:
        *models: The results, or one mapping name -> result.
        names: The names of the models; by default "model 1", "model 2", ...
        prior: The probability of each model before the data; by default all are equal.
        **named: Further results by their names: ``cr.compare(linear=a, quadratic=b)``.

    Returns:
        A `Comparison`: `log_factors` to the best model, `probabilities`, their errors, `plot()`.

    Runs with the same seed share random numbers, so their errors are added; those of independent
    runs are combined as independent ones.

    >>> import croupier as cr, scipy.stats as st
    >>> def log_likelihood(x):
    ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> near = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
    >>> far = cr.evidence(log_likelihood, st.norm(0, 10), draws=5000, rng=8)
    >>> compared = cr.compare(near=near, far=far)
    >>> truth = st.norm.logpdf(1, 0, 1.25**0.5) - st.norm.logpdf(1, 0, 100.25**0.5)
    >>> bool(abs(compared.log_factor("near", "far")[0] - truth) < 0.1)
    True
    """
    given = _named(models, names, named)
    for name, result in given.items():
        if not isinstance(result, Result):
            raise PlanError(f"{name!r} must be a result of cr.evidence, got {result!r:.60}")
        if result.log_value is None or np.ndim(result.log_value):
            raise PlanError(f"{name!r} has no log(value): give results of cr.evidence")
    if len(given) < 2:
        raise PlanError("a comparison needs at least two models")
    weights = _prior_of(prior, len(given))
    return Comparison(tuple(given), tuple(given.values()), tuple(weights.tolist()))


def _named(
    models: Sequence[Any], names: Sequence[str] | None, named: Mapping[str, Any]
) -> dict[str, Any]:
    if len(models) == 1 and isinstance(models[0], Mapping):
        if names is not None:
            raise PlanError("a mapping has names already: leave out names=")
        found = {str(name): result for name, result in models[0].items()}
    else:
        if names is None:
            names = [f"model {k}" for k in range(1, len(models) + 1)]
        if isinstance(names, str) or len(names) != len(models):
            raise PlanError(f"names must be {len(models)} names, got {names!r}")
        found = dict(zip(map(str, names), models, strict=True))
        if len(found) < len(models):
            raise PlanError(f"the names of the models must differ, got {list(names)!r}")
    if twice := found.keys() & named.keys():
        raise PlanError(f"two models have the name {min(twice)!r}")
    return {**found, **named}


def _prior_of(prior: Sequence[float] | None, count: int) -> Floats:
    weights = np.ones(count) if prior is None else np.asarray(prior, float)
    if weights.shape != (count,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise PlanError(f"prior must be {count} positive numbers, one per model, got {prior!r}")
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models of the same data, compared by their evidences.

    `prior` has the probability of each model before the data, `probabilities` those after it.
    """

    names: tuple[str, ...]
    results: tuple[Result, ...]
    prior: tuple[float, ...]

    @property
    def log_values(self) -> Floats:
        """The log evidence of each model."""
        return np.array([float(result.log_value) for result in self.results])

    @property
    def best(self) -> str:
        """The model with the largest evidence."""
        return self.names[int(self.log_values.argmax())]

    def _of(self, name: str) -> Result:
        if name not in self.names:
            raise PlanError(f"{name!r} is not a model: there are {', '.join(self.names)}")
        return self.results[self.names.index(name)]

    def log_factor(self, first: str, second: str) -> tuple[float, float, tuple[float, float]]:
        """Return the log Bayes factor of two models, its standard error and its interval.

        The interval combines both intervals (Zou and Donner 2008, the method MOVER): squared
        distances add up for independent runs, distances for runs that share a seed.
        """
        a, b = self._of(first), self._of(second)
        value = float(a.log_value) - float(b.log_value)
        together = _added if a.seed == b.seed else math.hypot
        (a_low, a_high), (b_low, b_high) = _ends(a), _ends(b)
        error = together(_error(a), _error(b))
        down = together(float(a.log_value) - a_low, b_high - float(b.log_value))
        up = together(a_high - float(a.log_value), float(b.log_value) - b_low)
        return value, error, (value - down, value + up)

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of each model after the data."""
        return dict(zip(self.names, self._probabilities().tolist(), strict=True))

    def _probabilities(self) -> Floats:
        logs = self.log_values + np.log(self.prior)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    @property
    def probability_errors(self) -> dict[str, float]:
        """The standard error of each probability, by the delta method.

        The derivative of p_i by log Z_j is p_i (1[i = j] - p_j).
        """
        p = self._probabilities()
        errors = np.array([_error(result) for result in self.results])
        slopes = np.abs(p[:, None] * (np.eye(len(p)) - p))
        with np.errstate(invalid="ignore"):
            terms = np.where(slopes > 0, slopes * errors, 0.0)
        shared = len({result.seed for result in self.results}) < len(self.results)
        total = terms.sum(axis=1) if shared else np.sqrt(np.square(terms).sum(axis=1))
        return dict(zip(self.names, total.tolist(), strict=True))

    def posterior(self, n: int = 1000, *, rng: RandomLike = None) -> dict[str, Any]:
        """Return n draws of the parameters averaged over the models: draws of each by its name.

        The number of draws of a model is multinomial with its probability; models without draws
        are left out.
        """
        generator = stream(self.results[0].seed if rng is None else seed_from(rng), _PURPOSE, 0)
        numbers = generator.multinomial(count_of("n", n), self._probabilities())
        drawn = {}
        for name, result, number in zip(self.names, self.results, numbers.tolist(), strict=True):
            draw = getattr(result, "posterior", None)
            if draw is None:
                raise PlanError(f"{name!r} has no posterior: it is not a result of cr.evidence")
            if number:
                drawn[name] = draw(number, rng=generator)
        return drawn

    def summary(self) -> str:
        """Return the comparison as a plain text table, the best model first."""
        errors, probabilities = self.probability_errors, self.probabilities
        order = sorted(self.names, key=lambda name: -float(self._of(name).log_value))
        width = max(map(len, [*self.names, "model"]))
        lines = [f"{'model':{width}}  {'log Z':>20}  {'log factor':>20}  probability"]
        for name in order:
            result = self._of(name)
            own = formats.number(float(result.log_value), _error(result), formats.log_rounding)
            factor = "-"
            if name != order[0]:
                value, error, _ = self.log_factor(name, order[0])
                factor = formats.number(value, error, formats.log_rounding)
            share = formats.number(probabilities[name], errors[name])
            lines.append(f"{name:{width}}  {own:>20}  {factor:>20}  {share}")
        lines.append("")
        lines.append(f"log factor: against {order[0]!r}, the model with the largest evidence")
        for name in order:
            lines += [f"warning ({name}): {text}" for text in self._of(name).warnings]
        return "\n".join(lines)

    def __str__(self) -> str:
        return formats.for_terminal(self.summary())

    def __repr__(self) -> str:
        each = ", ".join(f"{name} {p:.3g}" for name, p in self.probabilities.items())
        return f"<Comparison {each}>"

    def to_dict(self) -> dict[str, Any]:
        """Return names, log evidences, errors, probabilities and prior as plain data."""
        return {
            "models": list(self.names),
            "log_values": self.log_values.tolist(),
            "log_stderrs": [_error(result) for result in self.results],
            "probabilities": list(self.probabilities.values()),
            "probability_errors": list(self.probability_errors.values()),
            "prior": list(self.prior),
        }

    def plot(self, *, figure: Figure | None = None) -> Figure:
        """Draw the log evidence of each model with its interval, and the probabilities."""
        from croupier.views.model_plot import plot_models

        ends = [_ends(result) for result in self.results]
        return plot_models(
            list(self.names), self.log_values.tolist(), ends, self.probabilities, figure=figure
        )


def _added(a: float, b: float) -> float:
    return a + b


def _error(result: Result) -> float:
    return math.inf if result.log_stderr is None else float(result.log_stderr)


def _ends(result: Result) -> tuple[float, float]:
    low, high = result.log_interval or (-math.inf, math.inf)
    return float(low), float(high)
