"""Plain data to JSON and back, to the last bit. Other data is refused.

Numbers, strings, lists, tuples, dicts and numpy arrays of numbers are written as they are. Any
other object must be *like* a known object: the same object, or a named tuple or dataclass of the
same class. A file holds no names of classes, and nothing in it decides which code runs.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["NotPlainError", "decoded", "encoded", "resembles"]

#: Kinds of numpy numbers: booleans, integers, floats, complex numbers.
_KINDS: Final = "biufc"
_LARGEST_ITEM: Final = 16


class NotPlainError(TypeError):
    """Data that cannot be stored."""


def encoded(value: Any, like: Any = None) -> str:
    """Return a value as JSON; `like` is a known value with the same parts or classes.

    >>> encoded({"wins": 3, "mean": 0.1})
    '{"d": [["wins", 3], ["mean", {"f": "0x1.999999999999ap-4"}]]}'
    """
    try:
        return json.dumps(_plain(value, like), ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise NotPlainError("data that is nested too deeply or contains itself") from None


def decoded(text: str, like: Any = None) -> Any:
    """Return the value that `encoded` has written; ValueError for any other text.

    >>> decoded(encoded((1.5, [None, "a"])))
    (1.5, [None, 'a'])
    """
    try:
        return _value(json.loads(text, parse_float=_no_float, parse_constant=_no_float), like)
    except (TypeError, LookupError, OverflowError, RecursionError, struct.error) as error:
        raise ValueError(f"not what croupier writes ({error})") from error


def resembles(value: Any, like: Any) -> bool:
    """Tell whether a value has the kinds of parts that a known value has.

    >>> resembles([(1, 2.5)], [(0, 0.0), (7, 1.0)]), resembles([(1, "a")], [(0, 0.0)])
    (True, False)
    """
    if like is None:
        return True
    if isinstance(like, bool | int | float | np.generic):
        return isinstance(value, bool | int | float | np.generic)
    if type(value) is not type(like):
        return False
    if isinstance(like, np.ndarray):
        return bool(value.ndim == like.ndim)
    if isinstance(like, Mapping):
        return all(key in value and resembles(value[key], one) for key, one in like.items())
    if names := _fields(like):
        return all(resembles(getattr(value, name), getattr(like, name)) for name in names)
    if isinstance(like, list | tuple):
        return all(map(resembles, value, _each(like, value)))
    return True


def _plain(value: Any, like: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is str:
        value.encode()  # a lone surrogate raises UnicodeEncodeError, a ValueError
        return value
    if kind is float:
        return {"f": value.hex() if math.isfinite(value) else struct.pack("<d", value).hex()}
    if kind is np.ndarray or isinstance(value, np.generic):
        return {"a" if kind is np.ndarray else "n": _numbers(value)}
    if kind is bytes:
        return {"b": _text(value)}
    if kind is list:
        return [_plain(one, alike) for one, alike in zip(value, _each(like, value), strict=True)]
    if kind is tuple:
        parts = zip(value, _each(like, value), strict=True)
        return {"t": [_plain(one, alike) for one, alike in parts]}
    if kind is dict:
        return {"d": [[_key(key), _plain(one, _part(like, key))] for key, one in value.items()]}
    if value is like and _frozen(value):
        return {"like": None}
    if kind is type(like) and (names := _fields(value)):
        return {"like": [_plain(getattr(value, name), getattr(like, name)) for name in names]}
    raise NotPlainError(f"a {kind.__module__}.{kind.__qualname__}, which is not plain data")


def _value(plain: Any, like: Any) -> Any:
    if plain is None or isinstance(plain, bool | int | str):
        return plain
    if isinstance(plain, list):
        return [_value(one, alike) for one, alike in zip(plain, _each(like, plain), strict=True)]
    if not isinstance(plain, dict) or len(plain) != 1:
        raise ValueError(f"not what croupier writes: {plain!r:.50}")
    (tag, content), *_ = plain.items()
    if tag == "f":
        if "p" in content:
            return float.fromhex(content)
        return struct.unpack("<d", bytes.fromhex(content))[0]
    if tag == "a":
        return _array(*content)
    if tag == "n":
        return _array(*content)[()]
    if tag == "b":
        return base64.b64decode(content, validate=True)
    if tag == "t":
        return tuple(_value(content, like))
    if tag == "d":
        return {_key(key): _value(one, _part(like, key)) for key, one in content}
    if tag != "like" or like is None:
        raise ValueError(f"not what croupier writes: {plain!r:.50}")
    if content is None:
        return like
    names = _fields(like)
    parts = {
        name: _value(one, getattr(like, name)) for name, one in zip(names, content, strict=True)
    }
    return type(like)(**parts)


def _fields(value: Any) -> tuple[str, ...]:
    """Return the names of the parts of a named tuple or a dataclass; () for anything else."""
    if isinstance(value, tuple):
        return tuple(getattr(value, "_fields", ()))
    if not is_dataclass(value) or any(not one.init for one in fields(value)):
        return ()
    return tuple(one.name for one in fields(value))


def _frozen(value: Any) -> bool:
    parameters = getattr(value, "__dataclass_params__", None)
    return isinstance(value, tuple) or getattr(parameters, "frozen", False)


def _each(like: Any, items: Any) -> list[Any]:
    """Return the `like` of each item of a sequence: its counterpart, or the first in `like`."""
    if not isinstance(like, list | tuple) or not like:
        return [None] * len(items)
    return list(like) if len(like) == len(items) else [like[0]] * len(items)


def _part(like: Any, key: Any) -> Any:
    return like.get(key) if isinstance(like, Mapping) else None


def _key(key: Any) -> Any:
    if type(key) not in (str, int):
        raise NotPlainError(f"a key {key!r:.50}: keys must be strings or whole numbers")
    return key


def _numbers(numbers: Any) -> list[Any]:
    dtype = numbers.dtype
    if dtype.kind not in _KINDS or dtype.itemsize > _LARGEST_ITEM or dtype.names:
        raise NotPlainError(f"an array of {dtype}, which is not a type of number")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise NotPlainError(f"an array of {dtype}, which other machines do not have")
    # The order in memory decides the order of a sum, and so its last bits.
    order: Literal["C", "F"] = (
        "F" if numbers.flags.f_contiguous and not numbers.flags.c_contiguous else "C"
    )
    little = np.asarray(numbers).astype(dtype.newbyteorder("<"), order="C", copy=False)
    return [little.dtype.str, order, list(numbers.shape), _text(little.tobytes(order))]


def _array(kind: str, order: str, shape: list[int], data: str) -> NDArray[Any]:
    dtype = np.dtype(str(kind))
    if dtype.kind not in _KINDS or dtype.str != kind or dtype.itemsize > _LARGEST_ITEM:
        raise ValueError(f"{kind!r:.20} is not a type of number")
    if order not in ("C", "F") or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"{shape!r:.50} is not the shape of an array")
    numbers = np.frombuffer(base64.b64decode(data, validate=True), dtype)
    if len(numbers) != math.prod(shape):
        raise ValueError(f"{len(numbers)} numbers for an array of the shape {shape!r:.50}")
    native = numbers.astype(dtype.newbyteorder("="))  # a copy that may be changed
    return native.reshape(shape, order="F" if order == "F" else "C")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _no_float(text: str) -> float:
    raise ValueError(f"a number that croupier does not write: {text:.30}")
