"""[probability]: a limit state and the distribution of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from croupier.arms.by_reference import load_reference
from croupier.cli.sections import Section, check_keys, check_once
from croupier.errors import PlanError

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SECTION"]

_KEYS: Final = ("python", "over", "below", "gradient", "starts", "names", "tolerance_for")


def _play(contents: Any, folder: Path, options: Mapping[str, Any]) -> Result:
    from croupier.rare.limit_probability import probability

    if not isinstance(contents, Mapping) or not isinstance(contents.get("python"), str):
        raise PlanError('[probability] must have python = "module:g", the limit state')
    check_keys("[probability]", "key", contents, _KEYS)
    check_once("[probability]", contents, options)
    if "over" not in contents:
        raise PlanError(
            "[probability] has no over: give a dimension, a list of distributions such as "
            '[{ name = "norm", loc = 2, scale = 1 }], or "module:name"'
        )
    plain = ("below", "starts", "names", "tolerance_for")
    given = {key: contents[key] for key in plain if key in contents}
    if "gradient" in contents:
        given["gradient"] = load_reference(contents["gradient"], folder)
    g = load_reference(contents["python"], folder)
    return probability(g, _over(contents["over"], folder), **given, **options)


def _over(said: Any, folder: Path) -> Any:
    """Return a dimension, what a reference names, or the distributions of a list."""
    if isinstance(said, str):
        return load_reference(said, folder)
    return [_marginal(each) for each in said] if isinstance(said, list) else said


def _marginal(said: Any) -> Any:
    from scipy import stats

    if not isinstance(said, Mapping) or not isinstance(said.get("name"), str):
        raise PlanError(
            'a distribution in over must be such as { name = "norm", loc = 2, scale = 1 }, got '
            f"{said!r:.100}"
        )
    family = getattr(stats, said["name"], None)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        raise PlanError(f"scipy.stats has no distribution {said['name']!r}")
    shapes = (family.shapes or "").replace(",", " ").split()
    place = ["loc"] if isinstance(family, stats.rv_discrete) else ["loc", "scale"]
    given = {key: value for key, value in said.items() if key != "name"}
    where = f"the distribution {said['name']!r} in over"
    check_keys(where, "parameter", given, [*shapes, *place])
    if lacking := [key for key in shapes if key not in given]:
        raise PlanError(f"{where} has no {', '.join(lacking)}")
    try:
        return family(**{key: _number(where, key, value) for key, value in given.items()})
    except (TypeError, ValueError) as error:
        raise PlanError(f"{where}: {error}") from None


def _number(where: str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise PlanError(f"{where}: {key} must be a finite number, got {value!r:.80}")
    return float(value)


SECTION = Section(
    "probability", "a limit state, and how probable it is that it is below its limit", _play
)
