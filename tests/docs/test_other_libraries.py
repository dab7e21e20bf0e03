"""The blocks of docs/evidence.md for PyMC and NumPyro give the evidence, where they are installed.

They are not installed with croupier, so these tests are for an environment that has them:
``pip install pymc numpyro arviz``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import dblquad

import croupier as cr

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def block(which: str) -> str:
    """Return the block that is not run because of a library."""
    found = re.search(
        rf"<!-- not run: {which}.*?-->\n\n```python\n(.*?)```", PAGE.read_text(), re.S
    )
    assert found is not None
    return found[1]


def namespace() -> dict[str, Any]:
    numbers = np.array([1.3, 0.2, 2.1, 0.9, 1.7, 0.4, 1.1, 2.4])
    assert f"numbers = np.array({numbers.tolist()})" in PAGE.read_text()

    def from_joint(log_joint: Any, q: Any) -> Any:
        return lambda theta: log_joint(theta) - q.logpdf(theta), q

    return {"np": np, "st": st, "cr": cr, "numbers": numbers, "from_joint": from_joint}


def truth(numbers: Any) -> float:
    def joint(m: float, s: float) -> float:
        z, root = (numbers - m) / s, np.sqrt(2 * np.pi)
        log = -0.5 * float(z @ z) - len(z) * np.log(s * root)
        prior = -(m**2) / 8 - s**2 / 2 - np.log(2 * root) + 0.5 * np.log(2 / np.pi)
        return float(np.exp(log + prior))

    return float(np.log(dblquad(joint, 1e-3, 8, -6, 8, epsrel=1e-8)[0]))


@pytest.mark.parametrize("library", ["pymc", "numpyro"])
def test_the_block_of_a_library_gives_the_evidence(library: str) -> None:
    pytest.importorskip(library)
    given = namespace()
    exec(block(library), given)
    result, exact = given["result"], truth(given["numbers"])
    assert exact == pytest.approx(-12.2124, abs=5e-5)
    print(library, result.log_value, result.log_stderr, exact, result.warnings)
    assert abs(result.log_value - exact) < 4 * result.log_stderr < 0.1


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
