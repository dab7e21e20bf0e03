"""What the fresh draws of an epoch say: the evidence, its error, and whether it can be used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.annealing.chain_checks import bridged, chain_warnings
from croupier.annealing.evidence_rounds import Search
from croupier.annealing.model_warnings import contradictions, likelihood_warnings
from croupier.data.central_moments import effective_df
from croupier.data.draws import Floats
from croupier.distributions.weights import effective_size_of_logs, log_mean_exp, pareto_shape
from croupier.estimates.combiners import Pooled

__all__ = ["Drawn", "details_of", "pooled_of", "warnings_of"]

#: Below so many effective draws nothing is known about the error: a few draws carry the estimate,
#: and others as heavy were not seen. Below the second number a warning says so.
_USABLE: Final = 30.0
_FEW: Final = 100.0

#: With fewer possible prior points, a part of the posterior that lies apart from them may be
#: unseen, a tenth of it with this many: where the likelihood is 0, no climb leads there.
_POSSIBLE: Final = 30

#: Above this shape the weights have no mean; above the second, their error is not to be trusted
#: (Vehtari et al. 2024), as on a funnel.
_NO_MEAN: Final = 1.0
_UNRELIABLE: Final = 0.7

#: Points whose weight is e^-5 of the largest, or more, are where the posterior is.
_HEAVY: Final = 5.0


class Drawn(NamedTuple):
    """The log weights of fresh draws; their effective number, and the shape of their tail.

    `fitted_to` are the effective points that their distribution was fitted to.
    """

    logs: Floats
    effective: float
    shape: float
    fitted_to: float = math.inf

    @classmethod
    def of(cls, logs: Floats, fitted_to: float = math.inf) -> Drawn:
        """Return what these weights are worth."""
        effective = effective_size_of_logs(logs)
        positive = logs[logs > -np.inf]
        shape = pareto_shape(positive) if len(positive) else math.nan
        return cls(logs, effective, shape, fitted_to)

    @classmethod
    def rough(cls, log_value: float, draws: float) -> Drawn:
        """Return a value whose error is not known."""
        return cls(np.array([log_value]), 0.0, math.nan)

    @property
    def unusable(self) -> bool:
        """Whether the error of the estimate is not known."""
        return self.effective < _USABLE or (self.shape > _NO_MEAN and self.effective < _FEW)

    @property
    def uncertain(self) -> bool:
        """Whether a warning is due: a tail says little where weights vary less than their mean."""
        heavy = self.shape > _UNRELIABLE and 2 * self.effective < len(self.logs)
        return self.effective < _FEW or heavy


def pooled_of(drawn: Drawn) -> tuple[Pooled, int]:
    """Return the mean of the weights with its error, in units of 2^exponent, and the exponent."""
    logs, n = drawn.logs, len(drawn.logs)
    log_value = float(log_mean_exp(logs))
    exponent = round(log_value / math.log(2)) if math.isfinite(log_value) else 0
    draws = np.exp(logs - exponent * math.log(2))
    mean, weights = np.array([draws.mean()]), np.array([[0.0], [1.0]])
    known = n > 1 and not drawn.unusable
    away = draws - mean
    m2, m4 = float(np.square(away).sum()), float(np.square(np.square(away)).sum())
    variance = np.array([m2 / max(n - 1, 1) / n + (float(mean[0]) / drawn.fitted_to) ** 2])
    df = float(effective_df(n, m2, m4)) if m2 > 0 and n > 3 else 1.0
    varies = np.array([known and m2 > 0])
    return Pooled(mean, variance, np.array([max(df, 1.0)]), varies, weights, float(n)), exponent


def warnings_of(search: Search, drawn: Drawn | None) -> list[str]:
    """Return the warnings of a run: what it did not find, and what looks wrong in its model."""
    found = [*_of_answer(search, drawn), *_of_model(search)]
    if drawn is not None and not drawn.unusable:
        found += chain_warnings(search, drawn.logs)
    return found


def _of_model(search: Search) -> Sequence[str]:
    seen = search.population
    likelihood = seen.log_likelihood[: search.prior_points]
    weights = seen.log_weights()
    heavy = weights > weights.max(initial=-np.inf) - _HEAVY
    if not heavy.any():
        return likelihood_warnings(likelihood)
    typical = float(np.median(seen.log_prior[: search.prior_points]))
    there, d = float(seen.log_prior[heavy].max()), search.model.dimension
    return (*likelihood_warnings(likelihood), *contradictions(typical, there, d))


def _of_answer(search: Search, drawn: Drawn | None) -> list[str]:
    if drawn is None:
        return [
            f"the search was not finished after {search.spent:,} evaluations of the likelihood: "
            "the value is not usable, nothing is known about its error; give a larger budget"
        ]
    if drawn.effective == 0:
        return [
            f"the likelihood was 0 at all {search.spent:,} points: the value is not usable; if a "
            "small part of the prior is possible, give a prior that is nearer to it"
        ]
    few = f"the estimate rests on {drawn.effective:.0f} effective draws of {len(drawn.logs):,}"
    if drawn.unusable:
        return [
            f"{few}: the fitted mixture covers the posterior badly, and the value is not usable; "
            "give a larger budget"
        ]
    found = []
    if drawn.uncertain:
        found = [f"{few} (Pareto shape {drawn.shape:.2g}): its error may be larger; draw more"]
    possible = np.isfinite(search.population.log_likelihood[: search.prior_points]).sum()
    if possible < min(_POSSIBLE, search.prior_points):
        found.append(
            f"the likelihood was 0 at all but {possible} of {search.prior_points:,} prior points: "
            "a possible region apart from them may be missing; give a larger budget"
        )
    if search.still_finding:
        found.append(
            f"after {search.climbs} climbs to {len(search.peaks)} peaks their share of the budget "
            "was used up while they still found new ones: others may be missing; give a larger "
            "budget"
        )
    return found


def could_hide(search: Search) -> float:
    """Return the share of the prior that a basin needs to be seen in 19 of 20 runs: log(20)/n."""
    return min(1.0, math.log(20) / max(search.prior_points, 1))


def details_of(search: Search, drawn: Drawn | None) -> dict[str, Any]:
    """Return the details of a result, as plain data."""
    hidden = could_hide(search)
    epoch = search.epoch
    components = 0 if epoch is None or epoch.source.mixture is None else len(epoch.source.mixture)
    found: dict[str, Any] = {
        "evaluations": search.spent - (0 if drawn is None else len(drawn.logs)),
        "prior_points": search.prior_points,
        "climbs": search.climbs,
        "peaks": len(search.peaks),
        "steps": search.steps,
        "epochs": search.epochs,
        "components": components,
        "could_hide": hidden,
    }
    if drawn is not None:
        found["effective"], found["pareto_shape"] = drawn.effective, drawn.shape
    if drawn is not None and (joined := bridged(search, drawn.logs)) is not None:
        found["bridge"] = joined._asdict()
    looked = (
        f"{search.prior_points:,} prior points, peaks in {search.climbs} climbs: "
        f"{len(search.peaks)}, steps from the prior: {search.steps}, refits: {search.epochs}"
    )
    missed = f"a mode whose basin holds less than {hidden:.1g} of the prior"
    facts = [("search", looked), ("could be missed", missed)]
    if drawn is not None:
        worth = f"{drawn.effective:,.0f} of {len(drawn.logs):,}"
        facts.append(("effective draws", worth))
    return {"search": found, "facts": facts, "shown": ["estimate"]}
