"""The public names: exactly these, each where it says, and none of them heavy."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import croupier as cr

PUBLIC = {
    "Allocator", "Arm", "ArmError", "Batch", "CroupierError", "CroupierWarning", "Draws",
    "Guaranteed", "Learner", "MissingExtraError", "Outcome", "Plan", "PlanError", "Program",
    "Progress", "Result", "Store", "StoreError", "Table", "__version__", "adapters",
    "annealing", "arms", "compare", "continuum", "estimate", "evidence", "evidence_from_draws",
    "importance", "integrate", "merge", "open_run", "play", "policies", "probability",
    "rare", "scalar", "simulate", "simulator", "splitting", "stratify", "theory",
    "UnknownArgumentError",
}  # fmt: skip

HEAVY = ["scipy", "numba", "pandas", "xarray", "matplotlib", "rich", "typer", "IPython",
         "loky", "cloudpickle", "distributed", "ray"]  # fmt: skip

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(cr.__path__, "croupier.")
    if not module.name.endswith("__main__")
)


def test_the_public_names_are_exactly_these() -> None:
    assert set(cr.__all__) == PUBLIC
    assert len(cr.__all__) == len(set(cr.__all__))
    assert set(dir(cr)) == PUBLIC
    assert cr.__all__ == sorted(cr.__all__)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_resolves_to_what_it_says(name: str) -> None:
    thing = getattr(cr, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert thing.__name__ == name
        assert thing.__module__.startswith("croupier.")
        assert thing.__doc__


def test_everything_can_be_imported_at_once() -> None:
    space: dict[str, object] = {}
    exec("from croupier import *", space)
    assert set(space) - {"__builtins__"} == PUBLIC


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'croupier' has no attribute 'estimat'"):
        cr.estimat  # noqa: B018


def test_every_module_says_what_lives_in_it_and_keeps_its_promises() -> None:
    assert len(MODULES) > 100
    for module in MODULES:
        loaded = importlib.import_module(module)
        assert loaded.__doc__, module
        for name in getattr(loaded, "__all__", ()):
            assert hasattr(loaded, name), f"{module}.{name}"


@pytest.mark.parametrize(
    "package",
    [
        "croupier", "croupier.adapters", "croupier.arms", "croupier.policies", "croupier.simulator",
        "croupier.theory",
    ],
)  # fmt: skip
def test_no_module_bears_the_name_of_a_public_function(package: str) -> None:
    loaded = importlib.import_module(package)
    beside = {module.name for module in pkgutil.iter_modules(loaded.__path__)}
    names = getattr(loaded, "__all__", [name for name in vars(loaded) if name[0] != "_"])
    public = {name for name in names if not inspect.ismodule(getattr(loaded, name))}
    assert beside
    assert not beside & public


def loaded_after(code: str) -> set[str]:
    code = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_to_import_croupier_loads_nothing_heavy() -> None:
    modules = loaded_after("import croupier")
    assert "croupier" in modules
    assert not modules & {*HEAVY, "numpy"}


def test_a_plain_run_loads_nothing_heavier_than_numpy() -> None:
    modules = loaded_after(
        "import croupier as cr\n"
        "arms = {'a': lambda r, n: r.normal(1, 1, n), 'b': lambda r, n: r.normal(1, .1, n)}\n"
        "result = cr.estimate(arms, draws=5000, rng=7)\n"
        "print(result, result.confidence_interval(0.9), result._repr_html_())"
    )
    assert "numpy" in modules
    assert not modules & set(HEAVY)


def test_errors_are_croupiers_own() -> None:
    for error in (cr.ArmError, cr.PlanError, cr.StoreError):
        assert issubclass(error, cr.CroupierError)
    assert issubclass(cr.CroupierWarning, UserWarning)
    error = cr.ArmError("is broken", arm="a", ticket=3, value=2.5)
    assert (error.arm, error.ticket, error.value) == ("a", 3, 2.5)
    assert str(error) == "arm 'a', ticket 3: is broken"
    assert str(cr.ArmError("is broken", arm="a")) == "arm 'a': is broken"


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert version("croupier") == cr.__version__
