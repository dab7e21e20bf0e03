"""ais: annealed importance sampling as an arm, for the evidence of any model (Neal 2001).

Z = integral prior x likelihood. A chain starts at theta_0 from the prior, is moved at
f_beta = prior x likelihood^beta for beta_1 < beta_2 < ..., and has the weight
w = product over j of likelihood(theta_j)^(beta_j+1 - beta_j). The mean of w is exactly Z, even if
the chain mixes badly. Weights are logarithms, so these arms are for ``estimate(..., log=True)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import numpy as np

from croupier.annealing.gradients import Langevin, Slope, slope_of
from croupier.annealing.ladder_pilot import explore
from croupier.annealing.models import LogLikelihood, Model, PriorLike, model_of, pilot_stream
from croupier.annealing.slices import Chains, Evaluate, Slice, widths_of
from croupier.annealing.walks import Autoregression, RandomWalk, ScaledWalk
from croupier.checks import count_of
from croupier.data.draws import Draws, Floats
from croupier.errors import ArmError, PlanError
from croupier.functions.compiled import is_compiled
from croupier.spaces.axes import Axes
from croupier.spaces.given import Sampled
from croupier.spaces.vectors import NormalVector

__all__ = ["Annealed", "Kernel", "ais", "betas_of", "compilable", "slope_for"]

#: The user's own kernel: (rng, points, beta, log_density) -> points, instead of a kernel by name.
KernelFunction: TypeAlias = Callable[..., Any]
Schedule: TypeAlias = str | Callable[[Floats], Any] | Sequence[float] | Floats

KernelName: TypeAlias = Literal["slice", "random-walk", "autoregressive", "langevin"]
KERNELS: Final = ("slice", "random-walk", "autoregressive", "langevin")

#: This many chains move together: arrays stay in the cache, and memory does not grow with a batch.
BLOCK: Final = 1000


class Kernel(Protocol):
    """Moves all chains, and leaves the distribution prior x likelihood^beta unchanged."""

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move the chains once."""


@dataclass(frozen=True, eq=False)
class Annealed:
    """An arm that returns the log-weights of `size` independent chains from prior to posterior.

    It is a class and not a closure, so that it can be sent to a worker.
    """

    model: Model
    betas: Floats
    kernel: Kernel
    sweeps: int = 1
    costs: bool = True
    block: int = BLOCK
    compiled: bool = False

    #: The arm returns logs, so `estimate` needs log=True.
    logs: ClassVar[bool] = True

    @property
    def __name__(self) -> str:
        return self.model.name

    @property
    def version(self) -> str:
        """A text that differs between arms with the same name."""
        moves = f"{type(self.kernel).__name__} {self.sweeps}"
        return f"{self.model.mark} {moves} {self.betas[1]:.9g}"

    @property
    def evaluations(self) -> float:
        """About how many evaluations of the likelihood a chain takes."""
        # A slice takes about five for each coordinate.
        move = 5.0 * self.model.dimensions if isinstance(self.kernel, Slice) else 1.0
        if isinstance(self.kernel, Langevin):
            move = 3.0
        return 1 + (len(self.betas) - 2) * self.sweeps * move

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        """Return the log-weights of `size` chains, with their evaluations if costs are wanted."""
        weights, evaluations = np.empty(size), np.empty(size)
        run = self._compiled if self.compiled else self._block
        for start in range(0, size, self.block):
            part = slice(start, min(start + self.block, size))
            weights[part], evaluations[part] = run(rng, part.stop - part.start)
        return Draws(log_values=weights, costs=evaluations) if self.costs else weights

    def _block(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        model, betas = self.model, self.betas
        points = model.start(rng, size)
        likelihood = model.likelihood(points)
        evaluations = np.ones(size)
        weights = np.asarray((betas[1] - betas[0]) * likelihood)
        if len(betas) == 2:
            return weights, evaluations
        # If the likelihood is 0 at the start, the weight is 0, and the chain need not be moved.
        alive = np.flatnonzero(likelihood > -np.inf)
        points = points[alive]
        chains = Chains(points, model.started(points), likelihood[alive])

        def evaluate(trial: Floats, owner: Any) -> tuple[Floats, Floats]:
            prior, like = model.evaluate(trial)
            np.add.at(evaluations, alive[owner], prior > -np.inf)
            return prior, like

        for beta, after in zip(betas[1:-1].tolist(), betas[2:].tolist(), strict=True):
            if not alive.size:
                break
            for _ in range(self.sweeps):
                self.kernel.sweep(rng, chains, beta, evaluate)
            weights[alive] += (after - beta) * chains.likelihood
        return weights, evaluations

    def _compiled(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        from croupier.annealing.compiled_slices import annealing_of

        model, slices = self.model, self.kernel
        assert isinstance(slices, Slice)
        space, density = model.space, _density_of(model)
        numbers = slices.width, slices.width
        if isinstance(space, NormalVector):
            numbers = space.mean, space.root
        elif isinstance(space, Axes) and space.box is not None:
            numbers = space.box
        points = np.ascontiguousarray(model.start(rng, size))
        weights, evaluations, bad = annealing_of(model.function.function, density)(
            rng, points, self.betas, slices.width, slices.limit, self.sweeps, *numbers
        )
        if bad[1]:
            what = "the prior's log-density" if bad[1] == 1 else "log_likelihood"
            raise ArmError(
                f"{what} is {bad[0]} at some point; it must be finite, or -inf where the point is "
                "impossible",
                arm=self.model.name,
                value=float(bad[0]),
            )
        return weights, evaluations


def ais(
    log_likelihood: LogLikelihood,
    prior: PriorLike,
    *,
    temperatures: int = 100,
    schedule: Schedule = "power4",
    kernel: KernelName | KernelFunction = "slice",
    gradient: Callable[[Any], Any] | None = None,
    sweeps: int = 1,
    width: Any = None,
    limit: int = 64,
    spread: Any = None,
    vectorised: bool | None = None,
    cost: Literal["evaluations"] | None = None,
    name: str | None = None,
    block: int = BLOCK,
) -> Annealed:
    """Make an arm of annealed importance sampling, for ``estimate(..., log=True)``.

    Args:
        log_likelihood: A function of points (chains, d) that returns (chains,), or of one point
            (d,) that returns a number; -inf where the data are impossible. Or a `cr.Program`. If
            numba has compiled it for one point, whole chains run in compiled code
            (`kernel="slice"`, and a normal, a uniform or a compiled prior).
        prior: A frozen distribution of scipy.stats, bounds (low, high), a list of these (one per
            coordinate), a pair of functions (sample(rng, size), logpdf(points)), or any other form
            that `over=` of `integrate` takes. Without a density, chains move in the standard normal
            numbers behind the prior.
        temperatures: The number of betas, including 0 and 1: 2 is plain sampling of the prior.
        schedule: "power4", beta_j = (j/(n-1))^4, "linear", a function of the n numbers j/(n-1), or
            the betas themselves.
        kernel: "slice", coordinate by coordinate; "random-walk" and "autoregressive", Metropolis
            moves whose steps a pilot sets once, in advance; "langevin", moves along the
            `gradient`; or a function (rng, points, beta, log_density) that returns the moved
            points and leaves the density unchanged.
        gradient: For "langevin", the gradient of `log_likelihood`: a function of points
            (chains, d) that returns (chains, d), or of one point.
        sweeps: Moves at each temperature.
        width: For slices, the first interval and the step by which it grows, one number or one
            per coordinate; by default twice the spread of the prior.
        limit: For slices, the longest interval, in widths.
        spread: For random walks, the standard deviation of a step, one number or one per
            coordinate, or a function of beta that returns it; without it, a pilot sets the steps.
        vectorised: Whether `log_likelihood` takes many points; if None, a few calls find out.
        cost: "evaluations" reports the evaluations of the likelihood of each chain, for
            ``estimate(..., cost=)``.
        name: The name of the arm, by default "ais-100" for 100 temperatures.
        block: How many chains move together.

    >>> import numpy as np, scipy.stats as st
    >>> def log_likelihood(x):
    ...     return st.norm.logpdf(1.0, x[:, 0], 0.5)
    >>> arm = ais(log_likelihood, st.norm(0, 1), temperatures=10)
    >>> log_weights = arm(np.random.default_rng(7), 1000)
    >>> log_z = np.log(np.exp(log_weights).mean())
    >>> bool(abs(log_z - st.norm.logpdf(1, 0, 1.25**0.5)) < 0.2)
    True
    """
    betas, steps = betas_of(schedule, temperatures, name), count_of("sweeps", sweeps)
    title = f"ais-{len(betas)}" if name is None else name
    if cost not in (None, "evaluations"):
        raise PlanError(f"cost must be 'evaluations' or None, got {cost!r}")
    model = model_of(log_likelihood, prior, vectorised=vectorised, name=title)
    with suppress(ArmError):  # the first call of the arm will report the error
        some = model.start(pilot_stream(), 3)
        model = model.marked(some, model.likelihood(some))
    widths = 2 * model.scale if width is None else widths_of(width, model.dimensions)
    if width is not None and kernel != "slice":
        raise PlanError(f"width is for kernel='slice', got kernel={kernel!r}")
    if spread is not None and (kernel == "slice" or callable(kernel)):
        raise PlanError(f"spread is for kernel='random-walk', got kernel={kernel!r}")
    slope = slope_for(kernel, gradient, model)
    moves: Kernel
    if kernel == "slice":
        moves = Slice(widths, count_of("limit", limit))
    elif callable(kernel):
        moves = Custom(kernel, title)
    elif kernel not in KERNELS:
        known = ", ".join(map(repr, KERNELS))
        raise PlanError(f"kernel must be {known} or a function, got {kernel!r}")
    elif spread is not None:
        if kernel != "random-walk":
            raise PlanError(f"spread is for kernel='random-walk', got kernel={kernel!r}")
        moves = ScaledWalk(spread)
        if not callable(spread):
            moves.at(1.0, model.dimensions)
    else:
        model = model if kernel == "langevin" else model.in_normals()
        levels = explore(model, pilot_stream())
        if levels is None:
            raise PlanError(
                f"arm {title!r}: the likelihood is 0 at (nearly) all points of a pilot from the "
                f"prior, which sets the steps of kernel={kernel!r}: use kernel='slice', or spread="
            )
        if slope is not None:
            moves = Langevin(levels, slope)
        else:
            moves = (RandomWalk if kernel == "random-walk" else Autoregression)(levels)
    return Annealed(
        model,
        betas,
        moves,
        steps,
        cost is not None,
        count_of("block", block),
        isinstance(moves, Slice) and compilable(model),
    )


def slope_for(kernel: Any, gradient: Any, model: Model) -> Slope | None:
    """Return the slope of a model for "langevin", None for other kernels."""
    if kernel != "langevin":
        if gradient is not None:
            raise PlanError(f"gradient is for kernel='langevin', got kernel={kernel!r}")
        return None
    return slope_of(model, gradient, model.start(pilot_stream(), 4))


def compilable(model: Model) -> bool:
    """Return whether whole chains of slices can run in compiled code."""
    one = model.function.takes == "one" and is_compiled(model.function.function)
    return one and not model.normal and _density_of(model) is not None


def _density_of(model: Model) -> Any:
    """Return the density of a prior for compiled code: a name, a function, or None."""
    space = model.space
    if isinstance(space, NormalVector):
        return "normal" if space.root.ndim == 1 else None
    if isinstance(space, Axes):
        return "uniform" if space.box is not None else None
    if isinstance(space, Sampled) and space.log_density.takes == "one":
        function = space.log_density.function
        return function if is_compiled(function) else None
    return None


@dataclass(frozen=True)
class Custom:
    """The user's own kernel; its evaluations are divided evenly between the chains."""

    function: KernelFunction
    name: str

    def sweep(
        self, rng: np.random.Generator, chains: Chains, beta: float, evaluate: Evaluate
    ) -> None:
        """Move the chains by the user's function, and evaluate the density there."""
        m = len(chains.points)

        def log_density(points: Any) -> Floats:
            trial = np.asarray(points, dtype=float)
            prior, likelihood = evaluate(trial, np.arange(len(trial)) % m)
            return np.asarray(prior + beta * likelihood)

        moved = np.array(self.function(rng, chains.points.copy(), beta, log_density), dtype=float)
        if moved.shape != chains.points.shape:
            raise ArmError(
                f"the kernel returned points of shape {moved.shape}, expected "
                f"{chains.points.shape}",
                arm=self.name,
                value=moved,
            )
        chains.points = moved
        chains.prior, chains.likelihood = evaluate(moved, np.arange(m))
        outside = ~(chains.prior + beta * chains.likelihood > -np.inf)
        if outside.any():
            at = moved[np.flatnonzero(outside)[0]]
            raise ArmError(
                f"the kernel moved a chain to {at}, where the density is 0",
                arm=self.name,
                value=at,
            )


def betas_of(schedule: Schedule, temperatures: int, name: str | None = None) -> Floats:
    """Return the betas of a schedule, from 0 to 1, each above the one before.

    >>> betas_of("power4", 3).tolist()
    [0.0, 0.0625, 1.0]
    """
    arm = "" if name is None else f"arm {name!r}: "
    number = count_of("temperatures", temperatures)
    if number < 2:
        raise PlanError(
            f"{arm}temperatures must be at least 2, from the prior (0) to the posterior (1), got "
            f"{temperatures!r}"
        )
    u = np.linspace(0.0, 1.0, number)
    if isinstance(schedule, str):
        if schedule not in ("power4", "linear"):
            raise PlanError(
                f"{arm}schedule must be 'power4', 'linear', a function or betas, got {schedule!r}"
            )
        return u**4 if schedule == "power4" else u
    try:
        given = schedule(u) if callable(schedule) else schedule
    except Exception as error:
        raise PlanError(f"{arm}schedule raised {type(error).__name__}: {error}") from error
    try:
        betas = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise PlanError(f"{arm}schedule must be numbers from 0 to 1, got {given!r}") from None
    expected = number if callable(schedule) else betas.size
    if betas.ndim != 1 or betas.size != expected or betas.size < 2:
        raise PlanError(
            f"{arm}schedule must be a row of {expected if callable(schedule) else '2 or more'} "
            f"betas, got shape {betas.shape}"
        )
    if betas[0] != 0 or betas[-1] != 1:
        raise PlanError(
            f"{arm}schedule must run from 0 to 1, got one from {betas[0]:g} to {betas[-1]:g}"
        )
    rising = np.diff(betas) > 0
    if not rising.all():
        at = int(np.flatnonzero(~rising)[0])
        raise PlanError(
            f"{arm}schedule must rise at every step, got {betas[at + 1]:g} after {betas[at]:g}"
        )
    return betas
