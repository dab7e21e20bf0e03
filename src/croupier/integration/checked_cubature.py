"""The cubature of a race in one or two dimensions, checked at the points of the nets.

The panels give a polynomial p and its integral Q. The points of the nets of the family `identity`
say what is missing: the estimate is Q plus the mean of f - p over the nets. It is as unbiased as
the nets are, because p does not depend on them, and its error comes from the nets as for every
family. So p may be wrong where f has a kink, a jump, a peak or a singularity: then f - p is large
there, the error is large, and the family loses (control variates: Owen, Monte Carlo theory, methods
and examples, 2013, section 8.9).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from croupier.data.draws import Floats
from croupier.integration.changes import Change
from croupier.integration.equal_nets import error_of_jump, highest_jump
from croupier.integration.hidden_tails import Seen
from croupier.integration.net_arm import Segment
from croupier.integration.net_errors import least_of_smooth
from croupier.integration.panel_arm import PanelSegment
from croupier.integration.panels import ORDER, Box, Panels
from croupier.integration.runner import NETS_EACH, Runner
from croupier.integration.standing import TRUSTED, Standing, kept
from croupier.spaces.base import Moved

__all__ = ["CUBATURE", "MOST_AXES", "CheckedCubature"]

CUBATURE: Final = "cubature"

#: The cubature plays in so many dimensions; above, a tensor product has too many nodes.
MOST_AXES: Final = max(ORDER)

#: While it does not lead, its nodes are at most this share of all draws. It is given up after so
#: many failures: it lost, and the variance did not fall like this power of the nodes.
_SHARE: Final = 1 / 4
_FAILURES: Final = 3
_PROMISING: Final = 2.0

#: Nodes are at most this many times as good as points.
_MOST_PROMISE: Final = 8.0

#: The points in a panel are few if they are at most so many: they do not see a singularity.
_FEW: Final = 16

#: The values at the nets are kept up to so many points of each net.
_MOST_POINTS: Final = 2**17


class CheckedCubature:
    """The panels, the values of f at the points of the nets, and when more nodes are due.

    `runner` is the cubature as a runner of the race, None before its first nodes. In many
    dimensions the cubature does not play: nothing is ever due.
    """

    def __init__(self, dimension: int, *, plays: bool) -> None:
        self.runner: Runner | None = None
        self._dimension = dimension
        self._panels = Panels(min(dimension, MOST_AXES))
        self._parts: list[tuple[Segment, Floats]] = []
        self._u: Floats = np.empty((NETS_EACH, 0, dimension))
        self._f: Floats = np.empty((NETS_EACH, 0, 1))
        self._boxes: list[Box] = []
        self._values: list[Floats] = []
        self._failures = 0 if plays else _FAILURES
        self._exponent: float | None = None
        self._settled = False

    # -- the points of the nets

    def keeps(self, start: int, stop: int) -> bool:
        """Tell whether it needs the values of a stage of the nets."""
        follows = start == self.points and stop <= _MOST_POINTS and not stop & (stop - 1)
        return follows and self._failures < _FAILURES

    def add_points(self, segment: Segment, at: Floats, values: Floats) -> None:
        """Take the values of a segment of the nets that are not 0; `at` says where they are."""
        every = np.zeros((segment.size, values.shape[1]))
        every[at] = values
        self._parts.append((segment, every))

    def end_points(self, stop: int) -> None:
        """Note that the stage of the nets is complete, so that each has `stop` points."""
        if not self._parts:
            if self.runner is not None:
                self.runner.full = True
            return
        m, known = self._parts[0][1].shape[1], self._u.shape[1]
        u, f = np.empty((NETS_EACH, stop, self._dimension)), np.empty((NETS_EACH, stop, m))
        u[:, :known], f[:, :known] = self._u, self._f
        for part, values in self._parts:
            nets = slice(part.net, part.net + part.nets)
            points = slice(part.start, part.start + part.count)
            u[nets, points] = part.points(self._dimension).reshape(part.nets, part.count, -1)
            f[nets, points] = values.reshape(part.nets, part.count, m)
        self._u, self._f, self._parts = u, f, []
        if self.runner is not None:
            self._check(self.runner)

    @property
    def points(self) -> int:
        """The points of each net whose values are known."""
        return int(self._u.shape[1])

    # -- the nodes

    def due(self, draws: float, nets: Runner, leader: Runner) -> int:
        """Return how many nodes a cubature that does not lead may evaluate now.

        The first are due at once. It gets more while its nodes are few among all `draws`, if its
        nets have enough effective points to see f.
        """
        if self._failures >= _FAILURES or leader is self.runner or leader.constant.all():
            return 0
        if self.runner is None:
            return self._panels.each if self.points else 0
        if nets.effective < TRUSTED:
            return 0
        room = _SHARE * draws * float(np.clip(self._promise(self.runner), 1, 2))
        return min(self._worth(), self._whole(room - self._panels.nodes))

    def refines(self) -> int:
        """Return how many nodes a play of the cubature takes; 0 if more points are better.

        If the variance falls like N^-e with the nodes and like P^-a with the points, nodes are
        better where e/N > a/P. More nodes do not help where the error is that of a smooth f.
        """
        if self.runner is None or self._settled:
            return 0
        nodes = self._panels.nodes
        most = NETS_EACH * self.points * self._promise(self.runner)
        if nodes >= most:
            return 0
        return min(self._worth(), max(self._whole(min(nodes, most - nodes)), 2 * self._panels.each))

    def _promise(self, runner: Runner) -> float:
        """Return e/a, how fast nodes lower the variance relative to points; 1 if not known."""
        if self._exponent is None:
            return 1.0
        ratio = self._exponent / float(runner.error.rate.min())
        return float(np.clip(ratio, 1 / _MOST_PROMISE, _MOST_PROMISE))

    def _worth(self) -> int:
        """Return how many nodes are worth it, in panels that every net has a point in.

        A net in base 2 of n points has one in each of its elementary boxes of volume 1/n.
        """
        return self._panels.worth(1 / self.points)

    def _whole(self, nodes: float) -> int:
        pair = 2 * self._panels.each
        return int(max(nodes, 0) // pair) * pair

    def begin(self, runner: Runner, nodes: int, most: int) -> list[PanelSegment]:
        """Choose the panels of a stage with so many nodes, in batches of at most `most` nodes."""
        panels, self.runner = self._panels, runner
        self._boxes = panels.chosen(nodes // (2 * panels.each), 1 / self.points)
        self._values = []
        outside = tuple(panels.outside(self._boxes).tolist())
        stage = panels.nodes, panels.nodes + nodes
        many = max(most // panels.each, 1)
        return [
            PanelSegment(runner.number, stage, stage[0] + first * panels.each,
                         tuple(self._boxes[first : first + many]), outside)
            for first in range(0, len(self._boxes), many)
        ]  # fmt: skip

    def add_nodes(self, values: Floats) -> None:
        """Take the values of the next segment of the stage."""
        self._values.append(np.asarray(values))

    def end_nodes(self, standing: Standing) -> None:
        """Note that all nodes of the stage are known: check them, and judge if it stays."""
        runner, before = self.runner, self._panels.nodes
        assert runner is not None
        self._panels.add(self._boxes, np.concatenate(self._values))
        old = runner.error.variance if before else None
        self._check(runner)
        if old is not None:
            new = np.maximum(runner.error.variance, 1e-300)
            fell = float(np.log(np.maximum(old, 1e-300) / new).min())
            self._exponent = fell / float(np.log(self._panels.nodes / before))
        if runner is not standing.leader:
            runner.closed = not kept(runner, standing)
            better = self._exponent is not None and self._exponent > _PROMISING
            self._failures = self._failures + 1 if runner.closed and not better else 0

    # -- the estimate

    def seen(self, change: Change) -> list[Seen]:
        """Return the values at the nodes of the present panels, for `hidden`, if there are some."""
        if self.runner is None or not self._panels.nodes:
            return []
        nodes, weights, values = self._panels.known()
        jac = len(nodes) * weights
        q = change.density_at(Moved(nodes, None, None))
        return [Seen(values * jac[:, None], q * jac, len(jac))]

    def _check(self, runner: Runner) -> None:
        """Give the runner the values Q + f - p at the points of the nets.

        A small f - p at a few points says little about the places between them. So the standard
        error is at least what one more f - p as large as the largest would change, at least what
        the last terms say of a panel with few points, at least that of a jump that all nets have on
        the same side, and at least that of a smooth f under the nets alone: see
        `least_of_smooth`.
        """
        p = self._panels.at(self._u.reshape(-1, self._dimension)).reshape(self._f.shape)
        left, points = self._f - p, NETS_EACH * self.points
        every = self._f.reshape(points, -1)
        spread = every.std(axis=0)
        rounding = np.finfo(float).eps * np.abs(self._f).max(axis=(0, 1))
        smooth = np.maximum(least_of_smooth(spread**2, every.mean(axis=0), points), rounding)
        least = np.maximum(smooth, np.abs(left).max(axis=(0, 1)) / points)
        few = self._panels.worst(_FEW / points)
        least = np.maximum(least, np.sqrt(few / points))
        u, m = self._u.reshape(points, -1), self._f.shape[2]
        jump = highest_jump(u, (left if self._dimension == 1 else self._f).reshape(points, m))
        jump = np.maximum(jump, self._panels.highest_step())
        least = np.maximum(least, error_of_jump(NETS_EACH) * jump / self.points)
        Q = self._panels.integral
        runner.take(Q + left, Q, np.where(spread > 0, least, 0.0))
        self._settled = not (runner.error.variance > np.square(smooth)).any()
