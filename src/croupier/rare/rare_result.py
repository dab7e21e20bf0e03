"""ProbabilityResult: a result with what the search found, the reliability index and the modes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats
from croupier.distributions.normal import log_standard_normal
from croupier.estimates.estimate import Estimate
from croupier.estimates.few_hits import FEW_HITS
from croupier.rare.components import scout_widths, scouts
from croupier.rare.epoch_answer import Epoch
from croupier.rare.fit import HIGH
from croupier.rare.search import Search
from croupier.results.result import Result
from croupier.tables.aim import Aim

__all__ = [
    "Evidence",
    "ProbabilityResult",
    "apart",
    "details_of",
    "facts_of",
    "reliability",
    "warnings_of",
]

#: If draws that only the scouts explain have this share of the probability, a mode was missed.
_UNEXPLAINED: Final = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityResult(Result):
    """The result of `cr.probability`: what the search found is in `details`, as plain data."""

    @classmethod
    def detailed(cls, result: Result, details: Mapping[str, Any]) -> ProbabilityResult:
        """Return a result with these details."""
        known = {field.name: getattr(result, field.name) for field in fields(Result)}
        return cls(**{**known, "details": details})

    @property
    def search(self) -> Mapping[str, Any]:
        """What the search did: calls, rounds, widths of the scouts, epochs, components."""
        found: Mapping[str, Any] = self.details["search"]
        return found

    @property
    def design_points(self) -> Floats:
        """The most likely failing point of every component, in your coordinates, (modes, k)."""
        return np.array([each["design_point"] for each in self.search["components"]], float)

    @property
    def mode_shares(self) -> Floats:
        """The share of the probability that each component explains; the scouts have the rest."""
        return np.array([each["explains"] for each in self.search["components"]], float)

    @property
    def beta(self) -> Any:
        """The reliability index: the standard normal quantile -Phi^-1(value)."""
        return self._shaped(self.details["beta"])

    @property
    def beta_interval(self) -> tuple[Any, Any]:
        """The interval of the reliability index."""
        low, high = self.details["beta_interval"]
        return self._shaped(low), self._shaped(high)

    @property
    def covariance(self) -> Floats:
        """The covariance of the estimates of several limit states."""
        return np.array(self.details["covariance"], float)

    def _shaped(self, numbers: Sequence[Any]) -> Any:
        array = np.array(numbers, float)
        return float(array[0]) if self.history.scalar else array


class Evidence(NamedTuple):
    """What a run has found: its search, the draws that count, and all failing points.

    `failing` are pairs of points in normal space and in the coordinates of the user. Warnings are
    about the components that the `aim` binds. `learned` calls
    were made before the search, for a surrogate or with one.
    """

    search: Search
    epoch: Epoch | None
    epochs: int
    stopped: bool
    failing: Sequence[tuple[Floats, Floats]]
    aim: Aim
    learned: int = 0


def reliability(seen: Estimate) -> dict[str, Any]:
    """Return the reliability index of an estimate, and its interval."""
    from scipy.special import ndtri

    with np.errstate(divide="ignore"):
        known_ends = (seen.value, seen.ends.high, seen.ends.low)
        beta = [(-ndtri(np.clip(p, 0.0, 1.0))).tolist() for p in known_ends]
    return {"beta": beta[0], "beta_interval": beta[1:]}


def details_of(
    evidence: Evidence, seen: Estimate, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the details of a result, as plain data; `names` are those of several components."""
    search, epoch = evidence.search, evidence.epoch
    known = None if epoch is None or not len(epoch) else epoch.answer()
    details: dict[str, Any] = {
        "search": {
            "calls": search.calls + evidence.learned,
            **({"gradients": search.gradients} if search.gradient else {}),
            "rounds": search.rounds,
            "widths": list(scout_widths(search.d)),
            "epochs": evidence.epochs + (epoch is not None),
            "ended_on_budget": evidence.stopped,
            "surrogate": _left(epoch),
            "components": (components := _components(evidence)),
            **_could_hide(search, epoch, components),
        },
        **reliability(seen),
        "effective_hits": None if known is None else _hits(known.pooled).tolist(),
        "covariance": None if known is None else known.covariance.tolist(),
    }
    drawn = 0 if epoch is None else len(epoch)
    calls = f"{details['search']['calls']:,} for the search, {drawn:,} for the estimate"
    if epoch is not None and epoch.mixture.plain and not search.calls:
        calls = f"{drawn:,} plain draws, all for the estimate"
    return {**details, "facts": facts_of(details, calls, names), "shown": ["estimate"]}


def facts_of(
    details: Mapping[str, Any], calls: str, names: Sequence[str] | None
) -> list[tuple[str, str]]:
    """Return what a printed result says besides its value: labels and texts."""
    search, (low, high) = details["search"], details["beta_interval"]
    labels = [""] if names is None else [f" of {name}" for name in names]
    rows = zip(labels, details["beta"], low, high, strict=True)
    facts = [
        *((f"reliability index{of}", f"{b:.4g} [{lo:.4g}, {hi:.4g}]") for of, b, lo, hi in rows),
        ("calls of g", calls),
    ]
    for k, each in enumerate(search["components"], 1):
        if each["explains"] < _UNEXPLAINED:
            continue  # small parts would hide the other lines
        point = np.array2string(np.array(each["design_point"]), precision=4, threshold=6)
        facts.append(
            (
                f"mode {k}",
                f"{100 * each['explains']:.3g} % of the value, design point {point} at distance "
                f"{each['distance']:.3g}",
            )
        )
    if search["could_hide"] is not None:
        hidden = f"{search['could_hide']:.2g}"
        text = f"a part that no slope leads to, with a probability of up to {hidden} (at 95 %)"
        facts.append(("could be missed", text))
    return facts


def _left(epoch: Epoch | None) -> float | None:
    """Return the share of the variance that the surrogate leaves, by the draws of the search."""
    if epoch is None or epoch.control is None:
        return None
    return epoch.control.surrogate.left


def _could_hide(
    search: Search, epoch: Epoch | None, components: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the probability of a small region that 19 of 20 runs would have hit.

    Scouts are independent draws. A region of probability P at the distance r from the centre is
    hit by n q(r)/p(r) P of them on average, and by none with a chance of 1/20 if this is log 20.
    The distance is that of the nearest design point.
    """
    if not components:
        return {"could_hide": None, "at_distance": None}
    scouting = search.scouting
    if epoch is not None:
        scouting = scouting + epoch.counts[-len(scouting) :]
    distance = min(each["distance"] for each in components)
    there = np.zeros((1, search.d))
    there[0, 0] = distance
    above = scouts(search.d).component_log_densities(there)[0] - log_standard_normal(there)
    hidden = math.log(20) / float(scouting @ np.exp(above))
    return {"could_hide": min(1.0, hidden), "at_distance": distance}


def _hits(pooled: Any) -> Floats:
    return np.asarray(pooled.few.hits)


def _components(evidence: Evidence) -> list[dict[str, Any]]:
    epoch = evidence.epoch
    if epoch is None or not len(epoch) or not epoch.mixture.modes:
        return []
    mixture = epoch.mixture
    K = mixture.modes
    answer = epoch.answer()
    any_fails = answer.y[:, -2] if answer.y.shape[1] > 1 else answer.y[:, 0]
    part = any_fails @ answer.belongs / max(float(any_fails.sum()), 1e-300)
    explains = part[:K] + part[K : 2 * K]
    parts = [pair for pair in evidence.failing if len(pair[0])]
    z, x = (np.concatenate(column) for column in zip(*parts, strict=True))
    means = mixture.mixture.means
    own = mixture.mixture.component_log_densities(z)[:, :K].argmax(axis=1)
    away = np.square(z).sum(axis=1)
    found = []
    for k in range(K):
        mine = np.flatnonzero(own == k)
        if not len(mine):  # the component lies where another one is denser
            mine = np.array([np.square(z - means[k]).sum(axis=1).argmin()])
        nearest = int(mine[away[mine].argmin()])
        found.append(
            {
                "share": float(mixture.shares[k] + mixture.shares[K + k]),
                "explains": float(explains[k]),
                "mean": means[k].tolist(),
                "design_point": x[nearest].tolist(),
                "design_point_normal": z[nearest].tolist(),
                "distance": float(np.sqrt(away[nearest])),
            }
        )
    return sorted(found, key=lambda each: -each["explains"])


def warnings_of(evidence: Evidence) -> list[str]:
    """Return the warnings of a run: what it did not find, or may have missed."""
    search, epoch = evidence.search, evidence.epoch
    widths = ", ".join(f"{width:.3g}" for width in scout_widths(search.d))
    wrong = _wrong_gradient(search)
    if epoch is None or not len(epoch):
        return [
            *wrong,
            f"{'the search' if search.calls else 'learning'} was not finished after "
            f"{search.calls + evidence.learned} calls of g: the value is a rough one, and nothing "
            "is known about its error; give a larger budget",
        ]
    answer = epoch.answer()
    bound = evidence.aim.bound
    hits = bound(answer.pooled.few.hits) if answer.pooled.few is not None else np.zeros(1)
    said = wrong
    if evidence.stopped and not search.calls:
        learned = evidence.learned
        tried = f", and {learned} calls did not show where g fails" if learned else ""
        said.append(
            f"a budget below {search.least_budget} calls of g does not pay for a search{tried}: "
            "all draws of the estimate are plain ones; give a larger budget"
        )
    elif evidence.stopped:
        said.append(
            f"the budget ended the search after {search.calls} calls of g: parts of the failing "
            "region may be missing; give a larger budget"
        )
    nothing = not bound(answer.y.any(axis=0)).all()
    if nothing:
        drawn = int(epoch.mixture.shares[-3] * len(epoch))
        said.append(
            f"g was never below its limit in {search.calls + len(epoch)} calls, {drawn} of them "
            f"draws of the nominal distribution; scouts had the widths {widths}: the interval says "
            "how probable a failure could still be"
        )
    elif hits.min() < FEW_HITS:
        said.append(
            f"the estimate rests on {hits.min():.0f} effective hits (below {FEW_HITS:.0f}): the "
            "interval is that of Fay and Feuer; draw more"
        )
    elif search.stalled and not evidence.stopped:
        said.append(
            f"the search made no progress any more, after {search.calls} calls of g: parts of the "
            f"failing region may be missing; scouts had the widths {widths}"
        )
    if (answer.pooled.mean + 2 * np.sqrt(answer.pooled.variance) >= 1).any():
        said.append(
            "g may be below its limit everywhere: is its sign right? A failure is g < below"
        )
    K = epoch.mixture.modes
    if K and not nothing:
        strange = answer.belongs[:, 2 * K :].sum(axis=1) > 0.5
        unexplained = bound(answer.y[strange].sum(axis=0)) / bound(answer.y.sum(axis=0))
        if unexplained.max() > _UNEXPLAINED:
            said.append(
                f"{100 * unexplained.max():.0f} % of the probability comes from draws that no "
                "fitted component explains: a mode may be known poorly; draw more, or give starts="
            )
    components = _components(evidence)
    hidden = _could_hide(search, epoch, components)["could_hide"]
    if evidence.epochs:
        text = (
            "" if hidden is None else f"; one with a probability of {hidden:.2g} could be missing"
        )
        said.append(
            f"{evidence.epochs + 1} epochs were needed: the first fit was poor, and a part of the "
            f"failing region may be known poorly{text}"
        )
    value = float(answer.pooled.mean[-2 if answer.y.shape[1] > 1 else 0])
    if apart(components) and search.d > HIGH and hidden is not None and hidden > value:
        said.append(
            f"{K} components in {search.d} dimensions, and another mode with a probability of up "
            f"to {hidden:.2g} could have been missed (the value is {value:.2g}): compare with "
            "another seed, or give starts="
        )
    return said


def apart(components: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether two design points lie in different directions: one mode may have components."""
    z = np.array([each["design_point_normal"] for each in components], float)
    if len(z) < 2:
        return False
    unit = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-300)
    return bool((unit @ unit.T).min() < 0.5)


def _wrong_gradient(search: Search) -> list[str]:
    if search.gap is None:
        return []
    told, seen = search.gap
    return [
        f"gradient= says that g changes by {told:.4g} per unit in one direction, but g changes by "
        f"{seen:.4g}: the gradient is wrong, and the search went on without it; the estimate does "
        "not depend on it"
    ]
