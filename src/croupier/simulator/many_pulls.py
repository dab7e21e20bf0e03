"""Many pulls of one arm at once: tosses of two values, 64 at a time, and the count of pulls.

Losses with two values are tossed 64 at a time or more. If the arm would stay below its threshold
even with all the high losses first, the whole block is played. Otherwise it is played toss by toss.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from croupier.simulator.compiling import ZERO, compiled
from croupier.simulator.kernels import note, score_of
from croupier.simulator.kinds import UCB_V
from croupier.simulator.randomness import next_bits, ones_of, put_back, tosses

__all__ = ["ALL", "ONE", "book", "walk"]

#: No block is longer than this.
_MOST_PULLS: Final = 1 << 16

#: All 64 bits of a word, and the lowest.
ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE: Final = np.uint64(1)


@compiled
def _certain(
    kind: int, policy: Any, highs: float, count: float, more: float, block: float, at: Any
) -> bool:
    """Will the leader lead throughout a block with `more` high losses, in any order?

    `at` is: threshold, low, high - low, and for UCB-V the greatest count and the level.
    """
    most = (highs + more) / (count + more)
    if kind != UCB_V:
        return at[1] + at[2] * most < at[0]
    least = highs / (count + block - more)
    variance = at[2] * at[2] * min(most * (1 - most), least * (1 - least))
    return score_of(kind, policy, at[1] + at[2] * most, variance, at[3], at[4]) < at[0]


@compiled
def _safe_pulls(kind: int, policy: Any, highs: float, count: float, at: Any) -> int:
    """Return about how many pulls in a row will pass as one block: by the room that there is."""
    share = highs / count
    room = at[0] - at[1]
    if kind == UCB_V:
        variance = at[2] * at[2] * share * (1 - share)
        room = at[0] - score_of(kind, policy, at[1], variance, at[3], at[4])
    most = room / at[2] if at[2] > 0 else 1.0
    if most >= 1 or share == 0:
        return _MOST_PULLS
    return int(min(0.8 * count * (most - share) / (share * (1 - most)), _MOST_PULLS))


@compiled
def walk(
    kind: int,
    policy: Any,
    s: Any,
    chance: np.uint64,
    flip: np.uint64,
    highs: float,
    count: float,
    most: int,
    at: Any,
) -> tuple[int, float]:
    """Pull an arm of two values as long as it is certain to lead; return pulls and high losses."""
    made = ZERO
    while made < most:
        left = most - made
        words = ZERO
        if left >= 128 and s[5] == 0:
            words = min(left >> 6, _safe_pulls(kind, policy, highs, count, at) >> 6)
        if words > 1:
            s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
            more = ZERO
            for _ in range(words):
                more += ones_of(tosses(s, chance) ^ flip)
            if _certain(kind, policy, highs, count, more, words << 6, at):
                highs += more
                count += words << 6
                made += words << 6
                continue
            s[0], s[1], s[2], s[3] = s0, s1, s2, s3
        bits, got = next_bits(s, chance, left)
        if flip:
            bits ^= ALL if got == 64 else (ONE << np.uint64(got)) - ONE
        more = ones_of(bits)
        if _certain(kind, policy, highs, count, more, got, at):
            highs += more
            count += got
            made += got
            continue
        for j in range(got):
            highs += bits & ONE
            bits >>= ONE
            count += 1
            made += 1
            if not _certain(kind, policy, highs, count, ZERO, ZERO, at):
                rest = got - j - 1
                if rest:
                    if flip:
                        bits ^= (ONE << np.uint64(rest)) - ONE
                    put_back(s, bits, rest)
                return made, highs
    return made, highs


@compiled
def book(
    pulls: Any, times: Any, mark: int, drawn: Any, time: int, arm: int, made: int
) -> tuple[int, int]:
    """Pull, and write down the pulls at the recorded times on the way; return mark and time."""
    while mark < len(times) and times[mark] <= time + made:
        note(pulls[mark], drawn)
        pulls[mark, arm] += int(times[mark]) - time
        mark += 1
    drawn[arm] += made
    return mark, time + made
