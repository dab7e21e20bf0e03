"""Population Monte Carlo over a fixed set of proposals: the rival in the paper's Figure 2."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from croupier.checks import choice, count_of, fraction_of, shares_of
from croupier.data.central_moments import FEW, effective_df
from croupier.data.draws import Floats
from croupier.distributions.weights import log_mixture
from croupier.errors import CroupierWarning, PlanError
from croupier.estimates.intervals import normal_quantile
from croupier.importance.density_checks import density_warnings
from croupier.importance.points import Points
from croupier.seeds import DRAWS, RandomLike, seed_from, stream
from croupier.views import formats

if TYPE_CHECKING:
    from croupier.importance.family import Family

__all__ = ["Population", "Update", "Weighed", "collected", "population_monte_carlo", "weighed"]

Ints: TypeAlias = NDArray[np.int64]

#: The kinds of credit of a proposal: see `weighed`.
Update: TypeAlias = Literal["printed", "payoff", "squared"]


class Weighed(NamedTuple):
    """The draws of a population: the value of each, and the credit for the proposal that drew."""

    value: Floats
    credit: Floats


def weighed(
    update: Update,
    log_size: Floats,
    sign: Floats,
    log_p: Floats,
    log_q: Floats,
    source: Ints,
    alpha: Floats,
) -> Weighed:
    """Return the values and the credits of a population, (..., G); `log_q` is (..., G, J).

    "printed": w = p/q_k, where k is the proposal that drew, as the d-kernel algorithm is printed
    (Douc, Guillin, Marin and Robert 2007, section 2). Its credit has the mean 1 for every k, so
    nothing can be learned from it. "payoff": |w f| and "squared": (w f)^2, both with
    w = p/sum_k alpha_k q_k. The denominator is the density that the population really has.
    """
    if update == "printed":
        own = np.take_along_axis(log_q, source[..., None], axis=-1)[..., 0]
        return Weighed(sign * np.exp(log_size - own), np.exp(log_p - own))
    size = np.exp(log_size - log_mixture(log_q, alpha))
    return Weighed(sign * size, size if update == "payoff" else size * size)


def collected(credit: Floats, source: Ints, alpha: Floats) -> Floats:
    """Return the next proportions, (..., J): the share of the credit that each proposal has.

    They do not change if no proposal has any credit.
    """
    own = source[..., None] == np.arange(alpha.shape[-1])
    each = np.where(own, credit[..., None], 0.0).sum(axis=-2)
    total = each.sum(axis=-1, keepdims=True)
    share = np.divide(each, total, out=np.array(alpha, copy=True), where=total > 0)
    return np.asarray(share)


@dataclass(frozen=True, eq=False)
class Population:
    """What population Monte Carlo returns.

    `proportions` has a row per population, and one more that the next would have had;
    `running` is the estimate after each population, `drawn` the number of draws by then;
    `warnings` has the warnings about the estimate.
    """

    value: float
    stderr: float
    interval: tuple[float, float]
    confidence: float
    draws: int
    update: Update
    seed: int
    names: tuple[str, ...]
    proportions: Floats = field(repr=False)
    running: Floats = field(repr=False)
    drawn: Ints = field(repr=False)
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        low, high = self.interval
        value = formats.number(self.value, self.stderr)
        bracket = formats.bracket(low, high, self.value, self.stderr)
        names = [formats.printable(name) for name in self.names]
        rows = sorted(zip(self.proportions[-1], names, strict=True), key=lambda row: -row[0])
        longest = max(map(len, names))
        return "\n".join(
            [
                f"{value}   {formats.level(self.confidence)} interval {bracket}",
                f"{formats.count(self.draws, 'draw')} in {len(self.drawn)} populations, "
                f"update {self.update!r}, seed {self.seed}",
                "",
                *(f"{name:<{longest}}  {formats.percent(float(share))}" for share, name in rows),
                *(f"warning: {formats.printable(text)}" for text in self.warnings),
            ]
        )


def population_monte_carlo(
    family: Family,
    draws: float,
    population: float,
    *,
    update: Update,
    proportions: Sequence[float] | None,
    confidence: float,
    rng: RandomLike,
) -> Population:
    """Draw one population after the other: see `Family.pmc`."""
    n, size = count_of("draws", draws), count_of("population", population)
    choice("update", update, Update)
    level = fraction_of("confidence", confidence)
    seed = seed_from(rng)
    J = len(family)
    given = shares_of("proportions", proportions)
    if given is not None and len(given) != J:
        raise PlanError(
            f"proportions must be one number per proposal ({J} in all), got {proportions!r}"
        )
    alpha = np.full(J, 1 / J) if given is None else np.array(given)
    rows, values, drawn = [alpha], [], []
    densities = []
    for ticket, start in enumerate(range(0, n, size)):
        random = stream(seed, DRAWS, ticket)
        counts = random.multinomial(min(size, n - start), alpha)
        points, source = _drawn(family, random, counts)
        value, credit = weighed(
            update, points.log_size, points.sign, points.log_p, points.log_q, source, alpha
        )
        densities.append((points.log_p, points.log_q, source))
        alpha = collected(credit, source, alpha)
        rows.append(alpha)
        values.append(value)
        drawn.append(start + len(value))
    y = np.concatenate(values)
    mean = float(y.mean())
    stderr = float(y.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    half = normal_quantile((1 + level) / 2) * stderr
    ends = np.array(drawn)
    said = _warnings(family, y, densities)
    for text in said:
        warnings.warn(text, CroupierWarning, stacklevel=3)
    return Population(
        value=mean,
        stderr=stderr,
        interval=(mean - half, mean + half),
        confidence=level,
        draws=n,
        update=update,
        seed=seed,
        names=family.names,
        proportions=np.array(rows),
        running=np.cumsum(y)[ends - 1] / ends,
        drawn=ends,
        warnings=tuple(said),
    )


def _warnings(family: Family, y: Floats, densities: list[tuple[Floats, Floats, Ints]]) -> list[str]:
    """Return the warnings about the estimate, as far as its draws show them."""
    log_p, log_q, source = (np.concatenate(part) for part in zip(*densities, strict=True))
    found = density_warnings(log_p, log_q, source, family.names, normalised=family.normalised)
    r2 = np.square(y - y.mean())
    m2, m4 = float(r2.sum()), float(np.square(r2).sum())
    if not m2 > 0:
        what = "every draw of f p/q is 0" if not y.any() else "no draw differs from another"
        found.append(f"{what}: nothing is known about the error; add proposals, or draw more")
    elif (df := float(effective_df(len(y), m2, m4))) < FEW:
        found.append(
            f"the error bar rests on {df:.0f} effective degrees of freedom and may be too short: "
            "draw more"
        )
    return found


def _drawn(family: Family, rng: np.random.Generator, counts: Any) -> tuple[Points, Ints]:
    parts = [family.points(rng, int(c), k) for k, c in enumerate(counts) if c]
    source = np.repeat(np.arange(len(counts)), counts)
    return Points(*(np.concatenate(column) for column in zip(*parts, strict=True))), source
