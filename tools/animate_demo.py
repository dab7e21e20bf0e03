"""The moving picture of the README: how the demo's budget moves to the best arm.

`python -m tools.animate_demo docs/images/demo.gif` prices the option of `croupier demo` and writes
the run as an animation. The time of the picture is logarithmic: the search happens in the first
hundredth of the run. Costs are processor time, so that other programs do not disturb the picture.
pillow writes the file; matplotlib needs pillow in any case.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure

from croupier.errors import CroupierWarning
from croupier.examples import asian_option
from croupier.results.result import Result
from croupier.running.estimate import estimate
from croupier.views.plots import FAINT, PALETTE

FRAMES, PER_SECOND, HOLD = 70, 12, 24  # the last frame stands still for two seconds


def animation(result: Result) -> tuple[Figure, FuncAnimation]:
    """Return the figure, and what moves in it: shares of the cost, and the estimate so far."""
    names = [row.name for row in sorted(result.arms, key=lambda row: row.share)]
    history = result.history
    order = [list(asian_option.ARMS).index(name) for name in names]
    spent = np.cumsum(history.batch_cost[:, None] * (history.arm[:, None] == order), axis=0)
    curve = history.curve(400)
    looked = history.cost[curve.row]
    times = np.geomspace(history.cost[20], history.cost[-1], FRAMES)

    figure = Figure(figsize=(8.4, 3.2), dpi=90, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    colours = [PALETTE[len(names) - 1 - i] for i in range(len(names))]
    bars = left.barh(names, np.zeros(len(names)), color=colours, height=0.65)
    left.set(xlim=(0, 1), xticks=[0, 0.5, 1], xticklabels=["0%", "50%", "100%"])
    left.set_title("share of the time so far", loc="left", fontsize=10)
    (line,) = right.plot([], [], color=PALETTE[0], linewidth=1.6)
    band: list[Any] = []
    right.axhline(asian_option.PRICE, color=FAINT, linestyle="--", linewidth=0.9)
    right.text(
        0.98, 0.03, "dashed: by numerical integration", transform=right.transAxes, ha="right",
        fontsize=8, color=FAINT,
    )  # fmt: skip
    right.set(xscale="log", xlim=(times[0], times[-1] * 1.05), xlabel="seconds inside the arms")
    middle = np.searchsorted(looked, times[FRAMES // 3])
    reach = 1.1 * float(curve.half_width[middle])
    right.set_ylim(asian_option.PRICE - reach, asian_option.PRICE + reach)
    title = right.set_title("", loc="left", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)

    def draw(frame: int) -> list[Any]:
        now = times[min(frame, FRAMES - 1)]
        row = min(int(np.searchsorted(history.cost, now, side="right")), len(history)) - 1
        share = spent[row] / spent[row].sum()
        for bar, width in zip(bars, share, strict=True):
            bar.set_width(width)
        # Where the interval is far larger than the panel, a line would only be noise.
        seen = (looked <= now) & (curve.half_width < 3 * reach)
        value, half = curve.value[seen], curve.half_width[seen]
        line.set_data(looked[seen], value)
        for old in band:
            old.remove()
        band[:] = [
            right.fill_between(
                looked[seen], value - half, value + half, color=PALETTE[0], alpha=0.2, linewidth=0
            )
        ]
        if seen.any():
            low, high = value[-1] - half[-1], value[-1] + half[-1]
            title.set_text(f"price in [{low:.4f}, {high:.4f}] after {now:.2g} s")
        else:
            title.set_text(f"the search, after {now:.2g} s")
        return [*bars, line, *band, title]

    return figure, FuncAnimation(figure, draw, frames=FRAMES + HOLD, blit=False)


def main() -> None:
    """Run the demo and write the animation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CroupierWarning)
        result = estimate(
            asian_option.ARMS, seconds=given.seconds, clock="cpu", rng=given.seed, progress=False
        )
    _, moving = animation(result)
    moving.save(given.path, writer=PillowWriter(fps=PER_SECOND))
    print(f"{given.path}: {given.path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
