"""The plan: everything that decides what a run does, except when it stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Literal, TypeAlias

from croupier.checks import (
    Range,
    choice,
    component_names,
    count_of,
    fraction_of,
    names_of,
    range_of,
    seed_of,
    share_of,
    weights_of,
)
from croupier.errors import PlanError

__all__ = ["Batching", "Clock", "Plan", "Unit"]

Unit: TypeAlias = Literal["draws", "seconds", "cost"]
Clock: TypeAlias = Literal["wall", "cpu"]
Batching: TypeAlias = Literal["growing", "one"] | int
_BATCHES: TypeAlias = Literal["growing", "one"]

#: The most batches out at once: beyond it a run of any budget only asks, and never learns.
_MOST_WIDTH: Final = 100_000

#: A round of decisions grows a run by about a quarter of what it has spent. One decision must
#: never buy a whole round, so a round has at least 8 decisions.
ROUND: Final = 0.25
_DECISIONS_PER_ROUND: Final = 8


@dataclass(frozen=True)
class Plan:
    """What a run does: plain data that goes to JSON and back.

    `table` is the kind of table that the run is played at. `settings` has the settings of this kind
    (the weights of strata, for example). `policy` is ``{"name": ..., parameters}``. `combine` is
    the name of a combiner. `first` is the number of draws that every arm gets before a policy may
    prefer one. If `batch` is a number, the first call of every arm makes that many draws. With
    `log` the arms return logs of draws, and `bounds` are the bounds of the logs. `audit` is the
    share of the budget that may go to the test of agreement. `components` are the names of the
    components of a vector, if they have names.

    >>> plan = Plan(names=("a", "b"), seed=7)
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    names: tuple[str, ...]
    seed: int
    unit: Unit = "draws"
    # A mapping has no hash, so plans that differ only in their policies have the same hash.
    policy: Mapping[str, Any] = field(
        default_factory=lambda: {"name": "variance-thompson"}, hash=False
    )
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
    log: bool = False
    audit: float = 0.0
    table: str = "independent"
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    components: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        choice("unit", self.unit, Unit)
        if isinstance(self.batch, str) or self.batch is None:
            choice("batch", self.batch, _BATCHES)
        else:
            self._set("batch", count_of("batch", self.batch))
        choice("clock", self.clock, Clock)
        for name in ("combine", "table"):
            if not isinstance(getattr(self, name), str):
                raise PlanError(f"{name} must be a name, got {getattr(self, name)!r}")
        for name in ("keep_values", "log"):
            if getattr(self, name) not in (True, False):
                raise PlanError(f"{name} must be True or False, got {getattr(self, name)!r}")
        self._set("names", names_of("names", self.names))
        self._set("seed", seed_of("seed", self.seed))
        self._set("policy", _policy(self.policy))
        self._set("confidence", fraction_of("confidence", self.confidence))
        self._set("objective", weights_of("objective", self.objective))
        self._set("width", count_of("width", self.width))
        if self.width > _MOST_WIDTH:
            raise PlanError(
                f"width must be at most {_MOST_WIDTH}, got {self.width}: so many batches are asked "
                "for before the first one is learned from; twice the number of workers is enough"
            )
        self._set("first", count_of("first", self.first))
        self._set("keep_values", bool(self.keep_values))
        self._set("log", bool(self.log))
        self._set("audit", share_of("audit", self.audit))
        self._set("versions", self._per_arm("versions", _version))
        self._set("bounds", self._per_arm("bounds", partial(range_of, logs=self.log)))
        self._set("cost_bounds", self._per_arm("cost_bounds", range_of))
        self._set("settings", _plain(self.settings))
        if self.components is not None:
            self._set("components", component_names(self.components))

    def _set(self, name: str, checked: object) -> None:
        object.__setattr__(self, name, checked)

    def _per_arm(self, name: str, check: Callable[[str, Any], Any]) -> tuple[Any, ...]:
        """Return one checked entry per arm; if none are given, all are None."""
        given = getattr(self, name)
        arms = len(self.names)
        row = isinstance(given, tuple | Sequence) and not isinstance(given, str)
        if not row or len(given) not in (0, arms):
            raise PlanError(f"{name} must have one entry per arm ({arms} in all), got {given!r}")
        return tuple(
            [None if entry is None else check(name, entry) for entry in given or [None] * arms]
        )

    # Made once: a run of 100 000 arms reads them at every ticket.
    @cached_property
    def index(self) -> dict[str, int]:
        """The number of every arm, by its name."""
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def bounded(self) -> bool:
        """Whether some arm has bounds."""
        return any(self.bounds)

    @property
    def first_call(self) -> int:
        """The number of draws in the first call of an arm."""
        return 1 if isinstance(self.batch, str) else self.batch

    @property
    def share(self) -> float:
        """The share of what was spent so far that one decision buys."""
        return ROUND / max(_DECISIONS_PER_ROUND, self.width)

    @property
    def largest_share(self) -> float:
        """The share of what was spent so far that decisions buy if half of a round agrees."""
        return ROUND / max(2, self.width)

    def to_json(self) -> str:
        """Return the plan as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` wrote."""
        return cls(**json.loads(text))


def _policy(policy: object) -> dict[str, Any]:
    if not isinstance(policy, Mapping) or not isinstance(policy.get("name"), str):
        raise PlanError(
            f"policy must be a mapping with a name, such as {{'name': 'greedy'}}, got {policy!r}"
        )
    return dict(policy)


def _plain(settings: object) -> dict[str, Any]:
    try:
        plain = json.loads(json.dumps(settings))
    except (TypeError, ValueError) as error:
        raise PlanError(
            f"settings must be a dict of numbers, strings, lists and dicts: {error}"
        ) from error
    if not isinstance(plain, dict):
        raise PlanError(f"settings must be a mapping, got {settings!r}")
    return plain


def _version(name: str, version: object) -> str | None:
    if version is not None and not isinstance(version, str):
        raise PlanError(f"{name} must be strings or None, got {version!r}")
    return version
