"""Panels: a box that is halved again and again, with a polynomial on each part.

Each panel has the tensor product of Gauss-Legendre nodes. The polynomial through the values at the
nodes is known by its Legendre coefficients, and the first of them is the integral by Gauss' rule.
Where the last coefficients of a panel are large, the panel is halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Final, NamedTuple

import numpy as np

from croupier.data.draws import Floats

__all__ = ["ORDER", "Box", "Panels", "gauss_weights", "nodes_of"]

#: The nodes of a panel on each axis, by the number of axes.
ORDER: Final = {1: 16, 2: 8}

#: So many of the last coefficients of an axis say how much is missing.
_LAST: Final = 2

#: Panels with less than this share of what is missing are not halved.
_NEGLIGIBLE: Final = 0.01

#: Coefficients below this part of the largest value are rounding.
_ROUNDING: Final = 1e-14


#: How far beside a face the panel below it is asked.
_ASIDE: Final = 2.0**-40


class Box(NamedTuple):
    """A part of the unit cube: axis j from at[j]/2^level[j] to (at[j] + 1)/2^level[j].

    >>> Box((1, 0), (1, 0)).volume, Box((1, 0), (1, 0)).halves(1)
    (0.5, (Box(level=(1, 1), at=(1, 0)), Box(level=(1, 1), at=(1, 1))))
    """

    level: tuple[int, ...]
    at: tuple[int, ...]

    @property
    def volume(self) -> float:
        """The share of the cube."""
        return float(0.5 ** sum(self.level))

    def halves(self, axis: int) -> tuple[Box, Box]:
        """Return the two halves along an axis."""
        level = tuple([each + (j == axis) for j, each in enumerate(self.level)])
        first = tuple([each * (1 + (j == axis)) for j, each in enumerate(self.at)])
        second = tuple([each + (j == axis) for j, each in enumerate(first)])
        return Box(level, first), Box(level, second)


@cache
def _rule(order: int) -> tuple[Floats, Floats, Floats]:
    """Return Gauss' nodes and weights on (-1, 1), and the matrix from values to coefficients.

    The polynomial through the values f_i has the coefficients (2k + 1)/2 sum_i w_i P_k(x_i) f_i,
    because the rule is exact for P_k times a polynomial of the degree order - 1.
    """
    x, w = np.polynomial.legendre.leggauss(order)
    P = np.polynomial.legendre.legvander(x, order - 1)
    return x, w, np.asarray((np.arange(order) + 0.5)[:, None] * (P * w[:, None]).T)


def nodes_of(boxes: Sequence[Box]) -> Floats:
    """Return the nodes of boxes, one box after the other, an array (points, d).

    >>> nodes_of([Box((0,), (0,))]).shape, nodes_of([Box((0, 0), (0, 0))]).shape
    ((16, 1), (64, 2))
    """
    d = len(boxes[0].level)
    x, *_ = _rule(ORDER[d])
    grid = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    low = np.array([box.at for box in boxes], float)
    width = 0.5 ** np.array([box.level for box in boxes], float)
    return np.asarray(((low[:, None] + (grid + 1) / 2) * width[:, None]).reshape(-1, d))


def gauss_weights(boxes: Sequence[Box]) -> Floats:
    """Return the weights of the nodes of boxes; the sum over a box is its volume.

    >>> float(gauss_weights([Box((1,), (0,))]).sum().round(12))
    0.5
    """
    d = len(boxes[0].level)
    _, w, _ = _rule(ORDER[d])
    each = np.ones(1)
    for _ in range(d):
        each = np.multiply.outer(each, w / 2).ravel()
    return np.concatenate([box.volume * each for box in boxes])


class _Panel:
    """A box with the coefficients of its polynomial, and its halves if it has been halved."""

    def __init__(self, box: Box, values: Floats) -> None:
        d = len(box.level)
        _, _, matrix = _rule(ORDER[d])
        found = values.reshape(*[ORDER[d]] * d, values.shape[1])
        for axis in range(d):
            found = np.moveaxis(np.tensordot(matrix, found, (1, axis)), 0, axis)
        self.box, self.coefficients, self.values = box, found, values
        self.axis = 0
        self.halves: tuple[_Panel, _Panel] | None = None

    @property
    def mean(self) -> Floats:
        """The mean of the polynomial: Gauss' rule."""
        each = self.coefficients.reshape(-1, self.coefficients.shape[-1])
        return np.asarray(each[0])

    @cached_property
    def last(self) -> Floats:
        """The mean squares of the last terms of each axis, an array (d, m)."""
        *shape, m = self.coefficients.shape
        squares = np.square(self.coefficients)
        for axis, order in enumerate(shape):
            norm = 1 / (2 * np.arange(order) + 1.0)
            squares = squares * np.expand_dims(
                norm, [j for j in range(len(shape) + 1) if j != axis]
            )
        each = []
        for axis in range(len(shape)):
            each.append(np.moveaxis(squares, axis, 0)[-_LAST:].reshape(-1, m).sum(axis=0))
        return np.array(each)

    def missing(self, weights: Floats) -> tuple[float, int]:
        """Return the mean square of the last terms times the volume, and the axis of most of it."""
        each = (weights * self.last).max(axis=1)
        return self.box.volume * float(each.sum()), int(each.argmax())

    def at(self, u: Floats) -> Floats:
        """Return the polynomial at points of the box, an array (n, m)."""
        *shape, _ = self.coefficients.shape
        found = self.coefficients
        for axis, order in enumerate(shape):
            x = 2 * (u[:, axis] * 2.0 ** self.box.level[axis] - self.box.at[axis]) - 1
            P = np.polynomial.legendre.legvander(x, order - 1)
            if not axis:
                found = P @ self.coefficients.reshape(order, -1)
            else:
                found = np.einsum("nk,nkr->nr", P, found.reshape(len(u), order, -1))
        return np.asarray(found)


class Panels:
    """A polynomial on every panel of the unit cube of one or two dimensions.

    >>> panels = Panels(1)
    >>> panels.add(panels.chosen(1), np.exp(nodes_of(panels.chosen(1))))
    >>> round(float(panels.integral[0]), 9), round(np.e - 1, 9)
    (1.718281828, 1.718281828)
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.each = int(ORDER[dimension] ** dimension)
        self.nodes = 0
        self._root: _Panel | None = None
        self._largest: Floats = np.zeros(1)

    def _leaves(self) -> list[_Panel]:
        found, waiting = [], [self._root] if self._root else []
        while waiting:
            panel = waiting.pop()
            if panel.halves is None:
                found.append(panel)
            else:
                waiting.extend(panel.halves)
        return found

    def _ranked(self, least_volume: float) -> list[tuple[float, _Panel]]:
        """Return what is missing in the panels that can be halved, and the panels; most first."""
        weights = np.divide(1.0, np.square(self._largest), out=np.zeros_like(self._largest),
                            where=self._largest > 0)  # fmt: skip
        found = []
        for panel in self._leaves():
            size, panel.axis = panel.missing(weights)
            if panel.box.volume / 2 >= least_volume:
                found.append((size, panel))
        return sorted(found, key=lambda pair: (-pair[0], pair[1].box))

    def worth(self, least_volume: float = 0.0) -> int:
        """Return how many new nodes are worth their evaluations; none has a smaller box."""
        if self._root is None:
            return self.each
        sizes = np.array([size for size, _ in self._ranked(least_volume)])
        below = np.cumsum(sizes[::-1])[::-1]  # what is missing from this panel on
        least = max(_NEGLIGIBLE * sizes.sum(), _ROUNDING**2)
        return 2 * self.each * int(np.count_nonzero(below > least))

    def chosen(self, halved: int, least_volume: float = 0.0) -> list[Box]:
        """Return the halves of the panels where most is missing; first of all, the cube itself."""
        if self._root is None:
            return [Box((0,) * self.dimension, (0,) * self.dimension)]
        ranked = self._ranked(least_volume)[:halved]
        return [half for _, panel in ranked for half in panel.box.halves(panel.axis)]

    def add(self, boxes: Sequence[Box], values: Floats) -> None:
        """Take the values (nodes, m) at the nodes of boxes that were chosen."""
        parts = np.split(values, len(boxes))
        new = {box: _Panel(box, part) for box, part in zip(boxes, parts, strict=True)}
        self.nodes += len(values)
        largest = np.abs(values).max(axis=0)
        if self._root is None:
            (self._root,), self._largest = new.values(), largest
            return
        self._largest = np.maximum(self._largest, largest)
        for panel in self._leaves():
            first, second = panel.box.halves(panel.axis)
            if first in new:
                panel.halves = new[first], new[second]

    @property
    def integral(self) -> Floats:
        """The integral of the polynomials: Gauss' rule on every panel."""
        return np.asarray(sum(panel.box.volume * panel.mean for panel in self._leaves()))

    def known(self) -> tuple[Floats, Floats, Floats]:
        """Return the nodes of all panels that were not halved, their weights and their values."""
        leaves = self._leaves()
        boxes = [panel.box for panel in leaves]
        values = np.concatenate([panel.values for panel in leaves])
        return nodes_of(boxes), gauss_weights(boxes), values

    def highest_step(self) -> Floats:
        """Return the largest step of the polynomials between neighbours, at the middle of a face.

        It is small where f is smooth. A jump of f may seem to be at the common face of two panels,
        with a good polynomial on both, though it is a little beside it.
        """
        faces = []
        for panel in self._leaves():
            level, at = np.array(panel.box.level), np.array(panel.box.at)
            for axis in range(self.dimension):
                middle = (at + 0.5) * 0.5**level
                middle[axis] = (at[axis] + 1) * 0.5 ** level[axis]
                if middle[axis] < 1:
                    faces.append((middle, axis))
        if not faces:
            return np.zeros_like(self._largest)
        u = np.array([middle for middle, _ in faces])
        aside = np.zeros_like(u)
        aside[np.arange(len(u)), [axis for _, axis in faces]] = _ASIDE
        return np.asarray(np.abs(self.at(u) - self.at(u - aside)).max(axis=0))

    def worst(self, volume: float) -> Floats:
        """Return the mean square of the last terms times the volume, per component.

        It is that of the worst panel up to a volume. With P uniform points, vP of them in a panel
        of volume v, terms of the mean square e add v^2 e/(vP) = ve/P to the variance of a mean
        over all points.
        """
        small = [panel for panel in self._leaves() if panel.box.volume <= volume]
        each = [panel.box.volume * panel.last.sum(axis=0) for panel in small]
        return np.max(each, axis=0) if each else np.zeros_like(self._largest)

    def outside(self, boxes: Sequence[Box]) -> Floats:
        """Return the part of the integral that new boxes do not replace."""
        new, total = set(boxes), np.zeros(1)
        for panel in self._leaves():
            if panel.box.halves(panel.axis)[0] not in new:
                total = total + panel.box.volume * panel.mean
        return total

    def at(self, u: Floats) -> Floats:
        """Return the polynomials at points of the cube, an array (n, m)."""
        assert self._root is not None
        found = np.empty((len(u), self._root.coefficients.shape[-1]))
        waiting = [(self._root, np.arange(len(u)))]
        while waiting:
            panel, here = waiting.pop()
            if not len(here):
                continue
            if panel.halves is None:
                found[here] = panel.at(u[here])
                continue
            first, second = panel.halves
            axis = panel.axis
            middle = second.box.at[axis] * 0.5 ** second.box.level[axis]
            below = u[here, axis] < middle
            waiting += [(first, here[below]), (second, here[~below])]
        return found
