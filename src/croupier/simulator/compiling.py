"""How kernels are compiled: cached, without the GIL, with the arithmetic of numpy."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit

__all__ = ["compiled", "inlined", "rebound"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function of ours when it is first called, and keep the code on disk."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


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
