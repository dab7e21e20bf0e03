"""np.errstate belongs to the caller and to the arms, not to croupier's own arithmetic."""

import numpy as np
import pytest

import croupier as cr


def tiny(rng, size):
    with np.errstate(all="ignore"):
        return np.exp(-700 * rng.random(size))


def divides(rng, size):
    return rng.random(size) / np.zeros(size)


def limit(x):
    return 3 - x[:, 0]


RUNS = {
    "estimate": lambda: cr.estimate({"a": tiny, "b": tiny}, draws=2000, rng=1),
    "stratify": lambda: cr.stratify({"a": tiny, "b": tiny}, weights=[0.5, 0.5], draws=999, rng=1),
    "probability": lambda: cr.probability(limit, 2, draws=2000, rng=1),
}


@pytest.mark.parametrize("door", RUNS)
def test_a_run_under_errstate_raise_has_the_value_of_a_plain_run(door):
    with np.errstate(all="raise"):
        strict = RUNS[door]()
    assert strict.value == RUNS[door]().value


def test_the_arms_run_under_the_errstate_of_the_caller_and_are_named():
    with np.errstate(all="raise"), pytest.raises(cr.ArmError, match=r"'a'.*FloatingPointError"):
        cr.estimate({"a": divides}, draws=100)


def test_the_errstate_of_the_caller_is_as_before_after_a_run():
    with np.errstate(all="raise"):
        before = np.geterr()
        cr.estimate({"a": tiny}, draws=100, rng=1)
        assert np.geterr() == before


def very_small(rng, size):
    return rng.normal(1.0, 1.0, size) * 1e-200


RESULTS = {
    "tiny": lambda: cr.estimate({"a": very_small, "b": very_small}, draws=2000, rng=1),
    "moments": lambda: cr.estimate(
        {"a": lambda rng, size: np.column_stack([very_small(rng, size), rng.random(size)])},
        draws=2000, rng=1,
    ),
    "logs": lambda: cr.estimate(
        {"a": lambda rng, size: -1000 * rng.random(size)}, draws=2000, log=True, rng=1
    ),
    "guaranteed": lambda: cr.estimate(
        [cr.Arm(lambda rng, size: rng.random(size) * 1e-100, name="a", bounds=(0, 1))],
        draws=300, interval="guaranteed", rng=1,
    ),
    "strata": lambda: cr.stratify(
        lambda x: x[:, 0] ** 300, over=[(0, 1)] * 2, splits="adaptive", draws=3000, rng=1
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_is_read_and_shown_under_errstate_raise(kind, tmp_path):
    result = RESULTS[kind]()
    with np.errstate(all="raise"):
        assert len(list(result.arms)) >= 1
        wide, narrow = result.confidence_interval(0.99), result.confidence_interval(0.9)
        assert np.all(np.subtract(*wide) < np.subtract(*narrow))
        assert cr.Result.from_dict(result.to_dict()).value == pytest.approx(result.value)
        result.report(tmp_path / "run.html")
        result.history.at(result.cost / 2)
        if kind in ("tiny", "strata"):
            assert result.covariance.shape == (1, 1)
        if kind == "logs":
            assert result.log_confidence_interval(0.99)[0] < result.log_value


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
def test_a_table_is_played_by_hand_under_errstate_raise():
    def by_hand():
        table = cr.Allocator(["a", "b"], rng=7)
        for _ in range(30):
            batch = table.ask()
            table.tell(batch, batch.rng().normal(1.0, 1.0, batch.size) * 1e-200)
        return table.result().value

    plain = by_hand()
    with np.errstate(all="raise"):
        assert by_hand() == plain
