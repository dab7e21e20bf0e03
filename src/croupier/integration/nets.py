"""Scrambled Sobol sequences: points of net r of a runner, from any index on, on any worker.

The scramble is a random linear matrix and a digital shift (Matousek, Journal of Complexity 14,
1998), as scipy makes it. Each point is uniform, so the mean over a net is unbiased.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from typing import Any, Final

import numpy as np

from croupier.arms.sobol import BITS, sobol
from croupier.data.draws import Floats
from croupier.seeds import NETS

__all__ = ["net_points"]

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
