"""Result: frozen data, with a face for the terminal, the notebook and the table of a paper."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import pickle
import re
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import croupier as cr
from tests.conftest import bits_of, clock_in
from tests.marks import slow

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")


def normal(spread: float) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(1.0, spread, size)


def vector(spread: float, d: int = 3) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(np.arange(1.0, d + 1), spread, (size, d))


def priced(rng: np.random.Generator, size: int) -> cr.Draws:
    return cr.Draws(rng.random(size), rng.uniform(1, 3, size))


def constant(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.full(size, 2.5)


@pytest.fixture(scope="module")
def results() -> dict[str, cr.Result]:
    """Runs of every kind."""
    play: Callable[..., cr.Result] = cr.estimate
    fixed = cr.policies.Fixed("rough")
    pair = {"rough": normal(1.0), "fine": normal(0.1)}
    with pytest.MonkeyPatch.context() as patch:
        clock = clock_in(patch)
        timed = {"rough": clock.arm(1.0, 1e-5, 1e-5), "fine": clock.arm(0.1, 1e-5, 1e-5)}
        with pytest.warns(cr.CroupierWarning):
            return {
                "scalar": play(pair, draws=5000, rng=7),
                "vector": play({"a": vector(1.0), "b": vector(0.1)}, draws=5000, rng=7),
                "length one": play({"a": vector(1.0, 1)}, draws=500, rng=7),
                "fifty": play({"a": vector(1.0, 50), "b": vector(0.1, 50)}, draws=2000, rng=7),
                "cost": play({"a": priced}, cost=500, rng=7),
                "seconds": play(timed, seconds=0.05, rng=7),
                "tolerance": play(pair, draws=10**6, atol=0.01, rng=7),
                "anytime": play(pair, draws=10**6, atol=0.01, rng=7, anytime=True),
                "one draw": play(pair, draws=1, rng=7),
                "never drawn": play(pair, draws=50, rng=7, policy=fixed),
                "constant": play({"a": constant, "b": constant}, draws=100, rng=7),
                "huge": play({"a": lambda r, n: np.ldexp(r.random(n), 600)}, draws=500, rng=7),
                "tiny": play({"a": lambda r, n: np.ldexp(r.random(n), -600)}, draws=500, rng=7),
                "kept": play(pair, draws=500, rng=7, keep_values=True),
                "many": play({f"arm{k}": normal(1 + k) for k in range(40)}, draws=2000, rng=7),
            }


KINDS = [
    "scalar", "vector", "length one", "fifty", "cost", "seconds", "tolerance", "anytime",
    "one draw", "never drawn", "constant", "huge", "tiny", "kept", "many",
]  # fmt: skip
every = pytest.mark.parametrize("kind", KINDS)


# -- data


@every
def test_a_result_is_frozen(kind: str, results: dict[str, cr.Result]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        results[kind].value = 0.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        next(iter(results[kind].arms)).draws = 0  # type: ignore[misc]
    with pytest.raises(TypeError):
        results[kind].arms["new"] = None  # type: ignore[index]


def test_scalars_for_scalar_draws_and_arrays_for_vectors(results: dict[str, cr.Result]) -> None:
    scalar, vectors = results["scalar"], results["vector"]
    for number in (scalar.value, scalar.stderr, *scalar.interval, scalar.cost):
        assert type(number) is float
    for array in (vectors.value, vectors.stderr, *vectors.interval):
        assert isinstance(array, np.ndarray)
        assert array.shape == (3,)
    assert results["length one"].value.shape == (1,)


def test_the_interval_is_around_the_value(results: dict[str, cr.Result]) -> None:
    for kind in ("scalar", "vector", "cost", "tolerance", "anytime", "huge", "tiny"):
        result = results[kind]
        low, high = result.interval
        assert np.all((low < result.value) & (result.value < high)), kind
        assert np.allclose((low + high) / 2, result.value, rtol=1e-12, atol=0), kind
        assert np.all(high - low > 2 * 1.9 * result.stderr), kind


def test_another_level_gives_another_interval(results: dict[str, cr.Result]) -> None:
    for kind in ("scalar", "vector", "tolerance", "anytime"):
        result = results[kind]
        assert all(map(np.array_equal, result.confidence_interval(0.95), result.interval)), kind
        inner, outer = result.confidence_interval(0.5), result.confidence_interval(0.999)
        assert np.all(outer[0] < result.interval[0]), kind
        assert np.all(result.interval[0] < inner[0]), kind
        assert np.all(inner[0] < result.value), kind
        assert type(inner[0]) is type(result.value)


@pytest.mark.parametrize("level", [0, 1, -1, 95, math.nan, "0.9", True])
def test_a_level_lies_between_0_and_1(level: Any, results: dict[str, cr.Result]) -> None:
    with pytest.raises(cr.PlanError, match=r"^level must .*, got "):
        results["scalar"].confidence_interval(level)


@pytest.mark.parametrize("level", [1e-9, 1 - 1e-12, math.nextafter(1, 0), math.nextafter(0, 1)])
def test_every_level_between_0_and_1_has_an_interval(
    level: float, results: dict[str, cr.Result]
) -> None:
    for kind in ("scalar", "tolerance", "anytime"):
        low, high = results[kind].confidence_interval(level)
        assert low <= results[kind].value <= high


@every
def test_the_arms_are_a_mapping_and_rows(kind: str, results: dict[str, cr.Result]) -> None:
    result = results[kind]
    names = [row.name for row in result.arms]
    assert names == list(result.arms.keys()) == list(result.plan.names)
    assert len(result.arms) == len(names)
    assert all(result.arms[name].name == name for name in names)
    assert names[0] in result.arms
    assert "nobody" not in result.arms
    with pytest.raises(KeyError, match="no arm 'nobody'; the arms are"):
        result.arms["nobody"]


@every
def test_the_arms_go_by_name_as_any_mapping_does(kind: str, results: dict[str, cr.Result]) -> None:
    arms = results[kind].arms
    names = list(results[kind].plan.names)
    assert list(arms.values()) == list(arms)
    assert [name for name, _ in arms.items()] == names
    assert all(row is arms[name] for name, row in arms.items())
    assert dict(arms) == dict(arms.items())  # type: ignore[call-overload]
    assert arms.get(names[0]) is arms[names[0]]
    assert arms.get("nobody") is None
    assert arms.get("nobody", 3) == 3


def arrays_of(result: cr.Result) -> dict[str, np.ndarray]:
    """Return every array that a result has, by where it is."""
    found: dict[str, Any] = {"low": result.interval[0], "high": result.interval[1]}
    found |= {name: getattr(result, name) for name in ("value", "stderr", "agreement")}
    for row in result.arms:
        for name in ("mean", "stderr", "variance", "values"):
            found[f"{row.name}.{name}"] = getattr(row, name)
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


@pytest.mark.parametrize("kind", ["vector", "length one", "fifty", "kept"])
def test_the_arrays_of_a_result_cannot_be_written_to(
    kind: str, results: dict[str, cr.Result]
) -> None:
    result = results[kind]
    for copied in (result, dataclasses.replace(result), pickle.loads(pickle.dumps(result))):
        arrays = arrays_of(copied)
        assert arrays
        for name, array in arrays.items():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
            assert not array.flags.writeable, name


def test_a_table_goes_on_after_its_result_was_looked_at() -> None:
    def played(look: bool) -> cr.Result:
        table = cr.Allocator(["a", "b"], rng=7)
        for _ in range(30):
            batch = table.ask()
            assert batch is not None
            table.tell(batch, batch.rng().normal(1.0, 1.0, (batch.size, 3)))
            if look:
                table.result()
        return table.result()

    assert np.array_equal(played(True).value, played(False).value)


@every
def test_shares_weights_and_draws_add_up(kind: str, results: dict[str, cr.Result]) -> None:
    result = results[kind]
    rows = list(result.arms)
    assert sum(row.draws for row in rows) == result.draws
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert sum(row.weight for row in rows) == pytest.approx(1)
    efficiencies = [row.efficiency for row in rows if row.efficiency is not None]
    assert not efficiencies or max(efficiencies) == 1.0
    assert all(efficiency > 0 for efficiency in efficiencies)


def test_a_row_says_what_is_known_of_its_arm() -> None:
    result = cr.estimate({"a": normal(1.0), "b": normal(0.1)}, draws=3000, rng=7, keep_values=True)
    for row in result.arms:
        assert row.mean == pytest.approx(row.values.mean())
        assert row.variance == pytest.approx(row.values.var(ddof=1))
        assert row.stderr == pytest.approx(row.values.std(ddof=1) / np.sqrt(row.draws))
        assert row.cost_per_draw == 1.0
    assert result.arms["a"].efficiency == pytest.approx(
        result.arms["b"].variance / result.arms["a"].variance
    )


def test_what_is_not_known_of_an_arm_is_none(results: dict[str, cr.Result]) -> None:
    row = results["never drawn"].arms["fine"]
    assert (row.draws, row.share, row.weight) == (0, 0.0, 0.0)
    assert row.mean is row.variance is row.stderr is row.cost_per_draw is row.efficiency is None
    once = results["one draw"].arms["rough"]
    assert once.draws == 1
    assert once.mean is not None
    assert once.variance is once.stderr is once.efficiency is None


def test_the_agreement_of_a_vector_is_an_array_with_nan_where_it_cannot_be_tested() -> None:
    def half(rng: np.random.Generator, size: int) -> np.ndarray:
        return np.column_stack([rng.normal(1.0, 1.0, size), np.ones(size)])

    result = cr.estimate({"a": half, "b": half}, draws=5000, rng=7, policy="uniform")
    assert isinstance(result.agreement, np.ndarray)
    assert result.agreement.dtype == np.float64
    assert 0 < result.agreement[0] <= 1
    assert np.isnan(result.agreement).tolist() == [False, True]
    assert result.to_dict()["agreement"] == [result.agreement[0], None]
    assert "component 0 of 2" in str(result)


# -- faces


@every
def test_a_result_prints_within_eighty_columns(kind: str, results: dict[str, cr.Result]) -> None:
    text = str(results[kind])
    assert text == results[kind].summary()
    assert max(map(len, text.splitlines())) <= 80
    assert next(iter(results[kind].plan.names)) in text
    assert results[kind].plan.policy["name"] in text
    assert f"seed {results[kind].seed}" in text


def test_the_print_begins_with_the_estimate(results: dict[str, cr.Result]) -> None:
    result = results["scalar"]
    value, sign, error, rest = str(result).splitlines()[0].split(maxsplit=3)
    assert float(value) == pytest.approx(result.value, abs=0.1 * result.stderr)
    assert float(error) == pytest.approx(result.stderr, rel=0.1)
    assert sign == "±"
    assert rest.startswith("95% interval [")


@every
def test_warnings_are_printed(kind: str, results: dict[str, cr.Result]) -> None:
    text = " ".join(str(results[kind]).split())
    assert text.count("warning: ") == len(results[kind].warnings)


@every
def test_a_result_shows_itself_in_a_notebook(kind: str, results: dict[str, cr.Result]) -> None:
    html = results[kind]._repr_html_()
    assert html.lstrip().startswith("<div")
    assert html.count("<table") == html.count("</table>") >= 1
    assert "<script" not in html


@every
def test_rich_prints_a_result(kind: str, results: dict[str, cr.Result]) -> None:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=100)
    console.print(results[kind])
    assert next(iter(results[kind].plan.names)) in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_representation_is_short_enough_to_read(results: dict[str, cr.Result]) -> None:
    result = results["scalar"]
    text = repr(result)
    assert re.fullmatch(
        r"<Result [\d.]+ ± [\d.]+, 95% interval \[[\d.]+, [\d.]+\], 5,000 draws>", text
    )
    first = str(result).splitlines()[0].split("   ")
    assert text == f"<Result {', '.join(first)}, 5,000 draws>"
    number = r"[\d.]+ ± [\d.]+"
    for kind, more in (("vector", ""), ("fifty", r", \.\.\. 47 more")):
        shown = rf"\[{number}, {number}, {number}{more}\], each with its 95% interval, "
        assert re.match(f"<Result {shown}", repr(results[kind])), repr(results[kind])


@every
def test_the_representation_is_one_line(kind: str, results: dict[str, cr.Result]) -> None:
    text = repr(results[kind])
    assert text.startswith("<Result ")
    assert text.endswith(("draws>", "draw>"))
    assert "\n" not in text
    assert len(text) < 160


# -- plain data


@every
def test_a_result_is_strict_json(kind: str, results: dict[str, cr.Result]) -> None:
    result = results[kind]
    data = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert set(data) == {
        "schema", "schema_version", "croupier", "value", "stderr", "low", "high", "confidence",
        "interval_kind", "draws", "cost", "unit", "seconds", "stopped", "agreement", "leader",
        "unnoticed", "policy", "combine", "seed", "warnings", "arms", "table", "rows", "plan",
        "history", "basis",
    }  # fmt: skip
    assert np.array_equal(np.array(data["value"], float), result.value)
    assert np.array_equal(np.array(data["low"], float), result.interval[0])
    assert [arm["draws"] for arm in data["arms"]] == [row.draws for row in result.arms]
    assert data["seed"] == result.seed
    assert data["history"]["size"] == result.history.size.tolist()


@every
def test_a_result_comes_back_from_json(kind: str, results: dict[str, cr.Result]) -> None:
    result = results[kind]
    again = cr.Result.from_dict(json.loads(result.to_json()))
    assert bits_of(again) == bits_of(result)
    assert str(again) == str(result)
    assert np.array_equal(again.confidence_interval(0.5), result.confidence_interval(0.5))
    assert again.to_dict() == result.to_dict()
    assert again._repr_html_() == result._repr_html_()


def test_results_from_json_are_merged_like_others(results: dict[str, cr.Result]) -> None:
    arms = {"a": lambda rng, n: rng.normal(1.0, 1.0, n), "b": lambda rng, n: rng.normal(1, 0.1, n)}
    runs = [cr.estimate(arms, draws=1000, rng=seed) for seed in (1, 2)]
    merged = cr.merge(runs)
    again = cr.merge([cr.Result.from_dict(run.to_dict()) for run in runs])
    assert bits_of(again) == bits_of(merged)
    once_more = cr.Result.from_dict(json.loads(merged.to_json()))
    assert once_more.runs == merged.runs
    assert str(once_more) == str(merged)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema": "other"}, "not a result of croupier"),
        ({"schema_version": 99}, "schema_version 99"),
        ({"value": "x"}, "damaged"),
        ({"arms": None, "plan": {"names": 3}}, "damaged"),
    ],
)
def test_other_data_is_refused(
    change: dict[str, Any], complaint: str, results: dict[str, cr.Result]
) -> None:
    with pytest.raises(cr.PlanError, match=complaint):
        cr.Result.from_dict({**results["scalar"].to_dict(), **change})


@every
def test_a_result_becomes_a_data_frame(kind: str, results: dict[str, cr.Result]) -> None:
    result = results[kind]
    frame = result.to_pandas()
    assert list(frame.index) == list(result.plan.names)
    assert frame.index.name == "name"
    assert frame["draws"].sum() == result.draws
    assert {"share", "mean", "variance", "cost_per_draw", "efficiency"} <= set(frame.columns)
    assert frame["draws"].dtype == np.int64
    wide = {"mean", "stderr", "variance"} if np.ndim(result.value) else set()
    for column in set(frame.columns) - {"draws"} - wide:
        assert frame[column].dtype == np.float64, column
    for column in wide:
        assert all(np.shape(cell) == np.shape(result.value) for cell in frame[column]), column


def test_what_is_not_known_is_nan_in_a_data_frame(results: dict[str, cr.Result]) -> None:
    row = results["never drawn"].to_pandas().loc["fine"]
    unknown = ["mean", "stderr", "variance", "cost_per_draw", "efficiency"]
    assert row[unknown].isna().all()
    assert row[["draws", "share", "weight"]].tolist() == [0, 0, 0]
    pair = {"a": vector(1.0), "b": vector(0.1)}
    frame = cr.estimate(pair, draws=50, rng=7, policy=cr.policies.Fixed("a")).to_pandas()
    assert np.isnan(frame.loc["b", "mean"]).tolist() == [True] * 3


@every
def test_a_result_becomes_a_dataset(kind: str, results: dict[str, cr.Result]) -> None:
    result = results[kind]
    data = result.to_xarray()
    wide = () if np.ndim(result.value) == 0 else ("component",)
    for name, expected in (
        ("value", result.value),
        ("stderr", result.stderr),
        ("low", result.interval[0]),
        ("high", result.interval[1]),
    ):
        assert data[name].dims == wide, name
        assert np.array_equal(data[name], expected, equal_nan=True), name
    assert list(data["arm"].values) == list(result.plan.names)
    assert data["draws"].dims == ("arm",)
    assert data["mean"].dims == data["variance"].dims == ("arm", *wide)
    assert data["draws"].sum() == result.draws


@pytest.mark.parametrize(
    "kind",
    ["vector", "one draw", "many", *slow("scalar", "anytime", "never drawn", "constant", "huge")],
)
def test_a_result_is_drawn(kind: str, results: dict[str, cr.Result]) -> None:
    from matplotlib.figure import Figure

    figure = results[kind].plot()
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 3
    figure.draw_without_rendering()


def test_a_component_is_drawn_into_a_figure(results: dict[str, cr.Result]) -> None:
    from matplotlib.figure import Figure

    mine = Figure()
    assert results["vector"].plot(figure=mine, component=2) is mine
    with pytest.raises(ValueError, match="component must be below 3, got 3"):
        results["vector"].plot(component=3)


@pytest.mark.parametrize(
    ("module", "method", "extra"),
    [
        ("pandas", "to_pandas", "pandas"),
        ("xarray", "to_xarray", "xarray"),
        ("matplotlib", "plot", "plot"),
        ("pandas", "history.to_pandas", "pandas"),
        ("xarray", "history.to_xarray", "xarray"),
    ],
)
def test_what_is_missing_is_named_with_the_way_to_install_it(
    module: str,
    method: str,
    extra: str,
    results: dict[str, cr.Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'{module}.*pip install "\.\[{extra}\]"'):
        attrgetter(method)(results["scalar"])()


@every
def test_a_result_survives_pickling(
    kind: str, results: dict[str, cr.Result], bits: Callable[..., Any]
) -> None:
    result = results[kind]
    again = pickle.loads(pickle.dumps(result))
    assert bits(again) == bits(result)
    assert str(again) == str(result)
    assert np.array_equal(again.history.at(again.cost), result.value)
    assert again.plan == result.plan


def test_a_result_shows_itself_as_plain_text_where_there_is_no_terminal(
    results: dict[str, cr.Result], capsys: pytest.CaptureFixture[str]
) -> None:
    results["scalar"].show()
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert all(row.name in printed for row in results["scalar"].arms)
