"""The caplet of the paper's Figure 2: Cox-Ingersoll-Ross rates, and drifts to draw them with.

dr = (eta - kappa r) dt + sigma sqrt(r) dW, by Euler's steps; the payoff M (r(T) - K)^+ is
discounted by the trapezoid rule. What tells two drifts apart is the total of the noise alone, so
that a weight is a function of one number per path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

import croupier as cr
from croupier.checks import count_of, positive
from croupier.data.draws import Floats
from croupier.errors import PlanError
from croupier.importance import Family, Normal
from paper.cir_exact import Exact, continuous_price, euler

__all__ = ["THETAS", "Caplet", "Exact"]

#: The drifts of the paper's 16 arms.
THETAS: Final = tuple(k / 10 for k in range(16))

#: A path of this many steps fits the memory of one block.
_MOST_STEPS: Final = 100_000


@dataclass(frozen=True)
class Caplet:
    """A caplet on a Cox-Ingersoll-Ross rate; by default that of the paper with the strike 0.07.

    Where a rate falls below 0, drift, noise and discount take it for 0 (full truncation, Lord et
    al. 2010); with the paper's parameters it never does.

    >>> caplet = Caplet(strike=0.08)
    >>> payoffs, totals = caplet.simulate(np.random.default_rng(7), 1000, shift=1.2)
    >>> round(float(np.mean(payoffs * caplet.weight(1.2, totals))), 1)
    1.9
    >>> round(caplet.continuous_price(), 5)
    1.8848
    """

    strike: float = 0.07
    eta: float = 0.016
    kappa: float = 0.2
    sigma: float = 0.02
    start: float = 0.08
    maturity: float = 1.0
    notional: float = 1000.0
    steps: int = 100

    def __post_init__(self) -> None:
        for name in ("eta", "sigma", "start", "maturity", "notional"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("strike", "kappa"):
            object.__setattr__(self, name, positive(name, getattr(self, name), zero=True))
        steps = count_of("steps", self.steps)
        if steps > _MOST_STEPS:
            raise PlanError(f"steps must be at most {_MOST_STEPS}, got {steps}")
        object.__setattr__(self, "steps", steps)
        if self.kappa * self.maturity >= 2 * steps:
            raise PlanError(
                f"Euler's steps overshoot: kappa dt must be below 2, and {steps} steps to the "
                f"maturity {self.maturity:g} with kappa {self.kappa:g} make it "
                f"{self.kappa * self.maturity / steps:g}; take more steps"
            )

    @property
    def parameters(self) -> Floats:
        """The numbers that the kernel takes."""
        return np.array(
            [
                self.strike, self.eta, self.kappa, self.sigma, self.start, self.maturity,
                self.notional, self.steps,
            ]
        )  # fmt: skip

    def simulate(
        self, rng: np.random.Generator, size: int, shift: float = 0.0, spread: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return the discounted payoffs of `size` paths, and the total noise of each.

        The total, sum(eps)/sqrt(steps), is drawn from N(shift, spread^2), and what is left of the
        noise when the total is known as it ever was: a proposal for the total alone. A drift theta
        of the Brownian motion is the shift theta sqrt(maturity).
        """
        from paper.cir_kernel import LANES, paths

        size = count_of("size", size)
        shift, spread = _finite("shift", shift), positive("spread", spread)
        # Sixteen lanes fill a vector; a short call does not walk paths that are not wanted.
        lanes = min(LANES, -(-size // 32) * 16)
        states = rng.integers(0, 2**64, (4, lanes), dtype=np.uint64)
        payoffs, totals = np.empty(size), np.empty(size)
        paths(states, self.parameters, shift, spread, payoffs, totals)
        return payoffs, totals

    @staticmethod
    def log_weight(shift: float, total: ArrayLike, spread: float = 1.0) -> Floats:
        """Return log p/q of the total, p the standard normal density and q the proposal's."""
        x = np.asarray(total, float)
        away = (x - shift) / spread
        return np.asarray((away * away - x * x) / 2 + math.log(spread))

    @classmethod
    def weight(cls, shift: float, total: ArrayLike, spread: float = 1.0) -> Floats:
        """Return p/q: exp(shift^2/2 - shift total), where the spread is 1."""
        return np.asarray(np.exp(cls.log_weight(shift, total, spread)))

    def shift_of(self, theta: float) -> float:
        """Return what a drift of the Brownian motion adds to the total: theta sqrt(maturity)."""
        return _finite("theta", theta) * math.sqrt(self.maturity)

    def arms(self, thetas: Sequence[float] = THETAS) -> list[cr.Arm]:
        """Return an arm for each drift: it draws weighted payoffs, whose mean is the price.

        >>> result = cr.estimate(Caplet().arms(), draws=20_000, rng=7)
        >>> round(result.value, 1)
        9.3
        """
        return [cr.Arm(Drifted(self, theta), name=f"theta={theta:g}") for theta in _drifts(thetas)]

    def family(self, thetas: Sequence[float] = THETAS) -> Family:
        """Return the drifts as an importance family, whose mixture does better than any of them.

        >>> result = Caplet().family().estimate(draws=2000, rng=7)
        >>> abs(result.value - 9.25675) < 4 * result.stderr < 0.1
        True
        """
        drifts = _drifts(thetas)
        names = [f"theta={theta:g}" for theta in drifts]
        return Family.simulated(Walked(self), [self.shift_of(t) for t in drifts], names=names)

    def exact(self, thetas: Sequence[float] = THETAS) -> Exact:
        """Return the price of the Euler chain and the variances of the arms, without Monte Carlo.

        >>> exact = Caplet().exact([0.0, 0.5])
        >>> round(exact.price, 4), exact.variances.round(2).tolist()
        (9.2567, [21.47, 2.33])
        """
        return euler(self, _drifts(thetas))

    def continuous_price(self) -> float:
        """Return the price in continuous time, by its closed form."""
        return continuous_price(self)


@dataclass(frozen=True)
class Drifted:
    """An arm's draws: the payoff under a drift, times its weight. A class, so that it pickles."""

    caplet: Caplet
    theta: float

    def __call__(self, rng: np.random.Generator, size: int) -> Floats:
        shift = self.caplet.shift_of(self.theta)
        payoffs, totals = self.caplet.simulate(rng, size, shift)
        return payoffs * self.caplet.weight(shift, totals)


@dataclass(frozen=True)
class Walked:
    """The points of the family: payoffs, and the totals that are drawn from a normal."""

    caplet: Caplet

    def __call__(
        self, rng: np.random.Generator, size: int, normal: Normal
    ) -> tuple[Floats, Floats]:
        return self.caplet.simulate(rng, size, normal.mean.item(), normal.root.item())


def _drifts(thetas: Any) -> tuple[float, ...]:
    try:
        drifts = tuple(_finite("theta", theta) for theta in thetas)
    except TypeError:
        raise PlanError(f"thetas must be a sequence of drifts, got {thetas!r}") from None
    if not drifts:
        raise PlanError("thetas must name at least one drift")
    return drifts


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise PlanError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise PlanError(f"{name} must be finite, got {value!r}")
    return number
