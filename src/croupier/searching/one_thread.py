"""one_thread: linear algebra of small matrices on one thread, where many would only wait.

OpenBLAS starts all its threads for matrices of 100 rows. On a busy machine they wait for each
other, and a fit takes 50 times as long. One thread also makes the same bits on every machine.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["one_thread"]


class _Threads(NamedTuple):
    """How many threads an OpenBLAS uses: to ask and to say."""

    get: Callable[[], int]
    put: Callable[[int], Any]


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread of the OpenBLAS of numpy and scipy inside of the block.

    The wheels of numpy and scipy bring it along. Another library keeps its threads: everything
    works, but it may be slow.

    >>> with one_thread():
    ...     1 + 1
    2
    """
    before = [(library, library.get()) for library in _libraries()]
    for library, _ in before:
        library.put(1)
    try:
        yield
    finally:
        for library, threads in before:
            library.put(threads)


@cache
def _libraries() -> tuple[_Threads, ...]:
    import numpy as np
    import scipy.linalg

    found = []
    for package in (Path(np.__file__).parent, Path(scipy.linalg.__file__).parents[1]):
        for folder in (package.with_name(f"{package.name}.libs"), package / ".dylibs"):
            found += [_opened(file) for file in sorted(folder.glob("*openblas*"))]
    return tuple([library for library in found if library is not None])


def _opened(file: Path) -> _Threads | None:
    """Return the two functions of a library that is loaded already; None if it has others."""
    with suppress(OSError):
        library = ctypes.CDLL(str(file))
        for ending in ("64_", ""):
            with suppress(AttributeError):
                get = library[f"scipy_openblas_get_num_threads{ending}"]
                return _Threads(get, library[f"scipy_openblas_set_num_threads{ending}"])
    return None
