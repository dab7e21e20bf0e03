"""Fixtures for the tests of rare events."""

from __future__ import annotations

import pytest


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned: `cr.probability` begins with the search, as in many dimensions."""
    monkeypatch.setattr("croupier.rare.rare_table.LEARNED_UP_TO", 0)
