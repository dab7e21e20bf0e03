"""Figure 1, what is asked: a grid of problems with two arms, and how often and how long each runs.

A cell is a problem: the better arm has the variance V1, the other V1 + extra, both the mean 1/2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np

import croupier as cr
from croupier.checks import choice, count_of, positive, seed_of
from croupier.errors import PlanError
from paper.study import DEFAULT, PAPER

__all__ = [
    "Cell",
    "Shape",
    "TwoArms",
    "axis",
    "cell_from",
    "grid_from",
    "runs_from",
]

Shape = Literal["scaled-bernoulli", "truncated-normal", "uniform"]

#: How many times of a curve are recorded, evenly on a logarithmic axis.
_TIMES: Final = 61

#: Cells are written and compared to this many decimals.
_DECIMALS: Final = 12


class Cell(NamedTuple):
    """A problem: the variance of the better arm, and how much more the other one has."""

    v1: float
    extra: float

    @property
    def variances(self) -> tuple[float, float]:
        """The variances of both arms.

        >>> Cell(0.1, 0.2).variances
        (0.1, 0.3)
        """
        return self.v1, round(self.v1 + self.extra, _DECIMALS)

    def __str__(self) -> str:
        return f"V1 {self.v1:g}, extra {self.extra:g}"


def axis(low: float, high: float, count: int) -> tuple[float, ...]:
    """Return evenly spaced variances, without the last digits of floating point.

    >>> axis(0.0125, 0.05, 4)
    (0.0125, 0.025, 0.0375, 0.05)
    """
    return tuple(round(float(v), _DECIMALS) for v in np.linspace(low, high, count))


_TEN: Final = axis(0.0125, 0.125, 10)
_FOUR: Final = axis(0.0125, 0.125, 4)


@dataclass(frozen=True)
class TwoArms:
    """The study of Figure 1: its grid, its runs and their length; by default those of the paper.

    `variances` and `extras` span the grid, `curves` are the cells that are followed in time
    (None: two that suit the shape). `default_runs` are those of croupier's default policy, where
    they are to be other than those of the paper's; 0 leaves it out. `own_runs` are pairs of one of
    the paper's policies and its runs: a policy whose runs hardly differ needs fewer.

    >>> study = TwoArms(shape="uniform", runs=50, horizon=1000)
    >>> len(study.cells), len(study.impossible)
    (15, 85)
    """

    shape: Shape = "scaled-bernoulli"
    variances: tuple[float, ...] = _TEN
    extras: tuple[float, ...] = _TEN
    curves: tuple[Cell, ...] | None = None
    runs: int = 2000
    horizon: int = 1_000_000
    default_runs: int | None = None
    own_runs: tuple[tuple[str, int], ...] = ()
    seed: int = 2014

    def __post_init__(self) -> None:
        choice("shape", self.shape, Shape)
        for name in ("variances", "extras"):
            object.__setattr__(self, name, _axis_of(name, getattr(self, name)))
        for name, least in (("runs", 2), ("horizon", 10)):
            number = count_of(name, getattr(self, name))
            if number < least:
                raise PlanError(f"{name} must be at least {least}, got {number}")
            object.__setattr__(self, name, number)
        if self.default_runs is not None:
            object.__setattr__(self, "default_runs", _none_or_several(self.default_runs))
        object.__setattr__(self, "own_runs", _own_runs_of(self.own_runs))
        object.__setattr__(self, "seed", seed_of("seed", self.seed))
        if self.curves is not None:
            object.__setattr__(self, "curves", tuple(dict.fromkeys(map(_cell_of, self.curves))))
        for cell in self.followed:
            if not possible(self.shape, cell):
                raise PlanError(
                    f"cell {cell.v1:g},{cell.extra:g} is not possible with {self.shape} arms: "
                    f"V1 + extra must be {self.limit}"
                )
        if not self.cells:
            raise PlanError(
                f"no cell of the grid is possible: with {self.shape} arms V1 + extra must be "
                f"{self.limit}; choose a grid of smaller variances"
            )

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: a coarse grid, fewer and shorter runs; or with changes.

        >>> len(TwoArms.quick().cells), TwoArms.quick(runs=10).horizon
        (16, 100000)
        """
        small = {"variances": _FOUR, "extras": _FOUR, "runs": 200, "horizon": 100_000}
        return cls(**{**small, **changes})

    @property
    def followed(self) -> tuple[Cell, ...]:
        """The cells of the curves."""
        if self.curves is not None:
            return self.curves
        large = Cell(0.08, 0.1) if self.shape == "scaled-bernoulli" else Cell(0.025, 0.05)
        return large, Cell(0.005, 0.01)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that are compared."""
        return (*PAPER, DEFAULT) if self.runs_of(DEFAULT) else PAPER

    def runs_of(self, policy: str) -> int:
        """Return the runs of a policy in every cell."""
        own = self.default_runs if policy == DEFAULT else dict(self.own_runs).get(policy)
        return self.runs if own is None else own

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the grid that exist."""
        return tuple(cell for cell in self._grid() if possible(self.shape, cell))

    @property
    def impossible(self) -> tuple[Cell, ...]:
        """The cells of the grid that do not: no such draws have so large a variance."""
        return tuple(cell for cell in self._grid() if not possible(self.shape, cell))

    def _grid(self) -> Iterable[Cell]:
        return (Cell(v1, extra) for v1 in self.variances for extra in self.extras)

    @property
    def limit(self) -> str:
        """What V1 + extra can be, in words."""
        return "at most 1/4" if self.shape == "scaled-bernoulli" else "below 1/12"

    @property
    def times(self) -> tuple[int, ...]:
        """When a curve is recorded; the last time is the horizon."""
        return tuple(np.unique(np.geomspace(2, self.horizon, _TIMES).round().astype(int)).tolist())

    def cell_seed(self, cell: Cell, group: int = 0) -> int:
        """Return the seed of a cell: it depends on the study's seed and on the cell alone."""
        key = (*(round(v * 10**_DECIMALS) for v in cell), group)
        return int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1, np.uint64)[0])

    def problem(self, cell: Cell) -> Any:
        """Return the two arms of a cell, as the simulator takes them."""
        return getattr(cr.simulator, self.shape.replace("-", "_"))(list(cell.variances))

    def explain_impossible(self) -> str:
        """Return what is left out of the grid and why, or nothing.

        >>> TwoArms(shape="uniform").explain_impossible()
        '85 of 100 cells are left out: with uniform arms V1 + extra must be below 1/12'
        """
        if not (left_out := len(self.impossible)):
            return ""
        grid = len(self.variances) * len(self.extras)
        verb = "is" if left_out == 1 else "are"
        return (
            f"{left_out} of {grid} cells {verb} left out: with {self.shape} arms "
            f"V1 + extra must be {self.limit}"
        )


def possible(shape: Shape, cell: Cell) -> bool:
    """Say whether draws of that shape in [0, 1], about 1/2, can have such variances.

    >>> possible("scaled-bernoulli", Cell(0.125, 0.125)), possible("uniform", Cell(0.05, 0.05))
    (True, False)
    """
    largest = cell.variances[1]
    return largest <= 1 / 4 if shape == "scaled-bernoulli" else largest < 1 / 12 - 1e-9


def grid_from(text: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return V1s and extras: LOW:HIGH:COUNT or a list, for both, or one each with an x between.

    LOW:HIGH:COUNT:log is evenly spaced on a logarithmic axis, in two digits.

    >>> grid_from("0.01:0.03:3")
    ((0.01, 0.02, 0.03), (0.01, 0.02, 0.03))
    >>> grid_from("0.002:0.2:7:log")[0]
    (0.002, 0.0043, 0.0093, 0.02, 0.043, 0.093, 0.2)
    >>> grid_from("0.01,0.05 x 0.1")
    ((0.01, 0.05), (0.1,))
    """
    parts = text.split("x")
    if len(parts) > 2:
        raise _no_grid(text)
    axes = [_axis_from(part, text) for part in parts]
    return axes[0], axes[-1]


def _axis_from(part: str, text: str) -> tuple[float, ...]:
    try:
        if ":" not in part:
            return _axis_of("grid", [float(v) for v in part.split(",")])
        low, high, count, *scale = part.split(":")
        if scale:
            if [one.strip() for one in scale] != ["log"]:
                raise _no_grid(text)
            spaced = np.geomspace(float(low), float(high), int(count))
            return _axis_of("grid", [float(f"{v:.1e}") for v in spaced])
        return _axis_of("grid", axis(float(low), float(high), int(count)))
    except ValueError as error:
        if isinstance(error, PlanError):
            raise
        raise _no_grid(text) from None


def _no_grid(text: str) -> PlanError:
    return PlanError(
        f"grid must be like 0.0125:0.125:10, 0.002:0.2:7:log or 0.01,0.05,0.1, or two of them with "
        f"an x between (V1 x extra), got {text!r}"
    )


def cell_from(text: str) -> Cell:
    """Return a cell from V1,EXTRA.

    >>> cell_from("0.08,0.1")
    Cell(v1=0.08, extra=0.1)
    """
    try:
        v1, extra = (float(v) for v in text.split(","))
    except ValueError:
        raise PlanError(f"cell must be V1,EXTRA, such as 0.08,0.1, got {text!r}") from None
    return _cell_of((v1, extra))


def _cell_of(pair: Iterable[float]) -> Cell:
    try:
        v1, extra = pair
    except (TypeError, ValueError):
        raise PlanError(f"a cell must be a pair (V1, extra), got {pair!r}") from None
    return Cell(
        positive("V1", round(v1, _DECIMALS)),
        positive("the extra variance", round(extra, _DECIMALS)),
    )


def runs_from(text: str) -> tuple[str, int]:
    """Return a policy and its runs from POLICY=RUNS.

    >>> runs_from("kl-ucb=200")
    ('kl-ucb', 200)
    """
    policy, _, runs = text.partition("=")
    try:
        return policy.strip(), int(float(runs))
    except ValueError:
        raise PlanError(f"runs must be POLICY=RUNS, such as kl-ucb=200, got {text!r}") from None


def _own_runs_of(pairs: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    own = {}
    for policy, runs in pairs:
        if policy not in PAPER:
            raise PlanError(
                f"a policy of the paper is one of {', '.join(PAPER)}, got {policy!r}; "
                "the runs of the default are default_runs"
            )
        own[policy] = count_of(f"the runs of {policy}", runs)
        if own[policy] < 2:
            raise PlanError(f"the runs of {policy} must be at least 2, got {own[policy]}")
    return tuple((policy, own[policy]) for policy in PAPER if policy in own)


def _none_or_several(runs: float) -> int:
    number = 0 if runs == 0 else count_of("default_runs", runs)
    if number == 1:
        raise PlanError("default_runs must be 0 or at least 2, got 1")
    return number


def _axis_of(name: str, values: Iterable[float]) -> tuple[float, ...]:
    numbers = sorted({round(positive(name, v), _DECIMALS) for v in values})
    if not numbers or not numbers[0]:
        raise PlanError(f"{name} must be one or more variances above 0, got {values!r}")
    return tuple(numbers)
