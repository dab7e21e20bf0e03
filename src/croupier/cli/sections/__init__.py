"""The sections of a problem file: one file for each, and one line in the registry here.

A problem file is TOML. It has one section that says what is estimated (such as ``[arms]``), and a
section ``[run]`` with the options of the run, if you like.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from croupier.errors import PlanError

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = [
    "SECTIONS",
    "Problem",
    "Section",
    "check_keys",
    "check_once",
    "read_problem",
    "section_of",
]


@dataclass(frozen=True)
class Section:
    """A section of a problem file.

    Args:
        name: Its title in the file.
        about: What it is for, in one line.
        play: Makes a run from the contents of the section, the folder of the file, and the
            options of the run; returns its result.
        arms: Returns the arms of the section by name, from the contents and the folder, if the
            problem has arms that share one mean. ``croupier compare`` and ``ask`` need it.
        options: Names of options in ``[run]`` that only this section knows.
        of_arms: Whether its run is one of arms, which has a policy and other options about arms.
    """

    name: str
    about: str
    play: Callable[[Any, Path, Mapping[str, Any]], Result]
    arms: Callable[[Any, Path], Mapping[str, Any]] | None = None
    options: tuple[str, ...] = ()
    of_arms: bool = False


#: The sections by their titles: the module of each, with a `SECTION`.
SECTIONS: Final[dict[str, str]] = {
    "arms": "croupier.cli.sections.arms",
    "integrate": "croupier.cli.sections.integrate",
    "probability": "croupier.cli.sections.limit_states",
    "strata": "croupier.cli.sections.strata",
}


def section_of(name: str) -> Section:
    """Return a section by its title.

    >>> section_of("arms").name
    'arms'
    """
    section: Section = import_module(SECTIONS[name]).SECTION
    return section


@dataclass(frozen=True)
class Problem:
    """A problem: what is estimated, and the options that its file gives."""

    section: Section
    contents: Any
    folder: Path
    options: Mapping[str, Any]

    def play(self, options: Mapping[str, Any]) -> Result:
        """Make a run; `options` go before those of the file."""
        return self.section.play(self.contents, self.folder, {**self.options, **options})

    def arms(self) -> Mapping[str, Any]:
        """Return the arms by name."""
        if self.section.arms is None:
            raise PlanError(f"a section [{self.section.name}] has no arms that can be compared")
        return self.section.arms(self.contents, self.folder)


def read_problem(source: str | os.PathLike[str]) -> Problem:
    """Return the problem of a TOML file, or of the arms that ``module:name`` names."""
    text = os.fspath(source)
    path = Path(text)
    if path.suffix != ".toml" and ":" in text and not path.exists():
        return Problem(section_of("arms"), text, Path.cwd(), {})
    if path.suffix == ".py":
        raise PlanError(f"{path} is Python: name the arms in it, {path}:arms")
    contents = _contents(path)
    options = contents.pop("run", {})
    if not isinstance(options, dict):
        raise PlanError(f"{path}: [run] must be a section of options, got {options!r:.80}")
    check_keys(str(path), "section", contents, ("run", *SECTIONS))
    if len(contents) != 1:
        has = f"it has {', '.join(f'[{name}]' for name in contents)}" if contents else "it has none"
        known = ", ".join(f"[{name}]" for name in SECTIONS)
        raise PlanError(f"{path} must have one of the sections {known}, but {has}")
    ((name, entry),) = contents.items()
    return Problem(section_of(name), entry, path.resolve().parent, options)


def _contents(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        way_out = "croupier init writes a sample"
        raise PlanError(f"there is no file {path}: {way_out}") from None
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is not a text in UTF-8: {error.reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path} is not TOML: {error}") from None


def check_keys(where: str, what: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse a name that is not known, and suggest the right one.

    >>> check_keys("arms.toml", "option", ["secnds"], ["seconds", "draws"])
    Traceback (most recent call last):
    croupier.errors.PlanError: arms.toml: unknown option 'secnds': did you mean 'seconds'?
    """
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            like = get_close_matches(name, known, n=1)
            hint = f"did you mean {like[0]!r}?" if like else f"known are {', '.join(known)}"
            raise PlanError(f"{where}: unknown {what} {name!r}: {hint}")


def check_once(where: str, contents: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse what is said both in a section and in [run]."""
    if both := [name for name in contents if name in options]:
        raise PlanError(f"{where} and [run] both have {', '.join(both)}: say it once")
