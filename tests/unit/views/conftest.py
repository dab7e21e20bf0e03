"""Runs to look at, made up but self-consistent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from croupier.views.summary import ArmSummary, Batches, Summary, example


def make_run(
    arms: int = 4,
    batches: int = 300,
    components: int | None = None,
    *,
    value: float = 1.2345678,
    stream: int = 1,
    **changes: Any,
) -> tuple[Summary, Batches]:
    """A summary with its history: arm k is 3^k times worse than arm 0; changes go on top."""
    rng = np.random.default_rng(stream)
    names = ["tilted", "antithetic", "control", "naive"]
    names = [*names, *(f"arm{k}" for k in range(4, arms))][:arms]
    badness = 3.0 ** np.minimum(np.arange(arms), 100)
    with np.errstate(over="ignore", under="ignore"):
        variance = np.square(value) * badness  # inf or 0 when value is very large or small
    batch = np.maximum(1, np.exp(np.linspace(0, 9, batches))).round()
    early = np.arange(batches) < 5 * arms
    arm = np.where(early, np.arange(batches) % arms, rng.geometric(0.8, batches) - 1)
    arm = np.minimum(arm, arms - 1)
    cost = np.cumsum(batch)
    spent = np.bincount(arm, batch, arms)
    at = np.unique(np.linspace(0, batches - 1, min(batches, 200)).astype(int))
    half_width = 2 * abs(value) / np.sqrt(cost[at])
    path = value + half_width * 0.4 * np.sin(np.linspace(0, 9, len(at)))
    if components is not None:
        half_width = np.repeat(half_width[:, None], components, axis=1)
        path = np.repeat(path[:, None], components, axis=1)

    def shaped(x: float) -> float | list[float]:
        return x if components is None else [x] * components

    error = float(half_width.reshape(len(at), -1)[-1, 0]) / 2
    summary = Summary(
        value=shaped(value),
        stderr=shaped(error),
        low=shaped(value - 1.96 * error),
        high=shaped(value + 1.96 * error),
        confidence=0.95,
        interval_kind="fixed-size",
        draws=int(cost[-1]),
        cost=float(cost[-1]),
        unit="draws",
        seconds=0.84,
        stopped="draws",
        agreement=0.41 if components is None else [0.41] * components,
        leader="tilted",
        unnoticed=0.1 if components is None else [0.1] * components,
        policy="variance-thompson",
        combine="guarded",
        seed=7,
        warnings=[],
        table="independent",
        rows=example()["rows"],
        arms=[
            ArmSummary(
                name=names[k],
                draws=int(spent[k]),
                share=float(spent[k] / cost[-1]),
                mean=shaped(value) if spent[k] else None,
                variance=shaped(float(variance[k])) if spent[k] else None,
                cost_per_draw=1.0 if spent[k] else None,
                efficiency=float(badness[0] / badness[k]) if spent[k] else None,
                weight=float(spent[k] / cost[-1]),
            )
            for k in range(arms)
        ],
    )
    summary.update(changes)  # type: ignore[typeddict-item]
    history = Batches(
        names=names,
        cost=cost,
        draws=cost.astype(int),
        arm=arm,
        batch_cost=batch,
        at=at,
        value=path,
        half_width=half_width,
    )
    return summary, history


@pytest.fixture
def run() -> Callable[..., tuple[Summary, Batches]]:
    return make_run
