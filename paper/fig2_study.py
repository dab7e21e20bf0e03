"""Figure 2, what is asked and what was measured: strikes, contestants, numbers of draws; rows."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np

from croupier.checks import count_of, positive, seed_of
from croupier.errors import PlanError
from paper.cir import THETAS, Caplet, Exact
from paper.cir_bank import PathBank
from paper.fig2_contest import CONTESTANTS, Asked, Estimates

__all__ = ["Fig2Row", "OptionPrice", "Part", "rows_of"]

#: 10^2 ... 10^5, two to a decade.
_DRAWS: Final = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
_FURTHER: Final = (*_DRAWS, 316_228, 1_000_000)
_STRIKES: Final = (0.06, 0.07, 0.08)


class Part(NamedTuple):
    """What is done at once: a contestant at a strike."""

    strike: float
    contestant: str

    def __str__(self) -> str:
        return f"{self.contestant}, strike {self.strike:g}"


@dataclass(frozen=True)
class Fig2Row:
    """A contestant at a strike after a number of draws.

    `nmse` is n times the mean squared error over the runs, with its standard error; `best` is V*,
    the variance of the best arm, so that nmse/best is 1 for the best arm in hindsight. `allocation`
    is that ratio as the draws of every arm imply it, without the noise of the draws themselves:
    sum_k n_k V_k/(n V*) for a plain mean, n/(V* sum_k n_k/V_k) where draws are weighted; NaN
    where there are no arms; `allocation_stderr` is its standard error. `width`: payoffs are clipped
    at `width` times the price. `bank`: how many paths the bank has, 0 where every draw walks a new
    one; price and V* are then the bank's.
    `cpu_seconds` are those of all numbers of draws together.
    """

    strike: float
    contestant: str
    draws: int
    runs: int
    width: float
    bank: int
    seed: int
    price: float
    best: float
    mean: float
    nmse: float
    stderr: float
    allocation: float
    allocation_stderr: float
    cpu_seconds: float

    @property
    def part(self) -> Part:
        """What the row belongs to."""
        return Part(self.strike, self.contestant)

    @property
    def ratio(self) -> float:
        """The loss to that of the best arm in hindsight."""
        return self.nmse / self.best

    @property
    def ratio_stderr(self) -> float:
        """The standard error of the ratio."""
        return self.stderr / self.best


@dataclass(frozen=True)
class OptionPrice:
    """The study of Figure 2; by default that of the paper: three strikes, 1000 runs to 10^5 draws.

    `width`: the paper's policies take payoffs between 0 and `width` times the price, and clip what
    is above. `bank`: draw from so many paths that are walked once, see `PathBank`; 0 walks a new
    path for every draw.

    >>> study = OptionPrice.quick(contestants=["ucb1", "thompson"])
    >>> len(study.parts), study.draws[-1]
    (6, 10000)
    """

    strikes: tuple[float, ...] = _STRIKES
    draws: tuple[int, ...] = _DRAWS
    runs: int = 1000
    contestants: tuple[str, ...] = tuple(CONTESTANTS)
    width: float = 3.0
    bank: int = 0
    seed: int = 2014

    def __post_init__(self) -> None:
        strikes = tuple(dict.fromkeys(Caplet(strike).strike for strike in self.strikes))
        draws = tuple(sorted({count_of("draws", n) for n in self.draws}))
        names = tuple(dict.fromkeys(self.contestants))
        if unknown := [name for name in names if name not in CONTESTANTS]:
            raise PlanError(
                f"there is no contestant {unknown[0]!r}; there are {', '.join(CONTESTANTS)}"
            )
        if not (strikes and draws and names):
            raise PlanError("the study needs a strike, a number of draws and a contestant")
        if draws[0] < 2 * len(THETAS):
            raise PlanError(
                f"draws must be at least {2 * len(THETAS)}, two for each arm, got {draws[0]}"
            )
        runs = count_of("runs", self.runs)
        if runs < 2:
            raise PlanError(f"runs must be at least 2, got {runs}")
        values = {
            "strikes": strikes, "draws": draws, "contestants": names, "runs": runs,
            "width": positive("width", self.width), "seed": seed_of("seed", self.seed),
            "bank": count_of("bank", self.bank) if self.bank else 0,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: 100 runs to 10^4 draws; or with changes."""
        return cls(**{"runs": 100, "draws": _DRAWS[:5], **changes})

    @property
    def parts(self) -> tuple[Part, ...]:
        """All that is to be done, strike by strike."""
        return tuple(Part(k, name) for k in self.strikes for name in self.contestants)

    def asked(
        self,
        part: Part,
        exact: Exact,
        threads: int | None = None,
        bank: PathBank | None = None,
    ) -> Asked:
        """Return what the contestant of a part is asked; its seed depends on nothing else."""
        key = (round(part.strike * 10**12), zlib.crc32(part.contestant.encode()))
        state = np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1, np.uint64)
        caplet, seed = Caplet(part.strike), int(state[0])
        return Asked(caplet, exact, self.draws, self.runs, seed, self.width, threads, bank)


def up_to(most: float) -> tuple[int, ...]:
    """Return numbers of draws, two to a decade, from 100 to the largest.

    >>> up_to(2000)
    (100, 316, 1000, 2000)
    >>> up_to(1e6)[-3:]
    (100000, 316228, 1000000)
    """
    last = count_of("draws", most)
    return (*(n for n in _FURTHER if n < last), last)


def rows_of(
    study: OptionPrice, part: Part, exact: Exact, done: Estimates, spent: float
) -> list[Fig2Row]:
    """Return the rows of a part, from the estimates of its runs."""
    n = np.array(study.draws, float)
    squares = n * np.square(done.values - exact.price)
    best = float(exact.variances[exact.best])
    implied = np.full(squares.shape, np.nan)
    if done.pulls is not None and done.weighted:
        implied = n / (best * (done.pulls / exact.variances).sum(axis=2))
    elif done.pulls is not None:
        implied = (done.pulls @ exact.variances) / (n * best)
    root = study.runs**0.5
    return [
        Fig2Row(
            strike=part.strike,
            contestant=part.contestant,
            draws=draws,
            runs=study.runs,
            width=study.width,
            bank=study.bank,
            seed=study.seed,
            price=exact.price,
            best=best,
            mean=float(done.values[:, i].mean()),
            nmse=float(squares[:, i].mean()),
            stderr=float(squares[:, i].std(ddof=1) / root),
            allocation=float(implied[:, i].mean()),
            allocation_stderr=float(implied[:, i].std(ddof=1) / root),
            cpu_seconds=spent,
        )
        for i, draws in enumerate(study.draws)
    ]


def by_part(rows: Iterable[Fig2Row]) -> Mapping[Part, list[Fig2Row]]:
    """Return the rows of each part."""
    parts: dict[Part, list[Fig2Row]] = {}
    for row in rows:
        parts.setdefault(row.part, []).append(row)
    return parts
