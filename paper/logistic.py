"""The evidence of a Bayesian logistic regression on the Pima data, by annealed importance sampling.

The paper's third experiment: arms with more temperatures have draws of less variance, and each
draw costs more. The cost of a draw is the number of likelihood evaluations; under a budget of
seconds croupier measures the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from croupier.arms.base import Arm
from croupier.checks import count_of, positive
from croupier.data.draws import Draws, Floats
from croupier.errors import PlanError

__all__ = ["TEMPERATURES", "Annealed", "Evidence", "LogWeights", "Reference", "pima"]

#: The temperatures of the paper's three arms.
TEMPERATURES: Final = (400, 2000, 8000)

#: The first interval of a slice, in deviations of the prior; the paper does not give its own.
_WIDTH: Final = 3.0

#: Draws of the reference: half of them, and as many mirrored at the mode.
_REFERENCE_DRAWS: Final = 1_000_000


class Reference(NamedTuple):
    """A log-evidence and its standard error."""

    log_value: float
    error: float


class LogWeights(NamedTuple):
    """Log-weights of annealed importance sampling, and likelihood evaluations per draw."""

    log_values: Floats
    evaluations: Floats


def pima() -> tuple[Floats, Floats]:
    """Return the Pima diabetes data: features (768, 8), and the class of each row, 0 or 1.

    Of the National Institute of Diabetes and Digestive and Kidney Diseases, by way of the UCI
    repository; see ``paper/data/README.md``.

    >>> features, classes = pima()
    >>> features.shape, int(classes.sum())
    ((768, 8), 268)
    """
    path = Path(__file__).parent / "data" / "pima.csv"
    with path.open(encoding="utf-8") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


@dataclass(frozen=True)
class Evidence:
    """A logistic regression on the first rows of Pima, without intercept: Z = E_prior likelihood.

    The prior is N(0, `prior_variance` I). Features are standardised over all 768 rows (with the
    n - 1 in the deviation), or raw.

    >>> model = Evidence(rows=5)
    >>> model.log_likelihood(np.zeros(8)) / math.log(2)
    -5.0
    >>> weights = model.log_weights(np.random.default_rng(7), 100, temperatures=400)
    >>> bool(abs(np.exp(weights.log_values + 3.236).mean() - 1) < 0.05)
    True
    """

    rows: int = 5
    standardised: bool = True
    prior_variance: float = 0.05

    def __post_init__(self) -> None:
        rows = count_of("rows", self.rows)
        if rows > (most := len(pima()[0])):
            raise PlanError(f"rows must be at most {most}, all there are, got {rows}")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "prior_variance", positive("prior_variance", self.prior_variance))

    @cached_property
    def signed(self) -> Floats:
        """The features of the rows times the sign of the class, +1 or -1: shape (rows, 8)."""
        features, classes = pima()
        if self.standardised:
            features = (features - features.mean(axis=0)) / features.std(axis=0, ddof=1)
        return np.asarray(features * (2 * classes - 1)[:, None])[: self.rows]

    @property
    def dimension(self) -> int:
        """How many coefficients there are."""
        return int(self.signed.shape[1])

    @property
    def width(self) -> float:
        """The first interval of a slice."""
        return _WIDTH * math.sqrt(self.prior_variance)

    def log_likelihood(self, theta: ArrayLike) -> Floats | float:
        """Return -sum_i log(1 + exp(-z_i)), for one theta (8,) or many (n, 8)."""
        z = np.asarray(theta, float) @ self.signed.T
        total = -np.logaddexp(0.0, -z).sum(axis=-1)
        return float(total) if total.ndim == 0 else np.asarray(total)

    def log_prior(self, theta: ArrayLike) -> Floats | float:
        """Return the logarithm of the prior's density, for one theta or many."""
        square = np.square(np.asarray(theta, float)).sum(axis=-1)
        constant = self.dimension / 2 * math.log(2 * math.pi * self.prior_variance)
        total = -square / (2 * self.prior_variance) - constant
        return float(total) if total.ndim == 0 else np.asarray(total)

    # -- arms

    def log_weights(
        self, rng: np.random.Generator, size: int, temperatures: int = 2000
    ) -> LogWeights:
        """Draw log-weights, each with a random stream of its own from one number of `rng`."""
        from croupier.simulator.randomness import streams
        from paper.logistic_kernel import anneal, ladder

        key = rng.integers(0, 2**64, dtype=np.uint64)
        out = np.empty((size, 2))
        columns, filled = self.columns
        betas = ladder(_temperatures(temperatures))
        anneal(streams(key, size), columns, filled, betas, self.prior_variance, self.width, out)
        return LogWeights(out[:, 0], out[:, 1])

    @cached_property
    def columns(self) -> tuple[Floats, Floats]:
        """The signed features by columns, filled up to whole vectors, and where filling starts."""
        from paper.logistic_kernel import FILLED, LANES

        filled_rows = -(-self.rows // LANES) * LANES
        columns = np.zeros((self.dimension, filled_rows))
        columns[:, : self.rows] = self.signed.T
        start = np.zeros(filled_rows)
        start[self.rows :] = FILLED
        return columns, start

    def arm(self, temperatures: int) -> Arm:
        """Return an arm that draws weights, unbiased for Z, and reports likelihood evaluations.

        >>> import croupier as cr
        >>> model = Evidence(rows=10)
        >>> result = cr.estimate([model.arm(50), model.arm(200)], cost=1e6, rng=7)
        >>> bool(abs(math.log(result.value) + 6.76) < 0.1)
        True
        """
        name = f"{_temperatures(temperatures)} temperatures"
        return Arm(Annealed(self, temperatures), name=name, version="power4-slice-1")

    def arms(self, temperatures: Sequence[int] = TEMPERATURES) -> tuple[Arm, ...]:
        """Return an arm for each number of temperatures."""
        return tuple(self.arm(number) for number in temperatures)

    # -- reference

    def mode(self) -> Floats:
        """Return the most probable theta, by Newton's method with halved steps."""
        a, theta = self.signed, np.zeros(self.dimension)
        for _ in range(200):
            gradient, hessian = self._slopes(theta)
            step = np.linalg.solve(hessian, gradient)
            size, now = 1.0, self._log_posterior(theta)
            while size > 1e-12 and self._log_posterior(theta + size * step) < now:
                size /= 2
            theta = theta + size * step
            if np.abs(a @ step).max() + np.abs(step).max() < 1e-10:
                break
        return theta

    def _log_posterior(self, theta: Floats) -> float:
        return float(self.log_likelihood(theta)) + float(self.log_prior(theta))

    def _slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the gradient of the log-posterior and minus its second derivative."""
        from scipy.special import expit

        a = self.signed
        miss = expit(-a @ theta)
        gradient = miss @ a - theta / self.prior_variance
        hessian = (a.T * (miss * (1 - miss))) @ a
        return gradient, hessian + np.eye(self.dimension) / self.prior_variance

    def reference(
        self, draws: int = _REFERENCE_DRAWS, *, df: float | None = None, rng: int = 2014
    ) -> Reference:
        """Return log Z by importance sampling from a Student-t at the mode, in mirrored pairs.

        `df`: by default 100 for standardised features, where the posterior is close to normal,
        and 5 for raw ones, where it is not.

        >>> log_value, error = Evidence(rows=5).reference(20_000)
        >>> abs(log_value + 3.236) < 4 * error, error < 0.005
        (True, True)
        """
        from scipy.special import gammaln

        df = positive("df", df or (100.0 if self.standardised else 5.0))
        p, mode = self.dimension, self.mode()
        random = np.random.default_rng(rng)
        spread = np.linalg.inv(np.linalg.cholesky(self._slopes(mode)[1])).T
        # The density of t at its standard scale, and of the map to theta.
        constant = (
            gammaln((df + p) / 2)
            - gammaln(df / 2)
            - p / 2 * math.log(df * math.pi)
            - math.log(abs(np.linalg.det(spread)))
        )
        pairs: list[Floats] = []
        left = count_of("draws", draws) // 2
        while left > 0:
            some = min(left, 20_000)
            left -= some
            normal = random.standard_normal((some, p))
            t = normal / np.sqrt(random.chisquare(df, some) / df)[:, None]
            log_q = constant - (df + p) / 2 * np.log1p(np.square(t).sum(axis=1) / df)
            away = t @ spread.T
            both = [
                self.log_likelihood(mode + sign * away) + self.log_prior(mode + sign * away) - log_q
                for sign in (1, -1)
            ]
            pairs.append(np.logaddexp(*both) - math.log(2))
        log_weights = np.concatenate(pairs)
        most = float(log_weights.max())
        weights = np.exp(log_weights - most)
        mean = float(weights.mean())
        error = float(weights.std(ddof=1)) / mean / math.sqrt(len(weights))
        return Reference(most + math.log(mean), error)


@dataclass(frozen=True)
class Annealed:
    """Draws of annealed importance sampling with some number of temperatures, as an arm."""

    model: Evidence
    temperatures: int

    def __call__(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` weights and the likelihood evaluations that each of them took."""
        drawn = self.model.log_weights(rng, size, self.temperatures)
        return Draws(np.exp(drawn.log_values), costs=drawn.evaluations)


def _temperatures(number: int) -> int:
    temperatures = count_of("temperatures", number)
    if temperatures < 2:
        raise PlanError(f"temperatures must be at least 2, from prior to posterior, got {number}")
    return temperatures
