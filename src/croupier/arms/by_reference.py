"""load_reference: an object of a Python module or file, by a text such as "model.py:arms"."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from croupier.errors import PlanError, text_of

__all__ = ["load_reference"]


def load_reference(reference: str, folder: str | os.PathLike[str] = ".") -> Any:
    """Return what ``module:name`` or ``file.py:name`` names; a file is relative to `folder`.

    The folder of the file, or `folder`, comes first on the path of modules. So worker processes
    find the module, too.

    >>> load_reference("math:sqrt")(4.0)
    2.0
    """
    place, colon, name = reference.rpartition(":") if isinstance(reference, str) else ("",) * 3
    if not (colon and place and name):
        raise PlanError(
            f"{reference!r} is not a reference to Python code: write module:name, or file.py:name"
        )
    module = _file(place, Path(folder)) if place.endswith(".py") else _module(place, Path(folder))
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            has = [each for each in vars(module) if not each.startswith("_")]
            raise PlanError(
                f"{place} has no {name!r}; it has {', '.join(sorted(has)[:20]) or 'no names'}"
            ) from None
    return found


def _file(place: str, folder: Path) -> ModuleType:
    path = (folder / place).resolve()
    if not path.is_file():
        raise PlanError(f"there is no Python file {path}")
    module = _module(path.stem, path.parent)
    known = getattr(module, "__file__", None)
    if known is None or Path(known).resolve() != path:
        raise PlanError(
            f"{path} has the name of another module, {path.stem!r} ({known or 'built in'}): "
            "rename the file"
        )
    return module


def _module(name: str, folder: Path) -> ModuleType:
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        return import_module(name)
    except Exception as error:  # a module may raise anything when it is imported
        message = f"{type(error).__name__}: {text_of(error)}"
        raise PlanError(
            f"the module {name!r} cannot be imported from {place}: {message}"
        ) from error
