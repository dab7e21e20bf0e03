"""What is sent to a worker and what comes back, and what the run says if it cannot be sent."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from croupier.data.draws import Batch, Outcome
from croupier.engines import remote
from croupier.engines.remote import Failure, RunParts
from croupier.errors import ArmError, PlanError, text_of

__all__ = ["named", "packed_batches", "packed_parts", "unloadable", "unpacked"]


def packed_parts(parts: RunParts) -> bytes:
    """Pickle the parts of a run, or name the arm that cannot be sent."""
    for name, arm in parts.arms.items():
        try:
            remote.dumps(arm)
        except Exception as error:
            raise PlanError(
                f"arm {name!r} cannot be sent to another process ({named(error)}): keep only "
                "plain data in it and open files and connections when it is called, or use "
                "threads, executor=ThreadPoolExecutor(n); lambdas and closures need cloudpickle"
            ) from error
    return remote.dumps(parts)


def packed_batches(batches: Sequence[Batch]) -> bytes:
    """Pickle batches that travel together, or name the arm whose state cannot be sent."""
    try:
        return remote.dumps(batches)
    except Exception as error:
        first = batches[0]
        message = f"its state cannot be sent to another process ({named(error)})"
        raise ArmError(message, arm=first.arm, ticket=first.ticket) from error


def unpacked(batch: Batch, packed: bytes) -> Outcome | Failure:
    """Return what came back for a batch; bytes that cannot be loaded are a failure."""
    try:
        came: Outcome | Failure = _PlainUnpickler(BytesIO(packed)).load()
    except Exception as error:
        message = f"what it learned from its draws cannot be loaded here ({named(error)})"
        return Failure(message, batch.arm, batch.ticket, None, "")
    return came


#: The names that a pickle of plain data may hold, apart from classes of croupier.
_PLAIN_NAMES: Final = frozenset(
    {
        *[("builtins", name) for name in ("complex", "set", "frozenset", "bytearray", "range")],
        *[("collections", name) for name in ("OrderedDict", "deque", "Counter")],
        *[("numpy", name) for name in ("ndarray", "dtype")],
        *[
            (f"numpy.{core}.{module}", name)
            for core in ("core", "_core")
            for module, name in (
                ("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer")
            )
        ],
    }
)  # fmt: skip


class _PlainUnpickler(pickle.Unpickler):
    """Loads plain data only: an arm's object must not run code in the driver when it is loaded."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN_NAMES:
            return super().find_class(module, name)
        if module.partition(".")[0] == "croupier" and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(
            f"{module}.{name} is not plain data: return numbers, strings, lists, tuples, dicts and "
            "numpy arrays of numbers as extra"
        )


def unloadable(wrong: str) -> str:
    """Return what to do if a worker cannot load the arms."""
    return (
        f"the arms cannot be loaded on a worker ({wrong}): install there what they import, or "
        "define it in the script itself"
    )


def named(error: BaseException | None) -> str:
    """Return the kind and the text of an error in one line."""
    text = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {text}"[:300]
