"""A result as JSON."""

import croupier as cr


def test_the_columns_of_the_history_give_the_moments_of_a_batch() -> None:
    result = cr.estimate({"a": lambda rng, n: rng.random(n)}, draws=500, rng=7, keep_values=True)
    history = result.to_dict()["history"]
    sizes = result.history.size
    last = int(sizes.argmax())
    values = result.arms["a"].values[sizes[:last].sum() : sizes[: last + 1].sum()]
    origin, exponent, mean, m2 = (history[x][last] for x in ("origin", "exponent", "mean", "m2"))
    assert abs(origin + mean * 2**exponent - values.mean()) < 1e-12
    assert abs(m2 / (len(values) - 1) * 4**exponent - values.var(ddof=1)) < 1e-12
