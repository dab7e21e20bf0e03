"""[integrate]: one Python function that is integrated over bounds or a distribution."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from croupier.arms.by_reference import load_reference
from croupier.cli.sections import Section, check_keys, check_once
from croupier.errors import PlanError

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SECTION"]

_KEYS: Final = ("python", "over", "dimension", "names")


def _play(contents: Any, folder: Path, options: Mapping[str, Any]) -> Result:
    from croupier.integration.one_integrand import integrate

    if not isinstance(contents, Mapping):
        raise PlanError(
            f'[integrate] must be a section with python = "module:f", got {contents!r:.80}'
        )
    check_keys("[integrate]", "key", contents, _KEYS)
    check_once("[integrate]", contents, options)
    for key, example in (("python", '"module:f"'), ("over", "[[0, 1], [0, inf]]")):
        if key not in contents:
            raise PlanError(f"[integrate] has no {key}: give {key} = {example}")
    if not isinstance(contents["python"], str):
        raise PlanError(f"[integrate]: python must be a text, got {contents['python']!r:.80}")
    over = contents["over"]
    if isinstance(over, str):
        over = load_reference(over, folder)
    said = {key: contents[key] for key in ("dimension", "names") if key in contents}
    return integrate(load_reference(contents["python"], folder), over, **said, **options)


SECTION = Section("integrate", "a Python function that is integrated", _play)
