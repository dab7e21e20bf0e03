"""All registered policies as parameters of a test: those of the paper and the default are quick."""

from __future__ import annotations

from typing import Any

import pytest

from croupier.policies import REGISTRY

QUICK = ("kl-ucb", "mc-ucb", "smooth-thompson", "thompson", "ucb-v", "ucb1", "uniform",
         "variance-thompson")  # fmt: skip


def every_policy() -> list[Any]:
    """Return the names of all policies; the others are for the slow tests."""
    slow = pytest.mark.slow
    return [name if name in QUICK else pytest.param(name, marks=slow) for name in sorted(REGISTRY)]
