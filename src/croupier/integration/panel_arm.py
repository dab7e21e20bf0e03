"""The arm of the cubature: the nodes of some panels that a batch evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from croupier.arms.integrand import weighted_values
from croupier.data.draws import Draws
from croupier.functions.failures import Bounded, failures_in
from croupier.functions.function import Function
from croupier.integration.panels import ORDER, Box, gauss_weights, nodes_of
from croupier.spaces.base import Moved, Space

__all__ = ["PanelArm", "PanelSegment"]


@dataclass(frozen=True)
class PanelSegment:
    """What a batch evaluates: the nodes of `boxes`.

    `stage` is the number of nodes before and after the stage that the segment belongs to, `start`
    the number of nodes before the segment. `outside` is the integral over all other panels.
    """

    runner: int
    stage: tuple[int, int]
    start: int
    boxes: tuple[Box, ...]
    outside: tuple[float, ...]
    net = 0

    @property
    def size(self) -> int:
        """The number of nodes."""
        d = len(self.boxes[0].level)
        return int(len(self.boxes) * ORDER[d] ** d)

    def record(self) -> dict[str, Any]:
        """Return what a stored outcome needs to be told again."""
        return {"runner": self.runner, "stage": self.stage, "start": self.start, "net": 0,
                "rest": False}  # fmt: skip


@dataclass(frozen=True)
class PanelArm:
    """The arm of the cubature. The draws of a whole stage have the cubature as their mean."""

    integrand: Function | Bounded
    domain: Space
    name: str

    def draw(self, rng: np.random.Generator, size: int, state: PanelSegment) -> Draws:
        """Evaluate the nodes; `extra` has the values at the nodes."""
        moved = Moved(nodes_of(state.boxes), None, None)
        values = weighted_values(self.integrand, self.domain, moved, self.name)
        columns = values.reshape(size, -1)
        share = (state.stage[1] - state.stage[0]) * gauss_weights(state.boxes)
        draws = np.array(state.outside) + share[:, None] * columns
        extra = {**state.record(), "values": columns, **failures_in(self.integrand, columns)}
        return Draws(draws.reshape(values.shape), None, extra)
