"""Draws from the posterior, compared with a long slice run and with themselves.

With honest draws, a coordinate of the 8 + 8 + 4 + 3 is beyond 4 standard errors, in its mean or its
deviation, with another seed in about 1 of 350 runs of the file. The scatter of 100 calls is known
to 1/sqrt(200), 7 %; resampling is systematic, so it may be below 1.
"""

from __future__ import annotations

import pytest

from benchmarks.evidence_posterior import PROBLEMS, measured

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PROBLEMS)
def test_moments_are_right_and_means_scatter_as_the_effective_size_says(name: str) -> None:
    row = measured(name, repeats=100)
    assert float(row["effective of 1000"]) > 500
    assert 0.7 < float(row["scatter over claimed"]) < 1.2
    assert float(row["largest of a coordinate"]) < 1.4
    assert float(row["means off, in errors"]) < 4
    assert float(row["deviations off, in errors"]) < 4
