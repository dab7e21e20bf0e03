"""Nets, the segment of them that a batch evaluates, and the arm of a family of nets.

A net is a scrambled Sobol sequence, from any index on, on any worker. The scramble is a random
linear matrix and a digital shift (Matousek, Journal of Complexity 14, 1998), as scipy makes it.
Each point is uniform, so the mean over a net is unbiased.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from croupier.arms.integrand import weighted_values
from croupier.arms.sobol import BITS, sobol
from croupier.data.draws import Draws, Floats
from croupier.functions.failures import Bounded, failures_in
from croupier.functions.function import Function
from croupier.integration.changes import Change
from croupier.integration.least_errors import highest_jump
from croupier.integration.net_errors import block_size
from croupier.seeds import NETS
from croupier.spaces.base import Space

__all__ = ["NetArm", "Segment", "net_points"]

#: This many sequences are kept, so that a net can be continued where it ended.
_KEPT: Final = 256

#: The kept sequences of every thread: a sequence is advanced when it is read.
_here = threading.local()


def net_points(seed: int, runner: int, net: int, dimension: int, start: int, count: int) -> Floats:
    """Return the points start, ..., start + count - 1 of a net, an array (count, dimension).

    >>> net_points(7, 0, 0, 2, 0, 4).shape
    (4, 2)
    """
    kept: OrderedDict[tuple[int, ...], Any] = getattr(_here, "kept", None) or OrderedDict()
    _here.kept = kept
    key = (seed, runner, net, dimension)
    sequence = kept.pop(key, None)
    if sequence is None:
        stream = np.random.SeedSequence(seed, spawn_key=(NETS, runner, net))
        sequence = sobol(dimension, np.random.default_rng(stream))
    elif sequence.num_generated > start:
        sequence.reset()  # to its first point, with the same scramble
    if start > sequence.num_generated:
        sequence.fast_forward(start - sequence.num_generated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rest of a budget is no power of two
        points: Floats = sequence.random(count)
    kept[key] = sequence
    if len(kept) > _KEPT:
        kept.popitem(last=False)
    points += 0.5 ** (BITS + 1)  # half a unit: no point lies on the boundary
    return points


@dataclass(frozen=True)
class Segment:
    """What a batch evaluates: points of some nets of a runner, from `start` on, `count` of each.

    `stage` is the (start, stop) of the stage that the segment belongs to. `rest` means that the
    points only use up the budget. `kept` says whether the values that are not 0 are kept for a fit.
    """

    seed: int
    runner: int
    change: Change
    stage: tuple[int, int]
    net: int
    nets: int
    start: int
    count: int
    rest: bool = False
    kept: bool = True

    @property
    def size(self) -> int:
        """The number of evaluations."""
        return self.nets * self.count

    def points(self, dimension: int) -> Floats:
        """Return the points of the nets, one net after the other."""
        d = dimension + self.change.more
        parts = [
            net_points(self.seed, self.runner, net, d, self.start, self.count)
            for net in range(self.net, self.net + self.nets)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def record(self) -> dict[str, Any]:
        """Return what a stored outcome needs to be told again."""
        return {
            "runner": self.runner, "stage": self.stage, "net": self.net, "nets": self.nets,
            "start": self.start, "rest": self.rest, "kept": self.kept,
        }  # fmt: skip


@dataclass(frozen=True)
class NetArm:
    """The arm of a family: the values f(x) weight at the points of a segment."""

    integrand: Function | Bounded
    domain: Space
    name: str

    def draw(self, rng: np.random.Generator, size: int, state: Segment) -> Draws:
        """Evaluate a segment; `extra` has the sums of the blocks of its nets."""
        points = state.points(self.domain.dimension)
        moved = state.change.move(points)
        values = weighted_values(self.integrand, self.domain, moved, self.name)
        columns = values.reshape(size, -1)
        block = state.count if state.rest else min(block_size(state.stage[1]), state.count)
        extra = state.record() | {
            "sums": columns.reshape(state.nets, -1, block, columns.shape[1]).sum(axis=2),
            "absolute": np.abs(columns).sum(axis=0),
            "squares": np.square(columns).sum(axis=0),
            "ends": np.array((columns.min(axis=0), columns.max(axis=0))),
            "jump": highest_jump(points, columns, moved.jac),
        }
        extra |= failures_in(self.integrand, columns)
        if state.kept:
            at = np.flatnonzero(columns.any(axis=1))
            extra |= {"at": at, "values": columns[at]}
        return Draws(values, None, extra)
