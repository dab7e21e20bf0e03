"""What new users stumble over: every message says what to do instead."""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.engines import executor_engine
from tests.conftest import fine, rough


def test_seed_is_called_rng_here() -> None:
    with pytest.raises(TypeError, match="did you mean 'rng'"):
        cr.evidence(lambda theta: -theta[:, 0], stats.norm(0, 1), draws=10, seed=3)
    with pytest.raises(TypeError, match="did you mean 'workers'"):
        cr.stratify([rough], [1.0], draws=10, n_jobs=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "here"),
    [("seed", "rng"), ("random_state", "rng"), ("n", "draws"), ("time", "seconds"),
     ("tol", "rtol"), ("n_jobs", "workers"), ("polcy", "policy")],
)  # fmt: skip
def test_an_argument_of_another_library_is_called_otherwise_here(name: str, here: str) -> None:
    with pytest.raises(TypeError, match=rf"^estimate\(\) got .* '{name}': did you mean '{here}'"):
        cr.estimate({"rough": rough}, draws=10, **{name: 3})  # type: ignore[arg-type]


def test_a_budget_needs_its_name() -> None:
    with pytest.raises(
        TypeError, match=r"^estimate\(\) takes arms without .*, such as draws=1000$"
    ):
        cr.estimate([rough], 1000)  # type: ignore[misc]


def test_one_arm_is_a_list_of_one() -> None:
    with pytest.raises(cr.PlanError, match=r"a list of arms, got .*: \[arm\]$"):
        cr.estimate(rough, draws=10)  # type: ignore[arg-type]


def test_the_generator_comes_first() -> None:
    with pytest.raises(
        cr.PlanError, match=r"arm 'a' takes \(size, rng\); an arm takes \(rng, size\)"
    ):
        cr.estimate({"a": lambda size, rng: rng.random(size)}, draws=10)

    def only_size(size: int) -> Any:
        rng = np.random.default_rng(1)
        return rng.random(size)

    with pytest.raises(cr.PlanError, match=r"must take \(rng, size\), .* \(size: 'int'\).*'Any'$"):
        cr.estimate({"a": only_size}, draws=10)  # type: ignore[dict-item]


def test_a_column_for_each_draw_is_to_be_transposed() -> None:
    with pytest.raises(cr.ArmError, match=r"shape \(2, 5\)\); .* each draw: transpose it$"):
        cr.estimate({"a": lambda rng, size: rng.random((2, size))}, draws=100, batch=5, rng=7)


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_a_tuple_of_arrays_is_to_be_stacked(batch: int) -> None:
    def greeks(rng: np.random.Generator, size: int) -> Any:
        return rng.random(size), rng.random(size)

    with pytest.raises(cr.ArmError, match=r"np\.column_stack") as caught:
        cr.estimate({"greeks": greeks}, draws=100, batch=batch, rng=7)
    assert "a tuple of 2 arrays" in str(caught.value)
    assert "cr.Draws(values, costs)" in str(caught.value)


def test_two_closures_of_one_name_have_a_way_out() -> None:
    def make(spread: float) -> Any:
        def arm(rng: np.random.Generator, size: int) -> np.ndarray:
            return rng.normal(1.0, spread, size)

        return arm

    with pytest.raises(cr.PlanError, match="in a mapping") as caught:
        cr.estimate([make(1.0), make(2.0)], draws=100)
    assert "cr.Arm(f, name='one')" in str(caught.value)


def test_an_error_without_a_message_says_so() -> None:
    def ends(rng: np.random.Generator, size: int) -> Any:
        return next(iter(()))

    with pytest.raises(cr.ArmError, match=r"raised StopIteration: \(without a message\)"):
        cr.estimate({"ends": ends}, draws=10)


def test_messages_round_their_numbers() -> None:
    with pytest.warns(cr.CroupierWarning, match="relative to a value that may be zero") as caught:
        cr.estimate({"zero": lambda rng, n: rng.normal(0, 1, n)}, draws=1000, rtol=1e-3, rng=7)
    bounded = cr.Arm(lambda rng, n: rng.random(n) + 1 / 3, name="a", bounds=(0, 1))
    with pytest.raises(cr.ArmError, match="outside of its bounds") as error:
        cr.estimate([bounded], draws=1000, rng=7)
    for text in (str(caught[-1].message), str(error.value)):
        assert not any(len(word.strip("().,").partition(".")[2]) > 9 for word in text.split()), text


def test_a_relative_tolerance_above_one_is_noticed() -> None:
    with pytest.warns(cr.CroupierWarning, match=r"rtol=5 is 500 % of the value.*rtol=0.05"):
        cr.estimate({"rough": rough}, draws=1000, rtol=5, rng=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cr.estimate({"rough": rough}, draws=1000, rtol=0.5, rng=7)


def test_the_table_has_variance_and_weight_also_where_draws_have_costs() -> None:
    def priced(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(rng.normal(123456.789, 0.001, size), np.full(size, 2.5))

    arms = {"an arm with a long name": priced, "another arm with a long name": priced}
    result = cr.estimate(arms, cost=1e6, rng=7)
    lines = str(result).splitlines()
    for title in ("variance", "cost/draw", "efficiency", "weight"):
        assert any(title in line for line in lines), title
    assert max(map(len, lines)) <= 80


def test_a_finished_store_needs_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    arms = {"rough": rough, "fine": fine}
    first = cr.estimate(arms, draws=2000, rng=7, workers=2, store=path)
    opened = []
    connections = executor_engine.Connections.open
    monkeypatch.setattr(
        executor_engine.Connections, "open", lambda self: (opened.append(1), connections(self))[1]
    )
    again = cr.estimate(arms, draws=2000, workers=2, store=path)
    assert not opened
    assert again.value == first.value
    more = cr.estimate(arms, draws=2500, workers=2, store=path)
    assert opened
    assert more.draws == 2500


def test_a_store_of_another_model_says_that_the_model_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "run.db"

    def evidence(spread: float) -> Any:
        def log_likelihood(theta: np.ndarray) -> np.ndarray:
            return np.asarray(stats.norm.logpdf(2.0, theta[:, 0], spread))

        return cr.evidence(log_likelihood, stats.norm(0, 1), draws=30_000, rng=7, store=path)

    evidence(0.5)
    with pytest.raises(cr.StoreError, match="the model has changed, its likelihood"):
        evidence(0.25)


def test_an_interrupted_store_does_not_say_that_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "run.db"

    def stops(rng: np.random.Generator, size: int) -> np.ndarray:
        if size > 30:
            raise KeyboardInterrupt
        return rng.normal(1.0, 1.0, size)

    with pytest.warns(cr.CroupierWarning, match="interrupted"):
        cr.estimate({"a": stops}, draws=10_000, rng=7, store=path)
    said = str(cr.open_run(path).status)
    assert "finished" not in said
    assert "interrupted: run the same call again to continue (" in said
    assert "% of 10,000 draws)" in said


def test_a_table_that_is_told_by_hand_claims_no_time(tmp_path: Path) -> None:
    table = cr.Allocator(["a", "b"], rng=7, store=tmp_path / "run.db")
    for _ in range(20):
        batch = table.ask()
        assert batch is not None
        table.tell(batch, batch.rng().normal(1.0, 1.0, batch.size))
    said = str(table.result())
    table.close()
    assert "draws so far, told by hand" in said
    assert " 0 s" not in said
    status = str(cr.open_run(tmp_path / "run.db").status)
    assert "asked and told by hand" in status
    assert " 0 s" not in status


# -- names of components


def pair(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.normal([1.0, 2.0], 1.0, (size, 2))


def test_names_of_components_are_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    arms = {"a": pair, "b": pair}
    result = cr.estimate(arms, draws=500, rng=7, names=["price", "delta"], store=path)
    assert "price" in str(result)
    assert "delta" in result._repr_html_()
    assert result.to_dict()["components"] == ["price", "delta"]
    assert cr.Result.from_dict(result.to_dict()).components == ("price", "delta")
    assert cr.open_run(path).result().components == ("price", "delta")
    again = cr.estimate(arms, draws=800, store=path)  # left out: those of the store
    assert again.components == ("price", "delta")
    assert float(result.to_xarray()["value"].sel(component="delta")) == result.value[1]


def test_names_must_fit_the_draws() -> None:
    with pytest.raises(cr.ArmError, match=r"returned 2 components, but names= has 3 names"):
        cr.estimate({"a": pair}, draws=100, names=["a", "b", "c"])
    with pytest.raises(cr.ArmError, match=r"returned a number for every draw, but names= has 1"):
        cr.estimate({"a": rough}, draws=100, names=["a"])
    for bad in ("ab", [], ["a", "a"], [1, 2], 3):
        with pytest.raises(cr.PlanError, match="names must be"):
            cr.estimate({"a": pair}, draws=100, names=bad)  # type: ignore[arg-type]


def test_a_table_told_by_hand_has_names_too() -> None:
    table = cr.Allocator(["a"], rng=7, names=["x", "y"])
    for _ in range(5):
        batch = table.ask()
        assert batch is not None
        table.tell(batch, pair(batch.rng(), batch.size))
    assert table.result().components == ("x", "y")


def test_without_names_components_are_numbered() -> None:
    assert cr.estimate({"a": pair}, draws=100, rng=7).components == ("0", "1")


def test_a_history_becomes_a_data_frame() -> None:
    result = cr.estimate({"rough": rough, "fine": fine}, draws=500, rng=7)
    frame = result.history.to_pandas()
    assert frame.index.name == "ticket"
    assert len(frame) == len(result.history)
    assert frame["size"].sum() == 500
    assert set(frame["arm"]) == {"rough", "fine"}


def test_a_history_becomes_a_dataset_that_netcdf_can_hold(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    result = cr.estimate({"rough": rough, "fine": fine}, draws=500, rng=7)
    data, frame = result.history.to_xarray(), result.history.to_pandas()
    assert data.sizes == {"ticket": len(frame)}
    for name in ("arm", "size", "cost", "draws", "batch_cost"):
        assert (data[name].to_numpy() == frame[name].to_numpy()).all()
    data.to_netcdf(tmp_path / "history.nc")
    with xarray.open_dataset(tmp_path / "history.nc") as read:
        assert int(read["size"].sum()) == 500


def test_a_simulation_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    sim = cr.simulate(cr.simulator.scaled_bernoulli([0.08, 0.18]), ["ucb1", "uniform"], 5, 300)
    figure = sim.plot()
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ucb1", "uniform"]
    assert [len(line.get_xdata()) for line in axes.lines] == [len(sim.times)] * 2
    figure.savefig(tmp_path / "regret.png")


def test_opening_a_finished_store_with_workers_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loky = pytest.importorskip("loky")
    path = tmp_path / "run.db"
    cr.estimate({"rough": rough}, draws=500, rng=7, width=4, store=path)

    def started(*_: Any, **__: Any) -> Any:
        raise AssertionError("a process was started")

    monkeypatch.setattr(loky.ProcessPoolExecutor, "submit", started)
    assert cr.estimate({"rough": rough}, draws=500, workers=2, width=4, store=path).draws == 500
    with pytest.raises(cr.PlanError, match="a process was started"):
        cr.estimate({"rough": rough}, draws=10_000, workers=2, width=4, store=path)


def test_one_lambda_is_a_list_of_one() -> None:
    with pytest.raises(cr.PlanError, match=r"for one arm give a list of one: \[arm\]$"):
        cr.estimate(lambda rng, size: rng.random(size), draws=10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "draw",
    [lambda x: math.exp(x), lambda x: max(x, 0.0), lambda x: x if x > 0 else 0.0],
)
def test_an_arm_of_one_number_is_told_about_arrays(draw: Any) -> None:
    with pytest.raises(cr.ArmError, match=r"raised .*np\.maximum, or wrap .* in cr\.scalar$"):
        cr.estimate({"a": lambda rng, size: draw(rng.normal(5.0, 0.1, size))}, draws=500, rng=7)


def test_an_arm_that_raises_something_else_is_not() -> None:
    def broken(rng: np.random.Generator, size: int) -> Any:
        raise ValueError("mesh failed")

    with pytest.raises(cr.ArmError, match=r"raised ValueError: mesh failed$"):
        cr.estimate([broken], draws=500, rng=7)


def rounded(rng: np.random.Generator, size: int) -> Any:
    """The mean is 5.1: one in 10 000 draws is worth 1000. The others differ by rounding only."""
    w = rng.uniform(0.1, 3.0, size)
    return (5.0 * w) / w + 1e3 * (rng.random(size) < 1e-4)


def noisy(rng: np.random.Generator, size: int) -> Any:
    return rng.normal(5.1, 1.0, size)


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize("seed", range(4))
def test_rounding_errors_do_not_pass_for_an_error_bar(seed: int) -> None:
    alone = cr.estimate([rounded], draws=2_000, rng=seed)
    if math.isnan(alone.stderr):  # the rare event was not seen
        assert any("no arm has varied" in text for text in alone.warnings)
        assert alone.interval == (-math.inf, math.inf)
    both = cr.estimate([rounded, noisy], draws=2_000, rng=seed)
    assert abs(both.value - 5.1) < 4 * both.stderr
    strata = cr.stratify([rounded, noisy], [0.5, 0.5], draws=2_000, rng=seed)
    assert abs(strata.value - 5.1) < 4 * strata.stderr or strata.warnings


def second_difference(step: float, shift: float = 0.0):
    """Gamma of a call by finite differences: 0 up to rounding noise of 1e-10, except rarely."""

    def draw(rng, size):
        z = rng.standard_normal(size) + shift
        growth = np.exp(0.2 * z - 0.02)
        low, middle, high = (
            np.maximum(s * growth - 100, 0) for s in (100 - step, 100.0, 100 + step)
        )
        return np.exp(-shift * z + shift**2 / 2) * (high - 2 * middle + low) / step**2

    return draw


def by_likelihood_ratio(rng, size):
    """The same gamma by a likelihood ratio."""
    z = rng.standard_normal(size)
    payoff = np.maximum(100 * np.exp(0.2 * z - 0.02) - 100, 0)
    return payoff * (z * z - 0.2 * z - 1) / (100 * 0.2) ** 2


@pytest.mark.parametrize("seed", range(4))
def test_rounding_noise_of_finite_differences_is_no_variation(seed: int) -> None:
    arms = {"fine": second_difference(1e-2), "ratio": by_likelihood_ratio}
    result = cr.estimate(arms, draws=20_000, rng=seed)
    assert abs(result.value - 0.019847627) < 5 * result.stderr
    assert result.arms["ratio"].share > 0.9
    assert not [text for text in result.warnings if "biased" in text]


@pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")
@pytest.mark.parametrize("seed", range(4))
def test_an_arm_that_has_seen_noise_only_does_not_lead_one_that_has_seen_an_event(seed) -> None:
    arms = {"fine": second_difference(1e-3), "shifted": second_difference(1e-2, 0.3)}
    result = cr.estimate(arms, draws=20_000, rng=seed)
    assert abs(result.value - 0.019847627) < 5 * result.stderr
    assert result.warnings


def test_draws_that_differ_in_their_last_digits_only_are_told_what_to_do() -> None:
    arms = {"far": lambda rng, size: 1e15 + rng.standard_normal(size)}
    with pytest.warns(cr.CroupierWarning, match="if the spread is real, subtract a constant"):
        cr.estimate(arms, draws=1000, rng=1)


def test_a_stratum_of_tiny_draws_has_varied() -> None:
    strata = {
        "large": lambda rng, size: rng.normal(1.0, 1.0, size),
        "tiny": lambda rng, size: rng.normal(1e-20, 1e-21, size),
    }
    result = cr.stratify(strata, weights=[0.5, 0.5], draws=1000, rng=1)
    assert result.arms["tiny"].variance > 0
    assert not [text for text in result.warnings if "never varied" in text]


def test_a_column_beside_numbers_is_told_which_shape_to_return() -> None:
    arms = {"flat": fine, "column": lambda rng, size: rng.random((size, 1))}
    with pytest.raises(cr.ArmError, match=r"return the shape \(size,\), as values\[:, 0\] has"):
        cr.estimate(arms, draws=100, rng=1)


def test_a_run_in_draws_says_that_seconds_would_pay_and_its_result_does_not() -> None:
    def slow(rng: np.random.Generator, size: int) -> np.ndarray:
        time.sleep(2e-4 * size)
        return rng.normal(1.0, 0.5, size)

    def fast(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(1.0, 1.0, size)

    with pytest.warns(cr.CroupierWarning, match=r"'slow' got most .* give seconds="):
        result = cr.estimate([slow, fast], draws=8_000, rng=7)
    assert not result.warnings
