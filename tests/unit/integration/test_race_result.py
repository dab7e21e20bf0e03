"""What a race shows: rows that agree with the result, and facts."""

from __future__ import annotations

from typing import Any

import numpy as np

import croupier as cr


def integrate(f: Any, over: Any, **options: Any) -> cr.Result:
    return cr.integrate(f, over, **{"rng": 7, "progress": False, **options})


def test_the_rows_of_a_race_agree_with_its_result() -> None:
    result = integrate(lambda x: 1 + 1e-9 * x[:, 0], [(0, 1)] * 2, draws=1000)
    leader = result.arms["identity"]
    assert (leader.mean, leader.stderr) == (result.value, result.stderr)
    assert "± 0.00000000" not in str(result)
    assert result.stderr > 1e-7  # 1000 points cannot know more


def test_a_race_says_who_led_and_what_it_cannot_know() -> None:
    result = integrate(lambda x: np.exp(-x.sum(axis=1)), [(0, 1)] * 3, rtol=1e-3, draws=10**5)
    facts = dict(result.details["facts"])
    assert facts["estimate from"] == "the family 'separable', with 224 of 352 evaluations"
    assert facts["compared with"] == "identity"
    assert facts["may be missed"] == "a region with 0.02 of the domain, with a chance of 5 %"
    printed = str(result)
    assert "turned" not in printed  # it was never played
    assert all(label in printed for label in facts)
