"""The block for PyMC of docs/howto/models-and-chains.md gives the evidence; ArviZ takes draws.

They are not installed with croupier, so these tests are for an environment that has them:
``pip install pymc arviz``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import quad

import croupier as cr

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "models-and-chains.md"
EFFECTS = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])
ERRORS = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def log_evidence_of_schools() -> float:
    """Given tau, the effects are normal with a common part; `quad` integrates over tau."""

    def given(tau: float) -> float:
        covariance = np.diag(tau**2 + ERRORS**2) + 25
        return float(st.multivariate_normal(np.zeros(8), covariance).pdf(EFFECTS))

    return float(np.log(quad(lambda tau: given(tau) * st.halfcauchy.pdf(tau, 0, 5), 0, 1e3)[0]))


def test_the_block_of_pymc_gives_the_evidence() -> None:
    pytest.importorskip("pymc")
    block = re.search(
        r"<!-- not run: PyMC.*?-->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S
    )
    assert block is not None
    known: dict[str, Any] = {"cr": cr, "effects": EFFECTS, "errors": ERRORS}
    exec(block[1], known)
    result = known["result"]
    assert abs(result.log_value - log_evidence_of_schools()) < 4 * result.log_stderr < 0.2
    assert result.posterior(4000)["tau"].shape == (4000,)


def test_arviz_takes_the_draws() -> None:
    az = pytest.importorskip("arviz")
    result = cr.evidence(
        lambda x: st.norm.logpdf(1.0, x[:, 0], 0.5), st.norm(0, 1), draws=5000, rng=7
    )
    draws = result.posterior(2000, names=["mu"])
    given = draws.to_dict()
    old = az.__version__.startswith("0.")
    data = az.from_dict(posterior=given) if old else az.from_dict({"posterior": given})
    values = np.ravel(data["posterior"]["mu"])
    assert (values == draws["mu"]).all()
    assert float(az.summary(data, round_to="none")["mean"].iloc[0]) == pytest.approx(values.mean())
