"""The plan: everything that decides what a run does, except when it stops."""

from __future__ import annotations

import json
import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from croupier.errors import PlanError

__all__ = [
    "Batching",
    "Clock",
    "Plan",
    "Range",
    "Unit",
    "choice",
    "count_of",
    "fraction_of",
    "positive",
    "unique_names",
    "weights_of",
]

Unit: TypeAlias = Literal["draws", "seconds", "cost"]
Clock: TypeAlias = Literal["wall", "cpu"]
Batching: TypeAlias = Literal["growing", "one"]
Range: TypeAlias = tuple[float, float]

#: A round of decisions grows a run by about a quarter of what it has spent (DESIGN decision 6).
ROUND: Final = 0.25
_DECISIONS_PER_ROUND: Final = 8


@dataclass(frozen=True)
class Plan:
    """What a run does: plain data that goes to JSON and back.

    `policy` is ``{"name": ..., parameters}``, `combine` the name of a combiner, `first` the
    number of draws that every arm gets before a policy may prefer one.

    >>> plan = Plan(names=("a", "b"), seed=7)
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    names: tuple[str, ...]
    seed: int
    unit: Unit = "draws"
    policy: Mapping[str, Any] = field(default_factory=lambda: {"name": "variance-thompson"})
    combine: str = "guarded"
    confidence: float = 0.95
    objective: tuple[float, ...] | None = None
    batch: Batching = "growing"
    width: int = 1
    first: int = 4
    clock: Clock = "wall"
    keep_values: bool = False
    versions: tuple[str | None, ...] = ()
    bounds: tuple[Range | None, ...] = ()
    cost_bounds: tuple[Range | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            raise PlanError("there are no arms: give at least one")
        unique_names(self.names)
        choice("unit", self.unit, Unit)
        choice("batch", self.batch, Batching)
        choice("clock", self.clock, Clock)
        fraction_of("confidence", self.confidence)
        count_of("width", self.width)
        count_of("first", self.first)
        for name in ("versions", "bounds", "cost_bounds"):
            given = getattr(self, name) or (None,) * len(self.names)
            if len(given) != len(self.names):
                raise PlanError(f"{name} needs one entry per arm, {len(self.names)}, got {given!r}")
            object.__setattr__(self, name, given)

    @property
    def share(self) -> float:
        """The share of what was spent so far that one decision buys."""
        return ROUND / max(_DECISIONS_PER_ROUND, self.width)

    def to_json(self) -> str:
        """Return the plan as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` wrote."""
        fields = json.loads(text)
        for name in ("names", "versions", "objective"):
            fields[name] = None if fields[name] is None else tuple(fields[name])
        for name in ("bounds", "cost_bounds"):
            fields[name] = tuple(None if pair is None else tuple(pair) for pair in fields[name])
        return cls(**fields)


# -- checks that several doors share: each names the argument and the value


def unique_names(names: Sequence[str]) -> None:
    """Refuse two arms of one name."""
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise PlanError(f"{times} arms are named {name!r}: every arm needs its own name")


def choice(name: str, value: object, allowed: Any) -> None:
    """Refuse a value that is not one of a Literal's."""
    options = get_args(allowed)
    if value not in options:
        raise PlanError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")


def fraction_of(name: str, value: object) -> float:
    """Return a number strictly between 0 and 1."""
    number = _number(name, value)
    if not 0 < number < 1:
        raise PlanError(f"{name} must lie between 0 and 1, got {value!r}")
    return number


def count_of(name: str, value: object) -> int:
    """Return a whole number of at least 1; 1e6 counts as one.

    >>> count_of("draws", 1e6)
    1000000
    """
    number = _number(name, value)
    if not (number >= 1 and number.is_integer()):
        raise PlanError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(number)


def positive(name: str, value: object, *, zero: bool = False) -> float:
    """Return a finite number above zero (or from zero)."""
    number = _number(name, value)
    if not (number > 0 or (zero and number == 0)) or math.isinf(number):
        raise PlanError(
            f"{name} must be a {'number of at least' if zero else 'finite number above'} 0, "
            f"got {value!r}"
        )
    return number


def weights_of(name: str, value: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return one non-negative weight per component, not all zero."""
    if value is None:
        return None
    try:
        weights = tuple(positive(name, weight, zero=True) for weight in value)
    except TypeError:
        raise PlanError(f"{name} must be a sequence of weights, got {value!r}") from None
    if not any(weights):
        raise PlanError(f"{name} must have a weight above 0, got {value!r}")
    return weights


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise PlanError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise PlanError(f"{name} must be a number that fits a double, got {value!r}") from None
