"""Copy a stored run into a new file, also while it is running."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from croupier.errors import StoreError
from croupier.store.database import Database
from croupier.store.place import resolved

__all__ = ["copy_run"]


def copy_run(source: Path, target: Path) -> None:
    """Copy a store, with all outcomes of this moment, to a path where nothing is yet."""
    store = resolved(source)
    with closing(Database.read(store)) as database:
        if os.path.lexists(target):
            raise StoreError(f"{target} exists already: give another path for the copy")
        database.copy_to(target)
