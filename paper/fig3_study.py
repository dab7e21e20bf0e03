"""Figure 3, what is asked: the evidence of logistic models, arms of unequal cost, two clocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np

from croupier.checks import count_of, positive, seed_of
from croupier.errors import PlanError
from paper.logistic import TEMPERATURES, Evidence
from paper.study import DEFAULT, PAPER

__all__ = ["CLOCKS", "COMBINED", "PAPER_RUNS", "Annealing", "Clock", "fixed"]

Clock = Literal["evaluations", "cpu-seconds"]

#: What a draw costs: likelihood evaluations, the same at every run of the figure, or CPU time.
CLOCKS: Final[tuple[Clock, ...]] = ("evaluations", "cpu-seconds")

#: How the draws of a policy are combined.
COMBINED: Final = ("mean", "inverse-variance", "guarded")

#: The paper's mean is over this many runs; it is written beside the mean over all runs.
PAPER_RUNS: Final = 20

#: How many times of a run are recorded, evenly on a logarithmic axis.
_TIMES: Final = 21

#: A run is recorded from this many draws of the most expensive arm on.
_START: Final = 10.0


def fixed(temperatures: int) -> str:
    """Return the name of an arm that is drawn alone.

    >>> fixed(400)
    'always 400'
    """
    return f"always {temperatures}"


@dataclass(frozen=True)
class Annealing:
    """The study of Figure 3; by default at the size of the page in the documentation.

    Every arm has a bank of fresh draws: `draws` of the most expensive arm, and
    sqrt(its cost/the arm's cost) times as many of a cheaper one. A run draws from the banks, with
    replacement, until it has spent the cost of `budget` draws of the most expensive arm. `rows`
    are the models. `width`: the paper's policies scale draws by `width` times Z and clip payoffs
    beyond it; with math.inf the range is that of the largest draw, and no draw is outside.

    >>> Annealing().bank_sizes
    (8945, 4000, 2000)
    """

    standardised: bool = True
    rows: tuple[int, ...] = (5, 10, 50)
    temperatures: tuple[int, ...] = TEMPERATURES
    runs: int = 2000
    draws: int = 2000
    budget: int = 1000
    seed: int = 2014
    width: float = 3.0

    def __post_init__(self) -> None:
        for name, least in (("runs", PAPER_RUNS), ("draws", 100), ("budget", 20)):
            number = count_of(name, getattr(self, name))
            if number < least:
                raise PlanError(f"{name} must be at least {least}, got {number}")
            object.__setattr__(self, name, number)
        for name in ("rows", "temperatures"):
            numbers = sorted({count_of(name, one) for one in getattr(self, name)})
            if not numbers:
                raise PlanError(f"{name} must be one or more numbers, got none")
            object.__setattr__(self, name, tuple(numbers))
        if len(self.temperatures) < 2:
            raise PlanError(
                f"temperatures must be those of two or more arms, got {self.temperatures}"
            )
        object.__setattr__(self, "seed", seed_of("seed", self.seed))
        if self.width != math.inf:
            object.__setattr__(self, "width", positive("width", self.width))
        for rows in self.rows:
            self.model(rows)

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: smaller banks, fewer and shorter runs; or with changes.

        >>> Annealing.quick().runs, Annealing.quick(runs=20).draws
        (200, 150)
        """
        return cls(**{"runs": 200, "draws": 150, "budget": 200, **changes})

    @property
    def features(self) -> str:
        """How the features are scaled, in one word."""
        return "standardised" if self.standardised else "raw"

    @property
    def bank_sizes(self) -> tuple[int, ...]:
        """How many draws the bank of each arm has."""
        most = self.temperatures[-1]
        return tuple(math.ceil(self.draws * math.sqrt(most / one)) for one in self.temperatures)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that are compared."""
        return (*PAPER, DEFAULT)

    @property
    def players(self) -> tuple[str, ...]:
        """The policies, and each arm alone."""
        return (*self.policies, *map(fixed, self.temperatures))

    @property
    def shares(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """When a run is recorded, in draws of the most expensive arm; the last is the budget."""
        return np.geomspace(min(_START, self.budget / 2), self.budget, _TIMES)

    def model(self, rows: int) -> Evidence:
        """Return one of the models."""
        return Evidence(rows, self.standardised)

    def lines(self) -> int:
        """Return how many rows of the file one model has: curves of policies and of arms."""
        curves = len(self.policies) * len(COMBINED) + len(self.temperatures)
        return len(CLOCKS) * curves * _TIMES
