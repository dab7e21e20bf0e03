"""[arms]: Python functions and programs that estimate one quantity."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from croupier.arms.base import Arm, as_arms
from croupier.arms.by_reference import load_reference
from croupier.cli.sections import Section, check_keys
from croupier.errors import PlanError
from croupier.functions.programs import Program

if TYPE_CHECKING:
    from croupier.results.result import Result

__all__ = ["SECTION", "arm_of", "arms_of", "function_of"]

#: What may be said about an arm of either kind.
_OF_ANY: Final = ("bounds", "cost_bounds", "version")
_OF_PROGRAMS: Final = tuple([field.name for field in fields(Program) if field.init])


def arms_of(contents: Any, folder: Path) -> dict[str, Arm]:
    """Return the arms of a section, or those that a reference ``module:name`` names."""
    if isinstance(contents, str):
        return _referenced(contents, folder)
    if not isinstance(contents, Mapping) or not contents:
        raise PlanError("[arms] must have a section for every arm, such as [arms.naive]")
    return {name: arm_of("arms", name, entry, folder) for name, entry in contents.items()}


def arm_of(section: str, name: str, entry: Any, folder: Path, more: tuple[str, ...] = ()) -> Arm:
    """Return the arm of one subsection; `more` are keys that others read."""
    where = f"[{section}.{name}]"
    _check_one(where, entry, '["./program", "{size}", "{seed}"]')
    about = {key: entry[key] for key in _OF_ANY if key in entry}
    try:
        if "python" in entry:
            check_keys(where, "key", entry, ("python", *_OF_ANY, *more))
            return _python(name, entry["python"], folder, about)
        check_keys(where, "key", entry, (*_OF_PROGRAMS, *_OF_ANY, *more))
        program = _program(entry, folder)
        return Arm(program, name, **{"version": program.version, **about})
    except PlanError as error:
        message = str(error)
        raise PlanError(message if where in message else f"{where}: {message}") from None


def function_of(where: str, entry: Any, folder: Path, known: tuple[str, ...]) -> Any:
    """Return the function of a section: a Python function, or a program that reads points."""
    _check_one(where, entry, '["./program"]')
    if "command" in entry:
        check_keys(where, "key", entry, (*_OF_PROGRAMS, *known))
        try:
            return _program(entry, folder)
        except PlanError as error:
            raise PlanError(f"{where}: {error}") from None
    check_keys(where, "key", entry, ("python", *known))
    if not isinstance(entry["python"], str):
        raise PlanError(f"{where}: python must be a text, got {entry['python']!r:.80}")
    return load_reference(entry["python"], folder)


def _check_one(where: str, entry: Any, command: str) -> None:
    """Refuse a section that has not just one of a program and a Python function."""
    if not isinstance(entry, Mapping) or ("python" in entry) == ("command" in entry):
        has = f"it has {', '.join(entry)}" if isinstance(entry, Mapping) else f"it is {entry!r:.80}"
        raise PlanError(
            f'{where} must have either command = {command} or python = "module:function", but {has}'
        )


def _program(entry: Mapping[str, Any], folder: Path) -> Program:
    given = {key: entry[key] for key in _OF_PROGRAMS if key in entry}
    if not isinstance(given.setdefault("folder", "."), str):
        raise PlanError(f"folder must be a path, got {given['folder']!r:.80}")
    given["folder"] = folder / given["folder"]
    return Program(**given)


def _python(name: str, reference: Any, folder: Path, about: dict[str, Any]) -> Arm:
    if not isinstance(reference, str):
        raise PlanError(f"python must be a text such as 'module:function', got {reference!r:.80}")
    found = load_reference(reference, folder)
    if isinstance(found, Arm):
        return replace(found, name=name, **about)
    version = getattr(found, "version", None)
    return Arm(found, name, **{"version": version if isinstance(version, str) else None, **about})


def _referenced(reference: str, folder: Path) -> dict[str, Arm]:
    """Return the arms that a name of a module stands for: arms, or a function that makes them."""
    found = load_reference(reference, folder)
    if inspect.isfunction(found):
        makes = not inspect.signature(found).parameters
        found = found() if makes else {reference.rpartition(":")[2]: found}
    elif isinstance(found, Arm):
        found = {found.name or reference.rpartition(":")[2]: found}
    return {str(arm.name): arm for arm in as_arms(found)}


def _play(contents: Any, folder: Path, options: Mapping[str, Any]) -> Result:
    from croupier.running.estimate import estimate

    return estimate(arms_of(contents, folder), **options)


SECTION = Section(
    "arms",
    "Python functions and programs that estimate one quantity",
    _play,
    arms=arms_of,
    of_arms=True,
)
