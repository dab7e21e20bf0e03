"""Replay the recording with the formulas of README.md: python -m tests.data.smpybandits.check.

Every recorded decision must have had the largest index, up to TIE, given the decisions before it.
SMPyBandits is not needed: the formulas are written out here again, for all rounds at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tests.data.smpybandits import recipe

TIE = 1e-9
COLUMNS = (
    "differ",
    "no number",
    "ties, opening",
    "ties, later",
    "nearly",
    "differ, accurate",
    "differ, t + 1",
)


class Rounds(NamedTuple):
    """What was known before every round of a sequence; (rounds, arms) but for t, (rounds, 1)."""

    t: np.ndarray  # plays so far: 0, 1, 2, ...
    T: np.ndarray  # pulls of each arm
    mean: np.ndarray
    square: np.ndarray  # mean of the squares
    variance: np.ndarray  # the same as square - mean^2, but computed without cancellation


def rounds_of(table: np.ndarray, decisions: np.ndarray) -> Rounds:
    """Return what was known before every round, from the decisions of the earlier ones."""
    arms, rounds = table.shape
    chosen = decisions[:, None] == np.arange(arms)
    T = np.cumsum(chosen, axis=0) - chosen
    payoff = table[decisions, T[np.arange(rounds), decisions]][:, None] * chosen
    # An accurate variance: sums of what is left when each arm's first payoff is taken off.
    left = (payoff - table[:, 0]) * chosen

    def before(values: np.ndarray) -> np.ndarray:
        sums = np.cumsum(values, axis=0)
        return np.vstack([np.zeros(arms), sums[:-1]])

    mean, square = before(payoff) / T, before(payoff**2) / T
    variance = before(left**2) / T - (before(left) / T) ** 2
    return Rounds(np.arange(rounds)[:, None], T, mean, square, np.maximum(variance, 0))


def ucb1(r: Rounds) -> np.ndarray:
    return r.mean + np.sqrt(2 * np.log(r.t) / r.T)


def ucbv(r: Rounds) -> np.ndarray:
    """Return the index as SMPyBandits computes it: not a number where rounding goes below 0."""
    variance = r.square - r.mean**2
    return r.mean + np.sqrt(2 * np.log(r.t) * variance / r.T) + 3 * np.log(r.t) / r.T


def ucbv_accurate(r: Rounds) -> np.ndarray:
    return r.mean + np.sqrt(2 * np.log(r.t) * r.variance / r.T) + 3 * np.log(r.t) / r.T


def moss(r: Rounds, n: np.ndarray | int, scale: float = 1.0) -> np.ndarray:
    logs = np.maximum(np.log(n / (r.mean.shape[1] * r.T)), 0)
    return r.mean + np.sqrt(scale * logs / r.T)


def level(r: Rounds, c: float) -> np.ndarray:
    """Return (log t + c log max(1, log t)) / T."""
    return (np.log(r.t) + c * np.log(np.maximum(1, np.log(r.t)))) / r.T


def bisected(r: Rounds, c: float, tolerance: float) -> np.ndarray:
    """Return klucbBern of SMPyBandits: the middle of a bracket no wider than the tolerance."""
    d, eps = level(r, c), 1e-15
    x = np.clip(r.mean, eps, 1 - eps)
    low, high = r.mean.copy(), np.minimum(1, r.mean + np.sqrt(d / 2))
    for _ in range(50):
        middle = (low + high) / 2
        y = np.clip(middle, eps, 1 - eps)
        above = x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y)) > d
        wide = high - low > tolerance
        high = np.where(wide & above, middle, high)
        low = np.where(wide & ~above, middle, low)
    return (low + high) / 2


def solved(r: Rounds, c: float) -> np.ndarray:
    """Return w = -log(1 - q), q the exact index: kl(m, q) = d, solved in w, where it is flat."""
    m, d = r.mean, level(r, c)
    entropy = np.where((m > 0) & (m < 1), m * np.log(m) + (1 - m) * np.log1p(-m), 0)
    low = -np.log1p(-m)
    high = np.maximum((d - entropy) / (1 - m), low)  # kl(m, q) >= (1 - m) w + entropy
    for _ in range(200):
        w = (low + high) / 2
        cross = np.where(m > 0, m * np.log(-np.expm1(-w)), 0)
        below = entropy - cross + (1 - m) * w <= d
        low, high = np.where(below, w, low), np.where(below, high, w)
    return np.where(m < 1, low, np.inf)


FORMULAS: dict[str, Callable[[Rounds], np.ndarray]] = {
    "ucb1": ucb1,
    "ucbv": ucbv,
    "klucb": lambda r: bisected(r, 3, 1e-4),
    "klucb_fine": lambda r: bisected(r, 3, 1e-12),
    "klucb_log": lambda r: bisected(r, 0, 1e-4),
    "moss_horizon": lambda r: moss(r, recipe.ROUNDS),
    "moss": lambda r: moss(r, r.t),
    "moss_anytime": lambda r: moss(r, r.t, (1 + 1.35) / 2),
}

#: The same indices as one would want them: no cancellation, no tolerance.
ACCURATE: dict[str, Callable[[Rounds], np.ndarray]] = FORMULAS | {
    "ucbv": ucbv_accurate,
    "klucb": lambda r: -np.expm1(-solved(r, 3)),
    "klucb_fine": lambda r: -np.expm1(-solved(r, 3)),
    "klucb_log": lambda r: -np.expm1(-solved(r, 0)),
}


def shortfall(r: Rounds, decisions: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return by how much the index of each chosen arm was below the largest; 0 is a fair choice."""
    index = np.where(r.T == 0, np.inf, index)
    chosen = np.take_along_axis(index, decisions[:, None].astype(int), axis=1)[:, 0]
    largest = index.max(axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(chosen == largest, 0, largest - chosen)


def later(r: Rounds) -> Rounds:
    """Return the same rounds with t counted from 1, as the number of the round."""
    return r._replace(t=r.t + 1)


def judge(name: str, recording: Mapping[str, Any], tables: list[np.ndarray]) -> dict[str, float]:
    """Count the rounds of a policy, by what can be said about them; README.md says it in words."""
    counts: Counter[str] = Counter()
    largest = 0.0
    for table, arms, best, decade in zip(
        tables,
        recording[name],
        recording[f"{name}_best"],
        recording[f"{name}_decade"],
        strict=True,
    ):
        with np.errstate(all="ignore"):
            r = rounds_of(table, arms)
            as_computed = shortfall(r, arms, FORMULAS[name](r))
            accurate = shortfall(r, arms, ACCURATE[name](r))
            one_later = shortfall(r, arms, FORMULAS[name](later(r)))
        number, tied = best > 0, best > 1
        opening = np.arange(len(arms)) < len(table)
        largest = max(largest, float(accurate[number].max()))
        counts += Counter(
            {
                "differ": np.count_nonzero(number & ~(as_computed <= TIE)),
                "no number": np.count_nonzero(~number),
                "ties, opening": np.count_nonzero(tied & opening),
                "ties, later": np.count_nonzero(tied & ~opening),
                "nearly": np.count_nonzero((decade >= 9) & number & ~tied),
                "differ, accurate": np.count_nonzero(number & ~(accurate <= TIE)),
                "differ, t + 1": np.count_nonzero(number & ~(one_later <= TIE)),
            }
        )
    return {column: counts[column] for column in COLUMNS} | {"by at most": largest}


def main() -> None:
    recording = recipe.load()
    tables = [recipe.payoffs_of(sequence) for sequence in range(recipe.SEQUENCES)]
    rows = {name: judge(name, recording, tables) for name in FORMULAS}
    print(f"{'':14}" + "".join(f"{column:>18}" for column in (*COLUMNS, "by at most")))
    for name, row in rows.items():
        print(f"{name:14}" + "".join(f"{count:18.6g}" for count in row.values()))
    wrong = int(sum(row["differ"] for row in rows.values()))
    print(f"{wrong} decisions differ from the formulas by more than {TIE}")
    raise SystemExit(int(wrong > 0))


if __name__ == "__main__":
    main()
