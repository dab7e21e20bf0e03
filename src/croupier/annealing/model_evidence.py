"""evidence: the evidence of a model, by a ladder of annealed importance samplers as arms."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Unpack

from croupier.annealing.annealed import KernelFunction, KernelName, Schedule
from croupier.annealing.coverage import coverage_doubts
from croupier.annealing.modes import doubts
from croupier.annealing.opening import Opening, annealing_of
from croupier.annealing.pilot_journal import Journal, journal_path
from croupier.annealing.pilot_limits import Limits
from croupier.annealing.pilot_meter import Crew, Meter
from croupier.annealing.posterior import EvidenceResult
from croupier.annealing.preparing import Prepared, Wish, prepared
from croupier.annealing.prior_transforms import from_cube
from croupier.annealing.priors import PriorLike
from croupier.annealing.vectorised import LogLikelihood
from croupier.arms.base import as_arms
from croupier.checks import fraction_of
from croupier.errors import CroupierError, CroupierWarning, PlanError
from croupier.estimates.combiners import Combiner
from croupier.estimates.intervals import ManyLooks
from croupier.policies import Policy
from croupier.results.result import Result
from croupier.running.estimate import Dealing, deal
from croupier.running.settings import ArmOptions, Budget, RunSettings, split_options
from croupier.views.bar import telling

__all__ = ["evidence"]

#: Workers that have not started after this share of a budget of seconds come too late. Without such
#: a budget, this is how many seconds a run waits.
_BEGIN: Final = 0.6
_START: Final = 60.0

#: This share of a budget is left for the arms, whatever a pilot took.
_LEFT: Final = 0.1


def evidence(
    log_likelihood: LogLikelihood,
    prior: PriorLike = None,
    *,
    prior_transform: Callable[[Any], Any] | None = None,
    dimensions: int | None = None,
    temperatures: int | Sequence[int] | None = None,
    schedule: Schedule | None = None,
    kernel: KernelName | KernelFunction = "autoregressive",
    gradient: Callable[[Any], Any] | None = None,
    sweeps: int = 1,
    vectorised: bool | None = None,
    policy: str | Policy = "auto",
    combine: str | Combiner = "guarded",
    **settings: Unpack[ArmOptions],
) -> EvidenceResult:
    """Estimate the evidence of a model, Z = integral prior x likelihood, with its error.

    A short pilot finds where the posterior's mass is. It chooses a ladder of arms, all of them
    exactly unbiased for Z: plain sampling of the prior, sampling from a distribution fitted to the
    posterior, and annealed importance sampling with few and with many temperatures. The budget
    then goes to the best of them. If plain sampling of the prior promises to reach the tolerance
    at once, it is tried first, and the pilot runs only if this fails.

    Args:
        log_likelihood: A function of points (chains, d) that returns (chains,), or of one point
            (d,) that returns a number; -inf where the data are impossible.
        prior: A frozen distribution of scipy.stats, a list of them (one per coordinate), or a
            pair of functions (sample(rng, size), logpdf(points)). A distribution that is not
            frozen has its standard parameters: `st.norm` is N(0, 1).
        prior_transform: Instead of `prior`: a function from the unit cube to the parameters, of
            one point (d,) or of many (chains, d), as nested samplers take it.
        dimensions: The number of coordinates of that cube.
        temperatures: Your own ladder: one arm of annealed importance sampling for each number.
        schedule: The betas of such a ladder, as in `annealing.ais`; by default the pilot's. Betas
            given as numbers make one arm, and need no `temperatures`.
        kernel: How chains move: "autoregressive", "random-walk", "slice", "langevin", or a
            function; see `annealing.ais`.
        gradient: For "langevin", the gradient of `log_likelihood`, (chains, d) to (chains, d).
        sweeps: Moves at each temperature.
        vectorised: Whether `log_likelihood` takes many points; if None, a few calls find out.
        policy: As in `estimate`.
        combine: As in `estimate`.
        **settings: Budgets, tolerances and all other settings of `estimate`: ``draws=``,
            ``seconds=`` or ``cost=`` (evaluations of the likelihood), ``rtol=`` for the half-width
            of log Z, ``rng=``, ... Every budget includes the pilot, which gets at most about four
            tenths of it. In a budget of draws, one evaluation of the pilot is one draw.

    Returns:
        An `EvidenceResult`: `log_value` is log Z, with `log_stderr` and `log_interval`, and
        `posterior(n)` makes draws from the posterior. `details["pilot"]` says what the pilot took.
        If it searched for modes, it also says how many it found, what each search gave for log Z,
        and which share of the tempered mass a mode needs to be seen.

    >>> import croupier as cr, scipy.stats as st
    >>> def log_likelihood(x):
    ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> result = cr.evidence(log_likelihood, st.norm(0, 1), draws=5000, rng=7)
    >>> truth = st.norm.logpdf(1.0, 0, 1.25**0.5)
    >>> bool(abs(result.log_value - truth) < 4 * result.log_stderr)
    True
    """
    around, own = split_options("evidence", settings, tuple(evidence.__kwdefaults__ or ()))
    if own.pop("log", True) is not True:
        raise PlanError("evidence always works in logs: leave out log=")
    if prior_transform is not None:
        log_likelihood, prior = from_cube(log_likelihood, prior, prior_transform, dimensions)
    elif dimensions is not None:
        raise PlanError("dimensions is for prior_transform=: a prior knows its own number")
    began, seed = time.perf_counter(), _seed_of(around)
    with _crew(around, log_likelihood, prior) as crew:
        with _metered(around, seed, crew, began) as (meter, limits):
            wish = Wish(
                log_likelihood,
                prior,
                temperatures,
                schedule,
                kernel,
                sweeps,
                vectorised,
                cost="evaluations" if around.budget.cost is not None else None,
                precision=None if "batch" in own else _precision(around),
                most=around.budget.draws,
                seed=seed,
                limits=limits,
                gradient=gradient,
            )
            ready = prepared(wish, meter)
            opening = Opening.of(ready, limits, around.budget.cost, meter)
            if temperatures is None and schedule is None:
                ready = _affordable(ready, opening, meter)
            batch = meter.decided(lambda: opening.chains(ready.arms))
            spent = meter.decided(lambda: meter.elapsed)
        own.setdefault("batch", int(batch) or "growing")
        dealing = Dealing(policy=policy, combine=combine, log=True, **own)
        waited = 0.0
        if crew is not None:
            around, waited = crew.taken_over(around, _patience(around.budget, spent))
            spent += waited
        left = _without(around, spent, meter.evaluations)
        with _explained(ready.said):
            result = deal(as_arms(list(ready.arms)), left, dealing)
    pilot = {"seconds": spent, "evaluations": meter.evaluations, "points": ready.points}
    if waited:
        pilot["waited"] = waited
    said = list(ready.said)
    if ready.modes is not None:
        pilot.update(ready.modes.report())
        said += doubts(ready.modes, _high_end(result))
        draws, error = _leading(result)
        if ready.modes.coverage is not None and draws > 0:
            pilot["lacking"] = ready.modes.coverage.lacking(draws)
        said += coverage_doubts(ready.modes.coverage, draws, error)
    for text in said:
        warnings.warn(text, CroupierWarning, stacklevel=2)
    return EvidenceResult.sampled(
        result,
        ready.arms,
        seconds=result.seconds + (spent if around.budget.seconds is not None else 0.0),
        warnings=(*result.warnings, *said),
        details={**result.details, "pilot": pilot},
    )


@contextmanager
def _explained(said: Sequence[str]) -> Iterator[None]:
    """Add what looked wrong before a run to an error that ends it."""
    try:
        yield
    except CroupierError as error:
        for text in said:
            error.add_note(text)
        raise


def _high_end(result: Result) -> float:
    """Return the high end of the interval of log Z."""
    return math.inf if result.log_interval is None else float(result.log_interval[1])


def _leading(result: Result) -> tuple[float, float]:
    """Return the draws of the fitted distribution, and the error of log Z if it rests on them."""
    fitted = next((row for row in result.arms if row.name == "fitted"), None)
    if fitted is None or result.log_stderr is None:
        return 0.0, math.inf
    return float(fitted.draws), float(result.log_stderr) if fitted.weight > 0.5 else math.inf


@contextmanager
def _crew(around: RunSettings, *sent: Any) -> Iterator[Crew | None]:
    """Give the workers of a run, if it has any; a new run needs them at once."""
    staff = around.staff([])
    if staff is None:
        yield None
        return
    crew = Crew(staff)
    try:
        if not _begun(around):
            crew.start(_greeting, *sent)
        yield crew
    finally:
        crew.close()


def _greeting(*sent: Any) -> None:
    """Load croupier, and the modules of what is sent, where a worker starts."""


def _patience(budget: Budget, spent: float) -> float:
    """Return how many seconds a run waits for its workers."""
    return _START if budget.seconds is None else max(_BEGIN * budget.seconds - spent, 0.0)


def _begun(around: RunSettings) -> bool:
    """Return whether a store has a run already."""
    if around.store is None:
        return False
    from croupier.store.reading import planned_seed

    return planned_seed(around.store) is not None


@contextmanager
def _metered(
    around: RunSettings, seed: int, crew: Crew | None, began: float
) -> Iterator[tuple[Meter, Limits]]:
    """Count a pilot, show it, and keep what it evaluates beside a store."""
    budget = around.budget
    evaluations = min(each for each in (budget.draws, budget.cost, math.inf) if each is not None)
    limits = Limits(budget.seconds, None if evaluations == math.inf else evaluations)
    with telling("pilot", around.progress) as tell:

        def show(evaluations: int) -> None:
            tell(f"{evaluations:,} evaluations of the likelihood")

        if around.store is None:
            yield limits.meter(None, crew, show, began), limits
            return
        with _journal(around, seed) as (journal, fits):
            limits = limits if fits else Limits()
            yield limits.meter(journal, crew, show, began), limits


@contextmanager
def _journal(around: RunSettings, seed: int) -> Iterator[tuple[Journal, bool]]:
    """Give the file of a pilot beside a store, and whether the pilot depends on the budget.

    If a stored run has no such file, its pilot had all its points.
    """
    from croupier.store.lock import Lock
    from croupier.store.log import as_store
    from croupier.store.place import resolved

    assert around.store is not None
    path = resolved(as_store(around.store).path)
    lock = Lock(path).take()
    try:
        begun = _begun(around)
        journal = Journal(journal_path(path), seed, begun=begun)
        try:
            yield journal, journal.known or not begun
        finally:
            journal.close()
    finally:
        lock.release()


def _seed_of(around: RunSettings) -> int:
    """Return the seed of the run; without one, that of the store, if it has one."""
    if around.seeded or around.store is None:
        return around.seed
    from croupier.store.reading import planned_seed

    stored = planned_seed(around.store)
    return around.seed if stored is None else stored


def _without(around: RunSettings, spent: float, evaluations: int) -> RunSettings:
    """Return the settings with what is left of the budget; a tenth is always left."""
    seconds, draws, cost = around.budget.seconds, around.budget.draws, around.budget.cost
    return replace(
        around,
        budget=Budget(
            seconds=None if seconds is None else max(seconds - spent, _LEFT * seconds),
            draws=None if draws is None else max(draws - evaluations, math.ceil(_LEFT * draws)),
            cost=None if cost is None else max(cost - evaluations, _LEFT * cost),
        ),
    )


def _precision(around: RunSettings) -> float | None:
    """Return the standard error of log Z that stops a run, None if none does or is known."""
    wanted = max(around.tolerance.atol or 0.0, around.tolerance.rtol or 0.0)
    # A stored run may continue with another tolerance, and must then have the same arms.
    if not wanted or around.anytime or around.store or around.budget.cost:
        return None
    confidence = fraction_of("confidence", around.confidence)
    return wanted / float(ManyLooks.at(ManyLooks.least_df, confidence))


def _affordable(ready: Prepared, opening: Opening, meter: Meter) -> Prepared:
    """Leave out annealing whose first chains would take too much of the budget."""
    long = sorted(annealing_of(ready.arms), key=lambda arm: arm.evaluations)
    kept = int(meter.decided(lambda: opening.arms_within(long, meter.helpers)))
    gone = long[kept:] if kept or len(long) < len(ready.arms) else long[1:]
    if not gone:
        return ready
    arms = [arm for arm in ready.arms if arm not in gone]
    if len(gone) < len(long):
        return ready._replace(arms=arms)
    said = (
        f"the budget buys no annealing: a chain of {gone[0].__name__!r} takes "
        f"{gone[0].evaluations:,.0f} evaluations of the likelihood; the result rests on "
        f"{' and '.join(repr(arm.__name__) for arm in arms)} alone; give more"
    )
    return ready._replace(arms=arms, said=(*ready.said, said))
