"""How kernels are compiled: cached, without the GIL, with the arithmetic of numpy.

Only this file imports numba, an extra: without it the import of this file says how to get it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from croupier.errors import MissingExtraError

try:
    from numba import njit
    from numba.core.errors import NumbaError
except ModuleNotFoundError:  # not ImportError: a numba that does not fit numpy says so itself
    raise MissingExtraError(
        "the simulator and the figures of the paper need", "numba", "compiled"
    ) from None

__all__ = ["ZERO", "NumbaError", "compiled", "inlined", "rebound"]

#: Where counters begin. From a plain 0, numba first takes the number itself for the type, and
#: compiles whatever gets the counter once for it and once more for integers.
ZERO: Any = np.int64(0)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function of ours when it is first called, and keep the code on disk.

    `options` are further options of numba, such as fastmath.
    """
    return njit(cache=True, nogil=True, error_model="numpy", **options)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function that is only called from kernels: their code on disk contains it."""
    return njit(nogil=True, error_model="numpy")(function)


def rebound(kernel: Any, **names: Any) -> Any:
    """Return a kernel with other functions under some of the names that it calls.

    What a user wrote is compiled in place of ours; it is not kept on disk.
    """
    plain = kernel.py_func
    function = FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    return inlined(function)
