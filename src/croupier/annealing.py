"""evidence: the evidence of a model, by a ladder of annealed importance samplers as arms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, Unpack

import numpy as np

from croupier.arms.annealed import (
    KERNELS,
    PILOT,
    Annealed,
    Custom,
    Kernel,
    KernelFunction,
    Schedule,
    ais,
)
from croupier.arms.base import ArmLike
from croupier.arms.fitted import Fitted, check_mass
from croupier.arms.models import Frozen, LogLikelihood, Model, Pair, Prior, PriorLike, model_of
from croupier.arms.pilots import LEFT, Pilot, explore
from croupier.arms.slices import Slice
from croupier.arms.walks import Autoregression, RandomWalk
from croupier.checks import count_of, positive
from croupier.combine import Combiner
from croupier.errors import PlanError
from croupier.policies import Policy
from croupier.result import Result
from croupier.run import ArmSettings, estimate

__all__ = ["evidence", "ladder"]

#: Chains of a first call: where many go in step, a call costs far more than a chain.
OPENING: Final = 300

#: The first calls of all arms take at most this share of a budget of evaluations, or the arm
#: that is dearest, and not the one that is best, would have most of it.
_FIRST: Final = 0.1

#: The variances of a log-weight that the temperatures of a ladder aim at.
_AIMS: Final = (2.0, 0.7, 0.25)

#: Without a pilot's word: a geometric ladder.
_PLAIN: Final = (16, 64, 256)

#: Arms that a pilot expects to be so many times worse than the best are left out.
_HOPELESS: Final = 50.0


def evidence(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: Literal["autoregressive", "random-walk", "slice"] | KernelFunction = "autoregressive",
    sweeps: int = 1,
    vectorised: bool | None = None,
    policy: str | Policy = "auto",
    combine: str | Combiner = "guarded",
    **settings: Unpack[ArmSettings],
) -> Result:
    """Estimate the evidence of a model, Z = integral prior x likelihood, with its error.

    A short pilot finds where the posterior's mass is. Its word makes a ladder of arms, all of
    them exactly unbiased for Z: plain sampling of the prior, sampling from a law fitted to the
    posterior, and annealed importance sampling with few and with many temperatures. The budget
    then goes to those that turn out to be best.

    Args:
        log_likelihood: A function of points (chains, d) that returns (chains,), or of one point
            (d,) that returns a number; -inf where the data are impossible.
        prior: A frozen distribution of scipy.stats, a list of them (one per coordinate), or a
            pair of functions (sample(rng, size), logpdf(points)).
        temperatures: A ladder of one's own: one arm of annealed importance sampling for each.
        schedule: The betas of such a ladder, as in `arms.ais`; by default the pilot's.
        kernel: How chains move: "autoregressive", "random-walk", "slice", or a function; see
            `arms.ais`.
        sweeps: Moves at each temperature.
        vectorised: Whether `log_likelihood` takes many points; found out by a few calls if None.
        policy: As in `estimate`,
        combine: and so are these,
        **settings: budgets, tolerances and all the rest: ``draws=``, ``seconds=`` or ``cost=``
            (evaluations of the likelihood), ``rtol=`` for the half-width of log Z, ``rng=``, ...
            The pilot's few hundred evaluations come before the budget and are not part of it.

    Returns:
        A `Result`: `log_value` is log Z, with `log_stderr` and `log_interval`.

    >>> import croupier as cr, scipy.stats as st
    >>> def log_likelihood(x):
    ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> result = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
    >>> truth = st.norm.logpdf(1.0, 0, 1.25**0.5)
    >>> bool(abs(result.log_value - truth) < 4 * result.log_stderr)
    True
    """
    if settings.get("log", True) is not True:
        raise PlanError("the evidence is estimated in logs: leave log out")
    arms = ladder(
        log_likelihood,
        prior,
        temperatures=temperatures,
        schedule=schedule,
        kernel=kernel,
        sweeps=sweeps,
        vectorised=vectorised,
        cost="evaluations" if settings.get("cost") is not None else None,
    )
    if arms[0].model.vectorised:
        settings.setdefault("batch", _opening(arms, settings.get("cost")))
    settings["log"] = True
    named: list[ArmLike] = list(arms)
    return estimate(named, policy=policy, combine=combine, **settings)


def _opening(arms: Sequence[Annealed | Fitted], cost: float | None) -> int:
    """Return how many chains the first call of each arm has."""
    if cost is None:
        return OPENING
    each = sum(1 if isinstance(arm, Fitted) else arm.evaluations for arm in arms)
    return int(np.clip(_FIRST * positive("cost", cost) / each, 4, OPENING))


def ladder(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: Literal["autoregressive", "random-walk", "slice"] | KernelFunction = "autoregressive",
    sweeps: int = 1,
    vectorised: bool | None = None,
    cost: Literal["evaluations"] | None = None,
) -> list[Annealed | Fitted]:
    """Return the arms that `evidence` plays, those first from which a pilot expects most.

    >>> import scipy.stats as st
    >>> arms = ladder(lambda x: -8 * (x**2).sum(axis=1), [st.norm(0, 1)] * 3)
    >>> [arm.__name__ for arm in arms]
    ['fitted', 'ais-24']
    """
    if not callable(kernel) and kernel not in KERNELS:
        known = ", ".join(map(repr, KERNELS))
        raise PlanError(f"kernel must be {known} or a function, got {kernel!r}")
    options: dict[str, Any] = {"kernel": kernel, "sweeps": sweeps, "cost": cost}
    if temperatures is not None and schedule is not None:
        if (
            not isinstance(schedule, str)
            and not callable(schedule)
            and len(_each(temperatures)) > 1
        ):
            raise PlanError(
                f"betas of your own make one arm: give one number of temperatures with them, got "
                f"{temperatures!r}"
            )
        options.update(schedule=schedule, vectorised=vectorised)
        return [ais(log_likelihood, prior, temperatures=n, **options) for n in _each(temperatures)]
    if schedule is not None:
        raise PlanError("schedule is for a ladder of your own: give temperatures= too")
    model = model_of(log_likelihood, prior, vectorised=vectorised, name="evidence")
    if temperatures is None and _doubtful(model.prior):
        check_mass(model, np.random.default_rng(PILOT))
    pilot = explore(model, np.random.default_rng(PILOT))
    if pilot is None:  # it saw nothing but zeros: the ladder must do without its word
        options.update(vectorised=model.vectorised, kernel="slice" if kernel in KERNELS else kernel)
        numbers = _PLAIN if temperatures is None else _each(temperatures)
        return [ais(log_likelihood, prior, temperatures=n, **options) for n in numbers]
    moves = _moves(kernel, model, pilot)
    build = _Builder(model, pilot, moves, count_of("sweeps", sweeps), cost is not None)
    if temperatures is not None:
        return [build.annealed(n) for n in _each(temperatures)]
    return build.ladder()


def _doubtful(prior: Prior) -> bool:
    """Tell whether a density is the user's own; those of scipy.stats are normalised."""
    if isinstance(prior, Frozen):
        return not type(prior.distribution).__module__.startswith("scipy.")
    return isinstance(prior, Pair)


def _each(temperatures: int | Sequence[int]) -> tuple[int, ...]:
    given = (temperatures,) if np.ndim(temperatures) == 0 else tuple(temperatures)  # type: ignore[arg-type]
    numbers = tuple(count_of("temperatures", each) for each in given)
    if not numbers or min(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise PlanError(
            f"temperatures must be different numbers of at least 2 each, got {temperatures!r}"
        )
    return numbers


def _moves(kernel: Any, model: Model, pilot: Pilot) -> Kernel:
    if kernel == "autoregressive":
        return Autoregression(pilot.levels)
    if kernel == "random-walk":
        return RandomWalk(pilot.levels)
    if kernel == "slice":
        return Slice(2 * model.spread)
    return Custom(kernel, model.name)


class _Builder(NamedTuple):
    """Makes arms from what a pilot found."""

    model: Model
    pilot: Pilot
    moves: Kernel
    sweeps: int
    costs: bool

    def annealed(self, temperatures: int) -> Annealed:
        """Return an arm with so many temperatures on the pilot's schedule."""
        model, betas = self.model.named(f"ais-{temperatures}"), self.pilot.betas(temperatures)
        return Annealed(model, betas, self.moves, self.sweeps, self.costs)

    def ladder(self) -> list[Annealed | Fitted]:
        """Return arms in the order of what they are expected to cost, times their variance."""
        plain = Annealed(
            self.model.named("prior"), np.array([0.0, 1.0]), self.moves, self.sweeps, self.costs
        )
        fitted = Fitted(self.model.named("fitted"), self.pilot.levels[-1], self.costs)
        expected: list[tuple[float, Annealed | Fitted]] = [
            (self.pilot.excess, plain),
            (2 * _excess(fitted, self.pilot), fitted),
        ]
        # A level in one step adds -log(LEFT) to the variance of a log-weight, in r steps 1/r of it.
        levels = len(self.pilot.levels) - 1
        whole = levels**2 * -math.log(LEFT)
        wanted = (math.ceil(whole / aim) for aim in _AIMS)
        for steps in sorted({max(2, steps) for steps in wanted}):
            variance = math.expm1(whole / steps)
            expected.append((2 * steps * variance, self.annealed(steps + 1)))
        expected.sort(key=lambda pair: pair[0])
        best = min(score for score, _ in expected)
        hopeful = [arm for score, arm in expected if score <= _HOPELESS * best]
        # Whatever the pilot thinks of the fitted law: some arm must not depend on it.
        rest = [arm for _, arm in expected if isinstance(arm, Annealed) and len(arm.betas) > 2]
        return hopeful if any(arm in hopeful for arm in rest) else [*hopeful, rest[0]]


def _excess(fitted: Fitted, pilot: Pilot) -> float:
    """Return the relative variance of a fitted law's weights, from points of the posterior.

    With r = prior x likelihood/q there, E[r] = Z (1 + variance/Z^2) and E[1/r] = 1/Z.
    """
    chains = pilot.chains
    alive = pilot.weights * (chains.likelihood > -np.inf) > 0
    prior, weights = chains.prior[alive], pilot.weights[alive]
    r = prior + chains.likelihood[alive] - fitted.log_density(chains.points[alive], prior)
    r -= r.max()
    weights = weights / weights.sum()
    with np.errstate(over="ignore"):
        return max(float((weights @ np.exp(r)) * (weights @ np.exp(-r)) - 1), 1e-3)
