"""`over` in a problem file: a dimension, bounds, distributions, their correlation, or a name."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from croupier.arms.by_reference import load_reference
from croupier.cli.sections import check_keys
from croupier.errors import PlanError

__all__ = ["over_of"]


def over_of(where: str, entry: Mapping[str, Any], folder: Path) -> Any:
    """Return what `over` and `correlation` of a section say."""
    if "over" not in entry:
        raise PlanError(
            f"{where} has no over: give a dimension, bounds such as [[0, 1], [0, inf]], "
            'distributions such as [{ name = "norm", loc = 2, scale = 1 }], or "module:name"'
        )
    over = entry["over"]
    if isinstance(over, str):
        over = load_reference(over, folder)
    elif isinstance(over, list):
        over = [_marginal(each) if isinstance(each, Mapping) else each for each in over]
    if "correlation" not in entry:
        return over
    from croupier.spaces.vectors import Nataf

    return Nataf(over, entry["correlation"])


def _marginal(entry: Any) -> Any:
    from scipy import stats

    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise PlanError(
            'a distribution in over must be such as { name = "norm", loc = 2, scale = 1 }, got '
            f"{entry!r:.100}"
        )
    family = getattr(stats, entry["name"], None)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        raise PlanError(f"scipy.stats has no distribution {entry['name']!r}")
    shapes = (family.shapes or "").replace(",", " ").split()
    place = ["loc"] if isinstance(family, stats.rv_discrete) else ["loc", "scale"]
    given = {key: value for key, value in entry.items() if key != "name"}
    where = f"the distribution {entry['name']!r} in over"
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
