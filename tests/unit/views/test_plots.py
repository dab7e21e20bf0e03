"""The picture of a run is drawn, headless, whatever the run was like."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from croupier.views.plots import plot
from tests.marks import slow

pytest.importorskip("matplotlib")

Run = Callable[..., tuple[Any, Any]]


def picture(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("arms", "batches"),
    [
        (9, 2), (100, 400),
        *slow((1, 1), (8, 1), (9, 1), (100, 1), (1, 2), (8, 2), (100, 2), (1, 400), (8, 400)),
    ],
)  # fmt: skip
def test_runs_of_every_shape_are_drawn_without_a_warning(run: Run, arms: int, batches: int) -> None:
    figure = plot(*run(arms, batches))
    assert len(figure.axes) == 3
    assert picture(figure).startswith(b"\x89PNG")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("width", "known"), [(np.nan, 5), (np.inf, 0), *slow((np.nan, 0), (np.inf, 5))]
)
def test_a_band_that_is_not_known_yet_is_left_out(run: Run, width: float, known: int) -> None:
    summary, history = run()
    history["half_width"][: len(history["half_width"]) - known] = width
    if not known:
        summary.update(stderr=np.nan, low=-np.inf, high=np.inf)
    axes = plot(summary, history).axes[0]
    assert np.all(np.isfinite(axes.get_ylim()))
    picture(axes.figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [2.0**600, 0.0, *slow(2.0**-600, 1e-310, -1e7)])
def test_a_run_at_any_scale_is_drawn_in_readable_numbers(run: Run, value: float) -> None:
    summary, history = run(value=value)
    axes = plot(summary, history).axes[0]
    picture(axes.figure)
    assert max(map(abs, axes.get_ylim())) < 1e6
    if value:
        assert "in units of 1e" in axes.get_ylabel()


def test_the_scale_shows_the_last_two_decades_and_not_the_wild_beginning(run: Run) -> None:
    summary, history = run(value=1.0)
    history["value"][0] = 1e5
    low, high = plot(summary, history).axes[0].get_ylim()
    assert 0.5 < low < 1 < high < 1.5


def test_the_band_is_that_of_the_component_asked_for(run: Run) -> None:
    summary, history = run(components=3)
    history["value"][:, 2] += 100
    summary["value"] = [1.2, 1.2, 101.2]
    for component in (2, -1):
        axes = plot(summary, history, component=component).axes[0]
        assert axes.get_ylim()[0] > 50
        assert axes.get_title(loc="left").startswith("Component 2: 101.2")
    assert plot(summary, history).axes[0].get_ylim()[1] < 50
    summary["components"] = ["price", "delta", "vega"]
    named = plot(summary, history, component=2).axes[0]
    assert named.get_title(loc="left").startswith("vega: 101.2")


def test_a_component_that_does_not_exist_is_named(run: Run) -> None:
    with pytest.raises(ValueError, match="component must be below 3, got 3"):
        plot(*run(components=3), component=3)


def test_eight_arms_are_named_and_the_others_counted(run: Run) -> None:
    figure = plot(*run(arms=100, batches=1000))
    named = [text.get_text() for text in figure.axes[1].texts]
    assert len(named) == 9
    assert named[-1] == "92 others"
    assert "tilted" in named


def first_band(figure: Any) -> Any:
    return figure.axes[1].collections[0].get_paths()[0].vertices


@pytest.mark.parametrize("batches", [300, 50_000])
def test_the_shares_at_the_end_are_those_of_the_summary(run: Run, batches: int) -> None:
    summary, history = run(batches=batches)
    tilted = first_band(plot(summary, history))
    assert len(tilted) < 1500  # thinned
    right = tilted[tilted[:, 0] == tilted[:, 0].max()]
    assert right[:, 1].max() == pytest.approx(summary["arms"][0]["share"])


def test_efficiencies_are_on_a_log_axis_only_when_they_range_widely(run: Run) -> None:
    assert plot(*run(arms=3)).axes[2].get_xscale() == "linear"
    assert plot(*run(arms=8)).axes[2].get_xscale() == "log"


def test_the_best_arm_is_on_top_and_stands_out(run: Run) -> None:
    summary, history = run()
    summary["arms"].reverse()
    axes = plot(summary, history).axes[2]
    labels = [(label.get_text(), label.get_fontweight()) for label in axes.get_yticklabels()]
    assert labels[0] == ("tilted", "bold")
    assert [weight for _, weight in labels[1:]] == ["normal"] * 3
    bottom, top = axes.get_ylim()
    assert bottom > top


def test_arms_without_an_efficiency_are_counted_but_not_drawn(run: Run) -> None:
    summary, history = run()
    for arm in summary["arms"][1:]:
        arm["efficiency"] = None
    axes = plot(summary, history).axes[2]
    assert len(axes.patches) == 1
    assert axes.texts[-1].get_text() == "and 3 more arms"
    picture(axes.figure)


@pytest.mark.parametrize("arms", [4, *slow(1)])
def test_where_no_arm_has_varied_the_picture_says_so(run: Run, arms: int) -> None:
    summary, history = run(arms)
    for arm in summary["arms"]:
        arm["efficiency"] = None
    axes = plot(summary, history).axes[2]
    assert not axes.patches
    assert [text.get_text() for text in axes.texts] == ["no arm has varied"]
    picture(axes.figure)


@pytest.mark.filterwarnings("error")
def test_a_dollar_in_a_name_is_no_mathematics(run: Run) -> None:
    summary, history = run(arms=1)
    summary["arms"][0]["name"] = history["names"][0] = r"price in $ \frac{ $"
    picture(plot(summary, history))


def test_a_given_figure_is_drawn_into_and_returned(run: Run) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    assert plot(*run(), figure=figure) is figure
    assert len(figure.axes) == 3


def test_a_figure_shows_itself_in_a_notebook_and_can_be_pickled(run: Run) -> None:
    figure: Any = plot(*run())
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(pickle.loads(pickle.dumps(figure)).axes) == 3


def test_global_settings_are_left_alone(run: Run) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot(*run())
    assert dict(matplotlib.rcParams) == before


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_views_loads_neither_rich_nor_matplotlib_nor_the_core() -> None:
    code = """
import sys
import croupier
before = {name for name in sys.modules if name.startswith("croupier")}
from croupier.views import summary, formats, table_content, result_table, plots, progress
heavy = {"rich", "matplotlib", "IPython", "pandas", "scipy", "numba"} & set(sys.modules)
mine = {name for name in sys.modules if name.startswith("croupier.")} - before
print(sorted(heavy), all(name.startswith("croupier.views") for name in mine))
"""
    assert in_a_new_process(code) == "[] True"


def overlaps(axes: Any) -> list[str]:
    """Return the labels of the cost axis that begin before the one to their left ends."""
    axes.figure.canvas.draw()
    left, right = sorted(axes.get_xlim())
    ticks = [*axes.xaxis.get_major_ticks(), *axes.xaxis.get_minor_ticks()]
    ticks = sorted((t for t in ticks if left <= t.get_loc() <= right), key=lambda t: t.get_loc())
    boxes = [(t.label1.get_text(), t.label1.get_window_extent()) for t in ticks]
    boxes = [(text, box) for text, box in boxes if text]
    assert len(boxes) > 1, [text for text, _ in boxes]
    return [text for (_, before), (text, box) in pairwise(boxes) if box.x0 <= before.x1 + 1]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (300, 315), (400, 4800), (300, 10**7), (3e-5, 0.3),
        *slow((300, 700), (400, 2000), (400, 4000), (400, 40_000), (1, 4000)),
        *slow((2 * 10**6, 6 * 10**6), (10**6, 10**7)),
    ],
)  # fmt: skip
def test_the_labels_of_the_cost_do_not_overlap(run: Run, first: float, last: float) -> None:
    summary, history = run(arms=2, batches=40)
    history["cost"] = np.geomspace(first, last, 40)
    figure = plot(summary, history)
    assert not overlaps(figure.axes[0])
    assert not overlaps(figure.axes[1])


def test_plotting_never_loads_pyplot() -> None:
    code = """
import sys
import numpy as np
from croupier.views.summary import example
from croupier.views.plots import plot
one = np.ones(1)
history = dict(names=["tilted", "naive"], cost=one, draws=one, arm=np.zeros(1, int),
               batch_cost=one, at=np.zeros(1, int), value=one, half_width=one)
plot(example(), history)._repr_png_()
print("matplotlib.pyplot" in sys.modules)
"""
    assert in_a_new_process(code) == "False"


def test_without_matplotlib_the_error_says_the_way_out() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
from croupier.views.summary import example
from croupier.views.plots import plot
try:
    plot(example(), {})
except ImportError as error:
    print(error)
"""
    assert 'pip install ".[plot]"' in in_a_new_process(code)
