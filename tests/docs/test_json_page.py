"""The page about JSON names every field."""

import re
from pathlib import Path

import croupier as cr

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")


def test_every_field_of_a_result_is_on_the_page() -> None:
    arms = {"a": lambda rng, n: rng.random((n, 2)), "b": lambda rng, n: rng.random((n, 2))}
    data = cr.estimate(arms, draws=100, rng=7).to_dict()
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert set(data) <= listed
    said = " ".join(rows)
    for part in (*data["arms"][0], *data["history"], *data["history"]["estimates"]):
        assert re.search(rf"\b{part}\b", said), part


def test_the_formula_of_the_page_gives_the_moments_of_a_batch() -> None:
    result = cr.estimate({"a": lambda rng, n: rng.random(n)}, draws=500, rng=7, keep_values=True)
    history = result.to_dict()["history"]
    sizes = result.history.size
    last = int(sizes.argmax())
    values = result.arms["a"].values[sizes[:last].sum() : sizes[: last + 1].sum()]
    origin, exponent, mean, m2 = (history[x][last] for x in ("origin", "exponent", "mean", "m2"))
    assert abs(origin + mean * 2**exponent - values.mean()) < 1e-12
    assert abs(m2 / (len(values) - 1) * 4**exponent - values.var(ddof=1)) < 1e-12
