"""[integrate]: one Python function or program that is integrated over bounds or a distribution."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from croupier.cli.sections import Section, check_once
from croupier.cli.sections.arms import function_of
from croupier.cli.sections.over import over_of

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SECTION"]

_PLAIN: Final = ("dimension", "names", "on_failure", "bounds", "retries")
_KEYS: Final = ("over", "correlation", *_PLAIN)


def _play(contents: Any, folder: Path, options: Mapping[str, Any]) -> Result:
    from croupier.integration.one_integrand import integrate

    where = "[integrate]"
    f = function_of(where, contents, folder, _KEYS)
    check_once(where, contents, options)
    entry = {key: contents[key] for key in _PLAIN if key in contents}
    return integrate(f, over_of(where, contents, folder), **entry, **options)


SECTION = Section("integrate", "a Python function or a program that is integrated", _play)
