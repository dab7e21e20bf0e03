"""[probability]: a limit state and the distribution of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from croupier.arms.by_reference import load_reference
from croupier.cli.sections import Section, check_once
from croupier.cli.sections.arms import function_of
from croupier.cli.sections.over import over_of

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SECTION"]

_PLAIN: Final = ("below", "starts", "names", "tolerance_for", "on_failure", "retries")
_KEYS: Final = ("over", "correlation", "gradient", *_PLAIN)


def _play(contents: Any, folder: Path, options: Mapping[str, Any]) -> Result:
    from croupier.rare.limit_probability import probability

    where = "[probability]"
    g = function_of(where, contents, folder, _KEYS)
    check_once(where, contents, options)
    given = {key: contents[key] for key in _PLAIN if key in contents}
    if "gradient" in contents:
        given["gradient"] = load_reference(contents["gradient"], folder)
    return probability(g, over_of(where, contents, folder), **given, **options)


SECTION = Section(
    "probability", "a limit state, and how probable it is that it is below its limit", _play
)
