"""Stages of a race: how the points of all nets of a runner are divided into batches."""

from __future__ import annotations

from typing import Final, NamedTuple

from croupier.integration.runner import NETS_EACH

__all__ = ["LARGEST", "Part", "divided", "power_below"]

#: The largest number of evaluations in one batch; a batch is one call of the integrand.
LARGEST: Final = 8192

#: Parts of a net are not divided among workers below this size.
_LEAST_PART: Final = 256


class Part(NamedTuple):
    """The points from `start` on, so many of each of some `nets`, from the net `net` on."""

    net: int
    nets: int
    start: int
    points: int


def divided(start: int, stop: int, batches: int) -> list[Part]:
    """Divide the points start, ..., stop - 1 of all nets: whole nets, or parts of one net.

    There are as many parts as batches can be out at once, if they are not too small.

    >>> divided(0, 16, 1)
    [Part(net=0, nets=4, start=0, points=16)]
    >>> len(divided(0, 16, 4)), len(divided(0, 2**14, 1))
    (4, 8)
    """
    count, nets = stop - start, NETS_EACH
    while nets > 1 and (nets * batches > NETS_EACH or nets * count > LARGEST):
        nets //= 2
    part = min(count, LARGEST)
    while part > _LEAST_PART and (NETS_EACH // nets) * (count // part) < batches:
        part //= 2
    return [
        Part(net, nets, first, part)
        for net in range(0, NETS_EACH, nets)
        for first in range(start, stop, part)
    ]


def power_below(number: float) -> int:
    """Return the largest power of two that is not larger; 0 below 1.

    >>> power_below(0.5), power_below(1), power_below(100.0)
    (0, 1, 64)
    """
    return 1 << (int(number).bit_length() - 1) if number >= 1 else 0
