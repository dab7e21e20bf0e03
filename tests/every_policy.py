"""All registered policies as parameters of a test; four of them are quick."""

from __future__ import annotations

from typing import Any

import pytest

from croupier.policies import REGISTRY

QUICK = ("mc-ucb", "thompson", "ucb1", "variance-thompson")


def every_policy() -> list[Any]:
    """Return the names of all policies; the others are for the slow tests."""
    slow = pytest.mark.slow
    return [name if name in QUICK else pytest.param(name, marks=slow) for name in sorted(REGISTRY)]
