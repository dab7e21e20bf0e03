"""Copy a stored run into a new file, also while it is running."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

from croupier.errors import StoreError
from croupier.store.database import Database
from croupier.store.place import resolved
from croupier.store.store_errors import errors_named

__all__ = ["copy_run"]


def copy_run(source: Path, target: Path) -> None:
    """Copy a store, with all outcomes of this moment, to a path where nothing is yet."""
    store = resolved(source)
    with closing(Database.read(store)) as database:
        # A run of evidence has a second file. It only grows, and the store refers to no later part.
        pilot, new_pilot = (path.with_name(path.name + ".pilot") for path in (store, target))
        for path in (target, new_pilot):
            if os.path.lexists(path):
                raise StoreError(f"{path} exists already: give another path for the copy")
        database.copy_to(target)
        if pilot.exists():
            with errors_named(store, f"cannot be copied to {target}"):
                shutil.copyfile(pilot, new_pilot)
